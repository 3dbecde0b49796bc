//! The store as the kernel sees it: two engines behind `write` and `read`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
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

/// Where a store is.
#[derive(Clone, Debug)]
pub enum Location {
    /// A SQLite file.
    File(PathBuf),
    /// SQLite in memory, for tests and for answering about a store that does not exist yet.
    Memory,
    /// A `postgres://` URL, with Tenure's own parameter `schema`.
    Postgres(String),
}

/// How much an acknowledgement promises on SQLite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Acknowledged means on disk.
    #[default]
    Full,
    /// A power cut may lose the last moments, never consistency.
    Fast,
}

/// What a store is opened with.
#[derive(Clone)]
pub struct Options {
    /// The clock; on PostgreSQL the database's own clock counts unless `own_clock` is set.
    pub clock: Arc<dyn Clock>,
    /// Whether `clock` counts on PostgreSQL too (simulation).
    pub own_clock: bool,
    /// Random bytes for ids.
    pub entropy: Arc<dyn Entropy>,
    /// How long a writer waits for its turn.
    pub patience: Duration,
    /// How long PostgreSQL may take for one statement. A server that has not answered a moment after that is not waited
    /// for any longer; nor is a connection waited for longer than that.
    pub answer: Duration,
    /// When all of the caller's time is over, if it has an end: no wait goes beyond it.
    pub deadline: Option<Deadline>,
    /// What an acknowledgement promises.
    pub durability: Durability,
    /// Whether writers queue at the turnstile. Without it nothing is wrong, only unfair.
    pub turnstile: bool,
    /// Whether a store that does not exist may be made by the first write.
    pub may_create: bool,
    /// Whether the caller makes one call at a time and is about to write: reads then share the writing connection,
    /// which saves a one-shot process a second one.
    pub one_connection: bool,
    /// Whether the caller reads once and ends: statements are then prepared for that one transaction. A call that also
    /// writes has several, which share statements.
    pub one_shot: bool,
    /// Whether a network file system is accepted.
    pub any_file_system: bool,
    /// Whether a schema with triggers that Tenure does not make is accepted, and they fire. Tests plant failures that way.
    pub any_schema: bool,
    /// Whether a file that is not the store's own is gone on with as it is. Tests put copies in place.
    pub any_file: bool,
    /// The layer between SQLite and the files, by the name it is registered under; `None` is SQLite's own. Tests put one
    /// there that records, and fails on demand.
    pub vfs: Option<String>,
    /// User for PostgreSQL where the URL has none.
    pub user: Option<String>,
    /// Password for PostgreSQL where the URL has none.
    pub password: Option<String>,
    /// Failures on purpose (simulation).
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

/// Which store this is.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StoreIdentity {
    /// Drawn when the store was made.
    pub id: StoreId,
    /// Drawn when the store was made or restored.
    pub incarnation: StoreId,
}

/// What a transaction finds when it begins.
#[derive(Clone, Debug)]
pub struct Entered {
    /// The store.
    pub identity: StoreIdentity,
    /// The project's row, locked in a write; `None` in a read of a project that does not exist.
    pub project: Option<project::Row>,
    /// The clock, read after the lock was taken.
    pub clock: Time,
}

impl Entered {
    /// The time of the transaction, and by how much the clock was set back; see [`reading`].
    pub fn reading(&self) -> (Time, Option<Span>) {
        reading(self.clock, self.project.as_ref().and_then(project::Row::last_used))
    }
}

/// What a transaction that may change everything finds.
#[derive(Clone, Debug)]
pub struct Present {
    /// The store.
    pub identity: StoreIdentity,
    /// All its projects, by key.
    pub projects: Vec<project::Row>,
    /// The clock, read after the lock was taken.
    pub clock: Time,
    /// Whether the file of an embedded store is not the one that the store was written in. It becomes that with the commit.
    pub is_copied: bool,
}

/// What is known of the file of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// It is the one that the store was made or restored in, or there is none.
    Own,
    /// It is a copy, or was put in place of another: the next write continues the store as after a restore.
    Copied,
    /// The store continued in a copy at this time.
    Continued(Time),
}

/// How large a store is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The database.
    pub database: u64,
    /// What is written and not yet in the database file.
    pub log: u64,
    /// Room in the database file that holds nothing.
    pub free: u64,
}

/// How a write transaction ends when its body succeeded.
#[derive(Debug)]
pub enum CommitDecision<T> {
    /// Keep what was written.
    Commit(T),
    /// Take everything back, and answer.
    Undo(T),
}

/// The body of a write: may be run again after a lost connection, so it must not touch the world.
pub(crate) type Body<'a, T> = dyn Fn(&mut dyn Tx, Entered) -> Result<CommitDecision<T>> + 'a;

/// One of several writes that may share a transaction.
pub trait GroupWrite<T> {
    /// The project whose lock it needs.
    fn project(&self) -> &project::NamedProject;

    /// Whether somebody still waits for the answer. Asked under the lock, before the write and again before the commit: a
    /// write whose answer nobody will read is not carried out.
    fn is_wanted(&self) -> bool;

    /// The body; what is said of the one in [`Store::write`] holds here.
    fn write(&self, tx: &mut dyn Tx, entered: Entered) -> Result<CommitDecision<T>>;
}

impl<T> dyn GroupWrite<T> + '_ {
    /// The write in a transaction of its own.
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
    /// A store at a place. Refuses only a malformed URL.
    pub fn new(location: Location, options: Options) -> Result<Store> {
        let faults = options.faults.clone();
        let engine = match &location {
            Location::File(path) => Engine::Sqlite(Box::new(Sqlite::file(path.clone(), options))),
            Location::Memory => Engine::Sqlite(Box::new(Sqlite::memory(options))),
            Location::Postgres(url) => Engine::Postgres(Box::new(Postgres::new(url, options)?)),
        };
        Ok(Store { engine, location, faults })
    }

    /// Where it is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Runs `body` in a write transaction that holds the project's lock from before the first read until commit.
    ///
    /// The store and the project's row are made if they do not exist. A project row made for a body that failed may
    /// stay, empty. An embedded store in a file that is not its own is refused ([`Code::CopiedFile`](tenure_core::Code::CopiedFile)) until [`Store::rewrite`]
    /// has committed. `body` may be run more than once; it must not touch the world and must not assume that an earlier
    /// run left nothing: a run whose commit was not acknowledged may have been committed.
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

    /// Runs several writes, in their order, and answers the first so many of them, at least one, after what the answers
    /// tell is durable. The rest was not touched.
    ///
    /// On SQLite they share one turn and one transaction, whatever their projects, which begins no further write after
    /// `longest`; a part that fails or panics takes nothing from the others. On PostgreSQL each is a transaction of its
    /// own. What is no longer wanted when its turn comes is not carried out and answered `busy`.
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

    /// Runs `body` over one snapshot. Creates nothing, changes nothing, blocks no writer. A store that does not exist
    /// answers as an empty one.
    pub fn read<T>(&self, project: &str, body: impl Fn(&mut dyn Tx, Entered) -> Result<T>) -> Result<T> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.read(project, &body),
            Engine::Postgres(engine) => engine.read(project, &body),
        }
    }

    /// Runs `body` in a transaction that keeps all writers of all projects out, from before its first read until
    /// commit. Reads go on and see the state before it. The store is made if it does not exist.
    ///
    /// `body` is run at most once, so it may write files of its own. A lost answer to the commit leaves open whether it
    /// was carried out.
    pub fn rewrite<T>(&self, body: impl FnOnce(&mut dyn Tx, Present) -> Result<CommitDecision<T>>) -> Result<T> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.rewrite(body),
            Engine::Postgres(engine) => engine.rewrite(body),
        }
    }

    /// Which store this is; makes it if it does not exist.
    pub fn create(&self) -> Result<StoreIdentity> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.create(),
            Engine::Postgres(engine) => engine.create(),
        }
    }

    /// Which store this is, or `None` where there is none yet.
    pub fn identity(&self) -> Result<Option<StoreIdentity>> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.identity(),
            Engine::Postgres(engine) => engine.identity(),
        }
    }

    /// Whether somebody who writes for others may be about to commit what it has decided: what was asked of it may still
    /// be done, although whoever asked has left. Once this is false, whatever was done can be read.
    pub fn is_deciding(&self) -> bool {
        match &self.engine {
            Engine::Sqlite(engine) => engine.is_deciding(),
            Engine::Postgres(_) => false,
        }
    }

    /// Looks for damage: what is wrong, one line each; empty when all is well or there is no store.
    pub fn integrity(&self) -> Result<Vec<String>> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.integrity(),
            Engine::Postgres(engine) => engine.integrity(),
        }
    }

    /// The schema version found, 0 for no store.
    pub fn schema_version(&self) -> Result<i64> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.schema_version(),
            Engine::Postgres(engine) => engine.schema_version(),
        }
    }

    /// Tells those who wait for something that they may look now. Only a hint: it may be lost, and nothing goes wrong
    /// where it is. Called after a commit, never inside a transaction.
    pub fn ring(&self) {
        match &self.engine {
            Engine::Sqlite(engine) => engine.ring(),
            Engine::Postgres(engine) => engine.ring(),
        }
    }

    /// Says that from now on nobody has longer than `limit` for a turn or an answer: whoever calls has something to do by
    /// then. A file answers at once, so it is about PostgreSQL.
    pub fn hurry(&self, limit: Duration) {
        match &self.engine {
            Engine::Sqlite(_) => {}
            Engine::Postgres(engine) => engine.hurry(limit),
        }
    }

    /// Waits until somebody rings, at most for `patience`, which callers keep short: a hint may be lost.
    pub fn listen(&self, bell: &mut WakeListener, patience: Duration) {
        match &self.engine {
            Engine::Sqlite(engine) => engine.listen(bell, patience),
            Engine::Postgres(engine) => engine.listen(bell, patience),
        }
    }

    /// How often those who wait look by themselves.
    pub fn poll(&self) -> Duration {
        match &self.engine {
            Engine::Sqlite(_) => Duration::from_millis(250),
            Engine::Postgres(_) => Duration::from_millis(500),
        }
    }

    /// How many times this process waited for an answer of the database server: statements sent together count once.
    /// Always 0 on SQLite.
    pub fn round_trips(&self) -> u64 {
        match &self.engine {
            Engine::Sqlite(_) => 0,
            Engine::Postgres(engine) => engine.round_trips(),
        }
    }

    /// Steps of SQLite's virtual machine so far: a count of work that does not depend on the machine's speed. Always 0
    /// on PostgreSQL.
    pub fn steps(&self) -> u64 {
        match &self.engine {
            Engine::Sqlite(engine) => engine.steps(),
            Engine::Postgres(_) => 0,
        }
    }

    /// Whether the embedded store is on a file system that it may be on.
    pub fn check_file_system(&self) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.check_file_system(),
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// Whether this process cannot write the embedded store, though it is there.
    pub fn is_read_only(&self) -> bool {
        match &self.engine {
            Engine::Sqlite(engine) => engine.is_read_only(),
            Engine::Postgres(_) => false,
        }
    }

    /// Whether a writer would get its turn within `patience`. Makes nothing.
    pub fn queue(&self, patience: Duration) -> Result<TurnstileState> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.queue(patience),
            Engine::Postgres(_) => Ok(TurnstileState::None),
        }
    }

    /// By how much the database's clock is ahead of this machine's; nothing where they are one.
    pub fn clock_ahead(&self) -> Result<Option<Span>> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(None),
            Engine::Postgres(engine) => engine.clock_ahead().map(Some),
        }
    }

    /// Device and inode of the file that is open, of an embedded store that somebody has read or written.
    pub fn file_id(&self) -> Option<(u64, u64)> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.file_id(),
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

    /// How large it is.
    pub fn size(&self) -> Result<Size> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.size(),
            Engine::Postgres(engine) => engine.size(),
        }
    }

    /// The rows of each table.
    pub fn rows(&self) -> Result<Vec<(&'static str, i64)>> {
        self.read("", |tx, _| crate::copy::counts(tx))
    }

    /// Remarks on who else may read or write the store's files.
    pub fn permissions(&self) -> Vec<String> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.permissions(),
            Engine::Postgres(_) => Vec::new(),
        }
    }

    /// The plan by which the engine runs a statement, as text: for tests that pin the use of indexes.
    pub fn explain(&self, sql: crate::Sql, args: &[crate::Value]) -> Result<String> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.explain(sql, args),
            Engine::Postgres(engine) => engine.explain(sql, args),
        }
    }

    /// The plan of a statement with what each part of it read, from a run in a transaction that is taken back: for tests
    /// that count pages. `None` on SQLite, where [`Store::steps`] counts work.
    pub fn explain_run(&self, sql: crate::Sql, args: &[crate::Value]) -> Result<Option<String>> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(None),
            Engine::Postgres(engine) => engine.explain_run(sql, args).map(Some),
        }
    }
}
