//! `guards`: whether the guards are off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;

use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape;

/// Whether the guards are off, until when and by whom. Every guard asks this; what it needs is on the project's row, so it
/// costs no statement of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guards {}

impl Query for Guards {
    const NAME: &'static str = "guards";
    const ABOUT: &'static str = "Whether the guards are off";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = shape::Guards;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<shape::Guards> {
        kernel.in_snapshot(call, |_, scene| {
            Ok(scene.project.map_or_else(shape::Guards::default, |row| shape::Guards::of(row, scene.now)))
        })
    }
}
