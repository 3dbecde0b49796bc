//! Which of its own tasks an agent continues: the rules of `resume` that come before the order of choice. The op and
//! the query share one function, so that `resume --peek` shows what `resume` would take.

use tenure_core::choice::{ChoiceRule, Rank};
use tenure_core::event::kind;
use tenure_core::id::TaskId;
use tenure_core::name::AgentName;
use tenure_core::task::TaskStatus;
use tenure_core::{Result, Time};
use tenure_store::Tx;
use tenure_store::table::{hold, task};

use crate::candidates;
use crate::op::claim::suits;
use crate::query::list::read;

/// How many candidates of one rule are loaded.
const MANY: usize = 64;

/// An agent that looks for a task.
pub(crate) struct Seeker<'a> {
    pub(crate) project: &'a str,
    pub(crate) me: &'a AgentName,
    /// The task in focus.
    pub(crate) focus: Option<&'a TaskId>,
    pub(crate) labels: &'a [String],
    /// Agents that the next write marks as gone. Tasks assigned to them are free.
    pub(crate) gone: &'a [AgentName],
    /// Whether a hold that has not ended yet is over all the same.
    pub(crate) over: &'a dyn Fn(&task::TaskHold) -> bool,
    pub(crate) now: Time,
}

impl Seeker<'_> {
    fn has_labels(&self, row: &task::Row) -> bool {
        self.labels.iter().all(|label| row.labels.contains(label))
    }

    fn may_take(&self, row: &task::Row) -> bool {
        row.conditions().is_offered(self.now)
            && self.has_labels(row)
            && (row.assignee.as_ref().is_some_and(|name| self.gone.contains(name)) || suits(row, &[], self.me))
    }

    fn holds(&self, full: &task::Full) -> bool {
        full.held.as_ref().is_some_and(|held| held.holder == self.me && !(self.over)(held))
    }

    fn is_free(&self, full: &task::Full) -> bool {
        match &full.held {
            Some(held) => (self.over)(held),
            None => full.task.is_ready_at(self.now),
        }
    }
}

/// The agent's own task to continue, by the first rule that matches.
pub(crate) fn own(tx: &mut dyn Tx, seeker: &Seeker<'_>) -> Result<Option<(task::Full, ChoiceRule)>> {
    if let Some(full) = in_focus(tx, seeker)? {
        return Ok(Some((full, ChoiceRule::Focus)));
    }
    if let Some(full) = unblocked(tx, seeker)? {
        return Ok(Some((full, ChoiceRule::Unblocked)));
    }
    let assigned = task::TaskStream::Assigned(seeker.me.to_owned());
    let takes = |full: &task::Full| {
        full.task.status != TaskStatus::Blocked && seeker.may_take(&full.task) && seeker.is_free(full)
    };
    // One that the agent gave up comes last, in the order of choice.
    if let Some(full) = candidates::of_stream(tx, (seeker.project, seeker.me), &assigned, &takes)?.fresh() {
        return Ok(Some((full, ChoiceRule::Assigned)));
    }
    Ok(started(tx, seeker)?.map(|full| (full, ChoiceRule::Own)))
}

/// The task in focus, if the agent holds it and it has the labels.
pub(crate) fn in_focus(tx: &mut dyn Tx, seeker: &Seeker<'_>) -> Result<Option<task::Full>> {
    let Some(focus) = seeker.focus else { return Ok(None) };
    let full = tx.fetch(task::get(seeker.project, focus))?;
    Ok(full.filter(|full| seeker.holds(full) && seeker.has_labels(&full.task)))
}

/// A task the agent had to leave and can continue: its blocker is done, or it was unblocked.
fn unblocked(tx: &mut dyn Tx, seeker: &Seeker<'_>) -> Result<Option<task::Full>> {
    let last = |status| task::TaskStream::Last(seeker.me.to_owned(), status);
    let waits = |full: &task::Full| full.task.blocked_on.is_some() && seeker.may_take(&full.task);
    let blocked = read(tx, seeker.project, &last(TaskStatus::Blocked), &Rank::start(), MANY, &waits)?;
    let blockers: Vec<TaskId> = blocked.iter().filter_map(|full| full.task.blocked_on.clone()).collect();
    let done: Vec<TaskId> = task::existing(tx, seeker.project, &blockers)?
        .into_iter()
        .filter(|(_, status)| *status == TaskStatus::Done)
        .map(|(id, _)| id)
        .collect();
    let mut best = blocked.into_iter().find(|full| full.task.blocked_on.as_ref().is_some_and(|on| done.contains(on)));
    let open =
        |full: &task::Full| full.task.is_ready_at(seeker.now) && !full.task.lapsed && seeker.may_take(&full.task);
    for full in read(tx, seeker.project, &last(TaskStatus::Open), &Rank::start(), MANY, &open)? {
        if best.as_ref().is_some_and(|best| best.task.rank() < full.task.rank()) {
            break;
        }
        if was_unblocked(tx, seeker.project, &full.task)? {
            best = Some(full);
            break;
        }
    }
    Ok(best)
}

/// Whether a task is open because it was unblocked, and not because it was released.
fn was_unblocked(tx: &mut dyn Tx, project: &str, row: &task::Row) -> Result<bool> {
    let told = [kind::TASK_UNBLOCKED, kind::TASK_RELEASED, kind::TASK_REOPENED];
    Ok(candidates::latest(tx, project, row, &told)?.as_deref() == Some(kind::TASK_UNBLOCKED))
}

/// A task that the agent holds, or held until the hold lapsed and no other agent took over.
fn started(tx: &mut dyn Tx, seeker: &Seeker<'_>) -> Result<Option<task::Full>> {
    let holds = hold::all_of_holder(tx, seeker.project, seeker.me)?;
    let held: Vec<TaskId> = holds.iter().filter_map(hold::Row::held_task).collect();
    let mut found = if held.is_empty() { Vec::new() } else { task::get_many(tx, seeker.project, &held)? };
    found.retain(|full| {
        seeker.has_labels(&full.task) && (seeker.holds(full) || (seeker.is_free(full) && seeker.may_take(&full.task)))
    });
    let lapsed =
        |full: &task::Full| full.task.lapsed && full.task.is_ready_at(seeker.now) && seeker.may_take(&full.task);
    let last = task::TaskStream::Last(seeker.me.to_owned(), TaskStatus::Open);
    found.extend(read(tx, seeker.project, &last, &Rank::start(), 1, &lapsed)?);
    Ok(found.into_iter().min_by_key(|full| full.task.rank()))
}
