//! A fleet: processes that play agent tools edit the files of one checkout with the real `tenure`, get into each other's
//! way, wait, write to each other, and are killed in the middle. Then [`checker`] compares what they said with what is
//! in the files, and with the log.
//!
//! An update reads a file and writes it anew with one line more; nothing but holds keeps two of them apart, so two
//! holders at once show as a line that is missing.

mod agent;
mod asking;
mod calls;
mod checker;
pub(crate) mod ground;
mod supervisor;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use self::checker::check;
use self::ground::Ground;
use self::supervisor::lead;
use crate::evidence::{Check, Soak};
use crate::fixture::Engine;
use crate::report::{Budget, Section};

pub(crate) const TIMED: &[Check] = &[
    Check { name: "inv_r2_a_small_fleet_with_kills_loses_no_update_on_sqlite", run: || small(Engine::File) },
    Check { name: "inv_r2_a_small_fleet_with_kills_loses_no_update_on_postgres", run: || small(Engine::Postgres) },
    Check { name: "inv_r2_what_a_fleet_loses_that_ignores_refusals_is_seen", run: sees_what_is_lost },
];

pub(crate) const SOAKS: &[Soak] = &[Soak { name: "fleet", share: 1, run: soak }];

/// What a process of this part does; returns its exit code.
pub(crate) fn part() -> i32 {
    agent::play()
}

/// How large a fleet is, and how long it works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    agents: usize,
    directories: usize,
    /// At least so long,
    time: Duration,
    /// and until so much was reserved,
    reservations: usize,
    /// and so many requests were sent to holders,
    requests: usize,
    /// and so many were killed.
    kills: usize,
    /// The shortest time between two kills.
    rest: Duration,
    /// Whether agents write what they were refused: what that leaves must be seen.
    ignores: bool,
}

/// What a process is told when it starts, in one line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Order {
    ground: Ground,
    /// The id of the session, or the name of an agent without hooks.
    id: String,
    /// Whether its tool has hooks. One without them leaves no proof of its death: what it held lapses.
    hooks: bool,
    /// The process among all of the fleet; everything random comes from it, and its updates are named by it.
    number: u64,
    seed: u64,
    /// Those it sends a long text to now and then, whether they live or not.
    friends: Vec<String>,
    ignores: bool,
}

impl Order {
    /// The agent that the process must be, to itself and to others.
    fn name(&self) -> String {
        name(&self.id, self.hooks)
    }
}

fn name(id: &str, hooks: bool) -> String {
    if hooks { format!("claude-{id}") } else { id.to_owned() }
}

/// What a process says, a line each, before and after everything that counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Line {
    /// Who it is by `whoami`, at its beginning and at its end.
    Am(String),
    /// It may write.
    Granted { guard: bool },
    /// It has read the file that it is about to write.
    Read,
    /// About to write: from here on the line may be in the file.
    Writing { file: String, update: String },
    /// Written: the line must be in the file.
    Wrote { file: String, update: String },
    /// It was granted what it asked for, but so slowly that it leaves it.
    TooSlow,
    /// Somebody stood in its way.
    Conflict(usize),
    /// It stands in line.
    Waits,
    /// It would have waited in a circle, and gave back what it kept.
    Circle,
    /// It wrote to the holder.
    Asked(String),
    /// What it wrote is over: how.
    Answered { message: String, how: String },
    /// It got what it asked for after all.
    Settled { conflict: usize, by: By, ms: u64 },
    /// A page of its mail; what of it was new.
    Inbox { items: usize, bytes: usize, new: Vec<String> },
    /// It released what another asked for.
    Obliged,
    /// The guard could not look, and refused.
    Blind,
    /// What must never be.
    Odd(String),
    /// It ends by itself.
    Bye,
}

/// What ended a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum By {
    /// It stood in line, and its turn came.
    Waiting,
    /// The holder was asked, and the hold ended.
    Request,
}

/// A process from its start to its end.
#[derive(Debug)]
struct Life {
    name: String,
    lines: Vec<Line>,
    killed: bool,
}

/// What was seen in all of a run.
#[derive(Debug, Default)]
struct Found {
    figures: BTreeMap<&'static str, u64>,
    violations: Vec<String>,
}

fn run(engine: Engine, size: Size, seed: u64) -> Found {
    let place = tempfile::Builder::new().prefix("tn-fleet-").tempdir().unwrap();
    let ground = Ground::new(place.path(), engine, size.directories);
    let lives = lead(&ground, size, seed);
    check(&ground, &lives)
}

fn small(engine: Engine) {
    let size = Size {
        agents: 3,
        directories: 2,
        time: Duration::ZERO,
        reservations: 60,
        requests: 6,
        kills: 4,
        rest: Duration::from_millis(500),
        ignores: false,
    };
    let found = run(engine, size, 1);
    assert_eq!(found.violations, [""; 0]);
    let figure = |name| found.figures.get(name).copied().unwrap_or(0);
    assert!(figure(checker::KILLS) >= 4 && figure(checker::CONFLICTS) > 0, "this proves little: {found:?}");
}

/// The checker itself must be able to fail: agents that write whatever they are told lose updates, and it says so.
fn sees_what_is_lost() {
    let size = Size {
        agents: 3,
        directories: 1,
        time: Duration::ZERO,
        reservations: 100,
        requests: 0,
        kills: 0,
        rest: Duration::MAX,
        ignores: true,
    };
    let found = run(Engine::File, size, 1);
    assert!(found.violations.iter().any(|why| why.contains("is missing")), "went unseen: {found:?}");
}

/// Five agents and 56 directories on each engine. The least, whatever the time: two minutes on each, at a rate of 800
/// reservations in two minutes.
fn soak(budget: Budget) -> Section {
    const LEAST: Duration = Duration::from_secs(120);
    const RESERVATIONS: u64 = 800;
    let mut section = Section::new("Fleet");
    let size = Size {
        agents: 5,
        directories: 56,
        time: LEAST.max(budget.time / 2),
        reservations: 0,
        requests: 1,
        kills: 1,
        rest: Duration::from_secs(3),
        ignores: false,
    };
    section.figure("agent processes at a time", size.agents);
    section.figure("directories", size.directories);
    for engine in Engine::SHARED {
        let title = if engine == Engine::File { "SQLite" } else { "PostgreSQL" };
        let start = Instant::now();
        let mut found = run(engine, size, budget.seed);
        let done = found.figures.get(checker::RESERVATIONS).copied().unwrap_or(0);
        let needed = RESERVATIONS * size.time.as_secs() / LEAST.as_secs();
        if done < needed {
            found.violations.push(format!("{done} reservations in {} s, not {needed}", size.time.as_secs()));
        }
        section.figure(&format!("{title}: time with the checks"), format!("{} s", start.elapsed().as_secs()));
        for name in checker::FIGURES {
            section.figure(&format!("{title}: {name}"), found.figures.get(name).copied().unwrap_or(0));
        }
        section.violations.extend(found.violations.into_iter().map(|why| format!("{title}: {why}")));
    }
    section
}
