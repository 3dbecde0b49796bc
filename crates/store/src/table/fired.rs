//! When a hook last ran: statistics that may be lost, no part of any decision.

use tenure_core::{Result, Time};

use crate::tx::{Sql, Tx};

/// A hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The agent tool.
    pub tool: String,
    /// Its event.
    pub event: String,
    /// When it last ran.
    pub at: Time,
}

/// All hooks that ever ran in a project: as many as the tools have events.
pub fn list(tx: &mut dyn Tx, project: &str) -> Result<Vec<Row>> {
    let sql = Sql::same("SELECT tool, event, at FROM fired WHERE project = $1 ORDER BY tool, event");
    let rows = tx.query(sql, &[project.into()])?;
    rows.into_iter().map(|mut row| Ok(Row { tool: row.text(0)?, event: row.text(1)?, at: Time(row.int(2)?) })).collect()
}
