//! What `done`, `block`, `release` and `cancel` have in common: the actor's right to act, the step in the table of
//! transitions, the event, and the end of the hold.

use tenure_core::Result;
use tenure_core::event::Event;
use tenure_core::hold::{Ending, Right};
use tenure_core::id::{TaskId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::number::Fence;
use tenure_core::task::{Status, Verb, transition};
use tenure_store::table::task;

use crate::op::claim::finished;
use crate::paths;
use crate::shape;
use crate::unit::{About, Loaded, Unit};

/// A task that is about to leave its holder.
pub(crate) struct Leaving {
    /// The task's id.
    pub(crate) task: TaskId,
    /// With what right.
    pub(crate) right: Right,
    status: Status,
    loaded: Loaded,
    overrode: Option<AgentName>,
}

/// How a request names what it acts on.
pub(crate) struct Acting<'a> {
    /// The task; without it the focus.
    pub(crate) task: Option<&'a TaskId>,
    /// The fence given, if any.
    pub(crate) fence: Option<Fence>,
    /// Whether a person overrides the holder.
    pub(crate) force: bool,
}

impl Leaving {
    /// Finds the task, decides whether the actor may act on it, and whether the table allows the step.
    pub(crate) fn begin(unit: &mut Unit<'_>, acting: &Acting<'_>, verb: Verb) -> Result<Leaving> {
        Leaving::begin_if(unit, acting, verb, |_, _, _| Ok(()))
    }

    /// The same, with one more condition that is looked at before the table.
    pub(crate) fn begin_if(
        unit: &mut Unit<'_>,
        acting: &Acting<'_>,
        verb: Verb,
        condition: fn(&TaskId, Right, &task::Full) -> Result<()>,
    ) -> Result<Leaving> {
        let task = unit.meant(acting.task)?;
        let loaded = unit.load(&task)?;
        let (right, overrode) = unit.right_or_force(&loaded, acting.fence, acting.force)?;
        condition(&task, right, &loaded.full)?;
        let row = &loaded.full.task;
        let status = transition(&task, row.status, verb).map_err(|error| finished(error, row))?;
        Ok(Leaving { task, right, status, loaded, overrode })
    }

    /// Appends the event, ends the hold and stores the task, with what `change` makes of it. `event` is given the holder
    /// whom a person overrode. Returns the event's number.
    pub(crate) fn end(
        &mut self,
        unit: &mut Unit<'_>,
        ending: Ending,
        event: impl FnOnce(Option<String>) -> Event,
        change: impl FnOnce(&mut task::Row),
    ) -> Result<i64> {
        let full = &mut self.loaded.full;
        let before = full.task.class();
        let hold = or_empty(full.held.as_ref().map(|held| &held.id));
        let number = unit.append(About::of(&self.task).hold(hold), event(self.overrode.as_ref().map(String::from)))?;
        unit.end_hold(full, ending, number, self.overrode.as_ref())?;
        full.task.set_status(self.status);
        full.task.version += 1;
        full.task.updated_at = unit.now;
        change(&mut full.task);
        unit.store_task(before, &full.task)?;
        paths::end_with_task(unit, std::mem::take(&mut self.loaded.bound), (ending, number), self.overrode.as_ref())?;
        Ok(number)
    }

    /// The task as the response shows it.
    pub(crate) fn view(&self, unit: &Unit<'_>) -> shape::Task {
        unit.view(&self.loaded.full, &self.loaded.edges)
    }
}
