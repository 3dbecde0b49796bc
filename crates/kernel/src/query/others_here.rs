//! `others_here`: the other agents that hold anything in a checkout.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_core::pattern::{Case, Pattern};
use tenure_store::table::hold;

use super::check::around;
use super::query::{Access, Query, Role};
use crate::answer::Checked;
use crate::call::Call;
use crate::kernel::Kernel;
use crate::paths::{self, nested_holds::Nested};
use crate::waiting::Obstacles;

/// Who but the caller holds anything in the checkout of the call.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OthersHere {}

impl Query for OthersHere {
    const NAME: &'static str = "others_here";
    const ABOUT: &'static str = "Who else holds anything in the checkout of the call";
    const PUBLIC: bool = false;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Checked;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Checked> {
        let everything = [Pattern::parse("./", Case::Kept)?];
        kernel.in_snapshot(call, |tx, snapshot| {
            let here = snapshot.here();
            let me = &snapshot.call.actor.name;
            let around = around(tx, snapshot, Some(&here), &everything)?;
            // Holds of enclosing checkouts reach into this one. Nested checkouts do not matter, because git leaves them
            // alone.
            let is_around = |one: &Nested| one.row.holder != *me && one.is_around(&around.site);
            let nested = around.nested.into_iter().filter(is_around).collect();
            let mut holds: Vec<hold::Row> = around.live.into_iter().filter(|row| row.holder != *me).collect();
            // Whose work is at risk matters more than the number of files, so one hold of each holder comes first.
            let mut seen = HashSet::new();
            holds.sort_by_key(|row| !seen.insert(row.holder.clone()));
            let in_the_way = Obstacles { holds, nested, ..Obstacles::default() };
            let (total, holders) = (in_the_way.total(), paths::holders(&in_the_way));
            let blockers = paths::blockers(tx, snapshot.project_id(), &in_the_way, snapshot.now)?;
            Ok(Checked { free: total == 0, blockers, total, holders, elsewhere: Vec::new() })
        })
    }
}
