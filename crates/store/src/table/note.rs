//! The `note` table: notes on tasks.

use serde_json::json;
use tenure_core::id::{NoteId, TaskId};
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::{Result, Time};

use crate::statement::{self, Statement};
use crate::tx::{BulkRows, RowsWithin, Sql, Tx, Value, first, ids, list};

#[derive(Clone, Debug)]
pub struct Row {
    /// The note's id.
    pub id: NoteId,
    /// The task it is on.
    pub task: TaskId,
    /// The number of its event.
    pub number: EventNumber,
    /// The author.
    pub agent: AgentName,
    /// When it was written.
    pub at: Time,
    pub text: String,
    /// Attached data, as JSON.
    pub data: Option<String>,
    /// Whether the author's hold had expired.
    pub late: bool,
    /// The commit checked out in the author's working tree, if known.
    pub head: Option<String>,
}

pub fn insert(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO note (project, id, task, number, agent, at, text, data, late, head)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        (&row.task).into(),
        row.number.into(),
        (&row.agent).into(),
        row.at.into(),
        (&row.text).into(),
        Value::optional_text(&row.data),
        row.late.into(),
        Value::optional_text(&row.head),
    ];
    tx.defer(sql, args)
}

/// Whether an id is in use.
pub fn exists(project: &str, id: &str) -> Statement<bool> {
    let sql = Sql::same("SELECT 1 FROM note WHERE project = $1 AND id = $2");
    Statement::new(sql, vec![project.into(), id.into()], statement::exists)
}

/// The columns of a note, in the order of [`decode`].
macro_rules! columns {
    ($prefix:literal) => {
        listed!($prefix; id, task, number, agent, at, text, data, late, head)
    };
}

fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row {
        id: row.id(0)?,
        task: row.id(1)?,
        number: row.event_number(2)?,
        agent: row.id(3)?,
        at: row.time(4)?,
        text: row.text(5)?,
        data: row.optional_text(6)?,
        late: row.flag(7)?,
        head: row.optional_text(8)?,
    })
}

/// Ids of notes that begin with a prefix.
pub fn beginning(tx: &mut dyn Tx, project: &str, prefix: &str, limit: usize) -> Result<Vec<NoteId>> {
    let sql = Sql::same("SELECT id FROM note WHERE project = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4");
    let end = format!("{prefix}{{");
    ids(tx.query(sql, &[project.into(), prefix.into(), end.into(), limit.into()])?)
}

/// The ids of all notes of a project, oldest first.
pub fn order(tx: &mut dyn Tx, project: &str) -> Result<Vec<NoteId>> {
    let sql = Sql::same("SELECT id FROM note WHERE project = $1 ORDER BY number, id");
    ids(tx.query(sql, &[project.into()])?)
}

/// Several notes by id, oldest first; ids that do not exist are skipped.
pub fn get_many(tx: &mut dyn Tx, project: &str, ids: &[NoteId]) -> Result<Vec<Row>> {
    let sql = Sql::pair(
        concat!(
            "SELECT ",
            columns!("n."),
            " FROM json_each($2) j CROSS JOIN note n ON n.project = $1 AND n.id = j.value"
        ),
        concat!(
            "SELECT ",
            columns!("n."),
            " FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT * FROM note WHERE project = $1 AND id = j.value OFFSET 0) n"
        ),
    );
    let rows = tx.query(sql, &[project.into(), list(ids)])?;
    let mut notes = rows.into_iter().map(decode).collect::<Result<Vec<_>>>()?;
    notes.sort_by(|a, b| (a.number, &a.id).cmp(&(b.number, &b.id)));
    Ok(notes)
}

/// Inserts many notes.
pub fn insert_many(tx: &mut dyn Tx, project: &str, rows: &[Row]) -> Result<()> {
    let item = |row: &Row| {
        let (data, head) = (row.data.as_deref().unwrap_or_default(), row.head.as_deref().unwrap_or_default());
        json!([row.id, row.task, row.number, row.agent, row.at.0, row.text, data, i64::from(row.late), head])
    };
    let sql = Sql::pair(
        "INSERT INTO note (project, id, task, number, agent, at, text, data, late, head)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        "INSERT INTO note (project, id, task, number, agent, at, text, data, late, head)
         SELECT $1, value->>0, value->>1, CAST(value->>2 AS BIGINT), value->>3, CAST(value->>4 AS BIGINT), value->>5,
                value->>6, CAST(value->>7 AS BIGINT), value->>8 FROM json_array_elements(CAST($2 AS JSON))",
    );
    let json = || Ok(serde_json::Value::Array(rows.iter().map(item).collect()).to_string());
    let values = |row: &Row| {
        let (id, task, number, agent) = ((&row.id).into(), (&row.task).into(), row.number.into(), (&row.agent).into());
        let (text, data, head) = ((&row.text).into(), Value::optional_text(&row.data), Value::optional_text(&row.head));
        vec![id, task, number, agent, row.at.into(), text, data, row.late.into(), head]
    };
    tx.insert_rows(sql, BulkRows { common: vec![project.into()], each: &mut rows.iter().map(values), json: &json })
}

/// The texts of the notes on a task before a number, newest first.
pub fn texts(project: &str, task: &str, before: EventNumber, limit: usize) -> Statement<Vec<(EventNumber, String)>> {
    let sql = Sql::same(
        "SELECT number, text FROM note WHERE project = $1 AND task = $2 AND number < $3 ORDER BY number DESC LIMIT $4",
    );
    let args = vec![project.into(), task.into(), before.into(), limit.into()];
    let read =
        |rows: Vec<crate::Row>| rows.into_iter().map(|mut row| Ok((row.event_number(0)?, row.text(1)?))).collect();
    Statement::new(sql, args, read)
}

/// The number of notes on a task.
pub fn count(tx: &mut dyn Tx, project: &str, task: &str) -> Result<usize> {
    let sql = Sql::same("SELECT COUNT(*) FROM note WHERE project = $1 AND task = $2");
    let count = match first(tx.query(sql, &[project.into(), task.into()])?) {
        Some(row) => row.int(0)?,
        None => 0,
    };
    Ok(usize::try_from(count).unwrap_or_default())
}

/// The newest notes on a task, oldest first.
pub fn newest(tx: &mut dyn Tx, project: &str, task: &str, limit: usize) -> Result<Vec<Row>> {
    newest_within(tx, project, task, (limit, usize::MAX)).map(|found| found.rows)
}

/// The same, limited by bytes: the newest notes that fit.
pub fn newest_within(
    tx: &mut dyn Tx,
    project: &str,
    task: &str,
    (limit, bytes): (usize, usize),
) -> Result<RowsWithin<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM note WHERE project = $1 AND task = $2 ORDER BY number DESC LIMIT $3"
    ));
    let mut notes = tx.query_within(sql, &[project.into(), task.into(), limit.into()], bytes)?.try_map(decode)?;
    notes.rows.reverse();
    Ok(notes)
}
