//! `switched_on`: whether the project has any event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_store::table::project;

use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;

/// Whether the project has any event.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchedOn {}

impl Query for SwitchedOn {
    const NAME: &'static str = "switched_on";
    const ABOUT: &'static str = "Check whether the project has any event";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = bool;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<bool> {
        kernel.in_snapshot(call, |_, snapshot| Ok(snapshot.project.is_some_and(project::Row::is_switched_on)))
    }
}
