//! The `hold` table: live, expired and ended holds.

use tenure_core::hold::{Ended, Ending, HoldKind, Mode, Renewal};
use tenure_core::id::{CheckoutId, HoldId, PlaceId, TaskId};
use tenure_core::name::AgentName;
use tenure_core::number::Fence;
use tenure_core::{Result, Span, Time};

use crate::error::corrupt;
use crate::statement::{self, Statement};
use crate::tx::{Sql, Tx, Value, first, ids, list};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The hold's id.
    pub id: HoldId,
    /// The kind of thing that is held.
    pub kind: HoldKind,
    /// What is held: a task id, a pattern, or the name of a lock.
    pub subject: String,
    /// Exclusive or shared.
    pub mode: Mode,
    /// The holder.
    pub holder: AgentName,
    /// The number of the event that granted it.
    pub fence: Fence,
    /// When it was granted.
    pub granted_at: Time,
    /// When it expires unless it is renewed.
    pub expires_at: Time,
    /// The time to live that a renewal grants.
    pub ttl: Span,
    /// The holder's reason.
    pub reason: String,
    /// When and how it ended, if it has.
    pub ended: Option<Ended>,
    /// The checkout of a pattern; `None` for all checkouts.
    pub checkout: Option<CheckoutId>,
    /// Whether a pattern is case-insensitive.
    pub folded: bool,
    /// The task that a pattern was taken for.
    pub task: Option<TaskId>,
    /// The number of messages about it.
    pub asked: i64,
    /// The place in the waiting line that it is offered to, until it is taken; `None` for every other hold.
    pub place: Option<PlaceId>,
    /// What renews it.
    pub renewal: Renewal,
}

impl Row {
    /// A live, exclusive hold.
    pub fn new(id: HoldId, (kind, subject): (HoldKind, &str), holder: &AgentName, fence: Fence) -> Row {
        Row {
            id,
            kind,
            subject: subject.to_owned(),
            mode: Mode::Exclusive,
            holder: holder.clone(),
            fence,
            granted_at: Time(0),
            expires_at: Time(0),
            ttl: Span(0),
            reason: String::new(),
            ended: None,
            checkout: None,
            folded: false,
            task: None,
            asked: 0,
            place: None,
            renewal: Renewal::Session,
        }
    }

    /// The task that is held, if it is a task.
    pub fn held_task(&self) -> Option<TaskId> {
        self.is_task().then(|| self.subject.as_str().into())
    }

    pub fn is_task(&self) -> bool {
        self.kind == HoldKind::Task
    }

    pub fn is_path(&self) -> bool {
        self.kind == HoldKind::Path
    }

    pub fn is_name(&self) -> bool {
        self.kind == HoldKind::Name
    }
}

/// The columns of a hold, in the order of [`decode`].
macro_rules! columns {
    ($prefix:literal) => {
        listed!($prefix;
            id, kind, subject, mode, holder, fence, granted_at, expires_at, ttl, reason, ended_at, ended_how,
            checkout, folded, task, asked, place, renewal)
    };
}
pub(super) use columns;

/// The instant at which an unended hold is over, settled or not: a path that belongs to a task is over with the hold on
/// the task, as [`ends`](tenure_core::hold::ends) says. `$hold` is the alias of the hold's row.
macro_rules! ends {
    ($hold:literal) => {
        concat!(
            "COALESCE((SELECT t.expires_at FROM hold t WHERE ",
            $hold,
            ".task <> '' AND t.project = ",
            $hold,
            ".project AND t.subject = ",
            $hold,
            ".task AND t.ended_at = 0 AND t.kind = 'task'), ",
            $hold,
            ".expires_at)"
        )
    };
}
pub(super) use ends;

const GET: Sql = Sql::same(concat!("SELECT ", columns!(""), " FROM hold WHERE project = $1 AND id = $2"));

const DUE: Sql = Sql::same(concat!(
    "SELECT ",
    columns!(""),
    " FROM hold WHERE project = $1 AND ended_at = 0 AND expires_at <= $2 ORDER BY expires_at, id LIMIT $3"
));

const LIVE: Sql = Sql::same(concat!(
    "SELECT ",
    columns!(""),
    " FROM hold WHERE project = $1 AND ended_at = 0 AND (expires_at, id) > ($2, $3) AND ($5 = '' OR kind = $5)
     ORDER BY expires_at, id LIMIT $4"
));

const OF_HOLDER: Sql = Sql::same(concat!(
    "SELECT ",
    columns!(""),
    " FROM hold WHERE project = $1 AND ended_at = 0 AND holder = $2 AND id > $3 ORDER BY id LIMIT $4"
));

fn decode(mut row: crate::Row) -> Result<Row> {
    let (kind, how) = (row.text(1)?, row.text(11)?);
    let ended = match row.optional_time(10)? {
        Some(at) => {
            let how = Ending::from_stored(&how).ok_or_else(|| corrupt(format!("unknown end of a hold: {how}")))?;
            Some(Ended { at, how })
        }
        None => None,
    };
    Ok(Row {
        id: row.id(0)?,
        kind: HoldKind::from_stored(&kind).ok_or_else(|| corrupt(format!("unknown kind of hold {kind}")))?,
        subject: row.text(2)?,
        mode: if row.text(3)? == Mode::Shared.as_str() { Mode::Shared } else { Mode::Exclusive },
        holder: row.id(4)?,
        fence: row.fence(5)?,
        granted_at: row.time(6)?,
        expires_at: row.time(7)?,
        ttl: Span(row.int(8)?),
        reason: row.text(9)?,
        ended,
        checkout: row.optional_id(12)?,
        folded: row.flag(13)?,
        task: row.optional_id(14)?,
        asked: row.int(15)?,
        place: row.optional_id(16)?,
        renewal: if row.text(17)? == Renewal::Explicit.as_str() { Renewal::Explicit } else { Renewal::Session },
    })
}

pub(super) fn many(rows: Vec<crate::Row>) -> Result<Vec<Row>> {
    rows.into_iter().map(decode).collect()
}

/// Decodes the only row, if there is one.
pub(super) fn one(rows: Vec<crate::Row>) -> Result<Option<Row>> {
    first(rows).map(decode).transpose()
}

/// Decodes two counts: of all, and of one agent.
pub(crate) fn counts(rows: Vec<crate::Row>) -> Result<(i64, i64)> {
    first(rows).map_or(Ok((0, 0)), |row| Ok((row.int(0)?, row.int(1)?)))
}

/// One hold, live or ended.
pub fn get(tx: &mut dyn Tx, project: &str, id: &str) -> Result<Option<Row>> {
    one(tx.query(GET, &[project.into(), id.into()])?)
}

/// Whether an id is in use.
pub fn exists(project: &str, id: &str) -> Statement<bool> {
    let sql = Sql::same("SELECT 1 FROM hold WHERE project = $1 AND id = $2");
    Statement::new(sql, vec![project.into(), id.into()], statement::exists)
}

/// Expired holds that were not ended, in settling order.
pub fn due(project: &str, now: Time, limit: usize) -> Statement<Vec<Row>> {
    Statement::new(DUE, vec![project.into(), now.into(), limit.into()], many)
}

/// Ids of holds, ended or not, that begin with a prefix.
pub fn beginning(tx: &mut dyn Tx, project: &str, prefix: &str, limit: usize) -> Result<Vec<HoldId>> {
    let sql = Sql::same("SELECT id FROM hold WHERE project = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4");
    let end = format!("{prefix}{{");
    ids(tx.query(sql, &[project.into(), prefix.into(), end.into(), limit.into()])?)
}

/// A page of holds that were not ended, by expiry; of one kind if given.
pub fn page(project: &str, kind: Option<HoldKind>, after: (Time, &str), limit: usize) -> Statement<Vec<Row>> {
    let args =
        vec![project.into(), after.0.into(), after.1.into(), limit.into(), kind.map_or("", HoldKind::as_str).into()];
    Statement::new(LIVE, args, many)
}

/// A page of one agent's holds that were not ended, by id.
pub fn of_holder(tx: &mut dyn Tx, project: &str, holder: &str, after: &str, limit: usize) -> Result<Vec<Row>> {
    many(tx.query(OF_HOLDER, &[project.into(), holder.into(), after.into(), limit.into()])?)
}

/// All holds of one agent that were not ended, by id, read a page at a time.
pub fn all_of_holder(tx: &mut dyn Tx, project: &str, holder: &str) -> Result<Vec<Row>> {
    const PAGE: usize = 1_000;
    let mut all: Vec<Row> = Vec::new();
    loop {
        let after = all.last().map_or(String::new(), |row| (&row.id).into());
        let page = of_holder(tx, project, holder, &after, PAGE)?;
        let more = page.len() == PAGE;
        all.extend(page);
        if !more {
            return Ok(all);
        }
    }
}

/// The number of live holds of agents other than those in `but`, and the earliest expiry. A hold that a runner renews
/// does not depend on the agent that started it.
pub fn summary(tx: &mut dyn Tx, project: &str, now: Time, but: &[AgentName]) -> Result<(i64, Option<Time>)> {
    let all = Sql::same(
        "SELECT COUNT(*), MIN(CASE WHEN expires_at > $2 + ttl THEN $2 + ttl ELSE expires_at END)
                   FROM hold WHERE project = $1 AND ended_at = 0 AND expires_at > $2",
    );
    let others = Sql::pair(
        "SELECT COUNT(*), MIN(CASE WHEN expires_at > $2 + ttl THEN $2 + ttl ELSE expires_at END)
                   FROM hold WHERE project = $1 AND ended_at = 0 AND expires_at > $2
                     AND (holder NOT IN (SELECT value FROM json_each($3)) OR (kind = 'name' AND renewal = 'explicit'))",
        "SELECT COUNT(*), MIN(CASE WHEN expires_at > $2 + ttl THEN $2 + ttl ELSE expires_at END)
                   FROM hold WHERE project = $1 AND ended_at = 0 AND expires_at > $2
                     AND (holder <> ALL (ARRAY(SELECT value FROM json_array_elements_text(CAST($3 AS JSON))))
                          OR (kind = 'name' AND renewal = 'explicit'))",
    );
    let rows = match but {
        [] => tx.query(all, &[project.into(), now.into()])?,
        but => tx.query(others, &[project.into(), now.into(), list(but)])?,
    };
    match first(rows) {
        Some(row) => Ok((row.int(0)?, row.int_or_null(1)?.map(Time))),
        None => Ok((0, None)),
    }
}

/// The longest time to live of the live holds of each of the given agents that has one.
pub fn longest(project: &str, agents: &[AgentName], now: Time) -> Statement<Vec<(AgentName, Span)>> {
    let sql = Sql::pair(
        concat!(
            "SELECT h.holder, MAX(h.ttl) FROM hold h WHERE h.project = $1 AND h.ended_at = 0 AND +h.expires_at > $3
               AND h.holder IN (SELECT value FROM json_each($2)) AND ",
            ends!("h"),
            " > $3
             GROUP BY h.holder ORDER BY h.holder"
        ),
        concat!(
            "SELECT h.holder, MAX(h.ttl) FROM (SELECT DISTINCT value FROM json_array_elements_text(CAST($2 AS JSON))) p
             CROSS JOIN LATERAL (SELECT o.holder, o.ttl FROM hold o
                WHERE o.project = $1 AND o.holder = p.value AND o.ended_at = 0 AND +o.expires_at > $3 AND ",
            ends!("o"),
            " > $3 OFFSET 0) h
             GROUP BY h.holder ORDER BY h.holder"
        ),
    );
    let read = |rows: Vec<crate::Row>| rows.into_iter().map(|mut row| Ok((row.id(0)?, Span(row.int(1)?)))).collect();
    Statement::new(sql, vec![project.into(), list(agents), now.into()], read)
}

/// Grants a hold on a task.
pub fn insert(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO hold (project, id, kind, subject, mode, holder, fence, granted_at, expires_at, ttl, renewal, reason,
             ended_at, ended_how, place)
         VALUES ($1, $2, $3, $4, 'exclusive', $5, $6, $7, $8, $9, $10, $11, 0, '', $12)",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        row.kind.as_str().into(),
        (&row.subject).into(),
        (&row.holder).into(),
        row.fence.into(),
        row.granted_at.into(),
        row.expires_at.into(),
        row.ttl.0.into(),
        row.renewal.as_str().into(),
        (&row.reason).into(),
        Value::optional_text(&row.place),
    ];
    tx.defer(sql, args)
}

pub fn end(tx: &mut dyn Tx, project: &str, id: &str, at: Time, how: Ending) -> Result<()> {
    let sql =
        Sql::same("UPDATE hold SET ended_at = $3, ended_how = $4 WHERE project = $1 AND id = $2 AND +ended_at = 0");
    tx.defer(sql, vec![project.into(), id.into(), at.into(), how.as_str().into()])
}

/// Counts one more message about a hold.
pub fn ask(tx: &mut dyn Tx, project: &str, id: &str) -> Result<()> {
    let sql = Sql::same("UPDATE hold SET asked = asked + 1 WHERE project = $1 AND id = $2");
    tx.defer(sql, vec![project.into(), id.into()])
}

/// Sets a new expiry and the time to live that later renewals use.
pub fn renew(tx: &mut dyn Tx, project: &str, id: &str, expires_at: Time, ttl: Span) -> Result<()> {
    let sql = Sql::same("UPDATE hold SET expires_at = $3, ttl = $4 WHERE project = $1 AND id = $2 AND +ended_at = 0");
    tx.defer(sql, vec![project.into(), id.into(), expires_at.into(), ttl.0.into()])
}

/// Renews an agent's live session holds with less than three quarters of their time left. An expired hold is never
/// revived.
pub fn renew_session(tx: &mut dyn Tx, project: &str, holder: &str, now: Time) -> Result<()> {
    // The unary plus keeps SQLite from using the index on expiry, which would scan the holds of all agents.
    let sql = Sql::same(
        "UPDATE hold SET expires_at = $3 + ttl
         WHERE project = $1 AND holder = $2 AND ended_at = 0 AND renewal = 'session'
           AND +expires_at > $3 AND +expires_at < $3 + ttl - ttl / 4",
    );
    tx.defer(sql, vec![project.into(), holder.into(), now.into()])
}

/// Whether an agent has a hold that its presence would renew now.
pub fn renewal_due(tx: &mut dyn Tx, project: &str, holder: &str, now: Time) -> Result<bool> {
    // Unary plus as in `renew_session`.
    let sql = Sql::same(
        "SELECT 1 FROM hold
         WHERE project = $1 AND holder = $2 AND ended_at = 0 AND renewal = 'session'
           AND +expires_at > $3 AND +expires_at < $3 + ttl - ttl / 4 LIMIT 1",
    );
    Ok(!tx.query(sql, &[project.into(), holder.into(), now.into()])?.is_empty())
}

/// Corrects the rows after the clock was set back: no live hold may outlast its time to live from now.
pub fn cap(tx: &mut dyn Tx, project: &str, now: Time) -> Result<()> {
    let sql = Sql::same(
        "UPDATE hold SET granted_at = CASE WHEN granted_at > $2 THEN $2 ELSE granted_at END,
             expires_at = CASE WHEN expires_at > $2 + ttl THEN $2 + ttl ELSE expires_at END
         WHERE project = $1 AND ended_at = 0 AND (granted_at > $2 OR expires_at > $2 + ttl)",
    );
    tx.defer(sql, vec![project.into(), now.into()])
}
