//! Whether the write-ahead log at its name is the one that this process writes.
//!
//! SQLite holds the log open by its descriptor. If its name is removed, the connections of before go on with a file that
//! nobody finds again: what they commit is gone with the last of them, unless that ends in order and folds the log into the
//! database. A process that opens the store afterwards makes an empty log under the name, which it shares the index (`-shm`)
//! of the old one for; it cannot read a page that is in the old log, and fails.
//!
//! So a commit counts only where the log is at its name, before it (under the write lock) and after it. Where the log is
//! gone, what it has is written into the database, which is durable then, and the connections are opened anew. That is
//! safe under two conditions, which are looked at while this process has its turn, so that no other writes:
//!
//! - The index is the one that this process has: then its locks, by which SQLite excludes readers and writers from a
//!   checkpoint, are those that everyone else uses.
//! - No log is at the name, or an empty one: then everything that the index tells of is in the log of this process.
//!
//! Otherwise nothing is written any more, and the error says so. An orderly end of the program still folds the log if no
//! other program has the store open: SQLite takes the database for itself alone to do so.

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
    /// The log beside a database, if it has one.
    pub(super) fn of(path: &Path) -> Option<WalFiles> {
        let wal = database_file::file_id(&database_file::beside(path, "-wal"))?;
        Some(WalFiles { wal, shm: database_file::file_id(&database_file::beside(path, "-shm")) })
    }

    pub(super) fn is_at(&self, path: &Path) -> bool {
        database_file::file_id(&database_file::beside(path, "-wal")) == Some(self.wal)
    }

    /// Whether everything that the index tells of is in this log, and the index is the one that others use.
    fn can_be_saved(&self, path: &Path) -> bool {
        database_file::has_empty_wal(path)
            && self.shm.is_some()
            && database_file::file_id(&database_file::beside(path, "-shm")) == self.shm
    }
}

impl Sqlite {
    /// Whether what was just committed is where others find it: in the log at its name, or saved from one that is gone. Asked
    /// in turn.
    pub(super) fn check_kept(&self, connection: &Connection) -> Result<()> {
        let log = self.opened().and_then(|opened| opened.log);
        match (self.check_place(Stage::Commit), &self.path, log) {
            (Err(_), Some(path), Some(log)) if !log.is_at(path) && self.save(path, log, connection) => Ok(()),
            (answer, _, _) => answer,
        }
    }

    /// Saves what the log has that is gone from its name, and closes all connections: the next ones open what is there.
    pub(super) fn save_log(&self, path: &Path, log: WalFiles, writer: &mut Option<Connection>) -> Result<()> {
        // Whoever reads does so in the old log.
        let Ok(_alone) = self.reading.try_write() else { return Err(gone(path, Stage::Open)) };
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        // A process that has only read cannot write the log into the database. One that lasts reads on a connection that can.
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

    /// Forgets which log is open, because none is.
    pub(super) fn forget_log(&self) {
        if let Some(opened) = self.opened.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            opened.log = None;
        }
    }

    /// Writes everything that the log has into the database. Says whether it is there now.
    fn save(&self, path: &Path, log: WalFiles, connection: &Connection) -> bool {
        log.can_be_saved(path) && self.fold(connection)
    }

    /// Writes the log into the database and empties it. Says whether that is done: others may be reading.
    pub(super) fn fold(&self, connection: &Connection) -> bool {
        let _ = connection.busy_timeout(FOLD);
        let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        let _ = connection.busy_timeout(self.options.turn());
        matches!(busy, Ok(0))
    }
}

/// The refusal where the log is not at its name and cannot be saved.
pub(super) fn gone(path: &Path, stage: Stage) -> Error {
    let message =
        format!("the log of {} ({0}-wal) is not the one that was opened: it was removed or replaced", path.display());
    let error = Error::new(Code::StoreMoved, message).at(stage).entity(path.display().to_string());
    match stage {
        Stage::Commit => error.hint(
            "What was written may be lost. End this program in order, which saves what it still has, and ask again with \
             the same request id.",
        ),
        _ => error.hint(
            "Nothing was written. End this program in order, which saves what it still has, and start it again. Do not \
             remove -wal or -shm of a store that is in use.",
        ),
    }
}
