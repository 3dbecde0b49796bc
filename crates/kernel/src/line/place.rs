//! Places: how they are taken, renewed, served and left.

use serde_json::json;
use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::hold::PathChanged;
use tenure_core::event::place::{Lapsed, Left, LockOffered, Queued};
use tenure_core::hold::{HoldKind, Renewal, lapsed};
use tenure_core::id::{ProjectId, or_empty};
use tenure_core::line::{OFFER_TTL, PLACE_TTL, PLACES_AGENT, PLACES_PROJECT, Thing};
use tenure_core::name::AgentName;
use tenure_core::number::Fence;
use tenure_core::pattern::Pattern;
use tenure_core::reserve::{Step, Wanted, decide};
use tenure_core::site::Site;
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result, Span};
use tenure_store::table::place::{self as table, Row, State};
use tenure_store::table::{hold, path};

use super::load::{Standing, load, thing};
use super::{InTheWay, Want};
use crate::paths::{self, Granting, PathGrant};
use crate::shape;
use crate::unit::{About, Unit};

/// What a request that waits says besides what it wants.
pub(crate) struct Asking<'a> {
    pub(crate) reason: &'a str,
    /// How long a place lives after its last renewal.
    pub(crate) ttl: Span,
    /// How long an offer to it lives.
    pub(crate) offer_ttl: Span,
}

impl<'a> Asking<'a> {
    /// What a request says, in seconds; what it does not say is as usual.
    pub(crate) fn of(reason: &'a str, place_ttl_s: Option<i64>, offer_ttl_s: Option<i64>) -> Asking<'a> {
        Asking {
            reason,
            ttl: place_ttl_s.map_or(PLACE_TTL, Span::seconds),
            offer_ttl: offer_ttl_s.map_or(OFFER_TTL, Span::seconds),
        }
    }
}

fn told(place: &Row) -> Queued {
    Queued {
        agent: place.agent.to_string(),
        kind: place.kind.as_str().to_owned(),
        wanted: place.wanted.clone(),
        mode: place.mode,
        checkout: or_empty(place.checkout.as_ref()).to_owned(),
        ticket: place.ticket,
        reason: place.reason.clone(),
    }
}

/// Takes a place in the line for a request that something stands in the way of, or renews the one it has.
pub(crate) fn wait(
    unit: &mut Unit<'_>,
    want: &Want<'_>,
    asking: &Asking<'_>,
    in_the_way: &InTheWay,
) -> Result<shape::Reserved> {
    if let Some(circle) = &in_the_way.circle {
        return Err(in_a_circle(circle));
    }
    let until = unit.now + asking.ttl;
    let place = match in_the_way.own.clone() {
        Some(own) => {
            let reason = if asking.reason.is_empty() { own.reason.clone() } else { asking.reason.to_owned() };
            let renewed = Row { expires_at: until, ttl: asking.ttl, offer_ttl: asking.offer_ttl, reason, ..own };
            table::update(unit.tx, &unit.project.id, &renewed)?;
            renewed
        }
        None => queue(unit, want, asking)?,
    };
    let total = in_the_way.total();
    let (project, now) = (unit.project.id.clone(), unit.now);
    let blockers = paths::blockers(unit.tx, &project, in_the_way, now)?;
    Ok(shape::Reserved {
        waiting: true,
        place: Some(in_the_way.number),
        id: Some(place.id),
        expires_in_s: Some((place.expires_at - unit.now).as_seconds()),
        blockers,
        total: Some(total),
        holders: paths::holders(in_the_way),
        ..shape::Reserved::default()
    })
}

fn queue(unit: &mut Unit<'_>, want: &Want<'_>, asking: &Asking<'_>) -> Result<Row> {
    let me = unit.me();
    let own = table::of_agent(unit.tx, &unit.project.id, me)?.len();
    if own >= PLACES_AGENT || unit.project.waiting >= PLACES_PROJECT {
        return Err(Error::new(Code::TooManyWaiting, format!(
                "there are many in the line: {own} places of yours (at most {PLACES_AGENT}), {} in the project (at most \
                 {PLACES_PROJECT})",
                unit.project.waiting
            ))
        .hint("Ask for several paths at once, or leave the line somewhere else first.")
        .attempt(Action::holds()));
    }
    let mut place = Row {
        id: unit.redraw()?,
        reason: asking.reason.to_owned(),
        queued_at: unit.now,
        expires_at: unit.now + asking.ttl,
        ttl: asking.ttl,
        offer_ttl: asking.offer_ttl,
        ..want.place()
    };
    place.ticket = unit.append(About::of(&place.id), Event::PlaceQueued(told(&place)))?;
    table::insert(unit.tx, &unit.project.id, &place)?;
    unit.project.waiting += 1;
    // One more who waits may be why another need wait no longer: those who wait for it are passed.
    unit.freed = true;
    Ok(place)
}

/// The refusal of a request that would wait for itself.
fn in_a_circle(circle: &[AgentName]) -> Error {
    let others: Vec<&str> = circle.iter().skip(1).map(AgentName::as_str).collect();
    let chain = others.iter().map(|agent| cut(agent, 64)).collect::<Vec<_>>().join(", who waits for ");
    let first = circle.get(1).map_or("", AgentName::as_str);
    Error::new(Code::WaitsInCircle, format!("you would wait for {chain}: nobody would ever go on"))
        .hint("You are not in the line. Give back what the others wait for, then ask again.")
        .attempt(Action::own_holds())
        .attempt(Action::SendTo { to: first.to_string() })
        .person("A person can end a hold of the circle: `release` with its id and --force.")
        .detail("circle", json!(circle))
}

/// Ends a place without a word: what came of it was told otherwise.
fn end(unit: &mut Unit<'_>, place: &Row, how: &str) -> Result<()> {
    let at = if lapsed(unit.now, place.expires_at) { place.expires_at } else { unit.now };
    table::end(unit.tx, &unit.project.id, &place.id, at, how)?;
    unit.project.waiting -= 1;
    unit.freed = true;
    Ok(())
}

/// Ends places whose time is over, given in the order of that, and those of agents that are proven dead.
pub(crate) fn settle(unit: &mut Unit<'_>, due: Vec<Row>) -> Result<()> {
    let mut over = due;
    if unit.project.waiting > 0 {
        for agent in unit.dead.clone() {
            for place in table::of_agent(unit.tx, &unit.project.id, &agent)? {
                if !over.iter().any(|other| other.id == place.id) {
                    over.push(place);
                }
            }
        }
    }
    for place in over {
        // The end of an offer is told by the holds that it was.
        if place.state == State::Waiting {
            let proven_dead = !lapsed(unit.now, place.expires_at);
            let event = Event::PlaceLapsed(Lapsed { proven_dead, ..told(&place).into() });
            unit.append(About::of(&place.id), event)?;
        }
        end(unit, &place, "lapsed")?;
    }
    Ok(())
}

/// Leaves the line. What was offered is given back.
pub(crate) fn leave(unit: &mut Unit<'_>, place: &Row) -> Result<()> {
    left(unit, place, told(place).into())
}

fn left(unit: &mut Unit<'_>, place: &Row, event: Left) -> Result<()> {
    unit.append(About::of(&place.id), Event::PlaceLeft(event))?;
    end(unit, place, "left")
}

/// Takes an agent out of the line altogether: its session is over.
pub(crate) fn leave_all(unit: &mut Unit<'_>, agent: &AgentName) -> Result<()> {
    if unit.project.waiting == 0 {
        return Ok(());
    }
    for place in table::of_agent(unit.tx, &unit.project.id, agent)? {
        match place.state {
            State::Waiting => left(unit, &place, Left { session_ended: true, ..told(&place).into() })?,
            // The holds that were offered end with the session, and say so.
            _ => end(unit, &place, "left")?,
        }
    }
    Ok(())
}

/// What was asked for is held now: whoever waited for just this waits no longer.
pub(crate) fn take(unit: &mut Unit<'_>, want: &Want<'_>) -> Result<()> {
    if unit.project.waiting == 0 {
        return Ok(());
    }
    for place in table::of_agent(unit.tx, &unit.project.id, want.agent())? {
        if want.is_of(&place) {
            end(unit, &place, "taken")?;
        }
    }
    Ok(())
}

/// Serves the line, if something ended that somebody may wait for: walks those who wait in the order of their tickets and
/// offers to each whose whole set is free. Comes after settling, and after the op's own part, in the same transaction.
pub(crate) fn serve(unit: &mut Unit<'_>) -> Result<()> {
    if !std::mem::take(&mut unit.freed) || unit.project.waiting == 0 {
        return Ok(());
    }
    let (tx, sight) = unit.look();
    let mut loaded = load(tx, &sight, None)?;
    for (row, its) in std::mem::take(&mut loaded.over) {
        if loaded.line.places().iter().any(|place| place.thing.conflicts(&its)) {
            paths::expire(unit, &row)?;
        }
    }
    for place in &loaded.offered {
        if !loaded.holds.iter().any(|hold| hold.place.as_ref() == Some(&place.id)) {
            end(unit, place, "taken")?;
        }
    }
    while let Some(at) = loaded.line.serve() {
        // Whoever waits in the line of another project takes it there; here it only goes first.
        let Standing { row: place, owner: None, .. } = loaded.waiting[at].clone() else { continue };
        offer(unit, &place, &mut loaded.holds)?;
    }
    unit.freed = false;
    Ok(())
}

/// Holds what a place waits for, for its agent, until that takes it or does not come in time. What the agent shares
/// already becomes its own alone at once: one row for a holder and a pattern is enough.
fn offer(unit: &mut Unit<'_>, place: &Row, live: &mut Vec<hold::Row>) -> Result<()> {
    let project = unit.project.id.clone();
    let nowhere = Site { project: ProjectId::default(), checkout: None, tops: Vec::new() };
    let patterns: Vec<Pattern> = match thing(place, nowhere)? {
        Thing::Paths { patterns, .. } => patterns,
        Thing::Name(name) => return offer_name(unit, place, &name),
    };
    // Whatever it is called, a lock that somebody else waits for is no path.
    let around: Vec<hold::Row> = live.iter().filter(|row| !row.is_name()).cloned().collect();
    let held = around.iter().map(paths::held).collect::<Result<Vec<_>>>()?;
    let wanted =
        Wanted { agent: &place.agent, checkout: place.checkout.as_ref(), mode: place.mode, patterns: &patterns };
    let Ok(steps) = decide(&wanted, &held) else { return Err(Error::bug("an offer of what is not free")) };
    let mut fresh = paths::fresh_ids(unit, steps.iter().filter(|step| **step == Step::Grant).count())?.into_iter();
    let mut offered = false;
    for (pattern, step) in patterns.iter().zip(&steps) {
        match step {
            Step::Keep(_) | Step::Within(_) => {}
            // More than it asks for: another of its places may be offered that.
            Step::Change(at) if around[*at].mode > place.mode => {}
            Step::Change(at) => {
                let own = &around[*at];
                let changed =
                    PathChanged { holder: own.holder.to_string(), mode: Some(place.mode), fence: own.fence.0 };
                let about = About::of(&own.subject).hold(&own.id).cause(place.ticket);
                unit.append(about, Event::PathChanged(changed))?;
                path::set_mode(unit.tx, &project, &own.id, place.mode)?;
                if let Some(row) = live.iter_mut().find(|row| row.id == own.id) {
                    row.mode = place.mode;
                }
            }
            Step::Grant => {
                let granting = Granting {
                    pattern,
                    mode: place.mode,
                    checkout: place.checkout.as_ref(),
                    holder: &place.agent,
                    task: None,
                    reason: &place.reason,
                    until: (unit.now + place.offer_ttl, place.offer_ttl),
                    place: Some(&place.id),
                };
                let id = fresh.next().ok_or_else(|| Error::bug("fewer ids than offers"))?;
                live.push(paths::grant(unit, id, &granting, PathGrant::Offer)?);
                offered = true;
            }
        }
    }
    unit.offers += 1;
    if offered { mark(unit, place) } else { end(unit, place, "taken") }
}

/// Notes that a place has an offer.
fn mark(unit: &mut Unit<'_>, place: &Row) -> Result<()> {
    let until = unit.now + place.offer_ttl;
    table::update(unit.tx, &unit.project.id, &Row { state: State::Offered, expires_at: until, ..place.clone() })
}

/// The same of a named lock.
fn offer_name(unit: &mut Unit<'_>, place: &Row, name: &str) -> Result<()> {
    let fresh = paths::fresh_ids(unit, 1)?.remove(0);
    let expires_at = unit.now + place.offer_ttl;
    let offered = LockOffered {
        holder: place.agent.to_string(),
        reason: place.reason.clone(),
        ttl_s: place.offer_ttl.as_seconds(),
        expires_at,
        place: place.id.to_string(),
    };
    let fence = Fence(unit.append(About::of(name).hold(&fresh), Event::LockOffered(offered))?);
    let row = hold::Row {
        granted_at: unit.now,
        expires_at,
        ttl: place.offer_ttl,
        reason: place.reason.clone(),
        renewal: Renewal::Explicit,
        place: Some(place.id.clone()),
        ..hold::Row::new(fresh, (HoldKind::Name, name), &place.agent, fence)
    };
    hold::insert(unit.tx, &unit.project.id, &row)?;
    unit.project.holds_issued += 1;
    unit.offers += 1;
    mark(unit, place)
}
