//! The baseline of the command line: the cost of any program that starts, opens the same database with the same
//! pragmas, and does one durable thing. `floor write FILE` commits three rows and leaves a short log, as a command does;
//! `floor read FILE` reads one row through a read-only connection. `floor bare FILE` commits three rows to a database with
//! three small tables, and closes it as SQLite does by default.

// Panics on any error.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout)]

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tenure_store::SHORT_LOG;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", file] => write(file),
        ["read", file] => read(file),
        ["bare", file] => bare(&format!("{file}.bare")),
        _ => panic!("usage: tenure-floor write|read|bare FILE"),
    }
}

fn write(file: &str) {
    let connection =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    connection.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE").unwrap();
    let next: i64 = connection
        .query_row("SELECT COALESCE(MAX(number), 0) + 1 FROM event WHERE project = 'floor'", [], |row| row.get(0))
        .unwrap();
    connection
        .execute(
            "INSERT INTO event (project, number, at, kind, actor, subject, hold, op, request_id, cause, data)
             VALUES ('floor', ?1, 0, 'k', 'a', 's', '', 'o', 'r', NULL, '{}')",
            [next],
        )
        .unwrap();
    connection
        .execute(
            "INSERT INTO note (project, id, task, number, agent, at, text, data, late) VALUES ('floor', ?1, 't', ?1, 'a', 0, 'x', '', 0)",
            [next],
        )
        .unwrap();
    connection
        .execute(
            "INSERT INTO request (project, actor, op, request_id, fingerprint, response, expires_at)
             VALUES ('floor', 'a', 'o', ?1, 'f', '{}', 0)",
            [next.to_string()],
        )
        .unwrap();
    connection.execute_batch("COMMIT").unwrap();
    let length = std::fs::metadata(format!("{file}-wal")).unwrap().len();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, length <= SHORT_LOG).unwrap();
}

fn bare(file: &str) {
    let connection = Connection::open(file).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    let tables = "PRAGMA journal_mode = WAL;
        CREATE TABLE event (number INTEGER PRIMARY KEY, kind TEXT, data TEXT);
        CREATE TABLE note (id TEXT PRIMARY KEY, text TEXT);
        CREATE TABLE request (id TEXT PRIMARY KEY, response TEXT);
        PRAGMA user_version = 1";
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    if version == 0 {
        connection.execute_batch(tables).unwrap();
    }
    connection.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE").unwrap();
    connection.execute("INSERT INTO event (kind, data) VALUES ('k', '{}')", []).unwrap();
    let next = connection.last_insert_rowid();
    connection.execute("INSERT INTO note (id, text) VALUES (?1, 'x')", [next.to_string()]).unwrap();
    connection.execute("INSERT INTO request (id, response) VALUES (?1, '{}')", [next.to_string()]).unwrap();
    connection.execute_batch("COMMIT").unwrap();
}

fn read(file: &str) {
    let connection =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX).unwrap();
    let id: String = connection.query_row("SELECT id FROM store WHERE one = 1", [], |row| row.get(0)).unwrap();
    println!("{id}");
}
