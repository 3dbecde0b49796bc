//! Task events.

use serde::{Deserialize, Serialize};

use super::{Payload, after, is_false, overriding, present, quoted};
use crate::choice::ChoiceRule;
use crate::task::TaskStatus;
use crate::text::quote;
use crate::time::Time;

/// `task.added`: a task was added or imported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskAdded {
    /// The task's title.
    pub title: String,
    /// The task's priority.
    pub priority: i64,
    /// The task's creation number.
    pub number: i64,
    /// The tasks it depends on.
    pub after: Vec<String>,
    /// Whether it was imported. Only imported tasks have the fields below.
    #[serde(skip_serializing_if = "is_false")]
    pub imported: bool,
    /// The task's status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// Why it is blocked or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reason: Option<Option<String>>,
    /// The holder in the store it was exported from.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub was_held_by: Option<Option<String>>,
    /// How many times it was granted there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i64>,
    /// The task's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// The author in the store it was exported from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// The time it was added there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// The time until which it is withheld.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
}

impl Payload for TaskAdded {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let title = quoted(&self.title);
        match self.imported {
            true => {
                let status = self.status.map(|status| status.to_string()).unwrap_or_default();
                format!("{actor} imported {subject} as {status}{title}")
            }
            false => format!("{actor} added {subject}{title}"),
        }
    }
}

/// `task.edited`: fields of a task were changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskEdited {
    /// The changed fields.
    pub changes: Changes,
    /// The new version.
    pub version: i64,
}

/// The changed fields of a task, each as `[before, after]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    /// The acceptance criteria.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<[String; 2]>,
    /// The tasks it depends on, sorted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<[Vec<String>; 2]>,
    /// The agent it is assigned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<[String; 2]>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<[String; 2]>,
    /// The labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<[Vec<String>; 2]>,
    /// The priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<[i64; 2]>,
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<[String; 2]>,
}

impl Changes {
    /// What changed, each field as `priority 2 → 0`. Of long texts only the name is told.
    pub fn sentences(&self) -> Vec<String> {
        let list = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let [title, assignee, labels, after] = [
            self.title.as_ref().map(|[from, to]| format!("{} → {}", quote(from, 120), quote(to, 120))),
            self.assignee
                .as_ref()
                .map(|sides| sides.each_ref().map(|name| if name.is_empty() { "anyone" } else { name }).join(" → ")),
            self.labels.as_ref().map(|sides| sides.each_ref().map(|labels| list(labels)).join(" → ")),
            self.after.as_ref().map(|sides| sides.each_ref().map(|after| list(after)).join(" → ")),
        ];
        let priority = self.priority.map(|[from, to]| format!("{from} → {to}"));
        let text = |changed: bool| changed.then(String::new);
        [
            ("title", title),
            ("priority", priority),
            ("labels", labels),
            ("for", assignee),
            ("after", after),
            ("description", text(self.description.is_some())),
            ("acceptance", text(self.acceptance.is_some())),
        ]
        .into_iter()
        .filter_map(|(field, sides)| Some(format!("{field} {}", sides?).trim_end().to_owned()))
        .collect()
    }
}

impl Payload for TaskEdited {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        match self.changes.sentences().join(", ") {
            none if none.is_empty() => format!("{actor} changed {subject}"),
            changed => format!("{actor} changed {subject}: {changed}"),
        }
    }
}

/// `task.snoozed`: a task is not offered before a time, or is offered again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskSnoozed {
    /// The time before which it was not offered until now.
    pub from: Option<Time>,
    /// The time until which it is withheld.
    pub not_before: Option<Time>,
    /// The version since.
    pub version: i64,
}

impl Payload for TaskSnoozed {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        match self.not_before {
            Some(until) => format!("{actor} snoozed {subject} until {until}"),
            None => format!("{actor} ended the snooze of {subject}"),
        }
    }
}

/// `task.claimed`: a task was claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskClaimed {
    /// The holder.
    pub holder: String,
    /// The rule that chose it.
    pub rule: Option<ChoiceRule>,
    /// The agent whose hold on it had expired.
    pub lapsed_from: Option<String>,
    /// How many times it has been granted, including this time.
    pub attempt: i64,
    /// The time to live of the hold without a call of its holder.
    pub ttl_s: i64,
    /// When the hold expires without a renewal.
    pub expires_at: Time,
}

impl Payload for TaskClaimed {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        match (self.attempt, self.lapsed_from.as_deref().unwrap_or_default()) {
            (attempt, _) if attempt <= 1 => format!("{actor} took {subject}"),
            (attempt, "") => format!("{actor} took {subject}, attempt {attempt}"),
            (attempt, from) => format!("{actor} took {subject} over from {from}, attempt {attempt}"),
        }
    }
}

/// `task.noted`: a note was added or imported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskNoted {
    /// The note's id.
    pub note: String,
    /// The note's text.
    pub text: String,
    /// Whether the author's hold had expired.
    pub late: bool,
    /// The attached files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<NotedArtifact>,
    /// Whether it was imported. Only imported notes have the fields below.
    #[serde(skip_serializing_if = "is_false")]
    pub imported: bool,
    /// The author in the store it was exported from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The time it was written there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// A file attached to a note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NotedArtifact {
    /// The path, relative to the top of the checkout if it is inside.
    pub path: String,
    /// The kind of file.
    pub kind: String,
    /// The SHA-256 of its content.
    pub sha256: String,
    /// Its size in bytes.
    pub size: i64,
}

impl Payload for TaskNoted {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let text = quoted(&self.text);
        match self.imported {
            true => {
                let agent = self.agent.as_deref().unwrap_or_default();
                format!("{actor} imported a note of {agent} on {subject}{text}")
            }
            false => format!("{actor} noted on {subject}{text}"),
        }
    }
}

/// `task.done`: a task was finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskDone {
    /// Whether the actor's hold had expired.
    pub late: bool,
    /// The agent whose hold a person ended by it.
    pub overrode: Option<String>,
    /// The summary given. It is a note too, whose event comes before this one, so the sentence does not repeat it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

impl Payload for TaskDone {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        match self.late {
            true => format!("{actor} finished {subject} late: its hold had expired, and no agent had taken over"),
            false => format!("{actor} finished {subject}{}", overriding(self.overrode.as_deref())),
        }
    }
}

/// `task.blocked`: a task was blocked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskBlocked {
    /// The reason given.
    pub reason: String,
    /// The task that blocks it.
    pub on: Option<String>,
    /// Whether the actor's hold had expired.
    pub late: bool,
    /// The agent whose hold a person ended by it.
    pub overrode: Option<String>,
}

impl Payload for TaskBlocked {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let on = after(" on ", self.on.as_deref());
        format!("{actor} blocked {subject}{on}{}{}", overriding(self.overrode.as_deref()), quoted(&self.reason))
    }
}

/// `task.unblocked`: a task was unblocked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskUnblocked {
    /// Why it was blocked.
    pub reason: String,
    /// Whether the task that blocked it is done.
    pub met: bool,
}

impl Payload for TaskUnblocked {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} unblocked {subject}")
    }
}

/// `task.released`: a task was released.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskReleased {
    /// The reason given.
    pub reason: String,
    /// The agent whose hold a person ended by it.
    pub overrode: Option<String>,
}

impl Payload for TaskReleased {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} released {subject}{}{}", overriding(self.overrode.as_deref()), quoted(&self.reason))
    }
}

/// `task.reopened`: a finished task was reopened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskReopened {
    /// The reason given.
    pub reason: String,
}

impl Payload for TaskReopened {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} reopened {subject}{}", quoted(&self.reason))
    }
}

/// `task.cancelled`: a task was cancelled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskCancelled {
    /// The reason given.
    pub reason: String,
    /// Whether the actor's hold had expired.
    pub late: bool,
    /// The agent whose hold a person ended by it.
    pub overrode: Option<String>,
}

impl Payload for TaskCancelled {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} cancelled {subject}{}{}", overriding(self.overrode.as_deref()), quoted(&self.reason))
    }
}

/// `task.ready`: the last dependency of a task was met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskReady {
    /// The last dependency that was met.
    pub unlocked_by: String,
}

impl Payload for TaskReady {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} became ready: its last dependency {} is done", self.unlocked_by)
    }
}

/// `task.waiting`: a dependency of a task is unmet again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskWaiting {
    /// The dependency that is no longer done.
    pub waits_for: String,
}

impl Payload for TaskWaiting {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} waits again: {} is no longer done", self.waits_for)
    }
}

/// `task.unassigned`: the agent that a task was assigned to is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskUnassigned {
    /// The agent that is gone.
    pub assignee: String,
}

impl Payload for TaskUnassigned {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} is no longer assigned to {}, which is gone", self.assignee)
    }
}
