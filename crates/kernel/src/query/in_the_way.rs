//! `in_the_way`: the refusal that an edit of files would get.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::error::detail::UsesTools;
use tenure_core::hold::Mode;
use tenure_core::reserve::PatternRequest;
use tenure_core::{Error, Result};
use tenure_store::table::agent;

use super::check::around;
use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::op::guard::FILES_MAX;
use crate::paths;
use crate::waiting;

/// The refusal of an edit of some files, as the op `guard` would make it, without a write: for a store that cannot be
/// written now. Nothing where no other agent is in the way.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InTheWay {
    /// The files.
    pub files: Vec<String>,
    /// Whether the checkout's file system does not tell `A` from `a`.
    #[serde(default)]
    pub fold_case: bool,
}

impl Query for InTheWay {
    const NAME: &'static str = "in_the_way";
    const ABOUT: &'static str = "The refusal that an edit of files would meet";
    const PUBLIC: bool = false;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Option<Error>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Option<Error>> {
        let patterns = paths::read_up_to(&self.files, self.fold_case, FILES_MAX)?;
        kernel.in_snapshot(call, |tx, snapshot| {
            let Some(project) = snapshot.project else { return Ok(None) };
            let here = snapshot.here();
            let around = around(tx, snapshot, Some(&here), &patterns)?;
            let me = &snapshot.call.actor.name;
            let wanted =
                PatternRequest { agent: me, checkout: Some(&here), mode: Mode::Exclusive, patterns: &patterns };
            let Err(in_the_way) = waiting::decide(tx, &snapshot.sight(project), &wanted, &around)? else {
                return Ok(None);
            };
            let refusal = paths::held_by(tx, &project.id, (&patterns, &in_the_way), snapshot.now)?;
            let uses_tools = tx.fetch(agent::get(&project.id, me))?.is_some_and(|agent| agent.mcp);
            Ok(Some(refusal.with(&UsesTools(uses_tools))))
        })
    }
}
