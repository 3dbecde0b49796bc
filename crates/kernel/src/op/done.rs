//! Finishing a task. Tasks that waited only for it become ready in the same transaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::{Event, task};
use tenure_core::hold::{Ending, Right};
use tenure_core::id::TaskId;
use tenure_core::number::Fence;
use tenure_core::task::Transition;
use tenure_core::{Result, text};

use super::note;
use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::end_task::{EndingTask, TaskRef};
use crate::unit_of_work::UnitOfWork;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// The task; by default the one in focus.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// The fence to use instead of the one last shown.
    #[serde(default)]
    pub fence: Option<Fence>,
    /// Whether a person overrides the holder.
    #[serde(default)]
    pub force: bool,
    /// What was done, in a few words; kept as a note.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

impl Operation for Done {
    const NAME: &'static str = "done";
    const ABOUT: &'static str = "Finish a task";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Finished;

    fn access(&self) -> Access {
        Access::forced(self.force)
    }

    fn check(&self) -> Result<()> {
        text::body(&self.summary, "summary").map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Finished> {
        let acting = TaskRef { task: self.task.as_ref(), fence: self.fence, force: self.force };
        let mut ending = EndingTask::begin(work, &acting, Transition::Done)?;
        let late = ending.right == Right::Late;
        let (me, now) = (work.me().clone(), work.now);
        let summary = text::body(&self.summary, "summary")?.trim().to_owned();
        if !summary.is_empty() {
            let id = work.redraw()?;
            note::write(work, (id, &ending.task), (summary.clone(), late), None, &[])?;
        }
        let event = |overrode| Event::TaskDone(task::TaskDone { late, overrode, summary });
        let number = ending.end(work, Ending::Finished, event, |row| {
            row.reason.clear();
            row.blocked_on = None;
            row.finished_by = Some(me);
            row.finished_at = Some(now);
        })?;
        let mut unlocked = work.shift(&ending.task, -1, 0, number)?;
        unlocked.truncate(1_000);
        Ok(answer::Finished { task: ending.view(work), late, unlocked })
    }
}
