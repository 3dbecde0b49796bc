//! `tenure show`

use clap::{Args as _, ValueEnum};
use serde_json::json;
use tenure_kernel::query::show::Found;
use tenure_kernel::shape::Hold;

use super::{Group, Spec, read};
use crate::output::Printer;
use crate::output::graph::{mermaid, tree};
use crate::output::table::table;
use crate::output::task::{hold_row, shown};

pub(super) const SPEC: Spec = Spec {
    name: "show",
    aliases: &["get", "view"],
    group: Group::Everyday,
    about: "Show a task with its notes and events, a hold, or the graph around a task",
    examples: &["tenure show t-7k3fq", "tenure show t-7k --graph", "tenure show t-7k --graph=mermaid > graph.mmd"],
    args: Args::augment_args,
    run: |context, matches| {
        let args: Args = read(matches)?;
        let Some(picture) = args.graph.filter(|_| !args.id.starts_with("h-")) else {
            match context.ask_who_holds(|kernel, call| kernel.look_up(call, &args.id))? {
                Found::Hold(hold) => say_hold(context.out, &hold),
                Found::Task(task) if context.out.is_json() => context.out.data(&task),
                Found::Task(task) => context.out.text(&shown(context.out, &task)),
            }
            return Ok(0);
        };
        let id = context.task_id(&args.id)?;
        let graph = context.ask_who_holds(|kernel, call| kernel.graph(call, &id))?;
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
    /// A task or a hold: any unique beginning of its id
    #[arg(value_name = "ID")]
    id: String,
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
