//! `tenure show`

use std::ffi::OsString;

use clap::{Args as _, ValueEnum};
use serde_json::json;
use tenure_core::{Result, id};
use tenure_kernel::query::holds::Filter;
use tenure_kernel::query::show::Found;
use tenure_kernel::shape::Hold;

use super::thing::{Thing, find};
use super::{Group, Spec, read};
use crate::context::Context;
use crate::output::Printer;
use crate::output::graph::{mermaid, tree};
use crate::output::table::table;
use crate::output::task::{hold_row, holds, shown};

pub(super) const SPEC: Spec = Spec {
    name: "show",
    aliases: &["get", "view"],
    group: Group::Everyday,
    about: "Show a task with its notes and events, a hold, a lock, a memory, or the graph around a task",
    examples: &[
        "tenure show t-7k3fq",
        "tenure show deploy",
        "tenure show t-7k --graph",
        "tenure show t-7k --graph=mermaid > graph.mmd",
    ],
    args: Args::augment_args,
    run: |context, matches| {
        let args: Args = read(matches)?;
        let typed = args.what.to_str().unwrap_or_default().to_owned();
        let Some(picture) = args.graph.filter(|_| !typed.starts_with("h-")) else {
            return show(context, &args.what);
        };
        let id = context.task_id(&typed)?;
        let graph = context.ask_who_holds(|reach, call| reach.graph(call, &id))?;
        if context.out.is_json() {
            context.out.data(&json!({
                "root": graph.root,
                "tasks": graph.tasks,
                "edges": graph.edges.iter().map(|(task, after)| json!({ "task": task, "after": after })).collect::<Vec<_>>(),
                "more": graph.more,
                "tree": tree(context.out, &graph),
                "mermaid": mermaid(&graph),
            }));
            return Ok(0);
        }
        match picture {
            Picture::Tree => context.out.text(&tree(context.out, &graph)),
            Picture::Mermaid => context.out.text(&mermaid(&graph)),
            Picture::Both => {
                context.out.text(&tree(context.out, &graph));
                context.out.text(&format!("\n```mermaid\n{}```\n", mermaid(&graph)));
            }
        }
        Ok(0)
    },
};

fn show(context: &Context<'_>, what: &OsString) -> Result<u8> {
    let out = context.out;
    match find(context, what)? {
        Thing::Id(id) => match context.ask_who_holds(|reach, call| reach.look_up(call, &id))? {
            Found::Hold(hold) => say_hold(out, &hold),
            Found::Task(task) if out.is_json() => out.data(&task),
            Found::Task(task) => out.text(&shown(out, &task)),
        },
        Thing::Memory(id) => {
            let memory = context.ask(|reach, call| reach.memory(call, &id))?;
            if out.is_json() {
                out.data(&memory);
            } else {
                out.text(&super::memory::whole(out, &memory));
            }
        }
        Thing::Lock(name) => {
            let hold = context.ask_who_holds(|reach, call| reach.lock_of(call, &name))?;
            say_hold(out, &hold.ok_or_else(|| id::unknown(&name, id::Sort::Hold))?);
        }
        Thing::Path(typed, unknown) => {
            let filter = Filter { paths: typed.paths, fold_case: typed.fold_case, ..Filter::default() };
            let page = context.ask_who_holds(|reach, call| reach.holds_where(call, &filter, 50, None))?;
            match unknown {
                Some(error) if page.items.is_empty() => return Err(error),
                _ if out.is_json() => out.data(&page),
                _ => out.text(&holds(out, &page)),
            }
        }
    }
    Ok(0)
}

fn say_hold(out: &Printer, hold: &Hold) {
    if out.is_json() {
        out.data(hold);
        return;
    }
    let heads = ["HOLD", "KIND", "WHAT", "HOLDER", "IS", "ENDS IN", "FENCE", "FOR"];
    out.text(&table(&heads, &[hold_row(out, hold)], out.width()));
    out.text(&format!("{}; granted {}", hold.state, hold.granted_at));
}

#[derive(clap::Args)]
struct Args {
    /// A task, hold or memory (any unique beginning of its id), a lock, or a path: who holds it
    #[arg(value_name = "ID|LOCK|PATH")]
    what: OsString,
    /// Draw what the task comes after and what comes after it
    #[arg(long, value_name = "AS", num_args = 0..=1, require_equals = true, default_missing_value = "both")]
    graph: Option<Picture>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Picture {
    Tree,
    Mermaid,
    Both,
}
