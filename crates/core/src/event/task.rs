//! Events of tasks.

use serde::{Deserialize, Serialize};

use super::{Payload, after, is_false, overriding, present, quoted};
use crate::choice::ChoiceRule;
use crate::task::TaskStatus;
use crate::time::Time;

/// `task.added`: a task was added, or came in with an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Added {
    /// Its title.
    pub title: String,
    /// Its priority.
    pub priority: i64,
    /// Its place in the order of adding.
    pub number: i64,
    /// The tasks it comes after.
    pub after: Vec<String>,
    /// Whether it was imported. The fields below are of imported tasks only.
    #[serde(skip_serializing_if = "is_false")]
    pub imported: bool,
    /// Its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// Why it is blocked or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reason: Option<Option<String>>,
    /// Who held it where it comes from.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub was_held_by: Option<Option<String>>,
    /// How often it was granted there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i64>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Who added it there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
}

impl Payload for Added {
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

/// `task.edited`: a task was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Edited {
    /// What was changed.
    pub changes: Changes,
    /// The version since.
    pub version: i64,
}

/// What was changed of a task: each field before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    /// What must be true when it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<[String; 2]>,
    /// The tasks it comes after, sorted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<[Vec<String>; 2]>,
    /// The agent it is for.
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
    /// The names of the fields that differ.
    pub fn fields(&self) -> Vec<&'static str> {
        [
            ("acceptance", self.acceptance.is_some()),
            ("after", self.after.is_some()),
            ("assignee", self.assignee.is_some()),
            ("description", self.description.is_some()),
            ("labels", self.labels.is_some()),
            ("priority", self.priority.is_some()),
            ("title", self.title.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect()
    }
}

impl Payload for Edited {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} changed {} of {subject}", self.changes.fields().join(", "))
    }
}

/// `task.claimed`: a task was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Claimed {
    /// Who has it.
    pub holder: String,
    /// The rule by which it was chosen.
    pub rule: Option<ChoiceRule>,
    /// Whose hold on it had lapsed.
    pub lapsed_from: Option<String>,
    /// How often it was granted, this time included.
    pub attempt: i64,
    /// How long the hold lives without a call of its holder.
    pub ttl_s: i64,
    /// When the hold ends if there is none.
    pub expires_at: Time,
}

impl Payload for Claimed {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        match (self.attempt, self.lapsed_from.as_deref().unwrap_or_default()) {
            (attempt, _) if attempt <= 1 => format!("{actor} took {subject}"),
            (attempt, "") => format!("{actor} took {subject}, attempt {attempt}"),
            (attempt, from) => format!("{actor} took {subject} over from {from}, attempt {attempt}"),
        }
    }
}

/// `task.noted`: progress was noted, or a note came in with an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Noted {
    /// The note.
    pub note: String,
    /// What it says.
    pub text: String,
    /// Whether its author's hold had lapsed.
    pub late: bool,
    /// The files that belong to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Whether it was imported. The fields below are of imported notes only.
    #[serde(skip_serializing_if = "is_false")]
    pub imported: bool,
    /// Who wrote it where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// A file that belongs to a note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Artifact {
    /// Relative to the top of the checkout where it is inside.
    pub path: String,
    /// What it is.
    pub kind: String,
    /// The SHA-256 of its content.
    pub sha256: String,
    /// How many bytes it has.
    pub size: i64,
}

impl Payload for Noted {
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
pub struct Done {
    /// Whether the actor's hold had lapsed.
    pub late: bool,
    /// Whose hold a person ended by it.
    pub overrode: Option<String>,
}

impl Payload for Done {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        match self.late {
            true => format!("{actor} finished {subject} late: its hold had lapsed and nobody had taken over"),
            false => format!("{actor} finished {subject}{}", overriding(self.overrode.as_deref())),
        }
    }
}

/// `task.blocked`: a task cannot go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Blocked {
    /// Why.
    pub reason: String,
    /// The task that blocks it.
    pub on: Option<String>,
    /// Whether the actor's hold had lapsed.
    pub late: bool,
    /// Whose hold a person ended by it.
    pub overrode: Option<String>,
}

impl Payload for Blocked {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let on = after(" on ", self.on.as_deref());
        format!("{actor} blocked {subject}{on}{}{}", overriding(self.overrode.as_deref()), quoted(&self.reason))
    }
}

/// `task.unblocked`: a task can go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unblocked {
    /// Why it was blocked.
    pub reason: String,
    /// Whether the task that blocked it is done.
    pub met: bool,
}

impl Payload for Unblocked {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} unblocked {subject}")
    }
}

/// `task.released`: a task was given back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Released {
    /// Why.
    pub reason: String,
    /// Whose hold a person ended by it.
    pub overrode: Option<String>,
}

impl Payload for Released {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} gave {subject} back{}{}", overriding(self.overrode.as_deref()), quoted(&self.reason))
    }
}

/// `task.reopened`: a finished task was opened again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reopened {
    /// Why.
    pub reason: String,
}

impl Payload for Reopened {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} opened {subject} again{}", quoted(&self.reason))
    }
}

/// `task.cancelled`: a task was given up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cancelled {
    /// Why.
    pub reason: String,
    /// Whether the actor's hold had lapsed.
    pub late: bool,
    /// Whose hold a person ended by it.
    pub overrode: Option<String>,
}

impl Payload for Cancelled {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} cancelled {subject}{}{}", overriding(self.overrode.as_deref()), quoted(&self.reason))
    }
}

/// `task.ready`: the last dependency of a task was met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ready {
    /// The task that was the last it waited for.
    pub unlocked_by: String,
}

impl Payload for Ready {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} became ready: {} was the last it waited for", self.unlocked_by)
    }
}

/// `task.waiting`: a dependency of a task is unmet again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waiting {
    /// The task that is no longer done.
    pub waits_for: String,
}

impl Payload for Waiting {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} waits again: {} is no longer done", self.waits_for)
    }
}

/// `task.unassigned`: the agent that a task was assigned to is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unassigned {
    /// The agent.
    pub assignee: String,
}

impl Payload for Unassigned {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} is no longer reserved for {}, who is gone", self.assignee)
    }
}
