//! When the log is copied into the database, and how a log is recognised that a closed program left behind.
//!
//! SQLite's last connection copies the log into the database and removes it. For a process that makes one call this takes
//! three of its five syncs: the header of the new log, and both files of the copy. So such a process leaves a short log (`-wal`
//! and `-shm`) to the next one, which reads it and continues it. A long log is copied and removed as usual, so no log at
//! rest is longer than [`SHORT_LOG`].
//!
//! A log at rest can lose its database: a person or a program puts another file in the database's place, or moves the file
//! away. SQLite does not notice, and would mix the log with a file that it does not belong to. Two checks prevent that,
//! both before the file is opened:
//!
//! - The program that leaves a log records which database and which log belong together (`-log`), by inode and birth
//!   time. If the log is still the recorded one but the database is not, the database was replaced, and the store is
//!   refused. If both differ, they were copied together. Without a record, or on a file system that does not keep these
//!   fields, there is no judgement.
//! - No new store is begun beside the log of one that is gone.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use tenure_core::{Code, Error, Result, Stage};

use super::Sqlite;
use super::database_file::{self, FilePresence};
use super::turnstile::opened;
use crate::table::project::FileId;

/// The length, in bytes, up to which a process that makes one call leaves the log behind: 128 pages, the changes of some ten
/// calls. A shorter log costs more syncs, a longer one more reading; docs/design/0011-checkpoint-policy.md has the numbers.
pub const SHORT_LOG: u64 = 128 * 4_120;

impl Sqlite {
    /// Leaves a short log to the next process. Called before the connections close. Without this call, or if anything is
    /// unusual, SQLite copies the log into the database.
    pub(super) fn leave_short_log(&mut self) {
        let Some(path) = self.path.clone().filter(|_| self.options.leave_log > 0) else { return };
        let (_, length) = database_file::sizes(&path);
        if length == 0 || length > self.options.leave_log || self.is_moved() {
            return;
        }
        let Ok(Some(connection)) = self.writer.get_mut() else { return };
        if record(&path).is_ok() {
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }
}

/// Refuses a log that belongs to a database that is no longer at this path.
fn check_pair(path: &Path, has_log: bool) -> Result<()> {
    let Some([database, log]) = recorded(path) else { return Ok(()) };
    let (Some(found), Some(found_log)) = (database_file::file(path), log_file(path)) else { return Ok(()) };
    let kept = database_file::kept_fields(path);
    if is(found, database) || !is(found_log, log) || !(kept.inode && kept.born) {
        return Ok(());
    }
    if !has_log {
        // The log was copied into its database before that was replaced; from now on it belongs to this one.
        let _ = fs::remove_file(record_of(path));
        return Ok(());
    }
    let message = format!("{} was replaced, and {0}-wal has changes of the file that was there", path.display());
    Err(Error::new(Code::StoreMoved, message).at(Stage::Open).entity(path.display().to_string()).hint(
        "Nothing was changed. Put the file back, or move the -wal and -shm beside it away to use this file without them.",
    ))
}

/// Checks that the log at a path belongs to the database there. Called before a connection is opened; what else may be
/// wrong with the files is left to the opening. The log is looked at first, because a program that creates a store creates the
/// database first.
pub(super) fn check(path: &Path, may_create: bool) -> Result<()> {
    let has_log = !database_file::has_empty_wal(path);
    match database_file::look(path) {
        // Neither a new store nor an empty one may stand in for the one that is gone.
        Ok(found) if found.is_no_store() => {
            if has_log && may_create {
                Err(orphan(path))
            } else {
                Ok(())
            }
        }
        Ok(FilePresence::Present { wal: true, .. }) => check_pair(path, has_log),
        _ => Ok(()),
    }
}

fn orphan(path: &Path) -> Error {
    let message = format!("{} is gone, but its log ({0}-wal) is there and has changes", path.display());
    Error::new(Code::StoreMoved, message).at(Stage::Open).entity(path.display().to_string()).hint(
        "Nothing was changed. Put the file back, or move the log to the place where the file is now. To begin a new store, \
         move the log away.",
    )
}

fn is(found: FileId, recorded: FileId) -> bool {
    // Without a birth time another file may have the same inode.
    found.born == 0 || (found.inode, found.born) == (recorded.inode, recorded.born)
}

fn log_file(path: &Path) -> Option<FileId> {
    database_file::file(&database_file::beside(path, "-wal"))
}

fn record_of(path: &Path) -> PathBuf {
    database_file::beside(path, "-log")
}

/// Records the log that is left with the database that it belongs to, unless that is recorded.
fn record(path: &Path) -> Result<()> {
    let (Some(database), Some(log)) = (database_file::file(path), log_file(path)) else { return Ok(()) };
    if recorded(path).is_some_and(|[one, two]| is(database, one) && is(log, two)) {
        return Ok(());
    }
    let name = record_of(path);
    let text = format!("{} {} {} {}\n", database.inode, database.born, log.inode, log.born);
    let mut file = opened(&name, OpenOptions::new().write(true).create(true).truncate(true).mode(0o600))?;
    file.write_all(text.as_bytes()).map_err(|error| database_file::unwritable(&name, error))
}

/// The recorded database and its log. A record that was written by half reads as none.
fn recorded(path: &Path) -> Option<[FileId; 2]> {
    let mut text = String::new();
    opened(&record_of(path), OpenOptions::new().read(true)).ok()?.read_to_string(&mut text).ok()?;
    let numbers: Vec<i64> =
        text.strip_suffix('\n')?.split(' ').map(str::parse).collect::<std::result::Result<_, _>>().ok()?;
    let file = |inode: i64, born: i64| FileId { inode, born, copied_at: 0 };
    match *numbers {
        [inode, born, log, log_born] if born != 0 && log_born != 0 => Some([file(inode, born), file(log, log_born)]),
        _ => None,
    }
}
