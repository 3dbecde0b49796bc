//! Fleet test: processes that play agent tools edit the files of one checkout with the real `tenure`, conflict, wait,
//! message each other, and are killed in the middle of their work. Then [`checker`] compares their reports with the
//! files and the log.
//!
//! An update reads a file and writes it again with one more line. Only holds keep two updates apart, so two holders at
//! once lose a line.

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

/// Entry point of a worker process; returns its exit code.
pub(crate) fn part() -> i32 {
    agent::play()
}

/// The size of a fleet and its end conditions, all of which must be met.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    agents: usize,
    directories: usize,
    /// The minimum duration.
    time: Duration,
    /// The minimum number of reservations.
    reservations: usize,
    /// The minimum number of requests to holders.
    requests: usize,
    /// The minimum number of kills.
    kills: usize,
    /// The minimum time between two kills.
    rest: Duration,
    /// Whether agents ignore refusals and write anyway. The checker must detect the result.
    ignores: bool,
}

/// The configuration of a process, sent in one line at its start.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Order {
    ground: Ground,
    /// The session id, or the agent name without hooks.
    id: String,
    /// Whether its tool has hooks. Without them there is no proof of death, and its holds must expire.
    hooks: bool,
    /// The number of the process in the fleet. It names the updates of the process.
    number: u64,
    seed: u64,
    /// The recipients of occasional long messages, alive or not.
    friends: Vec<String>,
    ignores: bool,
}

impl Order {
    /// The agent name that the process must have, for itself and for others.
    fn name(&self) -> String {
        name(&self.id, self.hooks)
    }
}

fn name(id: &str, hooks: bool) -> String {
    if hooks { format!("claude-{id}") } else { id.to_owned() }
}

/// A line that a process reports before and after every relevant step.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Line {
    /// The name from `whoami`, at the start and at the end.
    Am(String),
    /// The process may write.
    Granted { guard: bool },
    /// It has read the file that it is about to write.
    Read,
    /// About to write: from now on the line may be in the file.
    Writing { file: String, update: String },
    /// Written: the line must be in the file.
    Wrote { file: String, update: String },
    /// The grant arrived too late to be used safely.
    TooSlow,
    /// A holder blocks the request.
    Conflict(usize),
    /// It waits in line.
    Waits,
    /// Waiting would close a cycle, so it released what it had kept.
    Circle,
    /// It sent a request to the holder.
    Asked(String),
    /// Its request ended, and how.
    Answered { message: String, how: String },
    /// A conflict ended with a grant.
    Settled { conflict: usize, by: By, ms: u64 },
    /// A page of its mail, and the new messages in it.
    Inbox { items: usize, bytes: usize, new: Vec<String> },
    /// It released a hold on request.
    Obliged,
    /// The guard could not check and refused.
    Blind,
    /// A violation.
    Odd(String),
    /// It ends normally.
    Bye,
}

/// What resolved a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum By {
    /// The agent's turn in line came.
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

/// The results of a run.
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

/// Proves that the checker can fail: agents that ignore refusals lose updates, and the checker must report that.
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

/// Five agents and 56 directories on each engine. At least two minutes on each, regardless of the time budget, with at
/// least 800 reservations per two minutes.
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
