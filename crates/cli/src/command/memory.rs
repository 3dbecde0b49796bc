//! `tenure memory`

use clap::{Args as _, Subcommand};
use tenure_core::Result;
use tenure_kernel::answer::{Memory, Page};
use tenure_kernel::query::memories::Memories;
use tenure_kernel::query::memory_id::ResolveMemory;
use tenure_kernel::{Op, op};

use super::remember::{KindArg, ScopeArg};
use super::{Group, Run, Spec, Verbs, read, task_id};
use crate::output::{Ink, Printer};
use crate::session::{RunOptions, Session, StoreUse};
use crate::settings::Settings;

pub(super) const SPEC: Spec = Spec {
    name: "memory",
    aliases: &["memories"],
    group: Group::People,
    about: "List, pin and delete memories",
    examples: &["tenure memory list", "tenure memory list --pinned", "tenure memory pin m-7k3fq"],
    args: Verbs::<MemoryVerb>::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let Verbs { verb } = read(matches)?;
        match verb {
            MemoryVerb::List(list) => {
                let (limit, cursor) = (list.page.limit()?, list.page.cursor.clone());
                let session = &Session::open(settings, out, StoreUse::Read)?;
                let filter = Memories { limit, cursor, pinned: list.pinned, ..list.which.filter(session)? };
                let page = session.ask(&filter)?;
                print(session, &page, "No memories.");
            }
            MemoryVerb::Pin { id, off } => {
                let pin = |memory: String| Op::new(op::memory_pin::MemoryPin { memory: memory.into(), pinned: !off });
                change(settings, out, (&id, pin), if off { "Unpinned" } else { "Pinned" })?;
            }
            MemoryVerb::Forget { id } => {
                let forget = |memory: String| Op::new(op::memory_forget::MemoryForget { memory: memory.into() });
                change(settings, out, (&id, forget), "Forgot")?;
            }
        }
        Ok(0)
    }),
};

#[derive(Subcommand)]
enum MemoryVerb {
    /// List what you can see, nearest first: the task's, your own, the project's, the whole store's
    List(MemoryListArgs),
    /// Always show it in briefs (for the project and the whole store: people only)
    Pin {
        /// The memory, by a unique beginning of its id
        #[arg(value_name = "ID")]
        id: String,
        /// Unpin it
        #[arg(long)]
        off: bool,
    },
    /// Forget it; the log keeps what it said
    Forget {
        /// The memory, by a unique beginning of its id
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(clap::Args)]
struct MemoryListArgs {
    #[command(flatten)]
    which: MemoryRef,
    /// Only pinned memories
    #[arg(long)]
    pinned: bool,
    #[command(flatten)]
    page: super::list::Paging,
}

// Which memories, for `memory list` and `recall`.
#[derive(clap::Args)]
pub(super) struct MemoryRef {
    /// Only of this kind
    #[arg(long, value_enum)]
    kind: Option<KindArg>,
    /// Only of this scope
    #[arg(long, value_enum)]
    scope: Option<ScopeArg>,
    /// Only memories of this task; default: the task in focus
    #[arg(long, value_name = "ID")]
    task: Option<String>,
}

impl MemoryRef {
    pub(super) fn filter(&self, session: &Session<'_>) -> Result<Memories> {
        Ok(Memories {
            task: self.task.as_deref().map(|typed| task_id(session, typed)).transpose()?,
            kind: self.kind.map(KindArg::kind),
            scope: self.scope.map(|scope| scope.word().to_owned()),
            ..Memories::default()
        })
    }
}

/// Runs an op on a memory, in this project or in what belongs to the whole store.
fn change(
    settings: &Settings<'_>,
    out: &Printer,
    (typed, op): (&str, impl Fn(String) -> Op),
    verb: &str,
) -> Result<()> {
    let session = Session::open(settings, out, StoreUse::Write)?;
    let (of_store, id) = session.ask(&ResolveMemory { typed: typed.into() })?;
    let with = if of_store { RunOptions::in_store() } else { RunOptions::default() };
    let reply = session.run_any(&op(id), with)?;
    if session.out.is_json() {
        session.out.body(&reply.body);
    } else {
        let memory: Memory = reply.read()?;
        session.out.text(&format!("{verb} {}  {}", memory.id, memory.key));
    }
    Ok(())
}

/// Prints a page of memories, each with its author.
pub(super) fn print(session: &Session<'_>, page: &Page<Memory>, nothing: &str) {
    let out = session.out;
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

/// One memory with its author.
pub(super) fn whole(out: &Printer, memory: &Memory) -> String {
    let whose = memory.of.as_ref().map_or(memory.scope.clone(), |of| format!("{} {of}", memory.scope));
    let pin = if memory.pinned { ", pinned" } else { "" };
    let said =
        format!("{} for the {whose}{pin}, by {} on {}", memory.kind, memory.author, out.time(&memory.updated_at));
    let mut text = format!("{}  {}  {}", memory.id, out.ink(Ink::Strong, &memory.key), out.ink(Ink::Faint, &said));
    memory.text.lines().for_each(|line| text.push_str(&format!("\n  {line}")));
    text
}
