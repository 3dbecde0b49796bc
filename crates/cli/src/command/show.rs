//! `tenure show`

use std::ffi::OsString;

use clap::{Args as _, ValueEnum};
use serde_json::json;
use tenure_core::text::cut;
use tenure_core::{Result, id};
use tenure_kernel::answer::{Hold, Place};
use tenure_kernel::query::graph::Graph;
use tenure_kernel::query::holds::{Filter, Holds};
use tenure_kernel::query::lock_of::LockOf;
use tenure_kernel::query::look_up::{Found, LookUp};
use tenure_kernel::query::memory::ShowMemory;

use super::subject::{Subject, find};
use super::{Group, Run, Spec, read, task_id};
use crate::output::Printer;
use crate::output::graph::{mermaid, tree};
use crate::output::table::table;
use crate::output::task::{HOLD_HEADS, hold_row, holds, shown, waiting};
use crate::session::{Session, StoreUse};
use crate::settings::Settings;

pub(super) const SPEC: Spec = Spec {
    name: "show",
    aliases: &["get", "view"],
    group: Group::Everyday,
    about: "Show a task, a hold, a lock or the graph around a task",
    examples: &[
        "tenure show t-7k3fq",
        "tenure show deploy",
        "tenure show t-7k --graph",
        "tenure show t-7k --graph=mermaid > graph.mmd",
    ],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let typed = args.what.to_str().unwrap_or_default().to_owned();
        let Some(picture) =
            args.graph.filter(|_| !["h-", "w-", "n-", "g-", "c-"].iter().any(|sort| typed.starts_with(sort)))
        else {
            return show(settings, out, &args.what);
        };
        let session = &Session::open(settings, out, StoreUse::Read)?;
        let id = task_id(session, &typed)?;
        let graph = session.ask_who_holds(&Graph { id: id.to_string() })?;
        if session.out.is_json() {
            session.out.data(&json!({
                "root": graph.root,
                "tasks": graph.tasks,
                "edges": graph.edges.iter().map(|(task, after)| json!({ "task": task, "after": after })).collect::<Vec<_>>(),
                "more": graph.more,
                "tree": tree(session.out, &graph),
                "mermaid": mermaid(&graph),
            }));
            return Ok(0);
        }
        match picture {
            Picture::Tree => session.out.text(&tree(session.out, &graph)),
            Picture::Mermaid => session.out.text(&mermaid(&graph)),
            Picture::Both => {
                session.out.text(&tree(session.out, &graph));
                session.out.text(&format!("\n```mermaid\n{}```\n", mermaid(&graph)));
            }
        }
        Ok(0)
    }),
};

fn show(settings: &Settings<'_>, out: &Printer, what: &OsString) -> Result<u8> {
    let (session, subject) = find(settings, out, StoreUse::Read, what)?;
    match subject {
        Subject::Id(id) => match session.ask_who_holds(&LookUp { typed: id })? {
            Found::Hold(hold) => say_hold(out, &hold),
            Found::Task(task) if out.is_json() => out.data(&task),
            Found::Task(task) => out.text(&shown(out, &task)),
            Found::Place(place) if out.is_json() => out.data(&place),
            Found::Place(place) => say_place(out, &place),
            Found::Note(note) if out.is_json() => out.data(&note),
            Found::Note(note) => {
                let late = if note.note.late { " (late)" } else { "" };
                out.text(&format!("{}  {} on {}, {}{late}", note.note.id, note.note.agent, note.task, note.note.at));
                note.note.text.lines().for_each(|line| out.text(&format!("  > {line}")));
            }
            Found::Message(message) if out.is_json() => out.data(&message),
            Found::Message(message) => super::inbox::print_one(out, &message),
            Found::Checkout(checkout) if out.is_json() => out.data(&checkout),
            Found::Checkout(checkout) => out.text(&format!(
                "{}  {}, {} on {}",
                checkout.id,
                cut(&checkout.name, 120),
                cut(&checkout.path, 300),
                checkout.host
            )),
        },
        Subject::Memory(id) => {
            let memory = session.ask(&ShowMemory { id })?;
            if out.is_json() {
                out.data(&memory);
            } else {
                out.text(&super::memory::whole(out, &memory));
            }
        }
        Subject::Lock(name) => {
            let hold = session.ask_who_holds(&LockOf { name: name.clone() })?;
            say_hold(out, &hold.ok_or_else(|| id::unknown(&name, id::Sort::Hold))?);
        }
        Subject::Path(typed, unknown) => {
            let filter = Filter { paths: typed.paths, fold_case: typed.fold_case, ..Filter::default() };
            let page = session.ask_who_holds(&Holds { filter, limit: 50, cursor: None })?;
            match unknown {
                Some(error) if page.items.is_empty() => return Err(error),
                _ if out.is_json() => out.data(&page),
                _ => out.text(&holds(out, &page, Some(&session.workspace.tree_path()))),
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
    out.text(&table(out, &HOLD_HEADS, &[hold_row(out, hold, false)]));
    let place = hold.checkout.as_ref().map_or(String::new(), |place| format!("; in {}", cut(place, 300)));
    out.text(&format!("{}; granted {}{place}", hold.state, hold.granted_at));
}

fn say_place(out: &Printer, place: &Place) {
    out.text(&waiting(out, std::slice::from_ref(place), true));
    if place.state == "ended" {
        out.text(&format!("over; queued {}", place.queued_at));
    } else {
        let kept = tenure_kernel::answer::span(place.expires_in_s);
        out.text(&format!("{}; queued {}, kept for {kept} unless renewed", place.state, place.queued_at));
    }
}

#[derive(clap::Args)]
struct Args {
    /// An id (a unique beginning is enough), a lock, or a path whose holder to show
    #[arg(value_name = "ID|LOCK|PATH")]
    what: OsString,
    /// Draw the dependencies and dependents of the task
    #[arg(long, value_name = "AS", num_args = 0..=1, require_equals = true, default_missing_value = "both")]
    graph: Option<Picture>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Picture {
    Tree,
    Mermaid,
    Both,
}
