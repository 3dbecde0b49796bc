//! Cancels a task. Its dependents are stuck until a person edits them or reopens it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::task::TaskCancelled;
use tenure_core::hold::{Ending, Right};
use tenure_core::id::TaskId;
use tenure_core::number::Fence;
use tenure_core::task::Transition;
use tenure_core::{Result, text};

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::end_task::{EndingTask, TaskRef};
use crate::unit_of_work::UnitOfWork;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The task; by default the one in focus.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// The fence to use instead of the one last shown.
    #[serde(default)]
    pub fence: Option<Fence>,
    /// Whether a person overrides the holder.
    #[serde(default)]
    pub force: bool,
}

impl Operation for Cancel {
    const NAME: &'static str = "cancel";
    const ABOUT: &'static str = "Cancel a task";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Task;

    fn access(&self) -> Access {
        Access::forced(self.force)
    }

    fn check(&self) -> Result<()> {
        text::body(&self.reason, "reason").map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Task> {
        let acting = TaskRef { task: self.task.as_ref(), fence: self.fence, force: self.force };
        let mut ending = EndingTask::begin(work, &acting, Transition::Cancel)?;
        let reason = text::body(&self.reason, "reason")?;
        let cancelled = TaskCancelled { reason: reason.clone(), late: ending.right == Right::Late, overrode: None };
        let event = |overrode| Event::TaskCancelled(TaskCancelled { overrode, ..cancelled });
        let (me, now) = (work.me().clone(), work.now);
        let number = ending.end(work, Ending::Finished, event, |row| {
            row.reason = reason;
            row.blocked_on = None;
            row.finished_by = Some(me);
            row.finished_at = Some(now);
        })?;
        work.shift(&ending.task, 0, 1, number)?;
        Ok(ending.view(work))
    }
}
