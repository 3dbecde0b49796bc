//! Power cuts: what is on the disk when the machine stops.

use crate::evidence::{Check, Soak};

pub(crate) const CHECKS: &[Check] = &[];
pub(crate) const SOAKS: &[Soak] = &[];
