//! Crash tests: real processes work on one store and are killed with `kill -9` at random moments, one or all at once,
//! and restarted. Then [`checker`] compares the answers they received with the contents of the store.

mod checker;
mod killing;
mod process;

use std::time::Instant;

use tenure_store::Location;

use self::checker::{Findings, check};
use self::killing::kill;
use crate::evidence::{Check, Soak};
use crate::fixture::{Engine, World};
use crate::report::{Budget, Section};

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "inv_t4_whoever_is_killed_leaves_all_or_nothing_on_sqlite", run: || run(Engine::File) },
    Check { name: "inv_t4_whoever_is_killed_leaves_all_or_nothing_on_postgres", run: || run(Engine::Postgres) },
    Check { name: "inv_t4_what_is_missing_after_kills_is_seen", run: sees_what_is_missing },
];

pub(crate) const SOAKS: &[Soak] = &[Soak { name: "crash", share: 2, run: soak }];

/// Entry point of a worker process; returns its exit code.
pub(crate) fn part() -> i32 {
    process::play()
}

fn run(engine: Engine) {
    let (kills, found) = round(engine, 1, 10);
    assert_eq!(found.violations, [""; 0]);
    assert!(kills >= 10 && found.answered > 5 && found.cut_off > 0, "{kills} kills prove little: {found:?}");
}

/// Proves that the checker can fail: rows are changed behind its back, and it must report that.
fn sees_what_is_missing() {
    for (change, seen) in [
        ("DELETE FROM request WHERE op = 'add'", "is half there"),
        ("UPDATE request SET response = '{}' WHERE op = 'add'", "was answered with"),
        ("UPDATE event SET request_id = 'ghost' WHERE number = 3", "nobody sent"),
    ] {
        let world = World::new(Engine::File);
        let heard = kill(&address(&world), 2, 4);
        crate::raw::both(&world.kernel, change);
        let found = check(&address(&world), &heard);
        assert!(found.violations.iter().any(|why| why.contains(seen)), "{change} went unseen: {found:?}");
    }
}

/// One store from its creation to the last kill.
fn round(engine: Engine, seed: u64, kills: usize) -> (usize, Findings) {
    // The world only provides a location; the first process creates the store.
    let world = World::new(engine);
    let store = address(&world);
    let heard = kill(&store, seed, kills);
    (heard.kills, check(&store, &heard))
}

fn address(world: &World) -> String {
    match &world.location {
        Location::File(path) => path.to_str().unwrap().to_owned(),
        Location::Postgres(url) => url.clone(),
        Location::Memory => unreachable!("processes cannot share memory"),
    }
}

/// Alternates between both engines. At least 1,000 kills on each, regardless of the time budget.
fn soak(budget: Budget) -> Section {
    const LEAST: usize = 1_000;
    const KILLS_PER_STORE: usize = 50;
    let mut section = Section::new("Crashes");
    let start = Instant::now();
    let mut kills = [0; 2];
    let mut total = Findings::default();
    for n in 0.. {
        let enough = kills.iter().all(|kills| *kills >= LEAST) && start.elapsed() >= budget.time;
        if enough || section.violations.len() >= 10 {
            break;
        }
        for (engine, kills) in Engine::SHARED.into_iter().zip(&mut kills) {
            let seed = budget.seed.wrapping_add(n);
            let (killed, found) = round(engine, seed, KILLS_PER_STORE);
            *kills += killed;
            total.answered += found.answered;
            total.refused += found.refused;
            total.cut_off += found.cut_off;
            total.cut_off_and_done += found.cut_off_and_done;
            total.events += found.events;
            total.taken_over += found.taken_over;
            let found = found.violations.into_iter();
            section.violations.extend(found.map(|why| format!("{}, seed {seed}: {why}", engine.name())));
        }
    }
    section.figure("kills on SQLite", kills[0]);
    section.figure("kills on PostgreSQL", kills[1]);
    section.figure("ops answered and found once, whole and byte for byte", total.answered);
    section.figure("ops refused that left nothing of their own", total.refused);
    section.figure("ops cut off: all or nothing of each", total.cut_off);
    section.figure("of these carried out, and replayed when sent again", total.cut_off_and_done);
    section.figure("events without a gap", total.events);
    section.figure("holds of the dead taken over", total.taken_over);
    section
}
