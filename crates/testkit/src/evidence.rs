//! Everything that tries to break the kernel's promises: the short versions that `./test` runs, and the long ones.

use crate::report::{Budget, Section};

/// How often a test repeats what it does: `plain` times under `./test`, `long` times where `TENURE_TEST_LONG` is set, as
/// it is under `./test --soak`.
pub fn amount(plain: usize, long: usize) -> usize {
    if std::env::var_os("TENURE_TEST_LONG").is_some() { long } else { plain }
}

/// A short run: panics to fail.
pub struct Check {
    /// Its name; one that proves an invariant begins with it (`inv_t10_…`).
    pub name: &'static str,
    /// The check.
    pub run: fn(),
}

/// A long run.
pub struct Soak {
    /// What `tenure-soak` calls it.
    pub name: &'static str,
    /// Its share of the time, in parts of the whole.
    pub share: u32,
    /// The run.
    pub run: fn(Budget) -> Section,
}

/// All short runs but those of [`timed`].
pub fn checks() -> Vec<&'static Check> {
    [
        crate::sim::CHECKS,
        crate::power::CHECKS,
        crate::crash::CHECKS,
        crate::race::CHECKS,
        crate::fuzz::CHECKS,
        crate::patterns::CHECKS,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The short runs that judge by the clock: what they wait for comes in time only where nothing else keeps the machine
/// busy.
pub fn timed() -> Vec<&'static Check> {
    [crate::history::TIMED, crate::race::TIMED, crate::fleet::TIMED].into_iter().flatten().collect()
}

/// All long runs.
pub fn soaks() -> Vec<&'static Soak> {
    [
        crate::sim::SOAKS,
        crate::power::SOAKS,
        crate::crash::SOAKS,
        crate::history::SOAKS,
        crate::race::SOAKS,
        crate::fleet::SOAKS,
        crate::fuzz::SOAKS,
        crate::patterns::SOAKS,
    ]
    .into_iter()
    .flatten()
    .collect()
}
