//! Tasks.

pub mod whole;

use tenure_core::agent::Sign;
use tenure_core::choice::Rank;
use tenure_core::task::Status;
use tenure_core::{Result, Span, Time};

use super::project::Class;
use crate::error::corrupt;
use crate::statement::{self, Statement};
use crate::tx::{Rows, Sql, Tx, Value, Within, first, list};

/// A task's row.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// Its creation number.
    pub number: i64,
    /// One line.
    pub title: String,
    /// More lines.
    pub description: String,
    /// What must be true when it is done.
    pub acceptance: String,
    /// 0 is first.
    pub priority: i64,
    /// Sorted.
    pub labels: Vec<String>,
    /// The agent it is for, empty for anyone.
    pub assignee: String,
    /// What is stored.
    pub status: Status,
    /// Whether it is open with nothing unmet.
    pub ready: bool,
    /// Why it is blocked or was cancelled.
    pub reason: String,
    /// The task that blocks it, empty for none.
    pub blocked_on: String,
    /// How many dependencies it has.
    pub deps: i64,
    /// How many of them are not done.
    pub unmet: i64,
    /// How many of them are cancelled.
    pub cancelled_deps: i64,
    /// Grants so far.
    pub attempt: i64,
    /// Rises with what a person sees.
    pub version: i64,
    /// The newest fence on it; an override counts.
    pub last_fence: i64,
    /// Who had that.
    pub last_holder: String,
    /// Whether that hold ended by running out of time.
    pub lapsed: bool,
    /// Who added it.
    pub created_by: String,
    /// When.
    pub created_at: Time,
    /// The last change that a person sees.
    pub updated_at: Time,
    /// Who finished or cancelled it.
    pub finished_by: String,
    /// When.
    pub finished_at: Time,
}

impl Row {
    /// The class it is counted in.
    pub fn class(&self) -> Class {
        class(self.status, self.unmet, self.cancelled_deps)
    }

    /// Its place in the order of choice.
    pub fn rank(&self) -> Rank {
        Rank { priority: self.priority, number: self.number, id: self.id.clone() }
    }

    /// Sets the status and what follows from it.
    pub fn set_status(&mut self, status: Status) {
        self.status = status;
        self.ready = status == Status::Open && self.unmet == 0;
    }
}

/// The class a task is counted in.
pub fn class(status: Status, unmet: i64, cancelled_deps: i64) -> Class {
    match status {
        Status::Open if unmet == 0 => Class::Ready,
        Status::Open if cancelled_deps > 0 => Class::Stuck,
        Status::Open => Class::Waiting,
        Status::Started => Class::Started,
        Status::Blocked => Class::Blocked,
        Status::Done => Class::Done,
        Status::Cancelled => Class::Cancelled,
    }
}

/// The hold on a task, lapsed or not, and the last sign of its holder.
#[derive(Clone, Debug)]
pub struct Held {
    /// The hold's id.
    pub id: String,
    /// Who has it.
    pub holder: String,
    /// The number of the event that granted it.
    pub fence: i64,
    /// When it was granted.
    pub granted_at: Time,
    /// When it ends.
    pub expires_at: Time,
    /// Its time to live.
    pub ttl: Span,
    /// What it is for.
    pub reason: String,
    /// When its holder was last seen, and whether its session ended.
    pub sign: Sign,
    /// How many messages are about it.
    pub asked: i64,
}

/// A task with its hold.
#[derive(Clone, Debug)]
pub struct Full {
    /// The task.
    pub task: Row,
    /// The hold that has not been ended, if any.
    pub held: Option<Held>,
}

/// The statement that reads tasks with their holds, and the last sign of the holders: the columns in the order of
/// [`decode`]. It says what the view `task_full` says, without one: a process that makes one call spends a tenth
/// of its instructions on expanding it.
macro_rules! select_full {
    ($rest:literal) => {
        concat!(
            "SELECT t.project, t.id, t.number, t.title, t.description, t.acceptance, t.priority, t.labels, t.assignee,
                t.status, t.ready, t.reason, t.blocked_on, t.deps, t.unmet, t.cancelled_deps, t.attempt, t.version,
                t.last_fence, t.last_holder, t.lapsed, t.created_by, t.created_at, t.updated_at, t.finished_by,
                t.finished_at, h.id, h.holder, h.fence, h.granted_at, h.expires_at, h.ttl, h.reason, a.last_seen, a.ended_at,
                h.asked
             FROM task t
             LEFT JOIN hold h ON h.project = t.project AND h.subject = t.id AND h.ended_at = 0 AND h.kind = 'task'
             LEFT JOIN agent a ON a.project = h.project AND a.name = h.holder ",
            $rest
        )
    };
}

fn decode(mut row: crate::Row) -> Result<Full> {
    let status = row.text(9)?;
    let labels = row.text(7)?;
    let task = Row {
        id: row.text(1)?,
        number: row.int(2)?,
        title: row.text(3)?,
        description: row.text(4)?,
        acceptance: row.text(5)?,
        priority: row.int(6)?,
        labels: serde_json::from_str(&labels).map_err(|error| corrupt("labels are not JSON").cause(error))?,
        assignee: row.text(8)?,
        status: Status::from_stored(&status).ok_or_else(|| corrupt(format!("unknown status {status}")))?,
        ready: row.flag(10)?,
        reason: row.text(11)?,
        blocked_on: row.text(12)?,
        deps: row.int(13)?,
        unmet: row.int(14)?,
        cancelled_deps: row.int(15)?,
        attempt: row.int(16)?,
        version: row.int(17)?,
        last_fence: row.int(18)?,
        last_holder: row.text(19)?,
        lapsed: row.flag(20)?,
        created_by: row.text(21)?,
        created_at: row.time(22)?,
        updated_at: row.time(23)?,
        finished_by: row.text(24)?,
        finished_at: row.time(25)?,
    };
    if row.is_null(26) {
        return Ok(Full { task, held: None });
    }
    let ttl = Span(row.int(31)?);
    let sign = Sign {
        last_seen: Time(row.int_or_null(33)?.unwrap_or(0)),
        ended: row.int_or_null(34)?.is_some_and(|at| at != 0),
        proven_dead: false,
        ttl,
    };
    let held = Held {
        id: row.text(26)?,
        holder: row.text(27)?,
        fence: row.int(28)?,
        granted_at: row.time(29)?,
        expires_at: row.time(30)?,
        ttl,
        reason: row.text(32)?,
        sign,
        asked: row.int(35)?,
    };
    Ok(Full { task, held: Some(held) })
}

fn many(rows: Vec<crate::Row>) -> Result<Vec<Full>> {
    rows.into_iter().map(decode).collect()
}

/// One task.
pub fn get(project: &str, id: &str) -> Statement<Option<Full>> {
    let sql = Sql::same(select_full!("WHERE t.project = $1 AND t.id = $2"));
    Statement::new(sql, vec![project.into(), id.into()], |rows| first(rows).map(decode).transpose())
}

/// Whether an id is taken.
pub fn exists(project: &str, id: &str) -> Statement<bool> {
    let sql = Sql::same("SELECT 1 FROM task WHERE project = $1 AND id = $2");
    Statement::new(sql, vec![project.into(), id.into()], statement::exists)
}

/// Several tasks by id, in the order of choice.
pub fn get_many(tx: &mut dyn Tx, project: &str, ids: &[String]) -> Result<Vec<Full>> {
    get_many_within(tx, project, ids, usize::MAX).map(|found| found.rows)
}

/// The same, as far as their bytes fit.
pub fn get_many_within(tx: &mut dyn Tx, project: &str, ids: &[String], bytes: usize) -> Result<Within<Full>> {
    let sql = Sql::pair(
        "SELECT f.* FROM json_each($2) j CROSS JOIN task_full f ON f.project = $1 AND f.id = j.value",
        "SELECT f.* FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT * FROM task_full WHERE project = $1 AND id = j.value OFFSET 0) f",
    );
    let Within { rows, cut } = tx.query_within(sql, &[project.into(), list(ids)], bytes)?;
    let mut rows = many(rows)?;
    rows.sort_by_cached_key(|full| full.task.rank());
    Ok(Within { rows, cut })
}

/// Nobody whose hold ran out of time may act late any more: a newer fence has come.
pub fn fence_off_lapsed(tx: &mut dyn Tx, project: &str, fence: i64) -> Result<()> {
    let sql =
        Sql::same("UPDATE task SET last_fence = $2, last_holder = '', lapsed = 0 WHERE project = $1 AND lapsed <> 0");
    tx.defer(sql, vec![project.into(), fence.into()])
}

/// A stream of tasks in the order of choice, each a range of one index.
#[derive(Clone, Debug)]
pub enum Stream {
    /// All with a status; for open ones either the ready or the others.
    Status(Status, bool),
    /// The same with a label.
    Label(String, Status, bool),
    /// Not finished and assigned to an agent.
    Assigned(String),
    /// Open with a cancelled dependency.
    Stuck,
    /// Ready and assigned to an agent, or to nobody if that is empty.
    ReadyFor(String),
    /// Last held by an agent, with a status that is not closed.
    Last(String, Status),
}

impl Stream {
    /// The tasks that come after a place in the order.
    pub fn page(&self, project: &str, after: &Rank, limit: usize) -> Statement<Vec<Full>> {
        let mut args: Vec<Value> =
            vec![project.into(), after.priority.into(), after.number.into(), (&after.id).into(), limit.into()];
        let sql = match self {
            Stream::Status(status, ready) => {
                args.extend([status.as_str().into(), (*ready).into()]);
                Sql::same(select_full!(
                    "WHERE t.project = $1 AND t.status = $6 AND t.ready = $7
                       AND (t.priority, t.number, t.id) > ($2, $3, $4)
                     ORDER BY t.priority, t.number, t.id LIMIT $5"
                ))
            }
            Stream::Label(label, status, ready) => {
                args.extend([status.as_str().into(), (*ready).into(), label.into()]);
                // The inner select stays as it is on PostgreSQL: dissolved into the join, all tasks would be read first.
                Sql::pair(
                    "SELECT f.* FROM (
                         SELECT l.project, l.priority, l.number, l.task FROM task_label l
                         WHERE l.project = $1 AND l.label = $8 AND l.status = $6 AND l.ready = $7
                           AND (l.priority, l.number, l.task) > ($2, $3, $4)
                         ORDER BY l.priority, l.number, l.task LIMIT $5) l
                     CROSS JOIN task_full f ON f.project = l.project AND f.id = l.task
                     ORDER BY l.priority, l.number, l.task",
                    "SELECT f.* FROM (
                         SELECT l.project, l.priority, l.number, l.task FROM task_label l
                         WHERE l.project = $1 AND l.label = $8 AND l.status = $6 AND l.ready = $7
                           AND (l.priority, l.number, l.task) > ($2, $3, $4)
                         ORDER BY l.priority, l.number, l.task LIMIT $5) l
                     CROSS JOIN LATERAL (SELECT * FROM task_full WHERE project = $1 AND id = l.task OFFSET 0) f
                     ORDER BY l.priority, l.number, l.task",
                )
            }
            Stream::Assigned(agent) => {
                args.push(agent.into());
                Sql::same(select_full!(
                    "WHERE t.project = $1 AND t.assignee = $6 AND t.assignee <> ''
                       AND t.status IN ('open', 'started', 'blocked') AND (t.priority, t.number, t.id) > ($2, $3, $4)
                     ORDER BY t.priority, t.number, t.id LIMIT $5"
                ))
            }
            Stream::Stuck => Sql::same(select_full!(
                "WHERE t.project = $1 AND t.cancelled_deps > 0 AND t.status = 'open'
                   AND (t.priority, t.number, t.id) > ($2, $3, $4)
                 ORDER BY t.priority, t.number, t.id LIMIT $5"
            )),
            Stream::Last(agent, status) => {
                args.extend([agent.into(), status.as_str().into()]);
                Sql::same(select_full!(
                    "WHERE t.project = $1 AND t.last_holder = $6 AND t.last_holder <> '' AND t.status = $7
                       AND t.status IN ('open', 'started', 'blocked') AND (t.priority, t.number, t.id) > ($2, $3, $4)
                     ORDER BY t.priority, t.number, t.id LIMIT $5"
                ))
            }
            Stream::ReadyFor(agent) => {
                args.push(agent.into());
                Sql::same(select_full!(
                    "WHERE t.project = $1 AND t.ready = 1 AND t.assignee = $6
                       AND (t.priority, t.number, t.id) > ($2, $3, $4)
                     ORDER BY t.priority, t.number, t.id LIMIT $5"
                ))
            }
        };
        Statement::new(sql, args, many)
    }
}

/// Which of some ids exist, with their status, the oldest task first: the order in which dependencies are shown.
pub fn existing(tx: &mut dyn Tx, project: &str, ids: &[String]) -> Result<Vec<(String, Status)>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = Sql::pair(
        "SELECT t.id, t.status, t.number FROM json_each($2) j CROSS JOIN task t ON t.project = $1 AND t.id = j.value",
        "SELECT t.id, t.status, t.number FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT id, status, number FROM task WHERE project = $1 AND id = j.value OFFSET 0) t",
    );
    let mut found = tx
        .query(sql, &[project.into(), list(ids)])?
        .into_iter()
        .map(|mut row| {
            let status = row.text(1)?;
            let status = Status::from_stored(&status).ok_or_else(|| corrupt(format!("unknown status {status}")))?;
            Ok((row.int(2)?, row.text(0)?, status))
        })
        .collect::<Result<Vec<_>>>()?;
    found.sort_by(|(a_number, a, _), (b_number, b, _)| (a_number, a).cmp(&(b_number, b)));
    Ok(found.into_iter().map(|(_, id, status)| (id, status)).collect())
}

/// Which of some tasks are blocked on another one: (task, blocker), in no order.
pub fn blockers(tx: &mut dyn Tx, project: &str, ids: &[String]) -> Result<Vec<(String, String)>> {
    let sql = Sql::pair(
        "SELECT t.id, t.blocked_on FROM json_each($2) j CROSS JOIN task t ON t.project = $1 AND t.id = j.value
         WHERE t.blocked_on <> ''",
        "SELECT t.id, t.blocked_on FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT id, blocked_on FROM task WHERE project = $1 AND id = j.value OFFSET 0) t
         WHERE t.blocked_on <> ''",
    );
    tx.query(sql, &[project.into(), list(ids)])?.into_iter().map(|mut row| Ok((row.text(0)?, row.text(1)?))).collect()
}

/// Ids of tasks that begin with a text.
pub fn beginning(tx: &mut dyn Tx, project: &str, prefix: &str, limit: usize) -> Result<Vec<String>> {
    // Ids use no character above `z`, so `{` ends the range.
    let sql = Sql::same("SELECT id FROM task WHERE project = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4");
    let end = format!("{prefix}{{");
    tx.query(sql, &[project.into(), prefix.into(), end.into(), limit.into()])?
        .into_iter()
        .map(|mut row| row.text(0))
        .collect()
}

/// Adds a task.
pub fn insert(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO task (project, id, number, title, description, acceptance, priority, labels, assignee, status, ready,
             reason, blocked_on, deps, unmet, cancelled_deps, attempt, version, last_fence, last_holder, lapsed,
             created_by, created_at, updated_at, finished_by, finished_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'open', $10, '', '', $11, $12, $13, 0, 1, 0, '', 0, $14, $15, $15, '', 0)",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        row.number.into(),
        (&row.title).into(),
        (&row.description).into(),
        (&row.acceptance).into(),
        row.priority.into(),
        list(&row.labels),
        (&row.assignee).into(),
        row.ready.into(),
        row.deps.into(),
        row.unmet.into(),
        row.cancelled_deps.into(),
        (&row.created_by).into(),
        row.created_at.into(),
    ];
    tx.defer(sql, args)
}

/// Adds many open tasks.
pub fn insert_many(tx: &mut dyn Tx, project: &str, rows: &[Row]) -> Result<()> {
    let Some(head) = rows.first() else { return Ok(()) };
    let sql = Sql::pair(
        "INSERT INTO task (project, id, number, title, description, acceptance, priority, labels, assignee, status, ready,
             reason, blocked_on, deps, unmet, cancelled_deps, attempt, version, last_fence, last_holder, lapsed,
             created_by, created_at, updated_at, finished_by, finished_at)
         VALUES ($1, $4, $5, $6, $7, $8, $9, $10, $11, 'open', $12, '', '', $13, $14, $15, 0, 1, 0, '', 0, $2, $3, $3, '', 0)",
        "INSERT INTO task (project, id, number, title, description, acceptance, priority, labels, assignee, status, ready,
             reason, blocked_on, deps, unmet, cancelled_deps, attempt, version, last_fence, last_holder, lapsed,
             created_by, created_at, updated_at, finished_by, finished_at)
         SELECT $1, value->0->>0, CAST(value->0->>1 AS BIGINT), value->0->>2,
                value->0->>3, value->0->>4, CAST(value->0->>5 AS BIGINT),
                value->1->>0, value->1->>1, 'open', CAST(value->1->>2 AS BIGINT),
                '', '', CAST(value->2->>0 AS BIGINT), CAST(value->2->>1 AS BIGINT), CAST(value->2->>2 AS BIGINT),
                0, 1, 0, '', 0, $2, $3, $3, '', 0
         FROM json_array_elements(CAST($4 AS JSON))",
    );
    let labels = |row: &Row| serde_json::Value::from(row.labels.as_slice()).to_string();
    let json = || {
        let item = |row: &Row| {
            serde_json::json!([
                [row.id, row.number, row.title, row.description, row.acceptance, row.priority],
                [labels(row), row.assignee, i64::from(row.ready)],
                [row.deps, row.unmet, row.cancelled_deps],
            ])
        };
        Ok(serde_json::Value::Array(rows.iter().map(item).collect()).to_string())
    };
    let mut each = rows.iter().map(|row| {
        vec![
            (&row.id).into(),
            row.number.into(),
            (&row.title).into(),
            (&row.description).into(),
            (&row.acceptance).into(),
            row.priority.into(),
            labels(row).into(),
            (&row.assignee).into(),
            row.ready.into(),
            row.deps.into(),
            row.unmet.into(),
            row.cancelled_deps.into(),
        ]
    });
    let common = vec![project.into(), (&head.created_by).into(), head.created_at.into()];
    tx.insert_rows(sql, Rows { common, each: &mut each, json: &json })
}

/// Stores everything of a task that can change.
pub fn update(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "UPDATE task SET title = $3, description = $4, acceptance = $5, priority = $6, labels = $7, assignee = $8,
             status = $9, ready = $10, reason = $11, blocked_on = $12, deps = $13, unmet = $14, cancelled_deps = $15,
             attempt = $16, version = $17, last_fence = $18, last_holder = $19, lapsed = $20, updated_at = $21,
             finished_by = $22, finished_at = $23
         WHERE project = $1 AND id = $2",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        (&row.title).into(),
        (&row.description).into(),
        (&row.acceptance).into(),
        row.priority.into(),
        list(&row.labels),
        (&row.assignee).into(),
        row.status.as_str().into(),
        row.ready.into(),
        (&row.reason).into(),
        (&row.blocked_on).into(),
        row.deps.into(),
        row.unmet.into(),
        row.cancelled_deps.into(),
        row.attempt.into(),
        row.version.into(),
        row.last_fence.into(),
        (&row.last_holder).into(),
        row.lapsed.into(),
        row.updated_at.into(),
        (&row.finished_by).into(),
        row.finished_at.into(),
    ];
    tx.defer(sql, args)
}
