//! Reads the tasks of a list in their order: a merge of ranges of indexes.

use tenure_core::choice::{ListOrder, ListPosition, Rank, merge};
use tenure_core::name::AgentName;
use tenure_core::task::{TaskState, TaskStatus};
use tenure_core::{Result, Time};
use tenure_store::table::{hold, task};
use tenure_store::{RowsWithin, Tx};

use super::super::{LIMIT_MAX, Snapshot};
use super::candidates::{self, ListCandidates};
use super::{List, bytes};

/// The first `limit` tasks after a position in the order that match a filter.
///
/// Each stream is a range of one index. A started task may be seen as held, ready, waiting or stuck, depending on its
/// hold. So its stream is read for each of those, and the view decides. The same applies to a task whose time has come.
pub(crate) fn select(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    filter: &List,
    start: &ListPosition,
    limit: usize,
) -> Result<Vec<task::Full>> {
    select_within(tx, snapshot, filter, start, (limit, usize::MAX)).map(|found| found.rows)
}

/// The same within a number of bytes per stream. A stream with unread rows ends the page for all: a later row must not
/// come before an unread one.
pub(super) fn select_within(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    filter: &List,
    start: &ListPosition,
    (limit, bytes): (usize, usize),
) -> Result<RowsWithin<task::Full>> {
    let wanted = filter.wanted();
    let lets_through = |full: &task::Full| {
        let live = full.held.as_ref().is_some_and(|held| !snapshot.is_over(held));
        let is_held_by = |agent: &AgentName| live && full.held.as_ref().is_some_and(|held| held.holder == *agent);
        let is_for = |agent: &AgentName| Some(agent) == full.task.assignee.as_ref();
        let (_, state) = full.task.conditions().view(live, snapshot.now);
        wanted.contains(&state)
            && filter.labels.iter().all(|label| full.task.labels.contains(label))
            && filter.assignee.as_ref().is_none_or(is_for)
            && filter.holder.as_ref().is_none_or(is_held_by)
            && filter.agent.as_ref().is_none_or(|agent| is_held_by(agent) || is_for(agent))
    };
    let search = filter.search()?;
    let ListCandidates { tasks, unchecked } = candidates::of(tx, snapshot, filter, search.as_ref())?;
    if let Some(tasks) = tasks {
        let tasks = (tasks, unchecked.as_slice());
        return candidates::select(tx, snapshot, filter, tasks, start, (limit, bytes), &lets_through);
    }
    let project = snapshot.project_id();
    let reader = Reader { project, order: filter.sort, words: &unchecked, lets_through: &lets_through };
    let (mut found, mut end) = (Vec::new(), None::<ListPosition>);
    if let Some(agent) = &filter.agent {
        // The streams have the tasks that are assigned to it; those that it holds may be assigned to none.
        let held = hold::all_of_holder(tx, project, agent)?;
        let held = held.iter().filter_map(hold::Row::held_task).collect();
        let held = candidates::select(tx, snapshot, filter, (held, &unchecked), start, (limit, bytes), &lets_through)?;
        end = held.rows.last().filter(|_| held.cut).map(|full| filter.position(full));
        found.push(held.rows);
    }
    for stream in streams(filter, &wanted, snapshot.now) {
        let (rows, unread) = reader.read(tx, &stream, start, (limit, bytes))?;
        found.push(rows);
        end = [end, unread].into_iter().flatten().min();
    }
    let mut rows = merge(found, usize::MAX, |full| filter.position(full));
    rows.dedup_by(|a, b| a.task.id == b.task.id);
    rows.truncate(limit);
    rows.retain(|full| end.as_ref().is_none_or(|end| filter.position(full) <= *end));
    Ok(RowsWithin { rows, cut: end.is_some() })
}

fn streams(filter: &List, wanted: &[TaskState], now: Time) -> Vec<task::TaskStream> {
    let mut ranges: Vec<(TaskStatus, bool)> = Vec::new();
    for state in wanted {
        ranges.extend(match state {
            TaskState::Ready => vec![(TaskStatus::Open, true), (TaskStatus::Started, false)],
            TaskState::Waiting | TaskState::Stuck => vec![(TaskStatus::Open, false), (TaskStatus::Started, false)],
            TaskState::Held => vec![(TaskStatus::Started, false)],
            TaskState::Blocked => vec![(TaskStatus::Blocked, false)],
            TaskState::Done => vec![(TaskStatus::Done, false)],
            TaskState::Cancelled => vec![(TaskStatus::Cancelled, false)],
        });
    }
    ranges.sort_by_key(|(status, ready)| (status.as_str(), *ready));
    ranges.dedup();
    if !filter.sort.is_selection() {
        ranges.dedup_by_key(|(status, _)| *status);
        let by_time = |(status, _)| match filter.sort {
            ListOrder::Updated => task::TaskStream::Updated(status),
            ListOrder::Created | ListOrder::Priority => task::TaskStream::Created(status),
        };
        return ranges.into_iter().map(by_time).collect();
    }
    let open_only = !wanted.iter().any(|state| matches!(state, TaskState::Done | TaskState::Cancelled));
    if let (Some(agent), true) = (filter.assignee.as_ref().or(filter.agent.as_ref()), open_only) {
        return vec![task::TaskStream::Assigned(agent.clone())];
    }
    // The open tasks that are not stored as ready contain those whose time has come.
    let due = wanted.contains(&TaskState::Ready) && !ranges.contains(&(TaskStatus::Open, false));
    let mut streams: Vec<task::TaskStream> = match (filter.labels.first(), wanted) {
        (None, [TaskState::Stuck]) => {
            vec![task::TaskStream::Stuck, task::TaskStream::Status(TaskStatus::Started, false)]
        }
        (None, _) => ranges.into_iter().map(|(status, ready)| task::TaskStream::Status(status, ready)).collect(),
        (Some(label), _) => {
            ranges.into_iter().map(|(status, ready)| task::TaskStream::Label(label.clone(), status, ready)).collect()
        }
    };
    streams.extend(due.then_some(task::TaskStream::Due(now)));
    streams
}

/// Reads a stream in selection order until enough rows match.
pub(crate) fn read(
    tx: &mut dyn Tx,
    project: &str,
    stream: &task::TaskStream,
    start: &Rank,
    limit: usize,
    lets_through: &dyn Fn(&task::Full) -> bool,
) -> Result<Vec<task::Full>> {
    let start = ListPosition::Ranked(start.clone());
    let reader = Reader { project, order: ListOrder::Priority, words: &[], lets_through };
    reader.read(tx, stream, &start, (limit, usize::MAX)).map(|(found, _)| found)
}

/// What rows of streams must meet.
struct Reader<'a> {
    project: &'a str,
    order: ListOrder,
    /// The words that texts or notes must have.
    words: &'a [String],
    lets_through: &'a dyn Fn(&task::Full) -> bool,
}

impl Reader<'_> {
    /// Reads a stream until enough rows match, up to about `most` bytes of matching rows. Also returns the position of
    /// the last row read, if there are more.
    fn read(
        &self,
        tx: &mut dyn Tx,
        stream: &task::TaskStream,
        start: &ListPosition,
        (limit, most): (usize, usize),
    ) -> Result<(Vec<task::Full>, Option<ListPosition>)> {
        let mut found = Vec::new();
        let mut size = 0;
        let mut after = start.clone();
        // A selective filter reads on in growing steps.
        let mut step = limit.clamp(1, LIMIT_MAX + 1);
        loop {
            let RowsWithin { mut rows, cut } = tx.fetch_within(stream.page_after(self.project, &after, step), most)?;
            let last = rows.last().map(|full| self.order.position(full.task.rank(), full.task.updated_at));
            let exhausted = rows.len() < step && !cut;
            rows.retain(|full| (self.lets_through)(full));
            let kept = candidates::having(tx, self.project, self.words, rows, limit.saturating_sub(found.len()))?;
            found.extend(kept.into_iter().inspect(|full| size += bytes(full)));
            if found.len() >= limit || exhausted {
                found.truncate(limit);
                return Ok((found, None));
            }
            if let Some(last) = last {
                after = last;
            }
            if size > most / 2 {
                return Ok((found, Some(after)));
            }
            step = (step * 4).min(LIMIT_MAX + 1);
        }
    }
}
