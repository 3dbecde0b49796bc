//! `own_files`: the caller's holds on single files, for hooks that must inspect the files.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;

use super::may_commit::Look;
use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;

/// The caller's live holds on single files of this checkout.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OwnFiles {
    /// The files, relative to the top of the checkout.
    pub paths: Vec<String>,
    /// Whether the checkout's file system ignores case.
    pub fold_case: bool,
}

impl Query for OwnFiles {
    const NAME: &'static str = "own_files";
    const ABOUT: &'static str = "List the caller's holds on single files of this checkout";
    const PUBLIC: bool = false;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Vec<String>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Vec<String>> {
        kernel.in_snapshot(call, |tx, snapshot| {
            let look = Look::at(tx, snapshot, &self.paths, self.fold_case)?;
            let own = look.held.iter().filter(|(row, _)| row.holder == call.actor.name);
            let met: BTreeSet<&str> = own.flat_map(|(_, pattern)| look.files.within(pattern)).collect();
            Ok(met.into_iter().map(str::to_owned).collect())
        })
    }
}
