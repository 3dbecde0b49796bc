//! Answers of queries about a task's past and about a project as a whole.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use tenure_core::agent::{Liveness, Sign, liveness};
use tenure_core::id::{HoldId, NoteId, TaskId};
use tenure_core::name::{AgentName, ProjectKey};
use tenure_core::number::EventNumber;
use tenure_core::{Result, Span, Time};
use tenure_store::table::{agent, event, note, project};

use super::{Hold, Instant, Task, merged, some};
use crate::op::note::Artifact;

/// Parses stored JSON. Invalid JSON means that another program wrote it: the store is corrupt.
fn parsed(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| tenure_store::error::corrupt("stored data is not JSON").cause(error))
}

/// A note.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Note")]
pub struct NoteView {
    /// Its id.
    pub id: NoteId,
    /// The number of its event.
    pub number: EventNumber,
    /// The author.
    pub agent: AgentName,
    /// When.
    pub at: Instant,
    /// The text.
    pub text: String,
    /// The data of the note.
    pub data: Option<Value>,
    /// Whether the author's hold had expired.
    pub late: bool,
    /// The files it names, where a task is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
}

impl NoteView {
    pub(crate) fn of(row: note::Row) -> Result<NoteView> {
        Ok(NoteView {
            id: row.id,
            number: row.number,
            agent: row.agent,
            at: row.at.to_string(),
            text: row.text,
            data: row.data.as_deref().map(parsed).transpose()?,
            late: row.late,
            artifacts: Vec::new(),
        })
    }
}

/// An event.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct LoggedEvent {
    /// Its number.
    pub number: EventNumber,
    /// When.
    pub at: Instant,
    /// What.
    pub kind: String,
    /// Who.
    pub actor: AgentName,
    /// What it is about.
    pub subject: String,
    /// The hold it is about.
    pub hold: Option<HoldId>,
    /// The op that appended it.
    pub op: String,
    /// The request that ran the op.
    pub request_id: String,
    /// The event that caused it.
    pub cause: Option<EventNumber>,
    /// Everything else.
    pub data: Value,
    /// The title of the task it is about, as it is now, where the request asks for titles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl LoggedEvent {
    pub(crate) fn of(row: event::Row) -> Result<LoggedEvent> {
        Ok(LoggedEvent {
            number: row.number,
            at: row.at.to_string(),
            kind: row.kind,
            actor: row.actor,
            subject: row.subject,
            hold: row.hold,
            op: row.op,
            request_id: row.request_id,
            cause: row.cause,
            data: parsed(&row.data)?,
            title: None,
        })
    }

    /// An event as a reader may see it. A memory in the scope of an agent is private to it. The key is hidden too,
    /// because it may repeat the first words of the text.
    pub(crate) fn read_by(reader: &str, row: event::Row) -> Result<LoggedEvent> {
        let mut event = LoggedEvent::of(row)?;
        let is_private =
            event.kind.starts_with("memory.") && event.data["scope"] == "agent" && event.data["of"] != reader;
        if let (true, Some(data)) = (is_private, event.data.as_object_mut()) {
            data.retain(|name, _| !matches!(name.as_str(), "text" | "old" | "key"));
        }
        Ok(event)
    }

    /// The typed event.
    pub fn fact(&self) -> tenure_core::event::Event {
        tenure_core::event::Event::read(&self.kind, &self.data)
    }

    /// The event in one sentence.
    pub fn sentence(&self) -> String {
        self.fact().sentence(&self.actor, &self.subject)
    }
}

/// The answer to `show`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Shown {
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// Whether the task that blocks it is done.
    pub blocker_gone: bool,
    /// The newest notes on it, oldest first.
    pub notes: Vec<NoteView>,
    /// The dependents, at most 100.
    pub dependents: Vec<TaskId>,
    /// Its newest events, oldest first.
    pub events: Vec<LoggedEvent>,
}

impl<'de> Deserialize<'de> for Shown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Shown, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            blocker_gone: bool,
            notes: Vec<NoteView>,
            dependents: Vec<TaskId>,
            events: Vec<LoggedEvent>,
        }
        let (task, Rest { blocker_gone, notes, dependents, events }) = merged::both(deserializer)?;
        Ok(Shown { task, blocker_gone, notes, dependents, events })
    }
}

/// The answer to `why`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Story {
    /// What it is about.
    pub subject: String,
    /// The events, oldest first.
    pub story: Vec<Sentence>,
    /// Whether older sentences were left out.
    pub more: bool,
    /// Whether it began with events that were removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
}

/// A project as the list of all of them shows it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Project")]
pub struct ProjectOverview {
    /// Its key.
    pub key: ProjectKey,
    /// The name for people.
    pub label: String,
    /// Whether it is the one the question was asked in.
    pub here: bool,
    /// Tasks that are not done and not cancelled.
    pub open: i64,
    /// Tasks that are done.
    pub done: i64,
    /// Tasks that were cancelled.
    pub cancelled: i64,
    /// How many events are kept.
    pub events: i64,
    /// The time of creation.
    pub created_at: String,
    /// When the last op was run in it.
    pub last_at: String,
}

impl ProjectOverview {
    pub(crate) fn of(row: &project::ProjectSummary, here: &str) -> ProjectOverview {
        let [done, cancelled] =
            [project::Class::Done, project::Class::Cancelled].map(|class| row.counts[class as usize]);
        ProjectOverview {
            key: row.key.clone(),
            label: row.label.clone(),
            here: row.key == here,
            open: row.counts.iter().sum::<i64>() - done - cancelled,
            done,
            cancelled,
            events: row.events,
            created_at: row.created_at.to_string(),
            last_at: row.last_time.to_string(),
        }
    }
}

/// One sentence of a story.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sentence {
    /// The number of the event.
    pub number: EventNumber,
    /// When.
    pub at: Instant,
    /// The sentence.
    pub text: String,
}

/// An agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Its name.
    pub name: AgentName,
    /// The tool.
    pub tool: Option<String>,
    /// Whether it is alive.
    pub liveness: Liveness,
    /// Its last op.
    pub last_seen: Instant,
    /// How long ago that was.
    pub last_seen_s: i64,
    /// The task in focus.
    pub focus: Option<TaskId>,
    /// Its first op.
    pub registered_at: Instant,
}

impl Agent {
    pub(crate) fn of(row: &agent::Row, sign: &Sign, now: Time) -> Agent {
        Agent {
            name: row.name.clone(),
            tool: some(&row.tool),
            liveness: liveness(now, sign),
            last_seen: row.last_seen.to_string(),
            last_seen_s: row.last_seen.age(now).as_seconds(),
            focus: row.focus.clone(),
            registered_at: row.registered_at.to_string(),
        }
    }
}

/// When a hook last ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Fired")]
pub struct HookRun {
    /// The agent tool.
    pub tool: String,
    /// Its event.
    pub event: String,
    /// When.
    pub at: Instant,
    /// How long ago that was.
    pub ago_s: i64,
}

/// A task that cannot continue, in `status`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hindered {
    /// The task.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// The cause: a reason, a task, a list of cancelled dependencies.
    pub by: String,
    /// Whether it is no longer blocked.
    pub gone: bool,
}

/// The answer to `status`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Overview {
    /// What can be claimed.
    pub ready: i64,
    /// Tasks that wait for a dependency.
    pub waiting: i64,
    /// The tasks in progress.
    pub started: i64,
    /// What is blocked.
    pub blocked: i64,
    /// Tasks that wait for a cancelled dependency.
    pub stuck: i64,
    /// Live holds.
    pub held: i64,
    /// Finished.
    pub done: i64,
    /// Given up.
    pub cancelled: i64,
    /// The time at which the next hold ends without renewal.
    pub next_expiry: Option<Instant>,
    /// How long until then.
    pub next_expiry_s: Option<i64>,
    /// A sentence that says what is happening and what is stuck.
    pub summary: String,
    /// The first blocked tasks with their causes.
    pub blocked_by: Vec<Hindered>,
    /// The first stuck tasks with their causes.
    pub stuck_by: Vec<Hindered>,
    /// The next holds to end.
    pub holds: Vec<Hold>,
    /// The waiting agents in the order of the line, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub line: Vec<super::Place>,
    /// Requests between agents that have been open for too long, oldest first.
    pub overdue: Vec<super::Overdue>,
    /// Agents seen within the hour, latest first.
    pub agents: Vec<Agent>,
    /// The newest event.
    pub last_event: EventNumber,
    /// Whether the guards are off.
    pub guards: super::GuardState,
}

/// A short form of a duration for sentences.
pub fn span(seconds: i64) -> String {
    Span::seconds(seconds).to_string()
}
