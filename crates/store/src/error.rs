//! Errors of the engines, classified once, by code and never by text.

use std::time::Duration;

use rusqlite::ErrorCode;
use tenure_core::{Error, Kind, Stage};
use tokio_postgres::error::SqlState;

use crate::tx::Value;

/// A stored row that does not have the shape this program writes.
pub(crate) fn corrupt_row(column: usize, wanted: &str, found: Option<&Value>) -> Error {
    let found = match found {
        Some(Value::Text(_)) => "a text",
        Some(Value::Int(_)) => "a number",
        Some(Value::NullInt) => "nothing",
        None => "no such column",
    };
    corrupt(format!("a stored row is damaged: column {column} should be {wanted} and is {found}"))
}

/// The code of a write in a file that is not the one that the store was written in. Nothing was written; the store has to
/// continue as after a restore first.
pub const COPIED: &str = "copied_file";

/// A store whose content cannot be trusted.
pub fn corrupt(message: impl Into<String>) -> Error {
    Error::new(Kind::Storage, "corrupt_store", Stage::Read, message)
        .hint("Nothing was changed. `tenure doctor` checks the whole store.")
}

/// The answer of a store that a newer program has migrated.
pub fn newer_schema(found: i64, known: i64) -> Error {
    Error::new(
        Kind::Storage,
        "newer_schema",
        Stage::Open,
        format!("the store has schema {found} and this program knows schemas up to {known}"),
    )
    .hint("Nothing was written. Install the newer version of tenure on this machine.")
    .detail("found", found)
    .detail("known", known)
}

/// The code of a store that is not there.
pub(crate) const ABSENT: &str = "no_store";

/// The store is not there (or older than this program needs): made by the first write that may.
pub(crate) fn absent() -> Error {
    Error::new(Kind::Storage, ABSENT, Stage::Open, "there is no store at this place yet")
}

/// The code of a store that this program must bring up to date before it can read it.
pub(crate) const OLDER: &str = "older_schema";

/// The store was made by an older program and has not been brought up to date.
pub(crate) fn older_schema() -> Error {
    Error::new(Kind::Storage, OLDER, Stage::Open, "the store was made by an older version of tenure")
        .hint("Call once where the store can be written: any command brings it up to date.")
}

/// A backup that was named as a store.
pub(crate) fn is_backup() -> Error {
    Error::new(Kind::Storage, "is_backup", Stage::Open, "this file is a backup, not a store")
        .hint("Nothing was changed. Bring it into a place of its own: `tenure restore FILE --store PLACE`.")
}

/// A COMMIT was sent, its answer was lost, and the same request could not be made again.
pub(crate) fn outcome_unknown(error: Error) -> Error {
    busy("connection_lost", "the connection to PostgreSQL was lost while it committed")
        .hint("Whether it was carried out is not known. The same call under the same --request-id finds out.")
        .at(Stage::Commit)
        .cause(error)
}

/// The server owes an answer and says nothing. The connection is dropped, which is how it is lost, so it has that code.
pub(crate) fn silent(limit: Duration, stage: Stage) -> Error {
    let message = format!("PostgreSQL did not answer for {} s, so the connection was dropped", limit.as_secs_f32());
    let error = busy("connection_lost", message).at(stage);
    match stage {
        Stage::Commit => {
            error.hint("Whether it was carried out is not known. The same call under the same --request-id finds out.")
        }
        // Without a COMMIT the server takes back what it was told.
        _ => error,
    }
}

/// A schema that is there and that this login may not use.
pub(crate) fn hidden_schema(schema: &str) -> Error {
    Error::new(
        Kind::Denied,
        "postgres_privilege",
        Stage::Open,
        format!("the PostgreSQL login may not use the schema `{schema}`"),
    )
    .entity(schema)
    .hint("Grant it USAGE on the schema and the rights on its tables, or use another login in the store URL.")
}

/// A lock that could not be had in time.
pub(crate) fn busy(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Kind::Busy, code, Stage::Lock, message).hint("Nothing was changed. The same call may be made again.")
}

/// A directory or file that this process may not write.
pub(crate) fn not_writable(what: &str) -> Error {
    Error::new(Kind::Storage, "not_writable", Stage::Open, format!("{what} cannot be written")).hint(
        "Nothing was changed. If this shell runs in a sandbox, use the MCP tools of tenure, which run outside it, or let a \
         person run `tenure setup`; else check the permissions and whether the file system is read-only.",
    )
}

/// A disk without room.
pub(crate) fn disk_full() -> Error {
    Error::new(Kind::Storage, "disk_full", Stage::Write, "the disk of the store is full")
        .hint("Nothing was changed. Make room and call again; queries still answer.")
}

/// The code of a store with a change in it that only a writer can take back.
pub(crate) const UNFINISHED: &str = "unfinished_change";

/// Whoever made the store, or another program that changed it, ended in the middle.
fn unfinished() -> Error {
    Error::new(Kind::Storage, UNFINISHED, Stage::Open, "a change of the store was cut off and must be taken back first")
        .hint("Open the store once where it can be written: any op takes it back.")
}

/// Classifies an error of SQLite.
pub(crate) fn sqlite(error: rusqlite::Error, stage: Stage) -> Error {
    let Some(code) = error.sqlite_error_code() else {
        return match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => corrupt("a stored row is damaged").cause(error),
            other => Error::bug(format!("SQLite refused a call: {other}")).at(stage),
        };
    };
    let classified = match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            busy("store_busy", "another process is writing and did not finish in time")
        }
        ErrorCode::DiskFull => disk_full(),
        // No room for the index beside the file, which SQLite does not report as a full disk.
        _ if error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => disk_full(),
        _ if error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_READONLY_ROLLBACK) => unfinished(),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => not_writable("the store"),
        ErrorCode::CannotOpen => Error::new(Kind::Storage, "cannot_open", stage, "the store cannot be opened")
            .hint("Check that the file and its directory can be read, and written for changes."),
        ErrorCode::DatabaseCorrupt => corrupt("the store is corrupt"),
        ErrorCode::NotADatabase => corrupt("the file is not a Tenure store"),
        ErrorCode::SystemIoFailure => {
            Error::new(Kind::Storage, "io_failure", stage, "the disk of the store failed to read or write").hint(
                match stage {
                    Stage::Commit => "Whether it was carried out is not known. Check the disk and the system log.",
                    _ => "Nothing was changed. Check the disk and the system log.",
                },
            )
        }
        ErrorCode::ConstraintViolation => Error::bug("a rule of the schema was violated"),
        _ => Error::new(Kind::Storage, "sqlite", stage, "SQLite could not carry out a statement"),
    };
    let classified = if classified.stage() == Stage::Lock { classified } else { classified.at(stage) };
    classified.cause(error)
}

/// Whether an error of PostgreSQL says that the tables are not there.
pub(crate) fn is_absent(error: &tokio_postgres::Error) -> bool {
    matches!(error.code(), Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME))
}

/// Whether an error of PostgreSQL says that the tables are those of an older program.
pub(crate) fn is_older(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::UNDEFINED_COLUMN)
}

/// Whether the connection is gone, so that a new one may be tried.
pub(crate) fn is_lost(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        None => true,
        Some(code) => {
            code.code().starts_with("08")
                || matches!(
                    code,
                    &SqlState::ADMIN_SHUTDOWN
                        | &SqlState::CRASH_SHUTDOWN
                        | &SqlState::CANNOT_CONNECT_NOW
                        | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
                )
        }
    }
}

/// Classifies an error of PostgreSQL.
pub(crate) fn postgres(error: tokio_postgres::Error, stage: Stage) -> Error {
    if is_lost(&error) {
        // The answer to a COMMIT may be what was lost.
        return busy("connection_lost", "the connection to PostgreSQL was lost")
            .hint("Whether it was carried out is not known. The same call under the same --request-id finds out.")
            .at(stage)
            .cause(error);
    }
    by_state(&error, stage)
}

/// Classifies what PostgreSQL said instead of letting a client in. A server that starts or stops is not a connection
/// that was lost: there was none.
pub(crate) fn postgres_at_open(error: &tokio_postgres::Error) -> Error {
    if is_lost(error) {
        return busy("unreachable", "PostgreSQL takes no connections now").at(Stage::Open);
    }
    by_state(error, Stage::Open)
}

fn by_state(error: &tokio_postgres::Error, stage: Stage) -> Error {
    let code = error.code().cloned().unwrap_or(SqlState::INTERNAL_ERROR);
    let classified = match &code {
        &SqlState::LOCK_NOT_AVAILABLE => busy("store_busy", "another process is writing and did not finish in time"),
        &SqlState::QUERY_CANCELED => {
            Error::new(Kind::Busy, "statement_timeout", stage, "PostgreSQL did not finish a statement in time")
                .hint("Nothing was changed. Send less in one call, or call when the server has less to do.")
        }
        &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => {
            busy("store_busy", "the transaction met another one")
        }
        &SqlState::DISK_FULL => disk_full(),
        &SqlState::TOO_MANY_CONNECTIONS => busy("too_many_connections", "PostgreSQL has no connection left"),
        &SqlState::READ_ONLY_SQL_TRANSACTION => not_writable("the PostgreSQL store"),
        &SqlState::INSUFFICIENT_PRIVILEGE => not_writable("the PostgreSQL store").hint(
            "Nothing was changed. GRANT the login of the store URL the rights on the schema and all its tables, or let \
             it own them: a newer version of tenure changes tables.",
        ),
        &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            Error::new(Kind::Denied, "postgres_login", stage, "PostgreSQL refused the login")
                .hint("Check user and password in the store URL.")
        }
        &SqlState::INVALID_CATALOG_NAME => {
            Error::new(Kind::Storage, "no_database", stage, "the PostgreSQL database does not exist")
                .hint("Create it, or correct the store URL.")
        }
        code if code.code().starts_with("23") => Error::bug("a rule of the schema was violated"),
        _ => Error::new(Kind::Storage, "postgres", stage, "PostgreSQL could not carry out a statement"),
    };
    let classified = if classified.stage() == Stage::Lock { classified } else { classified.at(stage) };
    let text = error.as_db_error().map_or_else(|| error.to_string(), |db| format!("{}: {}", code.code(), db.message()));
    classified.detail("sqlstate", code.code()).cause(text)
}
/// The answer to a write that panicked.
pub(crate) fn panicked() -> Error {
    Error::bug("an op panicked; nothing of it was kept")
}

/// The answer to a write that nobody waits for any more: whoever asked has gone another way.
pub(crate) fn unwanted() -> Error {
    Error::new(Kind::Busy, "not_run", Stage::Lock, "whoever asked had left before the turn came")
        .hint("Nothing was done. Ask again with the same request id.")
}
