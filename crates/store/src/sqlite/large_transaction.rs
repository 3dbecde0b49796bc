//! Transactions that write many rows.
//!
//! Two settings of SQLite fit small transactions. Its page cache holds 2 MiB: a larger transaction writes pages to the log,
//! reads them back for the next row and writes them again. And the commit that makes the log long also copies the log into
//! the database, while the program still has its turn. A large transaction keeps its pages in memory, and copies the log
//! after the next writer had its turn.

use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

/// Rows by which a transaction becomes a large one.
const ROWS: usize = 1_000;

/// Whether the open transaction of the writing connection is a large one.
#[derive(Default)]
pub(crate) struct LargeTransaction(AtomicBool);

impl LargeTransaction {
    /// Expects so many rows more.
    pub(super) fn grow(&self, connection: &Connection, rows: usize) -> rusqlite::Result<()> {
        if rows < ROWS || self.0.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        connection.execute_batch("PRAGMA cache_size = -262144; PRAGMA wal_autocheckpoint = 0")
    }

    /// Ends what [`LargeTransaction::grow`] began. It is called without a turn, after a commit or a rollback. Other
    /// processes that commit meanwhile leave the log to this one: the copy has a lock of its own that is never waited for.
    pub(super) fn end(&self, connection: &Connection) {
        if self.0.swap(false, Ordering::Relaxed) {
            // The copy comes first: freeing the cache takes time, in which the next commit would copy the log inside its turn.
            // A log that is not copied now is copied by a later commit.
            let _ = connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
            if connection.execute_batch("PRAGMA cache_size = -2000; PRAGMA wal_autocheckpoint = 1000").is_err() {
                self.0.store(true, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_many_rows_change_the_settings_and_the_end_puts_them_back() {
        let dir = tempfile::tempdir().unwrap();
        let connection = Connection::open(dir.path().join("t.db")).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a)").unwrap();
        let setting =
            |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).unwrap();
        let settings = || (setting("cache_size"), setting("wal_autocheckpoint"));
        let usual = settings();
        let large = LargeTransaction::default();
        large.grow(&connection, ROWS - 1).unwrap();
        assert_eq!(settings(), usual);
        connection.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)").unwrap();
        large.grow(&connection, ROWS).unwrap();
        assert_eq!(settings(), (-262_144, 0));
        connection.execute_batch("COMMIT").unwrap();
        large.end(&connection);
        assert_eq!(settings(), usual);
        // Everything in the log was copied: a further checkpoint finds as many frames copied as there are.
        let frames = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get(1)?, row.get(2)?)));
        let (all, copied): (i64, i64) = frames.unwrap();
        assert_eq!(all, copied);
    }
}
