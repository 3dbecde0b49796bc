//! `task_id`: the task with a typed id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, id};

use super::any_id::expand;
use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;

/// The id of a task that begins with a text; its kind letter may be left out.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveTask {
    /// Any unique beginning of the id.
    pub typed: String,
}

impl Query for ResolveTask {
    const NAME: &'static str = "task_id";
    const ABOUT: &'static str = "Find the task whose id begins with a text";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = String;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<String> {
        kernel.in_snapshot(call, |tx, snapshot| expand(tx, snapshot, &self.typed, id::Sort::Task).map(String::from))
    }
}
