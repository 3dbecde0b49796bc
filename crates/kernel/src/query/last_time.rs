//! `last_time`: when the project was last changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, Time};

use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;

/// The time of the project's last op.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LastTime {}

impl Query for LastTime {
    const NAME: &'static str = "last_time";
    const ABOUT: &'static str = "Get the time of the last op";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Time;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Time> {
        kernel.in_snapshot(call, |_, snapshot| Ok(snapshot.project.map_or(Time(0), |row| row.last_time)))
    }
}
