//! The `delivery` table: what agents were offered, and what their doors confirmed as shown.

use tenure_core::Result;
use tenure_core::number::EventNumber;

use crate::statement::Statement;
use crate::tx::{Sql, Tx, Value};

/// The position of an agent in a project's log. All numbers are event numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The last event offered.
    pub offered: EventNumber,
    /// The last event confirmed as shown.
    pub confirmed: EventNumber,
    /// The last mail offered.
    pub mail_offered: EventNumber,
    /// The last mail confirmed as shown.
    pub mail_confirmed: EventNumber,
}

fn decode(row: &crate::Row) -> Result<Row> {
    Ok(Row {
        offered: row.event_number(0)?,
        confirmed: row.event_number(1)?,
        mail_offered: row.event_number(2)?,
        mail_confirmed: row.event_number(3)?,
    })
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
