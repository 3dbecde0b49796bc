//! The `task` table.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tenure_core::agent::Sign;
use tenure_core::choice::{ListPosition, Rank, SnoozedTasks};
use tenure_core::id::{HoldId, TaskId};
use tenure_core::name::AgentName;
use tenure_core::number::Fence;
use tenure_core::search::TaskTexts;
use tenure_core::task::{Class, Conditions, PRIORITY_DEFAULT, TaskState, TaskStatus};
use tenure_core::{Result, Span, Time};

use crate::error::corrupt;
use crate::statement::{self, Statement};
use crate::tx::{BulkRows, RowsWithin, Sql, Tx, Value, first, ids, list};

#[derive(Clone, Debug)]
pub struct Row {
    /// The task's id.
    pub id: TaskId,
    /// The creation number.
    pub number: i64,
    /// The title, one line.
    pub title: String,
    /// The description, several lines.
    pub description: String,
    /// The acceptance criteria.
    pub acceptance: String,
    /// The priority; 0 is first.
    pub priority: i64,
    /// The labels, sorted.
    pub labels: Vec<String>,
    /// The agent it is assigned to; `None` for any agent.
    pub assignee: Option<AgentName>,
    /// The stored status.
    pub status: TaskStatus,
    /// Whether it is open with every dependency met and no time to wait for.
    pub ready: bool,
    /// Why it is blocked or was cancelled.
    pub reason: String,
    /// The task that blocks it.
    pub blocked_on: Option<TaskId>,
    /// The number of dependencies.
    pub deps: i64,
    /// The number of those that are not done.
    pub unmet: i64,
    /// The number of those that are cancelled.
    pub cancelled_deps: i64,
    /// The number of grants so far.
    pub attempt: i64,
    /// Incremented with every visible change.
    pub version: i64,
    /// The newest fence on it; an override counts as one.
    pub last_fence: Option<Fence>,
    /// The agent that had that fence.
    pub last_holder: Option<AgentName>,
    /// Whether that hold ended by expiry.
    pub lapsed: bool,
    /// The agent that added it.
    pub created_by: AgentName,
    /// When it was added.
    pub created_at: Time,
    /// The time of the last visible change.
    pub updated_at: Time,
    /// The agent that finished or cancelled it.
    pub finished_by: Option<AgentName>,
    /// When it was finished or cancelled.
    pub finished_at: Option<Time>,
    /// The time before which it is not offered. It may have passed; see [`Row::wake`].
    pub not_before: Option<Time>,
}

impl Row {
    /// An open task as it is added: without text and dependencies.
    pub fn new(id: TaskId, number: i64, created_by: AgentName, now: Time) -> Row {
        Row {
            id,
            number,
            title: String::new(),
            description: String::new(),
            acceptance: String::new(),
            priority: PRIORITY_DEFAULT,
            labels: Vec::new(),
            assignee: None,
            status: TaskStatus::Open,
            ready: true,
            reason: String::new(),
            blocked_on: None,
            deps: 0,
            unmet: 0,
            cancelled_deps: 0,
            attempt: 0,
            version: 1,
            last_fence: None,
            last_holder: None,
            lapsed: false,
            created_by,
            created_at: now,
            updated_at: now,
            finished_by: None,
            finished_at: None,
            not_before: None,
        }
    }

    /// Its own texts, for searches.
    pub fn texts(&self) -> TaskTexts<'_> {
        TaskTexts { title: &self.title, description: &self.description, acceptance: &self.acceptance }
    }

    /// The conditions that decide its readiness and class.
    pub fn conditions(&self) -> Conditions {
        Conditions {
            status: self.status,
            unmet: self.unmet,
            cancelled_deps: self.cancelled_deps,
            not_before: self.not_before,
        }
    }

    /// Whether it would be ready at an instant if nobody held it.
    pub fn is_ready_at(&self, now: Time) -> bool {
        self.conditions().view(false, now).1 == TaskState::Ready
    }

    /// The class in which it is counted.
    pub fn class(&self) -> Class {
        self.conditions().class()
    }

    /// Its rank in the selection order.
    pub fn rank(&self) -> Rank {
        Rank { priority: self.priority, number: self.number, id: self.id.clone() }
    }

    /// Sets the columns derived from its dependencies, given their statuses.
    pub fn set_deps(&mut self, deps: &[TaskStatus]) {
        let conditions = Conditions { not_before: self.not_before, ..Conditions::of(self.status, deps) };
        self.deps = i64::try_from(deps.len()).unwrap_or(i64::MAX);
        (self.unmet, self.cancelled_deps) = (conditions.unmet, conditions.cancelled_deps);
        self.ready = conditions.is_ready();
    }

    /// Sets the status and what follows from it: what is over waits for no time.
    pub fn set_status(&mut self, status: TaskStatus) {
        self.status = status;
        self.set_not_before(self.not_before.filter(|_| !status.is_closed()));
    }

    /// Sets the time before which it is not offered and what follows from it.
    pub fn set_not_before(&mut self, not_before: Option<Time>) {
        self.not_before = not_before;
        self.ready = self.conditions().is_ready();
    }

    /// Forgets the time before which it was not offered once that has passed.
    pub fn wake(&mut self, now: Time) {
        self.set_not_before(self.conditions().at(now).not_before);
    }
}

/// Parses a stored status.
pub(super) fn status(word: &str) -> Result<TaskStatus> {
    TaskStatus::from_stored(word).ok_or_else(|| corrupt(format!("unknown status {word}")))
}

/// Whether a stored task is ready: [`Conditions::is_ready`] as SQL, over its status, its unmet dependencies and its time.
macro_rules! is_ready {
    ($status:literal, $unmet:literal, $not_before:literal) => {
        concat!($status, " = 'open' AND ", $unmet, " = 0 AND ", $not_before, " = 0")
    };
}
pub(super) use is_ready;

/// The condition that selects the ready tasks, or the others, by an index of `task` or `task_label`. Its arguments are
/// the table's name, and 1, 0 or a parameter. Every statement that selects ready tasks uses it.
macro_rules! among_ready {
    ($table:literal, $ready:literal) => {
        concat!($table, ".ready = ", $ready)
    };
}

/// The hold on a task, expired or not, and the evidence about its holder.
#[derive(Clone, Debug)]
pub struct TaskHold {
    /// The hold's id.
    pub id: HoldId,
    /// The holder.
    pub holder: AgentName,
    /// The number of the event that granted it.
    pub fence: Fence,
    /// When it was granted.
    pub granted_at: Time,
    /// When it expires.
    pub expires_at: Time,
    /// The time to live.
    pub ttl: Span,
    /// The holder's reason.
    pub reason: String,
    /// When its holder was last active, and whether its session ended.
    pub sign: Sign,
    /// The number of messages about it.
    pub asked: i64,
}

/// A task with its hold.
#[derive(Clone, Debug)]
pub struct Full {
    pub task: Row,
    /// The hold that was not ended, if any.
    pub held: Option<TaskHold>,
}

/// Every column of a task except its project, in the order of [`decode`], [`values`] and [`fixed`]: the id and the
/// mutable columns, then the immutable ones. Each has its type and its parameter in INSERT and UPDATE.
///
/// A new column is added here, to [`Row`], [`decode`] and [`values`]; every statement below follows.
macro_rules! columns {
    ($make:ident $($argument:literal)?) => {
        $make!($($argument;)?
            [id TEXT 2, title TEXT 3, description TEXT 4, acceptance TEXT 5, priority BIGINT 6, labels TEXT 7, assignee TEXT
             8, status TEXT 9, ready BIGINT 10, reason TEXT 11, blocked_on TEXT 12, deps BIGINT 13,
             unmet BIGINT 14, cancelled_deps BIGINT 15, attempt BIGINT 16, version BIGINT 17,
             last_fence BIGINT 18, last_holder TEXT 19, lapsed BIGINT 20, updated_at BIGINT 21,
             finished_by TEXT 22, finished_at BIGINT 23, not_before BIGINT 24]
            [number BIGINT 25, created_by TEXT 26, created_at BIGINT 27])
    };
}

/// The names of the columns, each with the same prefix.
macro_rules! names {
    ($prefix:literal; [$($name:ident $type:ident $at:literal),+] [$($fixed:ident $fixed_type:ident $fixed_at:literal),+]) => {
        listed!($prefix; $($name),+, $($fixed),+)
    };
}

/// The parameters of the project and of the columns.
macro_rules! parameters {
    ([$($name:ident $type:ident $at:literal),+] [$($fixed:ident $fixed_type:ident $fixed_at:literal),+]) => {
        concat!("$1" $(, ", $", $at)+ $(, ", $", $fixed_at)+)
    };
}

/// The columns with their types.
macro_rules! definitions {
    ([$id:ident $id_type:ident $id_at:literal $(, $name:ident $type:ident $at:literal)+]
     [$($fixed:ident $fixed_type:ident $fixed_at:literal),+]) => {
        concat!(
            stringify!($id), " ", stringify!($id_type)
            $(, ", ", stringify!($name), " ", stringify!($type))+
            $(, ", ", stringify!($fixed), " ", stringify!($fixed_type))+
        )
    };
}

/// The assignments of an UPDATE: every mutable column.
macro_rules! changes {
    ([$id:ident $id_type:ident $id_at:literal, $first:ident $first_type:ident $first_at:literal
      $(, $name:ident $type:ident $at:literal)*] [$($fixed:tt)+]) => {
        concat!(stringify!($first), " = $", $first_at $(, ", ", stringify!($name), " = $", $at)*)
    };
}

/// The statement that reads tasks with their holds and the last activity of the holders: the columns in the order of
/// [`decode`]. It equals the view `task_full` without using it: a process that makes one call spends a tenth of its
/// instructions on expanding the view.
macro_rules! select_full {
    ($($rest:expr),+) => {
        concat!(
            "SELECT ",
            columns!(names "t."),
            ", h.id, h.holder, h.fence, h.granted_at, h.expires_at, h.ttl, h.reason, a.last_seen, a.ended_at, h.asked
             FROM task t
             LEFT JOIN hold h ON h.project = t.project AND h.subject = t.id AND h.ended_at = 0 AND h.kind = 'task'
             LEFT JOIN agent a ON a.project = h.project AND a.name = h.holder ",
            $($rest),+
        )
    };
}

/// The same columns of a table `f` that selects from the view.
macro_rules! columns_of_view {
    () => {
        concat!(
            columns!(names "f."),
            ", f.hold_id, f.holder, f.fence, f.granted_at, f.expires_at, f.ttl, f.hold_reason, f.last_seen, f.ended_at, f.asked"
        )
    };
}

fn decode(mut row: crate::Row) -> Result<Full> {
    let labels = row.text(5)?;
    let task = Row {
        id: row.id(0)?,
        title: row.text(1)?,
        description: row.text(2)?,
        acceptance: row.text(3)?,
        priority: row.int(4)?,
        labels: serde_json::from_str(&labels).map_err(|error| corrupt("labels are not JSON").cause(error))?,
        assignee: row.optional_id(6)?,
        status: status(&row.text(7)?)?,
        ready: row.flag(8)?,
        reason: row.text(9)?,
        blocked_on: row.optional_id(10)?,
        deps: row.int(11)?,
        unmet: row.int(12)?,
        cancelled_deps: row.int(13)?,
        attempt: row.int(14)?,
        version: row.int(15)?,
        last_fence: Some(row.fence(16)?).filter(|fence| *fence != 0),
        last_holder: row.optional_id(17)?,
        lapsed: row.flag(18)?,
        updated_at: row.time(19)?,
        finished_by: row.optional_id(20)?,
        finished_at: row.optional_time(21)?,
        not_before: row.optional_time(22)?,
        number: row.int(23)?,
        created_by: row.id(24)?,
        created_at: row.time(25)?,
    };
    Ok(Full { task, held: decode_held(row, 26)? })
}

/// Decodes the hold from a row whose hold columns start at `from`; they are null without a hold.
fn decode_held(mut row: crate::Row, from: usize) -> Result<Option<TaskHold>> {
    if row.is_null(from) {
        return Ok(None);
    }
    let ttl = Span(row.int(from + 5)?);
    let sign = Sign {
        last_seen: Time(row.int_or_null(from + 7)?.unwrap_or(0)),
        ended: row.int_or_null(from + 8)?.is_some_and(|at| at != 0),
        proven_dead: false,
        ttl,
    };
    Ok(Some(TaskHold {
        id: row.id(from)?,
        holder: row.id(from + 1)?,
        fence: row.fence(from + 2)?,
        granted_at: row.time(from + 3)?,
        expires_at: row.time(from + 4)?,
        ttl,
        reason: row.text(from + 6)?,
        sign,
        asked: row.int(from + 9)?,
    }))
}

/// The id and the mutable columns as parameters of INSERT and UPDATE, after that of the project.
fn values(row: &Row) -> Vec<Value> {
    vec![
        (&row.id).into(),
        (&row.title).into(),
        (&row.description).into(),
        (&row.acceptance).into(),
        row.priority.into(),
        list(&row.labels),
        Value::optional_text(&row.assignee),
        row.status.as_str().into(),
        row.ready.into(),
        (&row.reason).into(),
        Value::optional_text(&row.blocked_on),
        row.deps.into(),
        row.unmet.into(),
        row.cancelled_deps.into(),
        row.attempt.into(),
        row.version.into(),
        row.last_fence.unwrap_or(Fence(0)).into(),
        Value::optional_text(&row.last_holder),
        row.lapsed.into(),
        row.updated_at.into(),
        Value::optional_text(&row.finished_by),
        Value::optional_time(row.finished_at),
        Value::optional_time(row.not_before),
    ]
}

/// The immutable columns as parameters of INSERT, after [`values`].
fn fixed(row: &Row) -> [Value; 3] {
    [row.number.into(), (&row.created_by).into(), row.created_at.into()]
}

/// All columns of a row except the project.
fn all(row: &Row) -> Vec<Value> {
    let mut values = values(row);
    values.extend(fixed(row));
    values
}

fn many(rows: Vec<crate::Row>) -> Result<Vec<Full>> {
    rows.into_iter().map(decode).collect()
}

pub fn get(project: &str, id: &str) -> Statement<Option<Full>> {
    let sql = Sql::same(select_full!("WHERE t.project = $1 AND t.id = $2"));
    Statement::new(sql, vec![project.into(), id.into()], |rows| first(rows).map(decode).transpose())
}

/// Whether an id is in use.
pub fn exists(project: &str, id: &str) -> Statement<bool> {
    let sql = Sql::same("SELECT 1 FROM task WHERE project = $1 AND id = $2");
    Statement::new(sql, vec![project.into(), id.into()], statement::exists)
}

/// Several tasks by id, in selection order.
pub fn get_many(tx: &mut dyn Tx, project: &str, ids: &[TaskId]) -> Result<Vec<Full>> {
    get_many_within(tx, project, ids, usize::MAX).map(|found| found.rows)
}

/// The same, limited by bytes.
pub fn get_many_within(tx: &mut dyn Tx, project: &str, ids: &[TaskId], bytes: usize) -> Result<RowsWithin<Full>> {
    let sql = Sql::pair(
        concat!(
            "SELECT ",
            columns_of_view!(),
            " FROM json_each($2) j CROSS JOIN task_full f ON f.project = $1 AND f.id = j.value"
        ),
        concat!(
            "SELECT ",
            columns_of_view!(),
            " FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT * FROM task_full WHERE project = $1 AND id = j.value OFFSET 0) f"
        ),
    );
    let RowsWithin { rows, cut } = tx.query_within(sql, &[project.into(), list(ids)], bytes)?;
    let mut rows = many(rows)?;
    rows.sort_by_cached_key(|full| full.task.rank());
    Ok(RowsWithin { rows, cut })
}

/// Ends the right of agents with an expired hold to act late, by setting a newer fence.
pub fn fence_off_lapsed(tx: &mut dyn Tx, project: &str, fence: Fence) -> Result<()> {
    let sql =
        Sql::same("UPDATE task SET last_fence = $2, last_holder = '', lapsed = 0 WHERE project = $1 AND lapsed <> 0");
    tx.defer(sql, vec![project.into(), fence.into()])
}

/// A stream of tasks, a range of one index, in selection order unless it says otherwise.
#[derive(Clone, Debug)]
pub enum TaskStream {
    /// All tasks with a status; for open ones, either those that are ready or the others.
    Status(TaskStatus, bool),
    /// The same with a label.
    Label(String, TaskStatus, bool),
    /// Unfinished tasks assigned to an agent.
    Assigned(AgentName),
    /// Open tasks with a cancelled dependency.
    Stuck,
    /// Ready tasks assigned to an agent, or to none.
    ReadyFor(Option<AgentName>),
    /// Tasks last held by an agent, with a status that is not closed.
    Last(AgentName, TaskStatus),
    /// All tasks with a status, the newest first. Not in selection order.
    Created(TaskStatus),
    /// All tasks with a status, the last changed first. Not in selection order.
    Updated(TaskStatus),
    /// Open, with a time that has passed by now, though no write has noticed it yet. They are a range by their time and
    /// sorted afterwards: the next write leaves none.
    Due(Time),
}

impl TaskStream {
    /// The tasks after a rank in selection order.
    pub fn page(&self, project: &str, after: &Rank, limit: usize) -> Statement<Vec<Full>> {
        self.page_after(project, &ListPosition::Ranked(after.clone()), limit)
    }

    /// The tasks after a position in the order of the stream.
    pub fn page_after(&self, project: &str, after: &ListPosition, limit: usize) -> Statement<Vec<Full>> {
        let mut args: Vec<Value> = match after {
            ListPosition::Ranked(rank) => {
                vec![project.into(), rank.priority.into(), rank.number.into(), (&rank.id).into(), limit.into()]
            }
            ListPosition::Newest(Reverse((first, id))) => {
                vec![project.into(), (*first).into(), id.into(), limit.into()]
            }
        };
        let sql = match self {
            TaskStream::Created(status) => {
                args.push(status.as_str().into());
                Sql::same(select_full!(
                    "WHERE t.project = $1 AND t.status = $5 AND (t.number, t.id) < ($2, $3)
                     ORDER BY t.number DESC, t.id DESC LIMIT $4"
                ))
            }
            TaskStream::Updated(status) => {
                args.push(status.as_str().into());
                Sql::same(select_full!(
                    "WHERE t.project = $1 AND t.status = $5 AND (t.updated_at, t.id) < ($2, $3)
                     ORDER BY t.updated_at DESC, t.id DESC LIMIT $4"
                ))
            }
            TaskStream::Status(status, ready) => {
                args.extend([status.as_str().into(), (*ready).into()]);
                Sql::same(select_full!(
                    "WHERE t.project = $1 AND t.status = $6 AND ",
                    among_ready!("t", "$7"),
                    "
                       AND (t.priority, t.number, t.id) > ($2, $3, $4)
                     ORDER BY t.priority, t.number, t.id LIMIT $5"
                ))
            }
            TaskStream::Label(label, status, ready) => {
                args.extend([status.as_str().into(), (*ready).into(), label.into()]);
                // PostgreSQL must not flatten the inner select: joined directly, all tasks would be read first.
                Sql::pair(
                    concat!(
                        "SELECT ",
                        columns_of_view!(),
                        " FROM (
                         SELECT l.project, l.priority, l.number, l.task FROM task_label l
                         WHERE l.project = $1 AND l.label = $8 AND l.status = $6 AND ",
                        among_ready!("l", "$7"),
                        "
                           AND (l.priority, l.number, l.task) > ($2, $3, $4)
                         ORDER BY l.priority, l.number, l.task LIMIT $5) l
                     CROSS JOIN task_full f ON f.project = l.project AND f.id = l.task
                     ORDER BY l.priority, l.number, l.task"
                    ),
                    concat!(
                        "SELECT ",
                        columns_of_view!(),
                        " FROM (
                         SELECT l.project, l.priority, l.number, l.task FROM task_label l
                         WHERE l.project = $1 AND l.label = $8 AND l.status = $6 AND ",
                        among_ready!("l", "$7"),
                        "
                           AND (l.priority, l.number, l.task) > ($2, $3, $4)
                         ORDER BY l.priority, l.number, l.task LIMIT $5) l
                     CROSS JOIN LATERAL (SELECT * FROM task_full WHERE project = $1 AND id = l.task OFFSET 0) f
                     ORDER BY l.priority, l.number, l.task"
                    ),
                )
            }
            TaskStream::Assigned(agent) => {
                args.push(agent.into());
                Sql::same(select_full!(
                    "WHERE t.project = $1 AND t.assignee = $6 AND t.assignee <> ''
                       AND t.status IN ('open', 'started', 'blocked') AND (t.priority, t.number, t.id) > ($2, $3, $4)
                     ORDER BY t.priority, t.number, t.id LIMIT $5"
                ))
            }
            TaskStream::Stuck => Sql::same(select_full!(
                "WHERE t.project = $1 AND t.cancelled_deps > 0 AND t.status = 'open'
                   AND (t.priority, t.number, t.id) > ($2, $3, $4)
                 ORDER BY t.priority, t.number, t.id LIMIT $5"
            )),
            TaskStream::Last(agent, status) => {
                args.extend([agent.into(), status.as_str().into()]);
                Sql::same(select_full!(
                    "WHERE t.project = $1 AND t.last_holder = $6 AND t.last_holder <> '' AND t.status = $7
                       AND t.status IN ('open', 'started', 'blocked') AND (t.priority, t.number, t.id) > ($2, $3, $4)
                     ORDER BY t.priority, t.number, t.id LIMIT $5"
                ))
            }
            TaskStream::Due(now) => {
                args.push((*now).into());
                Sql::same(select_full!(
                    "WHERE t.project = $1 AND t.not_before > 0 AND t.not_before <= $6 AND t.status = 'open'
                       AND (t.priority, t.number, t.id) > ($2, $3, $4)
                     ORDER BY t.priority, t.number, t.id LIMIT $5"
                ))
            }
            TaskStream::ReadyFor(agent) => {
                args.push(Value::optional_text(agent));
                Sql::same(select_full!(
                    "WHERE t.project = $1 AND ",
                    among_ready!("t", "1"),
                    " AND t.assignee = $6
                       AND (t.priority, t.number, t.id) > ($2, $3, $4)
                     ORDER BY t.priority, t.number, t.id LIMIT $5"
                ))
            }
        };
        Statement::new(sql, args, many)
    }
}

/// Caps the times before which tasks are not offered at the latest one that can be set now.
pub fn cap(tx: &mut dyn Tx, project: &str, latest: Time) -> Result<()> {
    let sql = Sql::same("UPDATE task SET not_before = $2 WHERE project = $1 AND not_before > 0 AND not_before > $2");
    tx.defer(sql, vec![project.into(), latest.into()])
}

/// The tasks whose time has passed, whatever their status.
pub fn due(project: &str, now: Time) -> Statement<Vec<TaskId>> {
    let sql = Sql::same(
        "SELECT id FROM task WHERE project = $1 AND not_before > 0 AND not_before <= $2 ORDER BY not_before, id",
    );
    Statement::new(sql, vec![project.into(), now.into()], ids)
}

/// The open tasks that wait for nothing but a time that is still to come. The status is no condition of the range: PostgreSQL
/// would read all open tasks for it.
pub fn snoozed(project: &str, now: Time) -> Statement<Option<SnoozedTasks>> {
    let sql = Sql::same(
        "SELECT COUNT(CASE WHEN status = 'open' AND unmet = 0 THEN 1 END),
             COALESCE(MIN(CASE WHEN status = 'open' AND unmet = 0 THEN not_before END), 0)
         FROM task WHERE project = $1 AND not_before > 0 AND not_before > $2",
    );
    Statement::new(sql, vec![project.into(), now.into()], |rows| {
        let found = first(rows).map(|row| Ok(SnoozedTasks { count: row.int(0)?, until: row.time(1)? })).transpose()?;
        Ok(found.filter(|snoozed| snoozed.count > 0))
    })
}

/// What decides the position of a task in a list: its rank and the time of its last change.
pub type SortKey = (Rank, Time);

/// The sort keys of tasks by id, unordered.
pub fn sort_keys(project: &str, ids: &[TaskId]) -> Statement<Vec<SortKey>> {
    let sql = Sql::pair(
        "SELECT t.priority, t.number, t.id, t.updated_at
         FROM json_each($2) j CROSS JOIN task t ON t.project = $1 AND t.id = j.value",
        "SELECT t.priority, t.number, t.id, t.updated_at FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT priority, number, id, updated_at FROM task
                             WHERE project = $1 AND id = j.value OFFSET 0) t",
    );
    Statement::new(sql, vec![project.into(), list(ids)], |rows| {
        let key = |mut row: crate::Row| {
            Ok((Rank { priority: row.int(0)?, number: row.int(1)?, id: row.id(2)? }, row.time(3)?))
        };
        rows.into_iter().map(key).collect()
    })
}

/// Those of the given ids that exist, with their status, the oldest task first: the order in which dependencies are
/// shown.
pub fn existing(tx: &mut dyn Tx, project: &str, ids: &[TaskId]) -> Result<Vec<(TaskId, TaskStatus)>> {
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
            let status = status(&row.text(1)?)?;
            Ok((row.int(2)?, row.id(0)?, status))
        })
        .collect::<Result<Vec<_>>>()?;
    found.sort_by(|(a_number, a, _), (b_number, b, _)| (a_number, a).cmp(&(b_number, b)));
    Ok(found.into_iter().map(|(_, id, status)| (id, status)).collect())
}

/// The titles of those of the given ids that exist.
pub fn titles(tx: &mut dyn Tx, project: &str, ids: &[TaskId]) -> Result<BTreeMap<String, String>> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let sql = Sql::pair(
        "SELECT t.id, t.title FROM json_each($2) j CROSS JOIN task t ON t.project = $1 AND t.id = j.value",
        "SELECT t.id, t.title FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT id, title FROM task WHERE project = $1 AND id = j.value OFFSET 0) t",
    );
    tx.query(sql, &[project.into(), list(ids)])?.into_iter().map(|mut row| Ok((row.text(0)?, row.text(1)?))).collect()
}

/// Those of the given tasks that are blocked on another one: (task, blocker), unordered.
pub fn blockers(tx: &mut dyn Tx, project: &str, ids: &[TaskId]) -> Result<Vec<(TaskId, TaskId)>> {
    let sql = Sql::pair(
        "SELECT t.id, t.blocked_on FROM json_each($2) j CROSS JOIN task t ON t.project = $1 AND t.id = j.value
         WHERE t.blocked_on <> ''",
        "SELECT t.id, t.blocked_on FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT id, blocked_on FROM task WHERE project = $1 AND id = j.value OFFSET 0) t
         WHERE t.blocked_on <> ''",
    );
    tx.query(sql, &[project.into(), list(ids)])?.into_iter().map(|mut row| Ok((row.id(0)?, row.id(1)?))).collect()
}

/// Ids of tasks that begin with a prefix.
pub fn beginning(tx: &mut dyn Tx, project: &str, prefix: &str, limit: usize) -> Result<Vec<TaskId>> {
    // Ids use no character above `z`, so `{` ends the range.
    let sql = Sql::same("SELECT id FROM task WHERE project = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4");
    let end = format!("{prefix}{{");
    ids(tx.query(sql, &[project.into(), prefix.into(), end.into(), limit.into()])?)
}

pub fn insert(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql =
        Sql::same(concat!("INSERT INTO task (project, ", columns!(names ""), ") VALUES (", columns!(parameters), ")"));
    let mut args = vec![project.into()];
    args.extend(all(row));
    tx.defer(sql, args)
}

/// Inserts many tasks.
pub fn insert_many(tx: &mut dyn Tx, project: &str, rows: &[Row]) -> Result<()> {
    // A record set parses the JSON once. Extracting fields one by one would parse the whole text for each field.
    let sql = Sql::pair(
        concat!("INSERT INTO task (project, ", columns!(names ""), ") VALUES (", columns!(parameters), ")"),
        concat!(
            "INSERT INTO task (project, ",
            columns!(names ""),
            ") SELECT $1, ",
            columns!(names ""),
            " FROM json_to_recordset(CAST($2 AS JSON)) AS item(",
            columns!(definitions),
            ")"
        ),
    );
    let names: Vec<&str> = columns!(names "").split(", ").collect();
    let json = || {
        let mut text = String::from("[");
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.push('{');
            record(&mut text, &names, &all(row));
            text.push('}');
        }
        text.push(']');
        Ok(text)
    };
    tx.insert_rows(sql, BulkRows { common: vec![project.into()], each: &mut rows.iter().map(all), json: &json })
}

/// Writes the fields of a row as those of a JSON object. It runs under the lock for each of up to 100,000 rows, so it
/// creates no intermediate values.
fn record(json: &mut String, names: &[&str], values: &[Value]) {
    for (at, (name, value)) in names.iter().zip(values).enumerate() {
        if at > 0 {
            json.push(',');
        }
        json.push('"');
        json.push_str(name);
        json.push_str("\":");
        match value {
            Value::Text(text) if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') => {
                json.push('"');
                json.push_str(text);
                json.push('"');
            }
            Value::Text(text) => json.push_str(&serde_json::Value::from(text.as_str()).to_string()),
            Value::Int(number) => json.push_str(&number.to_string()),
            Value::NullInt => json.push_str("null"),
        }
    }
}

/// Stores all mutable columns of a task.
pub fn update(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(concat!("UPDATE task SET ", columns!(changes), " WHERE project = $1 AND id = $2"));
    let mut args = vec![project.into()];
    args.extend(values(row));
    tx.defer(sql, args)
}

/// The ids of all tasks of a project in creation order.
pub fn order(tx: &mut dyn Tx, project: &str) -> Result<Vec<TaskId>> {
    let sql = Sql::same("SELECT id FROM task WHERE project = $1 ORDER BY number, id");
    ids(tx.query(sql, &[project.into()])?)
}
