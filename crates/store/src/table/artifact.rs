//! The `artifact` table: files attached to notes.

use serde_json::json;
use tenure_core::Result;
use tenure_core::id::{NoteId, TaskId};
use tenure_core::number::EventNumber;

use crate::tx::{Sql, Tx};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The note it is attached to.
    pub note: NoteId,
    /// Its position among the files of that note.
    pub position: i64,
    /// The task of the note.
    pub task: TaskId,
    /// The number of the note's event.
    pub number: EventNumber,
    /// The file's path.
    pub path: String,
    /// The kind of file.
    pub kind: String,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// Its size in bytes.
    pub size: i64,
}

fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row {
        note: row.id(0)?,
        position: row.int(1)?,
        task: row.id(2)?,
        number: row.event_number(3)?,
        path: row.text(4)?,
        kind: row.text(5)?,
        sha256: row.text(6)?,
        size: row.int(7)?,
    })
}

/// The files of the newest notes on a task, newest note first.
pub fn newest(tx: &mut dyn Tx, project: &str, task: &str, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(
        "SELECT note, position, task, number, path, kind, sha256, size FROM artifact
         WHERE project = $1 AND task = $2 ORDER BY number DESC, note DESC, position DESC LIMIT $3",
    );
    let rows = tx.query(sql, &[project.into(), task.into(), limit.into()])?;
    rows.into_iter().map(decode).collect()
}

/// Inserts the files of a note with one statement.
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
