//! Reopens a finished or cancelled task. Dependents that have not started wait again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::task::TaskReopened;
use tenure_core::id::TaskId;
use tenure_core::task::{TaskStatus, Transition, transition};
use tenure_core::{Result, text};

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reopen {
    /// The task.
    pub task: TaskId,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

impl Operation for Reopen {
    const NAME: &'static str = "reopen";
    const ABOUT: &'static str = "Reopen a finished or cancelled task";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Task;

    fn check(&self) -> Result<()> {
        text::body(&self.reason, "reason").map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Task> {
        let task = self.task.clone();
        let mut loaded = work.load(&task)?;
        let full = &mut loaded.full;
        let status = transition(&task, full.task.status, Transition::Reopen)?;
        let was_done = full.task.status == TaskStatus::Done;
        let before = full.task.class();
        let reason = text::body(&self.reason, "reason")?;
        let number = work.append(About::of(&task), Event::TaskReopened(TaskReopened { reason }))?;
        full.task.set_status(status);
        full.task.reason.clear();
        full.task.version += 1;
        full.task.updated_at = work.now;
        full.task.finished_by = None;
        full.task.finished_at = None;
        // A hold that lapsed before the task was finished says nothing about the reopened task. Its fence stays the
        // newest, so a late call of the former holder is checked against it.
        full.task.lapsed = false;
        work.reserve_for(full.task.assignee.as_ref())?;
        work.store_task(before, &full.task)?;
        if was_done {
            work.shift(&task, 1, 0, number)?;
        } else {
            work.shift(&task, 0, -1, number)?;
        }
        Ok(work.view(&loaded.full, &loaded.edges))
    }
}
