//! The waiting line: which requests are blocked, which would close a cycle, and which place is served next.
//!
//! A request is blocked by conflicting holds of other agents, and by conflicting earlier places of other agents. Places
//! of agents that wait, directly or indirectly, for the requester are excepted, because they cannot proceed before it
//! does. If one of two agents waits for something that the other *holds*, the other goes first whatever their tickets
//! are. Otherwise a grant to the first could close a cycle of holds that no waiting resolves.
//!
//! Why no agent waits forever: call an edge from a waiter to the holder of what it wants *hard*, and an edge to an
//! earlier conflicting place *soft*. A newcomer that would close a cycle of hard edges is refused, and no grant closes
//! one. In a cycle with a soft edge whose ends are not also connected by hard edges, that edge is excepted, because its
//! end waits for its beginning. If all soft edges were connected by hard ones, there would be a cycle of hard edges. So
//! the remaining graph has no cycle, and some agent can always proceed. This stops being true if holds move to a
//! waiting agent (by a transfer of a task): then the next renewal of a place in the cycle is refused.

use std::collections::{BTreeMap, BTreeSet};

use crate::hold::Mode;
use crate::name::AgentName;
use crate::pattern::Pattern;
use crate::site::Site;
use crate::time::Span;

/// The default time to live of a place after its last renewal.
pub const PLACE_TTL: Span = Span::minutes(2);
/// The default time to live of an offer.
pub const OFFER_TTL: Span = Span::seconds(60);
/// The default time that one call waits at most.
pub const CALL: Span = Span::seconds(90);
/// The most places of a project.
pub const PLACES_PROJECT: i64 = 256;
/// The most places of one agent.
pub const PLACES_AGENT: usize = 16;
/// The ticket of a request without a place: every place in the line precedes it.
pub const NO_TICKET: i64 = i64::MAX;

/// A thing that is held or wanted. The kinds never conflict with each other.
#[derive(Clone, Debug)]
pub enum HoldTarget {
    /// Files of a checkout.
    Paths {
        /// The checkouts.
        site: Site,
        /// Exclusive or shared.
        mode: Mode,
        /// The files.
        patterns: Vec<Pattern>,
    },
    /// A named lock.
    Name(String),
}

impl HoldTarget {
    /// Whether two agents cannot hold both at once.
    pub fn conflicts(&self, other: &HoldTarget) -> bool {
        match (self, other) {
            (
                HoldTarget::Paths { site, mode, patterns },
                HoldTarget::Paths { site: there, mode: how, patterns: those },
            ) => {
                (*mode == Mode::Exclusive || *how == Mode::Exclusive)
                    && patterns.iter().any(|one| those.iter().any(|other| site.overlap(one, there, other).is_some()))
            }
            (HoldTarget::Name(one), HoldTarget::Name(other)) => one == other,
            _ => false,
        }
    }

    /// Whether an agent's own hold blocks it: a named lock is not re-entrant by identity.
    fn excludes_own(&self) -> bool {
        matches!(self, HoldTarget::Name(_))
    }
}

/// A live hold.
#[derive(Clone, Debug)]
pub struct LiveHold {
    /// The holder.
    pub holder: AgentName,
    /// The thing that is held.
    pub thing: HoldTarget,
}

/// A live place in the line, or a request that asks for one.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// The agent that waits.
    pub agent: AgentName,
    /// Its position in the order of all places; [`NO_TICKET`] for a request without a place.
    pub ticket: i64,
    /// The things it waits for, all at once.
    pub thing: HoldTarget,
}

/// The blockers of a request: indices into the holds and the places of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// Indices of blocking holds.
    pub holds: Vec<usize>,
    /// Indices of blocking places.
    pub places: Vec<usize>,
}

impl Blocked {
    /// Whether nothing blocks the request.
    pub fn is_free(&self) -> bool {
        self.holds.is_empty() && self.places.is_empty()
    }
}

/// All holders and waiters that are relevant to the waiters.
#[derive(Clone, Debug)]
pub struct WaitingLine {
    holds: Vec<LiveHold>,
    places: Vec<Waiter>,
    /// Which places were served: they count as held.
    served: Vec<bool>,
    /// Which places conflict with each other and with which holds. The test is expensive, so it runs once.
    with_places: Vec<Vec<bool>>,
    with_holds: Vec<Vec<usize>>,
    agents: BTreeMap<AgentName, usize>,
    /// Each agent to the holders of what it waits for, transitively.
    hard: WaitClosure,
    /// The same, including the agents that wait for it earlier.
    all: WaitClosure,
}

impl WaitingLine {
    /// Creates a line of live holds and live places, the places in ticket order.
    pub fn new(holds: Vec<LiveHold>, places: Vec<Waiter>) -> WaitingLine {
        let names = holds.iter().map(|held| &held.holder).chain(places.iter().map(|place| &place.agent));
        let names: BTreeSet<&AgentName> = names.collect();
        let agents: BTreeMap<AgentName, usize> = names.into_iter().cloned().zip(0..).collect();
        let in_the_way = |place: &Waiter| (0..holds.len()).filter(|at| stands(&holds[*at], place)).collect();
        let mut line = WaitingLine {
            with_holds: places.iter().map(in_the_way).collect(),
            with_places: vec![vec![false; places.len()]; places.len()],
            served: vec![false; places.len()],
            hard: WaitClosure::new(agents.len()),
            all: WaitClosure::new(agents.len()),
            agents,
            holds,
            places,
        };
        for one in 0..line.places.len() {
            for other in 0..one {
                let conflicts = line.places[one].thing.conflicts(&line.places[other].thing);
                line.with_places[one][other] = conflicts;
                line.with_places[other][one] = conflicts;
            }
        }
        line.draw();
        line
    }

    fn agent(&self, name: &str) -> Option<usize> {
        self.agents.get(name).copied()
    }

    /// Whether a place still waits and was not served.
    fn waits(&self, at: usize) -> bool {
        !self.served[at]
    }

    /// Computes which agent waits for which.
    fn draw(&mut self) {
        let mut hard = WaitClosure::new(self.agents.len());
        let of = |at: usize| self.agents[&self.places[at].agent];
        let waiting: Vec<usize> = (0..self.places.len()).filter(|at| self.waits(*at)).collect();
        for &at in &waiting {
            for &held in &self.with_holds[at] {
                hard.add(of(at), self.agents[&self.holds[held].holder]);
            }
            for given in (0..self.places.len()).filter(|given| self.served[*given] && self.with_places[at][*given]) {
                hard.add(of(at), of(given));
            }
        }
        hard.close();
        let mut all = hard.clone();
        for &at in &waiting {
            for &earlier in waiting.iter().take_while(|earlier| **earlier < at) {
                if self.with_places[at][earlier] && !hard.get(of(earlier), of(at)) {
                    all.add(of(at), of(earlier));
                }
            }
        }
        all.close();
        (self.hard, self.all) = (hard, all);
    }

    /// The blockers of a request.
    pub fn blocked(&self, request: &Waiter) -> Blocked {
        let me = self.agent(&request.agent);
        let first = |at: &usize| {
            let place = &self.places[*at];
            self.waits(*at) && self.goes_first(*at, me, request.ticket) && place.thing.conflicts(&request.thing)
        };
        Blocked {
            holds: (0..self.holds.len()).filter(|at| stands(&self.holds[*at], request)).collect(),
            places: (0..self.places.len()).filter(first).collect(),
        }
    }

    /// Whether a place precedes a request of an agent, provided they conflict.
    fn goes_first(&self, place: usize, me: Option<usize>, ticket: i64) -> bool {
        let its = self.agents[&self.places[place].agent];
        let earlier = self.places[place].ticket < ticket;
        match me {
            Some(me) if me == its => false,
            Some(me) => self.hard.get(me, its) || (earlier && !self.all.get(its, me)),
            None => earlier,
        }
    }

    /// Whether nothing blocks a place.
    fn is_free(&self, at: usize) -> bool {
        let place = &self.places[at];
        let me = self.agent(&place.agent);
        let given_away = |other: usize| {
            let own = self.places[other].agent == place.agent && !place.thing.excludes_own();
            self.served[other] && !own
        };
        let stands = |other: usize| {
            self.with_places[at][other]
                && (given_away(other) || (self.waits(other) && self.goes_first(other, me, place.ticket)))
        };
        self.with_holds[at].is_empty() && !(0..self.places.len()).any(|other| other != at && stands(other))
    }

    /// The cycle that a request would close if it waited for the holds that block it: agents, each waiting for the
    /// next, from the requester back to itself.
    pub fn circle(&self, request: &Waiter) -> Option<Vec<AgentName>> {
        let me = request.agent.as_str();
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut next: Vec<&str> = Vec::new();
        for held in self.holds.iter().filter(|held| stands(held, request) && held.holder != me) {
            if came_from.insert(&held.holder, me).is_none() {
                next.push(&held.holder);
            }
        }
        // The search is breadth-first, so the cycle is a shortest one.
        let mut at = 0;
        while let Some(one) = next.get(at).copied() {
            at += 1;
            for other in self.held_from(one) {
                if other == me {
                    let mut circle = vec![AgentName::new(me), AgentName::new(one)];
                    let mut last = one;
                    while last != me {
                        last = came_from[last];
                        circle.push(last.into());
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if !came_from.contains_key(other) {
                    came_from.insert(other, one);
                    next.push(other);
                }
            }
        }
        None
    }

    /// The holders of what an agent waits for.
    fn held_from(&self, agent: &str) -> impl Iterator<Item = &str> {
        let places = (0..self.places.len()).filter(move |at| self.waits(*at) && self.places[*at].agent == agent);
        let holders = places.flat_map(|at| self.with_holds[at].iter().map(|held| self.holds[*held].holder.as_str()));
        holders.filter(move |holder| *holder != agent)
    }

    /// The position of a request in the line: one more than the conflicting earlier places of other agents.
    pub fn number(&self, request: &Waiter) -> i64 {
        let ahead = |place: &&Waiter| {
            place.ticket < request.ticket && place.agent != request.agent && place.thing.conflicts(&request.thing)
        };
        1 + i64::try_from(self.places.iter().filter(ahead).count()).unwrap_or(i64::MAX - 1)
    }

    /// The live holds.
    pub fn holds(&self) -> &[LiveHold] {
        &self.holds
    }

    /// The places, including served ones.
    pub fn places(&self) -> &[Waiter] {
        &self.places
    }

    /// Serves the first place in ticket order whose whole set is free; it counts as held from then on. The caller
    /// repeats until no place is left to serve, because each grant changes who waits for whom.
    pub fn serve(&mut self) -> Option<usize> {
        let at = (0..self.places.len()).find(|at| self.waits(*at) && self.is_free(*at))?;
        self.served[at] = true;
        self.draw();
        Some(at)
    }
}

/// Which agent waits for which, transitively: one bit per pair.
#[derive(Clone, Debug)]
struct WaitClosure {
    width: usize,
    bits: Vec<u64>,
}

impl WaitClosure {
    fn new(agents: usize) -> WaitClosure {
        let width = agents.div_ceil(64);
        WaitClosure { width, bits: vec![0; agents * width] }
    }

    fn add(&mut self, from: usize, to: usize) {
        // An agent that waits for its own lock is not a cycle: another of its processes holds it.
        if from != to {
            self.bits[from * self.width + to / 64] |= 1 << (to % 64);
        }
    }

    fn get(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.width + to / 64] & (1 << (to % 64)) != 0
    }

    /// Computes the transitive closure.
    fn close(&mut self) {
        let agents = self.bits.len().checked_div(self.width).unwrap_or(0);
        for over in 0..agents {
            let row: Vec<u64> = self.bits[over * self.width..(over + 1) * self.width].to_vec();
            for from in (0..agents).filter(|from| *from != over) {
                if self.get(from, over) {
                    for (word, more) in self.bits[from * self.width..].iter_mut().zip(&row) {
                        *word |= more;
                    }
                }
            }
        }
    }
}

/// Whether a hold blocks a request.
fn stands(held: &LiveHold, request: &Waiter) -> bool {
    (held.holder != request.agent || request.thing.excludes_own()) && held.thing.conflicts(&request.thing)
}

#[cfg(test)]
mod tests;
