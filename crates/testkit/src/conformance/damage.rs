//! Damage: an invalid row, or a file that is not a store. It is reported, never returned as an answer, and left
//! unchanged.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tenure_core::Result;
use tenure_core::number::EventNumber;
use tenure_kernel::op::{add, edit};
use tenure_kernel::query;
use tenure_kernel::query::{list, log};
use tenure_kernel::{Kernel, Op};
use tenure_store::{Location, Options};

use super::Case;
use super::shorthand::claiming;
use crate::fixture::{Engine, World, refusal};
use crate::raw::{both, bytes, differing, dump, execute, query};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_t12_an_op_that_meets_a_damaged_row_changes_nothing", damaged_rows),
    Case::everywhere("inv_t12_a_query_that_meets_a_damaged_row_is_an_error", damaged_answers),
    Case::only(&[Engine::File], "inv_c4_a_file_that_is_no_store_is_left_as_it_is", no_store),
    Case::only(&[Engine::File], "inv_c4_a_database_of_another_program_is_left_as_it_is", foreign),
    Case::only(&[Engine::File], "inv_c4_a_schema_that_others_changed_is_refused_and_runs_nothing", changed_schema),
    Case::only(&[Engine::File], "inv_c4_a_torn_store_is_corrupt_and_left_as_it_is", torn),
    Case::only(&[Engine::File], "inv_c4_a_symbolic_link_is_refused", linked),
    Case::only(&[Engine::File], "inv_c4_files_are_private_and_directories_stay", modes),
];

/// Writes a damaged row that the schema would refuse.
fn damage(kernel: &Kernel, sql: &str) {
    execute(
        kernel,
        "PRAGMA ignore_check_constraints = ON",
        "ALTER TABLE task DROP CONSTRAINT IF EXISTS task_status_check",
    )
    .unwrap();
    execute(kernel, "SELECT 1 WHERE 0", "ALTER TABLE task DROP CONSTRAINT IF EXISTS task_check").unwrap();
    both(kernel, sql);
    execute(kernel, "PRAGMA ignore_check_constraints = OFF", "SELECT 1").unwrap();
}

fn is_corrupt<T: std::fmt::Debug>(answer: Result<T>) {
    let error = refusal(answer);
    assert_eq!((error.kind().as_str(), error.code().as_str(), error.retryable()), ("storage", "corrupt_store", false));
    assert!(!error.is_refusal() && error.advice().is_some());
}

fn damaged_rows(world: &World) {
    let first = world.add("first");
    let second = world.add_after("second", &[&first]);
    let lapsing = world.add("lapses");
    world.claim_for("a", &lapsing, 60).unwrap();
    let edit = |task: &str| Op::new(edit::Edit { task: task.into(), title: Some("x".into()), ..edit::Edit::default() });
    // The damage, its repair, and an op that meets it midway: after settling, or deep in its own part.
    let cases = [
        ("labels = 'no json'", "labels = '[]'", &first, claiming(&first)),
        ("labels = '{}'", "labels = '[]'", &first, edit(&first)),
        ("status = 'odd'", "status = 'open'", &first, claiming(&first)),
        ("status = 'odd'", "status = 'open'", &first, edit(&second)),
        (
            "status = 'odd'",
            "status = 'open'",
            &first,
            Op::new(add::Add { after: vec![first.clone().into()], ..add::Add::titled("x") }),
        ),
        ("status = 'odd'", "status = 'open'", &second, super::shorthand::acting(Some(&first), None, false)[0].clone()),
    ];
    for (broken, whole, task, op) in cases {
        damage(&world.kernel, &format!("UPDATE task SET {broken} WHERE id = '{task}'"));
        let before = dump(&world.kernel);
        is_corrupt(world.run("b", op.clone()));
        assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0], "{broken}: {op:?}");
        damage(&world.kernel, &format!("UPDATE task SET {whole} WHERE id = '{task}'"));
    }
    // A damaged row met by settling stops every op, without any effect.
    world.advance(tenure_core::Span::minutes(2));
    damage(&world.kernel, &format!("UPDATE task SET labels = 'no json' WHERE id = '{lapsing}'"));
    let before = dump(&world.kernel);
    is_corrupt(world.run("b", Op::new(add::Add::titled("third"))));
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    damage(&world.kernel, &format!("UPDATE task SET labels = '[]' WHERE id = '{lapsing}'"));
    world.claim("b", &first).unwrap();
    world.sound();
}

fn damaged_answers(world: &World) {
    let first = world.add("first");
    world.note("a", &first, "noted").unwrap();
    let call = world.call("a");
    damage(&world.kernel, "UPDATE task SET labels = 'no json'");
    is_corrupt(world.kernel.ask(&call, &query::show::Show { id: first.clone() }));
    is_corrupt(world.kernel.ask(&call, &list::List::default()));
    is_corrupt(world.kernel.ask(&call, &query::next::Next { labels: Vec::new() }));
    damage(&world.kernel, "UPDATE task SET labels = '[]'");
    world.kernel.ask(&call, &query::show::Show { id: first.clone() }).unwrap();
    both(&world.kernel, "UPDATE event SET data = 'no json' WHERE number = 3");
    is_corrupt(world.kernel.ask(&call, &log::Log { limit: 10, ..log::Log::default() }));
    is_corrupt(world.kernel.ask(&call, &query::why::Why { id: first.clone() }));
    is_corrupt(world.kernel.ask(&call, &query::show::Show { id: first.clone() }));
    both(&world.kernel, "UPDATE event SET data = '{}' WHERE number = 3");
    both(&world.kernel, "UPDATE note SET data = 'no json'");
    is_corrupt(world.kernel.ask(&call, &query::show::Show { id: first.clone() }));
}

fn open(path: &Path) -> Kernel {
    Kernel::new(Location::File(path.to_owned()), Options::default(), tenure_client::phrasing::of).unwrap()
}

/// Neither a query nor an op accepts the file as a store, and its bytes stay.
pub(super) fn left_alone(world: &World, path: &Path, codes: &[&str]) {
    let before = bytes(path);
    for _ in 0..2 {
        let kernel = open(path);
        let call = world.call("a");
        let answers = [
            kernel.ask(&call, &query::status::Status {}).map(drop),
            kernel.run(&call, &Op::new(add::Add::titled("x"))).map(drop),
            kernel.ask(&call, &list::List::default()).map(drop),
            kernel.store().identity().map(drop),
            kernel.store().create().map(drop),
        ];
        for answer in answers {
            let error = refusal(answer);
            assert_eq!(error.kind().as_str(), "storage", "{error:?}");
            assert!(codes.contains(&error.code().as_str()) && error.advice().is_some(), "{error:?}");
        }
        drop(kernel);
        assert_eq!(bytes(path), before);
    }
}

fn no_store(world: &World) {
    let path = world.dir.path().join("notes.txt");
    for content in ["short".to_owned(), "a text of some length\n".repeat(500), "\0".repeat(8_192)] {
        std::fs::write(&path, content).unwrap();
        left_alone(world, &path, &["corrupt_store"]);
    }
    let dir = world.dir.path().join("dir");
    std::fs::create_dir(&dir).unwrap();
    let error = refusal(open(&dir).ask(&world.call("a"), &query::status::Status {}));
    assert_eq!(error.code(), "not_a_file");
    let below = path.join("tenure.db");
    assert_eq!(refusal(open(&below).run(&world.call("a"), &claiming("t-1"))).kind().as_str(), "storage");
}

/// Creates a store in a new directory, closes it, and returns its file.
fn closed_store(change: &str) -> (tempfile::TempDir, PathBuf) {
    let inner = World::new(Engine::File);
    inner.add("first");
    if !change.is_empty() {
        for statement in change.split(';') {
            execute(&inner.kernel, statement, "").unwrap();
        }
    }
    let World { kernel, dir, location: Location::File(path), .. } = inner else { unreachable!() };
    drop(kernel);
    (dir, path)
}

fn foreign(world: &World) {
    // With any version number: 0 as in a new database, the current one, and a later one.
    for version in [0, 1, 77] {
        for application in [0, 0x0F05_5112] {
            let change = format!("PRAGMA application_id = {application};PRAGMA user_version = {version}");
            let (_dir, path) = closed_store(&change);
            left_alone(world, &path, &["corrupt_store"]);
        }
    }
}

/// A query that never ends, as a table.
const ENDLESS: &str = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n";

fn changed_schema(world: &World) {
    let newer = tenure_store::migrate::VERSION + 1;
    let view = |name: &str| format!("CREATE VIEW {name} AS {ENDLESS}");
    for (code, change) in [
        ("foreign_schema", "CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM task; END".to_owned()),
        ("foreign_schema", view("extra")),
        ("foreign_schema", format!("DROP VIEW task_full; {}", view("task_full"))),
        ("foreign_schema", format!("DROP VIEW task_full; ALTER TABLE store RENAME TO gone; {}", view("store"))),
        ("foreign_schema", format!("ALTER TABLE project RENAME TO gone; {}", view("project"))),
        ("newer_schema", format!("DROP VIEW task_full; {}; PRAGMA user_version = {newer}", view("task_full"))),
    ] {
        let (_dir, path) = closed_store("");
        crate::raw::tamper(&path, &format!("PRAGMA legacy_alter_table = ON; {change}"));
        left_alone(world, &path, &[code]);
    }
    // Damage that reads do not reveal is found by the integrity check.
    let (_dir, path) = closed_store("");
    assert!(open(&path).store().integrity().unwrap().is_empty());
    crate::raw::tamper(&path, "ALTER TABLE note ADD COLUMN odd TEXT");
    let found = open(&path).store().integrity().unwrap();
    assert!(found.len() == 1 && found[0].contains("schema"), "{found:?}");
}

fn torn(world: &World) {
    let (_dir, path) = closed_store("");
    let whole = std::fs::read(&path).unwrap();
    assert!(whole.len() > 8 * 4_096);
    // Truncated in the middle, then with every page but the first overwritten.
    std::fs::write(&path, &whole[..whole.len() / 2 + 100]).unwrap();
    let cut = bytes(&path);
    let kernel = open(&path);
    assert_eq!(refusal(kernel.run(&world.call("a"), &Op::new(add::Add::titled("x")))).kind().as_str(), "storage");
    drop(kernel);
    assert_eq!(bytes(&path), cut);
    let mut bad = whole.clone();
    bad[4_096..].fill(0xA5);
    std::fs::write(&path, &bad).unwrap();
    left_alone(world, &path, &["corrupt_store"]);
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(open(&path).store().integrity().unwrap(), [""; 0]);
    assert!(open(&path).ask(&world.call("a"), &query::status::Status {}).unwrap().last_event > EventNumber::START);
}

fn linked(world: &World) {
    let (dir, real) = closed_store("");
    let link = dir.path().join("link.db");
    symlink(&real, &link).unwrap();
    let before = bytes(&real);
    left_alone(world, &link, &["symlinked_store"]);
    assert_eq!(bytes(&real), before);
    // A dangling link does not create a file at its target.
    let nowhere = dir.path().join("nowhere.db");
    let dangling = dir.path().join("dangling.db");
    symlink(&nowhere, &dangling).unwrap();
    left_alone(world, &dangling, &["symlinked_store"]);
    assert!(!nowhere.exists());
    // A parent directory may be a link: it is the same file with the same locks.
    let above = dir.path().join("above");
    symlink(dir.path(), &above).unwrap();
    assert!(
        open(&above.join("tenure.db")).ask(&world.call("a"), &query::status::Status {}).unwrap().last_event
            > EventNumber::START
    );
}

fn modes(world: &World) {
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let existing = world.dir.path().join("existing");
    std::fs::create_dir(&existing).unwrap();
    std::fs::set_permissions(&existing, PermissionsExt::from_mode(0o777)).unwrap();
    let path = existing.join("deep/er/tenure.db");
    let kernel = open(&path);
    kernel.run(&world.call("a"), &Op::new(add::Add::titled("x"))).unwrap();
    assert_eq!(query(&kernel, "PRAGMA journal_mode", "").len(), 1);
    let dir = path.parent().unwrap();
    for made in [dir, dir.parent().unwrap()] {
        assert_eq!(mode(made), 0o700, "{}", made.display());
    }
    assert_eq!(mode(&existing), 0o777, "what exists is left as it is");
    let files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 5, "the database, -wal, -shm and the two locks of the turnstile: {files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert_eq!(kernel.store().permissions(), [""; 0]);
    // Doctor reports files that others may write or read.
    let shared = existing.join("tenure.db");
    let kernel = open(&shared);
    kernel.store().create().unwrap();
    assert_eq!(kernel.store().permissions().len(), 1);
    std::fs::set_permissions(&shared, PermissionsExt::from_mode(0o644)).unwrap();
    assert_eq!(kernel.store().permissions().len(), 2);
}
