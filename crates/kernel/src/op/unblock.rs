//! Unblocks a task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_core::event::Event;
use tenure_core::event::task::TaskUnblocked;
use tenure_core::id::TaskId;
use tenure_core::task::{Transition, transition};
use tenure_store::table::task;

use super::claim::finished;
use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unblock {
    /// The task.
    pub task: TaskId,
}

impl Operation for Unblock {
    const NAME: &'static str = "unblock";
    const ABOUT: &'static str = "Unblock a task";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Task;

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Task> {
        let mut loaded = work.load(&self.task)?;
        go_on(work, &mut loaded.full, false)?;
        Ok(work.view(&loaded.full, &loaded.edges))
    }
}

/// Opens a blocked task. `met` says that the task it was blocked on is done.
pub(crate) fn go_on(work: &mut UnitOfWork<'_>, full: &mut task::Full, met: bool) -> Result<()> {
    let id = full.task.id.clone();
    let status = transition(&id, full.task.status, Transition::Unblock).map_err(|error| finished(error, &full.task))?;
    let before = full.task.class();
    let unblocked = TaskUnblocked { reason: full.task.reason.clone(), met };
    work.append(About::of(&id), Event::TaskUnblocked(unblocked))?;
    full.task.set_status(status);
    full.task.reason.clear();
    full.task.blocked_on = None;
    full.task.version += 1;
    full.task.updated_at = work.now;
    work.store_task(before, &full.task)
}
