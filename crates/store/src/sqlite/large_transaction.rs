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
            // A log that is not copied now is copied by a later commit.
            let _ = connection.execute_batch(
                "PRAGMA cache_size = -2000; PRAGMA wal_autocheckpoint = 1000; PRAGMA wal_checkpoint(PASSIVE)",
            );
        }
    }
}
