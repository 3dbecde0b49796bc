//! The `token` table: tokens, by the hash of their secret. It belongs to the store. No row, and so no backup, contains
//! a secret.

use tenure_core::access::TokenScope;
use tenure_core::id::TokenId;
use tenure_core::name::AgentName;
use tenure_core::{Result, Time};

use super::member::role;
use crate::statement::{self, Statement};
use crate::tx::{Sql, Tx, Value, first, ids, list as json_list};

/// When and by whom a token was revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// When it was revoked.
    pub at: Time,
    /// The principal that revoked it.
    pub by: AgentName,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The token's id, which people and logs use.
    pub id: TokenId,
    /// The principal it authenticates.
    pub principal: AgentName,
    /// Its purpose.
    pub label: String,
    /// The scope it restricts its principal to.
    pub scope: TokenScope,
    /// When it was created.
    pub created_at: Time,
    /// The principal that created it.
    pub created_by: AgentName,
    /// When it expires.
    pub expires_at: Time,
    /// When and by whom it was revoked, if it was.
    pub revoked: Option<Revoked>,
}

/// The columns of a token, in the order of [`decode`].
macro_rules! columns {
    ($prefix:literal) => {
        listed!($prefix;
            id, principal, label, role, projects, created_at, created_by, expires_at, revoked_at, revoked_by)
    };
}

const OF_HASH: Sql = Sql::same(concat!("SELECT ", columns!(""), " FROM token WHERE hash = $1"));

/// The token whose secret has this hash. The timing of the index lookup may reveal how much of a hash matches. That
/// does not help an attacker, because a secret cannot be chosen by its hash.
pub fn of_hash(tx: &mut dyn Tx, hash: &str) -> Result<Option<Row>> {
    first(tx.query(OF_HASH, &[hash.into()])?).map(decode).transpose()
}

pub fn get(tx: &mut dyn Tx, id: &str) -> Result<Option<Row>> {
    let sql = Sql::same(concat!("SELECT ", columns!(""), " FROM token WHERE id = $1"));
    first(tx.query(sql, &[id.into()])?).map(decode).transpose()
}

/// A page of tokens by id; of one principal if it is given.
pub fn list(tx: &mut dyn Tx, principal: Option<&str>, after: &str, limit: usize) -> Result<Vec<Row>> {
    let rows = match principal {
        Some(principal) => {
            let sql = Sql::same(concat!(
                "SELECT ",
                columns!(""),
                " FROM token WHERE principal = $1 AND id > $2 ORDER BY id LIMIT $3"
            ));
            tx.query(sql, &[principal.into(), after.into(), limit.into()])?
        }
        None => {
            let sql = Sql::same(concat!("SELECT ", columns!(""), " FROM token WHERE id > $1 ORDER BY id LIMIT $2"));
            tx.query(sql, &[after.into(), limit.into()])?
        }
    };
    rows.into_iter().map(decode).collect()
}

/// Ids that begin with a prefix, sorted.
pub fn beginning(tx: &mut dyn Tx, prefix: &str, limit: usize) -> Result<Vec<TokenId>> {
    let sql = Sql::same("SELECT id FROM token WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3");
    ids(tx.query(sql, &[prefix.into(), format!("{prefix}\u{7f}").into(), limit.into()])?)
}

/// Whether an id is in use.
pub fn exists(id: &str) -> Statement<bool> {
    let sql = Sql::same("SELECT 1 FROM token WHERE id = $1");
    Statement::new(sql, vec![id.into()], statement::exists)
}

fn decode(mut row: crate::Row) -> Result<Row> {
    let (most, projects) = (row.text(3)?, row.text(4)?);
    let unreadable = |_| crate::error::corrupt("the projects of a token cannot be read");
    let scope = TokenScope {
        role: if most.is_empty() { None } else { Some(role(&most)?) },
        // An unreadable list is an error, never all projects.
        projects: if projects.is_empty() { None } else { Some(serde_json::from_str(&projects).map_err(unreadable)?) },
    };
    let by = row.id(9)?;
    Ok(Row {
        id: row.id(0)?,
        principal: row.id(1)?,
        label: row.text(2)?,
        scope,
        created_at: row.time(5)?,
        created_by: row.id(6)?,
        expires_at: row.time(7)?,
        revoked: row.optional_time(8)?.map(|at| Revoked { at, by }),
    })
}

/// Inserts a new token under the hash of its secret.
pub fn insert(tx: &mut dyn Tx, row: &Row, hash: &str) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO token (id, hash, principal, label, role, projects, created_at, created_by, expires_at, revoked_at, revoked_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, '')",
    );
    let args = vec![
        (&row.id).into(),
        hash.into(),
        (&row.principal).into(),
        (&row.label).into(),
        row.scope.role.map_or("", |role| role.as_str()).into(),
        row.scope.projects.as_ref().map_or_else(|| Value::from(""), |keys| json_list(keys)),
        row.created_at.into(),
        (&row.created_by).into(),
        row.expires_at.into(),
    ];
    tx.defer(sql, args)
}

/// Revokes a token that is not revoked yet.
pub fn revoke(tx: &mut dyn Tx, id: &str, at: Time, by: &str) -> Result<()> {
    let sql = Sql::same("UPDATE token SET revoked_at = $2, revoked_by = $3 WHERE id = $1 AND revoked_at = 0");
    tx.defer(sql, vec![id.into(), at.into(), by.into()])
}

/// All revoked tokens.
pub fn revoked(tx: &mut dyn Tx) -> Result<Vec<(TokenId, Revoked)>> {
    let sql = Sql::same("SELECT id, revoked_at, revoked_by FROM token WHERE revoked_at > 0 ORDER BY id");
    let decode = |mut row: crate::Row| Ok((row.id(0)?, Revoked { at: row.time(1)?, by: row.id(2)? }));
    tx.query(sql, &[])?.into_iter().map(decode).collect()
}

/// Corrects tokens created after `now`, under a clock that was ahead: their lifetime starts at `now`.
pub fn cap(tx: &mut dyn Tx, now: Time) -> Result<()> {
    let sql = Sql::same(
        "UPDATE token SET created_at = $1, expires_at = $1 + (expires_at - created_at) WHERE created_at > $1",
    );
    tx.defer(sql, vec![now.into()])
}
