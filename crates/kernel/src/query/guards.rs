//! `guards`: whether the guards are off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;

use super::query::{Access, Query, Role};
use crate::answer;
use crate::call::Call;
use crate::kernel::Kernel;

/// Whether the guards are off, until when and by whom. Every guard asks this; what it needs is on the project's row, so it
/// costs no statement of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guards {}

impl Query for Guards {
    const NAME: &'static str = "guards";
    const ABOUT: &'static str = "Get whether the guards are off";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = answer::GuardState;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<answer::GuardState> {
        kernel.in_snapshot(call, |_, snapshot| {
            Ok(snapshot
                .project
                .map_or_else(answer::GuardState::default, |row| answer::GuardState::of(row, snapshot.now)))
        })
    }
}
