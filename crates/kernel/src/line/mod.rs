//! The waiting line: loading it, deciding a request by it, and serving it.
//!
//! Nothing here is asked for while nobody waits: the project's row counts the places.

mod place;
mod view;

use tenure_core::hold::{Mode, lapsed};
use tenure_core::line::{Held, Line, NO_TICKET, Thing, Waiter};
use tenure_core::pattern::{Case, Pattern};
use tenure_core::reserve::{self, Step, Wanted};
use tenure_core::{Result, Span, Time};
use tenure_store::Tx;
use tenure_store::error::corrupt;
use tenure_store::table::place::{self as table, State};
use tenure_store::table::{hold, lock, project};

pub(crate) use self::place::{Asking, leave, leave_all, serve, settle, take, wait};
pub(crate) use self::view::shown;
use crate::{locks, paths};

/// What the line is looked at with.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub(crate) project: &'a project::Row,
    pub(crate) now: Time,
    /// Agents that are proven dead: they hold nothing and wait for nothing.
    pub(crate) dead: &'a [String],
}

impl Sight<'_> {
    /// Whether a place is over: its time has passed, or its agent is dead.
    fn is_over(&self, agent: &str, expires_at: Time) -> bool {
        lapsed(self.now, expires_at) || self.dead.iter().any(|dead| dead == agent)
    }

    /// The same of a hold. One that goes on without its holder does.
    fn has_ended(&self, row: &hold::Row) -> bool {
        let died = self.dead.contains(&row.holder) && !locks::outlives_holder(row);
        died || lapsed(self.now, row.expires_at)
    }
}

/// The line as it is now.
pub(crate) struct Loaded {
    /// Live places whose agents wait, by ticket: those of `line`.
    pub(crate) waiting: Vec<table::Row>,
    /// Live places that have an offer.
    pub(crate) offered: Vec<table::Row>,
    /// Live holds that may concern them, and the request: those of `line`.
    pub(crate) holds: Vec<hold::Row>,
    /// Holds that are over and not ended yet.
    over: Vec<hold::Row>,
    pub(crate) line: Line,
}

/// Loads the line, with what is around a request.
pub(crate) fn load(tx: &mut dyn Tx, sight: &Sight<'_>, request: Option<&Want<'_>>) -> Result<Loaded> {
    let (sql, args) = table::line_call(&sight.project.id);
    let mut places = table::many(tx.query(sql, &args)?)?;
    places.retain(|place| !sight.is_over(&place.agent, place.expires_at));
    let things = places.iter().map(thing).collect::<Result<Vec<_>>>()?;
    let mut around = Around::default();
    for thing in &things {
        match thing {
            Thing::Paths { checkout, patterns, .. } => around.paths(tx, sight, checkout, patterns)?,
            Thing::Name(name) => around.names.push(name.clone()),
        }
    }
    match request {
        Some(Want::Paths(wanted)) => around.paths(tx, sight, wanted.checkout, wanted.patterns)?,
        Some(Want::Name { name, .. }) => around.names.push((*name).to_owned()),
        None => {}
    }
    let (over, holds): (Vec<_>, Vec<_>) = around.load(tx, sight)?.into_iter().partition(|row| sight.has_ended(row));
    let held = holds.iter().map(held).collect::<Result<Vec<_>>>()?;
    let (mut waiting, mut offered, mut waiters) = (Vec::new(), Vec::new(), Vec::new());
    for (place, thing) in places.into_iter().zip(things) {
        if place.state == State::Offered {
            offered.push(place);
        } else {
            waiters.push(Waiter { agent: place.agent.clone(), ticket: place.ticket, thing });
            waiting.push(place);
        }
    }
    Ok(Loaded { waiting, offered, holds, over, line: Line::new(held, waiters) })
}

/// What holds are looked for.
#[derive(Default)]
struct Around {
    patterns: Vec<Pattern>,
    checkouts: Vec<String>,
    names: Vec<String>,
}

impl Around {
    fn paths(&mut self, tx: &mut dyn Tx, sight: &Sight<'_>, checkout: &str, patterns: &[Pattern]) -> Result<()> {
        self.patterns.extend(patterns.iter().cloned());
        if !self.checkouts.iter().any(|known| known == checkout) || checkout.is_empty() {
            self.checkouts.extend(paths::scope(tx, &sight.project.id, checkout)?);
        }
        Ok(())
    }

    /// The holds that have not been ended, lapsed or not.
    fn load(mut self, tx: &mut dyn Tx, sight: &Sight<'_>) -> Result<Vec<hold::Row>> {
        let mut found = Vec::new();
        self.checkouts.sort();
        self.checkouts.dedup();
        if !self.patterns.is_empty() {
            found = paths::candidates(tx, &sight.project.id, &self.checkouts, &self.patterns)?;
        }
        self.names.sort();
        self.names.dedup();
        if !self.names.is_empty() {
            let calls = self.names.iter().map(|name| lock::live_call(&sight.project.id, name)).collect();
            for rows in tx.query_all(calls)? {
                found.extend(hold::many(rows)?);
            }
        }
        Ok(found)
    }
}

/// What a place is for.
fn thing(place: &table::Row) -> Result<Thing> {
    if place.kind == hold::NAME {
        return Ok(Thing::Name(place.wanted.concat()));
    }
    let case = if place.folded { Case::Folded } else { Case::Kept };
    let read = |text: &String| {
        Pattern::parse(text, case)
            .map_err(|error| corrupt(format!("what {} waits for cannot be read", place.id)).cause(error))
    };
    let patterns = place.wanted.iter().map(read).collect::<Result<Vec<_>>>()?;
    Ok(Thing::Paths { checkout: place.checkout.clone(), mode: place.mode, patterns })
}

/// A hold as the line sees it.
fn held(row: &hold::Row) -> Result<Held> {
    if row.is_name() {
        return Ok(Held { holder: row.holder.clone(), thing: Thing::Name(row.subject.clone()) });
    }
    let patterns = vec![paths::pattern(row)?];
    let thing = Thing::Paths { checkout: row.checkout.clone(), mode: row.mode, patterns };
    Ok(Held { holder: row.holder.clone(), thing })
}

/// What stands in the way of a request.
#[derive(Default)]
pub(crate) struct InTheWay {
    /// Holds of others.
    pub(crate) holds: Vec<hold::Row>,
    /// Places of others, each with its number in the line.
    pub(crate) places: Vec<(table::Row, i64)>,
    /// The place that the same request has already.
    pub(crate) own: Option<table::Row>,
    /// The agents that would wait for each other in a circle if the request waited too.
    pub(crate) circle: Option<Vec<String>>,
    /// The number that the request has or would have.
    pub(crate) number: i64,
}

/// Decides a request for paths by the live holds around it and by the line: a step for each pattern, or everything that
/// stands in the way. Everybody who grants paths asks here, so that nobody passes those who wait.
pub(crate) fn decide(
    tx: &mut dyn Tx,
    sight: &Sight<'_>,
    wanted: &Wanted<'_>,
    live: &[hold::Row],
) -> Result<Result<Vec<Step>, InTheWay>> {
    let held = live.iter().map(paths::held).collect::<Result<Vec<_>>>()?;
    let by_holds = reserve::decide(wanted, &held);
    let asked: Vec<Pattern> = match &by_holds {
        Ok(steps) => wanted.asked(steps, &held),
        Err(_) => wanted.patterns.to_vec(),
    };
    if sight.project.waiting == 0 || asked.is_empty() {
        return Ok(by_holds.map_err(|these| InTheWay { holds: pick(live, &these), number: 1, ..InTheWay::default() }));
    }
    let thing = Thing::Paths { checkout: wanted.checkout.to_owned(), mode: wanted.mode, patterns: asked };
    let these = match by_holds {
        Ok(steps) => (pick(live, &[]), Some(steps)),
        Err(these) => (pick(live, &these), None),
    };
    let in_the_way = in_line(tx, sight, &Want::Paths(*wanted), thing, these.0)?;
    match these.1 {
        Some(steps) if in_the_way.places.is_empty() => Ok(Ok(steps)),
        _ => Ok(Err(in_the_way)),
    }
}

/// Decides a request for a named lock: whether anything stands in its way.
pub(crate) fn decide_name(
    tx: &mut dyn Tx,
    sight: &Sight<'_>,
    (agent, name): (&str, &str),
    live: Option<&hold::Row>,
) -> Result<Option<InTheWay>> {
    let holds: Vec<hold::Row> = live.into_iter().cloned().collect();
    let in_the_way = match sight.project.waiting {
        0 => InTheWay { holds, number: 1, ..InTheWay::default() },
        _ => in_line(tx, sight, &Want::Name { agent, name }, Thing::Name(name.to_owned()), holds)?,
    };
    Ok(Some(in_the_way).filter(|way| !(way.holds.is_empty() && way.places.is_empty())))
}

/// What stands in the way of a request besides some holds: those who wait before it.
fn in_line(
    tx: &mut dyn Tx,
    sight: &Sight<'_>,
    want: &Want<'_>,
    thing: Thing,
    holds: Vec<hold::Row>,
) -> Result<InTheWay> {
    let loaded = load(tx, sight, Some(want))?;
    let own = loaded.waiting.iter().find(|place| want.is_of(place)).cloned();
    let ticket = own.as_ref().map_or(NO_TICKET, |own| own.ticket);
    let request = Waiter { agent: want.agent().to_owned(), ticket, thing };
    let number = |at: &usize| (loaded.waiting[*at].clone(), loaded.line.number(&loaded.line.places()[*at]));
    Ok(InTheWay {
        holds,
        places: loaded.line.blocked(&request).places.iter().map(number).collect(),
        own,
        circle: loaded.line.circle(&request),
        number: loaded.line.number(&request),
    })
}

fn pick(live: &[hold::Row], these: &[usize]) -> Vec<hold::Row> {
    these.iter().map(|at| live[*at].clone()).collect()
}

/// What is asked for, and by whom.
#[derive(Clone, Copy)]
pub(crate) enum Want<'a> {
    /// Paths.
    Paths(Wanted<'a>),
    /// A named lock.
    Name {
        /// By whom.
        agent: &'a str,
        /// The name.
        name: &'a str,
    },
}

impl Want<'_> {
    fn agent(&self) -> &str {
        match self {
            Want::Paths(wanted) => wanted.agent,
            Want::Name { agent, .. } => agent,
        }
    }

    /// A place for it, not queued yet.
    fn place(&self) -> table::Row {
        let (kind, mode, checkout, folded, mut wanted) = match self {
            Want::Paths(wanted) => (
                hold::PATH,
                wanted.mode,
                wanted.checkout,
                wanted.patterns.iter().any(|pattern| pattern.case() == Case::Folded),
                wanted.patterns.iter().map(|pattern| pattern.text().to_owned()).collect(),
            ),
            Want::Name { name, .. } => (hold::NAME, Mode::Exclusive, "", false, vec![(*name).to_owned()]),
        };
        wanted.sort();
        table::Row {
            id: String::new(),
            ticket: 0,
            agent: self.agent().to_owned(),
            kind: kind.to_owned(),
            mode,
            checkout: checkout.to_owned(),
            folded,
            wanted,
            reason: String::new(),
            queued_at: Time(0),
            expires_at: Time(0),
            ttl: Span(0),
            offer_ttl: Span(0),
            state: State::Waiting,
        }
    }

    /// Whether a place is for just this: the same things, in the same checkout and mode, for the same agent.
    fn is_of(&self, place: &table::Row) -> bool {
        let own = self.place();
        let key = |row: &table::Row| (row.kind.clone(), row.mode, row.checkout.clone(), row.folded);
        own.agent == place.agent && own.wanted == place.wanted && key(&own) == key(place)
    }
}
