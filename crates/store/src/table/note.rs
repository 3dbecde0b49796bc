//! Notes on tasks.

use tenure_core::{Result, Time};

use crate::tx::{Sql, Tx};

/// One note.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// The task it is on.
    pub task: String,
    /// The number of its event.
    pub number: i64,
    /// Who wrote it.
    pub agent: String,
    /// When.
    pub at: Time,
    /// The text.
    pub text: String,
    /// Data given with it, as JSON; empty for none.
    pub data: String,
    /// Whether its author's hold had lapsed.
    pub late: bool,
}

/// Adds a note.
pub fn insert(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO note (project, id, task, number, agent, at, text, data, late)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        (&row.task).into(),
        row.number.into(),
        (&row.agent).into(),
        row.at.into(),
        (&row.text).into(),
        (&row.data).into(),
        row.late.into(),
    ];
    tx.defer(sql, args)
}

/// The statement that tells whether an id is taken: any row says yes.
pub fn exists_call(project: &str, id: &str) -> (Sql, Vec<crate::Value>) {
    (Sql::same("SELECT 1 FROM note WHERE project = $1 AND id = $2"), vec![project.into(), id.into()])
}

/// The newest notes on a task, oldest first.
pub fn newest(tx: &mut dyn Tx, project: &str, task: &str, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(
        "SELECT id, task, number, agent, at, text, data, late FROM note
         WHERE project = $1 AND task = $2 ORDER BY number DESC LIMIT $3",
    );
    let mut notes = tx
        .query(sql, &[project.into(), task.into(), limit.into()])?
        .into_iter()
        .map(|mut row| {
            Ok(Row {
                id: row.text(0)?,
                task: row.text(1)?,
                number: row.int(2)?,
                agent: row.text(3)?,
                at: row.time(4)?,
                text: row.text(5)?,
                data: row.text(6)?,
                late: row.flag(7)?,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    notes.reverse();
    Ok(notes)
}
