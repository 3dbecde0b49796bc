//! `why_lock`: the history of a named lock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::{Topic, kind};
use tenure_core::{Result, lock as rule};

use super::query::{Access, Query, Role};
use super::why::{LONGEST, newest, tell};
use crate::answer::Story;
use crate::call::Call;
use crate::kernel::Kernel;

/// The story of a lock: who had it, one after the other.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhyLock {
    /// The name.
    pub name: String,
}

impl Query for WhyLock {
    const NAME: &'static str = "why_lock";
    const ABOUT: &'static str = "Tell the story of a named lock";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Story;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Story> {
        rule::name(&self.name)?;
        kernel.in_snapshot(call, |tx, snapshot| {
            let found = newest(tx, snapshot.project_id(), &self.name, Topic::Lock, LONGEST)?;
            // The history is complete if the oldest event kept is the first grant of the lock.
            tell(snapshot, &self.name, found, &[kind::LOCK_TAKEN])
        })
    }
}
