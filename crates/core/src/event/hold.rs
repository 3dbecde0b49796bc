//! Hold events: on tasks, paths and named locks.

use serde::{Deserialize, Serialize};

use super::{Payload, after, is_false, overriding, present, quoted};
use crate::hold::Mode;
use crate::text::cut;
use crate::time::Time;

/// `hold.expired`: a hold ended without an op of its holder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HoldExpired {
    /// The kind of hold; absent for a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The holder.
    pub holder: String,
    /// The hold's fence.
    pub fence: i64,
    /// When it was granted.
    pub granted_at: Time,
    /// When it would have expired.
    pub expires_at: Time,
    /// When it actually ended.
    pub ended_at: Time,
    /// Whether the holder's process is proven dead. Absent after a restore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven_dead: Option<bool>,
    /// Whether the holder's session has ended.
    #[serde(skip_serializing_if = "is_false")]
    pub session_ended: bool,
    /// Whether the project was restored from a backup.
    #[serde(skip_serializing_if = "is_false")]
    pub restored: bool,
    /// The task that a path was held for; empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The checkout of a path; empty for all checkouts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// The place in the waiting line that the offer was made to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// The reason why a hold ended before it expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutShort {
    /// The process of its agent is dead.
    ProvenDead,
    /// The session of its agent has ended.
    SessionEnded,
}

impl HoldExpired {
    /// Records why the hold ended early; `None` leaves it an ordinary expiry.
    #[must_use]
    pub fn cut_short(mut self, by: Option<CutShort>) -> HoldExpired {
        match by {
            Some(CutShort::ProvenDead) => self.proven_dead = Some(true),
            Some(CutShort::SessionEnded) => self.session_ended = true,
            None => {}
        }
        self
    }

    /// Whether the hold simply expired.
    pub fn ran_out(&self) -> bool {
        !(self.proven_dead.unwrap_or_default() || self.session_ended || self.restored)
    }
}

impl Payload for HoldExpired {
    fn sentence(&self, _: &str, subject: &str) -> String {
        let is_lock = self.kind.as_deref() == Some("name");
        let subject = if is_lock { format!("the lock {subject}") } else { subject.to_owned() };
        let holder = &self.holder;
        let why = if self.proven_dead.unwrap_or_default() {
            "ended: its process is gone"
        } else if self.session_ended {
            "ended: its session is over"
        } else if self.restored {
            "ended: the project was restored from a backup"
        } else if self.place.as_ref().is_some_and(|place| !place.is_empty()) {
            return format!("{holder} did not take {subject} in time");
        } else {
            "expired"
        };
        format!("the hold of {holder} on {subject} {why}")
    }
}

/// `hold.transferred`: a hold was transferred to another agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HoldTransferred {
    /// The previous holder.
    pub from: String,
    /// The hold that the transfer ended.
    pub ended_hold: String,
    /// The agent whose hold a person ended by it.
    pub overrode: Option<String>,
    /// The new holder.
    pub holder: String,
    /// The time to live of the new hold without a call of its holder.
    pub ttl_s: i64,
    /// When the new hold expires without a renewal.
    pub expires_at: Time,
    /// How many times the task has been granted, including this time. Absent for a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i64>,
    /// The mode of a path hold. Absent for a task, like the fields below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The checkout of a path; empty for all checkouts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// The task that a path is held for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The reason why a path or a lock is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `name` for a named lock. Absent for a task and a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

impl Payload for HoldTransferred {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let overrode = overriding(self.overrode.as_deref());
        let lock = if self.kind.as_deref() == Some("name") { "the lock " } else { "" };
        format!("{actor} transferred {lock}{subject} from {} to {}{overrode}", self.from, self.holder)
    }
}

/// `lock.taken`: a named lock was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockTaken {
    /// The holder.
    pub holder: String,
    /// The holder's reason.
    pub reason: String,
    /// The kind of call that renews the lock.
    pub renewal: String,
    /// The time to live without a renewal.
    pub ttl_s: i64,
    /// When it expires without a renewal.
    pub expires_at: Time,
    /// The agent that it was taken from.
    pub overrode: Option<String>,
}

impl Payload for LockTaken {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let overrode = overriding(self.overrode.as_deref());
        format!("{actor} took the lock {subject}{overrode}{}", quoted(&self.reason))
    }
}

/// `lock.released`: a named lock was released or taken from its holder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockReleased {
    /// The previous holder.
    pub holder: String,
    /// The hold's fence.
    pub fence: i64,
    /// The reason given.
    pub reason: String,
    /// The agent whose hold was ended by force.
    pub overrode: Option<String>,
    /// Whether another agent took it by force.
    #[serde(skip_serializing_if = "is_false")]
    pub stolen: bool,
}

impl Payload for LockReleased {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let overrode = overriding(self.overrode.as_deref());
        format!("{actor} released the lock {subject}{overrode}{}", quoted(&self.reason))
    }
}

/// `path.reserved`: a path was reserved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathReserved {
    /// The holder.
    pub holder: String,
    /// Exclusive or shared.
    pub mode: Mode,
    /// The checkout; empty for all checkouts.
    pub checkout: String,
    /// The task it is held for; empty for none.
    pub task: String,
    /// The holder's reason.
    pub reason: String,
    /// The time to live without a call of its holder.
    pub ttl_s: i64,
    /// When it expires without a renewal.
    pub expires_at: Time,
    /// The agent that held it for a task that was taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lapsed_from: Option<String>,
    /// `guard` if an edit guard reserved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The sub-agent of the holder's session that made the edit.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub sub_agent: Option<Option<String>>,
    /// The agent whose hold was ended by force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrode: Option<String>,
}

impl Payload for PathReserved {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let shared = if self.mode == Mode::Shared { ", shared" } else { "" };
        let (task, overrode) = (after(" for ", Some(&self.task)), overriding(self.overrode.as_deref()));
        format!("{actor} reserved {subject}{shared}{task}{overrode}{}", quoted(&self.reason))
    }
}

/// `path.changed`: a hold on a path became exclusive or shared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathChanged {
    /// The holder.
    pub holder: String,
    /// The new mode.
    pub mode: Option<Mode>,
    /// The hold's fence.
    pub fence: i64,
}

impl Payload for PathChanged {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} made its hold on {subject} {}", self.mode.map_or("", Mode::as_str))
    }
}

/// `path.released`: a path was released or taken from its holder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathReleased {
    /// The previous holder.
    pub holder: String,
    /// The hold's fence.
    pub fence: i64,
    /// The checkout; empty for all checkouts.
    pub checkout: String,
    /// The reason given. Absent if the hold ended with a task or a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The agent whose hold was ended by force.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub overrode: Option<Option<String>>,
    /// Whether another agent took it by force.
    #[serde(skip_serializing_if = "is_false")]
    pub stolen: bool,
    /// The task whose end released it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The commit that released it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl Payload for PathReleased {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let word = |field: &Option<String>| field.clone().unwrap_or_default();
        match (word(&self.commit).as_str(), word(&self.task).as_str()) {
            ("", "") => {
                let overrode = overriding(self.overrode.as_ref().and_then(Option::as_deref));
                format!("{actor} released the path {subject}{overrode}{}", quoted(&word(&self.reason)))
            }
            ("", task) => format!("{subject} was released with {task}"),
            (commit, _) => format!("{subject} was released by the commit {commit}"),
        }
    }
}

/// `path.committed`: files were committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathCommitted {
    /// The commit's id.
    pub commit: String,
    /// The first files of the commit.
    pub paths: Vec<String>,
    /// The number of further files.
    pub more: i64,
    /// The task in focus; empty for none.
    pub task: String,
    /// The checkout; empty if unknown.
    pub checkout: String,
}

impl Payload for PathCommitted {
    fn sentence(&self, actor: &str, _: &str) -> String {
        let shown: Vec<String> = self.paths.iter().take(3).map(|path| cut(path, 80)).collect();
        let more = match self.more + i64::try_from(self.paths.len() - shown.len()).unwrap_or(0) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let task = after(" for ", Some(&self.task));
        format!("{actor} committed {}{more}{task} as {}", shown.join(", "), cut(&self.commit, 12))
    }
}
