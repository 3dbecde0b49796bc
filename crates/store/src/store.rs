//! The store as the kernel sees it: two engines behind `write` and `read`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::id::StoreId;
use tenure_core::time::reading;
use tenure_core::{Result, Span, Time};

use crate::deadline::Deadline;
use crate::notify::WakeListener;
use crate::postgres::Postgres;
use crate::sqlite::{Sqlite, TurnstileState};
use crate::system::{Clock, Continued, Entropy, Faults, OsEntropy, SystemClock};
use crate::table::project;
use crate::tx::Tx;
use crate::{error, fault};

/// The location of a store.
#[derive(Clone, Debug)]
pub enum Location {
    /// A SQLite file.
    File(PathBuf),
    /// SQLite in memory, for tests and as a stand-in for a store that does not exist yet.
    Memory,
    /// A `postgres://` URL, with Tenure's own parameter `schema`.
    Postgres(String),
}

/// What an acknowledgement guarantees on SQLite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Acknowledged means on disk.
    #[default]
    Full,
    /// A power cut may lose the most recent commits, but never consistency.
    Fast,
}

/// The options of a store.
#[derive(Clone)]
pub struct Options {
    /// The clock. On PostgreSQL the database's own clock is used unless `own_clock` is set.
    pub clock: Arc<dyn Clock>,
    /// Whether `clock` is used on PostgreSQL too (simulation).
    pub own_clock: bool,
    /// Random bytes for ids.
    pub entropy: Arc<dyn Entropy>,
    /// How long a writer waits for its turn.
    pub patience: Duration,
    /// The time limit of PostgreSQL for one statement. The client waits a moment longer for the answer, and not longer
    /// than this limit for a connection.
    pub answer: Duration,
    /// The deadline of the caller, if it has one: no wait goes beyond it.
    pub deadline: Option<Deadline>,
    /// What an acknowledgement guarantees.
    pub durability: Durability,
    /// Whether writers queue at the turnstile. Without it, writes are correct but not fair.
    pub turnstile: bool,
    /// Whether the first write may create a store that does not exist.
    pub may_create: bool,
    /// Whether the caller makes one call at a time and is about to write: reads then share the writing connection,
    /// which saves a one-shot process a second one.
    pub one_connection: bool,
    /// Whether the caller reads once and exits: statements are then prepared for that one transaction. A call that also
    /// writes has several transactions, which share statements.
    pub one_shot: bool,
    /// The length, in bytes, of the SQLite log that is left beside the file when the store is closed: the next process
    /// continues it. A longer log is copied into the file and removed; with 0 every log is.
    pub leave_log: u64,
    /// Whether a network file system is accepted.
    pub any_file_system: bool,
    /// Whether a schema with foreign triggers is accepted, and they fire. Tests inject failures that way.
    pub any_schema: bool,
    /// Whether a file that is not the store's own is used as it is. Tests put copies in place.
    pub any_file: bool,
    /// The name of the registered SQLite VFS; `None` is SQLite's default. Tests register one that records calls and
    /// fails on demand.
    pub vfs: Option<String>,
    /// The PostgreSQL user if the URL has none.
    pub user: Option<String>,
    /// The PostgreSQL password if the URL has none.
    pub password: Option<String>,
    /// Injected faults (simulation).
    pub faults: Option<Arc<dyn Faults>>,
    /// The machine's record of where the numbers of stores continued, if it keeps one.
    pub continued: Option<Arc<dyn Continued>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            clock: Arc::new(SystemClock),
            own_clock: false,
            entropy: Arc::new(OsEntropy),
            patience: Duration::from_secs(10),
            answer: Duration::from_secs(60),
            deadline: None,
            durability: Durability::Full,
            turnstile: true,
            may_create: true,
            one_connection: false,
            one_shot: false,
            leave_log: 0,
            any_file_system: false,
            any_schema: false,
            any_file: false,
            vfs: None,
            user: None,
            password: None,
            faults: None,
            continued: None,
        }
    }
}

impl Options {
    /// How long a writer waits for its turn from now on.
    pub fn turn(&self) -> Duration {
        self.deadline.map_or(self.patience, |deadline| self.patience.min(deadline.remaining()))
    }
}

/// The identity of a store.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StoreIdentity {
    /// Drawn when the store was created.
    pub id: StoreId,
    /// Drawn when the store was created or restored.
    pub incarnation: StoreId,
}

/// The state at the beginning of a transaction.
#[derive(Clone, Debug)]
pub struct Entered {
    /// The identity of the store.
    pub identity: StoreIdentity,
    /// The project's row, locked in a write; `None` in a read of a project that does not exist.
    pub project: Option<project::Row>,
    /// The clock, read after the lock was acquired.
    pub clock: Time,
}

impl Entered {
    /// The time of the transaction, and by how much the clock was set back; see [`reading`].
    pub fn reading(&self) -> (Time, Option<Span>) {
        reading(self.clock, self.project.as_ref().and_then(project::Row::last_used))
    }
}

/// The state at the beginning of a transaction that may change everything.
#[derive(Clone, Debug)]
pub struct Present {
    /// The identity of the store.
    pub identity: StoreIdentity,
    /// All projects, sorted by key.
    pub projects: Vec<project::Row>,
    /// The clock, read after the lock was acquired.
    pub clock: Time,
    /// Whether the file of an embedded store is not the one that the store was written in. The commit records it as
    /// that one.
    pub is_copied: bool,
}

/// The state of a store's database file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// The store was created or restored in this file, or there is no file.
    Own,
    /// The file is a copy or replaced another one: the next write continues the store as after a restore.
    Copied,
    /// The store continued in a copy at this time.
    Continued(Time),
}

/// The size of a store, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The database.
    pub database: u64,
    /// The write-ahead log that is not yet in the database file.
    pub log: u64,
    /// Free pages in the database file.
    pub free: u64,
}

/// How a write transaction ends after its body succeeded.
#[derive(Debug)]
pub enum CommitDecision<T> {
    /// Commit the changes.
    Commit(T),
    /// Roll everything back, and return the value.
    Undo(T),
}

/// The body of a write. It may run again after a lost connection, so it must have no side effects outside the
/// transaction.
pub(crate) type Body<'a, T> = dyn Fn(&mut dyn Tx, Entered) -> Result<CommitDecision<T>> + 'a;

/// One of several writes that may share a transaction.
pub trait GroupWrite<T> {
    /// The project whose lock it needs.
    fn project(&self) -> &project::NamedProject;

    /// Whether the caller still waits for the answer. Checked under the lock, before the write and again before the
    /// commit: a write whose answer no caller will read is not carried out.
    fn is_wanted(&self) -> bool;

    /// The body; the contract of [`Store::write`] applies.
    fn write(&self, tx: &mut dyn Tx, entered: Entered) -> Result<CommitDecision<T>>;
}

impl<T> dyn GroupWrite<T> + '_ {
    /// Runs the write in a transaction of its own.
    pub(crate) fn write_wanted(&self, tx: &mut dyn Tx, entered: Entered) -> Result<CommitDecision<T>> {
        let wanted = || if self.is_wanted() { Ok(()) } else { Err(error::unwanted()) };
        wanted()?;
        let verdict = self.write(tx, entered)?;
        wanted().map(|()| verdict)
    }
}

/// A store. Opening one touches nothing; the first read or write does.
pub struct Store {
    engine: Engine,
    location: Location,
    faults: Option<Arc<dyn Faults>>,
}

enum Engine {
    Sqlite(Box<Sqlite>),
    Postgres(Box<Postgres>),
}

impl Store {
    /// Creates the handle of a store. Fails only for a malformed URL.
    pub fn new(location: Location, options: Options) -> Result<Store> {
        let faults = options.faults.clone();
        let engine = match &location {
            Location::File(path) => Engine::Sqlite(Box::new(Sqlite::file(path.clone(), options))),
            Location::Memory => Engine::Sqlite(Box::new(Sqlite::memory(options))),
            Location::Postgres(url) => Engine::Postgres(Box::new(Postgres::new(url, options)?)),
        };
        Ok(Store { engine, location, faults })
    }

    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Runs `body` in a write transaction that holds the project's lock from before the first read until commit.
    ///
    /// The store and the project's row are created if they do not exist. A project row created for a body that failed
    /// may remain, empty. A write to an embedded store in a file that is not its own is refused
    /// ([`Code::CopiedFile`](tenure_core::Code::CopiedFile)) until [`Store::rewrite`] has committed. `body` may run
    /// more than once. It must have no side effects outside the transaction, and must not assume that an earlier run
    /// left nothing: a run whose commit was not acknowledged may have been committed.
    pub fn write<T>(
        &self,
        project: &project::NamedProject,
        body: impl Fn(&mut dyn Tx, Entered) -> Result<CommitDecision<T>>,
    ) -> Result<T> {
        let write = |body: &Body<'_, T>| match &self.engine {
            Engine::Sqlite(engine) => engine.write(project, body),
            Engine::Postgres(engine) => engine.write(project, body),
        };
        match &self.faults {
            None => write(&body),
            Some(faults) => fault::struck(faults.as_ref(), &body, write),
        }
    }

    /// Runs several writes in order and returns the results of the first ones, at least one, after their effects are
    /// durable. The remaining writes were not touched.
    ///
    /// On SQLite they share one turn and one transaction, whatever their projects. The transaction begins no further
    /// write after `longest`, and a write that fails or panics does not affect the others. On PostgreSQL each write has
    /// its own transaction. A write that its caller no longer waits for is not carried out and fails with `busy`.
    pub fn write_many<T>(&self, parts: &[&dyn GroupWrite<T>], longest: Duration) -> Vec<Result<T>> {
        match (&self.engine, &self.faults) {
            (Engine::Sqlite(engine), None) => engine.write_many(parts, longest),
            _ => {
                let alone = |part: &&dyn GroupWrite<T>| {
                    let write = || self.write(part.project(), |tx, entered| part.write_wanted(tx, entered));
                    catch_unwind(AssertUnwindSafe(write)).unwrap_or_else(|_| Err(error::panicked()))
                };
                parts.iter().map(alone).collect()
            }
        }
    }

    /// Runs `body` over one snapshot. It creates nothing, changes nothing and blocks no writer. A store that does not
    /// exist reads as an empty one.
    pub fn read<T>(&self, project: &str, body: impl Fn(&mut dyn Tx, Entered) -> Result<T>) -> Result<T> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.read(project, &body),
            Engine::Postgres(engine) => engine.read(project, &body),
        }
    }

    /// Runs `body` in a transaction that excludes all writers of all projects from before its first read until commit.
    /// Reads continue and see the state before it. The store is created if it does not exist.
    ///
    /// `body` runs at most once, so it may write files of its own. If the answer to the commit is lost, the outcome is
    /// unknown.
    pub fn rewrite<T>(&self, body: impl FnOnce(&mut dyn Tx, Present) -> Result<CommitDecision<T>>) -> Result<T> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.rewrite(body),
            Engine::Postgres(engine) => engine.rewrite(body),
        }
    }

    /// The identity of the store; creates it if it does not exist.
    pub fn create(&self) -> Result<StoreIdentity> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.create(),
            Engine::Postgres(engine) => engine.create(),
        }
    }

    /// The identity of the store, or `None` if it does not exist yet.
    pub fn identity(&self) -> Result<Option<StoreIdentity>> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.identity(),
            Engine::Postgres(engine) => engine.identity(),
        }
    }

    /// Whether a process that writes for other callers may be about to commit: a request may still be carried out
    /// although its caller has left. Once this is false, everything that was carried out can be read.
    pub fn is_deciding(&self) -> bool {
        match &self.engine {
            Engine::Sqlite(engine) => engine.is_deciding(),
            Engine::Postgres(_) => false,
        }
    }

    /// Checks for damage: one line per problem; empty if there is none or no store.
    pub fn integrity(&self) -> Result<Vec<String>> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.integrity(),
            Engine::Postgres(engine) => engine.integrity(),
        }
    }

    /// The schema version of the store; 0 without a store.
    pub fn schema_version(&self) -> Result<i64> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.schema_version(),
            Engine::Postgres(engine) => engine.schema_version(),
        }
    }

    /// Notifies waiting callers that they should check again. It is only a hint: losing it does no harm. Call it after
    /// a commit, never inside a transaction.
    pub fn ring(&self) {
        match &self.engine {
            Engine::Sqlite(engine) => engine.ring(),
            Engine::Postgres(engine) => engine.ring(),
        }
    }

    /// Limits every later wait for a turn or an answer to `limit`, because the caller must be done by then. A file
    /// answers at once, so this only affects PostgreSQL.
    pub fn hurry(&self, limit: Duration) {
        match &self.engine {
            Engine::Sqlite(_) => {}
            Engine::Postgres(engine) => engine.hurry(limit),
        }
    }

    /// Waits for a notification, at most for `patience`. Callers keep that short, because a notification may be lost.
    pub fn listen(&self, bell: &mut WakeListener, patience: Duration) {
        match &self.engine {
            Engine::Sqlite(engine) => engine.listen(bell, patience),
            Engine::Postgres(engine) => engine.listen(bell, patience),
        }
    }

    /// The polling interval of waiting callers.
    pub fn poll(&self) -> Duration {
        match &self.engine {
            Engine::Sqlite(_) => Duration::from_millis(250),
            Engine::Postgres(_) => Duration::from_millis(500),
        }
    }

    /// How many times this process waited for an answer of the database server: pipelined statements count once. Always
    /// 0 on SQLite.
    pub fn round_trips(&self) -> u64 {
        match &self.engine {
            Engine::Sqlite(_) => 0,
            Engine::Postgres(engine) => engine.round_trips(),
        }
    }

    /// The steps of SQLite's virtual machine so far: a measure of work that does not depend on the machine's speed.
    /// Always 0 on PostgreSQL.
    pub fn steps(&self) -> u64 {
        match &self.engine {
            Engine::Sqlite(engine) => engine.steps(),
            Engine::Postgres(_) => 0,
        }
    }

    /// Checks that an embedded store may be on its file system.
    pub fn check_file_system(&self) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.check_file_system(),
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// Whether the embedded store exists, but this process cannot write it.
    pub fn is_read_only(&self) -> bool {
        match &self.engine {
            Engine::Sqlite(engine) => engine.is_read_only(),
            Engine::Postgres(_) => false,
        }
    }

    /// Whether a writer would get its turn within `patience`. Creates nothing.
    pub fn queue(&self, patience: Duration) -> Result<TurnstileState> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.queue(patience),
            Engine::Postgres(_) => Ok(TurnstileState::None),
        }
    }

    /// By how much the database's clock is ahead of this machine's; `None` if they are the same clock.
    pub fn clock_ahead(&self) -> Result<Option<Span>> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(None),
            Engine::Postgres(engine) => engine.clock_ahead().map(Some),
        }
    }

    /// Device and inode of the open file of an embedded store, once it was read or written.
    pub fn file_id(&self) -> Option<(u64, u64)> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.file_id(),
            Engine::Postgres(_) => None,
        }
    }

    /// The file of an embedded store.
    pub fn file(&self) -> Option<&Path> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.path(),
            Engine::Postgres(_) => None,
        }
    }

    /// Whether the file of an embedded store is the one that it was written in.
    pub fn file_state(&self) -> Result<FileState> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.file_state(),
            Engine::Postgres(_) => Ok(FileState::Own),
        }
    }

    pub fn size(&self) -> Result<Size> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.size(),
            Engine::Postgres(engine) => engine.size(),
        }
    }

    /// The number of rows per table.
    pub fn rows(&self) -> Result<Vec<(&'static str, i64)>> {
        self.read("", |tx, _| crate::copy::counts(tx))
    }

    /// Remarks about other users who may read or write the store's files.
    pub fn permissions(&self) -> Vec<String> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.permissions(),
            Engine::Postgres(_) => Vec::new(),
        }
    }

    /// The query plan of a statement as text, for tests that pin the use of indexes.
    pub fn explain(&self, sql: crate::Sql, args: &[crate::Value]) -> Result<String> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.explain(sql, args),
            Engine::Postgres(engine) => engine.explain(sql, args),
        }
    }

    /// The plan of a statement with what each part read, from a run in a transaction that is rolled back: for tests
    /// that count pages. `None` on SQLite, where [`Store::steps`] measures work.
    pub fn explain_run(&self, sql: crate::Sql, args: &[crate::Value]) -> Result<Option<String>> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(None),
            Engine::Postgres(engine) => engine.explain_run(sql, args).map(Some),
        }
    }
}
