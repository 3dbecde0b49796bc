//! The model of named locks: grant, lifetime, offer and release.

use serde_json::{Value, json};
use tenure_core::Time;
use tenure_core::event::kind;
use tenure_kernel::op::lock::LockRenewal;
use tenure_kernel::op::{lock, release};

use super::line::{OFFER, Place, Thing};
use super::rights::PEOPLE_ONLY;
use super::{Model, Refusal, SECOND, Turn};

pub(super) const HELD: Refusal = ("conflict", "lock_held");
const NOT_HELD: Refusal = ("conflict", "not_held");
const LAPSED: Refusal = ("stale", "lapsed");
const STALE: Refusal = ("stale", "stale_fence");

/// A named lock, ended or not.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Lock {
    pub id: String,
    pub name: String,
    pub holder: String,
    pub fence: i64,
    pub granted_at: i64,
    pub expires_at: i64,
    pub ttl: i64,
    pub reason: String,
    /// Whether the lock is renewed only by its fence, which the process that runs the command shows.
    pub runner: bool,
    /// The place that the lock is offered to; empty otherwise.
    pub place: String,
    /// When and how it ended.
    pub ended: Option<(i64, &'static str)>,
}

impl Lock {
    /// Whether the lock outlives its holder's session, because its command may still run.
    pub(super) fn is_of_a_command(&self) -> bool {
        self.runner && self.place.is_empty()
    }

    /// Whether the holder's presence renews the lock.
    pub(super) fn is_of_a_session(&self) -> bool {
        !self.runner && self.place.is_empty()
    }

    pub(super) fn is_over(&self, now: i64, dead: &[String]) -> bool {
        now >= self.expires_at || (dead.contains(&self.holder) && !self.is_of_a_command())
    }
}

/// Whether a holder lost what ended so: it did not give it away itself.
pub(super) fn is_loss((_, how): (i64, &'static str)) -> bool {
    ["expired", "forced"].contains(&how)
}

/// The renewal mode and the time to live of a request.
fn how(request: &lock::Lock) -> (bool, i64) {
    let runner = request.renewal == LockRenewal::Runner;
    let usual = if runner { 60 } else { 600 };
    (runner, request.ttl_s.unwrap_or(usual) * SECOND)
}

impl Model {
    /// The lock with a name that has no recorded end.
    fn lock_named(&self, name: &str) -> Option<usize> {
        self.locks.iter().position(|lock| lock.name == name && lock.ended.is_none())
    }

    /// The same, after ending an expired lock.
    pub(super) fn live_lock(&mut self, turn: &Turn<'_>, name: &str) -> Option<usize> {
        let at = self.lock_named(name)?;
        if !self.locks[at].is_over(turn.now, turn.dead) {
            return Some(at);
        }
        let why = if turn.dead.contains(&self.locks[at].holder) { "proven_dead" } else { "" };
        self.expire_lock(turn, at, why);
        None
    }

    /// Ends a lock: at its expiry, or now for a reason.
    pub(super) fn expire_lock(&mut self, turn: &Turn<'_>, at: usize, why: &str) {
        let lock = self.locks[at].clone();
        let over = turn.now >= lock.expires_at;
        let ended_at = if over { lock.expires_at } else { turn.now };
        let because = |reason: &str| !over && why == reason;
        let mut data = json!({
            "kind": "name", "holder": lock.holder, "fence": lock.fence, "ended_at": Time(ended_at),
            "expires_at": Time(lock.expires_at), "granted_at": Time(lock.granted_at),
            "proven_dead": because("proven_dead"),
        });
        if because("session_ended") {
            data["session_ended"] = json!(true);
        }
        self.tell(turn, kind::HOLD_EXPIRED, &lock.name, &lock.id, data);
        self.freed = true;
        self.locks[at].ended = Some((ended_at, "expired"));
    }

    pub(super) fn lock(&mut self, turn: &mut Turn<'_>, request: &lock::Lock) -> Result<Value, Refusal> {
        let live = self.live_lock(turn, &request.name);
        match (live, request.fence) {
            (None, Some(_)) => return Err(LAPSED),
            (Some(at), Some(fence)) if fence != self.locks[at].fence => return Err(STALE),
            // The offer is accepted with or without its fence.
            (Some(at), _) if self.locks[at].holder == turn.actor && !self.locks[at].place.is_empty() => {
                return Ok(self.take_offered_lock(turn, at, request));
            }
            (Some(at), Some(_)) if self.locks[at].holder == turn.actor => return Ok(self.renew_lock(turn, at, request)),
            _ => {}
        }
        let wanted = [request.name.clone()];
        let thing = Thing::named(&wanted);
        let ahead = self.ahead_in_line(turn.actor, (&thing, &thing), turn.now, turn.dead);
        let mut blockers: Vec<Value> = live.iter().map(|at| self.lock_blocker(*at, turn.now)).collect();
        if blockers.is_empty() && ahead.is_free() {
            let (runner, ttl) = how(request);
            let data = json!({
                "holder": turn.actor, "reason": request.reason, "renewal": if runner { "runner" } else { "session" },
                "ttl_s": ttl / SECOND, "expires_at": Time(turn.now + ttl), "overrode": null,
            });
            let lock = Lock {
                holder: turn.actor.to_owned(),
                reason: request.reason.clone(),
                runner,
                ..empty(&request.name, turn.now, ttl)
            };
            let at = self.grant_lock(turn, lock, (kind::LOCK_TAKEN, data));
            self.waits_no_longer(turn.actor, &thing);
            return Ok(self.lock_shape(at, "alive", turn.now));
        }
        if !request.wait {
            // The refusal names the holder; without one, it names the waiting agents.
            self.blockers = if blockers.is_empty() { self.named_places(&ahead, turn.now) } else { blockers };
            return Err(HELD);
        }
        blockers.extend(self.named_places(&ahead, turn.now));
        self.wait(turn, &request.reason, &thing, (&ahead, blockers))
    }

    pub(super) fn grant_lock(&mut self, turn: &mut Turn<'_>, lock: Lock, (kind, data): (&'static str, Value)) -> usize {
        let id = turn.fresh.holds.pop_front().unwrap_or_else(|| turn.fresh.invent('h'));
        let fence = self.tell(turn, kind, &lock.name, &id, data);
        self.locks.push(Lock { id, fence, ..lock });
        self.locks.len() - 1
    }

    /// Offers a lock to a waiting agent.
    pub(super) fn offer_lock(&mut self, turn: &mut Turn<'_>, place: &Place) {
        let data = json!({
            "holder": place.agent, "reason": place.reason, "ttl_s": OFFER / SECOND,
            "expires_at": Time(turn.now + OFFER), "place": place.id,
        });
        let lock = Lock {
            holder: place.agent.clone(),
            reason: place.reason.clone(),
            place: place.id.clone(),
            ..empty(&place.wanted[0], turn.now, OFFER)
        };
        self.grant_lock(turn, lock, (kind::LOCK_OFFERED, data));
    }

    /// Accepts an offer: the fence stays, the time to live starts.
    fn take_offered_lock(&mut self, turn: &Turn<'_>, at: usize, request: &lock::Lock) -> Value {
        let place = std::mem::take(&mut self.locks[at].place);
        (self.locks[at].runner, self.locks[at].ttl) = how(request);
        self.prolong(turn, at, &request.reason);
        let lock = self.locks[at].clone();
        let data = json!({
            "kind": "name", "holder": lock.holder, "fence": lock.fence, "place": place, "ttl_s": lock.ttl / SECOND,
            "expires_at": Time(lock.expires_at),
        });
        self.tell(turn, kind::OFFER_TAKEN, &lock.name, &lock.id, data);
        self.freed = true;
        self.lock_shape(at, "alive", turn.now)
    }

    /// Renews a lock under the same fence.
    fn renew_lock(&mut self, turn: &Turn<'_>, at: usize, request: &lock::Lock) -> Value {
        if let Some(seconds) = request.ttl_s {
            self.locks[at].ttl = seconds * SECOND;
        }
        self.prolong(turn, at, &request.reason);
        self.lock_shape(at, "alive", turn.now)
    }

    fn prolong(&mut self, turn: &Turn<'_>, at: usize, reason: &str) {
        let lock = &mut self.locks[at];
        lock.expires_at = turn.now + lock.ttl;
        if !reason.is_empty() {
            reason.clone_into(&mut lock.reason);
        }
    }

    /// Releases a lock by name, or leaves the line for it.
    pub(super) fn release_lock(
        &mut self,
        turn: &Turn<'_>,
        name: &str,
        request: &release::Release,
    ) -> Result<Value, Refusal> {
        let live = self.live_lock(turn, name);
        if let Some(at) = live.filter(|at| self.locks[*at].holder == turn.actor || request.force) {
            return self.give_lock_back(turn, request, at);
        }
        let own = |place: &&Place| place.agent == turn.actor && place.name && !place.offered && place.wanted == [name];
        if let Some(id) = self.places.iter().find(own).map(|place| place.id.clone()) {
            self.leave_place(turn, &id, false);
            return Ok(json!({ "holds": [], "left": [id] }));
        }
        let of_it = || self.locks.iter().rev().filter(|lock| lock.name == name);
        if of_it().next().is_some_and(|newest| request.fence.is_some_and(|fence| fence != newest.fence)) {
            return Err(STALE);
        }
        // An agent that lost the lock, by expiry or by force, is told so before it is told the new holder.
        let last = of_it().find(|lock| lock.holder == turn.actor).and_then(|lock| lock.ended);
        if last.is_some_and(is_loss) {
            return Err(LAPSED);
        }
        match live {
            Some(at) => {
                self.blockers = vec![self.lock_blocker(at, turn.now)];
                Err(HELD)
            }
            None => Err(NOT_HELD),
        }
    }

    /// Releases a lock by the id of its hold.
    pub(super) fn release_lock_by_id(
        &mut self,
        turn: &Turn<'_>,
        at: usize,
        request: &release::Release,
    ) -> Result<Value, Refusal> {
        let lock = &self.locks[at];
        let own = lock.holder == turn.actor;
        let lost = lock.ended.map_or(turn.now >= lock.expires_at, is_loss);
        if lost || lock.ended.is_some() {
            return Err(if lost && own { LAPSED } else { NOT_HELD });
        }
        if !own && !request.force {
            self.blockers = vec![self.lock_blocker(at, turn.now)];
            return Err(HELD);
        }
        self.give_lock_back(turn, request, at)
    }

    fn give_lock_back(&mut self, turn: &Turn<'_>, request: &release::Release, at: usize) -> Result<Value, Refusal> {
        if request.force && !turn.actor.starts_with("person:") {
            return Err(PEOPLE_ONLY);
        }
        let lock = self.locks[at].clone();
        if request.fence.is_some_and(|fence| fence != lock.fence) {
            return Err(STALE);
        }
        let overrode = Some(&lock.holder).filter(|holder| *holder != turn.actor);
        let how = if overrode.is_some() { "forced" } else { "released" };
        let data = json!({ "holder": lock.holder, "fence": lock.fence, "overrode": overrode });
        self.tell(turn, kind::LOCK_RELEASED, &lock.name, &lock.id, data);
        self.locks[at].ended = Some((turn.now, how));
        self.freed = true;
        Ok(json!({ "holds": [self.lock_shape(at, "gone", turn.now)] }))
    }

    /// A lock as JSON.
    pub(super) fn lock_shape(&self, at: usize, liveness: &str, now: i64) -> Value {
        let lock = &self.locks[at];
        let state = if lock.place.is_empty() { "live" } else { "offered" };
        let until = lock.ended.map_or(lock.expires_at.min(now + lock.ttl), |(ended, _)| lock.expires_at.min(ended));
        json!({
            "id": lock.id, "kind": "name", "subject": lock.name, "holder": lock.holder, "fence": lock.fence,
            "mode": "exclusive", "reason": lock.reason, "granted_at": Time(lock.granted_at), "expires_at": Time(until),
            "expires_in_s": ((until - now) / SECOND).max(0), "ttl_s": lock.ttl / SECOND,
            "state": lock.ended.map_or(state, |(_, how)| how), "liveness": liveness,
        })
    }

    /// A lock in the form shown to the blocked agent.
    pub(super) fn lock_blocker(&self, at: usize, now: i64) -> Value {
        let lock = &self.locks[at];
        json!({
            "id": lock.id, "state": "held", "holder": lock.holder, "pattern": null, "mode": "exclusive",
            "reason": lock.reason, "age_s": ((now - lock.granted_at) / SECOND).max(0),
            "expires_in_s": ((lock.expires_at.min(now + lock.ttl) - now) / SECOND).max(0),
            "last_seen_s": ((now - self.agents[&lock.holder].last_seen) / SECOND).max(0),
            "liveness": self.there(&lock.holder, lock.ttl, now), "place": null,
        })
    }

    /// The locks that are live at `now`.
    pub fn live_locks(&self, now: i64) -> impl Iterator<Item = (usize, &Lock)> {
        self.locks.iter().enumerate().filter(move |(_, lock)| lock.ended.is_none() && now < lock.expires_at)
    }
}

/// A lock without a holder, to be filled in.
fn empty(name: &str, now: i64, ttl: i64) -> Lock {
    Lock {
        id: String::new(),
        name: name.to_owned(),
        holder: String::new(),
        fence: 0,
        granted_at: now,
        expires_at: now + ttl,
        ttl,
        reason: String::new(),
        runner: false,
        place: String::new(),
        ended: None,
    }
}
