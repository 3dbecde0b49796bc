//! Switches a project on. Hooks act only in a project with at least one event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::unit_of_work::UnitOfWork;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchOn {}

// Running any op is enough: the events of the project's creation and of the caller's first op are appended when the
// unit of work begins, and a project with an event is switched on.
impl Operation for SwitchOn {
    const NAME: &'static str = "switch_on";
    const ABOUT: &'static str = "Switch a project on, so that hooks act in it";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::ProjectSwitchedOn;

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::ProjectSwitchedOn> {
        Ok(answer::ProjectSwitchedOn { project: work.project.key.clone(), switched_on: true })
    }
}
