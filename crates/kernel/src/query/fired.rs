//! `fired`: when hooks last ran.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_store::table::fired;

use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape;

/// When each hook last ran in this project, by tool and event.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fired {}

impl Query for Fired {
    const NAME: &'static str = "fired";
    const ABOUT: &'static str = "When each hook last ran";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Vec<shape::Fired>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Vec<shape::Fired>> {
        kernel.in_snapshot(call, |tx, scene| {
            let rows = fired::list(tx, scene.project_id())?;
            let one = |row: fired::Row| shape::Fired {
                tool: row.tool,
                event: row.event,
                at: row.at.to_string(),
                ago_s: row.at.age(scene.now).as_seconds(),
            };
            Ok(rows.into_iter().map(one).collect())
        })
    }
}
