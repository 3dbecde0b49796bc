//! The common part of `done`, `block`, `release` and `cancel`: the actor's right to act, the step in the transition
//! table, the event, and the end of the hold.

use tenure_core::Result;
use tenure_core::event::Event;
use tenure_core::hold::{Ending, Right};
use tenure_core::id::{TaskId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::number::{EventNumber, Fence};
use tenure_core::task::{TaskStatus, Transition, transition};
use tenure_store::table::task;

use crate::answer;
use crate::op::claim::finished;
use crate::paths;
use crate::unit_of_work::{About, LoadedTask, UnitOfWork};

/// A task that is about to leave its holder.
pub(crate) struct EndingTask {
    pub(crate) task: TaskId,
    /// The right that the actor acts with.
    pub(crate) right: Right,
    status: TaskStatus,
    loaded: LoadedTask,
    overrode: Option<AgentName>,
}

/// How a request identifies its task.
pub(crate) struct TaskRef<'a> {
    /// The task; `None` means the focus.
    pub(crate) task: Option<&'a TaskId>,
    /// The fence, if the request has one.
    pub(crate) fence: Option<Fence>,
    /// Whether a person overrides the holder.
    pub(crate) force: bool,
}

impl EndingTask {
    /// Finds the task, then checks the actor's right and the transition table.
    pub(crate) fn begin(work: &mut UnitOfWork<'_>, acting: &TaskRef<'_>, verb: Transition) -> Result<EndingTask> {
        EndingTask::begin_if(work, acting, verb, |_, _, _| Ok(()))
    }

    /// The same with another condition, which is checked before the transition table.
    pub(crate) fn begin_if(
        work: &mut UnitOfWork<'_>,
        acting: &TaskRef<'_>,
        verb: Transition,
        condition: fn(&TaskId, Right, &task::Full) -> Result<()>,
    ) -> Result<EndingTask> {
        let task = work.meant(acting.task)?;
        let loaded = work.load(&task)?;
        let (right, overrode) = work.right_or_force(&loaded, acting.fence, acting.force)?;
        condition(&task, right, &loaded.full)?;
        let row = &loaded.full.task;
        let status = transition(&task, row.status, verb).map_err(|error| finished(error, row))?;
        Ok(EndingTask { task, right, status, loaded, overrode })
    }

    /// Appends the event, ends the hold and stores the task with the changes of `change`. `event` gets the holder that
    /// a person overrode. Returns the number of the event.
    pub(crate) fn end(
        &mut self,
        work: &mut UnitOfWork<'_>,
        ending: Ending,
        event: impl FnOnce(Option<String>) -> Event,
        change: impl FnOnce(&mut task::Row),
    ) -> Result<EventNumber> {
        let full = &mut self.loaded.full;
        let before = full.task.class();
        let hold = or_empty(full.held.as_ref().map(|held| &held.id));
        let number = work.append(About::of(&self.task).hold(hold), event(self.overrode.as_ref().map(String::from)))?;
        work.end_hold(full, ending, number, self.overrode.as_ref())?;
        full.task.set_status(self.status);
        full.task.version += 1;
        full.task.updated_at = work.now;
        change(&mut full.task);
        work.store_task(before, &full.task)?;
        paths::end_with_task(work, std::mem::take(&mut self.loaded.bound), (ending, number), self.overrode.as_ref())?;
        Ok(number)
    }

    /// The task as shown in the answer.
    pub(crate) fn view(&self, work: &UnitOfWork<'_>) -> answer::Task {
        work.view(&self.loaded.full, &self.loaded.edges)
    }
}
