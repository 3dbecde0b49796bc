//! The `delivery` table: what agents were offered, and what their doors confirmed as shown.

use tenure_core::Result;

use crate::statement::Statement;
use crate::tx::{Sql, Tx, Value};

/// The position of an agent in a project's log. All numbers are event numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The last event offered.
    pub offered: i64,
    /// The last event confirmed as shown.
    pub confirmed: i64,
    /// The last mail offered.
    pub mail_offered: i64,
    /// The last mail confirmed as shown.
    pub mail_confirmed: i64,
}

fn decode(row: &crate::Row) -> Result<Row> {
    Ok(Row { offered: row.int(0)?, confirmed: row.int(1)?, mail_offered: row.int(2)?, mail_confirmed: row.int(3)? })
}

/// The position of an agent; `None` before its first offer.
pub fn get(project: &str, agent: &str) -> Statement<Option<Row>> {
    let sql = Sql::same(
        "SELECT offered, confirmed, mail_offered, mail_confirmed FROM delivery WHERE project = $1 AND agent = $2",
    );
    Statement::new(sql, vec![project.into(), agent.into()], |rows| rows.first().map(decode).transpose())
}

/// Stores the position of an agent.
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
