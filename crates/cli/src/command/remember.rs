//! `tenure remember`

use clap::{Args as _, ValueEnum};
use tenure_core::Span;
use tenure_core::memory::Kind;
use tenure_kernel::Op;
use tenure_kernel::op::remember::{Item, Reach, Remember};
use tenure_kernel::shape::{Outcome, Remembered};
use tenure_store::table::project;

use super::{Group, Spec, read};

pub(super) const SPEC: Spec = Spec {
    name: "remember",
    aliases: &["memorize", "learn"],
    group: Group::Everyday,
    about: "Keep a fact, a directive or a lesson for whoever comes next",
    examples: &[
        "tenure remember \"the importer needs LC_ALL=C\"",
        "tenure remember \"run make lint before a commit\" --kind directive --scope project",
        "tenure remember \"staging is down until Friday\" --key staging --ttl 3d",
    ],
    args: Args::augment_args,
    run: |context, matches| {
        let args: Args = read(matches)?;
        context.will_write();
        let task = args.task.as_deref().map(|typed| context.task_id(typed)).transpose()?;
        let ttl_s = args.ttl.as_deref().map(Span::parse).transpose()?.map(Span::as_seconds);
        let scope = args.scope.map(Scope::reach);
        let item = Item { text: args.text, key: args.key, kind: args.kind.kind(), scope, task, ttl_s };
        let op = Op::new(Remember { items: vec![item] });
        let reply = match args.scope {
            Some(Scope::Global) => {
                op.check()?;
                context.run_in(project::whole_store(), &op)?
            }
            _ => context.run(&op)?,
        };
        let said: Remembered = reply.read()?;
        if context.out.is_json() {
            context.out.body(&reply.body);
            return Ok(0);
        }
        for item in said.items {
            let verb = match item.outcome {
                Outcome::Added => "Remembered",
                Outcome::Changed => "Changed",
                Outcome::Unchanged => "Known already:",
            };
            let whose = item.of.map_or(item.scope.clone(), |of| format!("{} {of}", item.scope));
            context.out.text(&format!("{verb} {}  {}  ({whose})", item.id, item.key));
        }
        Ok(0)
    },
};

#[derive(clap::Args)]
struct Args {
    /// What to remember, in a few sentences
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// What it is about, such as db/schema; the same key again changes it
    #[arg(long, short, value_name = "KEY")]
    key: Option<String>,
    /// What it is
    #[arg(long, value_enum, default_value = "fact")]
    kind: Word,
    /// For whom; your task if you have one in focus, else the project
    #[arg(long, value_enum)]
    scope: Option<Scope>,
    /// For whoever works on this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Forget it after this time, such as 7d
    #[arg(long, value_name = "TIME")]
    ttl: Option<String>,
}

/// A kind as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Word {
    /// Something that is so
    Fact,
    /// Something to be done or left whenever it applies
    Directive,
    /// Something learnt from what went wrong
    Lesson,
}

impl Word {
    pub(super) fn kind(self) -> Kind {
        match self {
            Word::Fact => Kind::Fact,
            Word::Directive => Kind::Directive,
            Word::Lesson => Kind::Lesson,
        }
    }
}

/// A scope as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Scope {
    /// Whoever works on the task
    Task,
    /// You
    Agent,
    /// Everybody in the project
    Project,
    /// Everybody in the store
    Global,
}

impl Scope {
    fn reach(self) -> Reach {
        match self {
            Scope::Task => Reach::Task,
            Scope::Agent => Reach::Agent,
            Scope::Project => Reach::Project,
            Scope::Global => Reach::Global,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Scope::Task => "task",
            Scope::Agent => "agent",
            Scope::Project => "project",
            Scope::Global => "global",
        }
    }
}
