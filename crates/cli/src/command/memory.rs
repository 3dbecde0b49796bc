//! `tenure memory`

use clap::{Args as _, Subcommand};
use tenure_core::Result;
use tenure_kernel::query::memories::Memories;
use tenure_kernel::query::memory_id::MemoryId;
use tenure_kernel::shape::{Memory, Page};
use tenure_kernel::{Op, op};
use tenure_store::table::project;

use super::remember::{Scope, Word};
use super::{Group, Spec, Verbs, read};
use crate::context::Context;
use crate::output::time::short;
use crate::output::{Ink, Printer};

pub(super) const SPEC: Spec = Spec {
    name: "memory",
    aliases: &["memories"],
    group: Group::People,
    about: "List, pin and forget what is remembered",
    examples: &["tenure memory list", "tenure memory list --pinned", "tenure memory pin m-7k3fq"],
    args: Verbs::<Verb>::augment_args,
    run: |context, matches| {
        let Verbs { verb } = read(matches)?;
        match verb {
            Verb::List(list) => {
                let (limit, cursor) = (list.page.limit()?, list.page.cursor.clone());
                let filter = Memories { limit, cursor, pinned: list.pinned, ..list.which.filter(context)? };
                let page = context.ask(&filter)?;
                print(context, &page, "Nothing is remembered.");
            }
            Verb::Pin { id, off } => {
                let pin = |memory: String| Op::new(op::memory_pin::MemoryPin { memory: memory.into(), pinned: !off });
                change(context, &id, pin, if off { "Took the pin out of" } else { "Pinned" })?;
            }
            Verb::Forget { id } => {
                let forget = |memory: String| Op::new(op::memory_forget::MemoryForget { memory: memory.into() });
                change(context, &id, forget, "Forgot")?;
            }
        }
        Ok(0)
    },
};

#[derive(Subcommand)]
enum Verb {
    /// List what you can see, nearest first: the task's, your own, the project's, the whole store's
    List(List),
    /// Always show it in briefs (for the project and the whole store: people only)
    Pin {
        /// A memory: any unique beginning of its id
        #[arg(value_name = "ID")]
        id: String,
        /// Take the pin out
        #[arg(long)]
        off: bool,
    },
    /// Forget it; the log keeps what it said
    Forget {
        /// A memory: any unique beginning of its id
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(clap::Args)]
struct List {
    #[command(flatten)]
    which: Which,
    /// Only pinned ones
    #[arg(long)]
    pinned: bool,
    #[command(flatten)]
    page: super::list::Paging,
}

// Which memories, for `memory list` and `recall`.
#[derive(clap::Args)]
pub(super) struct Which {
    /// Only of this kind
    #[arg(long, value_enum)]
    kind: Option<Word>,
    /// Only of this scope
    #[arg(long, value_enum)]
    scope: Option<Scope>,
    /// Of this task, in place of the one in focus
    #[arg(long, value_name = "ID")]
    task: Option<String>,
}

impl Which {
    pub(super) fn filter(&self, context: &Context<'_>) -> Result<Memories> {
        Ok(Memories {
            task: self.task.as_deref().map(|typed| context.task_id(typed)).transpose()?,
            kind: self.kind.map(Word::kind),
            scope: self.scope.map(|scope| scope.word().to_owned()),
            ..Memories::default()
        })
    }
}

/// Runs an op on a memory, in this project or in what belongs to the whole store.
fn change(context: &Context<'_>, typed: &str, op: impl Fn(String) -> Op, verb: &str) -> Result<()> {
    context.will_write();
    let (of_store, id) = context.ask(&MemoryId { typed: typed.into() })?;
    let reply = if of_store { context.run_in(project::whole_store(), &op(id))? } else { context.run(&op(id))? };
    if context.out.is_json() {
        context.out.body(&reply.body);
    } else {
        let memory: Memory = reply.read()?;
        context.out.text(&format!("{verb} {}  {}", memory.id, memory.key));
    }
    Ok(())
}

/// Prints a page of memories, each with who says so.
pub(super) fn print(context: &Context<'_>, page: &Page<Memory>, nothing: &str) {
    let out = context.out;
    if out.is_json() {
        out.data(page);
        return;
    }
    if page.items.is_empty() {
        out.text(nothing);
    }
    page.items.iter().for_each(|memory| out.text(&whole(out, memory)));
    if let Some(next) = &page.next {
        out.text(&format!("more: --cursor {next}"));
    }
}

/// One memory with who says so.
pub(super) fn whole(out: &Printer, memory: &Memory) -> String {
    let whose = memory.of.as_ref().map_or(memory.scope.clone(), |of| format!("{} {of}", memory.scope));
    let pin = if memory.pinned { ", pinned" } else { "" };
    let said = format!("{} for the {whose}{pin}, by {} on {}", memory.kind, memory.author, short(&memory.updated_at));
    let mut text = format!("{}  {}  {}", memory.id, out.ink(Ink::Bold, &memory.key), out.ink(Ink::Dim, &said));
    memory.text.lines().for_each(|line| text.push_str(&format!("\n  {line}")));
    text
}
