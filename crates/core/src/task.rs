//! Tasks: stored status, derived state, and the table of transitions.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::error::{Code, Error, Result};
use crate::time::Time;

/// The highest priority.
pub const PRIORITY_FIRST: i64 = 0;
/// The lowest priority.
pub const PRIORITY_LAST: i64 = 4;
/// The default priority.
pub const PRIORITY_DEFAULT: i64 = 2;

/// Checks a priority.
pub fn priority(value: i64) -> Result<i64> {
    if (PRIORITY_FIRST..=PRIORITY_LAST).contains(&value) {
        return Ok(value);
    }
    Err(Error::usage(Code::BadPriority, format!("{value} is not a priority"))
        .hint("Priorities go from 0 (first) to 4 (last); 2 is the default."))
}

/// The stored status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Status")]
pub enum TaskStatus {
    /// No agent works on it.
    Open,
    /// It was taken.
    Started,
    /// It cannot continue, for a stated reason.
    Blocked,
    /// Finished.
    Done,
    /// Given up.
    Cancelled,
}

impl TaskStatus {
    /// All statuses, in the usual order of a task's life.
    pub const ALL: [TaskStatus; 5] =
        [TaskStatus::Open, TaskStatus::Started, TaskStatus::Blocked, TaskStatus::Done, TaskStatus::Cancelled];

    /// The word in the store and in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            TaskStatus::Open => "open",
            TaskStatus::Started => "started",
            TaskStatus::Blocked => "blocked",
            TaskStatus::Done => "done",
            TaskStatus::Cancelled => "cancelled",
        }
    }

    /// Parses the stored word.
    pub fn from_stored(word: &str) -> Option<TaskStatus> {
        TaskStatus::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether the task is done or cancelled.
    pub const fn is_closed(self) -> bool {
        matches!(self, TaskStatus::Done | TaskStatus::Cancelled)
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a person or an agent sees: derived from status, dependencies and the hold, never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "State")]
pub enum TaskState {
    /// Can be claimed now.
    Ready,
    /// Waits for a dependency that is not done, or for the end of its snooze.
    Waiting,
    /// Waits for a dependency that was cancelled: a person must edit or reopen it.
    Stuck,
    /// An agent holds it.
    Held,
    /// Blocked for a stated reason.
    Blocked,
    /// Finished.
    Done,
    /// Given up.
    Cancelled,
}

impl TaskState {
    /// All states, in the order of lists.
    pub const ALL: [TaskState; 7] = [
        TaskState::Ready,
        TaskState::Waiting,
        TaskState::Stuck,
        TaskState::Held,
        TaskState::Blocked,
        TaskState::Done,
        TaskState::Cancelled,
    ];

    /// The word in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            TaskState::Ready => "ready",
            TaskState::Waiting => "waiting",
            TaskState::Stuck => "stuck",
            TaskState::Held => "held",
            TaskState::Blocked => "blocked",
            TaskState::Done => "done",
            TaskState::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The classes in which tasks are counted, derived from stored columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Open, with every dependency met and no time to wait for.
    Ready,
    /// Open, with an unmet dependency or a time to wait for.
    Waiting,
    /// Open, with a cancelled dependency.
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

/// The inputs from which readiness, class and state of a task are derived. The store expresses the same rule as SQL in
/// `table/task.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// The stored status.
    pub status: TaskStatus,
    /// The number of dependencies that are not done.
    pub unmet: i64,
    /// The number of those that are cancelled.
    pub cancelled_deps: i64,
    /// The time before which the task is not offered. Once it has passed it counts for nothing, stored or not.
    pub not_before: Option<Time>,
}

impl Conditions {
    /// The conditions of a task whose dependencies have these statuses, without a time to wait for.
    pub fn of(status: TaskStatus, deps: &[TaskStatus]) -> Conditions {
        let count = |wanted: fn(TaskStatus) -> bool| {
            i64::try_from(deps.iter().filter(|dep| wanted(**dep)).count()).unwrap_or(i64::MAX)
        };
        let unmet = count(|dep| dep != TaskStatus::Done);
        Conditions { status, unmet, cancelled_deps: count(|dep| dep == TaskStatus::Cancelled), not_before: None }
    }

    /// The class in which the task is counted.
    pub const fn class(self) -> Class {
        match self.status {
            TaskStatus::Open if self.has_all_met() && self.not_before.is_none() => Class::Ready,
            TaskStatus::Open if self.cancelled_deps > 0 => Class::Stuck,
            TaskStatus::Open => Class::Waiting,
            TaskStatus::Started => Class::Started,
            TaskStatus::Blocked => Class::Blocked,
            TaskStatus::Done => Class::Done,
            TaskStatus::Cancelled => Class::Cancelled,
        }
    }

    /// Whether a claim without an id can choose the task.
    pub const fn is_ready(self) -> bool {
        matches!(self.class(), Class::Ready)
    }

    /// Whether all dependencies are met, so that only the status can keep the task from being ready.
    pub const fn has_all_met(self) -> bool {
        self.unmet == 0
    }

    /// Whether the task is open and waits for no dependency: what `task.ready` and `task.waiting` tell. A time to wait
    /// for does not count.
    pub const fn is_open_and_met(self) -> bool {
        matches!(self.status, TaskStatus::Open) && self.has_all_met()
    }

    /// Whether nothing but its status keeps the task from being offered at an instant.
    pub fn is_offered(self, now: Time) -> bool {
        self.has_all_met() && self.at(now).not_before.is_none()
    }

    /// The conditions at an instant: a time that has passed is waited for no longer.
    #[must_use]
    pub fn at(self, now: Time) -> Conditions {
        Conditions { not_before: self.not_before.filter(|until| now < *until), ..self }
    }

    /// The status and state that a write would find and a reader is shown. Both use this function, so a query needs no
    /// settling.
    ///
    /// `live_hold` says whether the task has a live hold; a started task without one is open again.
    pub fn view(self, live_hold: bool, now: Time) -> (TaskStatus, TaskState) {
        let at = self.at(now);
        let seen = match self.status {
            TaskStatus::Started if !live_hold => Conditions { status: TaskStatus::Open, ..at },
            _ => at,
        };
        let state = match seen.class() {
            Class::Ready => TaskState::Ready,
            Class::Waiting => TaskState::Waiting,
            Class::Stuck => TaskState::Stuck,
            Class::Started => TaskState::Held,
            Class::Blocked => TaskState::Blocked,
            Class::Done => TaskState::Done,
            Class::Cancelled => TaskState::Cancelled,
        };
        (seen.status, state)
    }
}

/// A change of a task's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Claim it.
    Claim,
    /// Release it.
    Release,
    /// Block it.
    Block,
    /// Unblock it.
    Unblock,
    /// Finish it.
    Done,
    /// Cancel it.
    Cancel,
    /// Reopen it.
    Reopen,
}

impl Transition {
    /// All transitions.
    pub const ALL: [Transition; 7] = [
        Transition::Claim,
        Transition::Release,
        Transition::Block,
        Transition::Unblock,
        Transition::Done,
        Transition::Cancel,
        Transition::Reopen,
    ];

    /// The command's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Transition::Claim => "claim",
            Transition::Release => "release",
            Transition::Block => "block",
            Transition::Unblock => "unblock",
            Transition::Done => "done",
            Transition::Cancel => "cancel",
            Transition::Reopen => "reopen",
        }
    }
}

/// The table of transitions: the status after `verb`, or `None` if it is not allowed.
pub const fn after(status: TaskStatus, verb: Transition) -> Option<TaskStatus> {
    use TaskStatus::{Blocked, Cancelled, Done, Open, Started};
    match (verb, status) {
        (Transition::Claim, Open) => Some(Started),
        (Transition::Release, Started) => Some(Open),
        (Transition::Block, Open | Started) => Some(Blocked),
        (Transition::Unblock, Blocked) => Some(Open),
        (Transition::Done, Open | Started | Blocked) => Some(Done),
        (Transition::Cancel, Open | Started | Blocked) => Some(Cancelled),
        (Transition::Reopen, Done | Cancelled) => Some(Open),
        _ => None,
    }
}

/// Looks up the table and returns the refusal if it has no entry.
pub fn transition(task: &str, status: TaskStatus, verb: Transition) -> Result<TaskStatus> {
    after(status, verb).ok_or_else(|| {
        let error =
            Error::new(Code::IllegalTransition, format!("{task} is {status}: {} is not possible", verb.as_str()))
                .entity(task)
                .detail("status", status.as_str());
        match status {
            TaskStatus::Done | TaskStatus::Cancelled => {
                error.attempt(Action::why(task)).attempt(Action::Reopen { task: task.to_string() })
            }
            TaskStatus::Blocked => {
                error.attempt(Action::show(task)).attempt(Action::Unblock { task: task.to_string() })
            }
            TaskStatus::Open | TaskStatus::Started => error.attempt(Action::show(task)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_l10_the_table_of_transitions() {
        let table: Vec<String> = Transition::ALL
            .iter()
            .map(|&verb| {
                let row = TaskStatus::ALL.map(|status| after(status, verb).map_or("-", TaskStatus::as_str));
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
        let deps = [TaskStatus::Done, TaskStatus::Open, TaskStatus::Cancelled, TaskStatus::Blocked];
        let expected = Conditions { status: TaskStatus::Open, unmet: 3, cancelled_deps: 1, not_before: None };
        assert_eq!(Conditions::of(TaskStatus::Open, &deps), expected);
        assert!(!expected.is_ready() && Conditions::of(TaskStatus::Open, &[TaskStatus::Done]).is_ready());
        assert_eq!(Conditions::of(TaskStatus::Blocked, &deps).class(), Class::Blocked);
    }

    #[test]
    fn a_started_task_whose_hold_has_lapsed_is_seen_as_open() {
        let view = |status, unmet, cancelled_deps, live_hold| {
            Conditions { status, unmet, cancelled_deps, not_before: None }.view(live_hold, Time(0))
        };
        assert_eq!(view(TaskStatus::Started, 0, 0, true), (TaskStatus::Started, TaskState::Held));
        assert_eq!(view(TaskStatus::Started, 0, 0, false), (TaskStatus::Open, TaskState::Ready));
        assert_eq!(view(TaskStatus::Started, 2, 0, false), (TaskStatus::Open, TaskState::Waiting));
        assert_eq!(view(TaskStatus::Open, 2, 1, false), (TaskStatus::Open, TaskState::Stuck));
        assert_eq!(view(TaskStatus::Open, 0, 0, false), (TaskStatus::Open, TaskState::Ready));
        assert_eq!(view(TaskStatus::Blocked, 0, 0, false), (TaskStatus::Blocked, TaskState::Blocked));
    }

    #[test]
    fn a_task_is_offered_from_its_time_on() {
        let snoozed = |status| Conditions { status, unmet: 0, cancelled_deps: 0, not_before: Some(Time(7)) };
        let open = snoozed(TaskStatus::Open);
        assert_eq!([6, 7, 8].map(|now| open.view(false, Time(now)).1), {
            [TaskState::Waiting, TaskState::Ready, TaskState::Ready]
        });
        assert_eq!([6, 7].map(|now| open.is_offered(Time(now))), [false, true]);
        assert!(!open.is_ready(), "what is stored waits until a write notices that the time has passed");
        assert_eq!(snoozed(TaskStatus::Started).view(true, Time(6)).1, TaskState::Held);
        assert_eq!(snoozed(TaskStatus::Started).view(false, Time(6)).1, TaskState::Waiting);
        assert_eq!(Conditions { cancelled_deps: 1, unmet: 1, ..open }.view(false, Time(6)).1, TaskState::Stuck);
    }
}
