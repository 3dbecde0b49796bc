//! `show_hold`: one hold, ended or not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, id};
use tenure_store::Tx;
use tenure_store::table::hold;

use super::Scene;
use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::Hold;

/// One hold, ended or not.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowHold {
    /// The whole id.
    pub id: String,
}

impl Query for ShowHold {
    const NAME: &'static str = "show_hold";
    const ABOUT: &'static str = "One hold, ended or not";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Hold;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Hold> {
        id::named(&self.id, id::Sort::Hold)?;
        kernel.in_snapshot(call, |tx, scene| show_hold(tx, scene, &self.id))
    }
}

pub(super) fn show_hold(tx: &mut dyn Tx, scene: &Scene<'_>, named: &str) -> Result<Hold> {
    let row = hold::get(tx, scene.project_id(), named)?.ok_or_else(|| id::unknown(named, id::Sort::Hold))?;
    let seen = super::holds::views(tx, scene, &[row])?.pop();
    seen.ok_or_else(|| id::unknown(named, id::Sort::Hold))
}
