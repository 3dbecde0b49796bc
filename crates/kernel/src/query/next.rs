//! `next`: what `claim` would choose now, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::choice::{Rank, Rule, nothing, reason};
use tenure_core::name::AgentName;
use tenure_core::task::Status;
use tenure_core::{Result, Time, hold as rule, name, text};
use tenure_store::Tx;
use tenure_store::table::{agent, hold, task};

use super::Scene;
use super::list::{read, views};
use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::op::claim::suits;
use crate::shape;

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
    const ABOUT: &'static str = "What `claim` would choose now, and why";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = shape::Next;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<shape::Next> {
        let labels = text::labels(&self.labels)?;
        kernel.in_snapshot(call, |tx, scene| next(tx, scene, &labels))
    }
}

pub(crate) fn next(tx: &mut dyn Tx, scene: &Scene<'_>, labels: &[String]) -> Result<shape::Next> {
    let project = scene.project_id();
    let me = &scene.call.actor.name;
    let gone = gone_agents(tx, scene)?;
    let start = Rank::start();
    let may = |full: &task::Full| {
        let mut seen = full.task.clone();
        seen.assignee = seen.assignee.filter(|assignee| !gone.contains(assignee));
        suits(&seen, labels, me)
    };
    let over = |full: &task::Full| {
        full.held.as_ref().is_some_and(|held| scene.is_over(held)) && full.task.conditions().has_all_met() && may(full)
    };
    let mut heads = Vec::new();
    match labels.first() {
        None => {
            let mut agents = vec![None, Some(me.clone())];
            agents.extend(gone.iter().cloned().map(Some));
            for agent in agents {
                heads.extend(read(tx, project, &task::Stream::ReadyFor(agent), &start, 1, &may)?);
            }
        }
        Some(label) => {
            let stream = task::Stream::Label(label.clone(), Status::Open, true);
            heads.extend(read(tx, project, &stream, &start, 1, &may)?);
        }
    }
    // Only a hold that is over frees a started task, and mostly there is none.
    if !scene.dead.is_empty() || !tx.fetch(hold::due(project, scene.now, 1))?.is_empty() {
        heads.extend(read(tx, project, &task::Stream::Status(Status::Started, false), &start, 1, &over)?);
    }
    let Some(best) = heads.into_iter().min_by_key(|full| full.task.rank()) else {
        let counts = super::status::counts(tx, scene)?;
        return Ok(shape::Next { task: None, rule: Rule::None, reason: nothing(&counts, !labels.is_empty()) });
    };
    let priority = best.task.priority;
    let lapsed_from = match &best.held {
        Some(held) => Some(held.holder.clone()),
        None => best.task.last_holder.clone().filter(|_| best.task.lapsed),
    };
    let by = if lapsed_from.is_some() { Rule::Lapsed } else { Rule::Ready };
    let task = views(tx, scene, &[best])?.pop();
    Ok(shape::Next { task, rule: by, reason: reason(by, priority, lapsed_from.as_deref()) })
}

/// Agents that the next write will mark as gone: what is reserved for them counts as free.
pub(crate) fn gone_agents(tx: &mut dyn Tx, scene: &Scene<'_>) -> Result<Vec<AgentName>> {
    let quiet: Time = scene.now - rule::TASK_TTL;
    let rows = tx.fetch(agent::due(scene.project_id(), quiet, scene.now))?;
    Ok(rows
        .into_iter()
        .map(|row| row.name)
        .filter(|agent| !name::is_person(agent) && *agent != scene.call.actor.name)
        .collect())
}
