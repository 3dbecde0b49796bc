//! Named locks: rows of the `hold` table, looked up by name.

use tenure_core::{Result, Span, Time};

use super::hold::{Row, columns, counts, many, one};
use crate::statement::Statement;
use crate::tx::{Sql, Tx};

/// The lock of a name that was not ended, expired or not.
pub fn live(project: &str, name: &str) -> Statement<Option<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM hold WHERE project = $1 AND subject = $2 AND ended_at = 0 AND kind = 'name'"
    ));
    Statement::new(sql, vec![project.into(), name.into()], one)
}

/// The newest locks of a name, ended or not, the last granted first.
pub fn newest(tx: &mut dyn Tx, project: &str, name: &str, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM hold WHERE project = $1 AND subject = $2 AND kind = 'name' ORDER BY fence DESC LIMIT $3"
    ));
    many(tx.query(sql, &[project.into(), name.into(), limit.into()])?)
}

/// The newest lock of a name that an agent held, ended or not.
pub fn last_of(tx: &mut dyn Tx, project: &str, name: &str, holder: &str) -> Result<Option<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM hold WHERE project = $1 AND subject = $2 AND kind = 'name' AND holder = $3 ORDER BY fence DESC LIMIT 1"
    ));
    one(tx.query(sql, &[project.into(), name.into(), holder.into()])?)
}

/// The number of live locks: in the project, and of one agent.
pub fn count(tx: &mut dyn Tx, project: &str, holder: &str, now: Time) -> Result<(i64, i64)> {
    let sql = Sql::same(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN holder = $2 THEN 1 ELSE 0 END), 0) FROM hold
         WHERE project = $1 AND ended_at = 0 AND kind = 'name' AND subject > '' AND +expires_at > $3",
    );
    counts(tx.query(sql, &[project.into(), holder.into(), now.into()])?)
}

/// Takes an offered lock: from then on it is an ordinary lock, renewed by this call.
pub fn take(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "UPDATE hold SET expires_at = $3, ttl = $4, reason = $5, renewal = $6, place = ''
         WHERE project = $1 AND id = $2 AND +ended_at = 0",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        row.expires_at.into(),
        row.ttl.0.into(),
        (&row.reason).into(),
        row.renewal.as_str().into(),
    ];
    tx.defer(sql, args)
}

/// Sets a new expiry, the time to live that later renewals use, and the reason.
pub fn renew(tx: &mut dyn Tx, project: &str, id: &str, (expires_at, ttl): (Time, Span), reason: &str) -> Result<()> {
    let sql = Sql::same(
        "UPDATE hold SET expires_at = $3, ttl = $4, reason = $5 WHERE project = $1 AND id = $2 AND +ended_at = 0",
    );
    tx.defer(sql, vec![project.into(), id.into(), expires_at.into(), ttl.0.into(), reason.into()])
}
