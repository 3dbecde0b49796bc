//! Backups: one snapshot with every row, a file that is validated before it is trusted, and restores under load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use tenure_core::{Kind, Result};
use tenure_kernel::op::{add, claim, done};
use tenure_kernel::query;
use tenure_kernel::{Call, Kernel, Op, RequestId};
use tenure_store::Location;
use tenure_store::copy::Existing;

use super::Case;
use super::damage::left_alone;
use super::restoring::{again, restore, restored_number, take};
use super::shorthand::{fence, id};
use super::walk::every_op;
use crate::fixture::{Engine, Seeded, World, code_of};
use crate::raw::{BACK_TO_THE_FIRST, differing, dump, first_view};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_t5_a_backup_has_every_row_and_changes_none", has_every_row),
    Case::everywhere("inv_c4_a_file_that_is_no_sound_backup_is_refused", hostile_files),
    Case::everywhere("inv_c4_a_backup_is_not_taken_for_a_store", not_a_store),
    Case::everywhere("inv_t11_an_older_backup_is_brought_up_to_date", older_backup),
    Case::shared("inv_t10_a_restore_of_a_backup_taken_under_load_loses_nothing_acknowledged_before_it", under_load),
];

fn has_every_row(world: &World) {
    every_op(world, |call, op| world.kernel.run(call, op));
    // More than a page of rows, so that keys are compared in order.
    let items: String = (0..700).map(|n| format!("task {n} ")).collect();
    for n in 0..300 {
        world
            .run(
                "b",
                Op::new(add::Add {
                    labels: vec![format!("l{n}"), "é\u{10348}".into()],
                    description: items.clone(),
                    ..add::Add::titled(&format!("many {n} \"quoted\" \u{2028}"))
                }),
            )
            .unwrap();
    }
    let before = dump(&world.kernel);
    let (path, taken) = take(world, "b.db");
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    let all = crate::raw::number(&world.kernel, "SELECT COUNT(*) FROM event", &[]);
    assert_eq!((taken.projects, taken.events), (2, all), "the project, and the whole store");
    assert_eq!((taken.size, taken.remarks.len()), (std::fs::metadata(&path).unwrap().len(), 0));
    // The file alone is the whole store: there are no files beside it, and the same snapshot gives the same bytes.
    let beside = std::fs::read_dir(world.dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let beside: Vec<_> = beside.filter(|name| name.to_str().unwrap().contains("b.db")).collect();
    assert_eq!(beside, ["b.db"]);
    assert_eq!(take(world, "c.db").1, taken);
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(world.dir.path().join("c.db")).unwrap());
    // With the application id of a store, it is a store.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[68..72].copy_from_slice(b"TENU");
    let store = world.dir.path().join("store.db");
    std::fs::write(&store, bytes).unwrap();
    let copy = Kernel::new(Location::File(store), world.options.clone(), tenure_client::phrasing::of).unwrap();
    assert_eq!(differing(&before, &dump(&copy)), [""; 0]);
    // An existing file is not overwritten.
    let call = world.call("b");
    let to = world.dir.path().join("c.db");
    assert_eq!(code_of(world.kernel.backup(&call, &to, Existing::Keep, &|_| {})), "file_exists");
    world.kernel.backup(&call, &to, Existing::Replace, &|_| {}).unwrap();
}

fn hostile_files(world: &World) {
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    for n in 0..40 {
        world.note("a", &task, &format!("{n} {}", "filler ".repeat(100))).unwrap();
    }
    let (path, _) = take(world, "b.db");
    let good = std::fs::read(&path).unwrap();
    let before = dump(&world.kernel);
    let file = world.dir.path().join("hostile.db");
    let refused = |what: &str, code: &str| {
        let found = code_of(restore(world, &world.kernel, "person:ann", &file, Some("s.db")));
        assert_eq!(found, code, "{what}");
        assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0], "{what}");
        assert!(!world.dir.path().join("s.db").exists(), "{what}");
    };
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        std::fs::write(&file, bytes).unwrap();
    };
    let noise = |bytes: &mut Vec<u8>| tenure_store::Entropy::fill(&Seeded::new(3), bytes);
    let byte_changes: [(&str, &dyn Fn(&mut Vec<u8>)); 12] = [
        ("a store", &|bytes| bytes[68..72].copy_from_slice(b"TENU")),
        ("empty", &|bytes| bytes.clear()),
        ("one byte", &|bytes| bytes.truncate(1)),
        ("cut in the header", &|bytes| bytes.truncate(60)),
        ("half", &|bytes| bytes.truncate(bytes.len() / 2)),
        ("without its last byte", &|bytes| bytes.truncate(bytes.len() - 1)),
        ("with a byte more", &|bytes| bytes.push(0)),
        ("without its last page", &|bytes| bytes.truncate(bytes.len() - 4_096)),
        ("text", &|bytes| *bytes = b"{\"not\":\"a database\"}\n".repeat(300)),
        ("noise", &|bytes| noise(bytes)),
        ("another program's", &|bytes| bytes[68..72].copy_from_slice(b"ELSE")),
        ("no schema", &|bytes| bytes[60..64].fill(0)),
    ];
    for (what, change) in byte_changes {
        changed(change);
        refused(what, "bad_backup");
    }
    changed(&|bytes| bytes[60..64].copy_from_slice(&99_u32.to_be_bytes()));
    refused("a newer schema", "newer_schema");
    // Overwrites one page at a time, including those of the schema: every page of a backup is in use.
    for page in 0..good.len() / 4_096 {
        changed(&|bytes| bytes[(page * 4_096).max(100)..(page + 1) * 4_096].fill(0xA5));
        refused(&format!("page {page}"), "bad_backup");
    }
    // Intact databases with wrong contents.
    let statements = [
        ("a table more", "CREATE TABLE extra (a)"),
        ("a table less", "DROP TABLE note"),
        ("a trigger", "CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM event; END"),
        ("a view", "DROP VIEW task_full; CREATE VIEW task_full AS SELECT * FROM task"),
        ("an index less", "DROP INDEX hold_task"),
        (
            "a check less",
            "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (holder <> '''')', '') WHERE name = 'hold'",
        ),
        ("no store", "DELETE FROM store"),
        ("no id", "UPDATE store SET id = ''"),
        ("an id with a terminal sequence", "UPDATE store SET incarnation = 's-' || char(27)"),
        ("events missing", "DELETE FROM event WHERE number = 3"),
        ("the newest event missing", "DELETE FROM event WHERE number = (SELECT MAX(number) FROM event)"),
        ("a number too high", "UPDATE project SET last_event = 9223372036854775807"),
        ("a number below all", "UPDATE project SET first_event = -5"),
        ("rows of no project", "UPDATE task SET project = 'p-00000'"),
        ("a NUL", "UPDATE task SET title = 'a' || char(0) || 'b'"),
        ("not UTF-8", "UPDATE task SET title = CAST(x'ff' AS TEXT)"),
    ];
    for (what, sql) in statements {
        std::fs::write(&file, &good).unwrap();
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        let found = code_of(restore(world, &world.kernel, "person:ann", &file, Some("s.db")));
        // Errors that appear only while rows are copied occur inside the transaction, after the safety backup.
        let _ = std::fs::remove_file(world.dir.path().join("s.db"));
        assert_eq!(found, "bad_backup", "{what}");
        assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0], "{what}");
    }
    std::fs::write(&file, &good).unwrap();
    again(world, &file, "s.db");
    world.sound();
}

fn not_a_store(world: &World) {
    world.add("one");
    let (path, _) = take(world, "b.db");
    left_alone(world, &path, &["is_backup"]);
    // A backup with an older schema is not a store either, although a store with that schema would be migrated.
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 1").unwrap();
    left_alone(world, &path, &["is_backup"]);
    assert!(!world.dir.path().join("b.db-turn-a").exists());
}

fn older_backup(world: &World) {
    world.add("one");
    let (path, _) = take(world, "b.db");
    let connection = Connection::open(&path).unwrap();
    let back = BACK_TO_THE_FIRST.join("; ");
    connection.execute_batch(&format!("PRAGMA user_version = 1; {back}; {}", first_view())).unwrap();
    connection.close().unwrap();
    again(world, &path, "safety.db");
    assert_eq!(world.events().len(), 4);
    world.sound();
}

const WRITERS: usize = 16;

/// The acknowledged results of a writer: tasks with the fence under which they were finished.
type Acknowledged = Mutex<Vec<(String, i64)>>;

/// Claims and finishes tasks until told to stop. After a restore its hold is over, and it is told so.
fn write_on(world: &World, agent: &str, stop: &AtomicBool, acknowledged: &Acknowledged) {
    let kernel = world.another();
    let mut serial = 0;
    let mut run = |op: Op| -> Result<serde_json::Value> {
        serial += 1;
        let request_id = RequestId::given(&format!("{agent}-{serial}")).unwrap();
        let reply = kernel.run(&Call { request_id, ..world.call(agent) }, &op)?;
        Ok(serde_json::from_str(&reply.body).unwrap())
    };
    while !stop.load(Ordering::SeqCst) {
        let claimed = match run(Op::new(claim::Claim::default())) {
            Ok(claimed) => claimed,
            Err(error) => {
                assert_eq!(error.kind(), Kind::Busy, "{error}");
                continue;
            }
        };
        if claimed["task"].is_null() {
            run(Op::new(add::Add::titled("more"))).map_or_else(|error| assert_eq!(error.kind(), Kind::Busy), drop);
            continue;
        }
        let (task, fence) = (id(&claimed["task"]), fence(&claimed));
        let done = done::Done { task: Some(task.clone().into()), fence: Some(fence.into()), ..done::Done::default() };
        match run(Op::new(done)) {
            Ok(_) => acknowledged.lock().unwrap().push((task, fence)),
            Err(error) => {
                assert!(matches!(error.kind(), Kind::Stale | Kind::NotFound | Kind::Busy), "{agent}: {error}");
            }
        }
    }
}

fn under_load(world: &World) {
    (0..40).for_each(|n| drop(world.add(&format!("task {n}"))));
    let (stop, acknowledged) = (AtomicBool::new(false), Acknowledged::default());
    // Stops the writers when a check fails, so that the failure is reported.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        for n in 0..WRITERS {
            let (stop, acknowledged) = (&stop, &acknowledged);
            scope.spawn(move || write_on(world, &format!("w{n}"), stop, acknowledged));
        }
        let mut begun = 0;
        for round in 0..4 {
            let told = || -> Vec<String> {
                let told = acknowledged.lock().unwrap();
                told.iter().filter(|(_, fence)| *fence > begun).map(|(task, _)| task.clone()).collect()
            };
            while told().len() < 12 {
                std::thread::yield_now();
            }
            let before = told();
            let (path, _) = take(world, &format!("b{round}.db"));
            let engine = if round % 2 == 0 { Engine::File } else { Engine::Postgres };
            let other = World::with(engine, |options| options.entropy = Arc::new(Seeded::new(100 + round)));
            restore(&other, &other.kernel, "person:ann", &path, None).unwrap();
            for task in &before {
                assert_eq!(other.show(task)["status"], "done", "{task} was acknowledged before the backup");
            }
            other.sound();
            // Restores the store onto itself twice, while writers whose holds it ends continue.
            for (half, name) in [(0, "x"), (1, "y")] {
                again(world, &path, &format!("safety-{round}-{name}.db"));
                let number = restored_number(world).get();
                assert!(number > begun, "round {round}.{half}");
                begun = number;
                for task in &before {
                    assert_eq!(world.show(task)["status"], "done", "{task} is in the backup");
                }
            }
        }
    });
    world.sound();
    let events = world.events();
    let first = events.iter().position(|event| event.kind == "project.restored").unwrap();
    let after: Vec<_> = events[first..].iter().filter(|event| event.kind == "task.done").collect();
    assert!(after.len() >= 5, "the writers went on: {}", after.len());
    for event in after {
        assert!(event.hold.is_some() && event.data["late"] != true, "an old holder passed: {event:?}");
    }
    assert!(world.kernel.ask(&world.call("a"), &query::health::Health {}).unwrap().wrong_counters.is_empty());
}
