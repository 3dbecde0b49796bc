//! The waiting line: who stands in the way of whom, who waits in a circle, and who is served next.
//!
//! A request is blocked by conflicting holds of others, and by conflicting earlier places of others, except those whose
//! agents wait, directly or not, for the one who asks: they cannot go on before it does. Of two agents of whom one waits
//! for what the other *holds*, the other goes first whatever their tickets are; otherwise what it would be given could
//! close a circle of holds that no waiting undoes.
//!
//! Why nobody waits for ever: call *hard* an edge from a waiter to whoever holds what it wants, *soft* one to whoever has
//! an earlier conflicting place. A newcomer that would close a circle of hard edges is refused, and nothing is granted
//! that would close one. In a circle with a soft edge whose ends are not also joined by hard ones, that edge is excepted,
//! as its end waits for its beginning; if all soft edges were joined by hard ones, there would be a circle of hard edges.
//! So what is left has no circle, and somebody can always go on. This stops being true if holds move to an agent that
//! waits (a task that is handed over): then the next renewal of a place in the circle is refused.

use std::collections::{BTreeMap, BTreeSet};

use crate::hold::Mode;
use crate::name::AgentName;
use crate::pattern::Pattern;
use crate::site::Site;
use crate::time::Span;

/// How long a place is kept after its last renewal, when nothing else is said.
pub const PLACE_TTL: Span = Span::minutes(2);
/// How long an offer is kept, when nothing else is said.
pub const OFFER_TTL: Span = Span::seconds(60);
/// How long one call waits at the most, when nothing else is said.
pub const CALL: Span = Span::seconds(90);
/// Most places of a project.
pub const PLACES_PROJECT: i64 = 256;
/// Most places of one agent.
pub const PLACES_AGENT: usize = 16;
/// The ticket of a request that has no place: everybody in the line came before it.
pub const NO_TICKET: i64 = i64::MAX;

/// What is held or wanted. Kinds never mix.
#[derive(Clone, Debug)]
pub enum HoldTarget {
    /// Files of a checkout.
    Paths {
        /// Where.
        site: Site,
        /// Whether others may have them too.
        mode: Mode,
        /// The files.
        patterns: Vec<Pattern>,
    },
    /// A named lock.
    Name(String),
}

impl HoldTarget {
    /// Whether two agents may not have both at once.
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

    /// Whether an agent's own hold stands in its own way: a named lock is not re-entrant by identity.
    fn excludes_own(&self) -> bool {
        matches!(self, HoldTarget::Name(_))
    }
}

/// A live hold.
#[derive(Clone, Debug)]
pub struct LiveHold {
    /// The agent that has it.
    pub holder: AgentName,
    /// What.
    pub thing: HoldTarget,
}

/// A live place in the line, or a request that asks for one.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// The agent that waits.
    pub agent: AgentName,
    /// Where it stands in the order of all places; [`NO_TICKET`] for a request without a place.
    pub ticket: i64,
    /// What for, all of it at once.
    pub thing: HoldTarget,
}

/// What stands in the way of a request: positions in the holds and in the places of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// Holds.
    pub holds: Vec<usize>,
    /// Places.
    pub places: Vec<usize>,
}

impl Blocked {
    /// Whether nothing does.
    pub fn is_free(&self) -> bool {
        self.holds.is_empty() && self.places.is_empty()
    }
}

/// Everybody who holds or waits, as far as it concerns those who wait.
#[derive(Clone, Debug)]
pub struct WaitingLine {
    holds: Vec<LiveHold>,
    places: Vec<Waiter>,
    /// Which of the places were served: they count as held.
    served: Vec<bool>,
    /// Which places conflict with which, and with which holds: the costly question, asked once.
    with_places: Vec<Vec<bool>>,
    with_holds: Vec<Vec<usize>>,
    agents: BTreeMap<AgentName, usize>,
    /// Agents to those who hold what they wait for, directly or not.
    hard: WaitClosure,
    /// The same, and to those who wait for it before them.
    all: WaitClosure,
}

impl WaitingLine {
    /// A line of live holds and live places, these in the order of their tickets.
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

    /// Whether a place waits: it was not served.
    fn waits(&self, at: usize) -> bool {
        !self.served[at]
    }

    /// Draws who waits for whom.
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

    /// What stands in the way of a request.
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

    /// Whether a place comes before a request of an agent, if they conflict.
    fn goes_first(&self, place: usize, me: Option<usize>, ticket: i64) -> bool {
        let its = self.agents[&self.places[place].agent];
        let earlier = self.places[place].ticket < ticket;
        match me {
            Some(me) if me == its => false,
            Some(me) => self.hard.get(me, its) || (earlier && !self.all.get(its, me)),
            None => earlier,
        }
    }

    /// Whether nothing stands in the way of a place.
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

    /// The circle that a request would close if it waited for the holds in its way: agents, each waiting for the next,
    /// from the one who asks to itself.
    pub fn circle(&self, request: &Waiter) -> Option<Vec<AgentName>> {
        let me = request.agent.as_str();
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut next: Vec<&str> = Vec::new();
        for held in self.holds.iter().filter(|held| stands(held, request) && held.holder != me) {
            if came_from.insert(&held.holder, me).is_none() {
                next.push(&held.holder);
            }
        }
        // Breadth first, so that the circle named is a shortest one.
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

    /// Who holds what an agent waits for.
    fn held_from(&self, agent: &str) -> impl Iterator<Item = &str> {
        let places = (0..self.places.len()).filter(move |at| self.waits(*at) && self.places[*at].agent == agent);
        let holders = places.flat_map(|at| self.with_holds[at].iter().map(|held| self.holds[*held].holder.as_str()));
        holders.filter(move |holder| *holder != agent)
    }

    /// The number that a request has in the line: one more than the conflicting places of others before it.
    pub fn number(&self, request: &Waiter) -> i64 {
        let ahead = |place: &&Waiter| {
            place.ticket < request.ticket && place.agent != request.agent && place.thing.conflicts(&request.thing)
        };
        1 + i64::try_from(self.places.iter().filter(ahead).count()).unwrap_or(i64::MAX - 1)
    }

    /// The holds.
    pub fn holds(&self) -> &[LiveHold] {
        &self.holds
    }

    /// The places, those that were served among them.
    pub fn places(&self) -> &[Waiter] {
        &self.places
    }

    /// Serves the first place, in the order of tickets, of which the whole set is free; it counts as held from here on.
    /// Called until nobody is left to serve: what is given to one changes who waits for whom.
    pub fn serve(&mut self) -> Option<usize> {
        let at = (0..self.places.len()).find(|at| self.waits(*at) && self.is_free(*at))?;
        self.served[at] = true;
        self.draw();
        Some(at)
    }
}

/// Who waits for whom, directly or not: a bit for each pair.
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
        // That an agent waits for its own lock is no circle: another process of it has that.
        if from != to {
            self.bits[from * self.width + to / 64] |= 1 << (to % 64);
        }
    }

    fn get(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.width + to / 64] & (1 << (to % 64)) != 0
    }

    /// Makes the ways of many steps ways of one.
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

/// Whether a hold stands in the way of a request.
fn stands(held: &LiveHold, request: &Waiter) -> bool {
    (held.holder != request.agent || request.thing.excludes_own()) && held.thing.conflicts(&request.thing)
}

#[cfg(test)]
mod tests;
