//! The `fired` table: when a hook last ran. These statistics may be lost; no op depends on them.

use tenure_core::{Result, Time};

use crate::statement::Statement;
use crate::tx::{Sql, Tx, first};

/// Records a run of a hook, unless one is recorded since `since`.
pub fn put(tx: &mut dyn Tx, project: &str, tool: &str, event: &str, now: Time, since: Time) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO fired (project, tool, event, at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (project, tool, event) DO UPDATE SET at = excluded.at WHERE fired.at <= $5 OR fired.at > $4",
    );
    tx.defer(sql, vec![project.into(), tool.into(), event.into(), now.into(), since.into()])
}

/// When a hook last ran.
pub fn get(project: &str, tool: &str, event: &str) -> Statement<Option<Time>> {
    let sql = Sql::same("SELECT at FROM fired WHERE project = $1 AND tool = $2 AND event = $3");
    let read = |rows| first(rows).map(|row| row.time(0)).transpose();
    Statement::new(sql, vec![project.into(), tool.into(), event.into()], read)
}

/// A hook with its last run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The agent tool.
    pub tool: String,
    /// The tool's event.
    pub event: String,
    /// When it last ran.
    pub at: Time,
}

/// All hooks that ever ran in a project. Their number is bounded by the events of the tools.
pub fn list(tx: &mut dyn Tx, project: &str) -> Result<Vec<Row>> {
    let sql = Sql::same("SELECT tool, event, at FROM fired WHERE project = $1 ORDER BY tool, event");
    let rows = tx.query(sql, &[project.into()])?;
    rows.into_iter().map(|mut row| Ok(Row { tool: row.text(0)?, event: row.text(1)?, at: Time(row.int(2)?) })).collect()
}
