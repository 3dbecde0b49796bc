//! The `request` table: stored responses of requests that may be repeated.

use tenure_core::{Result, Time};

use crate::statement::Statement;
use crate::tx::{Sql, Tx, first};

/// The key of a request: (project, actor, op, request id).
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    /// The project's id.
    pub project: &'a str,
    /// The caller: one actor can never read another's response.
    pub actor: &'a str,
    /// The op's name.
    pub op: &'a str,
    /// The request id.
    pub request_id: &'a str,
}

/// A stored response.
#[derive(Clone, Debug)]
pub struct Row {
    /// The fingerprint of the request as sent.
    pub fingerprint: String,
    /// The response, byte for byte.
    pub response: String,
    /// When it expires.
    pub expires_at: Time,
}

fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row { fingerprint: row.text(0)?, response: row.text(1)?, expires_at: row.time(2)? })
}

/// The response stored for a request, expired or not.
pub fn get(key: &Key<'_>) -> Statement<Option<Row>> {
    let sql = Sql::same(
        "SELECT fingerprint, response, expires_at FROM request
         WHERE project = $1 AND actor = $2 AND op = $3 AND request_id = $4",
    );
    let args = vec![key.project.into(), key.actor.into(), key.op.into(), key.request_id.into()];
    Statement::new(sql, args, |rows| first(rows).map(decode).transpose())
}

/// Stores a response.
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

/// Deletes expired responses, at most 256 at a time, so that no op pays for many.
pub fn prune(tx: &mut dyn Tx, project: &str, now: Time) -> Result<()> {
    let sql = Sql::same(
        "DELETE FROM request WHERE (project, actor, op, request_id) IN (
             SELECT project, actor, op, request_id FROM request
             WHERE project = $1 AND expires_at <= $2 ORDER BY expires_at, actor, op, request_id LIMIT 256)",
    );
    tx.defer(sql, vec![project.into(), now.into()])
}

/// Limits the expiry of all responses to an instant.
pub fn cap(tx: &mut dyn Tx, project: &str, until: Time) -> Result<()> {
    let sql = Sql::same("UPDATE request SET expires_at = $2 WHERE project = $1 AND expires_at > $2");
    tx.defer(sql, vec![project.into(), until.into()])
}
