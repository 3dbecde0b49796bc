//! Reading without any change: read-only connections, one snapshot, and stores on read-only places.

use std::path::Path;
use std::sync::PoisonError;

use rusqlite::{Connection, OpenFlags};
use tenure_core::{Code, Error, Kind, Result, Stage};

use super::database_file::{self, FilePresence};
use super::{Open, Sqlite, prepare_once, refuse_foreign, short_log, user_version};
use crate::error;
use crate::migrate::VERSION;
use crate::store::{CommitDecision, Entered, Options};
use crate::table::project;
use crate::tx::Tx;

/// How often to retry a read of a file that changes during the read before it is `busy`.
const IMMUTABLE_TRIES: usize = 20;

/// The page size of the database, in bytes.
const ONE_PAGE: u64 = 4_096;

type ReadBody<'a, T> = dyn Fn(&Connection) -> Result<T> + 'a;

impl Sqlite {
    pub(crate) fn read<T>(&self, key: &str, body: &dyn Fn(&mut dyn Tx, Entered) -> Result<T>) -> Result<T> {
        self.read_raw(&|connection| self.snapshot(connection, key, body))
    }

    /// Answers for a store that does not exist.
    pub(crate) fn read_absent<T>(&self, body: &dyn Fn(&mut dyn Tx, Entered) -> Result<T>) -> Result<T> {
        self.read_nothing(&|connection| self.snapshot(connection, "", body))
    }

    fn snapshot<T>(
        &self,
        connection: &Connection,
        key: &str,
        body: &dyn Fn(&mut dyn Tx, Entered) -> Result<T>,
    ) -> Result<T> {
        connection.execute_batch("BEGIN").map_err(|error| error::sqlite(error, Stage::Read))?;
        let open = Open(connection);
        let mut tx = self.tx(connection);
        let (identity, project, _) = project::enter(&mut tx, key, project::LockMode::Read)?;
        self.note_store(&identity);
        let entered = Entered { identity, project, clock: self.options.clock.now() };
        let answer = body(&mut tx, entered);
        drop(open);
        answer
    }

    /// Runs `look` on a connection that cannot write. An empty store in memory stands in for a store that does not
    /// exist, so that every query has one code path.
    pub(super) fn read_raw<T>(&self, look: &ReadBody<'_, T>) -> Result<T> {
        let Some(path) = &self.path else {
            let mut writer = self.writer()?;
            return look(self.connected(&mut writer)?);
        };
        // An empty file is not a store yet, and a query does not make it one.
        let is_writable =
            || Ok(matches!(database_file::look(path)?, FilePresence::Present { writable_dir: true, size: 1.., .. }));
        if self.options.one_connection && is_writable()? {
            let mut writer = self.writer()?;
            self.at_place(&mut writer)?;
            return look(self.connected(&mut writer)?);
        }
        if self.is_moved() {
            let mut writer = self.writer()?;
            self.at_place(&mut writer)?;
        }
        let _reading = self.reading.read().unwrap_or_else(PoisonError::into_inner);
        let pooled = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if pooled.is_none() {
            short_log::check(path, self.options.may_create)?;
        }
        let connection = match pooled {
            Some(connection) => connection,
            None => match database_file::look(path)? {
                // If the store existed a moment ago, an empty one must not stand in for it.
                FilePresence::Absent => return self.check_place(Stage::Read).and_then(|()| self.read_nothing(look)),
                FilePresence::Present { size: 0, .. } => return self.read_nothing(look),
                FilePresence::Present { writable_dir: false, shm: false, .. } => {
                    return self.read_immutable(path, look);
                }
                FilePresence::Present { size, .. } => match self.open_reader(path) {
                    // The process that was creating the store ended before it finished. A query cannot roll that back,
                    // and need not: a file of one page has no tables.
                    Err(error) if error.code() == error::UNFINISHED && size <= ONE_PAGE => {
                        return self.read_nothing(look);
                    }
                    // A full disk or a file size limit leaves no room for the index that SQLite creates beside the
                    // file, even to read it.
                    Err(error)
                        if matches!(error.code(), Code::DiskFull | Code::IoFailure)
                            && database_file::has_empty_wal(path) =>
                    {
                        return self.read_immutable(path, look);
                    }
                    // The log or its index beside the file cannot be created although nothing has forbidden it so far:
                    // a sandbox that the permissions do not reflect, or a disk without room for another name. If both
                    // exist, the cause is something else.
                    Err(error) if matches!(error.code(), Code::CannotOpen | Code::NotWritable) => {
                        match database_file::look(path)? {
                            FilePresence::Present { wal: true, shm: true, .. } | FilePresence::Absent => {
                                return Err(error);
                            }
                            FilePresence::Present { .. } => return self.read_immutable(path, look),
                        }
                    }
                    opened => {
                        let connection = opened?;
                        self.note_file(path)?;
                        connection
                    }
                },
            },
        };
        match user_version(&connection)? {
            0 => {
                // Its log is removed with the connection, which is not kept.
                self.forget_log();
                return self.read_nothing(look);
            }
            older if older < VERSION => self.bring_up_to_date()?,
            _ => {}
        }
        let answer = look(&connection);
        if connection.is_autocommit() {
            self.readers.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
        answer
    }

    /// A query cannot read the schema of an older version. It migrates the store as a write would, if it may.
    fn bring_up_to_date(&self) -> Result<()> {
        let mut writer = self.writer()?;
        self.connected(&mut writer).map(|_| ()).map_err(|error| match error.kind() {
            Kind::Storage => error::older_schema().cause(error),
            _ => error,
        })
    }

    pub(super) fn open_reader(&self, path: &Path) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = self.open_file(path, flags)?;
        connection.busy_timeout(self.options.turn()).map_err(|error| error::sqlite(error, Stage::Open))?;
        prepare_once(&connection)?;
        refuse_foreign(&connection, self.options.any_schema)?;
        Ok(connection)
    }

    fn read_nothing<T>(&self, look: &ReadBody<'_, T>) -> Result<T> {
        let empty = Sqlite::memory(Options { turnstile: false, ..self.options.clone() });
        let mut writer = empty.writer()?;
        let connection = empty.connected(&mut writer)?;
        // An empty store is recognised by its missing identity.
        empty.transact(connection, "BEGIN", |tx| {
            project::forget_store(tx)?;
            Ok(CommitDecision::Commit(()))
        })?;
        look(connection)
    }

    /// Reads a store on a read-only place without `-wal` and `-shm`: no process has it open, so its file does not
    /// change. If another process can write it after all (the place is read-only only for this process), reads may be
    /// torn; then size or modification time differ, or the read fails, and it is repeated. If a writer has a log by
    /// then, the store is read with the log or not at all, because the file alone lacks its content.
    fn read_immutable<T>(&self, path: &Path, look: &ReadBody<'_, T>) -> Result<T> {
        let mut last = None;
        for _ in 0..IMMUTABLE_TRIES {
            let before = database_file::look(path)?;
            let has_log = !database_file::has_empty_wal(path);
            let answer = match before {
                FilePresence::Present { shm: true, .. } if has_log => self.open_reader(path),
                // A writer that opens or closes the store causes this for a moment.
                _ if has_log => Err(wal_alone(path)),
                _ => self.open_immutable(path),
            }
            .and_then(|connection| match user_version(&connection)? {
                // The process that was creating the store ended before it finished.
                0 => self.read_nothing(look),
                older if older < VERSION => Err(error::older_schema()),
                _ => look(&connection),
            });
            let steady = has_log || before == database_file::look(path)?;
            match answer {
                Ok(answer) if steady => return Ok(answer),
                // A refusal is an answer; only an engine error about the file may be an artefact of a torn read.
                Err(error) if steady && error.kind() != Kind::Storage => return Err(error),
                Err(error) => last = Some(error),
                Ok(_) => last = None,
            }
        }
        Err(last
            .filter(|error| error.kind() == Kind::Storage)
            .unwrap_or_else(|| error::busy(Code::ChangingStore, "the store changed during each of 20 reads")))
    }

    fn open_immutable(&self, path: &Path) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let mut uri = String::from("file:");
        for byte in path.as_os_str().as_encoded_bytes() {
            match byte {
                b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
                other => uri.push_str(&format!("%{other:02X}")),
            }
        }
        uri.push_str("?immutable=1");
        let connection = self.open_file(uri, flags)?;
        refuse_foreign(&connection, self.options.any_schema)?;
        Ok(connection)
    }
}

/// Read as immutable, the file would silently lack the content of the `-wal`: an acknowledged row would be missing.
fn wal_alone(path: &Path) -> Error {
    Error::new(
        Code::WalWithoutShm,
        format!("{} has changes in its -wal file that cannot be read on a read-only file system", path.display()),
    )
    .at(Stage::Open)
    .hint("Open the store once where it can be written (any query does this), or make its directory writable.")
}
