//! The `web_session` table: browser sessions, by the hash of their cookie. It belongs to the store.

use tenure_core::name::AgentName;
use tenure_core::{Result, Time};

use crate::tx::{Sql, Tx, first};

/// A browser session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The principal that is signed in.
    pub principal: AgentName,
    /// The hash of the CSRF token of its forms.
    pub csrf: String,
    /// When it began.
    pub created_at: Time,
    /// When it expires.
    pub expires_at: Time,
    /// When it was closed, if it was.
    pub revoked_at: Option<Time>,
}

/// The session whose cookie has this hash.
pub fn get(tx: &mut dyn Tx, hash: &str) -> Result<Option<Row>> {
    let sql = Sql::same("SELECT principal, csrf, created_at, expires_at, revoked_at FROM web_session WHERE hash = $1");
    let decode = |mut row: crate::Row| {
        Ok(Row {
            principal: row.id(0)?,
            csrf: row.text(1)?,
            created_at: row.time(2)?,
            expires_at: row.time(3)?,
            revoked_at: row.optional_time(4)?,
        })
    };
    first(tx.query(sql, &[hash.into()])?).map(decode).transpose()
}

pub fn insert(tx: &mut dyn Tx, hash: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO web_session (hash, principal, csrf, created_at, expires_at, revoked_at) VALUES ($1, $2, $3, $4, $5, 0)",
    );
    let args =
        vec![hash.into(), (&row.principal).into(), (&row.csrf).into(), row.created_at.into(), row.expires_at.into()];
    tx.defer(sql, args)
}

/// Closes a session; returns the number of sessions closed.
pub fn close(tx: &mut dyn Tx, hash: &str, at: Time) -> Result<u64> {
    let sql =
        Sql::same("UPDATE web_session SET revoked_at = $2 WHERE hash = $1 AND revoked_at = 0 AND expires_at > $2");
    tx.execute(sql, &[hash.into(), at.into()])
}

/// Closes all sessions of a principal; returns the number of sessions closed.
pub fn close_all(tx: &mut dyn Tx, principal: &str, at: Time) -> Result<u64> {
    let sql =
        Sql::same("UPDATE web_session SET revoked_at = $2 WHERE principal = $1 AND revoked_at = 0 AND expires_at > $2");
    tx.execute(sql, &[principal.into(), at.into()])
}

/// Deletes sessions that expired before an instant.
pub fn prune(tx: &mut dyn Tx, before: Time) -> Result<()> {
    tx.defer(Sql::same("DELETE FROM web_session WHERE expires_at < $1"), vec![before.into()])
}

/// Deletes all sessions.
pub fn clear(tx: &mut dyn Tx) -> Result<()> {
    tx.defer(Sql::same("DELETE FROM web_session"), Vec::new())
}

/// Corrects sessions created after `now`, under a clock that was ahead: their lifetime starts at `now`.
pub fn cap(tx: &mut dyn Tx, now: Time) -> Result<()> {
    let sql = Sql::same(
        "UPDATE web_session SET created_at = $1, expires_at = $1 + (expires_at - created_at) WHERE created_at > $1",
    );
    tx.defer(sql, vec![now.into()])
}
