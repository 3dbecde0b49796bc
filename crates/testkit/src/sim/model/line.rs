//! The model of the waiting line, written from the contract: which requests block which, which place is served when a
//! hold ends, and which request would close a cycle.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tenure_core::event::kind;

use super::files::{covers, overlap};
use super::locks::Lock;
use super::paths::{PathHold, Want, meet};
use super::{Model, Refusal, SECOND, Turn};

/// The lifetime of a place after its last renewal.
const PLACE: i64 = 120 * SECOND;
/// The lifetime of an offer.
pub(super) const OFFER: i64 = 60 * SECOND;

/// A place in the waiting line.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Place {
    pub id: String,
    /// The number of the event that created the place.
    pub ticket: i64,
    pub agent: String,
    /// Whether the place is for a named lock.
    pub name: bool,
    pub checkout: String,
    pub shared: bool,
    /// The patterns in normal form, sorted.
    pub wanted: Vec<String>,
    pub reason: String,
    pub queued_at: i64,
    pub expires_at: i64,
    pub ttl: i64,
    /// Whether the wanted set is currently offered to the agent.
    pub offered: bool,
}

/// A held or wanted resource: a named lock, or patterns in a checkout with a mode.
#[derive(Clone, Copy)]
pub(super) struct Thing<'a> {
    name: bool,
    checkout: &'a str,
    shared: bool,
    patterns: &'a [String],
}

impl<'a> Thing<'a> {
    pub(super) fn named(name: &'a [String]) -> Thing<'a> {
        Thing { name: true, checkout: "", shared: false, patterns: name }
    }

    pub(super) fn paths(checkout: &'a str, shared: bool, patterns: &'a [String]) -> Thing<'a> {
        Thing { name: false, checkout, shared, patterns }
    }
}

impl Place {
    fn thing(&self) -> Thing<'_> {
        Thing { name: self.name, checkout: &self.checkout, shared: self.shared, patterns: &self.wanted }
    }
}

fn clash(one: &Thing<'_>, other: &Thing<'_>) -> bool {
    if one.name || other.name {
        return one.name && other.name && one.patterns == other.patterns;
    }
    let common = |pattern: &String| other.patterns.iter().any(|its| overlap(pattern, its));
    !(one.shared && other.shared) && meet(one.checkout, other.checkout) && one.patterns.iter().any(common)
}

/// Whether a place belongs to the same request.
fn is_same(place: &Place, agent: &str, thing: &Thing<'_>) -> bool {
    let mut wanted = thing.patterns.to_vec();
    wanted.sort();
    let kind = place.name == thing.name && place.shared == thing.shared;
    kind && place.agent == agent && place.checkout == thing.checkout && place.wanted == wanted
}

/// The wait graph: for each agent, the agents it waits for.
type Ways = BTreeMap<String, BTreeSet<String>>;

fn reaches(ways: &Ways, from: &str, to: &str) -> bool {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut next: Vec<&str> = vec![from];
    while let Some(at) = next.pop() {
        for other in ways.get(at).into_iter().flatten() {
            if other == to {
                return true;
            }
            if seen.insert(other) {
                next.push(other);
            }
        }
    }
    false
}

/// The holds and places that block a request.
#[derive(Default)]
pub(super) struct Ahead {
    /// Blocking holds, as indexes into the list of all holds.
    pub(super) holds: Vec<usize>,
    /// Blocking places, as indexes, each with its position in the line.
    pub(super) places: Vec<(usize, i64)>,
    /// The position that the request has or would have.
    number: i64,
    /// The existing place of the same request.
    own: Option<usize>,
}

impl Ahead {
    pub(super) fn is_free(&self) -> bool {
        self.holds.is_empty() && self.places.is_empty()
    }
}

impl Model {
    /// The unexpired places that are waiting, in ticket order.
    fn waiting(&self, now: i64, dead: &[String]) -> Vec<usize> {
        let counts = |at: &usize| {
            let place = &self.places[*at];
            !place.offered && now < place.expires_at && !dead.contains(&place.agent)
        };
        (0..self.places.len()).filter(counts).collect()
    }

    /// The holders of conflicting resources: other agents, and for a lock also the requesting agent.
    fn held_from(&self, agent: &str, thing: &Thing<'_>, now: i64, dead: &[String]) -> Vec<String> {
        let in_the_way = |path: &&PathHold| {
            let its = Thing::paths(&path.checkout, path.shared, std::slice::from_ref(&path.pattern));
            self.counts(path, now) && path.holder != agent && !dead.contains(&path.holder) && clash(&its, thing)
        };
        let paths = self.paths.iter().filter(in_the_way).map(|path| path.holder.clone());
        let locks = self.live_locks(now).filter(|(_, lock)| {
            !lock.is_over(now, dead) && clash(&Thing::named(std::slice::from_ref(&lock.name)), thing)
        });
        paths.chain(locks.map(|(_, lock)| lock.holder.clone())).collect()
    }

    /// The edges of the wait graph that lead to holders.
    fn for_holders(&self, now: i64, dead: &[String]) -> Ways {
        let mut ways = Ways::new();
        for at in self.waiting(now, dead) {
            let place = &self.places[at];
            let holders = self.held_from(&place.agent, &place.thing(), now, dead);
            // An agent that waits for its own lock closes no cycle: another process of the same agent holds it.
            let holders = holders.into_iter().filter(|holder| *holder != place.agent);
            ways.entry(place.agent.clone()).or_default().extend(holders);
        }
        ways
    }

    /// Adds the edges to agents with an earlier conflicting place, except to an earlier agent that itself waits for
    /// holds of the later one.
    fn for_all(&self, holders: &Ways, now: i64, dead: &[String]) -> Ways {
        let mut ways = holders.clone();
        let waiting = self.waiting(now, dead);
        for (nth, at) in waiting.iter().enumerate() {
            for earlier in &waiting[..nth] {
                let (later, first) = (&self.places[*at], &self.places[*earlier]);
                let clashes = later.agent != first.agent && clash(&later.thing(), &first.thing());
                if clashes && !reaches(holders, &first.agent, &later.agent) {
                    ways.entry(later.agent.clone()).or_default().insert(first.agent.clone());
                }
            }
        }
        ways
    }

    /// The waiting requests of others that a request may not pass: conflicting earlier ones, except those of agents
    /// that wait, directly or transitively, for the requester. A request also may not receive a hold that would make
    /// the agents it waits for wait for it: that would close a cycle of holds.
    fn before(&self, agent: &str, ticket: i64, thing: &Thing<'_>, now: i64, dead: &[String]) -> Vec<usize> {
        let holders = self.for_holders(now, dead);
        let all = self.for_all(&holders, now, dead);
        let first = |at: &usize| {
            let place = &self.places[*at];
            let earlier = place.ticket < ticket && !reaches(&all, &place.agent, agent);
            place.agent != agent && clash(&place.thing(), thing) && (earlier || reaches(&holders, agent, &place.agent))
        };
        self.waiting(now, dead).into_iter().filter(first).collect()
    }

    /// The position of a request: one more than the number of conflicting earlier places of other agents.
    fn number(&self, agent: &str, ticket: i64, thing: &Thing<'_>, now: i64, dead: &[String]) -> i64 {
        let ahead = |at: &usize| {
            let place = &self.places[*at];
            place.ticket < ticket && place.agent != agent && clash(&place.thing(), thing)
        };
        1 + i64::try_from(self.waiting(now, dead).iter().filter(|at| ahead(at)).count()).unwrap()
    }

    /// All holds and places that block a request.
    pub(super) fn ahead(&self, want: &Want<'_>, patterns: &[String], now: i64, dead: &[String]) -> Ahead {
        let asked = self.asks_more(want, patterns, now);
        let holds = self.in_the_way(want, &asked, now);
        if asked.is_empty() {
            return Ahead::default();
        }
        let asked = if holds.is_empty() { asked } else { patterns.to_vec() };
        let thing = Thing::paths(want.checkout, want.shared, &asked);
        let whole = Thing::paths(want.checkout, want.shared, patterns);
        Ahead { holds, ..self.ahead_in_line(want.agent, (&thing, &whole), now, dead) }
    }

    /// The places that block a resource, which is a whole request or a part of it.
    pub(super) fn ahead_in_line(
        &self,
        agent: &str,
        (thing, whole): (&Thing<'_>, &Thing<'_>),
        now: i64,
        dead: &[String],
    ) -> Ahead {
        let own = self.waiting(now, dead).into_iter().find(|at| is_same(&self.places[*at], agent, whole));
        let ticket = own.map_or(i64::MAX, |at| self.places[at].ticket);
        let number = |at: usize| {
            let place = &self.places[at];
            (at, self.number(&place.agent, place.ticket, &place.thing(), now, dead))
        };
        Ahead {
            holds: Vec::new(),
            places: self.before(agent, ticket, thing, now, dead).into_iter().map(number).collect(),
            number: self.number(agent, ticket, thing, now, dead),
            own,
        }
    }

    /// Whether waiting for the blocking holds would close a cycle.
    fn is_circle(&self, agent: &str, thing: &Thing<'_>, now: i64, dead: &[String]) -> bool {
        let ways = self.for_holders(now, dead);
        let holders = self.held_from(agent, thing, now, dead);
        holders.into_iter().any(|holder| holder != agent && reaches(&ways, &holder, agent))
    }

    /// Enters the line, or renews the place of the same request.
    pub(super) fn wait(
        &mut self,
        turn: &mut Turn<'_>,
        reason: &str,
        thing: &Thing<'_>,
        (ahead, mut blockers): (&Ahead, Vec<Value>),
    ) -> Result<Value, Refusal> {
        if self.is_circle(turn.actor, thing, turn.now, turn.dead) {
            return Err(("conflict", "waits_in_circle"));
        }
        let at = match ahead.own {
            Some(at) => {
                let place = &mut self.places[at];
                place.expires_at = turn.now + PLACE;
                if !reason.is_empty() {
                    reason.clone_into(&mut place.reason);
                }
                at
            }
            None => self.queue(turn, thing, reason),
        };
        let total = blockers.len();
        blockers.truncate(50);
        Ok(json!({
            "holds": [], "waiting": true, "place": ahead.number, "id": self.places[at].id, "expires_in_s": PLACE / SECOND,
            "blockers": blockers, "total": total,
        }))
    }

    /// The blocking holds and places, in the form shown to the blocked agent.
    pub(super) fn named(&self, ahead: &Ahead, now: i64) -> Vec<Value> {
        let holds = ahead.holds.iter().map(|at| self.blocker(*at, now));
        holds.chain(self.named_places(ahead, now)).collect()
    }

    /// The blocking places, in the same form.
    pub(super) fn named_places(&self, ahead: &Ahead, now: i64) -> Vec<Value> {
        let places = ahead.places.iter().map(|(at, number)| {
            let place = &self.places[*at];
            json!({
                "id": place.id, "state": "waiting", "holder": place.agent, "pattern": place.wanted[0],
                "mode": if place.shared { "shared" } else { "exclusive" }, "reason": place.reason,
                "age_s": ((now - place.queued_at) / SECOND).max(0),
                "expires_in_s": ((place.expires_at - now) / SECOND).max(0),
                "last_seen_s": ((now - self.agents[&place.agent].last_seen) / SECOND).max(0),
                "liveness": self.there(&place.agent, place.ttl, now), "place": number,
            })
        });
        places.collect()
    }

    fn queue(&mut self, turn: &mut Turn<'_>, thing: &Thing<'_>, reason: &str) -> usize {
        let id = turn.fresh.places.pop_front().unwrap_or_else(|| turn.fresh.invent('w'));
        let mut wanted = thing.patterns.to_vec();
        wanted.sort();
        let kind = if thing.name { "name" } else { "path" };
        let data = json!({ "agent": turn.actor, "kind": kind, "wanted": wanted, "checkout": thing.checkout });
        let ticket = self.tell(turn, kind::PLACE_QUEUED, &id, "", data);
        self.places.push(Place {
            id,
            ticket,
            agent: turn.actor.to_owned(),
            name: thing.name,
            checkout: thing.checkout.to_owned(),
            shared: thing.shared,
            wanted,
            reason: reason.to_owned(),
            queued_at: turn.now,
            expires_at: turn.now + PLACE,
            ttl: PLACE,
            offered: false,
        });
        self.freed = true;
        self.places.len() - 1
    }

    fn drop_place(&mut self, id: &str) {
        self.places.retain(|place| place.id != id);
        self.freed = true;
    }

    /// Ends expired places and the places of agents proven dead.
    pub(super) fn settle_places(&mut self, turn: &Turn<'_>) {
        let mut due: Vec<(i64, String)> = self
            .places
            .iter()
            .filter(|place| turn.now >= place.expires_at)
            .map(|place| (place.expires_at, place.id.clone()))
            .collect();
        due.sort();
        let mut over: Vec<String> = due.into_iter().map(|(_, id)| id).collect();
        for agent in turn.dead.iter().filter(|agent| self.agents.contains_key(*agent)) {
            let of = |place: &&Place| place.agent == *agent && !over.contains(&place.id);
            let mut ids: Vec<String> = self.places.iter().filter(of).map(|place| place.id.clone()).collect();
            ids.sort();
            over.extend(ids);
        }
        for id in over {
            let place = self.places.iter().find(|place| place.id == id).expect("one that is due").clone();
            if !place.offered {
                let mut data = json!({ "agent": place.agent, "wanted": place.wanted });
                if turn.now < place.expires_at {
                    data["proven_dead"] = json!(true);
                }
                self.tell(turn, kind::PLACE_LAPSED, &id, "", data);
            }
            self.drop_place(&id);
        }
    }

    /// Removes a place and records the event.
    pub(super) fn leave_place(&mut self, turn: &Turn<'_>, id: &str, session_ended: bool) {
        let place = self.places.iter().find(|place| place.id == id).expect("an own place").clone();
        let mut data = json!({ "agent": place.agent, "wanted": place.wanted });
        if session_ended {
            data["session_ended"] = json!(true);
        }
        self.tell(turn, kind::PLACE_LEFT, id, "", data);
        self.drop_place(id);
    }

    /// Removes all places of the actor when its session ends.
    pub(super) fn leave_line(&mut self, turn: &Turn<'_>) {
        let own = self.places.iter().filter(|place| place.agent == turn.actor);
        let mut own: Vec<(String, bool)> = own.map(|place| (place.id.clone(), place.offered)).collect();
        own.sort();
        for (id, offered) in own {
            if offered {
                self.drop_place(&id);
            } else {
                self.leave_place(turn, &id, true);
            }
        }
    }

    /// The actor's places of which a released pattern covers a part: without that part the agent does not want the rest
    /// either.
    pub(super) fn places_within(&self, turn: &Turn<'_>, pattern: &str) -> Vec<String> {
        let own = |place: &&Place| {
            place.agent == turn.actor
                && !place.offered
                && !place.name
                && meet(&place.checkout, &turn.checkout)
                && place.wanted.iter().any(|wanted| covers(pattern, wanted))
        };
        let mut ids: Vec<String> = self.places.iter().filter(own).map(|place| place.id.clone()).collect();
        ids.sort();
        ids
    }

    /// Removes the place of a request that was granted.
    pub(super) fn waits_no_longer(&mut self, agent: &str, thing: &Thing<'_>) {
        let same = |place: &&Place| is_same(place, agent, thing);
        for id in self.places.iter().filter(same).map(|place| place.id.clone()).collect::<Vec<_>>() {
            self.drop_place(&id);
        }
    }

    /// Visits the places in ticket order and makes an offer to each whose whole set is free.
    pub(super) fn serve(&mut self, turn: &mut Turn<'_>) {
        if !std::mem::take(&mut self.freed) || self.places.is_empty() {
            return;
        }
        self.end_what_is_waited_for(turn);
        let paths = self.paths.iter().filter(|path| path.ended.is_none()).map(|path| path.place.clone());
        let locks = self.locks.iter().filter(|lock| lock.ended.is_none()).map(|lock| lock.place.clone());
        let live: Vec<String> = paths.chain(locks).collect();
        self.places.retain(|place| !place.offered || live.contains(&place.id) || turn.now >= place.expires_at);
        loop {
            let free = |at: &usize| {
                let place = &self.places[*at];
                self.held_from(&place.agent, &place.thing(), turn.now, turn.dead).is_empty()
                    && self.before(&place.agent, place.ticket, &place.thing(), turn.now, turn.dead).is_empty()
            };
            let Some(at) = self.waiting(turn.now, turn.dead).into_iter().find(free) else { break };
            self.offer(turn, at);
        }
        self.freed = false;
    }

    /// Ends expired holds that block a waiting request, before any offer is made.
    fn end_what_is_waited_for(&mut self, turn: &Turn<'_>) {
        let waiting = self.waiting(turn.now, turn.dead);
        let over = |path: &PathHold| turn.now >= path.expires_at || turn.dead.contains(&path.holder);
        let wanted = |path: &PathHold| {
            let its = Thing::paths(&path.checkout, path.shared, std::slice::from_ref(&path.pattern));
            waiting.iter().any(|at| clash(&self.places[*at].thing(), &its))
        };
        let due = |at: &usize| {
            let path = &self.paths[*at];
            path.ended.is_none() && over(path) && wanted(path)
        };
        for at in (0..self.paths.len()).filter(due).collect::<Vec<_>>() {
            let why = if turn.dead.contains(&self.paths[at].holder) { "proven_dead" } else { "" };
            self.expire_path(turn, at, why);
        }
        let wanted: Vec<&String> = waiting
            .iter()
            .map(|at| &self.places[*at])
            .filter(|place| place.name)
            .map(|place| &place.wanted[0])
            .collect();
        let due = |(_, lock): &(usize, &Lock)| {
            lock.ended.is_none() && lock.is_over(turn.now, turn.dead) && wanted.contains(&&lock.name)
        };
        let due = self.locks.iter().enumerate().filter(due);
        let mut due: Vec<(String, usize)> = due.map(|(at, lock)| (lock.name.clone(), at)).collect();
        due.sort();
        for (_, at) in due {
            let why = if turn.dead.contains(&self.locks[at].holder) { "proven_dead" } else { "" };
            self.expire_lock(turn, at, why);
        }
    }

    /// Reserves the resources of a place until its agent accepts them or the offer expires.
    fn offer(&mut self, turn: &mut Turn<'_>, at: usize) {
        let place = self.places[at].clone();
        if place.name {
            self.offer_lock(turn, &place);
            (self.places[at].offered, self.places[at].expires_at) = (true, turn.now + OFFER);
            return;
        }
        let want = Want { agent: &place.agent, checkout: &place.checkout, shared: place.shared };
        let mut offered = false;
        for pattern in &place.wanted {
            match self.own(&want, pattern, turn.now) {
                Some(own) => {
                    let same = self.paths[own].pattern == *pattern && self.paths[own].checkout == place.checkout;
                    if same && self.paths[own].shared && !place.shared {
                        self.paths[own].shared = false;
                        let path = self.paths[own].clone();
                        let mode = if path.shared { "shared" } else { "exclusive" };
                        let data = json!({ "holder": path.holder, "mode": mode, "fence": path.fence });
                        self.tell(turn, kind::PATH_CHANGED, pattern, &path.id, data);
                        self.log.last_mut().expect("just told").cause = Some(place.ticket);
                    }
                }
                None => {
                    let path = PathHold {
                        id: String::new(),
                        pattern: pattern.clone(),
                        shared: place.shared,
                        checkout: place.checkout.clone(),
                        holder: place.agent.clone(),
                        fence: 0,
                        granted_at: turn.now,
                        expires_at: turn.now + OFFER,
                        ttl: OFFER,
                        reason: place.reason.clone(),
                        task: String::new(),
                        place: place.id.clone(),
                        ended: None,
                    };
                    self.grant_path(turn, path, (kind::PATH_OFFERED, json!({})));
                    offered = true;
                }
            }
        }
        if offered {
            (self.places[at].offered, self.places[at].expires_at) = (true, turn.now + OFFER);
        } else {
            self.drop_place(&place.id);
        }
    }

    /// Whether a task was ever transferred: its bound holds may then belong to a waiting agent.
    pub fn was_handed_over(&self) -> bool {
        self.log.iter().any(|told| told.kind == kind::HOLD_TRANSFERRED)
    }

    /// The current wait graph: edges to conflicting holders and to agents that are served first.
    pub fn who_waits_for_whom(&self, now: i64) -> BTreeMap<String, BTreeSet<String>> {
        let mut ways = self.for_holders(now, &[]);
        for at in self.waiting(now, &[]) {
            let place = &self.places[at];
            let first = self.before(&place.agent, place.ticket, &place.thing(), now, &[]);
            let first = first.into_iter().map(|other| self.places[other].agent.clone());
            ways.entry(place.agent.clone()).or_default().extend(first);
        }
        ways
    }

    /// The number of waiting places.
    pub fn still_waiting(&self, now: i64) -> usize {
        self.waiting(now, &[]).len()
    }

    /// The waiting places in ticket order, with their positions.
    pub fn in_line(&self, now: i64) -> Vec<Value> {
        let shown = |at: usize| {
            let place = &self.places[at];
            json!([
                place.id,
                place.agent,
                place.wanted,
                self.number(&place.agent, place.ticket, &place.thing(), now, &[])
            ])
        };
        self.waiting(now, &[]).into_iter().map(shown).collect()
    }
}
