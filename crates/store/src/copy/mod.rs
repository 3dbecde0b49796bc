//! Copies all rows of a store into a file, and from such a file into a store.
//!
//! A copy is one SQLite file with the schema of a store, whichever engine the store uses. The migrations create it, and
//! one read transaction fills it row by row, so writers continue and the copy is one snapshot. No pages of the source
//! are copied, so deleted data does not reach the copy.

mod backup;
mod backup_file;
mod layout;
pub mod temp_files;

use std::path::Path;
use std::sync::atomic::AtomicU64;

use rusqlite::{Connection, OpenFlags};
use tenure_core::{Code, Error, Result, Stage};

pub use self::backup::Backup;
pub(crate) use self::backup::is_own_schema;
pub use self::backup::{HEAD, bad, declared_size};
pub use self::backup_file::{BackupFile, exists};
pub use crate::atomic_file::Existing;
use crate::error::{self, corrupt};
use crate::migrate::{self, BACKUP_ID, VERSION};
use crate::sqlite::{Keep, SqliteTx};
use crate::statement::{self, Statement};
use crate::store::{Entered, StoreIdentity};
use crate::table::{project, shown_fence};
use crate::tx::{Tx, Value};

/// The number of rows in memory at once.
const PAGE: usize = 256;

/// Called with the number of rows copied so far.
pub type CopyProgress<'a> = &'a dyn Fn(u64);

/// The content of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The identity of the copied store.
    pub identity: StoreIdentity,
    /// The number of rows per table.
    pub rows: Vec<(&'static str, i64)>,
}

impl Copied {
    /// The number of rows of one table.
    pub fn count(&self, table: &str) -> i64 {
        self.rows.iter().find(|(name, _)| *name == table).map_or(0, |(_, rows)| *rows)
    }
}

/// Writes everything that a transaction sees to an existing empty file. It can be called again after a failure.
pub fn write(tx: &mut dyn Tx, entered: &Entered, to: &BackupFile, progress: CopyProgress<'_>) -> Result<Copied> {
    let found = project::schema(tx)?;
    if entered.identity.id.is_empty() {
        return Err(error::absent().hint("There is nothing to back up: the first write creates the store."));
    }
    if found > VERSION {
        // Its rows have columns that this version does not know and would lose.
        return Err(error::newer_schema(found, VERSION));
    }
    let expected = counts(tx)?;
    to.empty()?;
    let connection = fresh(to)?;
    let failed = |error: Error| to.unwritable(error);
    let steps = AtomicU64::new(0);
    pour(tx, &mut SqliteTx::new(&connection, &steps, Keep::Connection), progress).map_err(failed)?;
    let sqlite = |error| to.unwritable(error::sqlite(error, Stage::Write));
    connection.pragma_update(None, "user_version", VERSION).map_err(sqlite)?;
    connection.execute_batch("COMMIT").map_err(sqlite)?;
    connection.close().map_err(|(_, error)| sqlite(error))?;
    Ok(Copied { identity: entered.identity.clone(), rows: expected })
}

/// Replaces all rows by those of a backup. The fences shown to agents are kept for tasks that still exist. A holder
/// whose hold began after the backup is then told that it ended, instead of being treated as an agent that never held
/// it.
pub fn replace(tx: &mut dyn Tx, backup: &Backup, progress: CopyProgress<'_>) -> Result<()> {
    for (table, statements) in layout::all() {
        if table.name != "shown" {
            tx.execute(statements.clear, &[])?;
        }
    }
    backup.read(|from| pour(from, tx, progress)).map_err(|error| match (error.code(), error.stage()) {
        // Damage found while reading is the backup's: the store is only written here.
        (Code::CorruptStore, Stage::Read) => bad("one of its rows is damaged").cause(error),
        _ => error,
    })?;
    shown_fence::forget_unknown(tx)?;
    // Check that every row of the backup has arrived, so that a partial restore is never committed.
    for ((name, found), (_, wanted)) in counts(tx)?.into_iter().zip(backup.counts()) {
        if name != "shown" && found != *wanted {
            return Err(Error::bug(format!("{found} of {wanted} rows of {name} arrived")));
        }
    }
    Ok(())
}

/// All projects of a store, sorted by key.
pub fn projects(tx: &mut dyn Tx) -> Result<Vec<project::Row>> {
    let keys = tx.query(crate::Sql::same("SELECT key FROM project ORDER BY key"), &[])?;
    let mut rows = Vec::with_capacity(keys.len());
    for mut key in keys {
        let (_, row, _) = project::enter(tx, &key.text(0)?, project::LockMode::Read)?;
        rows.extend(row);
    }
    Ok(rows)
}

/// The number of rows per table.
pub fn counts(tx: &mut dyn Tx) -> Result<Vec<(&'static str, i64)>> {
    let counts = layout::all().map(|(_, statements)| Statement::new(statements.count, Vec::new(), statement::number));
    let counts = tx.fetch(counts.collect::<Vec<_>>())?;
    Ok(layout::all().zip(counts).map(|((table, _), rows)| (table.name, rows)).collect())
}

/// Copies all rows of all tables.
fn pour(from: &mut dyn Tx, into: &mut dyn Tx, progress: CopyProgress<'_>) -> Result<()> {
    let mut moved = 0;
    for (table, statements) in layout::all() {
        let mut after: Option<Vec<Value>> = None;
        loop {
            let mut args = vec![Value::from(PAGE)];
            let rows = match after.take() {
                None => from.query(statements.first, &args)?,
                Some(key) => {
                    args.extend(key);
                    from.query(statements.next, &args)?
                }
            };
            let Some(last) = rows.last() else { break };
            after = (rows.len() == PAGE).then(|| table.key_of(last));
            let items = rows.iter().map(encode).collect::<Result<Vec<_>>>()?;
            let json = serde_json::to_string(&items).map_err(|error| Error::bug(error.to_string()))?;
            into.execute(statements.insert, &[json.into()])?;
            moved += rows.len() as u64;
            progress(moved);
            if after.is_none() {
                break;
            }
        }
    }
    Ok(())
}

fn encode(row: &crate::Row) -> Result<Vec<serde_json::Value>> {
    row.0
        .iter()
        .map(|value| match value {
            // No door accepts a NUL, and PostgreSQL cannot store it.
            Value::Text(text) if text.contains('\0') => Err(corrupt("a stored text contains a NUL character")),
            Value::Text(text) => Ok(text.as_str().into()),
            Value::Int(number) => Ok((*number).into()),
            Value::NullInt => Ok(serde_json::Value::Null),
        })
        .collect()
}

/// Creates a backup without rows, in an open transaction. No other process sees the file, and a failure discards it, so
/// it needs neither a journal nor a sync before the final one.
fn fresh(to: &BackupFile) -> Result<Connection> {
    let fail = |error| to.unwritable(error::sqlite(error, Stage::Write));
    let connection = plain(to.path()).map_err(fail)?;
    connection
        .execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; BEGIN IMMEDIATE",
        )
        .map_err(fail)?;
    connection.execute_batch(&migrate::sqlite_at_once()).map_err(fail)?;
    connection.pragma_update(None, "application_id", BACKUP_ID).map_err(fail)?;
    Ok(connection)
}

/// Opens a file that only this process uses.
fn plain(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}
