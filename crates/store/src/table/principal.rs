//! Principals: those who access was given to. A row of the store, not of a project.

use tenure_core::name::AgentName;
use tenure_core::{Result, Time};

use crate::tx::{Sql, Tx, Value, first};

/// A principal's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name, which says what it is.
    pub name: AgentName,
    /// The subject that single sign-on knows it by. Nothing sets it yet: it is where single sign-on joins.
    pub subject: Option<String>,
    /// When access was first given.
    pub created_at: Time,
    /// By whom.
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

/// One principal.
pub fn get(tx: &mut dyn Tx, name: &str) -> Result<Option<Row>> {
    let sql = Sql::same(concat!("SELECT ", columns!(""), " FROM principal WHERE name = $1"));
    first(tx.query(sql, &[name.into()])?).map(decode).transpose()
}

/// A page of principals by name.
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

/// Makes a principal that is not known yet.
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

/// Disables a principal, or enables it again without a time.
pub fn set_disabled(tx: &mut dyn Tx, name: &str, at: Option<Time>) -> Result<()> {
    let sql = Sql::same("UPDATE principal SET disabled_at = $2 WHERE name = $1");
    tx.defer(sql, vec![name.into(), Value::optional_time(at)])
}

/// Those that are disabled, by name.
pub fn disabled(tx: &mut dyn Tx) -> Result<Vec<(AgentName, Time)>> {
    let sql = Sql::same("SELECT name, disabled_at FROM principal WHERE disabled_at > 0 ORDER BY name");
    tx.query(sql, &[])?.into_iter().map(|mut row| Ok((row.id(0)?, row.time(1)?))).collect()
}
