//! The `member` table: the role of a principal in a project. It belongs to the store: `key` is a project's key, or `*`
//! for every project.

use tenure_core::access::Role;
use tenure_core::name::{AgentName, ProjectKey};
use tenure_core::{Result, Time};

use crate::tx::{Sql, Tx};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The principal's name.
    pub principal: AgentName,
    /// The key of a project, or `*`.
    pub key: ProjectKey,
    /// The role.
    pub role: Role,
    /// When it was set.
    pub set_at: Time,
    /// The principal that set it.
    pub set_by: AgentName,
}

/// The columns of a membership, in the order of [`decode`].
macro_rules! columns {
    ($prefix:literal) => {
        listed!($prefix; principal, key, role, set_at, set_by)
    };
}

/// All memberships of a principal, sorted by key.
pub fn of(tx: &mut dyn Tx, principal: &str) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!("SELECT ", columns!(""), " FROM member WHERE principal = $1 ORDER BY key"));
    tx.query(sql, &[principal.into()])?.into_iter().map(decode).collect()
}

/// A page of memberships by principal and key; of one project if it is given.
pub fn list(tx: &mut dyn Tx, key: Option<&str>, after: (&str, &str), limit: usize) -> Result<Vec<Row>> {
    let rows = match key {
        Some(key) => {
            let sql = Sql::same(concat!(
                "SELECT ",
                columns!(""),
                " FROM member WHERE key = $1 AND principal > $2
                 ORDER BY principal LIMIT $3"
            ));
            tx.query(sql, &[key.into(), after.0.into(), limit.into()])?
        }
        None => {
            let sql = Sql::same(concat!(
                "SELECT ",
                columns!(""),
                " FROM member WHERE (principal, key) > ($1, $2)
                 ORDER BY principal, key LIMIT $3"
            ));
            tx.query(sql, &[after.0.into(), after.1.into(), limit.into()])?
        }
    };
    rows.into_iter().map(decode).collect()
}

fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row {
        principal: row.id(0)?,
        key: row.id(1)?,
        role: role(&row.text(2)?)?,
        set_at: row.time(3)?,
        set_by: row.id(4)?,
    })
}

/// Parses a stored role. Any other word is corruption, never a role.
pub(super) fn role(text: &str) -> Result<Role> {
    Role::parse(text).map_err(|_| crate::error::corrupt("a stored role is none"))
}

/// Sets a role and replaces the previous one.
pub fn put(tx: &mut dyn Tx, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO member (principal, key, role, set_at, set_by) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (principal, key) DO UPDATE SET role = excluded.role, set_at = excluded.set_at,
             set_by = excluded.set_by",
    );
    let args = vec![
        (&row.principal).into(),
        (&row.key).into(),
        row.role.as_str().into(),
        row.set_at.into(),
        (&row.set_by).into(),
    ];
    tx.defer(sql, args)
}

/// Deletes a role.
pub fn delete(tx: &mut dyn Tx, principal: &str, key: &str) -> Result<()> {
    let sql = Sql::same("DELETE FROM member WHERE principal = $1 AND key = $2");
    tx.defer(sql, vec![principal.into(), key.into()])
}
