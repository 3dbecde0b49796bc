//! Files that notes name.

use serde_json::json;
use tenure_core::Result;
use tenure_core::id::{NoteId, TaskId};

use crate::tx::{Sql, Tx};

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The note that names it.
    pub note: NoteId,
    /// Its place among the files of that note.
    pub position: i64,
    /// The task the note is on.
    pub task: TaskId,
    /// The number of the note's event.
    pub number: i64,
    /// Where it is.
    pub path: String,
    /// What it is.
    pub kind: String,
    /// The sum of what it contained, in hexadecimal.
    pub sha256: String,
    /// How many bytes it had.
    pub size: i64,
}

fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row {
        note: row.id(0)?,
        position: row.int(1)?,
        task: row.id(2)?,
        number: row.int(3)?,
        path: row.text(4)?,
        kind: row.text(5)?,
        sha256: row.text(6)?,
        size: row.int(7)?,
    })
}

/// The files that the newest notes on a task name, newest note first.
pub fn newest(tx: &mut dyn Tx, project: &str, task: &str, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(
        "SELECT note, position, task, number, path, kind, sha256, size FROM artifact
         WHERE project = $1 AND task = $2 ORDER BY number DESC, note DESC, position DESC LIMIT $3",
    );
    let rows = tx.query(sql, &[project.into(), task.into(), limit.into()])?;
    rows.into_iter().map(decode).collect()
}

/// Adds the files of a note by one statement.
pub fn insert_many(tx: &mut dyn Tx, project: &str, rows: &[Row]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let item =
        |row: &Row| json!([row.note, row.position, row.task, row.number, row.path, row.kind, row.sha256, row.size]);
    let json = serde_json::Value::Array(rows.iter().map(item).collect()).to_string();
    let sql = Sql::pair(
        "INSERT INTO artifact (project, note, position, task, number, path, kind, sha256, size)
         SELECT $1, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
                json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
                json_extract(value, '$[6]'), json_extract(value, '$[7]') FROM json_each($2)",
        "INSERT INTO artifact (project, note, position, task, number, path, kind, sha256, size)
         SELECT $1, value->>0, CAST(value->>1 AS BIGINT), value->>2, CAST(value->>3 AS BIGINT), value->>4, value->>5,
                value->>6, CAST(value->>7 AS BIGINT) FROM json_array_elements(CAST($2 AS JSON))",
    );
    tx.defer(sql, vec![project.into(), json.into()])
}
