//! Plans: what happens in a simulation, as plain data that can be stored, shrunk and run again.
//!
//! A plan never names an id, because ids are drawn when it runs: a task is known by the number under which the plan adds
//! it, a request by its number, a fence by how it relates to the newest one. So any step can be taken out and the rest
//! still means something.

use serde::{Deserialize, Serialize};
use tenure_core::memory::MemoryKind;
use tenure_kernel::op::remember::MemoryReach;

/// What happens, step by step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Where it comes from or what it shows.
    pub about: String,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// An agent calls.
    Call(Call),
    /// The clock moves: a little, by hours or years, after a suspend, or back.
    Clock {
        /// By how much, in microseconds.
        by_us: i64,
    },
    /// An agent dies: what it would still have called does not happen.
    Dies {
        /// The agent.
        agent: String,
    },
}

/// A call of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Who.
    pub agent: String,
    /// The number of its request id: calls with the same number carry the same id.
    pub request: u32,
    /// Whether that id was given by the caller, whose answers are kept longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given: bool,
    /// The working tree it comes from, empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checkout: String,
    /// What.
    pub op: Request,
    /// What goes wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Agents whose processes the door has just proven dead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proven_dead: Vec<String>,
}

/// What goes wrong in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The lock cannot be had.
    Busy,
    /// This statement fails, counted from 1; none if there are fewer.
    Statement(u32),
    /// The commit fails.
    Commit,
    /// The commit is done and its acknowledgement lost.
    Acknowledgement,
}

/// A fence that a caller gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fence {
    /// The newest of the task.
    Newest,
    /// The one before it.
    Older,
    /// Any number.
    Number(i64),
}

/// A version that a caller expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// As it is.
    Current,
    /// One less.
    Behind,
}

/// On what and with what right.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Acting {
    /// The task, by its number in the plan; without it the focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// The fence given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Whether a person overrides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// A new task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The number it has in the plan.
    pub task: u32,
    /// Its priority.
    pub priority: i64,
    /// Its labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// What it comes after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
}

/// Up to where a door says that it has shown what was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Up to where the last answer that arrived offered.
    All,
    /// So many events less.
    ButLast(i64),
    /// So many more than were ever offered.
    Beyond(i64),
}

/// Something to remember.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The number of its text.
    pub text: u32,
    /// Its key, in any spelling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What it is.
    pub kind: MemoryKind,
    /// For whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryReach>,
    /// For which task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// For how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<i64>,
}

/// A memory that is there already: under a key, of somebody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Of whom.
    pub whose: Whose,
    /// Its key.
    pub key: String,
}

/// Whose a memory is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// Of everybody in the project.
    Project,
    /// Of an agent.
    Agent(String),
    /// Of a task.
    Task(u32),
}

/// A hold that there is or was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The newest on a task.
    Task(u32),
    /// The newest of an agent on a pattern, by its number.
    Path(String, u32),
    /// The newest of a lock, by the number of its name.
    Lock(u32),
}

/// What a message is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// A task.
    Task(u32),
    /// A hold.
    Hold(Which),
}

/// Paths to take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reserve {
    /// The numbers of the patterns.
    pub patterns: Vec<u32>,
    /// Whether others may have them too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// For how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<i64>,
    /// What for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Whether in every checkout.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all_checkouts: bool,
    /// Whether to wait where others are in the way.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
}

/// A named lock to take or renew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lock {
    /// The number of its name.
    pub name: u32,
    /// For how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<i64>,
    /// What for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The fence shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Whether only its fence renews it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub runner: bool,
    /// Whether to wait where somebody has it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
}

/// The payload of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Request {
    Add {
        #[serde(flatten)]
        draft: Draft,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<String>,
    },
    AddMany {
        items: Vec<Draft>,
    },
    Claim {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_s: Option<i64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
    },
    Resume {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_s: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    Confirm {
        up_to: Shown,
    },
    ConfirmMail {
        up_to: Shown,
    },
    Reserve(Reserve),
    Lock(Lock),
    ReleaseLock {
        name: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<Fence>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    ReleasePaths {
        patterns: Vec<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<Fence>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    ReleaseHold {
        hold: Which,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<Fence>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    Send {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        to: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<About>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        request: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        urgent: bool,
    },
    /// Looks into the mail, and acknowledges some of it, counted from the newest.
    Inbox {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ack: Vec<usize>,
    },
    SessionEnd,
    Note {
        #[serde(flatten)]
        on: Acting,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        memories: Vec<Memory>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<u32>,
    },
    Remember {
        items: Vec<Memory>,
    },
    MemoryPin {
        of: Kept,
        pinned: bool,
    },
    MemoryForget {
        of: Kept,
    },
    Done {
        #[serde(flatten)]
        on: Acting,
    },
    Block {
        #[serde(flatten)]
        on: Acting,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blocker: Option<u32>,
    },
    Release {
        #[serde(flatten)]
        on: Acting,
    },
    Cancel {
        #[serde(flatten)]
        on: Acting,
    },
    Transfer {
        #[serde(flatten)]
        on: Acting,
        to: String,
    },
    Unblock {
        task: u32,
    },
    Reopen {
        task: u32,
    },
    Snooze {
        task: u32,
        for_s: i64,
    },
    Edit(Edit),
}

/// Changes of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Edit {
    /// The task.
    pub task: u32,
    /// A new priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// Labels to add.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub add_labels: Vec<String>,
    /// Labels to take away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove_labels: Vec<String>,
    /// Whom it is for; empty for anyone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// What it comes after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<u32>>,
    /// The version it is made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl Request {
    /// The tasks it adds, by their numbers in the plan, in order.
    pub fn adds(&self) -> Vec<u32> {
        match self {
            Request::Add { draft, .. } => vec![draft.task],
            Request::AddMany { items } => items.iter().map(|item| item.task).collect(),
            _ => Vec::new(),
        }
    }
}
