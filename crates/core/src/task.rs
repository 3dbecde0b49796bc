//! Tasks: stored status, derived state, and the one table of transitions.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::error::{Code, Error, Result};

/// First priority.
pub const PRIORITY_FIRST: i64 = 0;
/// Last priority.
pub const PRIORITY_LAST: i64 = 4;
/// Priority when nothing is said.
pub const PRIORITY_DEFAULT: i64 = 2;

/// Checks a priority.
pub fn priority(value: i64) -> Result<i64> {
    if (PRIORITY_FIRST..=PRIORITY_LAST).contains(&value) {
        return Ok(value);
    }
    Err(Error::usage(Code::BadPriority, format!("{value} is not a priority"))
        .hint("Priorities go from 0 (first) to 4 (last); 2 is the default."))
}

/// What is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nobody works on it.
    Open,
    /// Somebody took it.
    Started,
    /// It cannot go on, for a reason that was given.
    Blocked,
    /// Finished.
    Done,
    /// Given up.
    Cancelled,
}

impl Status {
    /// All, in the order a task usually passes through them.
    pub const ALL: [Status; 5] = [Status::Open, Status::Started, Status::Blocked, Status::Done, Status::Cancelled];

    /// The word stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Open => "open",
            Status::Started => "started",
            Status::Blocked => "blocked",
            Status::Done => "done",
            Status::Cancelled => "cancelled",
        }
    }

    /// Reads the stored word.
    pub fn from_stored(word: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether the task is over.
    pub const fn is_closed(self) -> bool {
        matches!(self, Status::Done | Status::Cancelled)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a person or an agent sees: derived from status, dependencies and the hold, never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Can be claimed now.
    Ready,
    /// Waits for a dependency that is still to be done.
    Waiting,
    /// Waits for a dependency that was cancelled: somebody must edit or reopen.
    Stuck,
    /// Somebody holds it.
    Held,
    /// Blocked for a stated reason.
    Blocked,
    /// Finished.
    Done,
    /// Given up.
    Cancelled,
}

impl State {
    /// All, in the order lists show them.
    pub const ALL: [State; 7] =
        [State::Ready, State::Waiting, State::Stuck, State::Held, State::Blocked, State::Done, State::Cancelled];

    /// The word shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Ready => "ready",
            State::Waiting => "waiting",
            State::Stuck => "stuck",
            State::Held => "held",
            State::Blocked => "blocked",
            State::Done => "done",
            State::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The classes that tasks are counted in, by what is stored of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Open, nothing unmet.
    Ready,
    /// Open, something unmet.
    Waiting,
    /// Open, something unmet was cancelled.
    Stuck,
    /// Started.
    Started,
    /// Blocked.
    Blocked,
    /// Done.
    Done,
    /// Cancelled.
    Cancelled,
}

/// What readiness, class and state of a task follow from. The store writes the same rule as SQL in `table/task.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// The stored status.
    pub status: Status,
    /// How many dependencies are not done.
    pub unmet: i64,
    /// How many of those are cancelled.
    pub cancelled_deps: i64,
}

impl Conditions {
    /// The conditions of a task with these dependencies, given by their statuses.
    pub fn of(status: Status, deps: &[Status]) -> Conditions {
        let count = |wanted: fn(Status) -> bool| {
            i64::try_from(deps.iter().filter(|dep| wanted(**dep)).count()).unwrap_or(i64::MAX)
        };
        let unmet = count(|dep| dep != Status::Done);
        Conditions { status, unmet, cancelled_deps: count(|dep| dep == Status::Cancelled) }
    }

    /// The class that the task is counted in.
    pub const fn class(self) -> Class {
        match self.status {
            Status::Open if self.has_all_met() => Class::Ready,
            Status::Open if self.cancelled_deps > 0 => Class::Stuck,
            Status::Open => Class::Waiting,
            Status::Started => Class::Started,
            Status::Blocked => Class::Blocked,
            Status::Done => Class::Done,
            Status::Cancelled => Class::Cancelled,
        }
    }

    /// Whether a claim without a name may choose the task.
    pub const fn is_ready(self) -> bool {
        matches!(self.class(), Class::Ready)
    }

    /// Whether nothing but its status keeps the task from being ready.
    pub const fn has_all_met(self) -> bool {
        self.unmet == 0
    }

    /// What a write would find and what a reader is shown: the same function, so that a query needs no settling.
    ///
    /// `live_hold` is whether the task's hold has time left; a started task without one is open again.
    pub const fn view(self, live_hold: bool) -> (Status, State) {
        let seen = match self.status {
            Status::Started if !live_hold => Conditions { status: Status::Open, ..self },
            _ => self,
        };
        let state = match seen.class() {
            Class::Ready => State::Ready,
            Class::Waiting => State::Waiting,
            Class::Stuck => State::Stuck,
            Class::Started => State::Held,
            Class::Blocked => State::Blocked,
            Class::Done => State::Done,
            Class::Cancelled => State::Cancelled,
        };
        (seen.status, state)
    }
}

/// What moves a task from one status to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Take it.
    Claim,
    /// Give it back.
    Release,
    /// Say that it cannot go on.
    Block,
    /// Say that it can.
    Unblock,
    /// Finish it.
    Done,
    /// Give it up.
    Cancel,
    /// Open it again.
    Reopen,
}

impl Verb {
    /// All of them.
    pub const ALL: [Verb; 7] =
        [Verb::Claim, Verb::Release, Verb::Block, Verb::Unblock, Verb::Done, Verb::Cancel, Verb::Reopen];

    /// The command.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verb::Claim => "claim",
            Verb::Release => "release",
            Verb::Block => "block",
            Verb::Unblock => "unblock",
            Verb::Done => "done",
            Verb::Cancel => "cancel",
            Verb::Reopen => "reopen",
        }
    }
}

/// The table of transitions: the status after `verb`, or `None` where it is not allowed.
pub const fn after(status: Status, verb: Verb) -> Option<Status> {
    use Status::{Blocked, Cancelled, Done, Open, Started};
    match (verb, status) {
        (Verb::Claim, Open) => Some(Started),
        (Verb::Release, Started) => Some(Open),
        (Verb::Block, Open | Started) => Some(Blocked),
        (Verb::Unblock, Blocked) => Some(Open),
        (Verb::Done, Open | Started | Blocked) => Some(Done),
        (Verb::Cancel, Open | Started | Blocked) => Some(Cancelled),
        (Verb::Reopen, Done | Cancelled) => Some(Open),
        _ => None,
    }
}

/// The table, with the refusal that a caller sees where it has no entry.
pub fn transition(task: &str, status: Status, verb: Verb) -> Result<Status> {
    after(status, verb).ok_or_else(|| {
        let error =
            Error::new(Code::IllegalTransition, format!("{task} is {status}: {} is not possible", verb.as_str()))
                .entity(task)
                .detail("status", status.as_str());
        match status {
            Status::Done | Status::Cancelled => {
                error.attempt(Action::why(task)).attempt(Action::Reopen { task: task.to_string() })
            }
            Status::Blocked => error.attempt(Action::show(task)).attempt(Action::Unblock { task: task.to_string() }),
            Status::Open | Status::Started => error.attempt(Action::show(task)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_l10_the_table_of_transitions() {
        let table: Vec<String> = Verb::ALL
            .iter()
            .map(|&verb| {
                let row = Status::ALL.map(|status| after(status, verb).map_or("-", Status::as_str));
                format!("{:8}{}", verb.as_str(), row.join(" "))
            })
            .collect();
        assert_eq!(
            table,
            [
                // from: open started blocked done cancelled
                "claim   started - - - -",
                "release - open - - -",
                "block   blocked blocked - - -",
                "unblock - - open - -",
                "done    done done done - -",
                "cancel  cancelled cancelled cancelled - -",
                "reopen  - - - open open",
            ]
        );
    }

    #[test]
    fn conditions_count_what_is_not_done_and_what_was_cancelled() {
        let deps = [Status::Done, Status::Open, Status::Cancelled, Status::Blocked];
        let expected = Conditions { status: Status::Open, unmet: 3, cancelled_deps: 1 };
        assert_eq!(Conditions::of(Status::Open, &deps), expected);
        assert!(!expected.is_ready() && Conditions::of(Status::Open, &[Status::Done]).is_ready());
        assert_eq!(Conditions::of(Status::Blocked, &deps).class(), Class::Blocked);
    }

    #[test]
    fn a_started_task_whose_hold_has_lapsed_is_seen_as_open() {
        let view =
            |status, unmet, cancelled_deps, live_hold| Conditions { status, unmet, cancelled_deps }.view(live_hold);
        assert_eq!(view(Status::Started, 0, 0, true), (Status::Started, State::Held));
        assert_eq!(view(Status::Started, 0, 0, false), (Status::Open, State::Ready));
        assert_eq!(view(Status::Started, 2, 0, false), (Status::Open, State::Waiting));
        assert_eq!(view(Status::Open, 2, 1, false), (Status::Open, State::Stuck));
        assert_eq!(view(Status::Open, 0, 0, false), (Status::Open, State::Ready));
        assert_eq!(view(Status::Blocked, 0, 0, false), (Status::Blocked, State::Blocked));
    }
}
