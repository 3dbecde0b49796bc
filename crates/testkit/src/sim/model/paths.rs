//! The model of path holds: conflicts, lifetime, and holds bound to a task.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tenure_core::Time;
use tenure_core::event::kind;
use tenure_kernel::op::{release, reserve};

use super::files::{covers, overlap, spelling};
use super::line::Thing;
use super::rights::{Granted, NOT_FOUND, PEOPLE_ONLY};
use super::{HOUR, Model, Over, Refusal, SECOND, Turn};

pub(super) const HELD: Refusal = ("conflict", "path_held");
const NOT_HELD: Refusal = ("conflict", "not_held");
const LAPSED: Refusal = ("stale", "lapsed");
const STALE: Refusal = ("stale", "stale_fence");

/// A path hold, ended or not.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct PathHold {
    pub id: String,
    /// The pattern in normal form.
    pub pattern: String,
    pub shared: bool,
    /// The id of the checkout; empty for all checkouts.
    pub checkout: String,
    pub holder: String,
    pub fence: i64,
    pub granted_at: i64,
    pub expires_at: i64,
    pub ttl: i64,
    pub reason: String,
    /// The task that the hold is bound to; empty for none.
    pub task: String,
    /// The place that the hold is offered to; empty otherwise.
    pub place: String,
    /// When and how it ended.
    pub ended: Option<(i64, &'static str)>,
}

impl PathHold {
    fn mode(&self) -> &'static str {
        if self.shared { "shared" } else { "exclusive" }
    }
}

/// A request for paths: agent, checkout, mode.
#[derive(Clone, Copy)]
pub(super) struct Want<'a> {
    pub(super) agent: &'a str,
    pub(super) checkout: &'a str,
    pub(super) shared: bool,
}

pub(super) fn meet(one: &str, other: &str) -> bool {
    one == other || one.is_empty() || other.is_empty()
}

/// Whether a hold blocks a request: another holder, the same checkout, a common file, and not both shared.
fn conflicts(path: &PathHold, want: &Want<'_>, pattern: &str) -> bool {
    path.holder != want.agent
        && !(path.shared && want.shared)
        && meet(&path.checkout, want.checkout)
        && overlap(&path.pattern, pattern)
}

impl Model {
    /// Whether a path hold is live at `now`, settled or not. A hold with a longer time to live than its task's hold
    /// still ends with it.
    pub fn counts(&self, path: &PathHold, now: i64) -> bool {
        path.ended.is_none() && now < self.end_of(path)
    }

    /// When a hold ends: at its expiry, or earlier with the hold on its task.
    pub(super) fn end_of(&self, path: &PathHold) -> i64 {
        let task = self.tasks.get(&path.task).and_then(|task| task.hold.as_ref());
        task.map_or(path.expires_at, |hold| hold.expires_at.min(path.expires_at))
    }

    pub(super) fn live_paths(&self) -> impl Iterator<Item = usize> {
        (0..self.paths.len()).filter(|at| self.paths[*at].ended.is_none())
    }

    /// Ends overlapping holds that have expired or whose holder is proven dead.
    pub(super) fn settle_paths(&mut self, turn: &Turn<'_>, checkout: &str, patterns: &[String]) {
        let over = |path: &PathHold| turn.now >= path.expires_at || turn.dead.contains(&path.holder);
        let met = |path: &PathHold| {
            meet(&path.checkout, checkout) && patterns.iter().any(|pattern| overlap(&path.pattern, pattern))
        };
        let due: Vec<usize> = self.live_paths().filter(|at| over(&self.paths[*at]) && met(&self.paths[*at])).collect();
        for at in due {
            let why = if turn.dead.contains(&self.paths[at].holder) { "proven_dead" } else { "" };
            self.expire_path(turn, at, why);
        }
    }

    /// Ends a path hold: at its expiry, or now for a reason.
    pub(super) fn expire_path(&mut self, turn: &Turn<'_>, at: usize, why: &str) {
        let path = self.paths[at].clone();
        let over = turn.now >= path.expires_at;
        let ended_at = if over { path.expires_at } else { turn.now };
        let because = |reason: &str| !over && why == reason;
        let mut data = json!({
            "holder": path.holder, "fence": path.fence, "ended_at": Time(ended_at), "expires_at": Time(path.expires_at),
            "granted_at": Time(path.granted_at), "proven_dead": because("proven_dead"), "task": path.task,
            "checkout": path.checkout,
        });
        if because("session_ended") {
            data["session_ended"] = json!(true);
        }
        let number = self.tell(turn, kind::HOLD_EXPIRED, &path.pattern, &path.id, data);
        self.freed = true;
        self.paths[at].ended = Some((ended_at, "expired"));
        self.over.push(Over { hold: path.id, how: "expired", by: path.holder, cause: number });
    }

    /// Ends all holds bound to a task whose hold has ended; if that hold expired, no later than its expiry.
    pub(super) fn expire_bound(&mut self, turn: &Turn<'_>, task: &str, why: &str, lapsed_at: Option<i64>) {
        let bound: Vec<usize> = self.live_paths().filter(|at| self.paths[*at].task == task).collect();
        for at in bound {
            if let Some(end) = lapsed_at {
                self.paths[at].expires_at = self.paths[at].expires_at.min(end);
            }
            self.expire_path(turn, at, why);
        }
    }

    pub(super) fn end_path(
        &mut self,
        turn: &Turn<'_>,
        at: usize,
        how: &'static str,
        cause: Option<i64>,
        mut data: Value,
    ) -> i64 {
        let path = self.paths[at].clone();
        data["holder"] = json!(path.holder);
        data["fence"] = json!(path.fence);
        data["checkout"] = json!(path.checkout);
        let number = self.tell(turn, kind::PATH_RELEASED, &path.pattern, &path.id, data);
        self.log.last_mut().expect("just told").cause = cause;
        self.paths[at].ended = Some((turn.now, how));
        self.freed = true;
        number
    }

    /// Ends all holds bound to a task whose hold was ended by its holder or a person. `told` is the outcome reported to
    /// the authors of messages.
    pub(super) fn end_bound(&mut self, turn: &Turn<'_>, granted: &Granted, told: &'static str, number: i64) {
        let bound: Vec<usize> = self.live_paths().filter(|at| self.paths[*at].task == granted.id).collect();
        for at in bound {
            if turn.now >= self.paths[at].expires_at {
                self.expire_path(turn, at, "");
                continue;
            }
            let usual = if told == "released" { "released" } else { "finished" };
            let how = if granted.overrode.is_some() { "forced" } else { usual };
            let data = json!({ "task": granted.id, "overrode": granted.overrode });
            let cause = self.end_path(turn, at, how, Some(number), data);
            let (hold, by) = (self.paths[at].id.clone(), turn.actor.to_owned());
            self.over.push(Over { hold, how: told, by, cause });
        }
    }

    pub(super) fn grant_path(
        &mut self,
        turn: &mut Turn<'_>,
        path: PathHold,
        (kind, mut data): (&'static str, Value),
    ) -> usize {
        let id = turn.fresh.holds.pop_front().unwrap_or_else(|| turn.fresh.invent('h'));
        data["holder"] = json!(path.holder);
        data["mode"] = json!(path.mode());
        data["checkout"] = json!(path.checkout);
        data["task"] = json!(path.task);
        data["reason"] = json!(path.reason);
        data["expires_at"] = json!(Time(path.expires_at));
        let fence = self.tell(turn, kind, &path.pattern, &id, data);
        self.paths.push(PathHold { id, fence, granted_at: turn.now, ended: None, ..path });
        self.paths.len() - 1
    }

    /// The conflicting holds of other agents, oldest first.
    pub(super) fn in_the_way(&self, want: &Want<'_>, patterns: &[String], now: i64) -> Vec<usize> {
        let stands = |path: &PathHold| patterns.iter().any(|pattern| conflicts(path, want, pattern));
        (0..self.paths.len()).filter(|at| self.counts(&self.paths[*at], now) && stands(&self.paths[*at])).collect()
    }

    /// The agent's own hold that satisfies a pattern: the same pattern, else the oldest that covers it with a
    /// sufficient mode.
    pub(super) fn own(&self, want: &Want<'_>, pattern: &str, now: i64) -> Option<usize> {
        let mine = |at: &usize| self.paths[*at].holder == want.agent && self.counts(&self.paths[*at], now);
        let same = |at: &usize| self.paths[*at].pattern == pattern && self.paths[*at].checkout == want.checkout;
        let covering = |at: &usize| {
            let path = &self.paths[*at];
            let here = path.checkout == want.checkout || path.checkout.is_empty();
            here && (want.shared || !path.shared) && covers(&path.pattern, pattern)
        };
        let found = self.live_paths().filter(mine).find(same);
        found.or_else(|| self.live_paths().filter(mine).find(covering))
    }

    /// The patterns of a request that the agent's own holds do not satisfy. Only these can be refused.
    pub(super) fn asks_more(&self, want: &Want<'_>, patterns: &[String], now: i64) -> Vec<String> {
        let more = |pattern: &&String| match self.own(want, pattern, now) {
            Some(at) => self.paths[at].pattern == **pattern && self.paths[at].shared && !want.shared,
            None => true,
        };
        patterns.iter().filter(more).cloned().collect()
    }

    pub(super) fn reserve(&mut self, turn: &mut Turn<'_>, request: &reserve::Reserve) -> Result<Value, Refusal> {
        let checkout = if request.all_checkouts { String::new() } else { turn.checkout.clone() };
        if !request.all_checkouts && checkout.is_empty() {
            return Err(("usage", "no_checkout"));
        }
        let mut patterns: Vec<String> = request.paths.iter().map(|typed| spelling(typed)).collect();
        let mut seen = BTreeSet::new();
        patterns.retain(|pattern| seen.insert(pattern.clone()));
        let focus = self.agents[turn.actor].focus.clone();
        if !focus.is_empty() {
            self.load(turn, &focus)?;
        }
        self.settle_paths(turn, &checkout, &patterns);
        let want = Want { agent: turn.actor, checkout: &checkout, shared: request.shared };
        let ahead = self.ahead(&want, &patterns, turn.now, turn.dead);
        if !ahead.is_free() && request.wait {
            let blockers = self.named(&ahead, turn.now);
            let thing = Thing::paths(&checkout, request.shared, &patterns);
            return self.wait(turn, &request.reason, &thing, (&ahead, blockers));
        }
        if !ahead.is_free() {
            self.blockers = self.named(&ahead, turn.now);
            return Err(HELD);
        }
        let mut answered: Vec<usize> = Vec::new();
        for pattern in &patterns {
            let at = self.take_path(turn, request, &checkout, (&focus, pattern));
            if !answered.contains(&at) {
                answered.push(at);
            }
        }
        self.waits_no_longer(turn.actor, &Thing::paths(&checkout, request.shared, &patterns));
        let holds: Vec<Value> = answered.into_iter().map(|at| self.reserved_answer(turn, at, &focus)).collect();
        Ok(json!({ "holds": holds }))
    }

    /// A hold that was just taken. A hold bound to the actor's focused task ends with that task's hold.
    fn reserved_answer(&self, turn: &Turn<'_>, at: usize, focus: &str) -> Value {
        let mut shape = self.path_answer(turn, at, "alive");
        let path = &self.paths[at];
        let task = self.tasks.get(focus).and_then(|task| task.hold.as_ref());
        if path.task == focus && task.is_some_and(|hold| hold.holder == turn.actor) {
            let until = self.end_of(path).min(turn.now + path.ttl);
            shape["expires_at"] = json!(Time(until));
            shape["expires_in_s"] = json!(((until - turn.now) / SECOND).max(0));
        }
        shape
    }

    /// Takes a free pattern: renews or changes the agent's own hold that satisfies it, else grants a new one.
    fn take_path(
        &mut self,
        turn: &mut Turn<'_>,
        request: &reserve::Reserve,
        checkout: &str,
        (focus, pattern): (&str, &str),
    ) -> usize {
        let own_task = self.tasks.get(focus).and_then(|task| task.hold.as_ref());
        let bound = own_task.filter(|hold| hold.holder == turn.actor).map(|hold| (hold.expires_at, hold.ttl));
        let given = request.ttl_s.map(|seconds| (turn.now + seconds * SECOND, seconds * SECOND));
        let want = Want { agent: turn.actor, checkout, shared: request.shared };
        let Some(at) = self.own(&want, pattern, turn.now) else {
            let (expires_at, ttl) = given.or(bound).unwrap_or((turn.now + HOUR, HOUR));
            let path = PathHold {
                id: String::new(),
                pattern: pattern.to_owned(),
                shared: request.shared,
                checkout: checkout.to_owned(),
                holder: turn.actor.to_owned(),
                fence: 0,
                granted_at: turn.now,
                expires_at,
                ttl,
                reason: request.reason.clone(),
                task: bound.map_or(String::new(), |_| focus.to_owned()),
                place: String::new(),
                ended: None,
            };
            return self.grant_path(turn, path, (kind::PATH_RESERVED, json!({})));
        };
        let same = self.paths[at].pattern == pattern && self.paths[at].checkout == checkout;
        if same && self.paths[at].shared != request.shared {
            let (id, fence) = (self.paths[at].id.clone(), self.paths[at].fence);
            self.paths[at].shared = request.shared;
            self.freed |= request.shared;
            let data = json!({ "holder": turn.actor, "mode": self.paths[at].mode(), "fence": fence });
            self.tell(turn, kind::PATH_CHANGED, pattern, &id, data);
        }
        // An accepted offer keeps its fence, and its time to live starts.
        let taken = std::mem::take(&mut self.paths[at].place);
        let path = &mut self.paths[at];
        if (same || !taken.is_empty()) && bound.is_some() {
            focus.clone_into(&mut path.task);
        }
        let with_task = bound.filter(|_| path.task == focus);
        (path.expires_at, path.ttl) = given.or(with_task).unwrap_or_else(|| {
            let ttl = if taken.is_empty() { path.ttl } else { HOUR };
            (turn.now + ttl, ttl)
        });
        if !request.reason.is_empty() {
            path.reason.clone_from(&request.reason);
        }
        if !taken.is_empty() {
            let path = path.clone();
            let data = json!({ "holder": path.holder, "fence": path.fence, "place": taken, "task": path.task });
            self.tell(turn, kind::OFFER_TAKEN, &path.pattern, &path.id, data);
            self.freed = true;
        }
        at
    }

    /// Releases all of the actor's holds that the patterns cover. A person may release holds of others.
    pub(super) fn release_paths(&mut self, turn: &Turn<'_>, request: &release::Release) -> Result<Value, Refusal> {
        let patterns: Vec<String> = request.paths.iter().map(|typed| spelling(typed)).collect();
        self.settle_paths(turn, &turn.checkout, &patterns);
        let mut ending: Vec<usize> = Vec::new();
        let mut left: BTreeSet<String> = BTreeSet::new();
        for pattern in &patterns {
            let met: Vec<usize> = (0..self.paths.len())
                .filter(|at| self.counts(&self.paths[*at], turn.now) && meet(&self.paths[*at].checkout, &turn.checkout))
                .filter(|at| overlap(&self.paths[*at].pattern, pattern))
                .collect();
            let may = |at: &usize| self.paths[*at].holder == turn.actor || request.force;
            let (covered, rest): (Vec<usize>, Vec<usize>) =
                met.into_iter().partition(|at| may(at) && covers(pattern, &self.paths[*at].pattern));
            let places = self.places_within(turn, pattern);
            if covered.is_empty() && places.is_empty() {
                return Err(self.nothing_to_release(turn, pattern, &rest));
            }
            left.extend(places);
            ending.extend(covered.into_iter().filter(|at| !ending.contains(at)).collect::<Vec<_>>());
        }
        let mut answer = self.give_back(turn, request, &ending)?;
        for id in &left {
            self.leave_place(turn, id, false);
        }
        if !left.is_empty() {
            answer["left"] = json!(left);
        }
        Ok(answer)
    }

    /// The reason why no hold matches a release.
    pub(super) fn nothing_to_release(&mut self, turn: &Turn<'_>, pattern: &str, met: &[usize]) -> Refusal {
        if met.iter().any(|at| self.paths[*at].holder == turn.actor) {
            return NOT_HELD;
        }
        // An agent that lost its last hold on these files is told so, even if another agent holds them now.
        let own = self.paths.iter().filter(|path| path.holder == turn.actor && path.ended.is_some());
        let last = own
            .filter(|path| meet(&path.checkout, &turn.checkout) && overlap(&path.pattern, pattern))
            .max_by_key(|path| path.fence);
        if last.and_then(|path| path.ended).is_some_and(|(_, how)| ["expired", "forced"].contains(&how)) {
            return LAPSED;
        }
        if !met.is_empty() {
            self.blockers = met.iter().map(|at| self.blocker(*at, turn.now)).collect();
            return HELD;
        }
        NOT_HELD
    }

    fn give_back(&mut self, turn: &Turn<'_>, request: &release::Release, ending: &[usize]) -> Result<Value, Refusal> {
        if request.force && !turn.actor.starts_with("person:") {
            return Err(PEOPLE_ONLY);
        }
        if ending.iter().any(|at| request.fence.is_some_and(|fence| fence != self.paths[*at].fence)) {
            return Err(STALE);
        }
        for at in ending {
            let overrode = Some(self.paths[*at].holder.clone()).filter(|holder| holder != turn.actor);
            let how = if overrode.is_some() { "forced" } else { "released" };
            let cause = self.end_path(turn, *at, how, None, json!({ "overrode": overrode }));
            let (hold, by) = (self.paths[*at].id.clone(), turn.actor.to_owned());
            self.over.push(Over { hold, how: "released", by, cause });
        }
        let holds: Vec<Value> = ending.iter().map(|at| self.path_answer(turn, *at, "gone")).collect();
        Ok(json!({ "holds": holds }))
    }

    /// Releases a hold by its id. Returns the task if the hold is on a task.
    pub(super) fn release_by_id(
        &mut self,
        turn: &Turn<'_>,
        id: &str,
        request: &release::Release,
    ) -> Result<Result<String, Value>, Refusal> {
        if let Some(task) = self.tasks.values().find(|task| task.hold.as_ref().is_some_and(|hold| hold.id == id)) {
            return Ok(Ok(task.id.clone()));
        }
        if let Some(ended) = self.ended.iter().find(|ended| ended.id == id) {
            let own = ended.lost && ended.holder == turn.actor;
            return Err(if own { LAPSED } else { NOT_HELD });
        }
        if let Some(at) = self.locks.iter().position(|lock| lock.id == id) {
            return self.release_lock_by_id(turn, at, request).map(Err);
        }
        let at = self.paths.iter().position(|path| path.id == id).ok_or(NOT_FOUND)?;
        let path = &self.paths[at];
        // An agent that lost the hold, by expiry or by force, is told that it has lapsed.
        let lapsed = path.ended.map_or(turn.now >= path.expires_at, |(_, how)| ["expired", "forced"].contains(&how));
        if path.ended.is_some() || lapsed {
            return Err(if lapsed && path.holder == turn.actor { LAPSED } else { NOT_HELD });
        }
        if path.holder != turn.actor && !request.force {
            self.blockers = vec![self.blocker(at, turn.now)];
            return Err(HELD);
        }
        self.give_back(turn, request, &[at]).map(Err)
    }

    /// Moves the paths of a task whose hold lapsed to the agent that takes the task over, where they are free. `began`
    /// is when the lapsed hold was granted, `before` its fence, `from` its holder. Returns the new holds, and the
    /// blockers of the others.
    pub(super) fn take_over_paths(
        &mut self,
        turn: &mut Turn<'_>,
        task: &str,
        (before, began, from): (i64, i64, &str),
    ) -> (Vec<Value>, Vec<Value>) {
        let hold = self.tasks[task].hold.clone().expect("just granted");
        // The newest hold of each pattern decides: only an expired hold was not released.
        let mut newest: BTreeMap<(String, String), usize> = BTreeMap::new();
        for (at, path) in self.paths.iter().enumerate().filter(|(_, path)| path.task == task) {
            newest.insert((path.checkout.clone(), path.pattern.clone()), at);
        }
        let of_it = |path: &PathHold| {
            let ended = path.ended.filter(|(_, how)| *how == "expired");
            ended.is_some_and(|(at, _)| path.fence > before || (path.holder == from && at >= began))
        };
        let mut lost: Vec<usize> = newest.into_values().filter(|at| of_it(&self.paths[*at])).collect();
        lost.sort_by_key(|at| (self.paths[*at].checkout.clone(), *at));
        let (mut anew, mut blocked) = (Vec::new(), Vec::new());
        let mut settled: Vec<String> = Vec::new();
        for old in lost.iter().map(|at| self.paths[*at].clone()).collect::<Vec<_>>() {
            if !settled.contains(&old.checkout) {
                let these = lost.iter().map(|at| &self.paths[*at]).filter(|path| path.checkout == old.checkout);
                let patterns: Vec<String> = these.map(|path| path.pattern.clone()).collect();
                self.settle_paths(turn, &old.checkout, &patterns);
                settled.push(old.checkout.clone());
            }
            let want = Want { agent: turn.actor, checkout: &old.checkout, shared: old.shared };
            let one = [old.pattern.clone()];
            let ahead = self.ahead(&want, &one, turn.now, turn.dead);
            if !ahead.is_free() {
                blocked.extend(self.named(&ahead, turn.now));
            } else if self.own(&want, &old.pattern, turn.now).is_none() {
                let data = json!({ "lapsed_from": old.holder });
                let (holder, expires_at, ttl) = (turn.actor.to_owned(), hold.expires_at, hold.ttl);
                let path = PathHold { holder, expires_at, ttl, ..old };
                let at = self.grant_path(turn, path, (kind::PATH_RESERVED, data));
                anew.push(self.path_answer(turn, at, "alive"));
            }
        }
        (anew, blocked)
    }

    /// A path hold as JSON. `place` is the name shown for the checkout.
    pub(super) fn path_shape(&self, at: usize, liveness: &str, place: &str, now: i64) -> Value {
        let path = &self.paths[at];
        let state = if path.place.is_empty() { "live" } else { "offered" };
        let until = path.ended.map_or(path.expires_at.min(now + path.ttl), |(ended, _)| path.expires_at.min(ended));
        let mut shape = json!({
            "id": path.id, "kind": "path", "subject": path.pattern, "holder": path.holder, "fence": path.fence,
            "mode": path.mode(), "reason": path.reason, "granted_at": Time(path.granted_at), "expires_at": Time(until),
            "expires_in_s": ((until - now) / SECOND).max(0), "ttl_s": path.ttl / SECOND,
            "state": path.ended.map_or(state, |(_, how)| how), "liveness": liveness,
        });
        if !path.task.is_empty() {
            shape["task"] = json!(path.task);
        }
        if !path.checkout.is_empty() {
            shape["checkout"] = json!(place);
        }
        shape
    }

    /// The same in an op's answer: the checkout is shown by path, with the host if the caller has no checkout.
    pub(super) fn path_answer(&self, turn: &Turn<'_>, at: usize, liveness: &str) -> Value {
        let path = &self.paths[at];
        let name = self.checkouts.iter().find(|(_, id)| **id == path.checkout).map_or("", |(name, _)| name);
        let host = if turn.place.is_empty() { "host:" } else { "" };
        self.path_shape(at, liveness, &format!("{host}/repos/{name}"), turn.now)
    }

    /// A hold in the form shown to the blocked agent.
    pub(super) fn blocker(&self, at: usize, now: i64) -> Value {
        let path = &self.paths[at];
        json!({
            "id": path.id, "state": "held", "holder": path.holder, "pattern": path.pattern, "mode": path.mode(),
            "reason": path.reason, "age_s": ((now - path.granted_at) / SECOND).max(0),
            "expires_in_s": ((self.end_of(path).min(now + path.ttl) - now) / SECOND).max(0),
            "last_seen_s": ((now - self.agents[&path.holder].last_seen) / SECOND).max(0),
            "liveness": self.there(&path.holder, path.ttl, now), "place": null,
        })
    }

    /// The answer of `check`.
    pub fn check_paths(
        &self,
        agent: &str,
        place: &str,
        (typed, shared, all): (&[String], bool, bool),
        now: i64,
    ) -> Value {
        let unseen = "never seen".to_owned();
        let here = if all { String::new() } else { self.checkouts.get(place).cloned().unwrap_or(unseen) };
        let want = Want { agent, checkout: &here, shared };
        let patterns: Vec<String> = typed.iter().map(|typed| spelling(typed)).collect();
        let ahead = self.ahead(&want, &patterns, now, &[]);
        let blockers = self.named(&ahead, now);
        json!({ "free": ahead.is_free(), "total": blockers.len(), "blockers": blockers })
    }

    /// The ids of the live holds in a checkout that overlap a pattern, ordered by expiry.
    pub fn met(&self, place: &str, typed: &str, now: i64) -> Vec<String> {
        let unseen = "never seen".to_owned();
        let here = self.checkouts.get(place).cloned().unwrap_or(unseen);
        let pattern = spelling(typed);
        let met = |path: &&PathHold| {
            self.counts(path, now) && meet(&path.checkout, &here) && overlap(&path.pattern, &pattern)
        };
        let mut found: Vec<&PathHold> = self.paths.iter().filter(met).collect();
        found.sort_by_key(|path| (self.end_of(path), path.id.clone()));
        found.into_iter().map(|path| path.id.clone()).collect()
    }
}
