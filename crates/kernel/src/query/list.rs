//! `list`: tasks in the order of choice, a page at a time.

mod candidates;
mod stream;

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::choice::{ListOrder, ListPosition, Rank};
use tenure_core::id::TaskId;
use tenure_core::name::AgentName;
use tenure_core::search::Search;
use tenure_core::task::TaskState;
use tenure_core::{Result, id, name, text};
use tenure_store::table::{dep, project, task};
use tenure_store::{RowsWithin, Tx};

use self::stream::select_within;
pub(crate) use self::stream::{read, select};
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
    /// Only with words that begin like each of these, in the title, the description, the acceptance or a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The order.
    #[serde(skip_serializing_if = "ListOrder::is_selection")]
    pub sort: ListOrder,
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
            text: None,
            sort: ListOrder::Priority,
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
        self.states.is_empty() && self.labels.is_empty() && self.of_any_agent() && self.text.is_none()
    }

    fn of_any_agent(&self) -> bool {
        self.assignee.is_none() && self.holder.is_none() && self.agent.is_none()
    }

    /// The words that are searched for.
    fn search(&self) -> Result<Option<Search>> {
        self.text.as_deref().map(Search::parse).transpose()
    }

    fn position(&self, full: &task::Full) -> ListPosition {
        self.sort.position(full.task.rank(), full.task.updated_at)
    }
}

impl Query for List {
    const NAME: &'static str = "list";
    const ABOUT: &'static str = "List tasks in the order in which they are chosen";
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
        filter.search()?;
        let start = filter.cursor.as_deref().map(|cursor| parse(filter.sort, cursor)).transpose()?;
        kernel.in_snapshot(call, |tx, snapshot| page(tx, snapshot, &filter, start.as_ref()))
    }
}

pub(super) fn page(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    filter: &List,
    start: Option<&ListPosition>,
) -> Result<Page<Task>> {
    let first = filter.sort.start();
    let RowsWithin { rows: mut found, cut } =
        select_within(tx, snapshot, filter, start.unwrap_or(&first), (filter.limit + 1, super::PAGE_BYTES))?;
    let fitting = super::fitting(found.iter().map(bytes), filter.limit);
    let more = cut || found.len() > fitting;
    found.truncate(fitting);
    let next = more.then(|| found.last().map(|full| cursor(&filter.position(full)))).flatten();
    let fits = !more && start.is_none();
    let total = match snapshot.project {
        _ if fits => Some(i64::try_from(found.len()).unwrap_or(i64::MAX)),
        Some(project) if filter.is_plain() => Some(total(project, filter.all)),
        _ => None,
    };
    let mut items = views(tx, snapshot, &found)?;
    if let Some(search) = filter.search()? {
        items.iter_mut().zip(&found).for_each(|(item, full)| item.matched = search.places(full.task.texts()));
    }
    Ok(Page::of(items, total, next))
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

fn cursor(position: &ListPosition) -> String {
    match position {
        ListPosition::Ranked(rank) => format!("{}.{}.{}", rank.priority, rank.number, rank.id),
        ListPosition::Newest(Reverse((first, id))) => format!("{first}.{id}"),
    }
}

fn parse(order: ListOrder, text: &str) -> Result<ListPosition> {
    let numbers = if order.is_selection() { 2 } else { 1 };
    let parts: Vec<&str> = text.splitn(numbers + 1, '.').collect();
    let number = |at: usize| parts.get(at).and_then(|part| part.parse::<i64>().ok());
    let id = parts.get(numbers).filter(|id| id::check(id, id::Sort::Task).is_ok()).map(|id| TaskId::from(*id));
    match (number(0), number(1), id) {
        (Some(priority), Some(number), Some(id)) if order.is_selection() => {
            Ok(ListPosition::Ranked(Rank { priority, number, id }))
        }
        (Some(first), _, Some(id)) if !order.is_selection() => Ok(ListPosition::Newest(Reverse((first, id)))),
        _ => Err(bad_cursor(text)),
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::Time;

    use super::*;

    #[test]
    fn a_cursor_is_the_place_of_the_last_task() {
        let rank = Rank { priority: 2, number: 17, id: "t-7k3fq".into() };
        for order in [ListOrder::Priority, ListOrder::Created, ListOrder::Updated] {
            let position = order.position(rank.clone(), Time(5));
            assert_eq!(parse(order, &cursor(&position)).unwrap(), position);
            for bad in ["", "1", "1.2", "a.b.c", "1..t"] {
                assert_eq!(parse(order, bad).unwrap_err().code(), "bad_cursor", "{bad}");
            }
        }
        assert!(parse(ListOrder::Created, "2.17.t-7k3fq").is_err(), "a cursor of another order");
    }
}
