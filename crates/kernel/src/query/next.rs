//! `next`: what `claim` would choose now, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::choice::{ChoiceRule, nothing, reason};
use tenure_core::name::AgentName;
use tenure_core::task::TaskStatus;
use tenure_core::{Result, Time, hold as rule, name, text};
use tenure_store::Tx;
use tenure_store::table::{agent, hold, task};

use super::Snapshot;
use super::list::views;
use super::query::{Access, Query, Role};
use crate::answer;
use crate::call::Call;
use crate::candidates::{self, FirstTasks};
use crate::kernel::Kernel;
use crate::op::claim::suits;

/// What `claim` without an id would choose.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// Only tasks with all of these labels.
    #[serde(default)]
    pub labels: Vec<String>,
}

impl Query for Next {
    const NAME: &'static str = "next";
    const ABOUT: &'static str = "Show the task that `claim` would choose, and why";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = answer::NextChoice;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<answer::NextChoice> {
        let labels = text::labels(&self.labels)?;
        kernel.in_snapshot(call, |tx, snapshot| next(tx, snapshot, &labels))
    }
}

/// What a task of a stream must meet.
type Condition<'a> = &'a dyn Fn(&task::Full) -> bool;

pub(crate) fn next(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, labels: &[String]) -> Result<answer::NextChoice> {
    let project = snapshot.project_id();
    let me = &snapshot.call.actor.name;
    let gone = gone_agents(tx, snapshot)?;
    let may = |full: &task::Full| {
        let mut seen = full.task.clone();
        seen.assignee = seen.assignee.filter(|assignee| !gone.contains(assignee));
        suits(&seen, labels, me)
    };
    let over = |full: &task::Full| {
        full.held.as_ref().is_some_and(|held| snapshot.is_over(held))
            && full.task.is_ready_at(snapshot.now)
            && may(full)
    };
    let due = |full: &task::Full| full.task.is_ready_at(snapshot.now) && may(full);
    let mut streams: Vec<(task::TaskStream, Condition<'_>)> = Vec::new();
    match labels.first() {
        None => {
            let agents = [None, Some(me.clone())].into_iter().chain(gone.iter().cloned().map(Some));
            streams.extend(agents.map(|agent| (task::TaskStream::ReadyFor(agent), &may as _)));
        }
        Some(label) => streams.push((task::TaskStream::Label(label.clone(), TaskStatus::Open, true), &may)),
    }
    streams.push((task::TaskStream::Due(snapshot.now), &due));
    // Only a hold that is over frees a started task, and usually there is none.
    if !snapshot.dead.is_empty() || !tx.fetch(hold::due(project, snapshot.now, 1))?.is_empty() {
        streams.push((task::TaskStream::Status(TaskStatus::Started, false), &over));
    }
    let mut found = FirstTasks::default();
    for (stream, wanted) in &streams {
        found = found.with(candidates::of_stream(tx, (project, me), stream, *wanted)?);
    }
    let Some(best) = found.best() else {
        let (counts, snoozed) = super::status::counts(tx, snapshot)?;
        return Ok(answer::NextChoice {
            task: None,
            rule: ChoiceRule::None,
            reason: nothing(&counts, snoozed, !labels.is_empty()),
        });
    };
    let priority = best.task.priority;
    let lapsed_from = match &best.held {
        Some(held) => Some(held.holder.clone()),
        None => best.task.last_holder.clone().filter(|_| best.task.lapsed),
    };
    let by = if lapsed_from.is_some() { ChoiceRule::Lapsed } else { ChoiceRule::Ready };
    let task = views(tx, snapshot, &[best])?.pop();
    Ok(answer::NextChoice { task, rule: by, reason: reason(by, priority, lapsed_from.as_deref()) })
}

/// Agents that the next write will mark as gone: tasks assigned to them count as free.
pub(crate) fn gone_agents(tx: &mut dyn Tx, snapshot: &Snapshot<'_>) -> Result<Vec<AgentName>> {
    let quiet: Time = snapshot.now - rule::TASK_TTL;
    let rows = tx.fetch(agent::due(snapshot.project_id(), quiet, snapshot.now))?;
    Ok(rows
        .into_iter()
        .map(|row| row.name)
        .filter(|agent| !name::is_person(agent) && *agent != snapshot.call.actor.name)
        .collect())
}
