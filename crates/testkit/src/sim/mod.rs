//! Deterministic simulation: runs the real kernel against a small model, from one seed, on one thread, with a simulated
//! clock.
//!
//! A [`workload`] generates a [`plan`] from a seed. [`run`] executes it on the kernel and the [`model`] and checks
//! every [`property`] after every step. Faults are part of the plan. Each seed runs twice, and the transcripts must
//! match byte for byte; some seeds also run on the other engines, with the same bytes. A failing plan is shrunk and can
//! be kept as a regression.

pub mod cast;
pub mod continuity;
pub mod dice;
pub mod fault;
pub mod line;
pub mod locks;
mod mailbox;
pub mod model;
pub mod paths;
pub mod plan;
pub mod property;
pub mod run;
pub mod seen;
pub mod sessions;
pub mod shrink;
pub mod workload;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use self::line::Line;
use self::locks::Locks;
use self::paths::Paths;
use self::plan::Plan;
use self::run::{Failure, Ran, Watch, run};
use self::sessions::Sessions;
use self::workload::{Crowd, Tasks};
use crate::evidence::{Check, Soak};
use crate::fixture::Engine;
use crate::report::{Budget, Section};

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "inv_t4_t6_t9_t15_l1_to_l11_r8_i3_m1_m3_simulated_in_memory", run: in_memory },
    Check {
        name: "inv_t4_t6_t9_t15_l1_to_l11_r8_i3_m1_m3_simulated_on_a_file",
        run: || seeds((101..=102).map(plan_of), &[Engine::File]),
    },
    Check {
        name: "inv_t4_t6_t9_t15_l1_to_l11_r8_i3_m1_m3_simulated_on_postgres",
        run: || seeds((209..=210).map(plan_of), &[Engine::Postgres]),
    },
    Check { name: "inv_l1_l12_r2_r5_to_r9_m6_m7_simulated_in_memory", run: paths_in_memory },
    Check {
        name: "inv_l1_l12_r2_r5_to_r9_m6_m7_simulated_on_a_file",
        run: || seeds((24..=25).map(shared_paths), &[Engine::File]),
    },
    Check {
        name: "inv_l1_l12_r2_r5_to_r9_m6_m7_simulated_on_postgres",
        run: || seeds((28..=29).map(shared_paths), &[Engine::Postgres]),
    },
    Check { name: "inv_r4_r5_r7_r8_r9_locks_simulated_in_memory", run: locks_in_memory },
    Check {
        name: "inv_r4_r5_r7_r8_r9_locks_simulated_on_a_file",
        run: || seeds((101..=102).map(named_locks), &[Engine::File]),
    },
    Check {
        name: "inv_r4_r5_r7_r8_r9_locks_simulated_on_postgres",
        run: || seeds((201..=202).map(named_locks), &[Engine::Postgres]),
    },
    Check { name: "plans_that_failed_once_hold_on_every_engine", run: regressions },
];

pub(crate) const SOAKS: &[Soak] = &[Soak { name: "sim", share: 3, run: soak }];

/// The minimum number of plans of each kind in a short run.
const SEEDS: usize = 10;
/// The minimum number of seeds in a long run.
const LEAST: u64 = 1_000;
/// In a long run, every 19th seed also runs on PostgreSQL and every 23rd on a file. Both are coprime to 10, so they do
/// not correlate with the `Crowd` workload, which is every tenth seed.
const ON_POSTGRES: u64 = 19;
const ON_FILE: u64 = 23;
/// The maximum number of plans that shrinking tries.
const SHRINKS: usize = 600;

/// The plan of a seed in a long run.
pub fn planned(seed: u64) -> Plan {
    match seed % 5 {
        2 => workload::plan(seed, 140, &Paths),
        4 if seed.is_multiple_of(2) => workload::plan(seed, line::STEPS, &Line),
        4 => workload::plan(seed, line::STEPS, &Locks),
        _ => plan_of(seed),
    }
}

/// The plan of a seed of the task and session workloads.
pub fn plan_of(seed: u64) -> Plan {
    match seed % 10 {
        0 => workload::plan(seed, 130, &Crowd),
        odd if odd % 2 == 1 => workload::plan(seed, 130, &Sessions),
        _ => workload::plan(seed, 120, &Tasks),
    }
}

/// The plan of a number of the workloads with paths, mail and the waiting line.
fn shared_paths(number: u64) -> Plan {
    let digit = [2, 5, 8, 9][(number % 4) as usize];
    let seed = number / 4 * 10 + digit;
    match digit {
        2 | 9 => workload::plan(seed, 140, &Paths),
        _ => workload::plan(seed, line::STEPS, &Line),
    }
}

/// The plan of a seed of the named lock workload.
fn named_locks(seed: u64) -> Plan {
    workload::plan(seed, line::STEPS, &Locks)
}

/// Runs a plan twice in memory, the second time without checking properties, and once on each engine in `others`. The
/// transcripts must match byte for byte.
pub fn examine(plan: &Plan, others: &[Engine]) -> Result<Ran, Failure> {
    let first = run(plan, Engine::Memory, Watch::Closely);
    if let Some(failure) = first.failure {
        return Err(failure);
    }
    let again = run(plan, Engine::Memory, Watch::Not);
    same("the_same_bytes_in_every_run", &first, &again)?;
    for engine in others {
        let other = run(plan, *engine, Watch::Closely);
        if let Some(failure) = other.failure {
            return Err(Failure { what: format!("on {}: {}", engine.name(), failure.what), ..failure });
        }
        same("the_same_bytes_on_every_engine", &first, &other)?;
    }
    Ok(first)
}

fn same(property: &'static str, one: &Ran, other: &Ran) -> Result<(), Failure> {
    let lines = one.transcript.len().max(other.transcript.len());
    let of = |ran: &Ran, at: usize| ran.transcript.get(at).cloned().unwrap_or_default();
    match (0..lines).find(|at| of(one, *at) != of(other, *at)) {
        None => Ok(()),
        Some(at) => {
            let what = format!("line {at}: {}\nand then: {}", of(one, at), of(other, at));
            Err(Failure { property, step: usize::MAX, what })
        }
    }
}

/// Shrinks a failing plan and reports everything needed to reproduce it.
fn report(plan: &Plan, failure: &Failure, others: &[Engine]) -> String {
    let runs = Cell::new(0);
    let fails = |tried: &Plan| {
        runs.set(runs.get() + 1);
        // A limit, because a long plan in which every step matters takes too long to shrink.
        runs.get() < SHRINKS && examine(tried, others).err().is_some_and(|found| found.property == failure.property)
    };
    let mut cut = plan.clone();
    cut.steps.truncate(failure.step.saturating_add(1));
    let mut least = shrink::shrink(if fails(&cut) { &cut } else { plan }, &fails);
    let what = examine(&least, others).err().map_or(failure.what.clone(), |failure| failure.what);
    least.about = format!("{}: {}", plan.about, failure.property);
    let text = serde_json::to_string_pretty(&least).unwrap();
    let path = directory().join(format!("{}_{}.json", failure.property, plan.about.replace(' ', "_")));
    // Only on request: a test run does not modify the source tree.
    let kept = if std::env::var_os("TENURE_SIM_KEEP").is_some() {
        std::fs::write(&path, &text).unwrap();
        "kept as"
    } else {
        "with TENURE_SIM_KEEP=1 it is kept as"
    };
    format!("{} broke {}\n{what}\nThe least plan, {kept} {}:\n{text}", plan.about, failure.property, path.display())
}

/// The directory of plans that failed once or are worth keeping.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions/sim")
}

/// Fragments that must occur in some answer. A rule that never fires is never compared with the model.
const COMES_UP: [&str; 14] = [
    "\"rule\":\"focus\"",
    "\"rule\":\"unblocked\"",
    "\"rule\":\"assigned\"",
    "\"rule\":\"own\"",
    "\"rule\":\"ready\"",
    "\"rule\":\"lapsed\"",
    "\"rule\":\"none\"",
    "\"lost\":\"",
    "\"again\":true",
    "\"more\":true",
    "\"outcome\":\"changed\"",
    "\"outcome\":\"unchanged\"",
    "\"pinned\":true",
    "people_only",
];

/// The same for paths, mail and the waiting line.
const PATHS_COME_UP: [&str; 10] = [
    "path_held",
    "path.changed",
    "\"lapsed_from\":\"",
    "\"paths\":[{",
    "\"what\":\"ending\"",
    "\"waiting\":true",
    "path.offered",
    "offer.taken",
    "place.lapsed",
    "waits_in_circle",
];

/// The same for named locks.
const LOCKS_COME_UP: [&str; 9] = [
    "lock_held",
    "stale_fence",
    "lapsed",
    "people_only",
    "\"renewal\":\"runner\"",
    "lock.released",
    "lock.offered",
    "\"kind\":\"name\"",
    "\"proven_dead\":true",
];

fn locks_in_memory() {
    covering(&LOCKS_COME_UP, (1..=40).map(named_locks));
}

fn in_memory() {
    covering(&COMES_UP, (1..=40).map(plan_of));
}

fn paths_in_memory() {
    covering(&PATHS_COME_UP, (0..96).map(shared_paths));
}

/// Runs at least `SEEDS` plans, and more until every required fragment has occurred.
fn covering(words: &[&'static str], plans: impl Iterator<Item = Plan>) {
    let mut tally = Tally::default();
    for (number, plan) in plans.enumerate() {
        if number >= SEEDS && tally.missing(words).is_empty() {
            break;
        }
        tally.take(&plan, &[]);
    }
    let missing = tally.missing(words);
    assert!(missing.is_empty(), "{missing:?} never came up");
    tally.assert_troubled();
}

/// Runs plans in memory and on other engines.
fn seeds(plans: impl Iterator<Item = Plan>, others: &[Engine]) {
    let mut tally = Tally::default();
    plans.for_each(|plan| tally.take(&plan, others));
    tally.assert_troubled();
}

/// Counts of what the plans exercised.
#[derive(Default)]
struct Tally {
    struck: usize,
    replayed: usize,
    refused: usize,
    came_up: BTreeSet<&'static str>,
}

impl Tally {
    /// Runs a plan; panics if it fails.
    fn take(&mut self, plan: &Plan, others: &[Engine]) {
        let ran = examine(plan, others).unwrap_or_else(|failure| panic!("{}", report(plan, &failure, others)));
        // After all holds are released, no agent that kept its place is still waiting.
        let served = !["line", "locks"].iter().any(|name| plan.about.starts_with(name)) || ran.waiting == 0;
        assert!(served, "inv_r7_all_are_served: {} left {} waiting", plan.about, ran.waiting);
        self.struck += ran.struck;
        self.replayed += ran.replayed;
        self.refused += ran.refused;
        for line in ran.transcript.iter().filter(|line| !line.contains(" claim ")) {
            let words = COMES_UP.into_iter().chain(PATHS_COME_UP).chain(LOCKS_COME_UP);
            self.came_up.extend(words.filter(|word| line.contains(word)));
        }
    }

    fn missing(&self, words: &[&'static str]) -> Vec<&'static str> {
        words.iter().copied().filter(|word| !self.came_up.contains(word)).collect()
    }

    /// A run without faults, replays and refusals proves nothing.
    fn assert_troubled(&self) {
        let Tally { struck, replayed, refused, .. } = self;
        assert!(
            *struck > 0 && *replayed > 0 && *refused > 0,
            "{struck} faults, {replayed} replays, {refused} refusals"
        );
    }
}

/// Runs the plan in a file on every engine.
pub fn replay(file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let plan: Plan = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let others = [Engine::File, Engine::Postgres];
    examine(&plan, &others).map(|_| ()).map_err(|failure| {
        format!("{} breaks {} at step {}\n{}", file.display(), failure.property, failure.step, failure.what)
    })
}

fn regressions() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 2, "{} has no plans", directory().display());
    let broken: Vec<String> = files.iter().filter_map(|file| replay(file).err()).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

fn soak(budget: Budget) -> Section {
    let begun = Instant::now();
    let next = AtomicU64::new(0);
    let totals = Mutex::new((Section::new("Simulation"), Ran::default(), 0, 0, 0));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            let enough =
                budget.seeds.map_or_else(|| number >= LEAST && begun.elapsed() >= budget.time, |seeds| number >= seeds);
            if enough || totals.lock().unwrap().0.violations.len() >= 5 {
                return;
            }
            let seed = budget.seed + number;
            let plan = planned(seed);
            let mut others = Vec::new();
            others.extend(seed.is_multiple_of(ON_POSTGRES).then_some(Engine::Postgres));
            others.extend(seed.is_multiple_of(ON_FILE).then_some(Engine::File));
            let outcome = examine(&plan, &others);
            let violation = outcome.as_ref().err().map(|failure| report(&plan, failure, &others));
            let mut totals = totals.lock().unwrap();
            totals.2 += 1;
            totals.3 += usize::from(others.contains(&Engine::Postgres));
            totals.4 += usize::from(others.contains(&Engine::File));
            if let Ok(ran) = outcome {
                totals.1.calls += ran.calls;
                totals.1.struck += ran.struck;
                totals.1.replayed += ran.replayed;
                totals.1.refused += ran.refused;
            }
            totals.0.violations.extend(violation);
        }
    };
    // Two threads; each seed runs on one of them.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let (mut section, ran, seeds, postgres, file) = totals.into_inner().unwrap();
    section.figure("seeds, each run twice and compared byte for byte", seeds);
    section.figure("of them also on PostgreSQL", postgres);
    section.figure("of them also on a SQLite file", file);
    section.figure("calls", ran.calls);
    section.figure("faults that struck", ran.struck);
    section.figure("answers from a record", ran.replayed);
    section.figure("refusals", ran.refused);
    section
}
