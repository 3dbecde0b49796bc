//! A log that one process leaves to the next: it is continued, copied and moved with its file, and never mixed with
//! another.

use std::path::{Path, PathBuf};

use tenure_kernel::Op;
use tenure_kernel::op::add;
use tenure_kernel::query::status::Status;
use tenure_store::FileState;

use super::Case;
use super::copied_files::{closed, copy, keep, put, state};
use crate::fixture::{Engine, World, code_of};
use crate::raw;

pub(super) const CASES: &[Case] = &[
    Case::only(&[Engine::File], "a_log_at_rest_is_continued_by_the_next_process_until_it_is_long", left),
    Case::only(&[Engine::File], "inv_c4_a_log_at_rest_is_never_mixed_with_a_file_put_in_place", put_under_a_log),
    Case::only(&[Engine::File], "inv_t10_a_log_at_rest_is_copied_and_moved_with_its_file", copied_with_its_log),
    Case::only(&[Engine::File], "inv_t10_no_store_begins_beside_a_log_at_rest", orphan),
    Case::only(&[Engine::File], "inv_t5_queries_leave_a_log_at_rest_as_it_is", queries_beside_a_log),
];

/// A store whose processes leave a log of up to so many pages.
fn leaving(pages: u64) -> World {
    World::with(Engine::File, |options| options.leave_log = pages * 4_120)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn log_length(path: &Path) -> u64 {
    std::fs::metadata(beside(path, "-wal")).map_or(0, |meta| meta.len())
}

fn left(_: &World) {
    let mut world = leaving(48);
    let mut lengths = Vec::new();
    for n in 0..20 {
        world.add(&format!("task {n}"));
        lengths.push(closed(&mut world, log_length));
    }
    assert!(lengths.iter().all(|length| *length <= 48 * 4_120), "{lengths:?}");
    let copied = lengths.iter().filter(|length| **length == 0).count();
    assert!((1..10).contains(&copied), "{lengths:?}");
    assert_eq!(world.count("task.added"), 20);
    assert_eq!(state(&world), FileState::Own);
    world.sound();
    // A process with the usual options copies and removes the log that it finds.
    world.options.leave_log = 0;
    closed(&mut world, |_| ());
    world.add("the last");
    assert_eq!(closed(&mut world, log_length), 0);
    world.sound();
}

fn put_under_a_log(_: &World) {
    let mut world = leaving(1_000);
    world.options.leave_log = 0;
    closed(&mut world, |_| ());
    world.add("one");
    let aside = keep(&mut world);
    world.options.leave_log = 1_000 * 4_120;
    closed(&mut world, |_| ());
    for n in 0..30 {
        world.add(&format!("lost {n}"));
    }
    assert!(closed(&mut world, log_length) > 0);
    put(&mut world, &aside);
    let before = raw_bytes(&mut world);
    let add = || Op::new(add::Add::titled("two"));
    assert_eq!(code_of(world.run("a", add())), "store_moved");
    assert_eq!(code_of(world.kernel.ask(&world.call("a"), &Status {})), "store_moved");
    assert_eq!(raw_bytes(&mut world), before);
    // Without the log the file is used as any that was put back.
    closed(&mut world, |path| {
        std::fs::remove_file(beside(path, "-wal")).unwrap();
        std::fs::remove_file(beside(path, "-shm")).unwrap();
    });
    assert_eq!(state(&world), FileState::Copied);
    world.run("a", add()).unwrap();
    assert_eq!((world.count("task.added"), world.count("project.restored")), (2, 1));
    world.sound();
    // The log that is there from now on belongs to this file, also after a kill.
    assert!(closed(&mut world, log_length) > 0);
    world.add("three");
    assert_eq!(world.count("task.added"), 3);
}

fn raw_bytes(world: &mut World) -> (Vec<u8>, Vec<u8>) {
    closed(world, raw::bytes)
}

fn copied_with_its_log(_: &World) {
    let mut world = leaving(1_000);
    for n in 0..5 {
        world.add(&format!("task {n}"));
        closed(&mut world, |_| ());
    }
    // Copied together, as `cp -a` of the directory does.
    closed(&mut world, |path| {
        let kept = ["", "-wal", "-log"].map(|suffix| (beside(path, suffix), beside(path, &format!("{suffix}.copy"))));
        for (from, to) in &kept {
            copy(from, to);
            std::fs::remove_file(from).unwrap();
        }
        std::fs::remove_file(beside(path, "-shm")).unwrap();
        for (from, to) in kept {
            copy(&to, &from);
        }
    });
    assert_eq!(world.count("task.added"), 5, "nothing that was acknowledged is missing");
    assert_eq!(state(&world), FileState::Copied);
    world.add("after");
    assert_eq!((world.count("task.added"), world.count("project.restored")), (6, 1));
    world.sound();
    // Moved together, they stay what they are.
    closed(&mut world, |path| {
        for suffix in ["", "-wal", "-shm", "-log"] {
            let away = beside(path, &format!("{suffix}.away"));
            std::fs::rename(beside(path, suffix), &away).unwrap();
            std::fs::rename(away, beside(path, suffix)).unwrap();
        }
    });
    world.add("moved");
    assert_eq!((world.count("task.added"), world.count("project.restored")), (7, 1));
    world.sound();
}

fn orphan(_: &World) {
    let mut world = leaving(1_000);
    world.add("one");
    let away = world.dir.path().join("away.db");
    closed(&mut world, |path| std::fs::rename(path, &away).unwrap());
    let add = Op::new(add::Add::titled("in a new store"));
    assert_eq!(code_of(world.run("a", add)), "store_moved");
    assert_eq!(code_of(world.kernel.ask(&world.call("a"), &Status {})), "store_moved");
    closed(&mut world, |path| {
        assert!(!path.exists());
        std::fs::rename(&away, path).unwrap();
    });
    assert_eq!(world.count("task.added"), 1);
    world.add("two");
    world.sound();
}

fn queries_beside_a_log(_: &World) {
    let mut world = leaving(1_000);
    world.add("one");
    let before = raw_bytes(&mut world);
    assert!(!before.1.is_empty());
    for _ in 0..50 {
        closed(&mut world, |_| ());
        world.kernel.ask(&world.call("stranger"), &Status {}).unwrap();
        assert_eq!(world.count("task.added"), 1);
    }
    assert_eq!(raw_bytes(&mut world), before);
}
