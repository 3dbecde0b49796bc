//! `list`: tasks in the order of choice, a page at a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::choice::{Rank, merge};
use tenure_core::id::TaskId;
use tenure_core::name::AgentName;
use tenure_core::task::{TaskState, TaskStatus};
use tenure_core::{Result, Time, id, name, text};
use tenure_store::table::{dep, hold, project, task};
use tenure_store::{RowsWithin, Tx};

use super::query::{Access, Query, Role};
use super::{Snapshot, bad_cursor, limit};
use crate::answer::{Page, Task};
use crate::call::Call;
use crate::kernel::Kernel;

/// A page of tasks in the order of choice.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Only in these states; empty for all.
    pub states: Vec<TaskState>,
    /// With done and cancelled ones.
    pub all: bool,
    /// Only with all of these labels.
    pub labels: Vec<String>,
    /// Only for this agent.
    pub assignee: Option<AgentName>,
    /// Only held by this agent.
    pub holder: Option<AgentName>,
    /// Page size.
    pub limit: usize,
    /// Where the page begins.
    pub cursor: Option<String>,
    /// Only held by this agent or assigned to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
}

impl Default for List {
    fn default() -> List {
        List {
            states: Vec::new(),
            all: false,
            labels: Vec::new(),
            assignee: None,
            holder: None,
            limit: 50,
            cursor: None,
            agent: None,
        }
    }
}

impl List {
    /// The states that the filter selects.
    fn wanted(&self) -> Vec<TaskState> {
        match (self.states.is_empty(), self.all) {
            (false, _) => self.states.clone(),
            (true, true) => TaskState::ALL.to_vec(),
            (true, false) => {
                vec![TaskState::Ready, TaskState::Waiting, TaskState::Stuck, TaskState::Held, TaskState::Blocked]
            }
        }
    }

    fn is_plain(&self) -> bool {
        self.states.is_empty() && self.labels.is_empty() && self.of_any_agent()
    }

    fn of_any_agent(&self) -> bool {
        self.assignee.is_none() && self.holder.is_none() && self.agent.is_none()
    }
}

impl Query for List {
    const NAME: &'static str = "list";
    const ABOUT: &'static str = "Tasks in the order of choice";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Page<Task>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Page<Task>> {
        limit(self.limit)?;
        let labels = text::labels(&self.labels)?;
        for agent in [&self.assignee, &self.holder, &self.agent].into_iter().flatten() {
            name::check(agent)?;
        }
        let filter = List { labels, ..self.clone() };
        let start = filter.cursor.as_deref().map(parse).transpose()?;
        kernel.in_snapshot(call, |tx, snapshot| page(tx, snapshot, &filter, start.as_ref()))
    }
}

pub(super) fn page(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    filter: &List,
    start: Option<&Rank>,
) -> Result<Page<Task>> {
    let first = Rank::start();
    let RowsWithin { rows: mut found, cut } =
        select_within(tx, snapshot, filter, start.unwrap_or(&first), (filter.limit + 1, super::PAGE_BYTES))?;
    let fitting = super::fitting(found.iter().map(bytes), filter.limit);
    let more = cut || found.len() > fitting;
    found.truncate(fitting);
    let next = more.then(|| found.last().map(|full| cursor(&full.task.rank()))).flatten();
    let fits = !more && start.is_none();
    let total = match snapshot.project {
        _ if fits => Some(i64::try_from(found.len()).unwrap_or(i64::MAX)),
        Some(project) if filter.is_plain() => Some(total(project, filter.all)),
        _ => None,
    };
    Ok(Page::of(views(tx, snapshot, &found)?, total, next))
}

/// The approximate size of a task in an answer.
fn bytes(full: &task::Full) -> usize {
    const REST: usize = 512;
    const EDGE: i64 = 24;
    let task = &full.task;
    let texts = [&task.title, &task.description, &task.acceptance, &task.reason];
    let texts: usize = texts.into_iter().chain(&task.labels).map(String::len).sum();
    texts + usize::try_from(task.deps * EDGE).unwrap_or_default() + REST
}

fn total(project: &project::Row, all: bool) -> i64 {
    use project::Class;
    let open = [Class::Ready, Class::Waiting, Class::Stuck, Class::Started, Class::Blocked];
    let closed = [Class::Done, Class::Cancelled];
    let sum = |classes: &[Class]| classes.iter().map(|class| project.count(*class)).sum::<i64>();
    sum(&open) + if all { sum(&closed) } else { 0 }
}

/// Tasks as seen now, with their dependencies.
pub(crate) fn views(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, found: &[task::Full]) -> Result<Vec<Task>> {
    with_edges(tx, snapshot.project_id(), found, |full, edges| {
        let held = full.held.as_ref().filter(|held| snapshot.dead.contains(&held.holder));
        match held.cloned() {
            None => Task::of(full, edges, snapshot.now),
            Some(held) => {
                let held = task::TaskHold { expires_at: snapshot.end_of(&held.holder, held.expires_at), ..held };
                Task::of(&task::Full { task: full.task.clone(), held: Some(held) }, edges, snapshot.now)
            }
        }
    })
}

/// Maps each task with its dependencies.
pub(super) fn with_edges<T>(
    tx: &mut dyn Tx,
    project: &str,
    found: &[task::Full],
    make: impl Fn(&task::Full, &[dep::Edge]) -> T,
) -> Result<Vec<T>> {
    let with: Vec<TaskId> = found.iter().filter(|full| full.task.deps > 0).map(|full| full.task.id.clone()).collect();
    let edges = if with.is_empty() { Vec::new() } else { tx.fetch(dep::of(project, &with))? };
    Ok(found
        .iter()
        .map(|full| {
            // Edges are sorted by task, so those of each task are contiguous.
            let from = edges.partition_point(|edge| edge.task < full.task.id);
            let to = edges.partition_point(|edge| edge.task <= full.task.id);
            make(full, &edges[from..to])
        })
        .collect())
}

/// The first `limit` tasks after a position in the order that match a filter.
///
/// Each stream is a range of one index. A started task may be seen as held, ready, waiting or stuck, depending on its
/// hold. So its stream is read for each of those, and the view decides. The same applies to a task whose time has come.
pub(crate) fn select(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    filter: &List,
    start: &Rank,
    limit: usize,
) -> Result<Vec<task::Full>> {
    select_within(tx, snapshot, filter, start, (limit, usize::MAX)).map(|found| found.rows)
}

/// The same within a number of bytes per stream. A stream with unread rows ends the page for all: a later row must not
/// come before an unread one.
fn select_within(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    filter: &List,
    start: &Rank,
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
    if let Some(holder) = &filter.holder {
        let rows = of_holder(tx, snapshot, holder, start, limit, lets_through)?;
        return Ok(RowsWithin { rows, cut: false });
    }
    let (mut found, mut end) = (Vec::new(), None::<Rank>);
    if let Some(agent) = &filter.agent {
        found.push(of_holder(tx, snapshot, agent, start, limit, lets_through)?);
    }
    for stream in streams(filter, &wanted, snapshot.now) {
        let (rows, unread) = read_within(tx, snapshot.project_id(), &stream, start, (limit, bytes), &lets_through)?;
        found.push(rows);
        end = [end, unread].into_iter().flatten().min();
    }
    // A task that an agent holds may be assigned to it too.
    let mut rows = merge(found, usize::MAX, |full| full.task.rank());
    rows.dedup_by_key(|full| full.task.id.clone());
    rows.truncate(limit);
    rows.retain(|full| end.as_ref().is_none_or(|end| full.task.rank() <= *end));
    Ok(RowsWithin { rows, cut: end.is_some() })
}

/// The tasks that an agent holds: few enough to sort in memory.
fn of_holder(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    holder: &str,
    start: &Rank,
    limit: usize,
    lets_through: impl Fn(&task::Full) -> bool,
) -> Result<Vec<task::Full>> {
    let holds = hold::all_of_holder(tx, snapshot.project_id(), holder)?;
    let tasks: Vec<TaskId> = holds.iter().filter_map(hold::Row::held_task).collect();
    let mut found = task::get_many(tx, snapshot.project_id(), &tasks)?;
    found.retain(|full| full.task.rank() > *start && lets_through(full));
    found.truncate(limit);
    Ok(found)
}

fn streams(filter: &List, wanted: &[TaskState], now: Time) -> Vec<task::TaskStream> {
    let open_only = !wanted.iter().any(|state| matches!(state, TaskState::Done | TaskState::Cancelled));
    if let (Some(agent), true) = (filter.assignee.as_ref().or(filter.agent.as_ref()), open_only) {
        return vec![task::TaskStream::Assigned(agent.clone())];
    }
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

/// Reads a stream until enough rows match.
pub(crate) fn read(
    tx: &mut dyn Tx,
    project: &str,
    stream: &task::TaskStream,
    start: &Rank,
    limit: usize,
    lets_through: &dyn Fn(&task::Full) -> bool,
) -> Result<Vec<task::Full>> {
    read_within(tx, project, stream, start, (limit, usize::MAX), lets_through).map(|(found, _)| found)
}

/// The same, up to about `most` bytes of matching rows. Also returns the position of the last row read, if there are
/// more.
fn read_within(
    tx: &mut dyn Tx,
    project: &str,
    stream: &task::TaskStream,
    start: &Rank,
    (limit, most): (usize, usize),
    lets_through: &dyn Fn(&task::Full) -> bool,
) -> Result<(Vec<task::Full>, Option<Rank>)> {
    let mut found = Vec::new();
    let mut size = 0;
    let mut after = start.clone();
    // A selective filter reads on in growing steps.
    let mut step = limit.clamp(1, super::LIMIT_MAX + 1);
    loop {
        let RowsWithin { rows, cut } = tx.fetch_within(stream.page(project, &after, step), most)?;
        let last = rows.last().map(|full| full.task.rank());
        let exhausted = rows.len() < step && !cut;
        let kept = rows.into_iter().filter(|full| lets_through(full));
        found.extend(kept.inspect(|full| size += bytes(full)));
        if found.len() >= limit || exhausted {
            found.truncate(limit);
            return Ok((found, None));
        }
        if let Some(rank) = last {
            after = rank;
        }
        if size > most / 2 {
            return Ok((found, Some(after)));
        }
        step = (step * 4).min(super::LIMIT_MAX + 1);
    }
}

fn cursor(rank: &Rank) -> String {
    format!("{}.{}.{}", rank.priority, rank.number, rank.id)
}

fn parse(text: &str) -> Result<Rank> {
    let mut parts = text.splitn(3, '.');
    let mut number = || parts.next().and_then(|part| part.parse::<i64>().ok());
    match (number(), number(), text.splitn(3, '.').nth(2)) {
        (Some(priority), Some(number), Some(id)) if id::is_prefix(id) => Ok(Rank { priority, number, id: id.into() }),
        _ => Err(bad_cursor(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_the_place_of_the_last_task() {
        let rank = Rank { priority: 2, number: 17, id: "t-7k3fq".into() };
        assert_eq!(parse(&cursor(&rank)).unwrap(), rank);
        for bad in ["", "1", "1.2", "a.b.c", "1..t"] {
            assert_eq!(parse(bad).unwrap_err().code(), "bad_cursor", "{bad}");
        }
    }
}
