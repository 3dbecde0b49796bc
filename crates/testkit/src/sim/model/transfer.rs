//! The model of transfers: of a task with its paths, of paths or a lock alone, and of everything that an agent holds.

use serde_json::{Value, json};
use tenure_core::Time;
use tenure_core::event::kind;
use tenure_core::task::TaskStatus;
use tenure_kernel::op::transfer;

use super::files::{covers, overlap, spelling};
use super::locks::{self, Lock, is_loss};
use super::paths::{self, PathHold, Want, meet};
use super::rights::{Acting, Granted, NOT_FOUND, PEOPLE_ONLY, Right};
use super::rules::{LAPSED, UNKNOWN_AGENT};
use super::{Model, Over, Refusal, SECOND, Turn};

const NOTHING: Refusal = ("not_found", "nothing_to_transfer");
const SAME: Refusal = ("conflict", "same_holder");
const SPLITS: Refusal = ("conflict", "transfer_splits");
const STALE: Refusal = ("stale", "stale_fence");
/// The most holds that the answer about everything lists.
const LISTED: usize = 100;

/// Something that moves without a task.
#[derive(Clone, Copy)]
enum Moving {
    Path(usize),
    Lock(usize),
}

impl Model {
    pub(super) fn transfer(&mut self, turn: &mut Turn<'_>, request: &transfer::Transfer) -> Result<Value, Refusal> {
        if request.all {
            return self.transfer_all(turn, request);
        }
        let own = |holder: &str| holder == turn.actor || request.force;
        let moving = if let Some(id) = request.hold.as_deref() {
            if let Some(task) = self.tasks.values().find(|task| task.hold.as_ref().is_some_and(|hold| hold.id == *id)) {
                let task = task.id.clone();
                return self.transfer_task(turn, request, Some(&task));
            }
            vec![self.moving_by_id(turn, id, own)?]
        } else if let Some(name) = request.lock.as_deref() {
            match self.live_lock(turn, name) {
                Some(at) if own(&self.locks[at].holder) => vec![Moving::Lock(at)],
                live => return Err(self.not_own_lock(turn, name, request, live)),
            }
        } else if request.paths.is_empty() {
            return self.transfer_task(turn, request, request.task.as_deref());
        } else {
            self.moving_by_pattern(turn, request, own)?
        };
        if request.force && !turn.actor.starts_with("person:") {
            return Err(PEOPLE_ONLY);
        }
        if moving.iter().any(|one| request.fence.is_some_and(|fence| fence.0 != self.fence_of(*one))) {
            return Err(STALE);
        }
        if moving.iter().any(|one| self.cannot_move(*one)) {
            return Err(("conflict", "hold_bound"));
        }
        if !self.agents.contains_key(request.to.as_str()) {
            return Err(UNKNOWN_AGENT);
        }
        let moving: Vec<Moving> =
            moving.into_iter().filter(|one| self.holder_of(*one) != request.to.as_str()).collect();
        if moving.is_empty() {
            return Err(SAME);
        }
        if self.would_split(turn, &on_paths(&moving), &request.to) {
            return Err(SPLITS);
        }
        Ok(json!({ "holds": self.move_alone(turn, moving, &request.to) }))
    }

    fn holder_of(&self, one: Moving) -> &str {
        match one {
            Moving::Path(at) => &self.paths[at].holder,
            Moving::Lock(at) => &self.locks[at].holder,
        }
    }

    fn fence_of(&self, one: Moving) -> i64 {
        match one {
            Moving::Path(at) => self.paths[at].fence,
            Moving::Lock(at) => self.locks[at].fence,
        }
    }

    /// An offer belongs to a place, and the lock of a command to its command.
    fn cannot_move(&self, one: Moving) -> bool {
        match one {
            Moving::Path(at) => !self.paths[at].place.is_empty(),
            Moving::Lock(at) => !self.locks[at].is_of_a_session(),
        }
    }

    fn moving_by_id(&mut self, turn: &Turn<'_>, id: &str, own: impl Fn(&str) -> bool) -> Result<Moving, Refusal> {
        if let Some(ended) = self.ended.iter().find(|ended| ended.id == id) {
            return Err(if ended.lost && ended.holder == turn.actor { LAPSED } else { NOTHING });
        }
        let (moving, ended, until, held) = if let Some(at) = self.locks.iter().position(|lock| lock.id == id) {
            (Moving::Lock(at), self.locks[at].ended, self.locks[at].expires_at, locks::HELD)
        } else {
            let at = self.paths.iter().position(|path| path.id == id).ok_or(NOT_FOUND)?;
            (Moving::Path(at), self.paths[at].ended, self.end_of(&self.paths[at]), paths::HELD)
        };
        let is_lost = ended.map_or(turn.now >= until, is_loss);
        if ended.is_some() || is_lost {
            return Err(if is_lost && self.holder_of(moving) == turn.actor { LAPSED } else { NOTHING });
        }
        if own(self.holder_of(moving)) {
            return Ok(moving);
        }
        self.blockers = vec![self.moving_blocker(moving, turn.now)];
        Err(held)
    }

    fn moving_blocker(&self, one: Moving, now: i64) -> Value {
        match one {
            Moving::Path(at) => self.blocker(at, now),
            Moving::Lock(at) => self.lock_blocker(at, now),
        }
    }

    fn not_own_lock(
        &mut self,
        turn: &Turn<'_>,
        name: &str,
        request: &transfer::Transfer,
        live: Option<usize>,
    ) -> Refusal {
        let of_it = || self.locks.iter().rev().filter(|lock| lock.name == name);
        if of_it().next().is_some_and(|newest| request.fence.is_some_and(|fence| fence.0 != newest.fence)) {
            return STALE;
        }
        let last = of_it().find(|lock| lock.holder == turn.actor).and_then(|lock| lock.ended);
        if last.is_some_and(is_loss) {
            return LAPSED;
        }
        let Some(at) = live else { return NOTHING };
        self.blockers = vec![self.lock_blocker(at, turn.now)];
        locks::HELD
    }

    fn moving_by_pattern(
        &mut self,
        turn: &Turn<'_>,
        request: &transfer::Transfer,
        own: impl Fn(&str) -> bool,
    ) -> Result<Vec<Moving>, Refusal> {
        let patterns: Vec<String> = request.paths.iter().map(|typed| spelling(typed)).collect();
        self.settle_paths(turn, &turn.checkout, &patterns);
        let mut moving: Vec<usize> = Vec::new();
        for pattern in &patterns {
            let met: Vec<usize> = (0..self.paths.len())
                .filter(|at| self.counts(&self.paths[*at], turn.now) && meet(&self.paths[*at].checkout, &turn.checkout))
                .filter(|at| overlap(&self.paths[*at].pattern, pattern))
                .collect();
            let (covered, rest): (Vec<usize>, Vec<usize>) = met
                .into_iter()
                .partition(|at| own(&self.paths[*at].holder) && covers(pattern, &self.paths[*at].pattern));
            if covered.is_empty() {
                let refusal = self.nothing_to_release(turn, pattern, &rest);
                return Err(if refusal.1 == "not_held" { NOTHING } else { refusal });
            }
            moving.extend(covered.into_iter().filter(|at| !moving.contains(at)).collect::<Vec<_>>());
        }
        Ok(moving.into_iter().map(Moving::Path).collect())
    }

    /// Transfers a task with its paths.
    fn transfer_task(
        &mut self,
        turn: &mut Turn<'_>,
        request: &transfer::Transfer,
        task: Option<&str>,
    ) -> Result<Value, Refusal> {
        let on = Acting { task, fence: request.fence.map(|fence| fence.0), force: request.force };
        let granted = self.begin(turn, &on)?;
        if granted.right == Right::Late {
            return Err(LAPSED);
        }
        let holder = self.tasks[&granted.id].hold.as_ref().map(|hold| hold.holder.clone()).ok_or(NOTHING)?;
        if !self.agents.contains_key(request.to.as_str()) {
            return Err(UNKNOWN_AGENT);
        }
        if request.to == holder {
            return Err(SAME);
        }
        if self.would_split(turn, &self.bound_to(&granted.id), &request.to) {
            return Err(SPLITS);
        }
        Ok(json!({ "holds": self.move_task(turn, &granted, &request.to) }))
    }

    fn bound_to(&self, task: &str) -> Vec<usize> {
        self.live_paths().filter(|at| self.paths[*at].task == task).collect()
    }

    fn move_task(&mut self, turn: &mut Turn<'_>, granted: &Granted, to: &str) -> Vec<Value> {
        let id = &granted.id;
        let hold = self.tasks[id].hold.clone().expect("a held task");
        self.end(turn, granted, ("transferred", self.last_event + 1));
        let data = json!({ "from": hold.holder, "ended_hold": hold.id, "overrode": granted.overrode });
        self.grant(turn, id, to, hold.ttl, hold.expires_at, (kind::HOLD_TRANSFERRED, data));
        if granted.overrode.is_some() {
            // The override and the grant are one event.
            self.task(id).fences.dedup();
        }
        self.change(turn, id, TaskStatus::Started);
        let mut holds = vec![self.hold_shape(id, "alive", turn.now)];
        for at in self.bound_to(id) {
            holds.extend(self.move_path(turn, at, to));
        }
        holds
    }

    /// Everything that an agent holds moves, but for the locks of its running commands.
    fn transfer_all(&mut self, turn: &mut Turn<'_>, request: &transfer::Transfer) -> Result<Value, Refusal> {
        if request.force && !turn.actor.starts_with("person:") {
            return Err(PEOPLE_ONLY);
        }
        let from = request.from.as_deref().unwrap_or(turn.actor).to_owned();
        let (Some(_), Some(agent)) = (self.agents.get(request.to.as_str()), self.agents.get(&from)) else {
            return Err(UNKNOWN_AGENT);
        };
        let focus = agent.focus.clone();
        if from == request.to.as_str() {
            return Err(SAME);
        }
        let of = |task: &super::Task| task.hold.as_ref().is_some_and(|hold| hold.holder == from);
        let mut tasks: Vec<String> = self.in_order(of);
        for id in &tasks {
            self.load(turn, id)?;
        }
        tasks.retain(|id| self.tasks[id].hold.is_some());
        tasks.sort_by_key(|id| (*id != focus, self.tasks[id].hold.as_ref().map(|hold| hold.fence)));
        let alone =
            self.live_paths().filter(|at| self.paths[*at].holder == from && !tasks.contains(&self.paths[*at].task));
        let mut alone: Vec<Moving> = alone.map(Moving::Path).collect();
        let held = (0..self.locks.len()).filter(|at| self.locks[*at].holder == from && self.locks[*at].ended.is_none());
        alone.extend(held.map(Moving::Lock));
        let (stays, alone): (Vec<Moving>, Vec<Moving>) = alone.into_iter().partition(|one| self.cannot_move(*one));
        let mut moving = Vec::new();
        for one in alone {
            let dead = turn.dead.contains(&from);
            match one {
                Moving::Path(at) if dead => self.expire_path(turn, at, "proven_dead"),
                Moving::Lock(at) if dead => self.expire_lock(turn, at, "proven_dead"),
                _ => moving.push(one),
            }
        }
        if tasks.is_empty() && moving.is_empty() {
            return Err(NOTHING);
        }
        if from != turn.actor && !request.force {
            return Err(self.not_own(tasks.is_empty().then_some(moving), turn.now));
        }
        let mut of_paths: Vec<usize> = tasks.iter().flat_map(|id| self.bound_to(id)).collect();
        of_paths.extend(on_paths(&moving));
        if self.would_split(turn, &of_paths, &request.to) {
            return Err(SPLITS);
        }
        let overrode = Some(from.clone()).filter(|from| *from != turn.actor);
        let mut holds = Vec::new();
        for id in tasks {
            let granted = Granted { id, right: Right::Holder, overrode: overrode.clone() };
            holds.extend(self.move_task(turn, &granted, &request.to));
        }
        holds.extend(self.move_alone(turn, moving, &request.to));
        let mut answer = json!({ "holds": holds });
        if holds.len() > LISTED {
            answer["more"] = json!(holds.len() - LISTED);
            answer["holds"] = json!(holds[..LISTED]);
        }
        let mut stays: Vec<&Lock> = stays
            .into_iter()
            .filter_map(|one| match one {
                Moving::Lock(at) => Some(&self.locks[at]).filter(|lock| lock.is_of_a_command()),
                Moving::Path(_) => None,
            })
            .collect();
        stays.sort_by_key(|lock| lock.id.clone());
        let stays: Vec<Value> = stays
            .into_iter()
            .filter_map(|stays| self.locks.iter().position(|lock| lock.id == stays.id))
            .map(|at| self.lock_shape(at, "alive", turn.now))
            .collect();
        if !stays.is_empty() {
            answer["stays"] = json!(stays);
        }
        Ok(answer)
    }

    /// The refusal of what another agent holds: by its first task, else by the hold with the first id.
    fn not_own(&mut self, moving: Option<Vec<Moving>>, now: i64) -> Refusal {
        let id = |one: &Moving| match one {
            Moving::Path(at) => self.paths[*at].id.clone(),
            Moving::Lock(at) => self.locks[*at].id.clone(),
        };
        let Some(first) = moving.and_then(|moving| moving.into_iter().min_by_key(id)) else {
            return ("conflict", "task_held");
        };
        self.blockers = vec![self.moving_blocker(first, now)];
        match first {
            Moving::Path(_) => paths::HELD,
            Moving::Lock(_) => locks::HELD,
        }
    }

    /// Whether a path that moves would conflict with a hold that stays.
    fn would_split(&self, turn: &Turn<'_>, moving: &[usize], to: &str) -> bool {
        moving.iter().any(|at| {
            let moved = &self.paths[*at];
            let want = Want { agent: to, checkout: &moved.checkout, shared: moved.shared };
            let ways = self.in_the_way(&want, std::slice::from_ref(&moved.pattern), turn.now);
            ways.into_iter().any(|other| !moving.contains(&other))
        })
    }

    /// Moves paths and locks in the order of their grants. A path leaves its task behind.
    fn move_alone(&mut self, turn: &mut Turn<'_>, mut moving: Vec<Moving>, to: &str) -> Vec<Value> {
        moving.sort_by_key(|one| self.fence_of(*one));
        let mut holds = Vec::new();
        for one in moving {
            match one {
                Moving::Path(at) => {
                    self.paths[at].expires_at = self.end_of(&self.paths[at]);
                    self.paths[at].task.clear();
                    holds.extend(self.move_path(turn, at, to));
                }
                Moving::Lock(at) => holds.push(self.move_lock(turn, at, to)),
            }
        }
        holds
    }

    /// Moves a path: the remaining time stays, the fence is new. A holder that shares the same pattern already keeps its
    /// own hold.
    fn move_path(&mut self, turn: &mut Turn<'_>, at: usize, to: &str) -> Option<Value> {
        let old = self.paths[at].clone();
        if turn.now >= old.expires_at {
            self.expire_path(turn, at, "");
            return None;
        }
        let overrode = Some(old.holder.clone()).filter(|holder| *holder != turn.actor);
        let (hold, by) = (old.id.clone(), turn.actor.to_owned());
        let has = self.paths.iter().any(|path| {
            path.holder == to
                && path.pattern == old.pattern
                && path.checkout == old.checkout
                && self.counts(path, turn.now)
        });
        let (moved, cause) = if has {
            let number = self.end_path(turn, at, "transferred", None, json!({ "task": old.task }));
            (None, number)
        } else {
            self.paths[at].ended = Some((turn.now, if overrode.is_some() { "forced" } else { "transferred" }));
            self.freed = true;
            let data = json!({ "from": old.holder, "ended_hold": old.id, "overrode": overrode });
            let new = self.grant_path(turn, PathHold { holder: to.to_owned(), ..old }, (kind::HOLD_TRANSFERRED, data));
            (Some(self.path_answer(turn, new, "alive")), self.paths[new].fence)
        };
        self.over.push(Over { hold, how: "transferred", by, cause });
        moved
    }

    fn move_lock(&mut self, turn: &mut Turn<'_>, at: usize, to: &str) -> Value {
        let old = self.locks[at].clone();
        let overrode = Some(old.holder.clone()).filter(|holder| *holder != turn.actor);
        self.locks[at].ended = Some((turn.now, if overrode.is_some() { "forced" } else { "transferred" }));
        self.freed = true;
        let data = json!({
            "from": old.holder, "ended_hold": old.id, "overrode": overrode, "holder": to, "ttl_s": old.ttl / SECOND,
            "expires_at": Time(old.expires_at), "reason": old.reason, "kind": "name",
        });
        let lock = Lock { holder: to.to_owned(), granted_at: turn.now, ..old };
        let new = self.grant_lock(turn, lock, (kind::HOLD_TRANSFERRED, data));
        self.lock_shape(new, "alive", turn.now)
    }
}

fn on_paths(moving: &[Moving]) -> Vec<usize> {
    let path = |one: &Moving| match one {
        Moving::Path(at) => Some(*at),
        Moving::Lock(_) => None,
    };
    moving.iter().filter_map(path).collect()
}
