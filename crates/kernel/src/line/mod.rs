//! The waiting line: loading it, deciding a request by it, and serving it.
//!
//! Nothing here is asked for while nobody waits: the project's row counts the places.

mod place;
mod view;

use tenure_core::hold::{Mode, lapsed};
use tenure_core::line::{Held, Line, NO_TICKET, Thing, Waiter};
use tenure_core::pattern::{Case, Pattern};
use tenure_core::reserve::{self, Step, Wanted};
use tenure_core::{Result, Time};
use tenure_store::Tx;
use tenure_store::error::corrupt;
use tenure_store::table::place::{self as table, State};
use tenure_store::table::{hold, project};

pub(crate) use self::place::{Asking, leave, leave_all, serve, settle, take, wait};
pub(crate) use self::view::shown;
use crate::paths;

/// What the line is looked at with.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub(crate) project: &'a project::Row,
    pub(crate) now: Time,
    /// Agents that are proven dead: they hold nothing and wait for nothing.
    pub(crate) dead: &'a [String],
}

impl Sight<'_> {
    fn is_over(&self, agent: &str, expires_at: Time) -> bool {
        lapsed(self.now, expires_at) || self.dead.iter().any(|dead| dead == agent)
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

/// Loads the line, with what is around a request in a checkout.
pub(crate) fn load(tx: &mut dyn Tx, sight: &Sight<'_>, request: Option<(&str, &[Pattern])>) -> Result<Loaded> {
    let (sql, args) = table::line_call(&sight.project.id);
    let mut places = table::many(tx.query(sql, &args)?)?;
    places.retain(|place| !sight.is_over(&place.agent, place.expires_at));
    let things = places.iter().map(thing).collect::<Result<Vec<_>>>()?;
    let mut patterns: Vec<Pattern> = Vec::new();
    let mut checkouts: Vec<String> = vec![String::new()];
    for thing in &things {
        if let Thing::Paths { checkout, patterns: its, .. } = thing {
            patterns.extend(its.iter().cloned());
            checkouts.extend(paths::scope(tx, &sight.project.id, checkout)?);
        }
    }
    if let Some((here, asked)) = request {
        patterns.extend(asked.iter().cloned());
        checkouts.extend(paths::scope(tx, &sight.project.id, here)?);
    }
    checkouts.sort();
    checkouts.dedup();
    let around = match patterns.as_slice() {
        [] => Vec::new(),
        some => paths::candidates(tx, &sight.project.id, &checkouts, some)?,
    };
    let (over, holds): (Vec<_>, Vec<_>) =
        around.into_iter().partition(|row| sight.is_over(&row.holder, row.expires_at));
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

/// What a place is for.
fn thing(place: &table::Row) -> Result<Thing> {
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
    let loaded = load(tx, sight, Some((wanted.checkout, wanted.patterns)))?;
    let key = Key::of(wanted);
    let own = loaded.waiting.iter().find(|place| key.is_of(wanted.agent, place)).cloned();
    let request = Waiter {
        agent: wanted.agent.to_owned(),
        ticket: own.as_ref().map_or(NO_TICKET, |own| own.ticket),
        thing: Thing::Paths { checkout: wanted.checkout.to_owned(), mode: wanted.mode, patterns: asked },
    };
    let blocked = loaded.line.blocked(&request).places;
    let these = match by_holds {
        Ok(steps) if blocked.is_empty() => return Ok(Ok(steps)),
        Ok(_) => Vec::new(),
        Err(these) => these,
    };
    let number = |at: &usize| (loaded.waiting[*at].clone(), loaded.line.number(&loaded.line.places()[*at]));
    Ok(Err(InTheWay {
        holds: pick(live, &these),
        places: blocked.iter().map(number).collect(),
        own,
        circle: loaded.line.circle(&request),
        number: loaded.line.number(&request),
    }))
}

fn pick(live: &[hold::Row], these: &[usize]) -> Vec<hold::Row> {
    these.iter().map(|at| live[*at].clone()).collect()
}

/// What makes two requests of one agent the same: the same things in the same place and mode.
pub(crate) struct Key<'a> {
    checkout: &'a str,
    mode: Mode,
    folded: bool,
    wanted: Vec<String>,
}

impl<'a> Key<'a> {
    pub(crate) fn of(wanted: &Wanted<'a>) -> Key<'a> {
        let mut texts: Vec<String> = wanted.patterns.iter().map(|pattern| pattern.text().to_owned()).collect();
        texts.sort();
        Key {
            checkout: wanted.checkout,
            mode: wanted.mode,
            folded: wanted.patterns.iter().any(|pattern| pattern.case() == Case::Folded),
            wanted: texts,
        }
    }

    fn is_of(&self, agent: &str, place: &table::Row) -> bool {
        place.agent == agent
            && place.kind == hold::PATH
            && (place.checkout.as_str(), place.mode, place.folded) == (self.checkout, self.mode, self.folded)
            && place.wanted == self.wanted
    }
}
