//! `import_plan`: what an import would do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;

use super::query::{Access, Query, Role};
use crate::answer::export::Imported;
use crate::call::Call;
use crate::kernel::Kernel;
use crate::op::Operation;
use crate::op::import::{Import, plan_only};

/// What an import would do.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ImportPlan(pub Import);

impl Query for ImportPlan {
    const NAME: &'static str = "import_plan";
    const ABOUT: &'static str = "Show what an import would do";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Operator);
    type Answer = Imported;

    fn lines(&self) -> Vec<usize> {
        self.0.lines()
    }

    fn set_lines(&mut self, lines: &[usize]) {
        self.0.set_lines(lines);
    }

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Imported> {
        plan_only(kernel, call, &self.0)
    }
}
