//! The lines of an export. The order of the fields is part of the format.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenure_core::Result;
use tenure_core::id::{NoteId, TaskId};
use tenure_core::name::{AgentName, ProjectKey};
use tenure_core::task::{PRIORITY_DEFAULT, TaskStatus};
use tenure_store::table::{dep, note, task};

use super::{Instant, LoggedEvent, some};

/// The newest format that this version writes and reads.
pub const FORMAT: i64 = 1;

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Always `export`.
    pub tenure: String,
    /// The format of the lines that follow.
    pub format: i64,
    /// Where they come from.
    pub project: ExportedProject,
    /// The time of the snapshot.
    pub exported_at: Instant,
}

/// The project that was exported.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Project")]
#[serde(expecting = "struct Project")]
pub struct ExportedProject {
    /// Its key.
    pub key: ProjectKey,
    /// The name for people.
    pub label: String,
}

/// A task with all of its fields. Holds are not exported: only the holder's name is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Task")]
#[serde(expecting = "struct Task")]
pub struct ExportedTask {
    /// Its id.
    pub id: TaskId,
    /// One line of 1 to 500 characters.
    pub title: String,
    /// More lines, at most 64 KiB.
    #[serde(default)]
    pub description: String,
    /// The acceptance criteria.
    #[serde(default)]
    pub acceptance: String,
    /// 0 is first, 4 is last.
    #[serde(default = "default_priority")]
    pub priority: i64,
    /// Sorted, at most 20 of 64 characters.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The ids of the dependencies, sorted.
    #[serde(default)]
    pub after: Vec<TaskId>,
    /// The assignee.
    #[serde(default)]
    pub assignee: Option<AgentName>,
    /// `open`, `blocked`, `done` or `cancelled`.
    #[serde(default = "default_status")]
    pub status: TaskStatus,
    /// Why it is blocked or was cancelled.
    #[serde(default)]
    pub reason: Option<String>,
    /// The task that blocks it.
    #[serde(default)]
    pub blocked_on: Option<TaskId>,
    /// The time until which it is withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Instant>,
    /// The holder, or the agent whose hold had expired.
    #[serde(default)]
    pub was_held_by: Option<AgentName>,
    /// The number of grants so far.
    #[serde(default)]
    pub attempt: i64,
    /// Increases with each visible change.
    #[serde(default = "first_version")]
    pub version: i64,
    /// The agent that added it.
    pub created_by: AgentName,
    /// When.
    pub created_at: Instant,
    /// When what a person sees last changed.
    pub updated_at: Instant,
    /// The agent that finished or cancelled it.
    #[serde(default)]
    pub finished_by: Option<AgentName>,
    /// When that was.
    #[serde(default)]
    pub finished_at: Option<Instant>,
    /// The line of the input it stands on, for messages.
    #[serde(skip)]
    pub line: usize,
}

fn default_priority() -> i64 {
    PRIORITY_DEFAULT
}

fn default_status() -> TaskStatus {
    TaskStatus::Open
}

fn first_version() -> i64 {
    1
}

impl ExportedTask {
    /// A stored task with its dependencies. Nothing in it depends on the time: a lapsed hold and a live hold both mean
    /// that an agent had the task.
    pub(crate) fn of(full: &task::Full, edges: &[dep::Edge]) -> ExportedTask {
        let row = &full.task;
        let was_held_by = match &full.held {
            Some(held) => Some(held.holder.clone()),
            None if row.lapsed && !row.status.is_closed() => row.last_holder.clone(),
            None => None,
        };
        let mut after: Vec<TaskId> = edges.iter().map(|edge| edge.after.clone()).collect();
        after.sort();
        ExportedTask {
            id: row.id.clone(),
            title: row.title.clone(),
            description: row.description.clone(),
            acceptance: row.acceptance.clone(),
            priority: row.priority,
            labels: row.labels.clone(),
            after,
            assignee: row.assignee.clone(),
            status: if row.status == TaskStatus::Started { TaskStatus::Open } else { row.status },
            reason: some(&row.reason),
            blocked_on: row.blocked_on.clone(),
            not_before: row.not_before.map(|at| at.to_string()),
            was_held_by,
            attempt: row.attempt,
            version: row.version,
            created_by: row.created_by.clone(),
            created_at: row.created_at.to_string(),
            updated_at: row.updated_at.to_string(),
            finished_by: row.finished_by.clone(),
            finished_at: row.finished_at.map(|at| at.to_string()),
            line: 0,
        }
    }
}

/// A note on a task.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Note")]
#[serde(expecting = "struct Note")]
pub struct ExportedNote {
    /// Its id.
    pub id: NoteId,
    /// The task it is on.
    pub task: TaskId,
    /// The author.
    pub agent: AgentName,
    /// When.
    pub at: Instant,
    /// The text.
    pub text: String,
    /// The data of the note, byte for byte: parsing and rewriting numbers may change them.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Value>")]
    pub data: Option<Box<RawValue>>,
    /// Whether the author's hold had expired.
    #[serde(default)]
    pub late: bool,
    /// The line of the input it stands on, for messages.
    #[serde(skip)]
    pub line: usize,
}

impl ExportedNote {
    /// A stored note.
    pub(crate) fn of(row: note::Row) -> Result<ExportedNote> {
        let corrupt = |error| tenure_store::error::corrupt("stored data is not JSON").cause(error);
        // Stored null and absent data are the same: both are written as null.
        let data = row.data.filter(|data| data != "null").map(RawValue::from_string).transpose().map_err(corrupt)?;
        Ok(ExportedNote {
            id: row.id,
            task: row.task,
            agent: row.agent,
            at: row.at.to_string(),
            text: row.text,
            data,
            late: row.late,
            line: 0,
        })
    }
}

/// The last line: how many lines of each sort stand before it, so that a file that was cut off is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "End")]
#[serde(expecting = "struct End")]
pub struct ExportEnd {
    /// Always true.
    pub end: bool,
    /// Tasks.
    pub tasks: usize,
    /// Notes.
    pub notes: usize,
    /// Events.
    pub events: usize,
}

/// A line between the first and the last.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExportLine<'a> {
    Task(&'a ExportedTask),
    Note(&'a ExportedNote),
    Event(&'a LoggedEvent),
}

/// The answer to `import`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// The number of imported tasks.
    pub tasks: usize,
    /// The number of imported notes.
    pub notes: usize,
    /// The number of tasks that existed already, with the same content.
    pub unchanged: usize,
    /// The number of notes that existed already, with the same content.
    pub unchanged_notes: usize,
    /// The number of events in the file, which are not imported.
    pub events_left_out: usize,
    /// Agents that became known because a task is assigned to them.
    pub agents: usize,
    /// Whether this is a dry run.
    pub dry_run: bool,
}
