//! Whether the database file is the one that the store was written in.
//!
//! A copy of the file, or an old one that git or a person put back, has a history that is not the store's: numbers
//! issued since then would be issued again. The store therefore records its file by inode and birth time. The device is
//! not recorded, because its number changes with a reboot. The next write continues a file that differs as after a
//! restore; the kernel does that when a write is refused with [`Code::CopiedFile`]. Queries read such a file as it is.
//!
//! Two cases cannot be detected: a copy that is written over the file in place keeps inode and birth time, and so does
//! a disk that is rolled back.

use std::path::Path;

use tenure_core::{Code, Error, Result, Stage};

use super::{Sqlite, database_file};
use crate::store::FileState;
use crate::table::project::{self, FileId};
use crate::tx::Tx;

/// The record of a file that is known to be a copy although it was never compared: no real file has this birth time.
const ANOTHER: FileId = FileId { inode: 0, born: 1, copied_at: 0 };

impl Sqlite {
    /// Refuses a write in a file that is not the store's own. If no file is recorded, the present one is recorded.
    pub(super) fn check_own_file(&self, tx: &mut dyn Tx, recorded: FileId) -> Result<()> {
        match self.present_file() {
            Some((path, found)) if is_another(recorded, found, path) => Err(copied(path)),
            Some((_, found)) if recorded.is_unknown() => {
                project::set_file(tx, FileId { copied_at: recorded.copied_at, ..found })
            }
            // The recording process could not read birth times. An inode alone is not enough, because other files reuse
            // it.
            Some((_, found)) if recorded.born == 0 && found.born != 0 => {
                project::set_file(tx, FileId { born: found.born, ..recorded })
            }
            _ => Ok(()),
        }
    }

    /// Whether the file is not the store's own.
    pub(super) fn is_copied(&self, recorded: FileId) -> bool {
        self.present_file().is_some_and(|(path, found)| is_another(recorded, found, path))
    }

    /// Records the open file as the store's own.
    pub(super) fn record_file(&self, tx: &mut dyn Tx) -> Result<()> {
        let Some((_, found)) = self.present_file() else { return Ok(()) };
        let copied_at = project::file(tx)?.copied_at;
        project::set_file(tx, FileId { copied_at, ..found })
    }

    /// Records the file when a store is created, or migrated from a schema without a record. A file that was born after
    /// the last op of every project cannot have been used for any of them: it is a copy. A birth time in the future of
    /// the clock is not trusted.
    pub(super) fn record_first_file(&self, tx: &mut dyn Tx) -> Result<()> {
        let Some((_, found)) = self.present_file() else { return Ok(()) };
        let last = project::last_used(tx)?;
        let born = found.born / 1_000;
        let is_copy = last.is_some_and(|last| born > last.0 && born <= self.options.clock.now().0);
        project::set_file(tx, if is_copy { ANOTHER } else { found })
    }

    /// The state of the file, for `doctor`.
    pub(crate) fn file_state(&self) -> Result<FileState> {
        let recorded = self.read("", &|tx, _| project::file(tx))?;
        Ok(match recorded.copied_at {
            _ if self.is_copied(recorded) => FileState::Copied,
            0 => FileState::Own,
            at => FileState::Continued(tenure_core::Time(at)),
        })
    }

    /// The file at the store's path. `None` for a store in memory, and for tests that put copies in place.
    fn present_file(&self) -> Option<(&Path, FileId)> {
        let path = self.path.as_deref().filter(|_| !self.options.any_file)?;
        Some((path, database_file::file(path)?))
    }
}

/// Whether the present file differs from the recorded one, as far as both are known. Some file systems assign new inode
/// numbers with each mount.
fn is_another(recorded: FileId, found: FileId, path: &Path) -> bool {
    let differ = |recorded: i64, found: i64| recorded != 0 && found != 0 && recorded != found;
    // The mark of a copy also counts for a process that cannot read birth times.
    (recorded.inode, recorded.born) == (ANOTHER.inode, ANOTHER.born)
        || differ(recorded.born, found.born)
        || (differ(recorded.inode, found.inode) && database_file::keeps_inodes(path.parent().unwrap_or(path)))
}

fn copied(path: &Path) -> Error {
    let message =
        format!("{} is not the file that the store was written in: it is a copy, or was put back", path.display());
    Error::new(Code::CopiedFile, message)
        .at(Stage::Lock)
        .entity(path.display().to_string())
        .hint("Nothing was written. The next write continues the store as after a restore; call again.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_on_either_side_is_not_compared() {
        let here = std::env::temp_dir();
        let path = here.join("t.db");
        let file = |inode, born| FileId { inode, born, copied_at: 0 };
        assert!(!is_another(file(0, 0), file(7, 9), &path));
        assert!(!is_another(file(7, 0), file(7, 9), &path));
        assert!(!is_another(file(7, 9), file(7, 0), &path));
        assert!(is_another(file(7, 9), file(7, 8), &path), "an inode that is used again");
        assert!(is_another(file(7, 0), file(8, 9), &path));
        assert!(is_another(ANOTHER, file(7, 9), &path));
        assert!(is_another(ANOTHER, file(7, 0), &path), "also where birth times cannot be read");
    }
}
