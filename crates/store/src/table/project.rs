//! The `project` table, whose row the writers of a project lock, and the `store` table.

use tenure_core::id::{ProjectId, StoreId};
use tenure_core::name::{AgentName, ProjectKey};
use tenure_core::number::{EventNumber, GAP};
pub use tenure_core::task::Class;
use tenure_core::task::Conditions;
use tenure_core::{Error, Result, Time};

use crate::error::corrupt;
use crate::store::StoreIdentity;
use crate::tx::{Sql, Tx, Value, first};

/// A project's name, before it is known whether the project exists.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NamedProject {
    /// The key: `name:…`, `id:…`, `url:…` or `dir:…`.
    pub key: ProjectKey,
    /// The display name.
    pub label: String,
}

/// The key of the reserved project, which holds the rows and events of the whole store.
pub const WHOLE_STORE: &str = tenure_core::access::WHOLE_STORE;

/// The reserved project.
pub fn whole_store() -> NamedProject {
    NamedProject { key: WHOLE_STORE.into(), label: "the whole store".to_owned() }
}

/// Whether the store has no project except one that this transaction has just created, and the reserved one if it has no
/// event.
pub fn is_none(tx: &mut dyn Tx, made: Option<&Row>) -> Result<bool> {
    let made = made.map_or("", |row| row.id.as_str());
    let sql = Sql::same("SELECT id FROM project WHERE id <> $1 AND (key <> '_' OR events > 0) ORDER BY id LIMIT 1");
    Ok(tx.query(sql, &[made.into()])?.is_empty())
}

/// The number of tasks per stored class, in the order of [`Class`].
pub type ClassCounts = [i64; 7];

#[derive(Clone, Debug)]
pub struct Row {
    /// The project's id in this store.
    pub id: ProjectId,
    /// The project's key.
    pub key: ProjectKey,
    /// The display name.
    pub label: String,
    /// The schema version of the store at its last migration.
    pub schema_version: i64,
    /// The number of the oldest event kept.
    pub first_event: EventNumber,
    /// The number of the newest event; 0 for none.
    pub last_event: EventNumber,
    /// The number of events kept; 0 for a project that is not switched on.
    pub events: i64,
    /// The number of open places in the waiting line.
    pub waiting: i64,
    /// The time of the last op.
    pub last_time: Time,
    /// The newest creation number of a task.
    pub last_task: i64,
    /// The number of holds granted so far.
    pub holds_issued: i64,
    /// The number of tasks per class.
    pub counts: ClassCounts,
    /// When the row was created.
    pub created_at: Time,
    /// Until when a person has disabled the guards.
    pub off_until: Option<Time>,
    /// The person who disabled them.
    pub off_by: Option<AgentName>,
}

impl Row {
    /// The row of a project without any event.
    pub fn new(name: &NamedProject, id: ProjectId, now: Time) -> Row {
        Row {
            id,
            key: name.key.clone(),
            label: name.label.clone(),
            schema_version: crate::migrate::VERSION,
            first_event: EventNumber::FIRST,
            last_event: EventNumber::START,
            events: 0,
            waiting: 0,
            last_time: now,
            last_task: 0,
            holds_issued: 0,
            counts: [0; 7],
            created_at: now,
            off_until: None,
            off_by: None,
        }
    }

    /// Whether the project has had an event since it was created or forgotten.
    pub fn is_switched_on(&self) -> bool {
        self.events > 0
    }

    /// The time of the last op, if it left an event: a row that exists only to be locked has no time.
    pub fn last_used(&self) -> Option<Time> {
        (self.last_event > EventNumber::START).then_some(self.last_time)
    }

    /// The number of tasks in a class.
    pub fn count(&self, class: Class) -> i64 {
        self.counts[class as usize]
    }
}

/// The identity of a file by properties that survive a reboot and a move of its directory; 0 is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct FileId {
    pub(crate) inode: i64,
    /// The birth time, in nanoseconds since 1970.
    pub(crate) born: i64,
    /// When the store last continued in a copy, in microseconds; 0 for never.
    pub(crate) copied_at: i64,
}

impl FileId {
    fn read(text: &str) -> Result<FileId> {
        if text.is_empty() {
            return Ok(FileId::default());
        }
        serde_json::from_str(text).map_err(|error| corrupt("the record of the store's file is damaged").cause(error))
    }

    fn write(self) -> Result<Value> {
        if self == FileId::default() {
            return Ok("".into());
        }
        serde_json::to_string(&self).map(Value::from).map_err(|error| Error::bug(error.to_string()))
    }

    /// Whether there is nothing to compare.
    pub(crate) fn is_unknown(self) -> bool {
        (self.inode, self.born) == (0, 0)
    }
}

/// Whether a transaction enters to write or to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Locks the project's row until the end of the transaction.
    Write,
    /// Locks nothing.
    Read,
}

/// The columns that count tasks, in the order of [`Class`].
macro_rules! counters {
    ($prefix:literal) => {
        listed!($prefix;
            tasks_ready, tasks_waiting, tasks_stuck, tasks_started, tasks_blocked, tasks_done, tasks_cancelled)
    };
}

/// Decodes the counters of a row from a column on.
fn counts(row: &crate::Row, from: usize) -> Result<ClassCounts> {
    let mut counts = [0; 7];
    for (class, count) in counts.iter_mut().enumerate() {
        *count = row.int(from + class)?;
    }
    Ok(counts)
}

/// The store and a project `p`, with a clock, in the order that [`enter`] decodes. The schema version is the newer of
/// the store's and the project's: a project that is just being created has the version that this program knows,
/// whatever the store has.
macro_rules! select {
    ($clock:literal, $file:literal, $from:literal) => {
        concat!(
            "SELECT s.id, s.incarnation, p.id, p.key, p.label,
                CASE WHEN p.schema_version > s.schema_version THEN p.schema_version ELSE s.schema_version END,
                p.first_event, p.last_event, p.last_time, p.last_task, p.holds_issued, ",
            counters!("p."),
            ", p.created_at, p.events, ",
            $clock,
            ", p.off_until, p.off_by, p.waiting, ",
            $file,
            " ",
            $from
        )
    };
}

const ENTER: Sql = Sql::pair(
    select!("NULL", "s.file", "FROM store s LEFT JOIN project p ON p.key = $1"),
    select!(
        "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
        "''",
        "FROM store s LEFT JOIN project p ON p.key = $1"
    ),
);

/// PostgreSQL waits for the row inside the materialised part and reads the clock afterwards: in a plain SELECT … FOR
/// UPDATE the clock would be read before the wait. SQLite already holds the write lock of the whole file.
const ENTER_LOCKED: Sql = Sql::pair(
    ENTER.sqlite,
    concat!(
        "WITH p AS MATERIALIZED (SELECT * FROM project WHERE key = $1 FOR UPDATE) ",
        select!(
            "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
            "''",
            "FROM store s LEFT JOIN p ON TRUE"
        )
    ),
);

/// The first statement of every transaction: the store, the project if it exists, and the database's clock if it has
/// one. A store without a row of its own has an empty identity.
pub fn enter(tx: &mut dyn Tx, key: &str, lock: LockMode) -> Result<(StoreIdentity, Option<Row>, Option<Time>)> {
    enter_in(tx, key, lock).map(|(identity, project, clock, _)| (identity, project, clock))
}

/// The same, with the file that the store was written in.
pub(crate) fn enter_in(
    tx: &mut dyn Tx,
    key: &str,
    lock: LockMode,
) -> Result<(StoreIdentity, Option<Row>, Option<Time>, FileId)> {
    let sql = match lock {
        LockMode::Write => ENTER_LOCKED,
        LockMode::Read => ENTER,
    };
    let Some(mut row) = first(tx.query(sql, &[key.into()])?) else {
        return Ok((
            StoreIdentity { id: StoreId::new(""), incarnation: StoreId::new("") },
            None,
            None,
            FileId::default(),
        ));
    };
    let identity = StoreIdentity { id: row.id(0)?, incarnation: row.id(1)? };
    let clock = row.int_or_null(20)?.map(Time);
    let file = FileId::read(&row.text(24)?)?;
    if row.is_null(2) {
        return Ok((identity, None, clock, file));
    }
    let counts = counts(&row, 11)?;
    let project = Row {
        id: row.id(2)?,
        key: row.id(3)?,
        label: row.text(4)?,
        schema_version: row.int(5)?,
        first_event: row.event_number(6)?,
        last_event: row.event_number(7)?,
        last_time: row.time(8)?,
        last_task: row.int(9)?,
        holds_issued: row.int(10)?,
        counts,
        created_at: row.time(18)?,
        events: row.int(19)?,
        off_until: row.optional_time(21)?,
        off_by: row.optional_id(22)?,
        waiting: row.int(23)?,
    };
    Ok((identity, Some(project), clock, file))
}

/// Inserts the row unless another transaction just did.
///
/// In a restored store its numbers begin after the highest number of the other projects: a project with this key may
/// have been lost with the store, and its fences must not be issued again.
pub fn insert(tx: &mut dyn Tx, row: &Row) -> Result<()> {
    let sql = Sql::same(concat!(
        "INSERT INTO project (id, key, label, schema_version, first_event, last_event, last_time, last_task, holds_issued, ",
        counters!(""),
        ", created_at)
         SELECT $1, $2, $3, $4, COALESCE(MAX(last_event), 0) + 1, COALESCE(MAX(last_event), 0), $5, 0, 0, 0, 0, 0, 0, 0, 0,
             0, $5 FROM project WHERE last_event > $6 ON CONFLICT DO NOTHING"
    ));
    let args = [
        (&row.id).into(),
        (&row.key).into(),
        (&row.label).into(),
        row.schema_version.into(),
        row.created_at.into(),
        GAP.into(),
    ];
    tx.execute(sql, &args).map(|_| ())
}

/// Stores the row after an op.
pub fn save(tx: &mut dyn Tx, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "UPDATE project SET last_event = $2, last_time = $3, last_task = $4, holds_issued = $5, tasks_ready = $6,
             tasks_waiting = $7, tasks_stuck = $8, tasks_started = $9, tasks_blocked = $10, tasks_done = $11,
             tasks_cancelled = $12, first_event = $13, events = $14, off_until = $15, off_by = $16, waiting = $17
         WHERE key = $1",
    );
    let mut args: Vec<Value> = vec![
        (&row.key).into(),
        row.last_event.into(),
        row.last_time.into(),
        row.last_task.into(),
        row.holds_issued.into(),
    ];
    args.extend(row.counts.map(Value::from));
    let (off_until, off_by) = (Value::optional_time(row.off_until), Value::optional_text(&row.off_by));
    args.extend([row.first_event.into(), row.events.into(), off_until, off_by, row.waiting.into()]);
    tx.defer(sql, args)
}

/// A project as listed.
#[derive(Clone, Debug)]
pub struct ProjectSummary {
    /// The project's key.
    pub key: ProjectKey,
    /// The display name.
    pub label: String,
    /// The number of events kept.
    pub events: i64,
    /// The number of tasks per class.
    pub counts: ClassCounts,
    /// The time of the last op.
    pub last_time: Time,
    /// When the row was created.
    pub created_at: Time,
}

/// The columns of a summary, in the order of [`summaries`].
macro_rules! columns {
    () => {
        concat!("key, label, events, last_time, created_at, ", counters!(""))
    };
}

/// The projects that are switched on, sorted by key.
pub fn list(tx: &mut dyn Tx, after: &str, limit: usize) -> Result<Vec<ProjectSummary>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(),
        " FROM project WHERE key > $1 AND key <> '_' AND events > 0 ORDER BY key LIMIT $2"
    ));
    summaries(tx.query(sql, &[after.into(), limit.into()])?)
}

/// The projects with this key or display name, sorted by key, including forgotten ones.
pub fn called(tx: &mut dyn Tx, name: &str, limit: usize) -> Result<Vec<ProjectSummary>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(),
        " FROM project WHERE (key = $1 OR label = $1) AND key <> '_' ORDER BY key LIMIT $2"
    ));
    summaries(tx.query(sql, &[name.into(), limit.into()])?)
}

/// The projects with an expired hold or place that was not ended: one index lookup each.
pub fn due(tx: &mut dyn Tx, now: Time, limit: usize) -> Result<Vec<NamedProject>> {
    let sql = Sql::same(
        "SELECT p.key, p.label FROM project p
         WHERE EXISTS (SELECT 1 FROM hold h WHERE h.project = p.id AND h.ended_at = 0 AND h.expires_at <= $1)
            OR (p.waiting > 0
                AND EXISTS (SELECT 1 FROM place w WHERE w.project = p.id AND w.ended_at = 0 AND w.expires_at <= $1))
         ORDER BY p.key LIMIT $2",
    );
    let name = |mut row: crate::Row| Ok(NamedProject { key: row.id(0)?, label: row.text(1)? });
    tx.query(sql, &[now.into(), limit.into()])?.into_iter().map(name).collect()
}

fn summaries(rows: Vec<crate::Row>) -> Result<Vec<ProjectSummary>> {
    let decode = |mut row: crate::Row| {
        let counts = counts(&row, 5)?;
        Ok(ProjectSummary {
            key: row.id(0)?,
            label: row.text(1)?,
            events: row.int(2)?,
            last_time: row.time(3)?,
            created_at: row.time(4)?,
            counts,
        })
    };
    rows.into_iter().map(decode).collect()
}

/// Deletes every row of a project except its own, which keeps the numbers: no earlier cursor or fence may match a later
/// event.
const BELONGINGS: [Sql; 22] = [
    Sql::same("DELETE FROM checkout WHERE project = $1"),
    Sql::same("DELETE FROM agent WHERE project = $1"),
    Sql::same("DELETE FROM task WHERE project = $1"),
    Sql::same("DELETE FROM task_label WHERE project = $1"),
    Sql::same("DELETE FROM task_word WHERE project = $1"),
    Sql::same("DELETE FROM dep WHERE project = $1"),
    Sql::same("DELETE FROM hold WHERE project = $1"),
    Sql::same("DELETE FROM place WHERE project = $1"),
    Sql::same("DELETE FROM shown WHERE project = $1"),
    Sql::same("DELETE FROM note WHERE project = $1"),
    Sql::same("DELETE FROM memory WHERE project = $1"),
    Sql::same("DELETE FROM memory_term WHERE project = $1"),
    Sql::same("DELETE FROM memory_scope WHERE project = $1"),
    Sql::same("DELETE FROM artifact WHERE project = $1"),
    Sql::same("DELETE FROM delivery WHERE project = $1"),
    Sql::same("DELETE FROM message WHERE project = $1"),
    Sql::same("DELETE FROM mail WHERE project = $1"),
    Sql::same("DELETE FROM session WHERE project = $1"),
    Sql::same("DELETE FROM touched WHERE project = $1"),
    Sql::same("DELETE FROM fired WHERE project = $1"),
    Sql::same("DELETE FROM event WHERE project = $1"),
    Sql::same("DELETE FROM request WHERE project = $1"),
];

/// Deletes everything that belongs to a project.
pub fn empty(tx: &mut dyn Tx, project: &str) -> Result<()> {
    BELONGINGS.iter().try_for_each(|sql| tx.execute(*sql, &[project.into()]).map(|_| ()))
}

/// Inserts the store's own row.
pub(crate) fn insert_store(tx: &mut dyn Tx, identity: &StoreIdentity, now: Time) -> Result<()> {
    let sql =
        Sql::same("INSERT INTO store (one, id, incarnation, schema_version, created_at) VALUES (1, $1, $2, $3, $4)");
    let args = [(&identity.id).into(), (&identity.incarnation).into(), crate::migrate::VERSION.into(), now.into()];
    tx.execute(sql, &args).map(|_| ())
}

/// Begins a new history of event numbers. `copied_at` is the current time if the reason is a copied file, otherwise 0.
/// The engine records the file itself when this is committed.
pub fn set_incarnation(tx: &mut dyn Tx, incarnation: &str, copied_at: Time) -> Result<()> {
    let file = FileId { copied_at: copied_at.0, ..FileId::default() }.write()?;
    let sql = Sql::same("UPDATE store SET incarnation = $1, file = $2");
    tx.execute(sql, &[incarnation.into(), file]).map(|_| ())
}

/// Records the file of an embedded store.
pub(crate) fn set_file(tx: &mut dyn Tx, file: FileId) -> Result<()> {
    tx.execute(Sql::same("UPDATE store SET file = $1"), &[file.write()?]).map(|_| ())
}

/// The recorded file of an embedded store.
pub(crate) fn file(tx: &mut dyn Tx) -> Result<FileId> {
    let rows = tx.query(Sql::same("SELECT file FROM store WHERE one = 1"), &[])?;
    first(rows).map_or(Ok(FileId::default()), |mut row| FileId::read(&row.text(0)?))
}

/// The time of the last op in any project, if any.
pub(crate) fn last_used(tx: &mut dyn Tx) -> Result<Option<Time>> {
    let sql = Sql::same("SELECT last_time FROM project WHERE last_event > 0 ORDER BY last_time DESC, key LIMIT 1");
    first(tx.query(sql, &[])?).map(|row| row.time(0)).transpose()
}

/// The newest number of any project.
pub(crate) fn newest_event(tx: &mut dyn Tx) -> Result<EventNumber> {
    let rows = tx.query(Sql::same("SELECT COALESCE(MAX(last_event), 0) FROM project"), &[])?;
    first(rows).map_or(Ok(EventNumber::START), |row| row.event_number(0))
}

/// Deletes the store's own row: an empty store stands in for one that does not exist.
pub(crate) fn forget_store(tx: &mut dyn Tx) -> Result<()> {
    tx.execute(Sql::same("DELETE FROM store"), &[]).map(|_| ())
}

/// Writes the schema version where every writer reads it: on PostgreSQL this waits for the writers of all projects.
pub(crate) fn set_schema(tx: &mut dyn Tx, version: i64) -> Result<()> {
    tx.execute(Sql::same("UPDATE store SET schema_version = $1 WHERE schema_version <> $1"), &[version.into()])?;
    tx.execute(Sql::same("UPDATE project SET schema_version = $1 WHERE schema_version <> $1"), &[version.into()])?;
    Ok(())
}

/// The schema version of the store.
pub(crate) fn schema(tx: &mut dyn Tx) -> Result<i64> {
    let rows = tx.query(Sql::same("SELECT schema_version FROM store WHERE one = 1"), &[])?;
    first(rows).map_or(Ok(0), |row| row.int(0))
}

/// Recounts the tasks per class, for `doctor`.
pub fn recount(tx: &mut dyn Tx, project: &str) -> Result<ClassCounts> {
    let sql = Sql::same(
        // The conditions of a task, reduced to what its class depends on.
        "SELECT status, CASE WHEN unmet > 0 THEN 1 ELSE 0 END, CASE WHEN cancelled_deps > 0 THEN 1 ELSE 0 END,
             CASE WHEN not_before > 0 THEN 1 ELSE 0 END, COUNT(*)
         FROM task WHERE project = $1 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
    );
    let mut counts = [0; 7];
    for mut row in tx.query(sql, &[project.into()])? {
        let status = super::task::status(&row.text(0)?)?;
        let not_before = row.optional_time(3)?;
        let conditions = Conditions { status, unmet: row.int(1)?, cancelled_deps: row.int(2)?, not_before };
        counts[conditions.class() as usize] += row.int(4)?;
    }
    Ok(counts)
}
