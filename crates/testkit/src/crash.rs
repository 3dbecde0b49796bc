//! Crashes: real processes, killed at random points.

use crate::evidence::{Check, Soak};

pub(crate) const CHECKS: &[Check] = &[];
pub(crate) const SOAKS: &[Soak] = &[];

/// What a process of this part does; returns its exit code.
pub(crate) fn part() -> i32 {
    0
}
