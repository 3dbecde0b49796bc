//! The candidates of a choice: the first task in order, and the first of those that the caller gave up. Ops and queries
//! share them, so that `next` shows what `claim` takes.

use tenure_core::Result;
use tenure_core::choice::{GIVEN_UP_BY, Rank, is_given_up};
use tenure_core::event::kind;
use tenure_core::name::AgentName;
use tenure_core::number::{EventNumber, Fence};
use tenure_store::Tx;
use tenure_store::table::{event as log, task};

use crate::query::list::read;

/// How many tasks that the caller gave up are passed over. This bounds the cost of a choice.
const PASSED_OVER_MAX: usize = 64;
/// How many events of a task since its last grant are read to see how it was left: the first step, and the maximum.
const STORY: (usize, usize) = (20, 10_000);

/// The first task that the caller has not given up, and the first that it has.
#[derive(Default)]
pub(crate) struct FirstTasks {
    fresh: Option<task::Full>,
    given_up: Option<task::Full>,
}

impl FirstTasks {
    /// The candidates of two streams together.
    pub(crate) fn with(self, other: FirstTasks) -> FirstTasks {
        let first = |one: Option<task::Full>, two: Option<task::Full>| {
            [one, two].into_iter().flatten().min_by_key(|full| full.task.rank())
        };
        FirstTasks { fresh: first(self.fresh, other.fresh), given_up: first(self.given_up, other.given_up) }
    }

    /// The task to take: one that the caller gave up only if there is no other.
    pub(crate) fn best(self) -> Option<task::Full> {
        self.fresh.or(self.given_up)
    }

    /// The task to take among those that the caller has not given up.
    pub(crate) fn fresh(self) -> Option<task::Full> {
        self.fresh
    }
}

/// The candidates of one stream.
pub(crate) fn of_stream(
    tx: &mut dyn Tx,
    (project, me): (&str, &AgentName),
    stream: &task::TaskStream,
    wanted: &dyn Fn(&task::Full) -> bool,
) -> Result<FirstTasks> {
    let head = read(tx, project, stream, &Rank::start(), 1, wanted)?.pop();
    from_head(tx, (project, me), stream, head, wanted)
}

/// The same for a stream whose first task was read before.
pub(crate) fn from_head(
    tx: &mut dyn Tx,
    (project, me): (&str, &AgentName),
    stream: &task::TaskStream,
    mut head: Option<task::Full>,
    wanted: &dyn Fn(&task::Full) -> bool,
) -> Result<FirstTasks> {
    let mut found = FirstTasks::default();
    for passed_over in 0.. {
        let Some(full) = head else { break };
        if passed_over == PASSED_OVER_MAX || !gave_up(tx, (project, me), &full.task)? {
            found.fresh = Some(full);
            break;
        }
        let after = full.task.rank();
        found.given_up.get_or_insert(full);
        head = read(tx, project, stream, &after, 1, wanted)?.pop();
    }
    Ok(found)
}

/// Whether an agent gave a task up. Almost always the last holder is another one, and nothing is read.
fn gave_up(tx: &mut dyn Tx, (project, me): (&str, &AgentName), row: &task::Row) -> Result<bool> {
    let decides = |latest: Option<&str>| is_given_up(me, row.last_holder.as_ref(), row.lapsed, latest);
    if !decides(Some(kind::TASK_RELEASED)) {
        return Ok(false);
    }
    Ok(decides(latest(tx, project, row, &GIVEN_UP_BY)?.as_deref()))
}

/// The kind of the latest event of a task since its last grant, among some kinds. Any number of notes may come after it.
pub(crate) fn latest(tx: &mut dyn Tx, project: &str, row: &task::Row, among: &[&str]) -> Result<Option<String>> {
    let (mut step, most) = STORY;
    let granted = row.last_fence.map_or(EventNumber::START, Fence::event);
    let (mut below, mut seen) = (EventNumber::MAX, 0);
    while seen < most {
        let events = log::kinds(tx, project, &row.id, (granted, below), step)?;
        if let Some((_, kind)) = events.iter().find(|(_, kind)| among.contains(&kind.as_str())) {
            return Ok(Some(kind.clone()));
        }
        match events.last() {
            Some((number, _)) if events.len() == step => below = *number,
            _ => break,
        }
        seen += step;
        step *= 8;
    }
    Ok(None)
}
