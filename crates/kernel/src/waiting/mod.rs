//! The waiting line: loading it, deciding a request by it, and serving it.
//!
//! While no agent waits, nothing here reads the store: the project's row counts the places.

mod load;
mod place;
mod view;

use tenure_core::hold::{HoldKind, Mode, lapsed};
use tenure_core::id::PlaceId;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::pattern::{Case, Pattern};
use tenure_core::reserve::{self, PatternDecision, PatternRequest};
use tenure_core::site::Site;
use tenure_core::waiting::{HoldTarget, NO_TICKET, Waiter};
use tenure_core::{Result, Span, Time};
use tenure_store::Tx;
use tenure_store::table::place::{self as table, PlaceState};
use tenure_store::table::{hold, project};

pub(crate) use self::load::LivePlace;
use self::load::{LoadedLine, load};
pub(crate) use self::place::{WaitRequest, leave, leave_all, serve, settle, take, wait};
pub(crate) use self::view::{shown, turn};
use crate::call::Call;
use crate::paths::Around;
use crate::paths::nested_holds::{Nested, View};
use crate::{locks, paths};

/// The context for reading the line.
#[derive(Clone, Copy)]
pub(crate) struct LineView<'a> {
    pub(crate) project: &'a project::Row,
    pub(crate) now: Time,
    /// The clock as it was read.
    pub(crate) clock: Time,
    /// Agents that are proven dead: they hold nothing and wait for nothing.
    pub(crate) dead: &'a [AgentName],
    pub(crate) call: &'a Call,
    /// Whether a grant may follow from what is read.
    pub(crate) is_write: bool,
}

impl<'a> LineView<'a> {
    /// The context for holds of other checkouts.
    pub(crate) fn view(&self) -> View<'a> {
        View { call: self.call, project: &self.project.id, now: self.now, clock: self.clock, dead: self.dead }
    }

    /// Whether a place is over: it has lapsed, or its agent is dead.
    fn is_over(&self, agent: &AgentName, expires_at: Time) -> bool {
        lapsed(self.now, expires_at) || self.dead.contains(agent)
    }

    /// Whether a hold is over. A lock that outlives its holder is not.
    fn has_ended(&self, row: &hold::Row) -> bool {
        let died = self.dead.contains(&row.holder) && !locks::outlives_holder(row);
        died || lapsed(self.now, row.expires_at)
    }
}

/// What blocks a request.
#[derive(Default)]
pub(crate) struct Obstacles {
    /// Holds of others.
    pub(crate) holds: Vec<hold::Row>,
    /// Holds of others in enclosing and nested checkouts.
    pub(crate) nested: Vec<Nested>,
    /// Places of others, each with its number in the line.
    pub(crate) places: Vec<(LivePlace, i64)>,
    /// The patterns of the request that nothing blocks.
    pub(crate) free: Vec<String>,
    /// The existing place of the same request.
    pub(crate) own: Option<table::Row>,
    /// The agents that would wait for each other in a cycle if the request waited too.
    pub(crate) circle: Option<Vec<AgentName>>,
    /// The number that the request has or would have.
    pub(crate) number: i64,
}

impl Obstacles {
    pub(crate) fn total(&self) -> usize {
        self.holds.len() + self.nested.len() + self.places.len()
    }
}

/// Decides a request for paths by the live holds around it and by the line: a decision for each pattern, or everything
/// that blocks it. All code that grants paths calls this, so that no request overtakes the waiting agents.
pub(crate) fn decide(
    tx: &mut dyn Tx,
    sight: &LineView<'_>,
    wanted: &PatternRequest<'_>,
    around: &Around,
) -> Result<Result<Vec<PatternDecision>, Obstacles>> {
    let held = around.live.iter().map(paths::held).collect::<Result<Vec<_>>>()?;
    let by_holds = reserve::decide(wanted, &held);
    let asked: Vec<Pattern> = match &by_holds {
        Ok(steps) => wanted.asked(steps, &held),
        Err(_) => wanted.patterns.to_vec(),
    };
    let (holds, steps) = match by_holds {
        Ok(steps) => (Vec::new(), Some(steps)),
        Err(these) => (these.iter().map(|at| around.live[*at].clone()).collect::<Vec<_>>(), None),
    };
    let is_new = |one: &&Nested| one.owner.is_some() || holds.iter().all(|row| row.id != one.row.id);
    let blocks = |one: &&Nested| one.blocks((wanted.agent, wanted.mode), &around.site, &asked);
    let nested: Vec<Nested> = around.nested.iter().filter(is_new).filter(blocks).cloned().collect();
    let steps = steps.filter(|_| nested.is_empty());
    let found = Obstacles { holds, nested, number: 1, ..Obstacles::default() };
    let is_waited_for = sight.project.waiting > 0 || around.near.iter().any(|near| near.waiting > 0);
    if !is_waited_for || asked.is_empty() {
        return match steps {
            Some(steps) => Ok(Ok(steps)),
            None => Ok(Err(with_free(found, wanted, &around.site)?)),
        };
    }
    let thing = HoldTarget::Paths { site: around.site.clone(), mode: wanted.mode, patterns: asked };
    let in_the_way = in_line(tx, sight, &Want::Paths(*wanted, &around.site), thing, found)?;
    match steps {
        Some(steps) if in_the_way.places.is_empty() => Ok(Ok(steps)),
        _ => Ok(Err(with_free(in_the_way, wanted, &around.site)?)),
    }
}

/// Adds the patterns that nothing blocks.
fn with_free(found: Obstacles, wanted: &PatternRequest<'_>, site: &Site) -> Result<Obstacles> {
    let held = found.holds.iter().map(paths::held).collect::<Result<Vec<_>>>()?;
    let is_free = |pattern: &&Pattern| {
        let alone = std::slice::from_ref(*pattern);
        let thing = HoldTarget::Paths { site: site.clone(), mode: wanted.mode, patterns: alone.to_vec() };
        !held.iter().any(|held| reserve::blocks(held, wanted, pattern))
            && !found.nested.iter().any(|one| one.blocks((wanted.agent, wanted.mode), site, alone))
            && !found.places.iter().any(|(place, _)| place.thing.conflicts(&thing))
    };
    let free = wanted.patterns.iter().filter(is_free).map(|pattern| pattern.text().to_owned()).collect();
    Ok(Obstacles { free, ..found })
}

/// Decides a request for a named lock: whether anything blocks it.
pub(crate) fn decide_name(
    tx: &mut dyn Tx,
    sight: &LineView<'_>,
    (agent, name): (&AgentName, &str),
    live: Option<&hold::Row>,
) -> Result<Option<Obstacles>> {
    let holds: Vec<hold::Row> = live.into_iter().cloned().collect();
    let found = Obstacles { holds, number: 1, ..Obstacles::default() };
    let in_the_way = match sight.project.waiting {
        0 => found,
        _ => in_line(tx, sight, &Want::Name { agent, name }, HoldTarget::Name(name.to_owned()), found)?,
    };
    Ok(Some(in_the_way).filter(|way| !(way.holds.is_empty() && way.places.is_empty())))
}

/// Adds what blocks a request besides some holds: the agents that wait before it.
fn in_line(
    tx: &mut dyn Tx,
    sight: &LineView<'_>,
    want: &Want<'_>,
    thing: HoldTarget,
    found: Obstacles,
) -> Result<Obstacles> {
    let loaded = load(tx, sight, Some(want))?;
    let own = loaded.waiting.iter().position(|place| place.owner.is_none() && want.is_of(&place.row));
    let ticket = own.map_or(NO_TICKET, |own| loaded.line.places()[own].ticket);
    let request = Waiter { agent: want.agent().into(), ticket, thing };
    let number = |at: &usize| (loaded.waiting[*at].clone(), loaded.line.number(&loaded.line.places()[*at]));
    Ok(Obstacles {
        places: loaded.line.blocked(&request).places.iter().map(number).collect(),
        own: own.map(|own| loaded.waiting[own].row.clone()),
        circle: loaded.line.circle(&request),
        number: loaded.line.number(&request),
        ..found
    })
}

/// What is requested, and by which agent.
#[derive(Clone, Copy)]
pub(crate) enum Want<'a> {
    /// Paths and their location.
    Paths(PatternRequest<'a>, &'a Site),
    /// A named lock.
    Name {
        /// The agent that wants it.
        agent: &'a AgentName,
        name: &'a str,
    },
}

impl Want<'_> {
    fn agent(&self) -> &str {
        match self {
            Want::Paths(wanted, _) => wanted.agent,
            Want::Name { agent, .. } => agent,
        }
    }

    /// A new place for it, not queued yet.
    fn place(&self) -> table::Row {
        let (kind, mode, checkout, folded, mut wanted) = match self {
            Want::Paths(wanted, _) => (
                HoldKind::Path,
                wanted.mode,
                wanted.checkout,
                wanted.patterns.iter().any(|pattern| pattern.case() == Case::Folded),
                wanted.patterns.iter().map(|pattern| pattern.text().to_owned()).collect(),
            ),
            Want::Name { name, .. } => (HoldKind::Name, Mode::Exclusive, None, false, vec![(*name).to_owned()]),
        };
        wanted.sort();
        table::Row {
            id: PlaceId::default(),
            ticket: EventNumber::START,
            agent: self.agent().into(),
            kind,
            mode,
            checkout: checkout.cloned(),
            folded,
            wanted,
            reason: String::new(),
            queued_at: Time(0),
            expires_at: Time(0),
            ttl: Span(0),
            offer_ttl: Span(0),
            state: PlaceState::Waiting,
        }
    }

    /// Whether a place is for exactly this: the same targets, in the same checkout and mode, for the same agent.
    fn is_of(&self, place: &table::Row) -> bool {
        let own = self.place();
        let key = |row: &table::Row| (row.kind, row.mode, row.checkout.clone(), row.folded);
        own.agent == place.agent && own.wanted == place.wanted && key(&own) == key(place)
    }
}
