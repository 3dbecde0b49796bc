//! Runs the conformance suite: one test for each case and engine.

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::conformance::{cases, die_if_asked};
use tenure_testkit::evidence::{checks, timed};
use tenure_testkit::golden;
use tenure_testkit::worker;

fn main() {
    // A case that needs a process to die in the middle of its work starts this binary again.
    die_if_asked();
    worker::play_if_asked();
    let mut arguments = Arguments::from_args();
    // For two cores; each case has its own store.
    arguments.test_threads.get_or_insert(4);
    let mut trials: Vec<Trial> = cases()
        .into_iter()
        .enumerate()
        .flat_map(|(position, case)| case.engines.iter().map(move |engine| (position, case, *engine)))
        .map(|(position, case, engine)| {
            Trial::test(format!("{}::{}", engine.name(), case.name), move || {
                golden::run(position, case, engine);
                Ok(())
            })
        })
        .collect();
    for (group, checks) in [("evidence", checks()), ("evidence::timed", timed())] {
        trials.extend(checks.into_iter().map(|check| {
            Trial::test(format!("{group}::{}", check.name), move || {
                (check.run)();
                Ok(())
            })
        }));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    golden::finish();
    conclusion.exit();
}
