//! `read_through`: whether every row of a project can be read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;

use super::export::read_through;
use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;

/// Reads every row of a project, and fails at the first that makes no sense.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadThrough {}

impl Query for ReadThrough {
    const NAME: &'static str = "read_through";
    const ABOUT: &'static str = "Read every row of the project, for `doctor`";
    const PUBLIC: bool = false;
    const ACCESS: Access = Access::project(Role::Operator);
    type Answer = ();

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<()> {
        kernel.in_snapshot(call, |tx, snapshot| read_through(tx, snapshot.project_id()))
    }
}
