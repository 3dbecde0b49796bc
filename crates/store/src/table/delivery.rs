//! What agents were offered, and what their doors confirmed that they were shown.

use tenure_core::Result;

use crate::statement::Statement;
use crate::tx::{Sql, Tx, Value};

/// Where an agent is in the log of a project. All numbers are those of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Events were offered up to here.
    pub offered: i64,
    /// Events were shown up to here.
    pub confirmed: i64,
    /// Mail was offered up to here.
    pub mail_offered: i64,
    /// Mail was shown up to here.
    pub mail_confirmed: i64,
}

fn decode(row: &crate::Row) -> Result<Row> {
    Ok(Row { offered: row.int(0)?, confirmed: row.int(1)?, mail_offered: row.int(2)?, mail_confirmed: row.int(3)? })
}

/// Where an agent is; `None` before anything was offered to it.
pub fn get(project: &str, agent: &str) -> Statement<Option<Row>> {
    let sql = Sql::same(
        "SELECT offered, confirmed, mail_offered, mail_confirmed FROM delivery WHERE project = $1 AND agent = $2",
    );
    Statement::new(sql, vec![project.into(), agent.into()], |rows| rows.first().map(decode).transpose())
}

/// Stores where an agent is.
pub fn put(tx: &mut dyn Tx, project: &str, agent: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO delivery (project, agent, offered, confirmed, mail_offered, mail_confirmed)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (project, agent) DO UPDATE SET offered = excluded.offered, confirmed = excluded.confirmed,
             mail_offered = excluded.mail_offered, mail_confirmed = excluded.mail_confirmed",
    );
    let numbers = [row.offered, row.confirmed, row.mail_offered, row.mail_confirmed].map(Value::from);
    let mut args: Vec<Value> = vec![project.into(), agent.into()];
    args.extend(numbers);
    tx.defer(sql, args)
}
