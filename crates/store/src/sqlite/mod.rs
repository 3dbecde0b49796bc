//! The embedded engine: SQLite in WAL mode, one file, no daemon.
//!
//! Exclusion comes from SQLite (`BEGIN IMMEDIATE`), fairness from the turnstile. Nothing but SQLite opens the database
//! file while this process has a connection to it: closing any other descriptor would drop SQLite's POSIX locks.

mod bulk_insert;
mod commit_marker;
mod database_file;
mod distrust;
mod file_identity;
mod group_commit;
mod large_transaction;
mod log;
mod notify;
mod own_file;
mod read;
mod short_log;
mod turnstile;
mod turnstile_state;
mod tx;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tenure_core::error::detail::Directory;
use tenure_core::{Code, Error, Result, Stage, id};

use self::file_identity::OpenedFile;
use self::large_transaction::LargeTransaction;
pub use self::short_log::SHORT_LOG;
use self::turnstile::{Turnstile, WriteTurn};
pub use self::turnstile_state::TurnstileState;
pub(crate) use self::tx::{Keep, SqliteTx};
use crate::copy;
use crate::error::{self, corrupt};
use crate::migrate::{self, APPLICATION_ID, BACKUP_ID, STEPS, VERSION};
use crate::store::{Body, CommitDecision, Durability, Entered, Options, Present, Size, StoreIdentity};
use crate::table::project;
use crate::tx::{Sql, Tx, Value};

/// The first schema version that records the file.
const OWN_FILE: i64 = 9;

pub(crate) struct Sqlite {
    /// The path of the database file; `None` for a store in memory.
    path: Option<PathBuf>,
    options: Options,
    /// Closed before the writer, because the last connection cleans up: a connection that cannot write would leave the
    /// `-wal` behind.
    readers: Mutex<Vec<Connection>>,
    writer: Mutex<Option<Connection>>,
    /// The file that the connections are open on.
    opened: Mutex<Option<OpenedFile>>,
    /// Held shared by readers, and exclusively while a replaced file is reopened.
    reading: RwLock<()>,
    steps: AtomicU64,
    large: LargeTransaction,
}

impl Sqlite {
    pub(crate) fn file(path: PathBuf, options: Options) -> Sqlite {
        Sqlite::at(Some(path), options)
    }

    pub(crate) fn memory(options: Options) -> Sqlite {
        Sqlite::at(None, options)
    }

    fn at(path: Option<PathBuf>, options: Options) -> Sqlite {
        Sqlite {
            path,
            options,
            readers: Mutex::new(Vec::new()),
            writer: Mutex::new(None),
            opened: Mutex::new(None),
            reading: RwLock::new(()),
            steps: AtomicU64::new(0),
            large: LargeTransaction::default(),
        }
    }

    pub(crate) fn write<T>(&self, project: &project::NamedProject, body: &Body<'_, T>) -> Result<T> {
        self.in_turn(|tx| {
            let entered = self.enter_project(tx, project)?;
            body(tx, entered)
        })
    }

    pub(crate) fn rewrite<T>(&self, body: impl FnOnce(&mut dyn Tx, Present) -> Result<CommitDecision<T>>) -> Result<T> {
        self.in_turn(|tx| {
            let (Entered { identity, clock, .. }, file) = self.enter(tx, "")?;
            let projects = copy::projects(tx)?;
            let is_copied = self.is_copied(tx, &identity.id, file)?;
            let verdict = body(tx, Present { identity, projects, clock, is_copied })?;
            if matches!(verdict, CommitDecision::Commit(_)) {
                self.record_file(tx)?;
            }
            Ok(verdict)
        })
    }

    /// Runs `body` in a write transaction, which excludes all other writers of the file.
    fn in_turn<T>(&self, body: impl FnOnce(&mut SqliteTx<'_>) -> Result<CommitDecision<T>>) -> Result<T> {
        // Connect and read once before the turnstile: `sqlite3_open` alone opens nothing, and processes that wait with
        // an open connection keep the WAL alive (half the syncs of one-shot calls).
        let mut writer = self.writer()?;
        self.at_place(&mut writer)?;
        let connection = self.connected(&mut writer)?;
        let turn = self.turn()?;
        let answer = self.transact(connection, "BEGIN IMMEDIATE", |tx| {
            let version = user_version(tx.connection)?;
            if version > VERSION {
                return Err(error::newer_schema(version, VERSION));
            }
            body(tx)
        });
        drop(turn);
        self.large.end(connection);
        answer.map_err(|error| self.placed(error))
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(crate) fn create(&self) -> Result<StoreIdentity> {
        let mut writer = self.writer()?;
        self.at_place(&mut writer)?;
        let connection = self.connected(&mut writer)?;
        self.transact(connection, "BEGIN", |tx| Ok(CommitDecision::Undo(self.enter(tx, "")?.0.identity)))
    }

    pub(crate) fn identity(&self) -> Result<Option<StoreIdentity>> {
        let identity = self.read("", &|_, entered| Ok(entered.identity))?;
        Ok(if identity.id.is_empty() { None } else { Some(identity) })
    }

    pub(crate) fn integrity(&self) -> Result<Vec<String>> {
        let mut found = self.read("", &|tx, _| {
            let rows = tx.query(Sql::same("PRAGMA integrity_check"), &[])?;
            let lines = rows.into_iter().map(|mut row| row.text(0)).collect::<Result<Vec<_>>>()?;
            Ok(lines.into_iter().filter(|line| line != "ok").collect::<Vec<_>>())
        })?;
        // A newer version may have created tables that this one does not know.
        let is_ours =
            self.read_raw(&|connection| Ok(user_version(connection)? > VERSION || copy::is_own_schema(connection)?))?;
        if !is_ours {
            found.push("the schema is not the one that Tenure creates".to_owned());
        }
        Ok(found)
    }

    pub(crate) fn schema_version(&self) -> Result<i64> {
        self.read("", &|tx, entered| match entered.identity.id.as_str() {
            "" => Ok(0),
            _ => tx.query(Sql::same("PRAGMA user_version"), &[])?.first().map_or(Ok(0), |row| row.int(0)),
        })
    }

    pub(crate) fn explain(&self, sql: Sql, args: &[Value]) -> Result<String> {
        self.read_raw(&|connection| tx::explain(connection, sql, args))
    }

    /// Checks that a store may be on the file system of this file.
    pub(crate) fn check_file_system(&self) -> Result<()> {
        match &self.path {
            Some(path) => database_file::refuse_network(path.parent().unwrap_or(path), self.options.any_file_system),
            None => Ok(()),
        }
    }

    /// Whether the file exists, but this process cannot write it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.path.as_deref().is_some_and(database_file::is_read_only)
    }

    /// Remarks about who may read or write the files.
    pub(crate) fn permissions(&self) -> Vec<String> {
        let user = rustix::process::geteuid().as_raw();
        self.path.as_deref().map(|path| database_file::permissions(path, user)).unwrap_or_default()
    }

    /// Whether a writer would get its turn.
    pub(crate) fn queue(&self, patience: Duration) -> Result<TurnstileState> {
        self.path.as_deref().map_or(Ok(TurnstileState::None), |path| Turnstile::beside(path).look(patience))
    }

    /// The sizes of the database, of its log, and of its free pages, in bytes.
    pub(crate) fn size(&self) -> Result<Size> {
        let free = self.read("", &|tx, _| {
            let number = |tx: &mut dyn Tx, sql| tx.query(sql, &[])?.first().map_or(Ok(0), |row| row.int(0));
            let pages = number(tx, Sql::same("PRAGMA freelist_count"))?;
            Ok(pages.saturating_mul(number(tx, Sql::same("PRAGMA page_size"))?))
        })?;
        let (database, log) = self.path.as_deref().map_or((0, 0), database_file::sizes);
        Ok(Size { database, log, free: u64::try_from(free).unwrap_or(0) })
    }

    /// The virtual-machine steps of all statements so far: a measure of work that does not depend on the machine's
    /// speed.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    fn writer(&self) -> Result<MutexGuard<'_, Option<Connection>>> {
        // A panic inside a body rolled its transaction back (see `Open`), so the connection behind a poisoned lock is
        // usable.
        Ok(self.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn turn(&self) -> Result<Option<WriteTurn>> {
        match &self.path {
            Some(path) if self.options.turnstile => Turnstile::beside(path).enter(self.options.turn()).map(Some),
            _ => Ok(None),
        }
    }

    fn draw<K: id::Drawn>(&self, length: usize) -> id::Id<K> {
        id::Id::draw(length, &mut |bytes| self.options.entropy.fill(bytes))
    }

    /// Enters a write in a project, and creates the project if it does not exist.
    fn enter_project(&self, tx: &mut dyn Tx, project: &project::NamedProject) -> Result<Entered> {
        let (entered, file) = self.enter(tx, &project.key)?;
        self.check_own_file(tx, &entered, file)?;
        if entered.project.is_some() {
            return Ok(entered);
        }
        let row = project::Row::new(project, self.draw(8), entered.clock);
        project::insert(tx, &row)?;
        self.enter(tx, &project.key).map(|(entered, _)| entered)
    }

    fn enter(&self, tx: &mut dyn Tx, key: &str) -> Result<(Entered, project::FileId)> {
        let (identity, project, _, file) = project::enter_in(tx, key, project::LockMode::Write)?;
        self.note_store(&identity);
        Ok((Entered { identity, project, clock: self.options.clock.now() }, file))
    }

    /// The writing connection: opened, created and migrated as needed.
    fn connected<'a>(&self, writer: &'a mut Option<Connection>) -> Result<&'a Connection> {
        let connection = match writer.take() {
            Some(connection) => connection,
            None => {
                let connection = self.connect()?;
                self.path.as_deref().map_or(Ok(()), |path| self.note_file(path))?;
                connection
            }
        };
        Ok(writer.insert(connection))
    }

    fn connect(&self) -> Result<Connection> {
        self.connect_as_it_is().map_err(|error| match &self.path {
            // For a file on a read-only place, SQLite only reports that it cannot open it.
            Some(path) if error.code() == Code::CannotOpen && database_file::is_read_only(path) => {
                database_file::read_only(path).at(Stage::Open)
            }
            _ => self.placed(error),
        })
    }

    /// Adds to an error about a store that cannot be written the path and the reason, which SQLite does not give.
    fn placed(&self, error: Error) -> Error {
        match &self.path {
            Some(path) if error.code() == Code::NotWritable && error.read::<Directory>().is_none() => {
                database_file::read_only(path).at(error.stage())
            }
            _ => error,
        }
    }

    fn connect_as_it_is(&self) -> Result<Connection> {
        let open = |error| error::sqlite(error, Stage::Open);
        let connection = match &self.path {
            None => Connection::open_in_memory().map_err(open)?,
            Some(path) => {
                database_file::refuse_network(path.parent().unwrap_or(path), self.options.any_file_system)?;
                if !self.options.may_create && database_file::look(path)?.is_no_store() {
                    return Err(error::absent());
                }
                short_log::check(path, self.options.may_create)?;
                database_file::prepare(path)?;
                let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                self.open_file(path, flags)?
            }
        };
        connection.busy_timeout(self.options.turn()).map_err(open)?;
        prepare_once(&connection)?;
        refuse_foreign(&connection, self.options.any_schema)?;
        let version = user_version(&connection)?;
        if version > VERSION {
            return Err(error::newer_schema(version, VERSION));
        }
        if version < VERSION {
            self.migrate(&connection)?;
            // A disk error in the middle of the switch can leave the file without WAL, and no error is reported.
            if self.path.is_some() {
                wal_mode(&connection)?;
            }
        }
        // Rollback data stays in memory: an op that changes more than a few pages would otherwise open a file for it.
        let synchronous = match self.options.durability {
            Durability::Full => "PRAGMA temp_store = MEMORY; PRAGMA synchronous = FULL",
            Durability::Fast => "PRAGMA temp_store = MEMORY; PRAGMA synchronous = NORMAL",
        };
        connection.execute_batch(synchronous).map_err(open)?;
        Ok(connection)
    }

    /// A connection to a file, or to a URI of one, through the VFS that the options name.
    fn open_file(&self, path: impl AsRef<Path>, flags: OpenFlags) -> Result<Connection> {
        let connection = match &self.options.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs.as_str()),
            None => Connection::open_with_flags(path, flags),
        }
        .map_err(|error| error::sqlite(error, Stage::Open))?;
        if !self.options.any_schema {
            distrust::be_careful(&connection)?;
        }
        Ok(connection)
    }

    /// Migrates the schema. Many processes may try at once: one of them applies each step.
    fn migrate(&self, connection: &Connection) -> Result<()> {
        let open = |error| error::sqlite(error, Stage::Open);
        let turn = self.turn()?;
        refuse_foreign(connection, self.options.any_schema)?;
        if self.path.is_some() {
            wal_mode(connection)?;
        }
        self.transact(connection, "BEGIN IMMEDIATE", |tx| {
            let found = user_version(connection)?;
            if found == 0 {
                connection.execute_batch(&migrate::sqlite_at_once()).map_err(open)?;
                connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(open)?;
                let identity = StoreIdentity { id: self.draw(id::LONGEST), incarnation: self.draw(id::LONGEST) };
                project::insert_store(tx, &identity, self.options.clock.now())?;
            }
            for step in STEPS.iter().filter(|step| found > 0 && step.version > found) {
                connection.execute_batch(&step.sqlite()).map_err(open)?;
            }
            migrate::fill(tx, found)?;
            if found < OWN_FILE {
                self.record_first_file(tx)?;
            }
            project::set_schema(tx, VERSION)?;
            connection.pragma_update(None, "user_version", VERSION).map_err(open)?;
            Ok(CommitDecision::Commit(()))
        })?;
        drop(turn);
        Ok(())
    }

    fn tx<'c>(&'c self, connection: &'c Connection) -> SqliteTx<'c> {
        let keep = if self.options.one_shot { Keep::Transaction } else { Keep::Connection };
        SqliteTx::new(connection, &self.steps, keep).of_store(&self.large)
    }

    /// Runs `body` in a transaction begun with `begin`. Unless it ends in a commit, the transaction is rolled back,
    /// even after a panic.
    fn transact<T>(
        &self,
        connection: &Connection,
        begin: &str,
        body: impl FnOnce(&mut SqliteTx<'_>) -> Result<CommitDecision<T>>,
    ) -> Result<T> {
        connection.execute_batch(begin).map_err(|error| error::sqlite(error, Stage::Lock))?;
        let open = Open(connection);
        let verdict = body(&mut self.tx(connection))?;
        match verdict {
            CommitDecision::Undo(answer) => Ok(answer),
            CommitDecision::Commit(answer) => {
                self.check_place(Stage::Write)?;
                connection.execute_batch("COMMIT").map_err(|error| error::sqlite(error, Stage::Commit))?;
                std::mem::forget(open);
                self.check_kept(connection)?;
                Ok(answer)
            }
        }
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.leave_short_log();
    }
}

/// A transaction that is rolled back on drop unless it was committed.
struct Open<'c>(&'c Connection);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // A failed rollback leaves the connection unusable, and its next statement reports that.
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}

/// Statements are prepared once and kept: without this setting, SQLite plans a statement again whenever a bound value
/// differs from the one it was first planned for (more than half of all instructions of a `list`).
pub(super) fn prepare_once(connection: &Connection) -> Result<()> {
    connection.set_prepared_statement_cache_capacity(128);
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map(|_| ())
        .map_err(|error| error::sqlite(error, Stage::Open))
}

fn user_version(connection: &Connection) -> Result<i64> {
    let mut statement =
        connection.prepare_cached("PRAGMA user_version").map_err(|error| error::sqlite(error, Stage::Open))?;
    statement.query_row([], |row| row.get(0)).map_err(|error| error::sqlite(error, Stage::Open))
}

/// Refuses a database that another program made, whatever its version number is: it is neither taken over nor read.
fn refuse_foreign(connection: &Connection, any_schema: bool) -> Result<()> {
    let number = |sql: &str| -> Result<i64> {
        connection.query_row(sql, [], |row| row.get(0)).map_err(|error| error::sqlite(error, Stage::Open))
    };
    let application = || number("PRAGMA application_id");
    let objects = || if any_schema { Ok(()) } else { distrust::refuse_foreign_objects(connection) };
    if application()? == APPLICATION_ID {
        return objects();
    }
    let untouched = number("PRAGMA user_version")? == 0 && number("SELECT COUNT(*) FROM sqlite_schema")? == 0;
    // Read last: another process may be creating the store, and writes this together with everything else.
    match application()? {
        APPLICATION_ID => objects(),
        BACKUP_ID => Err(error::is_backup()),
        0 if untouched => Ok(()),
        _ => Err(corrupt("the file is a database of another program, not a Tenure store")
            .at(Stage::Open)
            .hint("Nothing was changed. Name another file for the store.")),
    }
}

/// Switches the file to WAL. SQLite does not call its busy handler for this, so processes that race to be first get
/// `busy` and retry; once switched, the mode is stored in the file.
#[expect(clippy::disallowed_methods, reason = "happens once in the life of a store, and there is nothing to wait on")]
fn wal_mode(connection: &Connection) -> Result<()> {
    let mut tries = 0;
    loop {
        let mode: std::result::Result<String, _> =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                return Err(corrupt(format!(
                    "the store cannot use WAL on this file system (the mode stays \
                                                    {mode})"
                )));
            }
            Err(error) => {
                let error = error::sqlite(error, Stage::Open);
                tries += 1;
                if !error.retryable() || tries > 1_000 {
                    return Err(error);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}
