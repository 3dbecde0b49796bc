//! The identity of the database file: whether the file at the store's path is the one that this process has open. A
//! long-running process would otherwise write to a file that was moved or replaced, and acknowledge rows that no other
//! process can find.
//!
//! The check uses stat, before each transaction and around its commit: opening and closing the file would drop SQLite's
//! locks. If the file comes back, the process continues. If another file has replaced it for good, that file is opened
//! if it is the same store (a restored backup); a different store is refused until the process is restarted. The log
//! beside the file is checked the same way; see [`super::log`].

use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use rusqlite::Connection;
use tenure_core::id::StoreId;
use tenure_core::{Code, Error, Result, Stage};

use super::database_file;
use super::log::WalFiles;
use super::{Sqlite, user_version};
use crate::error;
use crate::store::StoreIdentity;

/// The timeout for checkpointing the log of a moved file.
pub(super) const FOLD: Duration = Duration::from_millis(200);

/// The file that the connections are open on.
#[derive(Clone, Debug)]
pub(super) struct OpenedFile {
    /// Device and inode.
    file: (u64, u64),
    /// The log and its index, once they exist.
    pub(super) log: Option<WalFiles>,
    /// The store's id, once a transaction has read it.
    store: Option<StoreId>,
    /// Whether the log was checkpointed into the file. This happens once, when the file is found to be moved.
    is_whole: bool,
}

impl Sqlite {
    /// Device and inode of the open file, if any.
    pub(crate) fn file_id(&self) -> Option<(u64, u64)> {
        self.opened().map(|opened| opened.file)
    }

    pub(super) fn opened(&self) -> Option<OpenedFile> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records which file a connection was opened on. All connections of a process use the same file.
    pub(super) fn note_file(&self, path: &Path) -> Result<()> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        match (database_file::file_id(path), &*opened) {
            (Some(file), None) => {
                *opened = Some(OpenedFile { file, log: WalFiles::of(path), store: None, is_whole: false });
            }
            (Some(file), Some(known)) if known.file == file => {
                if let Some(known) = opened.as_mut().filter(|known| known.log.is_none()) {
                    known.log = WalFiles::of(path);
                }
            }
            _ => return Err(moved(path, Stage::Open)),
        }
        Ok(())
    }

    /// Records which store the file contains.
    pub(super) fn note_store(&self, identity: &StoreIdentity) {
        if let Some(opened) = self.opened.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
            && opened.store.is_none()
        {
            opened.store = Some(identity.id.clone());
        }
    }

    /// Fails if the open file, or its log, is not the one at its path.
    pub(super) fn check_place(&self, stage: Stage) -> Result<()> {
        let (Some(path), Some(opened)) = (&self.path, self.opened()) else { return Ok(()) };
        match (database_file::file_id(path) == Some(opened.file), opened.log) {
            (false, _) => Err(moved(path, stage)),
            (true, Some(log)) if !log.is_at(path) => Err(super::log::gone(path, stage)),
            (true, _) => Ok(()),
        }
    }

    pub(super) fn is_moved(&self) -> bool {
        self.check_place(Stage::Read).is_err()
    }

    /// Ensures that the open file is the one at its path. If another file of the same store is there, later connections
    /// open that one.
    pub(super) fn at_place(&self, writer: &mut Option<Connection>) -> Result<()> {
        let (Some(path), Some(opened)) = (&self.path, self.opened()) else { return Ok(()) };
        let now = database_file::file_id(path);
        if now == Some(opened.file) {
            return match opened.log {
                Some(log) if !log.is_at(path) => self.save_log(path, log, writer),
                _ => Ok(()),
            };
        }
        self.make_whole(&opened, writer.as_ref());
        if now.is_none() {
            return Err(moved(path, Stage::Open));
        }
        // No thread may read the old file while the new one is opened: SQLite's files beside both have the same names.
        let Ok(_alone) = self.reading.try_write() else { return Err(moved(path, Stage::Open)) };
        *writer = None;
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let found = self.store_at(path)?;
        if let Some(store) = opened.store.filter(|store| *store != found) {
            return Err(moved(path, Stage::Open).detail("found", found).detail("opened", store));
        }
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Checkpoints the log into the file it belongs to, wherever that file is now: the log keeps its name, and would be
    /// taken for the log of the next file there. Best effort, because other connections may be reading.
    fn make_whole(&self, opened: &OpenedFile, writer: Option<&Connection>) {
        let Some(connection) = writer.filter(|_| !opened.is_whole) else { return };
        if self.fold(connection)
            && let Some(opened) = self.opened.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
        {
            opened.is_whole = true;
        }
    }

    /// The id of the store in a file, read without changing it.
    fn store_at(&self, path: &Path) -> Result<String> {
        if database_file::look(path)?.is_no_store() {
            return Err(moved(path, Stage::Open));
        }
        let connection = self.open_reader(path)?;
        if user_version(&connection)? == 0 {
            return Err(moved(path, Stage::Open));
        }
        let found = connection.query_row("SELECT id FROM store", [], |row| row.get(0));
        found.map_err(|error| error::sqlite(error, Stage::Open))
    }
}

fn moved(path: &Path, stage: Stage) -> Error {
    let message = format!("{} is not the file that was opened: it was moved away or replaced", path.display());
    let error = Error::new(Code::StoreMoved, message).at(stage).entity(path.display().to_string());
    match stage {
        Stage::Commit => error.hint(
            "The written data may be in the moved file. Put the file back, and repeat the call with the same request \
             id.",
        ),
        _ => error.hint(
            "Nothing was written. Put the file back; to use another store, first end the programs that \
                        use this one.",
        ),
    }
}
