//! Named locks: the same table as all holds, looked up by name.

use tenure_core::{Result, Span, Time};

use super::hold::{Row, counts, many};
use crate::tx::{Sql, Tx, Value};

/// The statement that reads the lock of a name that has not been ended, lapsed or not; see [`many`](super::hold::many).
pub fn live_call(project: &str, name: &str) -> (Sql, Vec<Value>) {
    let sql = Sql::same(
        "SELECT id, kind, subject, mode, holder, fence, granted_at, expires_at, ttl, reason, ended_at, ended_how,
            checkout, folded, task, asked, place, renewal FROM hold
         WHERE project = $1 AND subject = $2 AND ended_at = 0 AND kind = 'name'",
    );
    (sql, vec![project.into(), name.into()])
}

/// The lock of a name that has not been ended, lapsed or not.
pub fn live(tx: &mut dyn Tx, project: &str, name: &str) -> Result<Option<Row>> {
    let (sql, args) = live_call(project, name);
    Ok(many(tx.query(sql, &args)?)?.pop())
}

/// The newest locks of a name, ended or not, the last granted first.
pub fn newest(tx: &mut dyn Tx, project: &str, name: &str, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(
        "SELECT id, kind, subject, mode, holder, fence, granted_at, expires_at, ttl, reason, ended_at, ended_how,
            checkout, folded, task, asked, place, renewal FROM hold
         WHERE project = $1 AND subject = $2 AND kind = 'name' ORDER BY fence DESC LIMIT $3",
    );
    many(tx.query(sql, &[project.into(), name.into(), limit.into()])?)
}

/// The newest lock of a name that an agent had, ended or not.
pub fn last_of(tx: &mut dyn Tx, project: &str, name: &str, holder: &str) -> Result<Option<Row>> {
    let sql = Sql::same(
        "SELECT id, kind, subject, mode, holder, fence, granted_at, expires_at, ttl, reason, ended_at, ended_how,
            checkout, folded, task, asked, place, renewal FROM hold
         WHERE project = $1 AND subject = $2 AND kind = 'name' AND holder = $3 ORDER BY fence DESC LIMIT 1",
    );
    Ok(many(tx.query(sql, &[project.into(), name.into(), holder.into()])?)?.pop())
}

/// How many locks have time left: in the project, and of one agent.
pub fn count(tx: &mut dyn Tx, project: &str, holder: &str, now: Time) -> Result<(i64, i64)> {
    let sql = Sql::same(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN holder = $2 THEN 1 ELSE 0 END), 0) FROM hold
         WHERE project = $1 AND ended_at = 0 AND kind = 'name' AND subject > '' AND +expires_at > $3",
    );
    counts(tx.query(sql, &[project.into(), holder.into(), now.into()])?)
}

/// Takes a lock that was offered: from here on it is one like any other, and this renews it.
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

/// Gives a lock a new end, the time to live that later renewals use, and what it is for.
pub fn renew(tx: &mut dyn Tx, project: &str, id: &str, (expires_at, ttl): (Time, Span), reason: &str) -> Result<()> {
    let sql = Sql::same(
        "UPDATE hold SET expires_at = $3, ttl = $4, reason = $5 WHERE project = $1 AND id = $2 AND +ended_at = 0",
    );
    tx.defer(sql, vec![project.into(), id.into(), expires_at.into(), ttl.0.into(), reason.into()])
}
