//! An embedded store whose file is a copy, or was put back by another program: it continues as after a restore, once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use tenure_core::Span;
use tenure_core::number::{EventNumber, Fence, GAP, Point};
use tenure_kernel::op::{add, done, tool_used};
use tenure_kernel::query::log::{Log, Since};
use tenure_kernel::query::status::Status;
use tenure_kernel::{Call, Kernel, Op, PendingOp, ReadyOp};
use tenure_store::table::project::NamedProject;
use tenure_store::{CommitDecision, Continued, FileState, Location, Sql, SystemClock};

use super::Case;
use super::restoring::{restore, take};
use super::shorthand::fence;
use crate::fixture::{Engine, World, code_of, kind_of};
use crate::raw;

pub(super) const CASES: &[Case] = &[
    Case::only(&[Engine::File], "inv_l1_a_file_that_was_put_back_issues_no_fence_twice", put_back),
    Case::only(&[Engine::File], "inv_l1_many_ops_at_once_on_a_file_that_was_put_back_continue_it_once", many_at_once),
    Case::only(&[Engine::File], "inv_l1_a_file_put_back_twice_under_a_clock_set_back_issues_no_fence_twice", set_back),
    Case::only(&[Engine::File], "inv_l1_a_file_of_an_older_schema_that_was_put_back_is_noticed", older_schema),
    Case::only(&[Engine::File], "inv_t5_queries_of_a_file_that_was_put_back_answer_and_write_nothing", queries),
    Case::only(&[Engine::File], "a_file_that_was_moved_or_restored_by_tenure_loses_nothing", moved_and_restored),
    Case::only(&[Engine::File], "inv_i5_a_copy_of_another_store_is_not_continued", another_store),
    Case::only(&[Engine::File], "inv_l1_an_original_that_is_moved_back_issues_no_fence_twice", moved_back),
    Case::only(&[Engine::File], "a_copy_that_is_used_elsewhere_leaves_the_original_alone", used_elsewhere),
    Case::only(&[Engine::File], "inv_l1_a_copy_without_any_project_issues_no_fence_twice", without_projects),
    Case::only(&[Engine::File], "inv_t6_a_replay_on_a_file_that_was_put_back_changes_nothing", replayed),
    Case::only(
        &[Engine::File],
        "inv_t15_a_hook_that_is_refused_on_a_file_that_was_put_back_changes_nothing",
        refused_hook,
    ),
    Case::only(&[Engine::File], "inv_i5_a_group_continues_a_copy_for_the_calls_that_may_use_it", group),
    Case::only(&[Engine::File], "inv_c4_a_copy_that_was_cut_off_is_refused_and_found_by_the_check", cut_off),
    Case::only(&[Engine::File], "a_birth_time_that_was_not_recorded_is_added_by_the_next_write", birth_time),
];

/// Changes the file while no kernel of this process has it open.
pub(super) fn closed<T>(world: &mut World, change: impl FnOnce(&Path) -> T) -> T {
    world.kernel = Kernel::new(Location::Memory, world.options.clone(), tenure_client::phrasing::of).unwrap();
    let answer = change(raw::file(world));
    world.kernel = Kernel::new(world.location.clone(), world.options.clone(), tenure_client::phrasing::of).unwrap();
    answer
}

/// Copies the file as it is now.
pub(super) fn keep(world: &mut World) -> PathBuf {
    let aside = world.dir.path().join("aside.db");
    closed(world, |path| copy(path, &aside));
    aside
}

/// Replaces the file with a copy, as git does: the same name, a different file.
pub(super) fn put(world: &mut World, aside: &Path) {
    closed(world, |path| {
        std::fs::remove_file(path).unwrap();
        copy(aside, path);
    });
}

#[expect(clippy::disallowed_methods, reason = "no kernel has the file open")]
pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
}

pub(super) fn state(world: &World) -> FileState {
    world.kernel.store().file_state().unwrap()
}

fn put_back(_: &World) {
    let mut world = World::new(Engine::File);
    let [one, two] = ["one", "two"].map(|title| world.add(title));
    let held = fence(&world.claim("a", &one).unwrap());
    let aside = keep(&mut world);
    let lost = fence(&world.claim("b", &two).unwrap());
    let before = world.kernel.store().identity().unwrap().unwrap();
    let cursor = format!("{}.{held}", before.incarnation);
    assert_eq!(state(&world), FileState::Own);
    put(&mut world, &aside);
    assert_eq!(state(&world), FileState::Copied);

    let issued = fence(&world.claim("c", &two).unwrap());
    assert!(issued > lost.max(GAP), "{issued} after {lost}");
    let after = world.kernel.store().identity().unwrap().unwrap();
    assert_eq!(after.id, before.id);
    assert_ne!(after.incarnation, before.incarnation);
    let newer = Log { since: Some(Since::Cursor(cursor)), limit: 1, ..Log::default() };
    assert_eq!(code_of(world.kernel.ask(&world.call("a"), &newer)), "stale_cursor");
    let finish =
        Op::new(done::Done { task: Some(one.as_str().into()), fence: Some(Fence(held)), ..done::Done::default() });
    assert_eq!(code_of(world.run("a", finish)), "stale_fence");
    let restored = world.events().into_iter().find(|event| event.kind == "project.restored").unwrap();
    assert_eq!((&restored.data["copied"], &restored.data["ended_holds"]), (&true.into(), &1.into()));
    assert!(matches!(state(&world), FileState::Continued(_)));

    // Only once: later calls are normal.
    closed(&mut world, |_| ());
    world.claim("a", &one).unwrap();
    world.done("c", &two).unwrap();
    assert_eq!(world.count("project.restored"), 1);
    world.sound();
}

fn many_at_once(_: &World) {
    let mut world = World::new(Engine::File);
    world.add("one");
    let aside = keep(&mut world);
    world.add("two");
    put(&mut world, &aside);
    let barrier = Barrier::new(4);
    std::thread::scope(|scope| {
        for at in 0..4 {
            let (world, barrier) = (&world, &barrier);
            scope.spawn(move || {
                let kernel = world.another();
                let calls: [Call; 3] = std::array::from_fn(|_| world.call(&format!("a{at}")));
                let ready = calls.each_ref().map(|call| ReadyOp::new(call, Op::new(add::Add::titled("new"))).unwrap());
                let order = |at: usize| PendingOp { call: &calls[at], ready: &ready[at], is_wanted: &|| true };
                barrier.wait();
                for answer in kernel.run_many(&[order(0), order(1), order(2)], Duration::from_secs(60)) {
                    answer.unwrap();
                }
            });
        }
    });
    assert_eq!((world.count("project.restored"), world.count("task.added")), (1, 13));
    world.sound();
}

/// A record that a machine keeps.
#[derive(Default)]
struct Record(Mutex<Option<(Point, Option<PathBuf>)>>);

impl Continued for Record {
    fn earlier(&self, _: &str) -> Option<Point> {
        self.0.lock().unwrap().as_ref().map(|(point, _)| *point)
    }

    fn continued_at(&self, _: &str, file: &Path) -> Option<EventNumber> {
        let record = self.0.lock().unwrap();
        record.as_ref().filter(|(_, at)| at.as_deref() == Some(file)).map(|(point, _)| point.number)
    }

    fn record(&self, _: &str, point: Point, file: Option<&Path>) {
        *self.0.lock().unwrap() = Some((point, file.map(Path::to_path_buf)));
    }
}

fn set_back(_: &World) {
    let mut world = World::with(Engine::File, |options| options.continued = Some(Arc::new(Record::default())));
    let task = world.add("one");
    let aside = keep(&mut world);
    world.advance(Span::hours(1));
    put(&mut world, &aside);
    let first = fence(&world.claim("a", &task).unwrap());
    world.advance(Span::minutes(-30));
    put(&mut world, &aside);
    let second = fence(&world.claim("b", &task).unwrap());
    assert!(second > first, "{second} after {first}");
}

/// The statement of the view that step 10 replaces.
fn old_view() -> &'static str {
    let step = tenure_store::migrate::STEPS[2].sqlite();
    let view = &step[step.find("CREATE VIEW task_full").expect("step 3 makes the view")..];
    view.split(';').next().unwrap_or_default().to_owned().leak()
}

fn older_schema(_: &World) {
    let real = || World::with(Engine::File, |options| options.clock = Arc::new(SystemClock));
    let age = |world: &World| {
        let name = world.call("a").project;
        let statements = [
            Sql::same("PRAGMA user_version = 8"),
            Sql::same("UPDATE store SET schema_version = 8"),
            Sql::same("UPDATE project SET schema_version = 8"),
            Sql::same("ALTER TABLE store DROP COLUMN file"),
            Sql::same("DROP VIEW task_full"),
            Sql::same(old_view()),
            Sql::same("ALTER TABLE message DROP COLUMN reply_to"),
            Sql::same("ALTER TABLE message DROP COLUMN thread"),
            Sql::same("DROP TABLE task_word"),
            Sql::same("DROP INDEX task_created"),
            Sql::same("DROP INDEX task_updated"),
            Sql::same("DROP INDEX task_not_before"),
            Sql::same("ALTER TABLE task DROP COLUMN not_before"),
        ];
        let run = world.kernel.store().write(&name, |tx, _| {
            statements.iter().try_for_each(|sql| tx.query(*sql, &[]).map(|_| ()))?;
            Ok(CommitDecision::Commit(()))
        });
        run.unwrap();
    };
    // An upgrade in place ends no holds.
    let mut world = real();
    let task = world.add("one");
    let held = fence(&world.claim("a", &task).unwrap());
    age(&world);
    closed(&mut world, |_| ());
    assert_eq!(fence(&world.claim("a", &task).unwrap()), held);
    assert_eq!((world.count("project.restored"), state(&world)), (0, FileState::Own));

    // The same file as git restores it: created after all its events.
    let mut world = real();
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    age(&world);
    let aside = keep(&mut world);
    let last = raw::number(&world.kernel, "SELECT last_time FROM project", &[]);
    let born = |path: &Path| {
        let since = std::fs::metadata(path).unwrap().created().unwrap().duration_since(UNIX_EPOCH).unwrap();
        i64::try_from(since.as_micros()).unwrap()
    };
    // File systems use a clock that ticks every few milliseconds.
    loop {
        put(&mut world, &aside);
        if closed(&mut world, born) > last {
            break;
        }
    }
    assert_eq!(state(&world), FileState::Copied);
    assert!(fence(&world.claim("b", &task).unwrap()) > GAP);
    assert_eq!(world.count("project.restored"), 1);
}

fn queries(_: &World) {
    let mut world = World::new(Engine::File);
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    let events = world.events().len();
    let aside = keep(&mut world);
    put(&mut world, &aside);
    let before = closed(&mut world, raw::bytes);
    assert_eq!(world.show(&task)["holder"]["agent"], "a", "as the file has it");
    world.kernel.ask(&world.call("b"), &Status {}).unwrap();
    world.kernel.store().create().unwrap();
    assert_eq!(world.events().len(), events, "none was appended");
    assert_eq!(state(&world), FileState::Copied);
    assert!(closed(&mut world, raw::bytes) == before, "a query wrote");
}

fn moved_and_restored(_: &World) {
    let mut world = World::new(Engine::File);
    let task = world.add("one");
    let held = fence(&world.claim("a", &task).unwrap());
    let moved = world.dir.path().join("moved.db");
    closed(&mut world, |path| std::fs::rename(path, &moved).unwrap());
    world.location = Location::File(moved);
    closed(&mut world, |_| ());
    assert_eq!(fence(&world.claim("a", &task).unwrap()), held, "the same hold");
    assert_eq!((world.count("project.restored"), state(&world)), (0, FileState::Own));

    // A restore already continues the store, into a new location and over an existing one.
    let (backup, _) = take(&world, "b.backup");
    let place = World::new(Engine::File);
    restore(&world, &place.kernel, "person:ann", &backup, None).unwrap();
    restore(&world, &world.kernel, "person:ann", &backup, Some("safety.backup")).unwrap();
    for there in [&place, &world] {
        assert_eq!(state(there), FileState::Own);
        // Each call has an id for which the backup has no answer.
        there.kernel.run(&world.call("person:ann"), &Op::new(add::Add::titled("two"))).unwrap();
        assert_eq!(there.count("project.restored"), 1);
    }
}

fn another_store(_: &World) {
    let mut world = World::new(Engine::File);
    world.add("one");
    let aside = keep(&mut world);
    put(&mut world, &aside);
    let before = closed(&mut world, raw::bytes);
    let call = Call { pinned_store: Some("s-other".into()), ..world.call("a") };
    assert_eq!(code_of(world.kernel.run(&call, &Op::new(add::Add::titled("two")))), "other_store");
    assert!(closed(&mut world, raw::bytes) == before, "it was written");
}

fn moved_back(_: &World) {
    let mut world = World::with(Engine::File, |options| options.continued = Some(Arc::new(Record::default())));
    let task = world.add("one");
    let held = fence(&world.claim("a", &task).unwrap());
    let aside = keep(&mut world);
    let original = world.dir.path().join("original.db");
    closed(&mut world, |path| {
        std::fs::rename(path, &original).unwrap();
        copy(&aside, path);
    });
    let first = fence(&world.claim("b", &task).unwrap());
    closed(&mut world, |path| std::fs::rename(&original, path).unwrap());
    assert_eq!(state(&world), FileState::Copied, "it is behind what was issued at its place");
    let second = fence(&world.claim("c", &task).unwrap());
    assert!(first > held && second > first, "{second} after {first} after {held}");
    assert_eq!(world.count("project.restored"), 1);

    // Once.
    closed(&mut world, |_| ());
    assert_eq!(fence(&world.claim("c", &task).unwrap()), second);
    assert!(matches!(state(&world), FileState::Continued(_)));
}

fn used_elsewhere(_: &World) {
    let mut world = World::with(Engine::File, |options| options.continued = Some(Arc::new(Record::default())));
    let task = world.add("one");
    let held = fence(&world.claim("a", &task).unwrap());
    let aside = keep(&mut world);
    let there = Kernel::new(Location::File(aside), world.options.clone(), tenure_client::phrasing::of).unwrap();
    there.run(&world.call("b"), &Op::new(add::Add::titled("two"))).unwrap();
    drop(there);
    closed(&mut world, |_| ());
    assert_eq!((fence(&world.claim("a", &task).unwrap()), state(&world)), (held, FileState::Own));
}

fn without_projects(_: &World) {
    let mut world = World::new(Engine::File);
    world.kernel.store().create().unwrap();
    let aside = keep(&mut world);
    let task = world.add("one");
    let lost = fence(&world.claim("a", &task).unwrap());
    put(&mut world, &aside);
    let task = world.add("one");
    let issued = fence(&world.claim("b", &task).unwrap());
    assert!(issued > lost.max(GAP), "{issued} after {lost}");
    world.sound();
}

fn replayed(_: &World) {
    let mut world = World::new(Engine::File);
    let (call, op) = (world.call("a"), Op::new(add::Add::titled("one")));
    let first = world.kernel.run(&call, &op).unwrap();
    let aside = keep(&mut world);
    put(&mut world, &aside);
    let before = closed(&mut world, raw::bytes);
    let again = world.kernel.run(&call, &op).unwrap();
    assert!(again.replayed && again.body == first.body, "{again:?}");
    let ready = ReadyOp::new(&call, op).unwrap();
    let order = PendingOp { call: &call, ready: &ready, is_wanted: &|| true };
    let together = world.kernel.run_many(&[order], Duration::from_secs(60));
    assert!(together.into_iter().all(|answer| answer.unwrap().replayed));
    let other = Op::new(add::Add::titled("two"));
    assert_eq!(code_of(world.kernel.run(&call, &other)), "request_mismatch");
    assert!(closed(&mut world, raw::bytes) == before, "a replay wrote");
    assert_eq!(state(&world), FileState::Copied);
}

fn refused_hook(_: &World) {
    let mut world = World::new(Engine::File);
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    let aside = keep(&mut world);
    put(&mut world, &aside);
    let before = closed(&mut world, raw::bytes);
    let project = NamedProject { key: "name:other".into(), label: "other".to_owned() };
    let call = Call { project, ..world.call("a") };
    let used = tool_used::ToolUsed { tool: "claude".into(), session: "S".into(), ..tool_used::ToolUsed::default() };
    assert_eq!(code_of(world.kernel.run(&call, &Op::new(used))), "not_switched_on");
    assert!(closed(&mut world, raw::bytes) == before, "a refused hook wrote");
}

fn group(_: &World) {
    let mut world = World::new(Engine::File);
    let first = world.call("a");
    world.kernel.run(&first, &Op::new(add::Add::titled("one"))).unwrap();
    let aside = keep(&mut world);
    put(&mut world, &aside);
    let elsewhere = Call { pinned_store: Some("s-other".into()), ..world.call("b") };
    let calls = [elsewhere, first, world.call("c"), world.call("d")];
    let ready = ["two", "one", "three", "four"].map(|title| Op::new(add::Add::titled(title)));
    let ready: Vec<ReadyOp> = calls.iter().zip(ready).map(|(call, op)| ReadyOp::new(call, op).unwrap()).collect();
    let orders: Vec<PendingOp<'_>> =
        calls.iter().zip(&ready).map(|(call, ready)| PendingOp { call, ready, is_wanted: &|| true }).collect();
    let answers: Vec<String> = world
        .kernel
        .run_many(&orders, Duration::from_secs(60))
        .into_iter()
        .map(|answer| answer.map_or_else(|error| error.code().to_string(), |reply| reply.replayed.to_string()))
        .collect();
    assert_eq!(answers, ["other_store", "true", "false", "false"]);
    assert_eq!((world.count("project.restored"), world.count("task.added")), (1, 3));
    world.sound();
}

fn birth_time(_: &World) {
    let mut world = World::new(Engine::File);
    world.add("one");
    let born = |world: &World| raw::number(&world.kernel, "SELECT json_extract(file, '$.born') FROM store", &[]);
    let known = born(&world);
    closed(&mut world, |path| raw::tamper(path, "UPDATE store SET file = json_set(file, '$.born', 0)"));
    assert_eq!((known > 0, born(&world)), (true, 0));
    world.add("two");
    assert_eq!((born(&world), world.count("project.restored")), (known, 0));

    // From here on another file of the same inode is noticed.
    closed(&mut world, |path| raw::tamper(path, "UPDATE store SET file = json_set(file, '$.born', 7)"));
    assert_eq!(state(&world), FileState::Copied);
}

#[expect(clippy::disallowed_methods, reason = "no kernel has the file open")]
fn cut_off(_: &World) {
    let mut world = World::new(Engine::File);
    for at in 0..200 {
        world.add(&format!("task {at}"));
    }
    let aside = keep(&mut world);
    let whole = std::fs::read(&aside).unwrap();
    std::fs::write(&aside, &whole[..whole.len() / 2]).unwrap();
    put(&mut world, &aside);
    let before = closed(&mut world, raw::bytes);
    let refused = world.kernel.run(&world.call("a"), &Op::new(add::Add::titled("two")));
    assert_eq!(kind_of(refused), "storage");
    let found = world.kernel.store().integrity();
    assert!(!matches!(&found, Ok(lines) if lines.is_empty()), "the check of `doctor` found nothing");
    assert!(closed(&mut world, raw::bytes) == before, "it was written");
}
