//! Principals: those who access was given to. A row of the store, not of a project.

use tenure_core::{Result, Time};

use crate::tx::{Sql, Tx, first};

/// A principal's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name, which says what it is.
    pub name: String,
    /// Who a sign-on elsewhere says it is, empty for none. Nothing sets it yet: it is where single sign-on joins.
    pub subject: String,
    /// When access was first given.
    pub created_at: Time,
    /// By whom.
    pub created_by: String,
    /// Since when nothing of it counts, 0 for one that is not disabled.
    pub disabled_at: Time,
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
        name: row.text(0)?,
        subject: row.text(1)?,
        created_at: row.time(2)?,
        created_by: row.text(3)?,
        disabled_at: row.time(4)?,
    })
}

/// Makes a principal that is not known yet.
pub fn insert(tx: &mut dyn Tx, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO principal (name, subject, created_at, created_by, disabled_at) VALUES ($1, $2, $3, $4, $5)",
    );
    let args = vec![
        (&row.name).into(),
        (&row.subject).into(),
        row.created_at.into(),
        (&row.created_by).into(),
        row.disabled_at.into(),
    ];
    tx.defer(sql, args)
}

/// Disables a principal, or lets it count again with 0.
pub fn set_disabled(tx: &mut dyn Tx, name: &str, at: Time) -> Result<()> {
    let sql = Sql::same("UPDATE principal SET disabled_at = $2 WHERE name = $1");
    tx.defer(sql, vec![name.into(), at.into()])
}

/// Those that are disabled, by name.
pub fn disabled(tx: &mut dyn Tx) -> Result<Vec<(String, Time)>> {
    let sql = Sql::same("SELECT name, disabled_at FROM principal WHERE disabled_at > 0 ORDER BY name");
    tx.query(sql, &[])?.into_iter().map(|mut row| Ok((row.text(0)?, row.time(1)?))).collect()
}
