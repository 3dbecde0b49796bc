//! How far an agent has been offered what happened, and how far its door has confirmed that it was shown.

use tenure_core::Result;

use crate::tx::{Sql, Tx, Value, first};

/// The two cursors of an agent, each over the numbers of events. None goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Events up to this one were offered.
    pub offered: i64,
    /// Events up to this one were shown.
    pub confirmed: i64,
    /// Mail up to this event was offered.
    pub mail_offered: i64,
    /// Mail up to this event was shown.
    pub mail_confirmed: i64,
}

/// The statement that reads it; see [`decode`].
pub fn get_call(project: &str, agent: &str) -> (Sql, Vec<Value>) {
    let sql = Sql::same(
        "SELECT offered, confirmed, mail_offered, mail_confirmed FROM delivery WHERE project = $1 AND agent = $2",
    );
    (sql, vec![project.into(), agent.into()])
}

/// Decodes the answer to [`get_call`].
pub fn decode(rows: Vec<crate::Row>) -> Result<Option<Row>> {
    first(rows)
        .map(|row| {
            Ok(Row {
                offered: row.int(0)?,
                confirmed: row.int(1)?,
                mail_offered: row.int(2)?,
                mail_confirmed: row.int(3)?,
            })
        })
        .transpose()
}

/// The cursors of an agent, if anything was ever offered to it.
pub fn get(tx: &mut dyn Tx, project: &str, agent: &str) -> Result<Option<Row>> {
    let (sql, args) = get_call(project, agent);
    decode(tx.query(sql, &args)?)
}

/// Stores the cursors of an agent.
pub fn put(tx: &mut dyn Tx, project: &str, agent: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO delivery (project, agent, offered, confirmed, mail_offered, mail_confirmed)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (project, agent) DO UPDATE SET offered = excluded.offered, confirmed = excluded.confirmed,
             mail_offered = excluded.mail_offered, mail_confirmed = excluded.mail_confirmed",
    );
    let args = vec![
        project.into(),
        agent.into(),
        row.offered.into(),
        row.confirmed.into(),
        row.mail_offered.into(),
        row.mail_confirmed.into(),
    ];
    tx.defer(sql, args)
}
