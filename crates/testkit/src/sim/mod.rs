//! Simulation: the real kernel against a small model, one seed, one thread.

use crate::evidence::{Check, Soak};

pub(crate) const CHECKS: &[Check] = &[];
pub(crate) const SOAKS: &[Soak] = &[];
