//! Direct access to a store, bypassing the kernel: every row as text, and statements that no op would run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tenure_core::Result;
use tenure_core::search::TaskTexts;
use tenure_kernel::Kernel;
use tenure_store::table::project;
use tenure_store::{CommitDecision, Location, Sql, Value};

use crate::fixture::World;

/// Every table with the query that reads it in a fixed order. A test compares the names with the schema.
pub const TABLES: [(&str, &str); 29] = [
    ("store", "SELECT * FROM store ORDER BY one"),
    ("project", "SELECT * FROM project ORDER BY key"),
    ("checkout", "SELECT * FROM checkout ORDER BY project, host, path"),
    ("agent", "SELECT * FROM agent ORDER BY project, name"),
    ("task", "SELECT * FROM task ORDER BY project, id"),
    ("task_label", "SELECT * FROM task_label ORDER BY project, label, status, ready, priority, number, task"),
    ("task_word", "SELECT * FROM task_word ORDER BY project, word, task, noted"),
    ("dep", "SELECT * FROM dep ORDER BY project, task, after"),
    ("hold", "SELECT * FROM hold ORDER BY project, id"),
    ("place", "SELECT * FROM place ORDER BY project, id"),
    ("shown", "SELECT * FROM shown ORDER BY project, agent, task"),
    ("note", "SELECT * FROM note ORDER BY project, id"),
    ("memory", "SELECT * FROM memory ORDER BY project, id"),
    ("memory_term", "SELECT * FROM memory_term ORDER BY project, scope, subject, term, memory"),
    ("memory_scope", "SELECT * FROM memory_scope ORDER BY project, scope, subject"),
    ("artifact", "SELECT * FROM artifact ORDER BY project, note, position"),
    ("delivery", "SELECT * FROM delivery ORDER BY project, agent"),
    ("message", "SELECT * FROM message ORDER BY project, id"),
    ("mail", "SELECT * FROM mail ORDER BY project, recipient, number"),
    ("session", "SELECT * FROM session ORDER BY project, host, boot, pidns, pid, started, tool, session"),
    ("touched", "SELECT * FROM touched ORDER BY project, task, checkout, path, agent"),
    ("fired", "SELECT * FROM fired ORDER BY project, tool, event"),
    ("event", "SELECT * FROM event ORDER BY project, number"),
    ("request", "SELECT * FROM request ORDER BY project, actor, op, request_id"),
    ("principal", "SELECT * FROM principal ORDER BY name"),
    ("member", "SELECT * FROM member ORDER BY principal, key"),
    ("token", "SELECT * FROM token ORDER BY id"),
    ("login", "SELECT * FROM login ORDER BY hash"),
    ("web_session", "SELECT * FROM web_session ORDER BY hash"),
];

/// The tables whose rows belong to the store and not to a project.
pub const OF_STORE: [&str; 6] = ["store", "principal", "member", "token", "login", "web_session"];

/// Removes everything added after the first schema: a store as the oldest version left it.
pub const BACK_TO_THE_FIRST: &[&str] = &[
    "UPDATE store SET schema_version = 1",
    "UPDATE project SET schema_version = 1",
    "ALTER TABLE store DROP COLUMN file",
    "ALTER TABLE project DROP COLUMN events",
    "ALTER TABLE project DROP COLUMN off_until",
    "ALTER TABLE project DROP COLUMN off_by",
    "DROP INDEX checkout_place",
    "DROP TABLE place",
    "ALTER TABLE hold DROP COLUMN place",
    "ALTER TABLE project DROP COLUMN waiting",
    "DROP TABLE task_word",
    "DROP INDEX task_created",
    "DROP INDEX task_updated",
    "DROP TABLE memory",
    "DROP TABLE memory_term",
    "DROP TABLE memory_scope",
    "DROP TABLE artifact",
    "DROP TABLE delivery",
    "DROP TABLE session",
    "DROP TABLE touched",
    "DROP TABLE fired",
    "DROP TABLE message",
    "DROP TABLE mail",
    "DROP INDEX IF EXISTS task_last_holder",
    "DROP VIEW IF EXISTS task_full",
    "DROP INDEX IF EXISTS task_not_before",
    "ALTER TABLE task DROP COLUMN not_before",
    "DROP INDEX IF EXISTS hold_path",
    "DROP INDEX IF EXISTS hold_pattern",
    "DROP INDEX IF EXISTS hold_unanchored",
    "DROP INDEX IF EXISTS hold_bound",
    "DROP INDEX IF EXISTS hold_past",
    "DROP INDEX IF EXISTS hold_lock",
    "DROP INDEX IF EXISTS hold_name",
    "DROP INDEX IF EXISTS hold_story",
    "DROP INDEX IF EXISTS hold_subject",
    "ALTER TABLE hold DROP COLUMN checkout",
    "ALTER TABLE hold DROP COLUMN prefix",
    "ALTER TABLE hold DROP COLUMN folded",
    "ALTER TABLE hold DROP COLUMN task",
    "ALTER TABLE hold DROP COLUMN asked",
    "ALTER TABLE note DROP COLUMN head",
    "ALTER TABLE agent DROP COLUMN mcp",
    "ALTER TABLE agent DROP COLUMN owner",
    "DROP TABLE principal",
    "DROP TABLE member",
    "DROP TABLE token",
    "DROP TABLE login",
    "DROP TABLE web_session",
];

/// The view of the first schema, which a later schema replaces.
pub fn first_view() -> &'static str {
    let first = tenure_store::migrate::STEPS[0].sqlite();
    let begin = first.find("CREATE VIEW task_full").expect("the first schema has a view");
    let end = begin + first[begin..].find(';').expect("a statement has an end");
    keep(&first[begin..end])
}

/// The scopes whose sums do not match their memories. There must be none.
pub const WRONG_SUMS: Sql = Sql::same(
    "SELECT s.scope, s.subject, s.memories, s.words FROM memory_scope s
     WHERE s.memories <> (SELECT COUNT(*) FROM memory m
                          WHERE m.project = s.project AND m.scope = s.scope AND m.subject = s.subject)
        OR s.words <> (SELECT COALESCE(SUM(m.words), 0) FROM memory m
                       WHERE m.project = s.project AND m.scope = s.scope AND m.subject = s.subject)
        OR s.words <> (SELECT COALESCE(SUM(t.count), 0) FROM memory_term t
                       WHERE t.project = s.project AND t.scope = s.scope AND t.subject = s.subject)
     ORDER BY s.project, s.scope, s.subject",
);

/// The words that the store has for its tasks, and those that their texts and notes have: (project, word, task, noted).
pub fn words(kernel: &Kernel) -> [BTreeSet<(String, String, String, i64)>; 2] {
    let texts = Sql::same("SELECT project, id, title, description, acceptance FROM task");
    let notes = Sql::same("SELECT project, task, text FROM note");
    let stored = Sql::same("SELECT project, word, task, noted FROM task_word");
    let calls = || [texts, notes, stored].map(|sql| (sql, Vec::new())).to_vec();
    let answers = kernel.store().read("", |tx, _| tx.query_all(calls())).unwrap();
    let [tasks, notes, stored] = <[Vec<tenure_store::Row>; 3]>::try_from(answers).unwrap();
    let mut expected = BTreeSet::new();
    let mut expect = |project: String, task: String, words: BTreeSet<String>, noted: i64| {
        expected.extend(words.into_iter().map(|word| (project.clone(), word, task.clone(), noted)));
    };
    for mut row in tasks {
        let [project, task, title, description, acceptance] = std::array::from_fn(|at| row.text(at).unwrap());
        let texts = TaskTexts { title: &title, description: &description, acceptance: &acceptance };
        expect(project, task, texts.words(), 0);
    }
    for mut row in notes {
        let [project, task, text] = std::array::from_fn(|at| row.text(at).unwrap());
        expect(project, task, tenure_core::words::distinct(&text), 1);
    }
    let row = |mut row: tenure_store::Row| {
        (row.text(0).unwrap(), row.text(1).unwrap(), row.text(2).unwrap(), row.int(3).unwrap())
    };
    [stored.into_iter().map(row).collect(), expected]
}

/// The rows of every table.
pub type Dump = BTreeMap<&'static str, Vec<String>>;

/// Every row of a kernel's store.
pub fn dump(kernel: &Kernel) -> Dump {
    try_dump(kernel).unwrap()
}

/// Every row of a kernel's store, or the reason why it cannot be read.
pub fn try_dump(kernel: &Kernel) -> Result<Dump> {
    let calls = || TABLES.iter().map(|(_, sql)| (Sql::same(sql), Vec::new())).collect();
    let answers = kernel.store().read("", |tx, _| tx.query_all(calls()))?;
    let rows = |rows: Vec<tenure_store::Row>| rows.iter().map(|row| format!("{row:?}")).collect();
    Ok(TABLES.iter().zip(answers).map(|((table, _), answer)| (*table, rows(answer))).collect())
}

/// The tables whose rows differ.
pub fn differing(before: &Dump, after: &Dump) -> Vec<&'static str> {
    TABLES.iter().map(|(table, _)| *table).filter(|table| before[table] != after[table]).collect()
}

/// Runs a statement in a write transaction of the project `name:p`, bypassing the kernel's rules.
pub fn execute(kernel: &Kernel, sqlite: &str, postgres: &str) -> Result<u64> {
    let sql = Sql::pair(keep(sqlite), keep(postgres));
    let name = project::NamedProject { key: "name:p".into(), label: "p".into() };
    kernel.store().write(&name, |tx, _| tx.execute(sql, &[]).map(CommitDecision::Commit))
}

/// Runs one statement that is valid on both engines; panics if it fails.
pub fn both(kernel: &Kernel, sql: &str) -> u64 {
    execute(kernel, sql, sql).unwrap()
}

/// The rows of a query as text.
pub fn query(kernel: &Kernel, sqlite: &str, postgres: &str) -> Vec<String> {
    let sql = Sql::pair(keep(sqlite), keep(postgres));
    kernel.store().read("", |tx, _| tx.query(sql, &[])).unwrap().iter().map(|row| format!("{row:?}")).collect()
}

/// The first number of a query.
pub fn number(kernel: &Kernel, sql: &str, args: &[Value]) -> i64 {
    let sql = Sql::same(keep(sql));
    kernel.store().read("", |tx, _| tx.query(sql, args)).unwrap()[0].int(0).unwrap()
}

/// The first text of a query.
pub fn text(kernel: &Kernel, sql: &str) -> String {
    let sql = Sql::same(keep(sql));
    kernel.store().read("", |tx, _| tx.query(sql, &[])).unwrap()[0].text(0).unwrap()
}

/// Statements are static; those written by a test live as long as its process.
fn keep(sql: &str) -> &'static str {
    Box::leak(sql.to_owned().into_boxed_str())
}

/// The schema of a world on PostgreSQL.
pub fn schema(world: &World) -> &str {
    let Location::Postgres(url) = &world.location else { panic!("{:?} has no schema", world.engine) };
    url.split("schema=").nth(1).unwrap()
}

/// The database file of a world.
pub fn file(world: &World) -> &Path {
    let Location::File(path) = &world.location else { panic!("{:?} has no file", world.engine) };
    path
}

/// Changes a store's file as no version of Tenure would, from a process without a connection to it.
pub fn tamper(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// The bytes of a database file and of its `-wal`; an absent file counts as empty. Use it only if this process has no
/// connection to the file: closing the file here would drop SQLite's locks.
pub fn bytes(path: &Path) -> (Vec<u8>, Vec<u8>) {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    (std::fs::read(path).unwrap_or_default(), std::fs::read(wal).unwrap_or_default())
}
