//! Path holds: rows of the `hold` table, looked up by the literal prefix of their pattern.

use tenure_core::hold::{Mode, ends};
use tenure_core::id::{CheckoutId, TaskId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::number::Fence;
use tenure_core::{Result, Span, Time};

use super::hold::{Row, columns, counts, many};
use crate::statement::{self, Statement};
use crate::tx::{Sql, Tx, Value, list};

/// Holds with one of these prefixes, in some checkouts; `None` stands for holds that apply to all checkouts. The SQL
/// makes both engines go from the lists to the index: for an ordered `= ANY`, PostgreSQL scans the whole index that has
/// the order, and reads every live hold. The inner ORDER BY selects the index: without statistics, the others look as
/// good. PostgreSQL expects a hundred elements of a JSON list and ten of an array: with two lists of a hundred, the
/// estimated cost would be near the limit at which it compiles a statement.
pub fn shorter(project: &str, checkouts: &[Option<&CheckoutId>], prefixes: &[String]) -> Statement<Vec<Row>> {
    let sql = Sql::pair(
        concat!(
            "SELECT ",
            columns!("h."),
            ",
            (SELECT t.expires_at FROM hold t WHERE h.task <> '' AND t.project = h.project AND t.subject = h.task
               AND t.ended_at = 0 AND t.kind = 'task')
         FROM json_each($2) c CROSS JOIN json_each($3) p CROSS JOIN hold h
         WHERE h.project = $1 AND h.ended_at = 0 AND h.kind = 'path' AND h.checkout = c.value AND h.prefix = p.value
         ORDER BY h.prefix, h.id"
        ),
        concat!(
            "SELECT ",
            columns!("h."),
            ",
            (SELECT t.expires_at FROM hold t WHERE h.task <> '' AND t.project = h.project AND t.subject = h.task
               AND t.ended_at = 0 AND t.kind = 'task')
         FROM unnest(ARRAY(SELECT json_array_elements_text(CAST($2 AS JSON)))) c(value)
         CROSS JOIN json_array_elements_text(CAST($3 AS JSON)) p CROSS JOIN LATERAL
           (SELECT * FROM hold WHERE project = $1 AND ended_at = 0 AND kind = 'path' AND checkout = c.value
              AND prefix = p.value ORDER BY prefix, id OFFSET 0) h
         ORDER BY h.prefix, h.id"
        ),
    );
    let checkouts: Vec<&str> = checkouts.iter().map(|checkout| or_empty(*checkout)).collect();
    Statement::new(sql, vec![project.into(), list(&checkouts), list(prefixes)], many_with_task)
}

/// Holds whose prefix is longer than `begin` and sorts before `end`, in one checkout.
pub fn longer(project: &str, checkout: Option<&CheckoutId>, begin: &str, end: &str) -> Statement<Vec<Row>> {
    let sql = Sql::same(
        concat!("SELECT ", columns!("h."), ",
            (SELECT t.expires_at FROM hold t WHERE h.task <> '' AND t.project = h.project AND t.subject = h.task
               AND t.ended_at = 0 AND t.kind = 'task')
         FROM hold h
         WHERE h.project = $1 AND h.ended_at = 0 AND h.kind = 'path' AND h.checkout = $2 AND h.prefix > $3 AND h.prefix < $4
         ORDER BY h.prefix, h.id"),
    );
    // An unanchored pattern has no upper bound: every prefix in the index sorts before this text.
    let end = if end.is_empty() { "\u{10ffff}".repeat(129) } else { end.to_owned() };
    Statement::new(sql, vec![project.into(), Value::optional_text(&checkout), begin.into(), end.into()], many_with_task)
}

/// Decodes candidates: a hold that belongs to a task expires with it, as [`ends`](tenure_core::hold::ends) says.
fn many_with_task(rows: Vec<crate::Row>) -> Result<Vec<Row>> {
    let task_ends = rows.iter().map(|row| row.int_or_null(18)).collect::<Result<Vec<_>>>()?;
    let mut found = many(rows)?;
    for (row, task_ends) in found.iter_mut().zip(task_ends) {
        row.expires_at = ends(row.expires_at, task_ends.map(Time));
    }
    Ok(found)
}

/// The expiry of those holds on the given tasks that were not ended.
pub fn task_ends(tx: &mut dyn Tx, project: &str, tasks: &[TaskId]) -> Result<Vec<(TaskId, Time)>> {
    let sql = Sql::pair(
        "SELECT h.subject, h.expires_at FROM json_each($2) p CROSS JOIN hold h
         WHERE h.project = $1 AND h.subject = p.value AND h.ended_at = 0 AND h.kind = 'task' ORDER BY h.subject",
        "SELECT h.subject, h.expires_at FROM json_array_elements_text(CAST($2 AS JSON)) p CROSS JOIN LATERAL
           (SELECT subject, expires_at FROM hold
            WHERE project = $1 AND subject = p.value AND ended_at = 0 AND kind = 'task' OFFSET 0) h ORDER BY h.subject",
    );
    let rows = tx.query(sql, &[project.into(), list(tasks)])?;
    rows.into_iter().map(|mut row| Ok((row.id(0)?, row.time(1)?))).collect()
}

/// The newest ended holds of an agent with one of these prefixes, in any checkout.
pub fn lost(project: &str, holder: &str, prefixes: &[String], limit: usize) -> Statement<Vec<Row>> {
    let sql = Sql::pair(
        concat!(
            "SELECT ",
            columns!("h."),
            " FROM json_each($3) p CROSS JOIN hold h
         WHERE h.project = $1 AND h.kind = 'path' AND h.prefix = p.value AND +h.holder = $2 AND h.ended_at > 0
         ORDER BY h.fence DESC LIMIT $4"
        ),
        concat!(
            "SELECT ",
            columns!("h."),
            " FROM json_array_elements_text(CAST($3 AS JSON)) p CROSS JOIN LATERAL
           (SELECT * FROM hold WHERE project = $1 AND kind = 'path' AND prefix = p.value OFFSET 0) h
         WHERE h.holder = $2 AND h.ended_at > 0 ORDER BY h.fence DESC LIMIT $4"
        ),
    );
    Statement::new(sql, vec![project.into(), holder.into(), list(prefixes), limit.into()], many)
}

/// How many of an agent's newest ended holds [`lost_below`] searches. A larger number costs more for an agent that has
/// held many paths; an older hold is only missing from the explanation of a refusal.
const RECENT: usize = 1_000;

/// The same for holds whose prefix is above the first text and below the second, among the agent's newest ended holds.
pub fn lost_below(project: &str, holder: &str, (begin, end): (&str, &str), limit: usize) -> Statement<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM (SELECT * FROM hold WHERE project = $1 AND holder = $2 AND ended_at > 0 AND kind = 'path'
               ORDER BY fence DESC LIMIT $6) newest
         WHERE prefix > $3 AND prefix < $4 ORDER BY fence DESC LIMIT $5"
    ));
    let end = if end.is_empty() { "\u{10ffff}".repeat(129) } else { end.to_owned() };
    let args = vec![project.into(), holder.into(), begin.into(), end.into(), limit.into(), RECENT.into()];
    Statement::new(sql, args, many)
}

/// Holds with one prefix in any checkout, ended or not, the newest first.
pub fn past(project: &str, prefix: &str, limit: usize) -> Statement<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM hold WHERE project = $1 AND kind = 'path' AND prefix = $2 ORDER BY fence DESC LIMIT $3"
    ));
    Statement::new(sql, vec![project.into(), prefix.into(), limit.into()], many)
}

/// Holds whose prefix is longer than `begin` and sorts before `end`, in any checkout, ended or not. If there are more
/// than `limit`, an arbitrary part of them, because finding the newest would require reading all.
pub fn past_below(project: &str, begin: &str, end: &str, limit: usize) -> Statement<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM hold
         WHERE project = $1 AND kind = 'path' AND prefix > $2 AND prefix < $3 ORDER BY prefix, fence LIMIT $4"
    ));
    let end = if end.is_empty() { "\u{10ffff}".repeat(129) } else { end.to_owned() };
    Statement::new(sql, vec![project.into(), begin.into(), end.into(), limit.into()], many)
}

/// The holds taken for the given tasks that were not ended, in grant order.
pub fn of_tasks(project: &str, tasks: &[TaskId]) -> Statement<Vec<Row>> {
    let sql = Sql::pair(
        concat!(
            "SELECT ",
            columns!(""),
            " FROM hold
         WHERE project = $1 AND task IN (SELECT value FROM json_each($2)) AND task <> '' AND ended_at = 0
         ORDER BY fence, id"
        ),
        concat!(
            "SELECT ",
            columns!("h."),
            " FROM (SELECT DISTINCT value FROM json_array_elements_text(CAST($2 AS JSON))) p CROSS JOIN LATERAL
           (SELECT * FROM hold WHERE project = $1 AND task = p.value AND task <> '' AND +ended_at = 0 OFFSET 0) h
         ORDER BY h.fence, h.id"
        ),
    );
    Statement::new(sql, vec![project.into(), list(tasks)], many)
}

/// The path holds that belonged to a task under one hold on it, in grant order: those granted after its fence, and
/// those of its holder that ended after it was granted.
pub fn last_of_task(
    tx: &mut dyn Tx,
    project: &str,
    task: &str,
    (fence, holder): (Option<Fence>, &AgentName),
) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM hold WHERE project = $1 AND task = $2 AND task <> '' AND (fence > $3 OR (holder = $4
           AND ended_at >= (SELECT e.at FROM event e WHERE e.project = $1 AND e.number = $3)))
         ORDER BY fence, id LIMIT 1000"
    ));
    many(tx.query(sql, &[project.into(), task.into(), fence.unwrap_or(Fence(0)).into(), holder.into()])?)
}

/// An agent's newest ended path holds, newest first.
pub fn past_of(tx: &mut dyn Tx, project: &str, holder: &str, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM hold
         WHERE project = $1 AND holder = $2 AND ended_at > 0 AND kind = 'path' ORDER BY fence DESC LIMIT $3"
    ));
    many(tx.query(sql, &[project.into(), holder.into(), limit.into()])?)
}

/// The number of live unanchored patterns: in the project, and of one agent.
pub fn unanchored(tx: &mut dyn Tx, project: &str, holder: &str, now: Time) -> Result<(i64, i64)> {
    let sql = Sql::same(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN holder = $2 THEN 1 ELSE 0 END), 0) FROM hold
         WHERE project = $1 AND ended_at = 0 AND kind = 'path' AND prefix = '' AND holder > '' AND +expires_at > $3",
    );
    counts(tx.query(sql, &[project.into(), holder.into(), now.into()])?)
}

/// The number of live patterns: in the project, and of one agent. This scans all of them.
pub fn count(tx: &mut dyn Tx, project: &str, holder: &str, now: Time) -> Result<(i64, i64)> {
    let sql = Sql::same(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN holder = $2 THEN 1 ELSE 0 END), 0) FROM hold
         WHERE project = $1 AND ended_at = 0 AND kind = 'path' AND holder > '' AND +expires_at > $3",
    );
    counts(tx.query(sql, &[project.into(), holder.into(), now.into()])?)
}

/// The number of an agent's live patterns, up to `most`. This scans only its own.
pub fn count_own(tx: &mut dyn Tx, project: &str, holder: &str, now: Time, most: i64) -> Result<i64> {
    let sql = Sql::same(
        "SELECT COUNT(*) FROM (SELECT 1 FROM hold
         WHERE project = $1 AND holder = $2 AND ended_at = 0 AND kind || '' = 'path' AND +expires_at > $3 LIMIT $4) own",
    );
    statement::number(tx.query(sql, &[project.into(), holder.into(), now.into(), most.into()])?)
}

/// Grants a hold on a pattern, or offers it to a place: presence never renews an offer. `prefix` is the literal prefix
/// of its files.
pub fn insert(tx: &mut dyn Tx, project: &str, row: &Row, prefix: &str) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO hold (project, id, kind, subject, mode, holder, fence, granted_at, expires_at, ttl, renewal, reason,
             ended_at, ended_how, checkout, prefix, folded, task, place)
         VALUES ($1, $2, 'path', $3, $4, $5, $6, $7, $8, $9, $16, $10, 0, '', $11, $12, $13, $14, $15)",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        (&row.subject).into(),
        row.mode.as_str().into(),
        (&row.holder).into(),
        row.fence.into(),
        row.granted_at.into(),
        row.expires_at.into(),
        row.ttl.0.into(),
        (&row.reason).into(),
        Value::optional_text(&row.checkout),
        prefix.into(),
        row.folded.into(),
        Value::optional_text(&row.task),
        Value::optional_text(&row.place),
        row.renewal.as_str().into(),
    ];
    tx.defer(sql, args)
}

/// The changes that a new request of its holder makes to a hold.
pub struct HoldChange<'a> {
    /// Exclusive or shared.
    pub mode: Mode,
    /// When it expires unless it is renewed.
    pub expires_at: Time,
    /// The time to live that a renewal grants.
    pub ttl: Span,
    /// The holder's reason.
    pub reason: &'a str,
    /// The task it belongs to.
    pub task: Option<&'a TaskId>,
    /// Whether any op of its holder renews it from now on; otherwise the renewal stays unchanged.
    pub by_session: bool,
}

/// Changes only the mode of a hold: an offer stays an offer.
pub fn set_mode(tx: &mut dyn Tx, project: &str, id: &str, mode: Mode) -> Result<()> {
    let sql = Sql::same("UPDATE hold SET mode = $3 WHERE project = $1 AND id = $2 AND +ended_at = 0");
    tx.defer(sql, vec![project.into(), id.into(), mode.as_str().into()])
}

/// Changes a hold in place. This takes an offered hold: from then on it is an ordinary hold.
pub fn change(tx: &mut dyn Tx, project: &str, id: &str, change: &HoldChange<'_>) -> Result<()> {
    let sql = Sql::same(
        "UPDATE hold SET mode = $3, expires_at = $4, ttl = $5, reason = $6, task = $7,
             renewal = CASE WHEN CAST($8 AS BIGINT) = 1 THEN 'session' ELSE renewal END,
             place = ''
         WHERE project = $1 AND id = $2 AND +ended_at = 0",
    );
    let args = vec![
        project.into(),
        id.into(),
        change.mode.as_str().into(),
        change.expires_at.into(),
        change.ttl.0.into(),
        change.reason.into(),
        Value::optional_text(&change.task),
        change.by_session.into(),
    ];
    tx.defer(sql, args)
}

/// Makes only edits renew a hold: presence does not.
pub fn renewed_by_edits(tx: &mut dyn Tx, project: &str, id: &str) -> Result<()> {
    let sql = Sql::same("UPDATE hold SET renewal = 'explicit' WHERE project = $1 AND id = $2 AND +ended_at = 0");
    tx.defer(sql, vec![project.into(), id.into()])
}

/// Gives the live holds of a task the expiry of the task's own hold, except those with a time to live of their own: it
/// differs from the one that the task had `before`.
pub fn renew_with_task(
    tx: &mut dyn Tx,
    project: &str,
    task: &str,
    now: Time,
    before: Span,
    (expires_at, ttl): (Time, Span),
) -> Result<()> {
    let sql = Sql::same(
        "UPDATE hold SET expires_at = $3, ttl = $4
         WHERE project = $1 AND task = $2 AND task <> '' AND ended_at = 0 AND +expires_at > $5 AND ttl = $6",
    );
    tx.defer(sql, vec![project.into(), task.into(), expires_at.into(), ttl.0.into(), now.into(), before.0.into()])
}
