//! Distrust of the database file: its rows are trusted, but nothing that its schema could make SQLite execute. A file
//! may come with a repository.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tenure_core::{Code, Error, Result, Stage};

use super::user_version;
use crate::error;
use crate::migrate::{STEPS, VERSION};

/// Hardens a connection to a file of unknown origin, before anything is read from it.
pub(super) fn be_careful(connection: &Connection) -> Result<()> {
    let settings = [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        // The schema has no triggers.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    ];
    let open = |error| error::sqlite(error, Stage::Open);
    for (setting, on) in settings {
        connection.set_db_config(setting, on).map_err(open)?;
    }
    connection.execute_batch("PRAGMA cell_size_check = ON").map_err(open)
}

/// Refuses a schema with a view, a trigger or a virtual table that no migration step creates: a table can only be read,
/// but a view of the same name can be an endless query. Such objects are those without a root page.
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

/// Whether a migration step creates this view.
fn is_ours(view: &str) -> bool {
    STEPS.iter().any(|step| step.makes_view(view))
}

fn foreign(sort: &str, name: &str) -> Error {
    let (sort, name) = (tenure_core::text::excerpt(sort), tenure_core::text::excerpt(name));
    Error::new(
        Code::ForeignSchema,
        format!(
            "the store has a {sort} `{name}`, which Tenure does not create: another program has changed its \
                 schema"
        ),
    )
    .at(Stage::Open)
    .hint("Nothing was read or changed. Find out where the file comes from; restore a backup, or name another store.")
    .detail("object", name)
}
