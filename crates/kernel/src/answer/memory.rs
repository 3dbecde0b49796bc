//! Memories in answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::id::{MemoryId, TaskId};
use tenure_core::memory::MemoryKind;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_store::table::memory;

use super::some;

/// A memory.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// Its canonical key.
    pub key: String,
    /// The scope: task, agent, project or global.
    pub scope: String,
    /// The task or agent of the scope.
    pub of: Option<String>,
    /// What it is.
    pub kind: MemoryKind,
    /// The text.
    pub text: String,
    /// Whether every brief shows it.
    pub pinned: bool,
    /// The author of the current text.
    pub author: AgentName,
    /// The author's task at that time.
    pub from_task: Option<TaskId>,
    /// The event that last changed it.
    pub event: EventNumber,
    /// Increases with each change.
    pub version: i64,
    /// The time at which it was first stored.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// When it ends, if it does.
    pub expires_at: Option<String>,
}

impl Memory {
    pub(crate) fn of(row: &memory::Row) -> Memory {
        Memory {
            id: row.id.clone(),
            key: row.key.clone(),
            scope: row.scope.word().to_owned(),
            of: some(row.scope.subject()),
            kind: row.kind,
            text: row.text.clone(),
            pinned: row.pinned,
            author: row.author.clone(),
            from_task: row.task.clone(),
            event: row.number,
            version: row.version,
            created_at: row.created_at.to_string(),
            updated_at: row.updated_at.to_string(),
            expires_at: row.expires_at.map(|at| at.to_string()),
        }
    }
}

/// The answer to `remember`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Remembered {
    /// The number of memories in the request; all of them are stored now.
    pub count: usize,
    /// Each of them, in the order of the request.
    pub items: Vec<RememberedItem>,
}

/// The result for one memory of a request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RememberedItem {
    /// Its id.
    pub id: MemoryId,
    /// Its canonical key.
    pub key: String,
    /// The scope.
    pub scope: String,
    /// The task or agent of the scope.
    pub of: Option<String>,
    /// What was done.
    pub outcome: MemoryOutcome,
    /// Increases with each change.
    pub version: i64,
}

/// What was done with a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Outcome")]
pub enum MemoryOutcome {
    /// There was no memory with this key.
    Added,
    /// It had another text.
    Changed,
    /// It had the same text.
    Unchanged,
}

impl RememberedItem {
    pub(crate) fn of(row: &memory::Row, outcome: MemoryOutcome) -> RememberedItem {
        RememberedItem {
            id: row.id.clone(),
            key: row.key.clone(),
            scope: row.scope.word().to_owned(),
            of: some(row.scope.subject()),
            outcome,
            version: row.version,
        }
    }
}
