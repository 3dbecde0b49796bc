//! The `task_label` table: labels of tasks. Each row repeats the task's position in the selection order.

use tenure_core::id::TaskId;
use tenure_core::{Error, Result};

use crate::statement::Statement;
use crate::table::task;
use crate::tx::{BulkRows, Sql, Tx, ids, list};

/// The tasks with a label, at most `limit`.
pub fn tasks(project: &str, label: &str, limit: usize) -> Statement<Vec<TaskId>> {
    let sql = Sql::same(
        "SELECT task FROM task_label WHERE project = $1 AND label = $2
         ORDER BY status, ready, priority, number, task LIMIT $3",
    );
    Statement::new(sql, vec![project.into(), label.into(), limit.into()], ids)
}

/// Rewrites the rows of a task.
pub fn put(tx: &mut dyn Tx, project: &str, task: &task::Row) -> Result<()> {
    clear(tx, project, &task.id)?;
    if task.labels.is_empty() {
        return Ok(());
    }
    let sql = Sql::pair(
        "INSERT INTO task_label (project, label, status, ready, priority, number, task)
         SELECT $1, value, $3, $4, $5, $6, $7 FROM json_each($2)",
        "INSERT INTO task_label (project, label, status, ready, priority, number, task)
         SELECT $1, value, $3, $4, $5, $6, $7 FROM json_array_elements_text(CAST($2 AS JSON))",
    );
    let args = vec![
        project.into(),
        list(&task.labels),
        task.status.as_str().into(),
        task.ready.into(),
        task.priority.into(),
        task.number.into(),
        (&task.id).into(),
    ];
    tx.defer(sql, args)
}

/// Deletes the rows of a task.
pub fn clear(tx: &mut dyn Tx, project: &str, task: &str) -> Result<()> {
    tx.defer(Sql::same("DELETE FROM task_label WHERE project = $1 AND task = $2"), vec![project.into(), task.into()])
}

/// Updates the readiness of open tasks.
pub fn set_ready(tx: &mut dyn Tx, project: &str, tasks: &[TaskId], ready: bool) -> Result<()> {
    let sql = Sql::pair(
        "UPDATE task_label SET ready = $3 WHERE project = $1 AND task IN (SELECT value FROM json_each($2))",
        "UPDATE task_label SET ready = $3
         WHERE project = $1 AND task = ANY (ARRAY(SELECT value FROM json_array_elements_text(CAST($2 AS JSON))))",
    );
    tx.defer(sql, vec![project.into(), list(tasks), ready.into()])
}

/// A label of a new task: (label, status, ready, priority, number, task).
pub type NewLabel<'a> = (&'a str, &'static str, i64, i64, i64, &'a str);

/// Inserts the rows of many new tasks.
pub fn insert_many(tx: &mut dyn Tx, project: &str, rows: &[NewLabel<'_>]) -> Result<()> {
    let sql = Sql::pair(
        "INSERT INTO task_label (project, label, status, ready, priority, number, task)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        "INSERT INTO task_label (project, label, status, ready, priority, number, task)
         SELECT $1, value->>0, value->>1, CAST(value->>2 AS BIGINT), CAST(value->>3 AS BIGINT),
                CAST(value->>4 AS BIGINT), value->>5 FROM json_array_elements(CAST($2 AS JSON))",
    );
    let json = || serde_json::to_string(rows).map_err(|error| Error::bug(error.to_string()));
    let mut each = rows.iter().map(|(label, status, ready, priority, number, task)| {
        vec![(*label).into(), (*status).into(), (*ready).into(), (*priority).into(), (*number).into(), (*task).into()]
    });
    tx.insert_rows(sql, BulkRows { common: vec![project.into()], each: &mut each, json: &json })
}
