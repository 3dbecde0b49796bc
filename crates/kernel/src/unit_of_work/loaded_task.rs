//! A task as an op works on it: loading it with everything a decision needs, the actor's right, granting and ending its
//! hold.

use tenure_core::action::{Action, Tasks};
use tenure_core::choice::ChoiceRule;
use tenure_core::event::Event;
use tenure_core::event::hold::HoldTransferred;
use tenure_core::event::task::{TaskClaimed, TaskReady, TaskWaiting};
use tenure_core::hold::{Ending, ForcedEnd, HoldHistory, HoldKind, HoldState, Right};
use tenure_core::id::{Drawn, HoldId, Id, TaskId};
use tenure_core::name::AgentName;
use tenure_core::number::{EventNumber, Fence};
use tenure_core::task::{Conditions, TaskStatus};
use tenure_core::{Code, Error, Kind, Result, Span, Time, hold as rule, id};
use tenure_store::Batch;
use tenure_store::table::{agent, dep, event as log, hold, label, path, project, shown_fence, task};

use super::{About, UnitOfWork, exists, people_only};
use crate::answer;
use crate::answer::Blockers;
use crate::fact;
use crate::settle;

/// A task as an op finds it, with the fence that its actor was last shown.
pub(crate) struct LoadedTask {
    pub(crate) full: task::Full,
    pub(crate) edges: Vec<dep::Edge>,
    pub(crate) shown: Option<Fence>,
    /// The paths that are held for it.
    pub(crate) bound: Vec<hold::Row>,
}

/// The rows of a task, as [`UnitOfWork::load`] reads them: the task, the fence that was shown, its dependencies, its
/// paths.
type TaskRows = (Option<task::Full>, Option<Fence>, Vec<dep::Edge>, Vec<hold::Row>);

/// How many events of a task after a grant are read to see who ended that hold.
const LATER_READ: usize = 200;

/// Why the hold on a task is granted.
pub(crate) enum Grant {
    /// Its holder claimed it.
    Claim { rule: ChoiceRule, lapsed_from: Option<AgentName> },
    /// It was transferred.
    Transfer { from: AgentName, ended_hold: HoldId, overrode: Option<AgentName> },
}

impl UnitOfWork<'_> {
    /// The task of an op: the named one, else the actor's focus.
    pub(crate) fn meant(&self, named: Option<&TaskId>) -> Result<TaskId> {
        named.or_else(|| self.focus()).cloned().ok_or_else(|| {
            Error::new(Code::NoFocus, "the request names no task, and you have no task in focus")
                .attempt(Action::ClaimTask { task: None })
                .attempt(Action::ListTasks { which: Tasks::Unfinished })
        })
    }

    /// Loads a task with everything an op decides on. Its hold is ended first if it is over.
    pub(crate) fn load(&mut self, task: &TaskId) -> Result<LoadedTask> {
        id::named(task, id::Sort::Task)?;
        let statements = self.load_statements(task);
        let found = self.tx.fetch(statements)?;
        self.loaded(task, found)
    }

    /// The same, with an unused id for what the op is about to create.
    pub(crate) fn load_and_draw<K: Drawn>(&mut self, task: &TaskId) -> Result<(LoadedTask, Id<K>)> {
        id::named(task, id::Sort::Task)?;
        let fresh = self.draw_next();
        let statements = (self.load_statements(task), exists(&self.project.id, &fresh));
        let (found, taken) = self.tx.fetch(statements)?;
        let loaded = self.loaded(task, found)?;
        Ok((loaded, if taken { self.redraw()? } else { fresh }))
    }

    fn load_statements(&self, task: &TaskId) -> impl Batch<Output = TaskRows> + use<> {
        let project = &self.project.id;
        (
            task::get(project, task),
            shown_fence::get(project, self.me(), task),
            dep::of_one(project, task),
            path::of_tasks(project, std::slice::from_ref(task)),
        )
    }

    fn loaded(&mut self, task: &TaskId, (full, shown, edges, mut bound): TaskRows) -> Result<LoadedTask> {
        let mut full = full.ok_or_else(|| id::unknown(task, id::Sort::Task))?;
        if full.held.as_ref().is_some_and(|held| self.is_over(held)) {
            settle::expire(self, &mut full, &std::mem::take(&mut bound))?;
        }
        Ok(LoadedTask { full, edges, shown, bound })
    }

    /// Which of the named tasks exist, with their status, in no order.
    pub(crate) fn existing(&mut self, ids: &[TaskId]) -> Result<Vec<(TaskId, TaskStatus)>> {
        ids.iter().try_for_each(|id| id::named(id, id::Sort::Task))?;
        task::existing(self.tx, &self.project.id, ids)
    }

    /// Whether a hold is over for this op: it has lapsed, or its holder was just proven dead.
    pub(crate) fn is_over(&self, held: &task::TaskHold) -> bool {
        rule::lapsed(self.now, held.expires_at) || self.dead.contains(&held.holder)
    }

    /// Stores a task and updates the counters and label rows.
    pub(crate) fn store_task(&mut self, before: project::Class, row: &task::Row) -> Result<()> {
        self.project.counts[before as usize] -= 1;
        self.project.counts[row.class() as usize] += 1;
        task::update(self.tx, &self.project.id, row)?;
        if !row.labels.is_empty() {
            label::put(self.tx, &self.project.id, row)?;
        }
        Ok(())
    }

    /// The actor's right to act on a task, or the complete refusal.
    pub(crate) fn right(&mut self, loaded: &LoadedTask, given: Option<Fence>) -> Result<Right> {
        let LoadedTask { full, shown, .. } = loaded;
        let claim = HoldHistory {
            task: &full.task.id,
            live: full.held.as_ref().map(|held| HoldState { holder: &held.holder, fence: held.fence }),
            last_fence: full.task.last_fence,
            last_holder: full.task.last_holder.as_deref(),
            lapsed: full.task.lapsed,
            shown: given.or(*shown),
        };
        let error = match rule::right(self.me(), &claim) {
            Ok(right) => return Ok(right),
            Err(error) => error,
        };
        match (&full.held, error.kind()) {
            (Some(held), Kind::Conflict) => Err(held_by(self.now, &full.task.id, held)),
            (_, Kind::Stale) => Err(self.forced_end(&claim)?.unwrap_or(error)),
            _ => Err(error),
        }
    }

    /// The refusal of a holder whose hold a person ended: by whom, how and when.
    fn forced_end(&mut self, claim: &HoldHistory<'_>) -> Result<Option<Error>> {
        let Some(shown) = claim.shown else { return Ok(None) };
        let me = self.me();
        let filter = log::EventFilter { subject: Some(claim.task.to_owned()), ..log::EventFilter::default() };
        let range = (shown.event(), EventNumber::MAX);
        let later = self.tx.fetch(log::page(&self.project.id, &filter, range, false, LATER_READ))?;
        Ok(later.iter().find_map(|row| {
            let (overrode, how) = match fact::seen(&row.kind, &row.data) {
                Event::TaskReleased(said) => (said.overrode, "released it".to_owned()),
                Event::TaskDone(said) => (said.overrode, "finished it".to_owned()),
                Event::TaskCancelled(said) => (said.overrode, "cancelled it".to_owned()),
                Event::TaskBlocked(said) => (said.overrode, "blocked it".to_owned()),
                Event::HoldTransferred(said) => (said.overrode, format!("transferred it to {}", said.holder)),
                _ => return None,
            };
            let end = ForcedEnd { by: &row.actor, how: &how, at: row.at };
            (overrode.as_deref() == Some(me)).then(|| claim.overridden(&end))
        }))
    }

    /// The right to act if a person may override the holder. Returns the overridden holder.
    pub(crate) fn right_or_force(
        &mut self,
        loaded: &LoadedTask,
        given: Option<Fence>,
        force: bool,
    ) -> Result<(Right, Option<AgentName>)> {
        if force && !self.call.actor.is_person() {
            return Err(people_only("--force"));
        }
        match self.right(loaded, given) {
            Ok(right) => Ok((right, None)),
            Err(_) if force => {
                let holder = loaded.full.held.as_ref().map(|held| held.holder.clone());
                Ok((if holder.is_some() { Right::Holder } else { Right::Free }, holder))
            }
            Err(error) => Err(error),
        }
    }

    /// Ends the hold on a task. `number` is the event of the op that does it.
    pub(crate) fn end_hold(
        &mut self,
        full: &mut task::Full,
        how: Ending,
        number: EventNumber,
        overrode: Option<&AgentName>,
    ) -> Result<()> {
        let project = self.project.id.clone();
        let task = full.task.id.clone();
        if let Some(held) = full.held.take() {
            self.ended(&held.id, held.asked, how, number);
            let how = if overrode.is_some() { Ending::Forced } else { how };
            hold::end(self.tx, &project, &held.id, self.now, how)?;
            agent::clear_focus(self.tx, &project, &held.holder, &task)?;
            if overrode.is_some() {
                // An override is newer than the fence it ends: the former holder is stale from now on.
                full.task.last_fence = Some(Fence::from(number));
                full.task.last_holder = None;
            }
            full.task.lapsed = false;
        }
        // The fence shown to the actor stays: it tells a late call of a former holder from that of a stranger.
        if overrode.is_none() {
            let me = self.me();
            agent::clear_focus(self.tx, &project, me, &task)?;
        }
        Ok(())
    }

    /// Grants the hold on a task. Its fence is the number of its event.
    pub(crate) fn grant(
        &mut self,
        full: &mut task::Full,
        fresh: HoldId,
        holder: &AgentName,
        (ttl, expires_at): (Span, Time),
        grant: Grant,
    ) -> Result<hold::Row> {
        let attempt = full.task.attempt + 1;
        let ttl_s = ttl.as_seconds();
        let event = match grant {
            Grant::Claim { rule, lapsed_from } => Event::TaskClaimed(TaskClaimed {
                holder: holder.to_string(),
                rule: Some(rule),
                lapsed_from: lapsed_from.map(String::from),
                attempt,
                ttl_s,
                expires_at,
            }),
            Grant::Transfer { from, ended_hold, overrode } => Event::HoldTransferred(HoldTransferred {
                from: from.into(),
                ended_hold: ended_hold.into(),
                overrode: overrode.map(String::from),
                holder: holder.to_string(),
                attempt: Some(attempt),
                ttl_s,
                expires_at,
                ..HoldTransferred::default()
            }),
        };
        let fence = Fence::from(self.append(About::of(&full.task.id).hold(&fresh), event)?);
        let row = hold::Row {
            granted_at: self.now,
            expires_at,
            ttl,
            reason: full.task.title.clone(),
            ..hold::Row::new(fresh, (HoldKind::Task, &full.task.id), holder, fence)
        };
        hold::insert(self.tx, &self.project.id, &row)?;
        self.project.holds_issued += 1;
        full.task.attempt = attempt;
        full.task.last_fence = Some(fence);
        full.task.last_holder = Some(holder.clone());
        full.task.lapsed = false;
        if holder == self.me() {
            agent::set_focus(self.tx, &self.project.id, holder, &full.task.id)?;
        } else {
            // An agent that gets a task while it works on another keeps its focus: a plain `done` must never finish a
            // task that the agent has not looked at.
            agent::offer_focus(self.tx, &self.project.id, holder, &full.task.id)?;
        }
        full.held = Some(task::TaskHold {
            id: row.id.clone(),
            holder: holder.clone(),
            fence,
            granted_at: self.now,
            expires_at,
            ttl,
            reason: row.reason.clone(),
            sign: tenure_core::agent::Sign { last_seen: self.now, ended: false, proven_dead: false, ttl },
            asked: 0,
        });
        Ok(row)
    }

    /// Updates the dependents of a task that is done, cancelled or open again. Returns those that became ready; one that
    /// is snoozed is not among them.
    pub(crate) fn shift(
        &mut self,
        task: &TaskId,
        unmet: i64,
        cancelled: i64,
        cause: EventNumber,
    ) -> Result<Vec<TaskId>> {
        let project = self.project.id.clone();
        let shifted = dep::shift(self.tx, &project, task, unmet, cancelled)?;
        let (mut ready, mut events) = (Vec::new(), Vec::new());
        let (mut labelled_ready, mut labelled_waiting) = (Vec::new(), Vec::new());
        for row in shifted {
            let after = row.conditions;
            let before =
                Conditions { unmet: after.unmet - unmet, cancelled_deps: after.cancelled_deps - cancelled, ..after };
            self.project.counts[before.class() as usize] -= 1;
            self.project.counts[after.class() as usize] += 1;
            // The events are about dependencies alone: a snoozed task is told too, and its time comes without an event.
            if after.is_open_and_met() && !before.is_open_and_met() {
                let event = Event::TaskReady(TaskReady { unlocked_by: task.to_string() });
                events.push(self.event(About::of(&row.id).cause(cause), event));
            } else if before.is_open_and_met() && !after.is_open_and_met() {
                let event = Event::TaskWaiting(TaskWaiting { waits_for: task.to_string() });
                events.push(self.event(About::of(&row.id).cause(cause), event));
            }
            let (was_ready, is_ready) = (before.is_ready(), after.is_ready());
            if row.labelled && is_ready && !was_ready {
                labelled_ready.push(row.id.clone());
            } else if row.labelled && was_ready && !is_ready {
                labelled_waiting.push(row.id.clone());
            }
            if is_ready && !was_ready {
                ready.push(row.id);
            }
        }
        match events.as_slice() {
            [] => {}
            [only] => log::insert(self.tx, &project, only)?,
            many => self.append_all(many)?,
        }
        if !labelled_ready.is_empty() {
            label::set_ready(self.tx, &project, &labelled_ready, true)?;
        }
        if !labelled_waiting.is_empty() {
            label::set_ready(self.tx, &project, &labelled_waiting, false)?;
        }
        Ok(ready)
    }

    /// The task as shown in the answer.
    pub(crate) fn view(&self, full: &task::Full, edges: &[dep::Edge]) -> answer::Task {
        answer::Task::of(full, edges, self.now)
    }
}

/// The four-part refusal of a task that another agent holds.
pub(crate) fn held_by(now: Time, task: &TaskId, held: &task::TaskHold) -> Error {
    let blocker = answer::Blocker::of(held, now);
    Error::new(Code::TaskHeld, format!("{task} is held by {}", held.holder))
        .entity(task)
        .who(format!(
            "{} is {} (last seen {} ago), has held it for {} and keeps it for {} unless renewed, for “{}”",
            held.holder,
            blocker.liveness.as_str(),
            held.sign.last_seen.age(now),
            held.granted_at.age(now),
            held.expires_at - now,
            tenure_core::text::cut(&held.reason, 60)
        ))
        .attempt(Action::ClaimTask { task: None })
        .attempt(Action::why(task))
        .attempt(Action::ListTasks { which: Tasks::Ready })
        .person("A person can end the hold: `release` with the id and --force.")
        .with(&Blockers(vec![blocker]))
        .detail("total", 1)
}
