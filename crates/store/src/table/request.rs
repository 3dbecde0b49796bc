//! Answers kept for requests that may come again.

use tenure_core::{Result, Time};

use crate::statement::Statement;
use crate::tx::{Sql, Tx, first};

/// The key of a request: (project, actor, op, request id).
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    /// The project's id.
    pub project: &'a str,
    /// Who asked: one actor can never read another's answer.
    pub actor: &'a str,
    /// The op.
    pub op: &'a str,
    /// The id it was sent with.
    pub request_id: &'a str,
}

/// A kept answer.
#[derive(Clone, Debug)]
pub struct Row {
    /// Of the request as sent.
    pub fingerprint: String,
    /// The response, byte for byte.
    pub response: String,
    /// Until when it is kept.
    pub expires_at: Time,
}

fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row { fingerprint: row.text(0)?, response: row.text(1)?, expires_at: row.time(2)? })
}

/// The answer that is kept for a request, over or not.
pub fn get(key: &Key<'_>) -> Statement<Option<Row>> {
    let sql = Sql::same(
        "SELECT fingerprint, response, expires_at FROM request
         WHERE project = $1 AND actor = $2 AND op = $3 AND request_id = $4",
    );
    let args = vec![key.project.into(), key.actor.into(), key.op.into(), key.request_id.into()];
    Statement::new(sql, args, |rows| first(rows).map(decode).transpose())
}

/// Keeps an answer.
pub fn insert(tx: &mut dyn Tx, key: &Key<'_>, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO request (project, actor, op, request_id, fingerprint, response, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (project, actor, op, request_id) DO UPDATE
         SET fingerprint = excluded.fingerprint, response = excluded.response, expires_at = excluded.expires_at",
    );
    let args = vec![
        key.project.into(),
        key.actor.into(),
        key.op.into(),
        key.request_id.into(),
        (&row.fingerprint).into(),
        (&row.response).into(),
        row.expires_at.into(),
    ];
    tx.defer(sql, args)
}

/// Drops answers whose time is over, at most 256 at a time so that no op pays for many.
pub fn prune(tx: &mut dyn Tx, project: &str, now: Time) -> Result<()> {
    let sql = Sql::same(
        "DELETE FROM request WHERE (project, actor, op, request_id) IN (
             SELECT project, actor, op, request_id FROM request
             WHERE project = $1 AND expires_at <= $2 ORDER BY expires_at, actor, op, request_id LIMIT 256)",
    );
    tx.defer(sql, vec![project.into(), now.into()])
}

/// Keeps no answer longer than until an instant.
pub fn cap(tx: &mut dyn Tx, project: &str, until: Time) -> Result<()> {
    let sql = Sql::same("UPDATE request SET expires_at = $2 WHERE project = $1 AND expires_at > $2");
    tx.defer(sql, vec![project.into(), until.into()])
}
