//! `turn`: the state of a place in the waiting line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, id};

use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::{answer, waiting};

/// Get the state of a place in the waiting line, for callers that look again and again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The place.
    pub place: String,
    /// What was answered before.
    #[serde(default)]
    pub before: Option<answer::PlaceTurn>,
}

impl Query for Turn {
    const NAME: &'static str = "turn";
    const ABOUT: &'static str = "Get the state of a place in the waiting line";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = answer::PlaceTurn;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<answer::PlaceTurn> {
        id::named(&self.place, id::Sort::Place)?;
        kernel.in_snapshot(call, |tx, snapshot| waiting::turn(tx, snapshot, &self.place, self.before.as_ref()))
    }
}
