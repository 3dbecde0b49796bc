//! `status`: what is happening and what is stuck.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::{Action, Phrasing};
use tenure_core::choice::{Counts, Rank, nothing};
use tenure_core::id::TaskId;
use tenure_core::task::{self as rules, State};
use tenure_core::{Result, Span, hold as rule};
use tenure_store::Tx;
use tenure_store::table::{agent, dep, hold, path, task};

use super::Scene;
use super::list::{List, select};
use super::query::{Access, Query, Role};
use crate::call::{Call, Door};
use crate::kernel::Kernel;
use crate::op::claim;
use crate::shape::{Guards, Hindered, Overview, span};

/// How many of each are listed.
const FIRST: usize = 10;

/// The state of the project at a glance.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {}

impl Query for Status {
    const NAME: &'static str = "status";
    const ABOUT: &'static str = "The project at a glance";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Overview;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Overview> {
        kernel.in_snapshot(call, status)
    }
}

/// The counters as they are seen: a started task whose hold is over counts as what it will be.
pub(crate) fn counts(tx: &mut dyn Tx, scene: &Scene<'_>) -> Result<Counts> {
    let Some(project) = scene.project else { return Ok(Counts::default()) };
    let mut counts = claim::counts(project);
    // All of them: a count that leaves some out is wrong. They are few, or else the next writes end them.
    let mut over = tx.fetch(hold::due(&project.id, scene.now, usize::MAX))?;
    for agent in &scene.dead {
        over.extend(hold::all_of_holder(tx, &project.id, agent)?);
    }
    let mut lapsed: Vec<TaskId> = over.iter().filter_map(hold::Row::held_task).collect();
    lapsed.sort();
    lapsed.dedup();
    if lapsed.is_empty() {
        return Ok(counts);
    }
    for full in task::get_many(tx, &project.id, &lapsed)? {
        if full.task.status != rules::Status::Started {
            continue;
        }
        counts.held -= 1;
        match full.task.conditions().view(false).1 {
            State::Ready => counts.ready += 1,
            State::Stuck => counts.stuck += 1,
            _ => counts.waiting += 1,
        }
    }
    Ok(counts)
}

fn status(tx: &mut dyn Tx, scene: &Scene<'_>) -> Result<Overview> {
    let project = scene.project_id();
    let counts = counts(tx, scene)?;
    let (mut held, mut next_expiry) = hold::summary(tx, project, scene.now, &scene.dead)?;
    let start = Rank::start();
    let first = |tx: &mut dyn Tx, state: State| {
        select(tx, scene, &List { states: vec![state], ..List::default() }, &start, FIRST)
    };
    let blocked = first(tx, State::Blocked)?;
    let stuck = first(tx, State::Stuck)?;
    let blocked_by = blocked_by(tx, project, &blocked)?;
    let stuck_by = stuck_by(tx, project, &stuck)?;
    let soonest = super::holds::soonest(tx, scene, None, &(scene.now, "\u{7f}".to_owned()), FIRST)?;
    let holds = super::holds::views(tx, scene, &soonest)?;
    let over = over_with_task(tx, scene)?;
    if over > 0 {
        // What its task ended with it is still in the sum.
        held -= over;
        next_expiry = soonest.first().map(|hold| rule::until(scene.now, hold.expires_at, hold.ttl));
    }
    let agents = agent::recent(tx, project, scene.now - rule::TASK_TTL, FIRST)?;
    let next_expiry_s = next_expiry.map(|at| (at - scene.now).as_seconds());
    Ok(Overview {
        ready: counts.ready,
        waiting: counts.waiting,
        started: counts.held,
        blocked: counts.blocked,
        stuck: counts.stuck,
        held,
        done: counts.done,
        cancelled: counts.cancelled,
        next_expiry: next_expiry.map(|at| at.to_string()),
        next_expiry_s,
        summary: summary(&counts, next_expiry_s, (scene.words)(Door::Cli)),
        blocked_by,
        stuck_by,
        holds,
        line: crate::line::shown(tx, scene)?.into_iter().take(FIRST).collect(),
        overdue: super::mail::overdue(tx, scene, FIRST)?,
        agents: super::agents::seen(tx, scene, &agents)?,
        last_event: scene.project.map_or(0, |project| project.last_event),
        guards: scene.project.map_or_else(Guards::default, |project| Guards::of(project, scene.now)),
    })
}

/// How many holds on paths have time left, while the hold on their task has none.
fn over_with_task(tx: &mut dyn Tx, scene: &Scene<'_>) -> Result<i64> {
    let project = scene.project_id();
    let due = tx.fetch(hold::due(project, scene.now, usize::MAX))?;
    let tasks: Vec<TaskId> = due.iter().filter_map(hold::Row::held_task).collect();
    if tasks.is_empty() {
        return Ok(0);
    }
    let bound = tx.fetch(path::of_tasks(project, &tasks))?;
    let over = bound.iter().filter(|row| !rule::lapsed(scene.now, row.expires_at) && !scene.died(row));
    Ok(i64::try_from(over.count()).unwrap_or(i64::MAX))
}

fn summary(counts: &Counts, next_expiry_s: Option<i64>, phrasing: &dyn Phrasing) -> String {
    match (counts.ready, counts.held) {
        (0, 0) => nothing(counts, false),
        (0, held) => {
            let until =
                next_expiry_s.map_or(String::new(), |seconds| format!("; the next hold ends in {}", span(seconds)));
            format!("{held} under way, nothing else is ready{until}")
        }
        (ready, 0) => {
            let claim = phrasing.advise(&Action::ClaimTask { task: None });
            format!("{ready} ready and nobody is working: {claim} takes one")
        }
        (ready, held) => format!("{held} under way, {ready} ready"),
    }
}

fn blocked_by(tx: &mut dyn Tx, project: &str, tasks: &[task::Full]) -> Result<Vec<Hindered>> {
    let blockers: Vec<TaskId> = tasks.iter().filter_map(|full| full.task.blocked_on.clone()).collect();
    let known = task::existing(tx, project, &blockers)?;
    Ok(tasks
        .iter()
        .map(|full| {
            let on = full.task.blocked_on.as_ref();
            let gone = known.iter().any(|(id, status)| Some(id) == on && *status == rules::Status::Done);
            let by = match on {
                None => full.task.reason.clone(),
                Some(on) => format!("{on}: {}", full.task.reason),
            };
            Hindered { id: full.task.id.clone(), title: full.task.title.clone(), by, gone }
        })
        .collect())
}

fn stuck_by(tx: &mut dyn Tx, project: &str, tasks: &[task::Full]) -> Result<Vec<Hindered>> {
    let ids: Vec<TaskId> = tasks.iter().map(|full| full.task.id.clone()).collect();
    let edges = if ids.is_empty() { Vec::new() } else { tx.fetch(dep::of(project, &ids))? };
    Ok(tasks
        .iter()
        .map(|full| {
            let cancelled: Vec<&str> = edges
                .iter()
                .filter(|edge| edge.task == full.task.id && edge.status == rules::Status::Cancelled)
                .map(|edge| edge.after.as_str())
                .collect();
            let by = format!("{} cancelled", cancelled.join(", "));
            Hindered { id: full.task.id.clone(), title: full.task.title.clone(), by, gone: false }
        })
        .collect())
}

/// Agents seen within this span count as recent.
pub const RECENT: Span = rule::TASK_TTL;
