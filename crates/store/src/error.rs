//! Classifies engine errors once, by code and never by text.

use std::time::Duration;

use rusqlite::ErrorCode;
use tenure_core::action::{Action, Advice};
use tenure_core::{Code, Error, Stage};
use tokio_postgres::error::SqlState;

use crate::tx::Value;

/// A stored row does not have the shape that this version writes.
pub(crate) fn corrupt_row(column: usize, wanted: &str, found: Option<&Value>) -> Error {
    let found = match found {
        Some(Value::Text(_)) => "a text",
        Some(Value::Int(_)) => "a number",
        Some(Value::NullInt) => "nothing",
        None => "no such column",
    };
    corrupt(format!("a stored row is damaged: column {column} should be {wanted} and is {found}"))
}

/// The content of the store cannot be trusted.
pub fn corrupt(message: impl Into<String>) -> Error {
    Error::new(Code::CorruptStore, message)
        .at(Stage::Read)
        .hint(Advice::from("Nothing was changed. ").action(Action::Doctor).text(" checks the whole store."))
}

/// A newer version has migrated the store.
pub fn newer_schema(found: i64, known: i64) -> Error {
    Error::new(
        Code::NewerSchema,
        format!(
            "the store has schema {found}, but this program knows only schemas up to \
                                           {known}"
        ),
    )
    .at(Stage::Open)
    .hint("Nothing was written. Install the newer version of Tenure on this machine.")
    .detail("found", found)
    .detail("known", known)
}

/// The code of a store that does not exist.
pub(crate) const ABSENT: Code = Code::NoStore;

/// The store does not exist, or is older than this version needs. The first write that is allowed to creates it.
pub(crate) fn absent() -> Error {
    Error::new(ABSENT, "there is no store at this place yet").at(Stage::Open)
}

/// The code of a store that must be migrated before it can be read.
pub(crate) const OLDER: Code = Code::OlderSchema;

/// An older version made the store, and it has not been migrated.
pub(crate) fn older_schema() -> Error {
    Error::new(OLDER, "the store was created by an older version of Tenure")
        .at(Stage::Open)
        .hint("Run one command where the store can be written: it migrates the store.")
}

/// A backup was named as a store.
pub(crate) fn is_backup() -> Error {
    Error::new(Code::IsBackup, "this file is a backup, not a store").at(Stage::Open).hint(
        Advice::from("Nothing was changed. Restore it to a new place: ")
            .action(Action::Restore { named: true })
            .text("."),
    )
}

/// A COMMIT was sent, its answer was lost, and the retry failed.
pub(crate) fn outcome_unknown(error: Error) -> Error {
    busy(Code::ConnectionLost, "the connection to PostgreSQL was lost during a commit")
        .hint("It is unknown whether the call was executed. Repeat it with the same --request-id to find out.")
        .at(Stage::Commit)
        .cause(error)
}

/// The server owes an answer and is silent. The connection is dropped, so the error has the code of a lost connection.
pub(crate) fn silent(limit: Duration, stage: Stage) -> Error {
    let message = format!("PostgreSQL did not answer for {} s, so the connection was dropped", limit.as_secs_f32());
    let error = busy(Code::ConnectionLost, message).at(stage);
    match stage {
        Stage::Commit => {
            error.hint("It is unknown whether the call was executed. Repeat it with the same --request-id to find out.")
        }
        // Without a COMMIT the server rolls back.
        _ => error,
    }
}

/// The schema exists, but this login may not use it.
pub(crate) fn hidden_schema(schema: &str) -> Error {
    Error::new(Code::PostgresPrivilege, format!("the PostgreSQL login may not use the schema `{schema}`"))
        .at(Stage::Open)
        .entity(schema)
        .hint("Grant the login USAGE on the schema and rights on its tables, or use another login in the store URL.")
}

/// A lock was not acquired in time.
pub(crate) fn busy(code: Code, message: impl Into<String>) -> Error {
    Error::new(code, message).at(Stage::Lock).hint("Nothing was changed. You may repeat the call.")
}

/// This process may not write the directory or file.
pub(crate) fn not_writable(what: &str) -> Error {
    Error::new(Code::NotWritable, format!("{what} cannot be written")).at(Stage::Open).hint(
        Advice::from(
            "Nothing was changed. If this shell runs in a sandbox, use the MCP tools of Tenure, which run outside \
             it, or let a person run ",
        )
        .action(Action::Setup { tool: None })
        .text("; otherwise check the permissions and whether the file system is read-only."),
    )
}

/// The disk is full.
pub(crate) fn disk_full() -> Error {
    Error::new(Code::DiskFull, "the disk of the store is full")
        .at(Stage::Write)
        .hint("Nothing was changed. Free some space and repeat the call; queries still answer.")
}

/// The code of a store with a change that only a writer can roll back.
pub(crate) const UNFINISHED: Code = Code::UnfinishedChange;

/// The process that created the store, or another program that changed it, ended in the middle.
fn unfinished() -> Error {
    Error::new(UNFINISHED, "a change of the store was interrupted and must be rolled back first")
        .at(Stage::Open)
        .hint("Open the store once where it can be written: any op rolls the change back.")
}

/// Classifies a SQLite error.
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
            busy(Code::StoreBusy, "another process is writing and did not finish in time")
        }
        ErrorCode::DiskFull => disk_full(),
        // No room for the index beside the file; SQLite does not report this as a full disk.
        _ if error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => disk_full(),
        _ if error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_READONLY_ROLLBACK) => unfinished(),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => not_writable("the store"),
        ErrorCode::CannotOpen => Error::new(Code::CannotOpen, "the store cannot be opened")
            .at(stage)
            .hint("Check that the file and its directory can be read and written."),
        ErrorCode::DatabaseCorrupt => corrupt("the store is corrupt"),
        ErrorCode::NotADatabase => corrupt("the file is not a Tenure store"),
        ErrorCode::SystemIoFailure => {
            Error::new(Code::IoFailure, "the disk of the store failed to read or write").at(stage).hint(match stage {
                Stage::Commit => "It is unknown whether the call was executed. Check the disk and the system log.",
                _ => "Nothing was changed. Check the disk and the system log.",
            })
        }
        ErrorCode::ConstraintViolation => Error::bug("a rule of the schema was violated"),
        _ => Error::new(Code::Sqlite, "SQLite could not execute a statement").at(stage),
    };
    let classified = if classified.stage() == Stage::Lock { classified } else { classified.at(stage) };
    classified.cause(error)
}

/// Whether a PostgreSQL error says that the tables do not exist.
pub(crate) fn is_absent(error: &tokio_postgres::Error) -> bool {
    matches!(error.code(), Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME))
}

/// Whether a PostgreSQL error says that the tables are of an older version.
pub(crate) fn is_older(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::UNDEFINED_COLUMN)
}

/// Whether the connection is lost, so that a new one can be tried.
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

/// Classifies a PostgreSQL error.
pub(crate) fn postgres(error: tokio_postgres::Error, stage: Stage) -> Error {
    if is_lost(&error) {
        // The lost answer may be that of a COMMIT.
        return busy(Code::ConnectionLost, "the connection to PostgreSQL was lost")
            .hint("It is unknown whether the call was executed. Repeat it with the same --request-id to find out.")
            .at(stage)
            .cause(error);
    }
    by_state(&error, stage)
}

/// Classifies PostgreSQL's refusal of a connection. A server that is starting or stopping is not a lost connection,
/// because there was none.
pub(crate) fn postgres_at_open(error: &tokio_postgres::Error) -> Error {
    if is_lost(error) {
        return busy(Code::Unreachable, "PostgreSQL does not accept connections now").at(Stage::Open);
    }
    by_state(error, Stage::Open)
}

fn by_state(error: &tokio_postgres::Error, stage: Stage) -> Error {
    let code = error.code().cloned().unwrap_or(SqlState::INTERNAL_ERROR);
    let classified = match &code {
        &SqlState::LOCK_NOT_AVAILABLE => busy(Code::StoreBusy, "another process is writing and did not finish in time"),
        &SqlState::QUERY_CANCELED => {
            Error::new(Code::StatementTimeout, "PostgreSQL did not finish a statement in time")
                .at(stage)
                .hint("Nothing was changed. Send less in one call, or retry when the server is less busy.")
        }
        &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => {
            busy(Code::StoreBusy, "the transaction conflicted with another one")
        }
        &SqlState::DISK_FULL => disk_full(),
        &SqlState::TOO_MANY_CONNECTIONS => busy(Code::TooManyConnections, "PostgreSQL has no connection left"),
        &SqlState::READ_ONLY_SQL_TRANSACTION => not_writable("the PostgreSQL store"),
        &SqlState::INSUFFICIENT_PRIVILEGE => not_writable("the PostgreSQL store").hint(
            "Nothing was changed. Grant the login of the store URL all rights on the schema and its tables, or make \
             it their owner: a newer version of Tenure changes tables.",
        ),
        &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            Error::new(Code::PostgresLogin, "PostgreSQL refused the login")
                .at(stage)
                .hint("Check user and password in the store URL.")
        }
        &SqlState::INVALID_CATALOG_NAME => Error::new(Code::NoDatabase, "the PostgreSQL database does not exist")
            .at(stage)
            .hint("Create it, or correct the store URL."),
        code if code.code().starts_with("23") => Error::bug("a rule of the schema was violated"),
        _ => Error::new(Code::Postgres, "PostgreSQL could not execute a statement").at(stage),
    };
    let classified = if classified.stage() == Stage::Lock { classified } else { classified.at(stage) };
    let text = error.as_db_error().map_or_else(|| error.to_string(), |db| format!("{}: {}", code.code(), db.message()));
    classified.detail("sqlstate", code.code()).cause(text)
}
/// The error of a write that panicked.
pub(crate) fn panicked() -> Error {
    Error::bug("an op panicked; its changes were rolled back")
}

/// The error of a write whose caller no longer waits.
pub(crate) fn unwanted() -> Error {
    Error::new(Code::NotRun, "the client had disconnected before its turn")
        .at(Stage::Lock)
        .hint("Nothing was done. Repeat the request with the same request id.")
}
