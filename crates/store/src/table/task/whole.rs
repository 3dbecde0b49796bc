//! Tasks as a whole, whatever their status: what leaves a project and comes into one.

use serde_json::{Value as Json, json};
use tenure_core::Result;

use super::Row;
use crate::tx::{Rows, Sql, Tx, Value};

/// The ids of all tasks of a project in the order of their creation.
pub fn order(tx: &mut dyn Tx, project: &str) -> Result<Vec<String>> {
    let sql = Sql::same("SELECT id FROM task WHERE project = $1 ORDER BY number, id");
    tx.query(sql, &[project.into()])?.into_iter().map(|mut row| row.text(0)).collect()
}

/// Adds many tasks with everything they have. None of them has had a hold here.
pub fn insert_many(tx: &mut dyn Tx, project: &str, rows: &[Row]) -> Result<()> {
    // A record set is read once. Taking a field out of a JSON text would read the whole text for each of the fields.
    let sql = Sql::pair(
        "INSERT INTO task (project, id, number, title, description, acceptance, priority, labels, assignee, status, ready,
             reason, blocked_on, deps, unmet, cancelled_deps, attempt, version, last_fence, last_holder, lapsed,
             created_by, created_at, updated_at, finished_by, finished_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, 0, $19, $20, $21, $22, $23,
             $24, $25)",
        "INSERT INTO task (project, id, number, title, description, acceptance, priority, labels, assignee, status, ready,
             reason, blocked_on, deps, unmet, cancelled_deps, attempt, version, last_fence, last_holder, lapsed,
             created_by, created_at, updated_at, finished_by, finished_at)
         SELECT $1, id, number, title, description, acceptance, priority, labels, assignee, status, ready,
             reason, blocked_on, deps, unmet, cancelled_deps, attempt, version, 0, last_holder, lapsed,
             created_by, created_at, updated_at, finished_by, finished_at
         FROM json_to_recordset(CAST($2 AS JSON)) AS item(id TEXT, number BIGINT, title TEXT, description TEXT,
             acceptance TEXT, priority BIGINT, labels TEXT, assignee TEXT, status TEXT, ready BIGINT, reason TEXT,
             blocked_on TEXT, deps BIGINT, unmet BIGINT, cancelled_deps BIGINT, attempt BIGINT, version BIGINT,
             last_holder TEXT, lapsed BIGINT, created_by TEXT, created_at BIGINT, updated_at BIGINT, finished_by TEXT,
             finished_at BIGINT)",
    );
    let json = || Ok(Json::Array(rows.iter().map(item).collect()).to_string());
    tx.insert_rows(sql, Rows { common: vec![project.into()], each: &mut rows.iter().map(values), json: &json })
}

fn values(row: &Row) -> Vec<Value> {
    vec![
        (&row.id).into(),
        row.number.into(),
        (&row.title).into(),
        (&row.description).into(),
        (&row.acceptance).into(),
        row.priority.into(),
        Json::from(row.labels.as_slice()).to_string().into(),
        (&row.assignee).into(),
        row.status.as_str().into(),
        row.ready.into(),
        (&row.reason).into(),
        (&row.blocked_on).into(),
        row.deps.into(),
        row.unmet.into(),
        row.cancelled_deps.into(),
        row.attempt.into(),
        row.version.into(),
        (&row.last_holder).into(),
        row.lapsed.into(),
        (&row.created_by).into(),
        row.created_at.into(),
        row.updated_at.into(),
        (&row.finished_by).into(),
        row.finished_at.into(),
    ]
}

fn item(row: &Row) -> Json {
    json!({
        "id": row.id,
        "number": row.number,
        "title": row.title,
        "description": row.description,
        "acceptance": row.acceptance,
        "priority": row.priority,
        "labels": Json::from(row.labels.as_slice()).to_string(),
        "assignee": row.assignee,
        "status": row.status.as_str(),
        "ready": i64::from(row.ready),
        "reason": row.reason,
        "blocked_on": row.blocked_on,
        "deps": row.deps,
        "unmet": row.unmet,
        "cancelled_deps": row.cancelled_deps,
        "attempt": row.attempt,
        "version": row.version,
        "last_holder": row.last_holder,
        "lapsed": i64::from(row.lapsed),
        "created_by": row.created_by,
        "created_at": row.created_at.0,
        "updated_at": row.updated_at.0,
        "finished_by": row.finished_by,
        "finished_at": row.finished_at.0,
    })
}
