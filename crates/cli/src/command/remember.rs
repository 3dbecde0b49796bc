//! `tenure remember`

use clap::{Args as _, ValueEnum};
use tenure_core::Span;
use tenure_core::memory::MemoryKind;
use tenure_kernel::answer::MemoryOutcome;
use tenure_kernel::op::remember::{MemoryReach, NewMemory, Remember};

use super::{Group, Run, Spec, read, task_id};
use crate::session::{RunOptions, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "remember",
    aliases: &["memorize", "learn"],
    group: Group::Everyday,
    about: "Store a fact, a directive or a lesson for later sessions",
    examples: &[
        "tenure remember \"the importer needs LC_ALL=C\"",
        "tenure remember \"run make lint before a commit\" --kind directive --scope project",
        "tenure remember \"staging is down until Friday\" --key staging --ttl 3d",
    ],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Write, |session, matches| {
        let args: Args = read(matches)?;
        let task = args.task.as_deref().map(|typed| task_id(session, typed)).transpose()?;
        let ttl_s = args.ttl.as_deref().map(Span::parse).transpose()?.map(Span::as_seconds);
        let scope = args.scope.map(ScopeArg::client);
        let item = NewMemory { text: args.text, key: args.key, kind: args.kind.kind(), scope, task, ttl_s };
        let with = match args.scope {
            Some(ScopeArg::Global) => RunOptions::in_store(),
            _ => RunOptions::default(),
        };
        let reply = session.run(Remember { items: vec![item] }, with)?;
        let said = reply.read()?;
        if session.out.is_json() {
            session.out.body(&reply.body);
            return Ok(0);
        }
        for item in said.items {
            let verb = match item.outcome {
                MemoryOutcome::Added => "Remembered",
                MemoryOutcome::Changed => "Changed",
                MemoryOutcome::Unchanged => "Known already:",
            };
            let whose = item.of.map_or(item.scope.clone(), |of| format!("{} {of}", item.scope));
            session.out.text(&format!("{verb} {}  {}  ({whose})", item.id, item.key));
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The text, a few sentences
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// The subject, such as db/schema; a memory with the same key is replaced
    #[arg(long, short, value_name = "KEY")]
    key: Option<String>,
    /// What it is
    #[arg(long, value_enum, default_value = "fact")]
    kind: KindArg,
    /// The scope; default: your task in focus, else the project
    #[arg(long, value_enum)]
    scope: Option<ScopeArg>,
    /// Store it for this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Delete it after this time, such as 7d
    #[arg(long, value_name = "TIME")]
    ttl: Option<String>,
}

/// A kind as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum KindArg {
    /// Something that is so
    Fact,
    /// Something to be done or left whenever it applies
    Directive,
    /// Something learnt from what went wrong
    Lesson,
}

impl KindArg {
    pub(super) fn kind(self) -> MemoryKind {
        match self {
            KindArg::Fact => MemoryKind::Fact,
            KindArg::Directive => MemoryKind::Directive,
            KindArg::Lesson => MemoryKind::Lesson,
        }
    }
}

/// A scope as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ScopeArg {
    /// Whoever works on the task
    Task,
    /// You
    Agent,
    /// Everybody in the project
    Project,
    /// Everybody in the store
    Global,
}

impl ScopeArg {
    fn client(self) -> MemoryReach {
        match self {
            ScopeArg::Task => MemoryReach::Task,
            ScopeArg::Agent => MemoryReach::Agent,
            ScopeArg::Project => MemoryReach::Project,
            ScopeArg::Global => MemoryReach::Global,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            ScopeArg::Task => "task",
            ScopeArg::Agent => "agent",
            ScopeArg::Project => "project",
            ScopeArg::Global => "global",
        }
    }
}
