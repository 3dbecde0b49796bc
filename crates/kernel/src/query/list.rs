//! `list`: tasks in the order of choice, a page at a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::choice::{Rank, merge};
use tenure_core::id::TaskId;
use tenure_core::name::AgentName;
use tenure_core::task::{State, Status};
use tenure_core::{Result, id, name, text};
use tenure_store::table::{dep, hold, project, task};
use tenure_store::{Tx, Within};

use super::query::{Access, Query, Role};
use super::{Scene, bad_cursor, limit};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::{Page, Task};

/// A page of tasks in the order of choice.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Only in these states; empty for all.
    pub states: Vec<State>,
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
        }
    }
}

impl List {
    /// The states that are wanted.
    fn wanted(&self) -> Vec<State> {
        match (self.states.is_empty(), self.all) {
            (false, _) => self.states.clone(),
            (true, true) => State::ALL.to_vec(),
            (true, false) => vec![State::Ready, State::Waiting, State::Stuck, State::Held, State::Blocked],
        }
    }

    fn is_plain(&self) -> bool {
        self.states.is_empty() && self.labels.is_empty() && self.assignee.is_none() && self.holder.is_none()
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
        for agent in [&self.assignee, &self.holder].into_iter().flatten() {
            name::check(agent)?;
        }
        let filter = List { labels, ..self.clone() };
        let start = filter.cursor.as_deref().map(parse).transpose()?;
        kernel.in_snapshot(call, |tx, scene| page(tx, scene, &filter, start.as_ref()))
    }
}

pub(super) fn page(tx: &mut dyn Tx, scene: &Scene<'_>, filter: &List, start: Option<&Rank>) -> Result<Page<Task>> {
    let first = Rank::start();
    let Within { rows: mut found, cut } =
        select_within(tx, scene, filter, start.unwrap_or(&first), (filter.limit + 1, super::PAGE_BYTES))?;
    let fitting = super::fitting(found.iter().map(bytes), filter.limit);
    let more = cut || found.len() > fitting;
    found.truncate(fitting);
    let next = more.then(|| found.last().map(|full| cursor(&full.task.rank()))).flatten();
    let fits = !more && start.is_none();
    let total = match scene.project {
        _ if fits => Some(i64::try_from(found.len()).unwrap_or(i64::MAX)),
        Some(project) if filter.is_plain() => Some(total(project, filter.all)),
        _ => None,
    };
    Ok(Page::of(views(tx, scene, &found)?, total, next))
}

/// About how long a task is when it is shown.
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

/// Tasks as they are seen, with their dependencies.
pub(crate) fn views(tx: &mut dyn Tx, scene: &Scene<'_>, found: &[task::Full]) -> Result<Vec<Task>> {
    with_edges(tx, scene.project_id(), found, |full, edges| {
        let held = full.held.as_ref().filter(|held| scene.dead.contains(&held.holder));
        match held.cloned() {
            None => Task::of(full, edges, scene.now),
            Some(held) => {
                let held = task::Held { expires_at: scene.end_of(&held.holder, held.expires_at), ..held };
                Task::of(&task::Full { task: full.task.clone(), held: Some(held) }, edges, scene.now)
            }
        }
    })
}

/// Makes something of each task and what it comes after.
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
            // Edges come sorted by task, so each task's are one run.
            let from = edges.partition_point(|edge| edge.task < full.task.id);
            let to = edges.partition_point(|edge| edge.task <= full.task.id);
            make(full, &edges[from..to])
        })
        .collect())
}

/// The first `limit` tasks after a place in the order that a filter lets through.
///
/// Each stream is a range of one index. A started task may be seen as held, ready, waiting or stuck, depending on its
/// hold, so its stream is read for each of those and the view decides.
pub(crate) fn select(
    tx: &mut dyn Tx,
    scene: &Scene<'_>,
    filter: &List,
    start: &Rank,
    limit: usize,
) -> Result<Vec<task::Full>> {
    select_within(tx, scene, filter, start, (limit, usize::MAX)).map(|found| found.rows)
}

/// The same, as far as the bytes of each stream fit. A stream that goes on beyond what was read ends the page for all:
/// what comes later in the order may not stand before what was not read.
fn select_within(
    tx: &mut dyn Tx,
    scene: &Scene<'_>,
    filter: &List,
    start: &Rank,
    (limit, bytes): (usize, usize),
) -> Result<Within<task::Full>> {
    let wanted = filter.wanted();
    let lets_through = |full: &task::Full| {
        let live = full.held.as_ref().is_some_and(|held| !scene.is_over(held));
        let (_, state) = full.task.conditions().view(live);
        wanted.contains(&state)
            && filter.labels.iter().all(|label| full.task.labels.contains(label))
            && filter.assignee.as_ref().is_none_or(|agent| Some(agent) == full.task.assignee.as_ref())
            && filter
                .holder
                .as_ref()
                .is_none_or(|agent| live && full.held.as_ref().is_some_and(|held| held.holder == *agent))
    };
    if let Some(holder) = &filter.holder {
        let rows = of_holder(tx, scene, holder, start, limit, lets_through)?;
        return Ok(Within { rows, cut: false });
    }
    let (mut found, mut end) = (Vec::new(), None::<Rank>);
    for stream in streams(filter, &wanted) {
        let (rows, unread) = read_within(tx, scene.project_id(), &stream, start, (limit, bytes), &lets_through)?;
        found.push(rows);
        end = [end, unread].into_iter().flatten().min();
    }
    let mut rows = merge(found, limit, |full| full.task.rank());
    rows.retain(|full| end.as_ref().is_none_or(|end| full.task.rank() <= *end));
    Ok(Within { rows, cut: end.is_some() })
}

/// What an agent holds: few enough to sort here.
fn of_holder(
    tx: &mut dyn Tx,
    scene: &Scene<'_>,
    holder: &str,
    start: &Rank,
    limit: usize,
    lets_through: impl Fn(&task::Full) -> bool,
) -> Result<Vec<task::Full>> {
    let holds = hold::all_of_holder(tx, scene.project_id(), holder)?;
    let tasks: Vec<TaskId> = holds.iter().filter_map(hold::Row::held_task).collect();
    let mut found = task::get_many(tx, scene.project_id(), &tasks)?;
    found.retain(|full| full.task.rank() > *start && lets_through(full));
    found.truncate(limit);
    Ok(found)
}

fn streams(filter: &List, wanted: &[State]) -> Vec<task::Stream> {
    let open_only = !wanted.iter().any(|state| matches!(state, State::Done | State::Cancelled));
    if let (Some(agent), true) = (&filter.assignee, open_only) {
        return vec![task::Stream::Assigned(agent.clone())];
    }
    let mut ranges: Vec<(Status, bool)> = Vec::new();
    for state in wanted {
        ranges.extend(match state {
            State::Ready => vec![(Status::Open, true), (Status::Started, false)],
            State::Waiting | State::Stuck => vec![(Status::Open, false), (Status::Started, false)],
            State::Held => vec![(Status::Started, false)],
            State::Blocked => vec![(Status::Blocked, false)],
            State::Done => vec![(Status::Done, false)],
            State::Cancelled => vec![(Status::Cancelled, false)],
        });
    }
    ranges.sort_by_key(|(status, ready)| (status.as_str(), *ready));
    ranges.dedup();
    match (filter.labels.first(), wanted) {
        (None, [State::Stuck]) => {
            vec![task::Stream::Stuck, task::Stream::Status(Status::Started, false)]
        }
        (None, _) => ranges.into_iter().map(|(status, ready)| task::Stream::Status(status, ready)).collect(),
        (Some(label), _) => {
            ranges.into_iter().map(|(status, ready)| task::Stream::Label(label.clone(), status, ready)).collect()
        }
    }
}

/// Reads a stream until enough of it was let through.
pub(crate) fn read(
    tx: &mut dyn Tx,
    project: &str,
    stream: &task::Stream,
    start: &Rank,
    limit: usize,
    lets_through: &dyn Fn(&task::Full) -> bool,
) -> Result<Vec<task::Full>> {
    read_within(tx, project, stream, start, (limit, usize::MAX), lets_through).map(|(found, _)| found)
}

/// The same, until what was let through has about as many bytes as fit: with the last that was read, if there is more.
fn read_within(
    tx: &mut dyn Tx,
    project: &str,
    stream: &task::Stream,
    start: &Rank,
    (limit, most): (usize, usize),
    lets_through: &dyn Fn(&task::Full) -> bool,
) -> Result<(Vec<task::Full>, Option<Rank>)> {
    let mut found = Vec::new();
    let mut size = 0;
    let mut after = start.clone();
    // A filter that lets little through reads on in growing steps.
    let mut step = limit.clamp(1, super::LIMIT_MAX + 1);
    loop {
        let Within { rows, cut } = tx.fetch_within(stream.page(project, &after, step), most)?;
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
