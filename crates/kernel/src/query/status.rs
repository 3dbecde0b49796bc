//! `status`: what is happening and what is stuck.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::{Action, Phrasing};
use tenure_core::choice::{ListOrder, Rank, SnoozedTasks, StateCounts, nothing};
use tenure_core::id::TaskId;
use tenure_core::number::EventNumber;
use tenure_core::task::{self as rules, Class, TaskState};
use tenure_core::{Result, Span, hold as rule};
use tenure_store::Tx;
use tenure_store::table::{agent, dep, hold, path, task};

use super::Snapshot;
use super::list::{List, select};
use super::query::{Access, Query, Role};
use crate::answer::{GuardState, Hindered, Overview, span};
use crate::call::{Call, Door};
use crate::kernel::Kernel;
use crate::op::claim;

/// How many of each are listed.
const FIRST: usize = 10;

/// The state of the project at a glance.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {}

impl Query for Status {
    const NAME: &'static str = "status";
    const ABOUT: &'static str = "Summarize the project";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Overview;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Overview> {
        kernel.in_snapshot(call, status)
    }
}

/// The counters as seen now, and the tasks that only wait for their time: a started task whose hold is over counts as what
/// it will be, and so does a snoozed task whose time has come.
pub(crate) fn counts(tx: &mut dyn Tx, snapshot: &Snapshot<'_>) -> Result<(StateCounts, Option<SnoozedTasks>)> {
    let Some(project) = snapshot.project else { return Ok((StateCounts::default(), None)) };
    let mut counts = claim::counts(project);
    let mut snoozed = tx.fetch(task::snoozed(&project.id, snapshot.now))?;
    // All of them are read, because a partial count would be wrong. They are few, or the next writes end them.
    let mut over = tx.fetch(hold::due(&project.id, snapshot.now, usize::MAX))?;
    for agent in &snapshot.dead {
        over.extend(hold::all_of_holder(tx, &project.id, agent)?);
    }
    let mut lapsed: Vec<TaskId> = over.iter().filter_map(hold::Row::held_task).collect();
    lapsed.sort();
    lapsed.dedup();
    let mut moved = tx.fetch(task::TaskStream::Due(snapshot.now).page(&project.id, &Rank::start(), usize::MAX))?;
    if !lapsed.is_empty() {
        let started = |full: &task::Full| full.task.status == rules::TaskStatus::Started;
        moved.extend(task::get_many(tx, &project.id, &lapsed)?.into_iter().filter(started));
    }
    for full in moved {
        match full.task.class() {
            Class::Started => counts.held -= 1,
            Class::Stuck => counts.stuck -= 1,
            _ => counts.waiting -= 1,
        }
        match full.task.conditions().view(false, snapshot.now).1 {
            TaskState::Ready => counts.ready += 1,
            TaskState::Stuck => counts.stuck += 1,
            _ => counts.waiting += 1,
        }
        // One that is started is not among those that were read as snoozed.
        let conditions = full.task.conditions().at(snapshot.now);
        if let Some(until) = conditions.not_before.filter(|_| conditions.has_all_met()) {
            let (count, first) = snoozed.map_or((0, until), |snoozed| (snoozed.count, snoozed.until));
            snoozed = Some(SnoozedTasks { count: count + 1, until: first.min(until) });
        }
    }
    Ok((counts, snoozed))
}

fn status(tx: &mut dyn Tx, snapshot: &Snapshot<'_>) -> Result<Overview> {
    let project = snapshot.project_id();
    let (counts, snoozed) = counts(tx, snapshot)?;
    let (mut held, mut next_expiry) = hold::summary(tx, project, snapshot.now, &snapshot.dead)?;
    let start = ListOrder::Priority.start();
    let first = |tx: &mut dyn Tx, state: TaskState| {
        select(tx, snapshot, &List { states: vec![state], ..List::default() }, &start, FIRST)
    };
    let blocked = first(tx, TaskState::Blocked)?;
    let stuck = first(tx, TaskState::Stuck)?;
    let blocked_by = blocked_by(tx, project, &blocked)?;
    let stuck_by = stuck_by(tx, project, &stuck)?;
    let soonest = super::holds::soonest(tx, snapshot, None, &(snapshot.now, "\u{7f}".to_owned()), FIRST)?;
    let holds = super::holds::views(tx, snapshot, &soonest)?;
    let over = over_with_task(tx, snapshot)?;
    if over > 0 {
        // Path holds that are over with their task are still in the sum.
        held -= over;
        next_expiry = soonest.first().map(|hold| rule::until(snapshot.now, hold.expires_at, hold.ttl));
    }
    let agents = agent::recent(tx, project, snapshot.now - rule::TASK_TTL, FIRST)?;
    let next_expiry_s = next_expiry.map(|at| (at - snapshot.now).as_seconds());
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
        summary: summary(&counts, snoozed, next_expiry_s, (snapshot.words)(Door::Cli)),
        blocked_by,
        stuck_by,
        holds,
        line: crate::waiting::shown(tx, snapshot)?.into_iter().take(FIRST).collect(),
        overdue: super::mail::overdue(tx, snapshot, FIRST)?,
        agents: super::agents::seen(tx, snapshot, &agents)?,
        last_event: snapshot.project.map_or(EventNumber::START, |project| project.last_event),
        guards: snapshot.project.map_or_else(GuardState::default, |project| GuardState::of(project, snapshot.now)),
    })
}

/// How many path holds have time left although the hold on their task has lapsed.
fn over_with_task(tx: &mut dyn Tx, snapshot: &Snapshot<'_>) -> Result<i64> {
    let project = snapshot.project_id();
    let due = tx.fetch(hold::due(project, snapshot.now, usize::MAX))?;
    let tasks: Vec<TaskId> = due.iter().filter_map(hold::Row::held_task).collect();
    if tasks.is_empty() {
        return Ok(0);
    }
    let bound = tx.fetch(path::of_tasks(project, &tasks))?;
    let over = bound.iter().filter(|row| !rule::lapsed(snapshot.now, row.expires_at) && !snapshot.died(row));
    Ok(i64::try_from(over.count()).unwrap_or(i64::MAX))
}

fn summary(
    counts: &StateCounts,
    snoozed: Option<SnoozedTasks>,
    next_expiry_s: Option<i64>,
    phrasing: &dyn Phrasing,
) -> String {
    match (counts.ready, counts.held) {
        (0, 0) => nothing(counts, snoozed, false),
        (0, held) => {
            let until =
                next_expiry_s.map_or(String::new(), |seconds| format!("; the next hold ends in {}", span(seconds)));
            format!("{held} in progress, no other task is ready{until}")
        }
        (ready, 0) => {
            let claim = phrasing.advise(&Action::ClaimTask { task: None });
            format!("{ready} ready and none in progress: {claim} takes one")
        }
        (ready, held) => format!("{held} in progress, {ready} ready"),
    }
}

fn blocked_by(tx: &mut dyn Tx, project: &str, tasks: &[task::Full]) -> Result<Vec<Hindered>> {
    let blockers: Vec<TaskId> = tasks.iter().filter_map(|full| full.task.blocked_on.clone()).collect();
    let known = task::existing(tx, project, &blockers)?;
    Ok(tasks
        .iter()
        .map(|full| {
            let on = full.task.blocked_on.as_ref();
            let gone = known.iter().any(|(id, status)| Some(id) == on && *status == rules::TaskStatus::Done);
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
                .filter(|edge| edge.task == full.task.id && edge.status == rules::TaskStatus::Cancelled)
                .map(|edge| edge.after.as_str())
                .collect();
            let by = format!("{} cancelled", cancelled.join(", "));
            Hindered { id: full.task.id.clone(), title: full.task.title.clone(), by, gone: false }
        })
        .collect())
}

/// Agents seen within this span count as recent.
pub const RECENT: Span = rule::TASK_TTL;
