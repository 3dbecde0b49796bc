//! `fired`: when hooks last ran.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_store::table::hook_run;

use super::query::{Access, Query, Role};
use crate::answer;
use crate::call::Call;
use crate::kernel::Kernel;

/// Get the time of each hook's last run in this project, by tool and event.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fired {}

impl Query for Fired {
    const NAME: &'static str = "fired";
    const ABOUT: &'static str = "Get the time of each hook's last run";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Vec<answer::HookRun>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Vec<answer::HookRun>> {
        kernel.in_snapshot(call, |tx, snapshot| {
            let rows = hook_run::list(tx, snapshot.project_id())?;
            let one = |row: hook_run::Row| answer::HookRun {
                tool: row.tool,
                event: row.event,
                at: row.at.to_string(),
                ago_s: row.at.age(snapshot.now).as_seconds(),
            };
            Ok(rows.into_iter().map(one).collect())
        })
    }
}
