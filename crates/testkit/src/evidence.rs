//! Everything that tries to break the kernel's promises: the short versions that `./test` runs, and the long ones.

use crate::report::{Budget, Section};

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

/// All short runs.
pub fn checks() -> Vec<&'static Check> {
    [
        crate::sim::CHECKS,
        crate::power::CHECKS,
        crate::crash::CHECKS,
        crate::history::CHECKS,
        crate::race::CHECKS,
        crate::fleet::CHECKS,
        crate::fuzz::CHECKS,
        crate::patterns::CHECKS,
    ]
    .into_iter()
    .flatten()
    .collect()
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
