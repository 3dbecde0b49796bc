//! Plans: the steps of a simulation as plain data that can be stored, shrunk and run again.
//!
//! A plan never contains an id, because ids are drawn when it runs. A task is named by the number under which the plan
//! adds it, a request by its number, and a fence by its relation to the newest one. So the rest of a plan stays
//! meaningful when any step is removed.

use serde::{Deserialize, Serialize};
use tenure_core::memory::MemoryKind;
use tenure_kernel::op::remember::MemoryReach;

/// A sequence of steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The origin of the plan, or what it shows.
    pub about: String,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A call of an agent.
    Call(Call),
    /// Moves the clock: by a little, by hours or years, by a suspend, or back.
    Clock {
        /// The distance in microseconds.
        by_us: i64,
    },
    /// An agent dies: its remaining calls do not happen.
    Dies {
        /// The agent.
        agent: String,
    },
}

/// A call of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The calling agent.
    pub agent: String,
    /// The number of the request id. Calls with the same number carry the same id.
    pub request: u32,
    /// Whether the caller chose the id; such answers are kept longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given: bool,
    /// The checkout of the caller; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub checkout: String,
    /// The op.
    pub op: Request,
    /// The injected fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// The agents whose processes the door has just proven dead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proven_dead: Vec<String>,
}

/// A fault injected into a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The store is busy: the lock is not granted.
    Busy,
    /// The statement with this number fails, counted from 1. Nothing fails if there are fewer statements.
    Statement(u32),
    /// The commit fails.
    Commit,
    /// The commit succeeds and its acknowledgement is lost.
    Acknowledgement,
}

/// The fence that a caller gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fence {
    /// The newest fence of the task.
    Newest,
    /// The fence before it.
    Older,
    /// An arbitrary number.
    Number(i64),
}

/// The version that a caller expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// The current version.
    Current,
    /// One less than the current version.
    Behind,
}

/// The target of an op and the caller's right.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Acting {
    /// The number of the task in the plan; the focus if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// The fence given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Whether a person overrides the holder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// A new task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The number of the task in the plan.
    pub task: u32,
    /// Its priority.
    pub priority: i64,
    /// Its labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Its dependencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
}

/// The number up to which a door confirms delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The last number offered by an answer that arrived.
    All,
    /// So many less than the last offered.
    ButLast(i64),
    /// So many beyond the last event.
    Beyond(i64),
}

/// A memory to store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The index of its text.
    pub text: u32,
    /// Its key, in any spelling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its kind.
    pub kind: MemoryKind,
    /// Its scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryReach>,
    /// Its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// Its time to live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<i64>,
}

/// An existing memory, named by scope and key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Its scope.
    pub whose: Whose,
    /// Its key.
    pub key: String,
}

/// The scope of an existing memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// The project.
    Project,
    /// An agent.
    Agent(String),
    /// A task.
    Task(u32),
}

/// A hold that exists or existed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The newest hold on a task.
    Task(u32),
    /// The newest hold of an agent on a pattern, by the pattern's number.
    Path(String, u32),
    /// The newest hold of a lock, by the number of its name.
    Lock(u32),
}

/// What is transferred.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moved {
    /// A hold by its id.
    Hold(Which),
    /// The holds within some patterns.
    Paths(Vec<u32>),
    /// A lock.
    Lock(u32),
    /// Everything that an agent holds; the caller if none is named.
    All(Option<String>),
}

/// The subject of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// A task.
    Task(u32),
    /// A hold.
    Hold(Which),
}

/// A request for paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reserve {
    /// The numbers of the patterns.
    pub patterns: Vec<u32>,
    /// Whether the holds are shared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// The time to live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<i64>,
    /// The reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Whether the holds apply to every checkout.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all_checkouts: bool,
    /// Whether to wait for conflicting holds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
}

/// A request to take or renew a named lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lock {
    /// The number of its name.
    pub name: u32,
    /// The time to live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<i64>,
    /// The reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The fence shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Whether only the fence renews the lock.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub runner: bool,
    /// Whether to wait for the current holder.
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
        /// The letter that it answers, counted from the newest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply: Option<usize>,
    },
    /// Reads the mail and acknowledges some letters, counted from the newest.
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
    /// Transfers something other than a task.
    Move {
        what: Moved,
        to: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<Fence>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
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

/// An edit of a task.
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
    /// Labels to remove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove_labels: Vec<String>,
    /// The assignee; empty for any agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// The dependencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<u32>>,
    /// The expected version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl Request {
    /// The tasks that the request adds, by their numbers in the plan, in order.
    pub fn adds(&self) -> Vec<u32> {
        match self {
            Request::Add { draft, .. } => vec![draft.task],
            Request::AddMany { items } => items.iter().map(|item| item.task).collect(),
            _ => Vec::new(),
        }
    }
}
