//! The right to act on a task, and how a hold begins and ends.

use serde_json::{Value, json};
use tenure_core::event::kind;
use tenure_core::task::TaskStatus;

use super::{Ended, Hold, Model, Over, Refusal, Task, Turn};

pub(super) const NOT_FOUND: Refusal = ("not_found", "not_found");
const ILLEGAL: Refusal = ("conflict", "illegal_transition");
const STALE: Refusal = ("stale", "stale_fence");
pub(super) const PEOPLE_ONLY: Refusal = ("denied", "people_only");

/// The right by which an actor acts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    Holder,
    Late,
    Free,
}

/// The target of an op.
pub(super) struct Acting<'a> {
    pub(super) task: Option<&'a str>,
    pub(super) fence: Option<i64>,
    pub(super) force: bool,
}

/// A task that the actor may act on: its id, the right, and the overridden holder.
pub(super) struct Granted {
    pub(super) id: String,
    pub(super) right: Right,
    pub(super) overrode: Option<String>,
}

impl Model {
    /// The named task, else the focus.
    pub(super) fn meant(&self, turn: &Turn<'_>, named: Option<&str>) -> Result<String, Refusal> {
        let focus = || self.agents[turn.actor].focus.clone();
        let meant = named.map_or_else(focus, str::to_owned);
        if named.is_none() && meant.is_empty() { Err(("usage", "no_focus")) } else { Ok(meant) }
    }

    /// Finds a task, and ends its hold first if that has expired.
    pub(super) fn load(&mut self, turn: &Turn<'_>, id: &str) -> Result<(), Refusal> {
        let hold = &self.tasks.get(id).ok_or(NOT_FOUND)?.hold;
        if hold.as_ref().is_some_and(|hold| turn.now >= hold.expires_at || turn.dead.contains(&hold.holder)) {
            self.expire(turn, id, "proven_dead");
        }
        Ok(())
    }

    /// A fence proves a grant: the fence of the live hold for its holder, the newest fence for the last holder.
    pub(super) fn right(&self, turn: &Turn<'_>, id: &str, given: Option<i64>) -> Result<Right, Refusal> {
        let task = &self.tasks[id];
        let fence = given.or_else(|| self.shown.get(&(turn.actor.to_owned(), id.to_owned())).copied());
        match (&task.hold, fence) {
            (Some(hold), Some(fence)) if hold.holder == turn.actor && hold.fence == fence => Ok(Right::Holder),
            (Some(hold), None) if hold.holder != turn.actor => Err(("conflict", "task_held")),
            (Some(_), _) => Err(STALE),
            (None, None) => Ok(Right::Free),
            (None, Some(fence)) if task.fences.last() == Some(&fence) && task.last_holder == turn.actor => {
                Ok(if task.lapsed { Right::Late } else { Right::Free })
            }
            (None, Some(_)) => Err(STALE),
        }
    }

    /// Finds the task and the right to act on it. A person may override.
    pub(super) fn begin(&mut self, turn: &Turn<'_>, on: &Acting<'_>) -> Result<Granted, Refusal> {
        let id = self.meant(turn, on.task)?;
        self.load(turn, &id)?;
        if on.force && !turn.actor.starts_with("person:") {
            return Err(PEOPLE_ONLY);
        }
        match self.right(turn, &id, on.fence) {
            Ok(right) => Ok(Granted { id, right, overrode: None }),
            Err(_) if on.force => {
                let overrode = self.tasks[&id].hold.as_ref().map(|hold| hold.holder.clone());
                let right = if overrode.is_some() { Right::Holder } else { Right::Free };
                Ok(Granted { id, right, overrode })
            }
            Err(refusal) => Err(refusal),
        }
    }

    pub(super) fn allow(&self, id: &str, from: &[TaskStatus]) -> Result<(), Refusal> {
        if from.contains(&self.tasks[id].status) { Ok(()) } else { Err(ILLEGAL) }
    }

    pub(super) fn change(&mut self, turn: &Turn<'_>, id: &str, to: TaskStatus) -> &mut Task {
        let task = self.task(id);
        task.status = to;
        task.version += 1;
        task.updated_at = turn.now;
        task
    }

    /// Records the event and ends the hold. Returns the event's number.
    pub(super) fn leave(&mut self, turn: &Turn<'_>, granted: &Granted, kind: &'static str, to: TaskStatus) -> i64 {
        let hold = self.tasks[&granted.id].hold.as_ref().map_or(String::new(), |hold| hold.id.clone());
        let mut data = json!({ "overrode": granted.overrode });
        if kind != kind::TASK_RELEASED {
            data["late"] = json!(granted.right == Right::Late);
        }
        let number = self.tell(turn, kind, &granted.id, &hold, data);
        let told = match kind {
            kind::TASK_DONE => "done",
            kind::TASK_BLOCKED => "blocked",
            kind::TASK_CANCELLED => "cancelled",
            _ => "released",
        };
        self.end(turn, granted, (told, number));
        self.change(turn, &granted.id, to);
        self.end_bound(turn, granted, told, number);
        number
    }

    /// Ends the hold, if any, and removes the task from the focus of the agent that leaves it.
    pub(super) fn end(&mut self, turn: &Turn<'_>, granted: &Granted, (told, number): (&'static str, i64)) {
        let task = self.task(&granted.id);
        let mut leaves = Vec::new();
        let mut lapsed = None;
        let ended = task.hold.take();
        if let Some(hold) = ended {
            let by = turn.actor.to_owned();
            self.over.push(Over { hold: hold.id.clone(), how: told, by, cause: number });
            self.ended.push(Ended {
                id: hold.id,
                task: granted.id.clone(),
                holder: hold.holder.clone(),
                lost: granted.overrode.is_some(),
            });
            leaves.push(hold.holder);
            lapsed = Some(false);
        }
        let task = self.task(&granted.id);
        task.lapsed = lapsed.unwrap_or(task.lapsed);
        if granted.overrode.is_some() {
            task.fences.push(number);
            task.last_holder.clear();
        } else {
            leaves.push(turn.actor.to_owned());
        }
        for name in leaves {
            let agent = self.agents.get_mut(&name).expect("a holder is known");
            if agent.focus == granted.id {
                agent.focus.clear();
            }
        }
    }

    pub(super) fn grant(
        &mut self,
        turn: &mut Turn<'_>,
        id: &str,
        to: &str,
        ttl: i64,
        expires_at: i64,
        told: (&'static str, Value),
    ) {
        let hold = turn.fresh.holds.pop_front().unwrap_or_else(|| turn.fresh.invent('h'));
        let attempt = self.tasks[id].attempt + 1;
        let (kind, mut data) = told;
        data["holder"] = json!(to);
        data["attempt"] = json!(attempt);
        let fence = self.tell(turn, kind, id, &hold, data);
        let task = self.task(id);
        task.hold = Some(Hold { id: hold, holder: to.to_owned(), fence, granted_at: turn.now, expires_at, ttl });
        task.attempt = attempt;
        task.fences.push(fence);
        task.last_holder = to.to_owned();
        task.last_began = turn.now;
        task.lapsed = false;
        let agent = self.agents.get_mut(to).expect("nobody unknown is granted anything");
        if to == turn.actor || agent.focus.is_empty() {
            agent.focus = id.to_owned();
        }
    }
}
