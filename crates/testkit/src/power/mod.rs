//! Power cuts: any combination of unsynced writes may be lost, and no acknowledged op is.
//!
//! [`shim`] records what SQLite does to its files while [`work`] runs the real kernel on them. [`disk`] builds the
//! image of each power cut. [`checker`] opens the image with SQLite's own VFS and checks it. [`faults`] injects I/O
//! errors instead.

mod checker;
mod disk;
mod faults;
mod shim;
mod tape;
mod work;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use tenure_store::Durability;

use self::checker::{Effort, check};
use self::faults::fails_at_every_call;
use self::shim::Syncs;
pub use self::shim::slow;
use self::tape::{Entry, Stay, Trouble};
use self::work::{Answers, AtRest, Between, Plan, Recorded, record};
use crate::evidence::{Check, Soak};
use crate::report::{Budget, Section};

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "inv_t10_what_was_acknowledged_survives_every_power_cut", run: survives },
    Check { name: "inv_t10_a_log_left_to_the_next_process_survives_every_power_cut", run: left_log_survives },
    Check { name: "inv_t10_fast_durability_loses_only_the_newest_answers", run: loses_only_the_newest },
    Check { name: "inv_t10_power_cuts_are_seen_without_syncs", run: sees_missing_syncs },
    Check { name: "inv_t10_power_cuts_are_seen_when_answers_come_early", run: sees_early_answers },
    Check { name: "inv_t10_a_full_disk_changes_nothing", run: || fails(Trouble::Full, Stay::UntilCleared) },
    Check { name: "inv_t10_a_broken_disk_changes_nothing", run: || fails(Trouble::Io, Stay::UntilCleared) },
    Check { name: "inv_t10_a_disk_that_fails_once_changes_nothing", run: || fails(Trouble::Io, Stay::Once) },
];

pub(crate) const SOAKS: &[Soak] = &[Soak { name: "power", share: 2, run: soak }];

const PLAN: Plan = Plan {
    seed: 1,
    ops: 12,
    durability: Durability::Full,
    syncs: Syncs::Kept,
    answers: Answers::AfterCommit,
    between: Between::Much,
    at_rest: AtRest::NoLog,
};

/// A process for each call: every call finds the log of the calls before it, until that is long.
const ONE_SHOT: Plan = Plan { ops: 16, between: Between::Closing, at_rest: AtRest::ShortLog(24 * 4_120), ..PLAN };

fn survives() {
    let recorded = record(PLAN);
    let findings = check(&recorded, Effort { one_in: 1, torn: 1, enough: 3 });
    assert_eq!(findings.violations, [""; 0]);
    assert_eq!(findings.cuts, recorded.entries.len() + 1);
    // The work must exercise every kind of file operation; otherwise the test proves little.
    let met = |what: fn(&Entry) -> bool| assert!(recorded.entries.iter().any(what));
    met(|entry| matches!(entry, Entry::Create { name, .. } if name.ends_with("-journal")));
    met(|entry| matches!(entry, Entry::Delete { name } if name.ends_with("-wal")));
    met(|entry| matches!(entry, Entry::SyncDirectory));
    assert!(checkpoints(&recorded) > 2, "the log is written back");
    assert!(findings.images > 500, "{findings:?}");
}

fn left_log_survives() {
    let recorded = record(ONE_SHOT);
    let findings = check(&recorded, Effort { one_in: 1, torn: 1, enough: 3 });
    assert_eq!(findings.violations, [""; 0]);
    let removed = |entry: &&Entry| matches!(entry, Entry::Delete { name } if name.ends_with("-wal"));
    let removed = recorded.entries.iter().filter(removed).count();
    assert!((2..8).contains(&removed), "{removed} of 16 calls copied and removed the log");
    // A call that continues a log syncs it once, and its directory, in which nothing changed: SQLite does not know that.
    let syncs = |from: usize, to: usize| {
        let synced = |entry: &&Entry| matches!(entry, Entry::Sync { .. } | Entry::SyncDirectory);
        recorded.entries[from..to].iter().filter(synced).count()
    };
    let calls: Vec<usize> =
        recorded.steps.windows(2).skip(1).map(|two| syncs(two[0].answered, two[1].answered)).collect();
    assert!(calls.iter().filter(|syncs| **syncs <= 2).count() > calls.len() / 2, "{calls:?}");
    // The same checks without syncs find lost answers.
    let findings =
        check(&record(Plan { syncs: Syncs::SwitchedOff, ..ONE_SHOT }), Effort { one_in: 1, torn: 0, enough: 1 });
    assert!(!findings.violations.is_empty(), "no power cut did harm without syncs: {findings:?}");
}

fn loses_only_the_newest() {
    let recorded = record(Plan { durability: Durability::Fast, ..PLAN });
    let findings = check(&recorded, Effort { one_in: 3, torn: 1, enough: 3 });
    assert_eq!(findings.violations, [""; 0]);
    assert!(findings.behind > 0, "nothing was lost, so nothing was tried: {findings:?}");
}

/// SQLite runs with `synchronous = OFF`: answers are lost, and the checker must report that.
fn sees_missing_syncs() {
    let recorded = record(Plan { syncs: Syncs::SwitchedOff, ..PLAN });
    let work = &recorded.entries[recorded.steps[0].answered..];
    assert!(!work.iter().any(|entry| matches!(entry, Entry::Sync { .. })), "syncs are not switched off");
    let findings = check(&recorded, Effort { one_in: 1, torn: 0, enough: 1 });
    assert!(!findings.violations.is_empty(), "no power cut did harm without syncs: {findings:?}");
}

fn sees_early_answers() {
    for answers in [Answers::BeforeCommit, Answers::BeforeSync] {
        let findings = check(&record(Plan { answers, ..PLAN }), Effort { one_in: 1, torn: 0, enough: 1 });
        let lost = findings.violations.iter().any(|violation| violation.contains("answers were lost"));
        assert!(lost, "{answers:?} went unseen: {findings:?}");
    }
}

fn fails(trouble: Trouble, stay: Stay) {
    let met = fails_at_every_call(3, 6, trouble, stay);
    assert!(met > 60, "only {met} faults were met");
}

/// The number of syncs of the database file itself, which only a checkpoint does.
fn checkpoints(recorded: &Recorded) -> usize {
    recorded.entries.iter().filter(|entry| matches!(entry, Entry::Sync { file: 0 })).count()
}

/// Runs many workloads. At least six and one of each kind of fault, regardless of the time budget.
fn soak(budget: Budget) -> Section {
    let mut section = Section::new("Power cuts");
    let start = Instant::now();
    let [mut workloads, mut answers, mut cuts, mut images, mut behind, mut written_back, mut faults] = [0; 7];
    for round in 0.. {
        if round >= 6 && start.elapsed() >= budget.time || section.violations.len() >= 10 {
            break;
        }
        let plan = plan_of(budget.seed.wrapping_add(round), round);
        let recorded = record(plan);
        // A long recording is cut at about two hundred points.
        let one_in = (recorded.entries.len() / 200).max(1);
        let found = check(&recorded, Effort { one_in, torn: 3, enough: 3 });
        workloads += 1;
        answers += recorded.steps.len();
        cuts += found.cuts;
        images += found.images;
        behind += found.behind;
        written_back += checkpoints(&recorded);
        section.violations.extend(found.violations);
        let kinds = [Trouble::Full, Trouble::Io].into_iter().flat_map(|t| [(t, Stay::Once), (t, Stay::UntilCleared)]);
        let (trouble, stay) = kinds.cycle().nth(usize::try_from(round % 4).unwrap()).unwrap();
        match catch_unwind(AssertUnwindSafe(|| fails_at_every_call(plan.seed, 10, trouble, stay))) {
            Ok(met) => faults += met,
            Err(_) => section.violation(format!("{trouble:?} {stay:?} with seed {} did harm", plan.seed)),
        }
    }
    section.figure("workloads", workloads);
    section.figure("answers given", answers);
    section.figure("power cuts", cuts);
    section.figure("different images opened and checked", images);
    section.figure("times the database was synced while the log was written back", written_back);
    section.figure("images behind the answers, all with durability fast", behind);
    section.figure("writes, truncates and syncs that failed", faults);
    section
}

fn plan_of(seed: u64, round: u64) -> Plan {
    match round % 5 {
        4 => Plan { seed, ops: 40, ..ONE_SHOT },
        0 => Plan { seed, ops: 20, ..PLAN },
        1 => Plan { seed, ops: 40, durability: Durability::Fast, ..PLAN },
        2 => Plan { seed, ops: 60, ..PLAN },
        // Long enough for SQLite's automatic checkpoint at a thousand pages.
        _ => Plan { seed, ops: 160, between: Between::Nothing, ..PLAN },
    }
}
