//! Restore: all or nothing, and every client notices it.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_core::number::{EventNumber, GAP, Point};
use tenure_core::{Error, Kind, Result, Span};
use tenure_kernel::backup::BackupTaken;
use tenure_kernel::op::{add, block, claim, done, edit, note, release, transfer};
use tenure_kernel::query;
use tenure_kernel::query::log::{Log, Since};
use tenure_kernel::restore::{Ledger, Replace, Restored};
use tenure_kernel::{Call, Kernel, Op};
use tenure_store::Clock;
use tenure_store::copy::{Backup, Existing};
use tenure_store::table::project;

use super::Case;
use super::shorthand::{claiming, fence, id};
use super::walk::every_op;
use crate::fixture::{Engine, Seeded, TestClock, World, code_of, refusal};
use crate::raw::{self, differing, dump};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l4_after_a_restore_no_old_holder_passes", no_old_holder_passes),
    Case::everywhere("inv_l1_fences_rise_over_every_restore", fences_rise),
    Case::everywhere("inv_l1_two_restores_of_one_backup_within_a_second_issue_no_number_twice", within_a_second),
    Case::everywhere("inv_l1_with_a_record_restores_under_a_clock_set_back_issue_no_number_twice", with_a_record),
    Case::everywhere("inv_l1_a_restore_records_its_numbers_before_it_commits", recorded_before_the_commit),
    Case::everywhere("inv_l1_a_project_lost_since_the_backup_never_hands_out_a_number_twice", lost_projects),
    Case::everywhere("inv_t14_after_a_restore_old_cursors_are_stale", cursors_are_stale),
    Case::everywhere("inv_t9_a_restore_under_a_clock_set_back_ends_holds_now", clock_set_back),
    Case::everywhere("inv_t9_the_time_of_a_backup_from_a_clock_ahead_is_not_believed", clock_ahead),
    Case::everywhere("inv_t9_a_restore_never_turns_time_back", never_back),
    Case::everywhere("inv_c4_a_backup_with_rows_that_make_no_sense_is_refused", senseless_rows),
    Case::everywhere("inv_t14_a_number_inside_the_gap_of_a_restore_is_stale", inside_the_gap),
    Case::everywhere("inv_t4_a_restore_that_is_refused_changes_nothing", refusals_change_nothing),
    Case::shared("inv_t14_a_backup_is_restored_across_engines", across_engines),
    Case::everywhere("a_restored_project_that_began_after_the_backup_is_forgotten", newer_projects),
];

pub(super) fn take(world: &World, name: &str) -> (PathBuf, BackupTaken) {
    let path = world.dir.path().join(name);
    let taken = world.kernel.backup(&world.call("b"), &path, Existing::Keep, &|_| {}).unwrap();
    (path, taken)
}

/// Restores a file as a door does, from its own copy.
pub(super) fn restore(
    world: &World,
    kernel: &Kernel,
    actor: &str,
    path: &Path,
    safety: Option<&str>,
) -> Result<Restored> {
    restore_by(world, kernel, actor, path, safety, Ledger::NONE)
}

/// The same on a machine that keeps a record.
fn restore_by(
    world: &World,
    kernel: &Kernel,
    actor: &str,
    path: &Path,
    safety: Option<&str>,
    ledger: Ledger<'_>,
) -> Result<Restored> {
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("copy.db");
    std::fs::copy(path, &copy).unwrap();
    let safety = safety.map(|name| world.dir.path().join(name));
    let replace = safety.as_deref().map_or(Replace::Never, Replace::After);
    kernel.restore(&world.call(actor), &Backup::open(&copy)?, replace, ledger, &|_| {})
}

pub(super) fn again(world: &World, path: &Path, safety: &str) -> Restored {
    restore(world, &world.kernel, "person:ann", path, Some(safety)).unwrap()
}

/// Every op of a former holder on a task.
fn acts(task: &str, given: Option<i64>) -> [Op; 5] {
    let task = || Some(task.to_owned());
    [
        Op::new(note::Note { task: None, text: "late".into(), fence: given.map(Into::into), ..note::Note::default() }),
        Op::new(done::Done { task: task().map(Into::into), fence: given.map(Into::into), ..done::Done::default() }),
        Op::new(block::Block {
            task: task().map(Into::into),
            reason: "r".into(),
            fence: given.map(Into::into),
            ..block::Block::default()
        }),
        Op::new(release::Release {
            task: task().map(Into::into),
            fence: given.map(Into::into),
            ..release::Release::default()
        }),
        Op::new(transfer::Transfer {
            task: task().map(Into::into),
            to: "e".into(),
            fence: given.map(Into::into),
            ..transfer::Transfer::default()
        }),
    ]
}

fn no_old_holder_passes(world: &World) {
    let names = ["live", "lapsed", "settled", "after", "assigned"];
    let [live, lapsed, settled, after, assigned] = names.map(|title| world.add(title));
    world.note("e", &live, "here").unwrap();
    let first = fence(&world.claim_for("b", &lapsed, 60).unwrap());
    let second = fence(&world.claim_for("c", &settled, 60).unwrap());
    world.advance(Span::seconds(61));
    world.note("c", &settled, "settles both").unwrap();
    assert_eq!(world.count("hold.expired"), 2);
    let third = fence(&world.claim("a", &live).unwrap());
    world
        .run(
            "person:ann",
            Op::new(edit::Edit { task: assigned.clone().into(), assignee: Some("e".into()), ..edit::Edit::default() }),
        )
        .unwrap();
    let (path, _) = take(world, "b.db");
    let fourth = fence(&world.claim("d", &after).unwrap());
    let lost = world.add("lost");
    let restored = again(world, &path, "safety.db");
    assert_eq!((restored.projects, restored.ended_holds), (1, 1));
    for (agent, task, shown) in
        [("a", &live, third), ("b", &lapsed, first), ("c", &settled, second), ("d", &after, fourth)]
    {
        for given in [None, Some(shown)] {
            for op in &acts(task, given)[1..] {
                let error = refusal(world.run(agent, op.clone()));
                assert_eq!(
                    (error.kind(), error.code().as_str()),
                    (Kind::Stale, "stale_fence"),
                    "{agent} {op:?}: {error}"
                );
            }
            // Without a task the focus is meant, and no agent has one.
            assert_eq!(code_of(world.run(agent, acts(task, given)[0].clone())), "no_focus");
        }
        assert_eq!(world.show(task)["status"], "open");
    }
    assert_eq!(code_of(world.done("d", &lost)), "not_found");
    assert_eq!(world.show(&assigned)["assignee"], "e");
    world.sound();
    // The next claim gets it, and the replaced state is in the safety backup.
    let taken = world.claim("b", &live).unwrap();
    assert!(fence(&taken) > restored_number(world).get());
    world.done("b", &live).unwrap();
    world.sound();
    let other = World::new(Engine::File);
    restore(&other, &other.kernel, "person:ann", &world.dir.path().join("safety.db"), None).unwrap();
    assert_eq!(other.show(&lost)["title"], "lost");
    other.sound();
}

/// A backup from a machine whose clock was an hour, or ten years, ahead: later holds expire on time.
fn clock_ahead(world: &World) {
    for (ahead, safety) in [(3_600_000_000_i64, "one.db"), (315_360_000_000_000, "two.db"), (30_000_000, "three.db")] {
        // The real clock of the engine: on PostgreSQL the database's.
        let world = World::with(world.engine, |options| options.own_clock = world.engine != Engine::Postgres);
        let task = world.add("one");
        let (path, _) = take(&world, "b.db");
        raw::tamper(&path, &format!("UPDATE project SET last_time = last_time + {ahead}"));
        let restored = again(&world, &path, safety);
        assert_eq!(restored.projects, 1);
        let before = world.kernel.ask(&world.call("a"), &query::last_time::LastTime {}).unwrap();
        let clock = world.kernel.store().read("", |_, entered| Ok(entered.clock)).unwrap();
        assert!(before.0 - clock.0 <= 60_000_000, "{ahead}: {before} is far ahead of {clock}");
        world.claim_for("a", &task, 60).unwrap();
        world.sound();
    }
}

fn never_back(world: &World) {
    world.add("one");
    let (path, _) = take(world, "b.db");
    world.advance(Span::hours(1));
    world.add("two");
    let used = world.kernel.ask(&world.call("a"), &query::last_time::LastTime {}).unwrap();
    world.advance(Span(-Span::seconds(30).0));
    again(world, &path, "safety.db");
    let number = restored_number(world);
    let restored = world.events().into_iter().find(|event| event.number == number).unwrap();
    assert!(restored.at >= used.to_string(), "{} is before {used}", restored.at);
}

fn senseless_rows(world: &World) {
    world.add("one");
    for (n, sql) in [
        "UPDATE event SET data = 'not json' WHERE number = 3",
        "UPDATE task SET labels = 'nope'",
        "UPDATE task SET attempt = 9223372036854775807",
        "UPDATE task SET created_at = 9223372036854775807",
        "UPDATE project SET last_time = 9223372036854775807",
        "UPDATE project SET last_task = 9223372036854775807",
        "UPDATE project SET key = ''",
    ]
    .iter()
    .enumerate()
    {
        let (path, _) = take(world, &format!("b{n}.db"));
        raw::tamper(&path, sql);
        let before = dump(&world.kernel);
        let error = refusal(restore(world, &world.kernel, "person:ann", &path, Some(&format!("s{n}.db"))));
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Storage, "bad_backup"), "{sql}: {error:?}");
        assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0], "{sql}");
    }
    // Doctor's query finds the same in a store.
    raw::both(&world.kernel, "UPDATE event SET data = 'not json' WHERE number = 3");
    assert_eq!(code_of(world.kernel.ask(&world.call("a"), &query::read_through::ReadThrough {})), "corrupt_store");
}

fn inside_the_gap(world: &World) {
    world.add("one");
    let (path, _) = take(world, "b.db");
    world.add("two");
    let seen = world.last_event();
    again(world, &path, "safety.db");
    let since = |number| {
        let filter = Log { since: Some(Since::Number(number)), limit: 10, ..Log::default() };
        world.kernel.ask(&world.call("a"), &filter)
    };
    for number in [seen, EventNumber::new(100_000)] {
        assert_eq!(code_of(since(number)), "stale_cursor", "{number}");
    }
    for number in [EventNumber::START, EventNumber::FIRST, seen.previous(), restored_number(world)] {
        since(number).unwrap();
    }
}

pub(super) fn restored_number(world: &World) -> EventNumber {
    world.events().iter().rfind(|event| event.kind == "project.restored").unwrap().number
}

fn fences_rise(world: &World) {
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    let (path, _) = take(world, "b.db");
    let mut highest = world.last_event();
    for round in 0..3 {
        let restored = again(world, &path, &format!("safety-{round}.db"));
        assert_eq!(restored.ended_holds, 1);
        let number = restored_number(world);
        assert!(number > highest.max(EventNumber::new(GAP)), "above everything that was issued here");
        let fence = fence(&world.claim("a", &task).unwrap());
        assert!(fence > number.get());
        highest = world.last_event();
        // The count matches the existing events.
        assert_eq!(
            world.kernel.ask(&world.call("a"), &Log { limit: 1, ..Log::default() }).unwrap().total,
            Some(world.events().len() as i64)
        );
        world.sound();
    }
    // Ids do not grow with the jump: the skipped numbers were not issued.
    assert_eq!(world.note("a", &task, "x").unwrap()["id"].as_str().unwrap().len(), "n-00000".len());
    assert!(world.kernel.ask(&world.call("a"), &query::health::Health {}).unwrap().wrong_counters.is_empty());
}

/// Restores a backup into a new, empty location under another clock, and lets the store issue `more` numbers before it
/// is lost. Returns the first and the last number.
fn restored_and_lost(
    world: &World,
    path: &Path,
    task: &str,
    later: Span,
    more: i64,
    ledger: Ledger<'_>,
) -> (EventNumber, EventNumber) {
    let other = World::with(world.engine, |options| options.entropy = Arc::new(Seeded::new(5)));
    other.advance(later);
    restore_by(&other, &other.kernel, "person:ann", path, None, ledger).unwrap();
    let first = restored_number(&other);
    raw::both(&other.kernel, &format!("UPDATE project SET last_event = last_event + {more}"));
    let last = EventNumber::new(fence(&other.claim("b", task).unwrap()));
    assert!(first < last && last.get() < 1 << 53, "{last} is exact in JSON");
    (first, last)
}

/// The store is lost each time: the next restore knows only the backup and the clock. The entropy is the same, so
/// nothing depends on chance.
fn within_a_second(world: &World) {
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    // Also from a backup of a restored store, whose numbers are close to the clock.
    for name in ["young.db", "restored.db"] {
        let (path, _) = take(world, name);
        let mut highest = world.last_event();
        // Almost as many numbers as there are microseconds until the next restore, all within one second.
        for (later, more) in [(1, 990), (1_001, 998_000), (999_999, 0), (60_000_000, 0), (7_200_000_000, 0)] {
            let (first, last) = restored_and_lost(world, &path, &task, Span(later), more, Ledger::NONE);
            assert!(first > highest, "{name}: {first} after {highest}");
            highest = last;
        }
        again(world, &path, &format!("safety-{name}"));
    }
}

fn with_a_record(world: &World) {
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    let (path, _) = take(world, "b.db");
    let earlier = Cell::new(None);
    let mut highest = EventNumber::START;
    // The clock is set back by a century, stands still, goes forward, and back by a second, with a billion numbers
    // wherever the clock does not show the elapsed time.
    for (later, more) in [
        (Span(0), 1_000_000_000),
        (Span::days(-36_500), 1_000_000_000),
        (Span::days(-36_500), 1_000),
        (Span(0), 1_000_000_000),
        (Span::seconds(-1), 0),
    ] {
        let record = |point: Point| earlier.set(Some(point));
        let ledger = Ledger { earlier: earlier.get(), record: &record };
        let (first, last) = restored_and_lost(world, &path, &task, later, more, ledger);
        assert!(first > highest, "{first} after {highest}");
        highest = last;
        assert_eq!(
            earlier.get().map(|point| (point.number, point.at)),
            Some((first.previous(), world.clock.now() + later))
        );
    }
    // A record that leaves no room is reported; nothing has changed.
    let ledger = Ledger {
        earlier: Some(Point { number: EventNumber::new((1 << 53) - 1), at: world.clock.now() }),
        record: &|_| {},
    };
    let before = dump(&world.kernel);
    let refused = restore_by(world, &world.kernel, "person:ann", &path, Some("s.db"), ledger);
    assert_eq!(code_of(refused), "numbers_used_up");
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
}

fn recorded_before_the_commit(world: &World) {
    world.add("one");
    let (path, _) = take(world, "b.db");
    let record = |_: Point| panic!("killed while it writes the record");
    let other = World::with(world.engine, |options| options.entropy = Arc::new(Seeded::new(5)));
    let restoring = || {
        let ledger = Ledger { earlier: None, record: &record };
        restore_by(&other, &other.kernel, "person:ann", &path, None, ledger)
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(restoring)).is_err());
    assert!(!other.kernel.ask(&other.call("a"), &query::switched_on::SwitchedOn {}).unwrap(), "nothing was committed");
    restore(&other, &other.kernel, "person:ann", &path, None).unwrap();
    other.sound();
}

/// A project that began after the backup, or had no event when it was taken, in a store that is lost.
fn lost_projects(world: &World) {
    let at = |world: &World, key: &str| Call {
        project: project::NamedProject { key: key.into(), label: key.into() },
        ..world.call("a")
    };
    let claimed = |world: &World, key: &str| {
        world.run_call(&at(world, key), &Op::new(add::Add::titled("later"))).unwrap();
        fence(&world.run_call(&at(world, key), &Op::new(claim::Claim::default())).unwrap())
    };
    world.add("one");
    assert_eq!(code_of(world.run_call(&at(world, "name:empty"), &claiming("t-00000"))), "not_found");
    let (path, _) = take(world, "b.db");
    let mut highest = [claimed(world, "name:later"), claimed(world, "name:empty")];
    for seed in [5, 8] {
        let other = World::with(world.engine, |options| options.entropy = Arc::new(Seeded::new(seed)));
        other.advance(Span::hours(seed as i64));
        restore(&other, &other.kernel, "person:ann", &path, None).unwrap();
        for (key, highest) in ["name:later", "name:empty"].into_iter().zip(&mut highest) {
            let fence = claimed(&other, key);
            assert!(fence > *highest, "{key}: {fence} was handed out before {highest}");
            *highest = fence + 1_000_000;
            let page = other.kernel.ask(&at(&other, key), &Log { limit: 10, ..Log::default() }).unwrap();
            assert_eq!((page.items.len(), page.total), (4, Some(4)), "its log is whole");
        }
        other.sound();
    }
}

fn cursors_are_stale(world: &World) {
    let task = world.add("one");
    let read = |since| world.kernel.ask(&world.call("a"), &Log { since, limit: 2, ..Log::default() });
    let forward = read(Some(Since::Number(EventNumber::START))).unwrap();
    let back = read(None).unwrap().next.unwrap();
    let (path, _) = take(world, "b.db");
    let before = world.kernel.store().identity().unwrap().unwrap();
    again(world, &path, "safety.db");
    let identity = world.kernel.store().identity().unwrap().unwrap();
    assert_eq!(identity.id, before.id, "pins stay valid");
    assert_ne!(identity.incarnation, before.incarnation);
    for old in [forward.cursor.unwrap(), forward.next.unwrap(), back] {
        let error = refusal(read(Some(Since::Cursor(old))));
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Stale, "stale_cursor"));
        let oldest = error.get("oldest_cursor").unwrap().as_str().unwrap().to_owned();
        assert_eq!(read(Some(Since::Cursor(oldest))).unwrap().items[0].number, 1);
    }
    world.note("a", &task, "goes on").unwrap();
    // By time, across the gap.
    let all = world
        .kernel
        .ask(&world.call("a"), &Log { since: Some(Since::Time(TestClock::START)), limit: 100, ..Log::default() });
    assert_eq!(all.unwrap().items.len(), world.events().len());
}

fn clock_set_back(world: &World) {
    let task = world.add("one");
    world.claim("a", &task).unwrap();
    let (path, _) = take(world, "b.db");
    world.advance(Span::hours(-2));
    again(world, &path, "safety.db");
    let kinds: Vec<_> = world.events().iter().rev().take(3).map(|event| event.kind.clone()).collect();
    assert_eq!(kinds, ["hold.expired", "clock.stepped", "project.restored"]);
    world.claim("b", &task).unwrap();
    world.sound();
    // Forward again: holds restored twice end at the time of the second restore.
    world.advance(Span::hours(3));
    again(world, &path, "safety-2.db");
    world.sound();
}

fn refusals_change_nothing(world: &World) {
    world.add("one");
    let (path, _) = take(world, "b.db");
    world.add("two");
    let before = dump(&world.kernel);
    let refused = |actor: &str, path: &Path, safety: Option<&str>| -> Error {
        let error = refusal(restore(world, &world.kernel, actor, path, safety));
        assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0], "{error}");
        error
    };
    let error = refused("person:ann", &path, None);
    assert_eq!((error.kind(), error.code().as_str()), (Kind::Conflict, "store_not_empty"));
    assert_eq!(refused("a", &path, Some("s.db")).code(), "people_only");
    // A safety backup that cannot be written leaves everything unchanged.
    std::fs::write(world.dir.path().join("taken"), "x").unwrap();
    assert_eq!(refused("person:ann", &path, Some("taken")).code(), "file_exists");
    assert_eq!(refused("person:ann", &path, Some("no/such/directory")).code(), "backup_unwritable");
    let other = World::with(Engine::Memory, |options| options.entropy = Arc::new(Seeded::new(7)));
    other.add("of another store");
    let (foreign, _) = take(&other, "foreign.db");
    for safety in [None, Some("s2.db")] {
        let error = refused("person:ann", &foreign, safety);
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Conflict, "restore_other_store"));
    }
    // A store without events accepts any backup.
    let empty = World::with(Engine::File, |options| options.entropy = Arc::new(Seeded::new(9)));
    empty.kernel.store().create().unwrap();
    restore(&empty, &empty.kernel, "person:ann", &foreign, None).unwrap();
    assert_eq!(
        empty.kernel.store().identity().unwrap().unwrap().id,
        other.kernel.store().identity().unwrap().unwrap().id
    );
}

fn across_engines(world: &World) {
    every_op(world, |call, op| world.kernel.run(call, op));
    let (path, _) = take(world, "b.db");
    let other = World::with(
        match world.engine {
            Engine::Postgres => Engine::File,
            _ => Engine::Postgres,
        },
        |options| options.entropy = Arc::new(Seeded::new(5)),
    );
    restore(&other, &other.kernel, "person:ann", &path, None).unwrap();
    let (here, there) = (dump(&world.kernel), dump(&other.kernel));
    for same in ["checkout", "dep", "note", "request", "shown", "principal", "member", "token"] {
        assert_eq!(here[same], there[same], "{same}");
    }
    assert!(here["event"].iter().all(|event| there["event"].contains(event)), "every event came along");
    other.sound();
    // And the reverse.
    let (back, _) = take(&other, "back.db");
    again(world, &back, "safety.db");
    world.sound();
    let task = id(&world.claim_any("z").unwrap()["task"]);
    world.done("z", &task).unwrap();
    world.sound();
    assert!(raw::number(&world.kernel, "SELECT COUNT(*) FROM hold WHERE ended_at = 0", &[]) == 0);
}

fn newer_projects(world: &World) {
    world.add("one");
    let (path, _) = take(world, "b.db");
    let call = |request: &Call| Call {
        project: project::NamedProject { key: "name:later".into(), label: "later".into() },
        ..request.clone()
    };
    let add = || Op::new(add::Add::titled("later"));
    let run = |op: &Op| world.kernel.run(&call(&world.call("a")), op);
    run(&add()).unwrap();
    let claimed = run(&Op::new(claim::Claim::default())).unwrap();
    let old = fence(&serde_json::from_str(&claimed.body).unwrap());
    again(world, &path, "safety.db");
    let later = call(&world.call("a"));
    assert!(!world.kernel.ask(&later, &query::switched_on::SwitchedOn {}).unwrap());
    run(&add()).unwrap();
    let claimed = run(&Op::new(claim::Claim::default())).unwrap();
    assert!(fence(&serde_json::from_str(&claimed.body).unwrap()) > old, "its numbers are not handed out again");
    let page = world.kernel.ask(&later, &Log { since: None, limit: 10, ..Log::default() }).unwrap();
    assert_eq!((page.items.len(), page.total), (4, Some(4)));
}
