//! The `principal` table: people, services and agents with access. It belongs to the store, not to a project.

use tenure_core::name::AgentName;
use tenure_core::{Result, Time};

use crate::tx::{Sql, Tx, Value, first};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The principal's name, which implies its kind.
    pub name: AgentName,
    /// The subject identifier of single sign-on. Nothing sets it yet; it is reserved for single sign-on.
    pub subject: Option<String>,
    /// When it first got access.
    pub created_at: Time,
    /// The principal that gave it access.
    pub created_by: AgentName,
    /// When it was disabled, if it is.
    pub disabled_at: Option<Time>,
}

/// The columns of a principal, in the order of [`decode`].
macro_rules! columns {
    ($prefix:literal) => {
        listed!($prefix; name, subject, created_at, created_by, disabled_at)
    };
}

pub fn get(tx: &mut dyn Tx, name: &str) -> Result<Option<Row>> {
    let sql = Sql::same(concat!("SELECT ", columns!(""), " FROM principal WHERE name = $1"));
    first(tx.query(sql, &[name.into()])?).map(decode).transpose()
}

/// A page of principals, sorted by name.
pub fn list(tx: &mut dyn Tx, after: &str, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!("SELECT ", columns!(""), " FROM principal WHERE name > $1 ORDER BY name LIMIT $2"));
    tx.query(sql, &[after.into(), limit.into()])?.into_iter().map(decode).collect()
}

fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row {
        name: row.id(0)?,
        subject: row.optional_text(1)?,
        created_at: row.time(2)?,
        created_by: row.id(3)?,
        disabled_at: row.optional_time(4)?,
    })
}

/// Inserts a new principal.
pub fn insert(tx: &mut dyn Tx, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO principal (name, subject, created_at, created_by, disabled_at) VALUES ($1, $2, $3, $4, $5)",
    );
    let args = vec![
        (&row.name).into(),
        Value::optional_text(&row.subject),
        row.created_at.into(),
        (&row.created_by).into(),
        Value::optional_time(row.disabled_at),
    ];
    tx.defer(sql, args)
}

/// Disables a principal; `None` enables it again.
pub fn set_disabled(tx: &mut dyn Tx, name: &str, at: Option<Time>) -> Result<()> {
    let sql = Sql::same("UPDATE principal SET disabled_at = $2 WHERE name = $1");
    tx.defer(sql, vec![name.into(), Value::optional_time(at)])
}

/// The disabled principals, sorted by name.
pub fn disabled(tx: &mut dyn Tx) -> Result<Vec<(AgentName, Time)>> {
    let sql = Sql::same("SELECT name, disabled_at FROM principal WHERE disabled_at > 0 ORDER BY name");
    tx.query(sql, &[])?.into_iter().map(|mut row| Ok((row.id(0)?, row.time(1)?))).collect()
}
