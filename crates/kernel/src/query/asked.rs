//! What queries are asked with, as values that can be sent: one struct for each form of a question.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Span;
use tenure_core::agent::Process;

use super::access::Of;
use super::commit::Made;
use super::session::{Depth, Look};
use super::usual;
use super::{holds, memory};
use crate::op::{resume, tool_used};
use crate::shape::Turn;

/// Nothing but who asks and where.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// An id.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Id {
    /// The whole id.
    pub id: String,
}

/// What was typed for an id.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Typed {
    /// Any unique beginning of the id.
    pub typed: String,
}

/// A name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The name.
    pub name: String,
}

/// A page of a list that has no filter.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Paged {
    /// Page size.
    #[serde(default = "usual")]
    pub limit: usize,
    /// Where the page begins.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A page of tokens.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// Only of this principal.
    #[serde(default)]
    pub principal: Option<String>,
    /// Page size.
    #[serde(default = "usual")]
    pub limit: usize,
    /// Where the page begins.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A page of memberships: of a principal, in a project, or all there are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Members {
    /// Only of this principal.
    #[serde(default)]
    pub principal: Option<String>,
    /// Only in the project with this key, unless a principal is named.
    #[serde(default)]
    pub project: Option<String>,
    /// Page size.
    #[serde(default = "usual")]
    pub limit: usize,
    /// Where the page begins.
    #[serde(default)]
    pub cursor: Option<String>,
}

impl Members {
    /// Whose.
    pub(super) fn of(&self) -> Of<'_> {
        match (&self.principal, &self.project) {
            (Some(principal), _) => Of::Principal(principal),
            (None, Some(project)) => Of::Project(project),
            (None, None) => Of::All,
        }
    }
}

/// A page of holds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Holds {
    /// Which holds.
    #[serde(default)]
    pub filter: holds::Filter,
    /// Page size.
    #[serde(default = "usual")]
    pub limit: usize,
    /// Where the page begins.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A page of agents.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agents {
    /// Only those seen within this many microseconds, latest first.
    #[serde(default)]
    #[schemars(with = "Option<i64>")]
    pub within_us: Option<Span>,
    /// Page size.
    #[serde(default = "usual")]
    pub limit: usize,
    /// Where the page begins.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// Words to recall memories by.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recall {
    /// The words.
    pub question: String,
    /// Which memories.
    pub filter: memory::Filter,
}

/// New mail, some of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// Most messages.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// How many messages are new, and the first of them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unread {
    /// Most messages.
    pub limit: usize,
}

/// What `claim` would choose.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// Only tasks with all of these labels.
    #[serde(default)]
    pub labels: Vec<String>,
}

/// What a session is shown when it begins.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    /// As for `resume`.
    pub request: resume::Resume,
    /// Most ready tasks.
    pub ready: usize,
}

/// Commits that are about to be pushed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Commits {
    /// The commits.
    pub commits: Vec<Made>,
    /// Whether the checkout's file system does not tell `A` from `a`.
    #[serde(default)]
    pub fold_case: bool,
}

/// Files that an edit is about to change.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// The files.
    pub files: Vec<String>,
    /// Whether the checkout's file system does not tell `A` from `a`.
    #[serde(default)]
    pub fold_case: bool,
}

/// What a hook asks.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// What it is about to say.
    pub says: tool_used::ToolUsed,
    /// The agent's name, where a person gave it.
    #[serde(default)]
    pub given: Option<String>,
    /// How much it must know.
    pub depth: Depth,
}

impl Standing {
    /// What a hook asks, to be sent.
    pub fn of(look: &Look<'_>) -> Standing {
        Standing { says: look.says.clone(), given: look.given.map(str::to_owned), depth: look.depth }
    }

    pub(super) fn look(&self) -> Look<'_> {
        Look { says: &self.says, given: self.given.as_deref(), depth: self.depth }
    }
}

/// What the edit guard asks.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outlook {
    /// What a hook asks.
    pub look: Standing,
    /// The files.
    pub files: Vec<String>,
    /// Whether the checkout's file system does not tell `A` from `a`.
    #[serde(default)]
    pub fold_case: bool,
}

/// Who a command is that runs inside a tool.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionOf {
    /// Tools, each with the id of its session where it is known.
    pub tools: Vec<(String, Option<String>)>,
    /// The machine, boot and namespace of the command.
    pub here: Process,
    /// Pids and start times of the processes above it, the nearest first.
    pub above: Vec<(i64, i64)>,
}

/// A machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its id.
    pub host: String,
}

/// A project by its key or its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Called {
    /// The key or the name.
    pub name: String,
    /// Whether one that was forgotten counts.
    #[serde(default)]
    pub also_forgotten: bool,
}

/// How a place in the waiting line stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AtPlace {
    /// The place.
    pub place: String,
    /// What was answered before.
    #[serde(default)]
    pub before: Option<Turn>,
}

/// An export.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// With the log.
    #[serde(default)]
    pub with_log: bool,
}
