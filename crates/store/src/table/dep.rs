//! The `dep` table: dependencies between tasks, and the counters on the dependent tasks.

use tenure_core::id::TaskId;
use tenure_core::task::{Conditions, TaskStatus};
use tenure_core::{Error, Result};

use super::task::{self, is_ready};
use crate::statement::Statement;
use crate::tx::{BulkRows, Sql, Tx, list};

/// A dependency of a task, with its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The dependent task.
    pub task: TaskId,
    /// The task it depends on.
    pub after: TaskId,
    /// The status of the dependency.
    pub status: TaskStatus,
}

/// The dependencies of several tasks. `OFFSET 0` keeps PostgreSQL from flattening a subselect into the join, where
/// without statistics it would read all rows of the project first.
pub fn of(project: &str, tasks: &[TaskId]) -> Statement<Vec<Edge>> {
    let sql = Sql::pair(
        "SELECT d.task, d.after, t.status, t.number FROM json_each($2) j
         CROSS JOIN dep d ON d.project = $1 AND d.task = j.value
         CROSS JOIN task t ON t.project = $1 AND t.id = d.after",
        "SELECT d.task, d.after, t.status, t.number FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT task, after FROM dep WHERE project = $1 AND task = j.value OFFSET 0) d
         CROSS JOIN LATERAL (SELECT status, number FROM task WHERE project = $1 AND id = d.after OFFSET 0) t",
    );
    Statement::new(sql, vec![project.into(), list(tasks)], edges)
}

/// The same for one task, without a list, for which SQLite would set up a virtual table.
pub fn of_one(project: &str, task: &str) -> Statement<Vec<Edge>> {
    let sql = Sql::pair(
        "SELECT d.task, d.after, t.status, t.number FROM dep d
         CROSS JOIN task t ON t.project = $1 AND t.id = d.after WHERE d.project = $1 AND d.task = $2",
        "SELECT d.task, d.after, t.status, t.number FROM dep d
         CROSS JOIN LATERAL (SELECT status, number FROM task WHERE project = $1 AND id = d.after OFFSET 0) t
         WHERE d.project = $1 AND d.task = $2",
    );
    Statement::new(sql, vec![project.into(), task.into()], edges)
}

/// Decodes rows of (task, after, status, number of the dependency), and sorts them by task and then by age. A list that
/// is passed as a parameter is joined row by row, and an ORDER BY would tempt planners into reading a whole index.
fn edges(rows: Vec<crate::Row>) -> Result<Vec<Edge>> {
    let mut found = rows
        .into_iter()
        .map(|mut row| {
            let status = task::status(&row.text(2)?)?;
            Ok((row.int(3)?, Edge { task: row.id(0)?, after: row.id(1)?, status }))
        })
        .collect::<Result<Vec<_>>>()?;
    found.sort_by(|(a_number, a), (b_number, b)| (&a.task, a_number, &a.after).cmp(&(&b.task, b_number, &b.after)));
    Ok(found.into_iter().map(|(_, edge)| edge).collect())
}

/// The tasks that depend on one, with their own status.
pub fn dependents(tx: &mut dyn Tx, project: &str, task: &str, limit: usize) -> Result<Vec<Edge>> {
    let sql = Sql::same(
        "SELECT d.after, d.task, t.status, t.number FROM dep d JOIN task t ON t.project = $1 AND t.id = d.task
         WHERE d.project = $1 AND d.after = $2 ORDER BY t.number, d.task LIMIT $3",
    );
    edges(tx.query(sql, &[project.into(), task.into(), limit.into()])?)
}

/// All edges reachable from the given tasks along their dependencies. SQLite joins in the given order: left to itself,
/// it scans all edges of the project at every step.
pub fn reachable(tx: &mut dyn Tx, project: &str, from: &[TaskId]) -> Result<Vec<(TaskId, TaskId)>> {
    let sql = Sql::pair(
        "WITH RECURSIVE up (id) AS (
             SELECT value FROM json_each($2)
             UNION
             SELECT d.after FROM up CROSS JOIN dep d ON d.project = $1 AND d.task = up.id)
         SELECT d.task, d.after FROM up CROSS JOIN dep d ON d.project = $1 AND d.task = up.id ORDER BY d.task, d.after",
        "WITH RECURSIVE up (id) AS (
             SELECT value COLLATE \"C\" FROM json_array_elements_text(CAST($2 AS JSON))
             UNION
             SELECT d.after FROM dep d JOIN up ON d.project = $1 AND d.task = up.id)
         SELECT d.task, d.after FROM up JOIN dep d ON d.project = $1 AND d.task = up.id ORDER BY d.task, d.after",
    );
    tx.query(sql, &[project.into(), list(from)])?.into_iter().map(|mut row| Ok((row.id(0)?, row.id(1)?))).collect()
}

/// The edges to the given tasks from their dependents, sorted.
pub fn after_these(tx: &mut dyn Tx, project: &str, tasks: &[TaskId]) -> Result<Vec<(TaskId, TaskId)>> {
    let sql = Sql::pair(
        "SELECT d.task, d.after FROM json_each($2) j CROSS JOIN dep d ON d.project = $1 AND d.after = j.value",
        "SELECT d.task, d.after FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT task, after FROM dep WHERE project = $1 AND after = j.value OFFSET 0) d",
    );
    let rows = tx.query(sql, &[project.into(), list(tasks)])?;
    let mut edges = rows.into_iter().map(|mut row| Ok((row.id(0)?, row.id(1)?))).collect::<Result<Vec<_>>>()?;
    edges.sort();
    Ok(edges)
}

/// Inserts edges given as (task, after).
pub fn insert_many(tx: &mut dyn Tx, project: &str, edges: &[(&str, &str)]) -> Result<()> {
    let sql = Sql::pair(
        "INSERT INTO dep (project, task, after) VALUES ($1, $2, $3)",
        "INSERT INTO dep (project, task, after)
         SELECT $1, value->>0, value->>1 FROM json_array_elements(CAST($2 AS JSON))",
    );
    let json = || serde_json::to_string(edges).map_err(|error| Error::bug(error.to_string()));
    let mut each = edges.iter().map(|(task, after)| vec![(*task).into(), (*after).into()]);
    tx.insert_rows(sql, BulkRows { common: vec![project.into()], each: &mut each, json: &json })
}

/// Deletes all dependencies of a task.
pub fn clear(tx: &mut dyn Tx, project: &str, task: &str) -> Result<()> {
    tx.defer(Sql::same("DELETE FROM dep WHERE project = $1 AND task = $2"), vec![project.into(), task.into()])
}

/// A dependent task after its counters were shifted.
#[derive(Clone, Debug)]
pub struct Shifted {
    /// The task's id.
    pub id: TaskId,
    /// The priority, for the order of events.
    pub priority: i64,
    /// The creation number, for the order of events.
    pub number: i64,
    /// The conditions that now decide its readiness and class.
    pub conditions: Conditions,
    /// Whether it has labels, whose rows repeat its readiness.
    pub labelled: bool,
}

/// Shifts the counters of all dependents of `task`; returns them in selection order.
pub fn shift(tx: &mut dyn Tx, project: &str, task: &str, unmet: i64, cancelled: i64) -> Result<Vec<Shifted>> {
    let sql = Sql::same(concat!(
        "UPDATE task SET unmet = unmet + $3, cancelled_deps = cancelled_deps + $4,
             ready = CASE WHEN ",
        is_ready!("status", "unmet + $3", "not_before"),
        " THEN 1 ELSE 0 END
         WHERE project = $1 AND id IN (SELECT task FROM dep WHERE project = $1 AND after = $2)
         RETURNING id, priority, number, status, unmet, cancelled_deps, CASE WHEN labels = '[]' THEN 0 ELSE 1 END,
             not_before"
    ));
    let rows = tx.query(sql, &[project.into(), task.into(), unmet.into(), cancelled.into()])?;
    let mut shifted = rows
        .into_iter()
        .map(|mut row| {
            let status = task::status(&row.text(3)?)?;
            Ok(Shifted {
                id: row.id(0)?,
                priority: row.int(1)?,
                number: row.int(2)?,
                conditions: Conditions {
                    status,
                    unmet: row.int(4)?,
                    cancelled_deps: row.int(5)?,
                    not_before: row.optional_time(7)?,
                },
                labelled: row.flag(6)?,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    // RETURNING has no ORDER BY.
    shifted.sort_by(|a, b| (a.priority, a.number, &a.id).cmp(&(b.priority, b.number, &b.id)));
    Ok(shifted)
}
