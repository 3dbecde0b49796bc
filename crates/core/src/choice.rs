//! The selection order of tasks: one total order for `next`, `claim`, `list` and counts.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::kind;
use crate::id::TaskId;
use crate::name::AgentName;
use crate::task::TaskState;
use crate::time::Time;

/// The rank of a task in the selection order: priority, then creation number, then id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The priority; 0 is first.
    pub priority: i64,
    /// The creation number.
    pub number: i64,
    /// The id, which makes the order total.
    pub id: TaskId,
}

impl Rank {
    /// A rank before that of every task.
    pub fn start() -> Rank {
        Rank { priority: -1, number: -1, id: TaskId::default() }
    }
}

/// The order of a list of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListOrder {
    /// The selection order: priority, then creation.
    #[default]
    Priority,
    /// The newest task first.
    Created,
    /// The last changed task first.
    Updated,
}

impl ListOrder {
    /// Whether this is the selection order.
    pub fn is_selection(&self) -> bool {
        *self == ListOrder::Priority
    }

    /// The position before that of every task.
    pub fn start(self) -> ListPosition {
        match self {
            ListOrder::Priority => ListPosition::Ranked(Rank::start()),
            ListOrder::Created | ListOrder::Updated => ListPosition::Newest(Reverse((i64::MAX, TaskId::default()))),
        }
    }

    /// The position of a task with a rank and a time of its last change.
    pub fn position(self, rank: Rank, updated_at: Time) -> ListPosition {
        match self {
            ListOrder::Priority => ListPosition::Ranked(rank),
            ListOrder::Created => ListPosition::Newest(Reverse((rank.number, rank.id))),
            ListOrder::Updated => ListPosition::Newest(Reverse((updated_at.0, rank.id))),
        }
    }
}

/// The position of a task in a list. Only positions of one order are compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListPosition {
    /// In the selection order.
    Ranked(Rank),
    /// By a number or a time, the largest first, then by id.
    Newest(Reverse<(i64, TaskId)>),
}

/// The kinds of events that decide whether an open task counts as given up by its last holder.
pub const GIVEN_UP_BY: [&str; 4] = [kind::TASK_RELEASED, kind::TASK_UNBLOCKED, kind::TASK_REOPENED, kind::TASK_EDITED];

/// Whether a caller gave a task up: it was the last holder, it released the task, and the task is unchanged since. Such a
/// task comes after all others that the caller may take, so that `release` followed by `resume` moves on. `latest` is the
/// kind of the latest of [`GIVEN_UP_BY`] since the last grant.
pub fn is_given_up(caller: &AgentName, last_holder: Option<&AgentName>, lapsed: bool, latest: Option<&str>) -> bool {
    !lapsed && last_holder == Some(caller) && latest == Some(kind::TASK_RELEASED)
}

/// The rule by which a task was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Rule")]
pub enum ChoiceRule {
    /// The caller named it.
    Named,
    /// The caller named it and holds it already, or continues its own task.
    Own,
    /// The caller's focus, which it holds.
    Focus,
    /// The caller blocked it, and it is no longer blocked.
    Unblocked,
    /// It is assigned to the caller.
    Assigned,
    /// First of the ready tasks.
    Ready,
    /// First, and the hold of its last holder has expired.
    Lapsed,
    /// No task is available.
    None,
}

/// Merges streams that are each in the same order into one page of at most `limit` items.
pub fn merge<T, K: Ord>(streams: Vec<Vec<T>>, limit: usize, rank: impl Fn(&T) -> K) -> Vec<T> {
    let mut all: Vec<T> = streams.into_iter().flatten().collect();
    all.sort_by_cached_key(|item| rank(item));
    all.truncate(limit);
    all
}

/// Explains in words why a task was chosen.
pub fn reason(rule: ChoiceRule, priority: i64, lapsed_from: Option<&str>) -> String {
    match (rule, lapsed_from) {
        (ChoiceRule::Named, Some(agent)) => format!("named; the hold of {agent} has expired"),
        (ChoiceRule::Named, None) => "named".to_owned(),
        (ChoiceRule::Own, Some(_)) => "yours: your hold had expired, and no agent had taken over".to_owned(),
        (ChoiceRule::Own, None) => "already yours: the same hold, renewed".to_owned(),
        (ChoiceRule::Focus, _) => "your focus: the same hold, renewed".to_owned(),
        (ChoiceRule::Unblocked, _) => "yours before: it is no longer blocked".to_owned(),
        (ChoiceRule::Assigned, _) => "assigned to you".to_owned(),
        (ChoiceRule::Lapsed, Some(agent)) => {
            format!("first in order with priority {priority}; the hold of {agent} has expired")
        }
        (ChoiceRule::Ready | ChoiceRule::Lapsed, _) => format!("first of the ready tasks, priority {priority}"),
        (ChoiceRule::None, _) => "no task is available".to_owned(),
    }
}

/// The number of tasks per state, which explains an answer without a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Ready to be claimed.
    pub ready: i64,
    /// Waiting for a dependency.
    pub waiting: i64,
    /// Waiting for a cancelled dependency.
    pub stuck: i64,
    /// Held by an agent.
    pub held: i64,
    /// Blocked.
    pub blocked: i64,
    /// Done.
    pub done: i64,
    /// Cancelled.
    pub cancelled: i64,
}

impl StateCounts {
    /// The number of tasks in one state.
    pub fn of(&self, state: TaskState) -> i64 {
        match state {
            TaskState::Ready => self.ready,
            TaskState::Waiting => self.waiting,
            TaskState::Stuck => self.stuck,
            TaskState::Held => self.held,
            TaskState::Blocked => self.blocked,
            TaskState::Done => self.done,
            TaskState::Cancelled => self.cancelled,
        }
    }
}

/// The open tasks that only wait for their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnoozedTasks {
    /// How many there are.
    pub count: i64,
    /// When the first of them is offered.
    pub until: Time,
}

/// Explains in words why no task can be claimed.
pub fn nothing(counts: &StateCounts, snoozed: Option<SnoozedTasks>, filtered: bool) -> String {
    let why = why_nothing(counts, filtered);
    match snoozed {
        None => why,
        Some(SnoozedTasks { count: 1, until }) => format!("{why}; 1 task is snoozed until {until}"),
        Some(SnoozedTasks { count, until }) => format!("{why}; {count} tasks are snoozed, the first until {until}"),
    }
}

fn why_nothing(counts: &StateCounts, filtered: bool) -> String {
    if counts.ready > 0 {
        let whose =
            if filtered { "none has these labels and is open to you" } else { "all are assigned to other agents" };
        return format!("{} ready, but {whose}", counts.ready);
    }
    let shown: Vec<String> = [TaskState::Held, TaskState::Waiting, TaskState::Stuck, TaskState::Blocked]
        .into_iter()
        .filter(|&state| counts.of(state) > 0)
        .map(|state| format!("{} {state}", counts.of(state)))
        .collect();
    match (shown.is_empty(), counts.done + counts.cancelled) {
        (false, _) => format!("nothing is ready: {}", shown.join(", ")),
        (true, 0) => "there are no tasks".to_owned(),
        (true, closed) => format!("all {closed} tasks are done or cancelled"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_l7_the_order_of_choice_is_total() {
        let rank = |priority, number, id: &str| Rank { priority, number, id: id.into() };
        let mut ranks = [rank(2, 1, "t-b"), rank(2, 1, "t-a"), rank(1, 9, "t-z"), rank(2, 0, "t-z")];
        ranks.sort();
        assert_eq!(ranks, [rank(1, 9, "t-z"), rank(2, 0, "t-z"), rank(2, 1, "t-a"), rank(2, 1, "t-b")]);
    }

    #[test]
    fn inv_l7_a_task_is_given_up_by_the_agent_that_released_it_last() {
        let (me, other) = (AgentName::from("a"), AgentName::from("b"));
        assert!(is_given_up(&me, Some(&me), false, Some(kind::TASK_RELEASED)));
        for (holder, lapsed, latest) in [
            (Some(&other), false, Some(kind::TASK_RELEASED)),
            (None, false, Some(kind::TASK_RELEASED)),
            (Some(&me), true, Some(kind::TASK_RELEASED)),
            (Some(&me), false, Some(kind::TASK_UNBLOCKED)),
            (Some(&me), false, Some(kind::TASK_EDITED)),
            (Some(&me), false, None),
        ] {
            assert!(!is_given_up(&me, holder, lapsed, latest), "{holder:?} {lapsed} {latest:?}");
        }
    }

    #[test]
    fn merging_keeps_the_order_and_the_limit() {
        let streams = vec![vec![(0, 3), (2, 1)], vec![(0, 1), (1, 9)], vec![]];
        let rank = |&(priority, number): &(i64, i64)| Rank { priority, number, id: TaskId::new("") };
        assert_eq!(merge(streams, 3, rank), [(0, 1), (0, 3), (1, 9)]);
    }

    #[test]
    fn an_empty_hand_is_explained() {
        assert_eq!(nothing(&StateCounts::default(), None, false), "there are no tasks");
        assert_eq!(
            nothing(&StateCounts { done: 2, ..StateCounts::default() }, None, false),
            "all 2 tasks are done or cancelled"
        );
        assert_eq!(
            nothing(&StateCounts { held: 1, waiting: 3, ..StateCounts::default() }, None, false),
            "nothing is ready: 1 held, 3 waiting"
        );
        let counts = StateCounts { waiting: 1, ..StateCounts::default() };
        assert_eq!(
            nothing(&counts, Some(SnoozedTasks { count: 1, until: Time(0) }), false),
            "nothing is ready: 1 waiting; 1 task is snoozed until 1970-01-01T00:00:00.000000Z"
        );
    }
}
