//! Runs the conformance suite: one test for each case and engine.

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::conformance::{cases, die_if_asked};
use tenure_testkit::fixture::World;

fn main() {
    // A case that needs a process to die in the middle of its work starts this binary again.
    die_if_asked();
    let mut arguments = Arguments::from_args();
    // Two cores; each case has a store of its own.
    arguments.test_threads.get_or_insert(4);
    let trials = cases()
        .into_iter()
        .flat_map(|case| case.engines.iter().map(move |engine| (case, *engine)))
        .map(|(case, engine)| {
            Trial::test(format!("{}::{}", engine.name(), case.name), move || {
                (case.run)(&World::new(engine));
                Ok(())
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}
