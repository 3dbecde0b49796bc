//! `graph`: a task and everything connected with it.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::id::TaskId;
use tenure_core::{Result, id};
use tenure_store::table::{dep, task};
use tenure_store::{RowsWithin, Tx};

use super::Snapshot;
use super::list::views;
use super::query::{Access, Query, Role};
use crate::answer::Task;
use crate::call::Call;
use crate::kernel::Kernel;

/// The maximum number of edges in a graph.
const EDGES: usize = 500;

/// The graph around a task.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The whole id.
    pub id: String,
}

/// Get a task and all tasks that it is connected with.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TaskGraph {
    /// The task in the middle.
    pub root: TaskId,
    /// All tasks of the picture.
    pub tasks: Vec<Task>,
    /// (task, what it comes after).
    pub edges: Vec<(TaskId, TaskId)>,
    /// Whether the picture was cut.
    pub more: bool,
}

impl Query for Graph {
    const NAME: &'static str = "graph";
    const ABOUT: &'static str = "Get a task and all tasks that it is connected with";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = TaskGraph;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<TaskGraph> {
        id::named(&self.id, id::Sort::Task)?;
        kernel.in_snapshot(call, |tx, snapshot| graph(tx, snapshot, &self.id.as_str().into()))
    }
}

/// The edges nearest to a task, in both directions, level by level: if the graph is cut, the farthest edges are left
/// out.
fn around(tx: &mut dyn Tx, project: &str, root: &TaskId) -> Result<(Vec<(TaskId, TaskId)>, bool)> {
    let mut edges: Vec<(TaskId, TaskId)> = Vec::new();
    let mut known: HashSet<(TaskId, TaskId)> = HashSet::new();
    let (mut up, mut down) = (vec![root.to_owned()], vec![root.to_owned()]);
    let mut seen: [HashSet<TaskId>; 2] = [HashSet::from([root.to_owned()]), HashSet::from([root.to_owned()])];
    while !up.is_empty() || !down.is_empty() {
        let before = if up.is_empty() { Vec::new() } else { tx.fetch(dep::of(project, &up))? };
        let after = if down.is_empty() { Vec::new() } else { dep::after_these(tx, project, &down)? };
        up = before.iter().map(|edge| edge.after.clone()).filter(|id| seen[0].insert(id.clone())).collect();
        down = after.iter().map(|(task, _)| task.clone()).filter(|id| seen[1].insert(id.clone())).collect();
        for edge in before.into_iter().map(|edge| (edge.task, edge.after)).chain(after) {
            if edges.len() == EDGES {
                return Ok((edges, true));
            }
            if known.insert(edge.clone()) {
                edges.push(edge);
            }
        }
    }
    Ok((edges, false))
}

fn graph(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, root: &TaskId) -> Result<TaskGraph> {
    let project = snapshot.project_id();
    let middle = tx.fetch(task::get(project, root))?.ok_or_else(|| id::unknown(root, id::Sort::Task))?;
    let (mut edges, more) = around(tx, project, root)?;
    let mut named = HashSet::from([root.to_owned()]);
    let both = edges.iter().flat_map(|(task, after)| [task, after]);
    let ids: Vec<TaskId> = both.filter(|id| named.insert((*id).clone())).cloned().collect();
    let RowsWithin { rows: mut found, cut } = task::get_many_within(tx, project, &ids, super::PAGE_BYTES)?;
    found.push(middle);
    found.sort_by_cached_key(|full| full.task.rank());
    if cut {
        let shown: HashSet<&TaskId> = found.iter().map(|full| &full.task.id).collect();
        edges.retain(|(task, after)| shown.contains(task) && shown.contains(after));
    }
    edges.sort();
    Ok(TaskGraph { root: root.to_owned(), tasks: views(tx, snapshot, &found)?, edges, more: more || cut })
}
