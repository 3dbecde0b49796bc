//! The `login` table: one-time links, by the hash of their secret. It belongs to the store, not to a project.

use tenure_core::name::AgentName;
use tenure_core::{Result, Time, hold};

use crate::tx::{Sql, Tx, first};

/// A one-time link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The principal that it signs in.
    pub principal: AgentName,
    /// When it was created.
    pub created_at: Time,
    /// The principal that created it.
    pub created_by: AgentName,
    /// When it expires.
    pub expires_at: Time,
    /// When it was used, if it was.
    pub used_at: Option<Time>,
}

impl Row {
    /// Whether it can be used: it is neither used nor expired.
    pub fn is_good(&self, now: Time) -> bool {
        self.used_at.is_none() && !hold::lapsed(now, self.expires_at)
    }
}

/// The link whose secret has this hash.
pub fn get(tx: &mut dyn Tx, hash: &str) -> Result<Option<Row>> {
    let sql = Sql::same("SELECT principal, created_at, created_by, expires_at, used_at FROM login WHERE hash = $1");
    let decode = |mut row: crate::Row| {
        Ok(Row {
            principal: row.id(0)?,
            created_at: row.time(1)?,
            created_by: row.id(2)?,
            expires_at: row.time(3)?,
            used_at: row.optional_time(4)?,
        })
    };
    first(tx.query(sql, &[hash.into()])?).map(decode).transpose()
}

pub fn insert(tx: &mut dyn Tx, hash: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO login (hash, principal, created_at, created_by, expires_at, used_at) VALUES ($1, $2, $3, $4, $5, 0)",
    );
    let args = vec![
        hash.into(),
        (&row.principal).into(),
        row.created_at.into(),
        (&row.created_by).into(),
        row.expires_at.into(),
    ];
    tx.defer(sql, args)
}

/// Records that a link was used.
pub fn used(tx: &mut dyn Tx, hash: &str, at: Time) -> Result<()> {
    let sql = Sql::same("UPDATE login SET used_at = $2 WHERE hash = $1");
    tx.defer(sql, vec![hash.into(), at.into()])
}

/// Deletes links that expired before an instant.
pub fn prune(tx: &mut dyn Tx, before: Time) -> Result<()> {
    tx.defer(Sql::same("DELETE FROM login WHERE expires_at < $1"), vec![before.into()])
}

/// Deletes all links.
pub fn clear(tx: &mut dyn Tx) -> Result<()> {
    tx.defer(Sql::same("DELETE FROM login"), Vec::new())
}

/// Corrects links created after `now`, under a clock that was ahead: their lifetime starts at `now`.
pub fn cap(tx: &mut dyn Tx, now: Time) -> Result<()> {
    let sql = Sql::same(
        "UPDATE login SET created_at = $1, expires_at = $1 + (expires_at - created_at) WHERE created_at > $1",
    );
    tx.defer(sql, vec![now.into()])
}
