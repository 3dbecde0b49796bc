//! The records of a process: its calls, their times and their answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::Error;
use tenure_core::number::EventNumber;

/// An instant of the monotonic clock in nanoseconds. It is the same for all processes of the machine and never set
/// back.
pub(super) type Nanos = i64;

pub(super) fn monotonic() -> Nanos {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// A request. Tasks and agents are indexes into the lists of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ask {
    Claim { task: Option<usize>, ttl_s: i64 },
    Done { task: usize, fence: Option<i64> },
    Release { task: usize, fence: Option<i64> },
    Block { task: usize, fence: Option<i64> },
    Unblock { task: usize },
    Reopen { task: usize },
    Transfer { task: usize, to: usize, fence: Option<i64> },
    Note { task: usize, fence: Option<i64> },
    Edit { task: usize, title: String, expect: Option<i64> },
    Show { task: usize },
}

/// The task in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct View {
    pub(super) status: String,
    pub(super) version: i64,
    pub(super) attempt: i64,
    pub(super) title: String,
    /// The holder and the fence.
    pub(super) holder: Option<(usize, i64)>,
    pub(super) lapsed_from: Option<usize>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// A task, and whether it was finished late, where the answer reports that.
    Task { task: usize, view: View, late: bool },
    /// No task is ready.
    Nothing,
    /// A transferred hold.
    Transferred { to: usize, fence: i64 },
    /// A note.
    Noted { late: bool },
    /// A refusal, with its details about the task.
    Refused { code: String, holder: Option<usize>, version: Option<i64>, fence: Option<i64>, status: Option<String> },
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Got {
    /// An answer arrived.
    Answer(Answer),
    /// No answer: the op took effect once, later, or never.
    Unknown,
    /// No answer, but a guarantee that nothing was changed.
    Undone,
    /// An answer that must never occur.
    Odd(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) process: usize,
    pub(super) project: usize,
    pub(super) agent: usize,
    /// The request id of all its attempts.
    pub(super) request: String,
    pub(super) invoked: Nanos,
    pub(super) returned: Nanos,
    pub(super) ask: Ask,
    pub(super) got: Got,
}

/// The position up to which a process has read the log, and the digest of the events read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Reading {
    pub(super) process: usize,
    pub(super) project: usize,
    pub(super) upto: EventNumber,
    pub(super) digest: u64,
}

/// A line of a process's output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Line {
    Call(Record),
    Reading(Reading),
}

/// The name of an agent, and the inverse.
pub(super) fn agent(index: usize) -> String {
    format!("a{index}")
}

fn agent_of(name: &Value) -> Option<usize> {
    name.as_str().and_then(|name| name.strip_prefix('a')).and_then(|digits| digits.parse().ok())
}

/// Parses the task of an answer.
pub(super) fn view(task: &Value) -> View {
    let holder = &task["holder"];
    View {
        status: task["status"].as_str().unwrap_or_default().to_owned(),
        version: task["version"].as_i64().unwrap_or_default(),
        attempt: task["attempt"].as_i64().unwrap_or_default(),
        title: task["title"].as_str().unwrap_or_default().to_owned(),
        holder: agent_of(&holder["agent"]).zip(holder["fence"].as_i64()),
        lapsed_from: agent_of(&task["lapsed_from"]),
    }
}

/// Parses the answer to an op.
pub(super) fn answer(ask: &Ask, body: &Value, tasks: &[String]) -> Answer {
    let place = |id: &Value| tasks.iter().position(|task| Some(task.as_str()) == id.as_str()).unwrap_or(usize::MAX);
    match ask {
        Ask::Claim { .. } if body["task"].is_null() => Answer::Nothing,
        Ask::Claim { .. } => Answer::Task { task: place(&body["task"]["id"]), view: view(&body["task"]), late: false },
        Ask::Transfer { .. } => {
            let hold = &body["holds"][0];
            Answer::Transferred {
                to: agent_of(&hold["holder"]).unwrap_or(usize::MAX),
                fence: hold["fence"].as_i64().unwrap_or_default(),
            }
        }
        Ask::Note { .. } => Answer::Noted { late: body["late"] == true },
        _ => Answer::Task { task: place(&body["id"]), view: view(body), late: body["late"] == true },
    }
}

/// Parses a refusal.
pub(super) fn refused(error: &Error) -> Answer {
    let blockers = error.get("blockers");
    Answer::Refused {
        code: error.code().as_str().to_owned(),
        holder: blockers.and_then(|blockers| agent_of(&blockers[0]["holder"])),
        version: error.get("version").and_then(Value::as_i64),
        fence: error.get("current_fence").and_then(Value::as_i64),
        status: error.get("status").and_then(Value::as_str).map(str::to_owned),
    }
}

/// A digest over the events read so far, to compare readings. FNV-1a over the identifying fields of an event.
pub(super) fn digest(before: u64, number: EventNumber, kind: &str, request: &str) -> u64 {
    let bytes = number.get().to_le_bytes().into_iter().chain(kind.bytes()).chain(request.bytes());
    bytes.fold(before, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}
