//! Settling: every write first ends the lapsed holds of its project, so that nothing waits for a sweep.
//!
//! The holds of tasks end here, those of paths and locks in [`paths::expire`]. The pipeline (`Kernel::once`) calls it
//! for each op, and `Kernel::settle_due` for a server when something is due. An op also ends the lapsed holds that it
//! touches itself, beyond the number that one write settles: `UnitOfWork::loaded` and `paths::end_over`.

use std::collections::HashSet;

use tenure_core::choice::Rank;
use tenure_core::event::Event;
use tenure_core::event::hold::{CutShort, HoldExpired};
use tenure_core::event::project::ClockStepped;
use tenure_core::event::task::TaskUnassigned;
use tenure_core::hold::{Ending, ends};
use tenure_core::id::{HoldId, TaskId};
use tenure_core::name::AgentName;
use tenure_core::task::TaskStatus;
use tenure_core::{Result, Span, Time, name};
use tenure_store::Tx;
use tenure_store::table::{agent, hold, login, path, place, project, request, task, token, web_session};

use crate::kernel::KEEP_GIVEN;
use crate::locks;
use crate::mail::EndedHold;
use crate::op::snooze;
use crate::paths;
use crate::unit_of_work::{About, UnitOfWork};
use crate::waiting;

/// The maximum number of lapsed holds that one write ends, besides those it touches itself.
pub(crate) const AT_MOST: usize = 64;

/// Records that the clock was set back, and caps everything granted while the clock was ahead.
pub(crate) fn stepped_back(work: &mut UnitOfWork<'_>, back: Span) -> Result<()> {
    work.append(About::of(""), Event::ClockStepped(ClockStepped { seconds: back.as_seconds() }))?;
    cap(work.tx, &work.project, work.now)
}

/// Caps every expiry at what it would be if granted now, because the clock at the grant was ahead. Tokens, sign-in
/// links and web sessions belong to the whole store, and are capped with the project that stands for it.
pub(crate) fn cap(tx: &mut dyn Tx, project: &project::Row, now: Time) -> Result<()> {
    hold::cap(tx, &project.id, now)?;
    agent::cap(tx, &project.id, now, now - tenure_core::hold::TASK_TTL)?;
    place::cap(tx, &project.id, now)?;
    request::cap(tx, &project.id, now + KEEP_GIVEN)?;
    task::cap(tx, &project.id, now + snooze::LONGEST)?;
    if project.key == project::WHOLE_STORE {
        token::cap(tx, now)?;
        login::cap(tx, now)?;
        web_session::cap(tx, now)?;
    }
    Ok(())
}

/// Ends lapsed holds, given in the order of their expiry.
pub(crate) fn holds(work: &mut UnitOfWork<'_>, due: Vec<hold::Row>) -> Result<()> {
    work.more_due = due.len() == AT_MOST;
    if due.is_empty() {
        return Ok(());
    }
    let ids: Vec<TaskId> = due.iter().filter_map(hold::Row::held_task).collect();
    let (mut tasks, mut bound) = (Vec::new(), Vec::new());
    if !ids.is_empty() {
        tasks = task::get_many(work.tx, &work.project.id, &ids)?;
        bound = work.tx.fetch(path::of_tasks(&work.project.id, &ids))?;
    }
    let mut ended: HashSet<HoldId> = HashSet::new();
    for hold in due {
        if !hold.is_task() {
            // Unless it has just ended with its task.
            if ended.insert(hold.id.clone()) {
                paths::expire(work, &hold)?;
            }
        } else if let Some(at) = tasks.iter().position(|full| full.task.id == hold.subject) {
            let mut full = tasks.swap_remove(at);
            let its = |path: &hold::Row| path.task.as_ref() == Some(&full.task.id) && !ended.contains(&path.id);
            let with_it: Vec<hold::Row> = bound.iter().filter(|path| its(path)).cloned().collect();
            ended.extend(with_it.iter().map(|path| path.id.clone()));
            expire(work, &mut full, &with_it)?;
        }
    }
    Ok(())
}

/// Ends the hold on a task because it has lapsed or its holder is proven dead. The task is open again, and the paths
/// held for it are free.
pub(crate) fn expire(work: &mut UnitOfWork<'_>, full: &mut task::Full, bound: &[hold::Row]) -> Result<()> {
    cut_short(work, full, bound, CutShort::ProvenDead)
}

/// Ends the holds of an agent because its session has ended, so that the next agent need not wait for their expiry.
pub(crate) fn session_ended(work: &mut UnitOfWork<'_>, agent: &AgentName) -> Result<Vec<TaskId>> {
    all_of(work, agent, CutShort::SessionEnded)
}

/// Records that an agent was proven dead, and ends its holds. If its process cannot be inspected, as in a sandbox with
/// its own process namespace, there is no other evidence.
pub(crate) fn died(work: &mut UnitOfWork<'_>, agent: &AgentName) -> Result<()> {
    all_of(work, agent, CutShort::ProvenDead)?;
    agent::ended(work.tx, &work.project.id, agent, work.now)?;
    gone(work, agent)
}

fn all_of(work: &mut UnitOfWork<'_>, agent: &AgentName, why: CutShort) -> Result<Vec<TaskId>> {
    let project = work.project.id.clone();
    let held = hold::all_of_holder(work.tx, &project, agent)?;
    let mut ended = Vec::new();
    let mut with_task: HashSet<HoldId> = HashSet::new();
    for task in held.iter().filter_map(hold::Row::held_task) {
        let bound = work.tx.fetch(path::of_tasks(&project, std::slice::from_ref(&task)))?;
        if let Some(mut full) = work.tx.fetch(task::get(&project, &task))? {
            cut_short(work, &mut full, &bound, why)?;
            with_task.extend(bound.into_iter().map(|path| path.id));
            ended.push(full.task.id);
        }
    }
    let is_left = |hold: &&hold::Row| !hold.is_task() && !locks::outlives_holder(hold) && !with_task.contains(&hold.id);
    for hold in held.iter().filter(is_left) {
        paths::cut_short(work, hold, Some(why))?;
    }
    waiting::leave_all(work, agent)?;
    Ok(ended)
}

/// Ends a hold now. `why` says what cut it short, if it had not lapsed anyway.
fn cut_short(work: &mut UnitOfWork<'_>, full: &mut task::Full, bound: &[hold::Row], why: CutShort) -> Result<()> {
    let Some(held) = full.held.take() else { return Ok(()) };
    let over = tenure_core::hold::lapsed(work.now, held.expires_at);
    // The interval of a lapsed hold ends at its expiry, whenever it is settled. One that is cut short ends now.
    let ended_at = if over { held.expires_at } else { work.now };
    let expired = HoldExpired {
        holder: held.holder.to_string(),
        fence: held.fence.0,
        granted_at: held.granted_at,
        expires_at: held.expires_at,
        ended_at,
        proven_dead: Some(false),
        ..HoldExpired::default()
    };
    let event = Event::HoldExpired(expired.cut_short((!over).then_some(why)));
    let cause = work.append(About::of(&full.task.id).hold(&held.id), event)?;
    if held.asked > 0 {
        work.over.push(EndedHold {
            hold: held.id.clone(),
            how: Ending::Expired.as_str(),
            by: held.holder.clone(),
            cause,
        });
    }
    hold::end(work.tx, &work.project.id, &held.id, ended_at, Ending::Expired)?;
    let before = full.task.class();
    if full.task.status == TaskStatus::Started {
        full.task.set_status(TaskStatus::Open);
    }
    full.task.lapsed = true;
    work.store_task(before, &full.task)?;
    for path in bound {
        let mut path = path.clone();
        if over {
            // Whatever its own TTL, the path was free from then on, and another agent may have held it since.
            path.expires_at = ends(path.expires_at, Some(held.expires_at));
        }
        paths::cut_short(work, &path, (!over).then_some(why))?;
    }
    Ok(())
}

/// Lets tasks be offered whose time has come. All of them, so that an op finds none that waits for a time that has passed:
/// there are as many as were snoozed, one by one. No event says so, since nothing changes for a reader: the view has gone
/// by the time all along.
pub(crate) fn snoozed(work: &mut UnitOfWork<'_>, due: &[TaskId]) -> Result<()> {
    if due.is_empty() {
        return Ok(());
    }
    for mut full in task::get_many(work.tx, &work.project.id, due)? {
        let before = full.task.class();
        full.task.wake(work.now);
        work.store_task(before, &full.task)?;
    }
    Ok(())
}

/// Marks agents that have been quiet for too long as gone, and unassigns their tasks. People stay.
pub(crate) fn agents(work: &mut UnitOfWork<'_>, quiet: Vec<agent::Row>) -> Result<()> {
    for agent in quiet {
        if agent.name != work.call.actor.name {
            gone(work, &agent.name)?;
        }
    }
    Ok(())
}

/// Marks one agent as gone.
pub(crate) fn gone(work: &mut UnitOfWork<'_>, agent: &AgentName) -> Result<()> {
    agent::mark_gone(work.tx, &work.project.id, agent)?;
    if name::is_person(agent) {
        return Ok(());
    }
    loop {
        let assigned =
            work.tx.fetch(task::TaskStream::Assigned(agent.to_owned()).page(&work.project.id, &Rank::start(), 256))?;
        let more = assigned.len() == 256;
        for mut full in assigned {
            let unassigned = TaskUnassigned { assignee: agent.to_string() };
            work.append(About::of(&full.task.id), Event::TaskUnassigned(unassigned))?;
            full.task.assignee = None;
            work.store_task(full.task.class(), &full.task)?;
        }
        if !more {
            return Ok(());
        }
    }
}
