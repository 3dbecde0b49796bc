//! Backup files. A file may come from anywhere, so nothing in it is trusted before it is validated.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};
use tenure_core::action::{Action, Advice};
use tenure_core::{Code, Error, Result, Stage};

use super::{counts, layout, plain};
use crate::error;
use crate::migrate::{self, APPLICATION_ID, BACKUP_ID, STEPS, VERSION};
use crate::sqlite::{Keep, SqliteTx};
use crate::store::StoreIdentity;
use crate::table::project;
use crate::tx::Tx;

/// A validated backup: an undamaged database of the schema that this version knows, with one store in it.
pub struct Backup {
    connection: Connection,
    steps: AtomicU64,
    identity: StoreIdentity,
    counts: Vec<(&'static str, i64)>,
}

impl Backup {
    /// Validates the file at `path`. The caller must own it, and it must not be open elsewhere: an older schema is
    /// migrated in place, and SQLite may create files beside it.
    ///
    /// The schema is compared before any of its SQL can run. After that, every table, index and check in the file is
    /// Tenure's own, and damage can only be in pages and rows.
    pub fn open(path: &Path) -> Result<Backup> {
        look_over(path).map_err(|error| match error.code() {
            // A failure of our own copy says nothing about the original file.
            Code::NewerSchema | Code::BadBackup | Code::DiskFull | Code::IoFailure => error,
            _ => bad("it cannot be read as a backup").cause(error),
        })
    }

    /// The identity of the backed-up store.
    pub fn identity(&self) -> &StoreIdentity {
        &self.identity
    }

    /// The number of rows per table.
    pub fn counts(&self) -> &[(&'static str, i64)] {
        &self.counts
    }

    /// Runs a read transaction on the backup.
    pub fn read<T>(&self, body: impl FnOnce(&mut dyn Tx) -> Result<T>) -> Result<T> {
        body(&mut SqliteTx::new(&self.connection, &self.steps, Keep::Connection))
    }
}

/// The refusal of a file that is not a backup, or a damaged one.
pub fn bad(why: impl std::fmt::Display) -> Error {
    Error::new(Code::BadBackup, format!("this is not a valid backup of a Tenure store: {why}")).at(Stage::Read).hint(
        Advice::from("Nothing was changed. Give a file that ")
            .action(Action::Backup { named: false })
            .text(" wrote, unchanged."),
    )
}

/// The length of the header that identifies a backup.
pub const HEAD: usize = 100;

/// Checks the header of an alleged backup and returns the file size it declares, so that nothing else is read or copied
/// as a backup.
pub fn declared_size(head: &[u8]) -> Result<u64> {
    if head.len() < HEAD || !head.starts_with(b"SQLite format 3\0") {
        return Err(bad("it is not a database"));
    }
    let number = |at: usize| head[at..at + 4].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    refuse_other(i64::try_from(number(68)).unwrap_or_default())?;
    let page = match number(16) >> 16 {
        1 => 65_536,
        size => size,
    };
    Ok(page * number(28))
}

/// Refuses a database without the mark of a backup. This includes a store's database file, because acknowledged changes
/// may be in a log that was not copied along.
fn refuse_other(application: i64) -> Result<()> {
    match application {
        BACKUP_ID => Ok(()),
        APPLICATION_ID => Err(bad("it is a store or a copy of a store's file, which may lack acknowledged \
                                   changes")
        .hint(
            Advice::from("Nothing was changed. Take a backup of that store with ")
                .action(Action::Backup { named: true })
                .text("."),
        )),
        _ => Err(bad("it is empty, or a database of another program")),
    }
}

fn look_over(path: &Path) -> Result<Backup> {
    let open = |error| error::sqlite(error, Stage::Open);
    let connection = plain(path).map_err(open)?;
    for (setting, on) in
        [(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true), (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)]
    {
        connection.set_db_config(setting, on).map_err(open)?;
    }
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id").map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => bad("it is not a database").cause(error),
        Some(ErrorCode::DatabaseCorrupt) => bad("it is damaged or truncated").cause(error),
        _ => open(error),
    })?;
    refuse_other(application)?;
    let version = number("PRAGMA user_version").map_err(open)?;
    if version > VERSION {
        return Err(error::newer_schema(version, VERSION));
    }
    // SQLite reads the missing end of a truncated last page as zeros, which would change rows there.
    let whole = number("PRAGMA page_count").map_err(open)?.saturating_mul(number("PRAGMA page_size").map_err(open)?);
    if std::fs::metadata(path).map(|meta| i64::try_from(meta.len())).ok() != Some(Ok(whole)) {
        return Err(bad("it is truncated"));
    }
    if version < 1 || schema(&connection).map_err(open)? != expected(version)? {
        return Err(bad("its tables are not those of a store"));
    }
    let damage: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(open)?;
    if damage != "ok" {
        return Err(bad("it is damaged").cause(damage));
    }
    if version < VERSION {
        connection.execute_batch("BEGIN").map_err(open)?;
        for step in STEPS.iter().filter(|step| step.version > version) {
            connection.execute_batch(&step.sqlite()).map_err(open)?;
        }
        migrate::fill(&mut SqliteTx::new(&connection, &AtomicU64::new(0), Keep::Connection), version)?;
        connection.pragma_update(None, "user_version", VERSION).map_err(open)?;
        connection.execute_batch("COMMIT").map_err(open)?;
    }
    let steps = AtomicU64::new(0);
    let mut tx = SqliteTx::new(&connection, &steps, Keep::Connection);
    project::set_schema(&mut tx, VERSION)?;
    let (identity, _, _) = project::enter(&mut tx, "", project::LockMode::Read)?;
    let is_id = |id: &str| id.len() > 2 && id.starts_with("s-") && tenure_core::id::is_prefix(id);
    if !is_id(&identity.id) || !is_id(&identity.incarnation) {
        return Err(bad("it does not name its store"));
    }
    for (table, statements) in layout::all() {
        let Some(orphans) = statements.orphans else { continue };
        if tx.query(orphans, &[])?.first().map(|row| row.int(0)).transpose()? != Some(0) {
            return Err(bad(format!("{} has rows of projects that the backup lacks", table.name)));
        }
    }
    let counts = counts(&mut tx)?;
    drop(tx);
    Ok(Backup { connection, steps, identity, counts })
}

/// Whether a database has exactly the schema that all steps produce, object by object.
pub(crate) fn is_own_schema(connection: &Connection) -> Result<bool> {
    let found = schema(connection).map_err(|error| error::sqlite(error, Stage::Read))?;
    Ok(found == expected(VERSION)?)
}

/// The objects of a schema, each with its SQL.
type Objects = Vec<(String, String, String, Option<String>)>;

fn schema(connection: &Connection) -> rusqlite::Result<Objects> {
    let mut statement = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2, 3")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    rows.collect()
}

/// The schema that the steps up to a version produce.
fn expected(version: i64) -> Result<Objects> {
    let open = |error| error::sqlite(error, Stage::Open);
    let model = Connection::open_in_memory().map_err(open)?;
    for step in STEPS.iter().filter(|step| step.version <= version) {
        model.execute_batch(&step.sqlite()).map_err(open)?;
    }
    schema(&model).map_err(open)
}
