//! Whether the database file is the one that the store was written in.
//!
//! A copy of the file, or an old one that git or a person put back, has a history that is not the store's: numbers
//! issued since then would be issued again. The store therefore records its file by inode and birth time. The device is
//! not recorded, because its number changes with a reboot. The next write continues a file that differs as after a
//! restore; the kernel does that when a write is refused with [`Code::CopiedFile`]. Queries read such a file as it is.
//!
//! An original that is moved back after its copy was used in its place has the recorded inode and birth time, but its
//! numbers are behind. The machine's record of where the store continued ([`crate::Continued`]) detects that.
//!
//! Two cases cannot be detected: a copy that is written over the file in place keeps inode and birth time, and so does
//! a disk that is rolled back.

use std::path::Path;

use tenure_core::number::EventNumber;
use tenure_core::{Code, Error, Result, Stage};

use super::{Sqlite, database_file};
use crate::store::{Entered, FileState};
use crate::table::project::{self, FileId};
use crate::tx::Tx;

/// The record of a file that is known to be a copy although it was never compared: no real file has this birth time.
const ANOTHER: FileId = FileId { inode: 0, born: 1, copied_at: 0 };

impl Sqlite {
    /// Refuses a write in a file that is not the store's own. If no file is recorded, the present one is recorded.
    pub(super) fn check_own_file(&self, tx: &mut dyn Tx, entered: &Entered, recorded: FileId) -> Result<()> {
        let Some((path, found)) = self.present_file() else { return Ok(()) };
        if is_another(recorded, found, path) {
            return Err(copied(path));
        }
        let newest = entered.project.as_ref().map_or(EventNumber::START, |project| project.last_event);
        if self.is_behind(tx, &entered.identity.id, (path, newest))? {
            return Err(copied(path));
        }
        if recorded.is_unknown() {
            return project::set_file(tx, FileId { copied_at: recorded.copied_at, ..found });
        }
        // The recording process could not read birth times. An inode alone is not enough, because other files reuse it.
        if recorded.born == 0 && found.born != 0 {
            return project::set_file(tx, FileId { born: found.born, ..recorded });
        }
        Ok(())
    }

    /// Whether the file is not the store's own.
    pub(super) fn is_copied(&self, tx: &mut dyn Tx, store: &str, recorded: FileId) -> Result<bool> {
        match self.present_file() {
            None => Ok(false),
            Some((path, found)) => {
                Ok(is_another(recorded, found, path) || self.is_behind(tx, store, (path, EventNumber::START))?)
            }
        }
    }

    /// Whether the store continued at this path after a number that the file does not have. All projects continue after
    /// that number. `newest` is a number that the file is known to have.
    fn is_behind(&self, tx: &mut dyn Tx, store: &str, (path, newest): (&Path, EventNumber)) -> Result<bool> {
        let continued = self.options.continued.as_ref().and_then(|record| record.continued_at(store, path));
        match continued {
            Some(number) if newest < number => Ok(project::newest_event(tx)? < number),
            _ => Ok(false),
        }
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
        let Some((path, found)) = self.present_file() else { return Ok(()) };
        let last = project::last_used(tx)?;
        let born = found.born / 1_000;
        let is_believed = database_file::kept_fields(path).born;
        let is_copy = is_believed && last.is_some_and(|last| born > last.0 && born <= self.options.clock.now().0);
        project::set_file(tx, if is_copy { ANOTHER } else { found })
    }

    /// The state of the file, for `doctor`.
    pub(crate) fn file_state(&self) -> Result<FileState> {
        self.read("", &|tx, entered| {
            let recorded = project::file(tx)?;
            Ok(match recorded.copied_at {
                _ if self.is_copied(tx, &entered.identity.id, recorded)? => FileState::Copied,
                0 => FileState::Own,
                at => FileState::Continued(tenure_core::Time(at)),
            })
        })
    }

    /// The file at the store's path. `None` for a store in memory, and for tests that put copies in place.
    fn present_file(&self) -> Option<(&Path, FileId)> {
        let path = self.path.as_deref().filter(|_| !self.options.any_file)?;
        Some((path, database_file::file(path)?))
    }
}

/// Whether the present file differs from the recorded one. A field is compared if both values are known and the file
/// system keeps it.
fn is_another(recorded: FileId, found: FileId, path: &Path) -> bool {
    let differ = |recorded: i64, found: i64| recorded != 0 && found != 0 && recorded != found;
    // The mark of a copy also counts for a process that cannot read birth times.
    if (recorded.inode, recorded.born) == (ANOTHER.inode, ANOTHER.born) {
        return true;
    }
    let (inode, born) = (differ(recorded.inode, found.inode), differ(recorded.born, found.born));
    // A difference is rare, so the file system is looked up only then.
    (inode || born) && {
        let kept = database_file::kept_fields(path);
        (inode && kept.inode) || (born && kept.born)
    }
}

fn copied(path: &Path) -> Error {
    let message =
        format!("{} is not the original file of the store: it is a copy, or was restored by hand", path.display());
    Error::new(Code::CopiedFile, message)
        .at(Stage::Lock)
        .entity(path.display().to_string())
        .hint("Nothing was written. Repeat the call: the next write continues the store as after a restore.")
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
