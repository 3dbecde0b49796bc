//! Whether the write-ahead log at its path is the one that this process writes.
//!
//! SQLite keeps the log open by its descriptor. If its name is removed, the existing connections continue with a file
//! that no other process can find: their commits are lost with the last of them, unless it closes in order and
//! checkpoints the log into the database. A process that opens the store afterwards creates an empty log under the
//! name, but shares the index (`-shm`) of the old one; it cannot read a page that is in the old log, and fails.
//!
//! So a commit counts only if the log is at its path, both before it (under the write lock) and after it. If the log is
//! gone, its content is checkpointed into the database, which makes it durable, and the connections are reopened. This
//! is safe under two conditions, which are checked while this process has its turn, so that no other process writes:
//!
//! - The index is the one that this process has open. Then its locks, by which SQLite excludes readers and writers from
//!   a checkpoint, are those that every other process uses.
//! - There is no log at the path, or an empty one. Then everything that the index refers to is in the log of this
//!   process.
//!
//! Otherwise nothing more is written, and the error says so. An orderly exit of the program still checkpoints the log
//! if no other program has the store open: SQLite takes the exclusive lock on the database for that.

use std::path::Path;
use std::sync::PoisonError;

use rusqlite::Connection;
use tenure_core::{Code, Error, Result, Stage};

use super::file_identity::FOLD;
use super::{Sqlite, database_file};

/// Device and inode of the log and of its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WalFiles {
    wal: (u64, u64),
    shm: Option<(u64, u64)>,
}

impl WalFiles {
    /// The log beside a database, if it exists.
    pub(super) fn of(path: &Path) -> Option<WalFiles> {
        let wal = database_file::file_id(&database_file::beside(path, "-wal"))?;
        Some(WalFiles { wal, shm: database_file::file_id(&database_file::beside(path, "-shm")) })
    }

    pub(super) fn is_at(&self, path: &Path) -> bool {
        database_file::file_id(&database_file::beside(path, "-wal")) == Some(self.wal)
    }

    /// Whether everything that the index refers to is in this log, and the index is the one that other processes use.
    fn can_be_saved(&self, path: &Path) -> bool {
        database_file::has_empty_wal(path)
            && self.shm.is_some()
            && database_file::file_id(&database_file::beside(path, "-shm")) == self.shm
    }
}

impl Sqlite {
    /// Checks that the last commit is where other processes find it: in the log at its path, or saved from one that is
    /// gone. The caller must have the turn.
    pub(super) fn check_kept(&self, connection: &Connection) -> Result<()> {
        let log = self.opened().and_then(|opened| opened.log);
        match (self.check_place(Stage::Commit), &self.path, log) {
            (Err(_), Some(path), Some(log)) if !log.is_at(path) && self.save(path, log, connection) => Ok(()),
            (answer, _, _) => answer,
        }
    }

    /// Saves the content of a log that is gone from its path, and closes all connections: the next ones open the
    /// current files.
    pub(super) fn save_log(&self, path: &Path, log: WalFiles, writer: &mut Option<Connection>) -> Result<()> {
        // Readers still use the old log.
        let Ok(_alone) = self.reading.try_write() else { return Err(gone(path, Stage::Open)) };
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        // A process that has only read cannot checkpoint the log. A long-running process reads on a connection that
        // can.
        if let Some(connection) = writer.as_ref() {
            let turn = self.turn()?;
            if !self.save(path, log, connection) {
                return Err(gone(path, Stage::Open));
            }
            *writer = None;
            drop(turn);
        }
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Clears the record of the open log, because none is open.
    pub(super) fn forget_log(&self) {
        if let Some(opened) = self.opened.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            opened.log = None;
        }
    }

    /// Checkpoints the whole log into the database. Returns whether it succeeded.
    fn save(&self, path: &Path, log: WalFiles, connection: &Connection) -> bool {
        log.can_be_saved(path) && self.fold(connection)
    }

    /// Checkpoints the log into the database and truncates it. Returns whether it succeeded: other connections may be
    /// reading.
    pub(super) fn fold(&self, connection: &Connection) -> bool {
        let _ = connection.busy_timeout(FOLD);
        let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        let _ = connection.busy_timeout(self.options.turn());
        matches!(busy, Ok(0))
    }
}

/// The refusal if the log is not at its path and cannot be saved.
pub(super) fn gone(path: &Path, stage: Stage) -> Error {
    let message =
        format!("the log of {} ({0}-wal) is not the one that was opened: it was removed or replaced", path.display());
    let error = Error::new(Code::StoreMoved, message).at(stage).entity(path.display().to_string());
    match stage {
        Stage::Commit => error.hint(
            "The written data may be lost. Shut this program down normally, which saves its data, and repeat the \
             call with the same request id.",
        ),
        _ => error.hint(
            "Nothing was written. Shut this program down normally, which saves its data, and start it again. Do not \
             remove the -wal or -shm file of a store that is in use.",
        ),
    }
}
