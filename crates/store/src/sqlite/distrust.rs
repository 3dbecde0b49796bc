//! What is believed of a database file: its rows, and nothing that its schema could make SQLite do. A file may have come
//! with a repository.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tenure_core::{Code, Error, Result, Stage};

use super::user_version;
use crate::error;
use crate::migrate::{STEPS, VERSION};

/// Prepares a connection for a file that anybody may have written, before anything is read from it.
pub(super) fn be_careful(connection: &Connection) -> Result<()> {
    let settings = [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        // The schema has no trigger.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    ];
    let open = |error| error::sqlite(error, Stage::Open);
    for (setting, on) in settings {
        connection.set_db_config(setting, on).map_err(open)?;
    }
    connection.execute_batch("PRAGMA cell_size_check = ON").map_err(open)
}

/// Refuses a schema with a view, a trigger or a virtual table that no step makes: a table can only be read, but a view of
/// the same name can be a query without an end. Such objects are the ones without a page of their own.
pub(super) fn refuse_foreign_objects(connection: &Connection) -> Result<()> {
    let read = |error| error::sqlite(error, Stage::Open);
    let mut statement = connection
        .prepare("SELECT type, name, sql FROM sqlite_schema WHERE rootpage IS NULL OR rootpage < 1")
        .map_err(read)?;
    let mut rows = statement.query([]).map_err(read)?;
    while let Some(row) = rows.next().map_err(read)? {
        let [sort, name, sql] = [0, 1, 2].map(|column| row.get::<_, String>(column).unwrap_or_default());
        if sort == "view" && is_ours(&sql) {
            continue;
        }
        let version = user_version(connection)?;
        return Err(if version > VERSION { error::newer_schema(version, VERSION) } else { foreign(&sort, &name) });
    }
    Ok(())
}

/// Whether a step makes this view.
fn is_ours(view: &str) -> bool {
    view.starts_with("CREATE VIEW ") && STEPS.iter().any(|step| step.has_statement(view))
}

fn foreign(sort: &str, name: &str) -> Error {
    let (sort, name) = (tenure_core::text::excerpt(sort), tenure_core::text::excerpt(name));
    Error::new(
        Code::ForeignSchema,
        format!("the store has a {sort} `{name}`, which tenure does not make: somebody else has changed its schema"),
    )
    .at(Stage::Open)
    .hint("Nothing was read or changed. Find out where the file comes from; restore a backup, or name another store.")
    .detail("object", name)
}
