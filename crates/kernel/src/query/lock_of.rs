//! `lock_of`: the lock with a name, for doors that get a word which may name one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, lock as rule};
use tenure_store::table::lock;

use super::query::{Access, Query, Role};
use crate::answer::Hold;
use crate::call::Call;
use crate::kernel::Kernel;

/// The current state of a named lock, or, if no agent has it, its last holder. A text that is not a lock name has
/// none.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockOf {
    /// The name.
    pub name: String,
}

impl Query for LockOf {
    const NAME: &'static str = "lock_of";
    const ABOUT: &'static str = "Get the current state of a named lock";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Option<Hold>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Option<Hold>> {
        if rule::name(&self.name).is_err() {
            return Ok(None);
        }
        kernel.in_snapshot(call, |tx, snapshot| {
            let newest = lock::newest(tx, snapshot.project_id(), &self.name, 1)?;
            Ok(super::holds::views(tx, snapshot, &newest)?.pop())
        })
    }
}
