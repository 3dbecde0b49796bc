//! Events of holds: on tasks, paths and named locks.

use serde::{Deserialize, Serialize};

use super::{Payload, after, is_false, overriding, present, quoted};
use crate::hold::Mode;
use crate::text::cut;
use crate::time::Time;

/// `hold.expired`: a hold ended without an op of its holder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Expired {
    /// What it was on; absent for a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Who had it.
    pub holder: String,
    /// Its fence.
    pub fence: i64,
    /// When it was granted.
    pub granted_at: Time,
    /// When its time was over.
    pub expires_at: Time,
    /// When it ended.
    pub ended_at: Time,
    /// Whether its holder's process is gone. Absent after a restore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven_dead: Option<bool>,
    /// Whether its holder's session is over.
    #[serde(skip_serializing_if = "is_false")]
    pub session_ended: bool,
    /// Whether the project was restored from a backup.
    #[serde(skip_serializing_if = "is_false")]
    pub restored: bool,
    /// The task that a path was held for, empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The checkout of a path, empty for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// The place in the waiting line that an offer was made to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// What ends a hold before its time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutShort {
    /// The process of its agent is gone.
    ProvenDead,
    /// The session of its agent is over.
    SessionEnded,
}

impl Expired {
    /// The same, cut short before its time was over.
    #[must_use]
    pub fn cut_short(mut self, by: Option<CutShort>) -> Expired {
        match by {
            Some(CutShort::ProvenDead) => self.proven_dead = Some(true),
            Some(CutShort::SessionEnded) => self.session_ended = true,
            None => {}
        }
        self
    }

    /// Whether its time just ran out.
    pub fn ran_out(&self) -> bool {
        !(self.proven_dead.unwrap_or_default() || self.session_ended || self.restored)
    }
}

impl Payload for Expired {
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
            "ran out of time"
        };
        format!("the hold of {holder} on {subject} {why}")
    }
}

/// `hold.transferred`: a hold went to another agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Transferred {
    /// Who had it.
    pub from: String,
    /// The hold that ended.
    pub ended_hold: String,
    /// Whose hold a person ended by it.
    pub overrode: Option<String>,
    /// Who has it now.
    pub holder: String,
    /// How long the new hold lives without a call of its holder.
    pub ttl_s: i64,
    /// When the new hold ends if there is none.
    pub expires_at: Time,
    /// How often a task was granted, this time included. Absent for a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i64>,
    /// Whether others may have a path too. Absent for a task, as are the fields below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The checkout of a path, empty for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// The task that a path is held for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What a path is held for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Payload for Transferred {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let overrode = overriding(self.overrode.as_deref());
        format!("{actor} handed {subject} from {} to {}{overrode}", self.from, self.holder)
    }
}

/// `lock.taken`: a named lock was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockTaken {
    /// Who has it.
    pub holder: String,
    /// What it is for.
    pub reason: String,
    /// What renews it.
    pub renewal: String,
    /// How long it lives without that.
    pub ttl_s: i64,
    /// When it ends if it is not renewed.
    pub expires_at: Time,
    /// From whom it was taken.
    pub overrode: Option<String>,
}

impl Payload for LockTaken {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let overrode = overriding(self.overrode.as_deref());
        format!("{actor} took the lock {subject}{overrode}{}", quoted(&self.reason))
    }
}

/// `lock.released`: a named lock was given back, or taken from its holder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockReleased {
    /// Who had it.
    pub holder: String,
    /// Its fence.
    pub fence: i64,
    /// Why.
    pub reason: String,
    /// Whose hold was ended by it.
    pub overrode: Option<String>,
    /// Whether another agent took it with force.
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
    /// Who has it.
    pub holder: String,
    /// Whether others may have it too.
    pub mode: Mode,
    /// The checkout, empty for all of them.
    pub checkout: String,
    /// The task it is held for, empty for none.
    pub task: String,
    /// What it is for.
    pub reason: String,
    /// How long it lives without a call of its holder.
    pub ttl_s: i64,
    /// When it ends if there is none.
    pub expires_at: Time,
    /// Who held it for a task that was taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lapsed_from: Option<String>,
    /// `guard` where an edit guard reserved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The agent inside the holder's session whose edit that was.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub sub_agent: Option<Option<String>>,
    /// Whose hold was ended by it.
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
    /// Who has it.
    pub holder: String,
    /// Whether others may have it too.
    pub mode: Option<Mode>,
    /// Its fence.
    pub fence: i64,
}

impl Payload for PathChanged {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} made its hold on {subject} {}", self.mode.map_or("", Mode::as_str))
    }
}

/// `path.released`: a path was given back, or taken from its holder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathReleased {
    /// Who had it.
    pub holder: String,
    /// Its fence.
    pub fence: i64,
    /// The checkout, empty for all of them.
    pub checkout: String,
    /// Why. Absent where it ended with something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whose hold was ended by it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub overrode: Option<Option<String>>,
    /// Whether another agent took it with force.
    #[serde(skip_serializing_if = "is_false")]
    pub stolen: bool,
    /// The task that it ended with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The commit that it ended with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl Payload for PathReleased {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let word = |field: &Option<String>| field.clone().unwrap_or_default();
        match (word(&self.commit).as_str(), word(&self.task).as_str()) {
            ("", "") => {
                let overrode = overriding(self.overrode.as_ref().and_then(Option::as_deref));
                format!("{actor} released {subject}{overrode}{}", quoted(&word(&self.reason)))
            }
            ("", task) => format!("{subject} was given back with {task}"),
            (commit, _) => format!("{subject} was given back with the commit {commit}"),
        }
    }
}

/// `path.committed`: files were committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathCommitted {
    /// The commit.
    pub commit: String,
    /// The first files of it.
    pub paths: Vec<String>,
    /// How many more files it has.
    pub more: i64,
    /// The task in focus, empty for none.
    pub task: String,
    /// The checkout, empty where it is not known.
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
