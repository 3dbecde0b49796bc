//! `show_hold`: one hold, ended or not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, id};
use tenure_store::Tx;
use tenure_store::table::hold;

use super::Snapshot;
use super::query::{Access, Query, Role};
use crate::answer::Hold;
use crate::call::Call;
use crate::kernel::Kernel;

/// One hold, live or ended.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowHold {
    /// The whole id.
    pub id: String,
}

impl Query for ShowHold {
    const NAME: &'static str = "show_hold";
    const ABOUT: &'static str = "Get one hold, live or ended";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Hold;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Hold> {
        id::named(&self.id, id::Sort::Hold)?;
        kernel.in_snapshot(call, |tx, snapshot| show_hold(tx, snapshot, &self.id))
    }
}

pub(super) fn show_hold(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, named: &str) -> Result<Hold> {
    let row = hold::get(tx, snapshot.project_id(), named)?.ok_or_else(|| id::unknown(named, id::Sort::Hold))?;
    let seen = super::holds::views(tx, snapshot, &[row])?.pop();
    seen.ok_or_else(|| id::unknown(named, id::Sort::Hold))
}
