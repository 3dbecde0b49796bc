//! The registry of all tests that try to break the kernel's guarantees: the short versions that `./test` runs, and the
//! soak tests.

use crate::report::{Budget, Section};

/// The number of repetitions of a test: `plain` under `./test`, `long` if `TENURE_TEST_LONG` is set, as under `./test
/// --soak`.
pub fn amount(plain: usize, long: usize) -> usize {
    if std::env::var_os("TENURE_TEST_LONG").is_some() { long } else { plain }
}

/// A short test. It panics to fail.
pub struct Check {
    /// Its name. A test of an invariant starts with the invariant (`inv_t10_…`).
    pub name: &'static str,
    /// The check.
    pub run: fn(),
}

/// A soak test.
pub struct Soak {
    /// Its name in `tenure-soak`.
    pub name: &'static str,
    /// Its share of the total time.
    pub share: u32,
    /// The run.
    pub run: fn(Budget) -> Section,
}

/// All short tests except those of [`timed`].
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

/// The short tests that depend on wall-clock time. They need an otherwise idle machine to meet their deadlines.
pub fn timed() -> Vec<&'static Check> {
    [crate::history::TIMED, crate::race::TIMED, crate::fleet::TIMED].into_iter().flatten().collect()
}

/// All soak tests.
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
