//! Places: how they are taken, renewed, served and left.

use serde_json::json;
use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::hold::PathChanged;
use tenure_core::event::place::{LockOffered, PlaceLapsed, PlaceLeft, PlaceQueued};
use tenure_core::hold::{HoldKind, Renewal, lapsed};
use tenure_core::id::{ProjectId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::number::Fence;
use tenure_core::pattern::Pattern;
use tenure_core::reserve::{PatternDecision, PatternRequest, decide};
use tenure_core::site::Site;
use tenure_core::text::cut;
use tenure_core::waiting::{HoldTarget, OFFER_TTL, PLACE_TTL, PLACES_AGENT, PLACES_PROJECT};
use tenure_core::{Code, Error, Result, Span};
use tenure_store::table::place::{self as table, PlaceState, Row};
use tenure_store::table::{hold, path};

use super::load::{LivePlace, load, thing};
use super::{Obstacles, Want};
use crate::answer;
use crate::paths::{self, Granting, PathGrant};
use crate::unit_of_work::{About, UnitOfWork};

/// The parameters of a waiting request besides its target.
pub(crate) struct WaitRequest<'a> {
    pub(crate) reason: &'a str,
    /// The TTL of a place after its last renewal.
    pub(crate) ttl: Span,
    /// The TTL of an offer to it.
    pub(crate) offer_ttl: Span,
}

impl<'a> WaitRequest<'a> {
    /// The parameters of a request, in seconds, with the defaults.
    pub(crate) fn of(reason: &'a str, place_ttl_s: Option<i64>, offer_ttl_s: Option<i64>) -> WaitRequest<'a> {
        WaitRequest {
            reason,
            ttl: place_ttl_s.map_or(PLACE_TTL, Span::seconds),
            offer_ttl: offer_ttl_s.map_or(OFFER_TTL, Span::seconds),
        }
    }
}

fn told(place: &Row) -> PlaceQueued {
    PlaceQueued {
        agent: place.agent.to_string(),
        kind: place.kind.as_str().to_owned(),
        wanted: place.wanted.clone(),
        mode: place.mode,
        checkout: or_empty(place.checkout.as_ref()).to_owned(),
        ticket: place.ticket,
        reason: place.reason.clone(),
    }
}

/// Takes a place in the line for a blocked request, or renews the one it has.
pub(crate) fn wait(
    work: &mut UnitOfWork<'_>,
    want: &Want<'_>,
    asking: &WaitRequest<'_>,
    in_the_way: &Obstacles,
) -> Result<answer::Reserved> {
    if let Some(circle) = &in_the_way.circle {
        return Err(in_a_circle(circle));
    }
    let until = work.now + asking.ttl;
    let place = match in_the_way.own.clone() {
        Some(own) => {
            let reason = if asking.reason.is_empty() { own.reason.clone() } else { asking.reason.to_owned() };
            let renewed = Row { expires_at: until, ttl: asking.ttl, offer_ttl: asking.offer_ttl, reason, ..own };
            table::update(work.tx, &work.project.id, &renewed)?;
            renewed
        }
        None => queue(work, want, asking)?,
    };
    let total = in_the_way.total();
    let (project, now) = (work.project.id.clone(), work.now);
    let blockers = paths::blockers(work.tx, &project, in_the_way, now)?;
    Ok(answer::Reserved {
        waiting: true,
        place: Some(in_the_way.number),
        id: Some(place.id),
        expires_in_s: Some((place.expires_at - work.now).as_seconds()),
        blockers,
        total: Some(total),
        holders: paths::holders(in_the_way),
        ..answer::Reserved::default()
    })
}

fn queue(work: &mut UnitOfWork<'_>, want: &Want<'_>, asking: &WaitRequest<'_>) -> Result<Row> {
    let me = work.me();
    let own = table::of_agent(work.tx, &work.project.id, me)?.len();
    if own >= PLACES_AGENT || work.project.waiting >= PLACES_PROJECT {
        return Err(Error::new(
            Code::TooManyWaiting,
            format!(
                "the waiting line is full: {own} places of yours (at most {PLACES_AGENT}), {} in the project (at \
                 most {PLACES_PROJECT})",
                work.project.waiting
            ),
        )
        .hint("Ask for several paths in one request, or leave the line for something else first.")
        .attempt(Action::holds()));
    }
    let mut place = Row {
        id: work.redraw()?,
        reason: asking.reason.to_owned(),
        queued_at: work.now,
        expires_at: work.now + asking.ttl,
        ttl: asking.ttl,
        offer_ttl: asking.offer_ttl,
        ..want.place()
    };
    place.ticket = work.append(About::of(&place.id), Event::PlaceQueued(told(&place)))?;
    table::insert(work.tx, &work.project.id, &place)?;
    work.project.waiting += 1;
    // A new waiter may unblock another agent, because an agent may overtake the places that wait for it.
    work.freed = true;
    Ok(place)
}

/// The refusal of a request that would wait for itself.
fn in_a_circle(circle: &[AgentName]) -> Error {
    let others: Vec<&str> = circle.iter().skip(1).map(AgentName::as_str).collect();
    let chain = others.iter().map(|agent| cut(agent, 64)).collect::<Vec<_>>().join(", who waits for ");
    let first = circle.get(1).map_or("", AgentName::as_str);
    Error::new(Code::WaitsInCircle, format!("you would wait for {chain}: this is a deadlock"))
        .hint("You are not in the waiting line. Release what the others wait for, then ask again.")
        .attempt(Action::own_holds())
        .attempt(Action::SendTo { to: first.to_string() })
        .person("A person can end a hold of the cycle: `release` with its id and --force.")
        .detail("circle", json!(circle))
}

/// Ends a place without an event: another event has reported the outcome.
fn end(work: &mut UnitOfWork<'_>, place: &Row, how: &str) -> Result<()> {
    let at = if lapsed(work.now, place.expires_at) { place.expires_at } else { work.now };
    table::end(work.tx, &work.project.id, &place.id, at, how)?;
    work.project.waiting -= 1;
    work.freed = true;
    Ok(())
}

/// Ends lapsed places, given in the order of their expiry, and those of agents that are proven dead.
pub(crate) fn settle(work: &mut UnitOfWork<'_>, due: Vec<Row>) -> Result<()> {
    let mut over = due;
    if work.project.waiting > 0 {
        for agent in work.dead.clone() {
            for place in table::of_agent(work.tx, &work.project.id, &agent)? {
                if !over.iter().any(|other| other.id == place.id) {
                    over.push(place);
                }
            }
        }
    }
    for place in over {
        // The end of an offer is reported by the holds it consisted of.
        if place.state == PlaceState::Waiting {
            let proven_dead = !lapsed(work.now, place.expires_at);
            let event = Event::PlaceLapsed(PlaceLapsed { proven_dead, ..told(&place).into() });
            work.append(About::of(&place.id), event)?;
        }
        end(work, &place, "lapsed")?;
    }
    Ok(())
}

/// Leaves the line. An offer is returned.
pub(crate) fn leave(work: &mut UnitOfWork<'_>, place: &Row) -> Result<()> {
    left(work, place, told(place).into())
}

fn left(work: &mut UnitOfWork<'_>, place: &Row, event: PlaceLeft) -> Result<()> {
    work.append(About::of(&place.id), Event::PlaceLeft(event))?;
    end(work, place, "left")
}

/// Removes an agent from the line altogether: its session has ended.
pub(crate) fn leave_all(work: &mut UnitOfWork<'_>, agent: &AgentName) -> Result<()> {
    if work.project.waiting == 0 {
        return Ok(());
    }
    for place in table::of_agent(work.tx, &work.project.id, agent)? {
        match place.state {
            PlaceState::Waiting => left(work, &place, PlaceLeft { session_ended: true, ..told(&place).into() })?,
            // The offered holds end with the session, with their own events.
            _ => end(work, &place, "left")?,
        }
    }
    Ok(())
}

/// Ends the agent's places for exactly this target: it is held now.
pub(crate) fn take(work: &mut UnitOfWork<'_>, want: &Want<'_>) -> Result<()> {
    if work.project.waiting == 0 {
        return Ok(());
    }
    for place in table::of_agent(work.tx, &work.project.id, want.agent())? {
        if want.is_of(&place) {
            end(work, &place, "taken")?;
        }
    }
    Ok(())
}

/// Serves the line, if anything ended that an agent may wait for: walks the waiting places in the order of their
/// tickets and makes an offer to each whose whole set is free. This comes after settling, and after the op's own part,
/// in the same transaction.
pub(crate) fn serve(work: &mut UnitOfWork<'_>) -> Result<()> {
    if !std::mem::take(&mut work.freed) || work.project.waiting == 0 {
        return Ok(());
    }
    let (tx, sight) = work.look();
    let mut loaded = load(tx, &sight, None)?;
    for (row, its) in std::mem::take(&mut loaded.over) {
        if loaded.line.places().iter().any(|place| place.thing.conflicts(&its)) {
            paths::expire(work, &row)?;
        }
    }
    for place in &loaded.offered {
        if !loaded.holds.iter().any(|hold| hold.place.as_ref() == Some(&place.id)) {
            end(work, place, "taken")?;
        }
    }
    while let Some(at) = loaded.line.serve() {
        // A waiter in the line of another project takes it there. Here it only goes first.
        let LivePlace { row: place, owner: None, .. } = loaded.waiting[at].clone() else { continue };
        offer(work, &place, &mut loaded.holds)?;
    }
    work.freed = false;
    Ok(())
}

/// Holds the target of a place for its agent, until the agent takes it or the offer lapses. A pattern that the agent
/// already shares becomes exclusive at once: one row per holder and pattern is enough.
fn offer(work: &mut UnitOfWork<'_>, place: &Row, live: &mut Vec<hold::Row>) -> Result<()> {
    let project = work.project.id.clone();
    let nowhere = Site { project: ProjectId::default(), checkout: None, tops: Vec::new() };
    let patterns: Vec<Pattern> = match thing(place, nowhere)? {
        HoldTarget::Paths { patterns, .. } => patterns,
        HoldTarget::Name(name) => return offer_name(work, place, &name),
    };
    // A lock that another agent waits for is not a path, whatever its name.
    let around: Vec<hold::Row> = live.iter().filter(|row| !row.is_name()).cloned().collect();
    let held = around.iter().map(paths::held).collect::<Result<Vec<_>>>()?;
    let wanted = PatternRequest {
        agent: &place.agent,
        checkout: place.checkout.as_ref(),
        mode: place.mode,
        patterns: &patterns,
    };
    let Ok(steps) = decide(&wanted, &held) else { return Err(Error::bug("an offer of what is not free")) };
    let mut fresh =
        paths::fresh_ids(work, steps.iter().filter(|step| **step == PatternDecision::Grant).count())?.into_iter();
    let mut offered = false;
    for (pattern, step) in patterns.iter().zip(&steps) {
        match step {
            PatternDecision::Keep(_) | PatternDecision::Within(_) => {}
            // The agent holds it in a stronger mode than it asks for: another of its places may have been offered that.
            PatternDecision::Change(at) if around[*at].mode > place.mode => {}
            PatternDecision::Change(at) => {
                let own = &around[*at];
                let changed =
                    PathChanged { holder: own.holder.to_string(), mode: Some(place.mode), fence: own.fence.0 };
                let about = About::of(&own.subject).hold(&own.id).cause(place.ticket);
                work.append(about, Event::PathChanged(changed))?;
                path::set_mode(work.tx, &project, &own.id, place.mode)?;
                if let Some(row) = live.iter_mut().find(|row| row.id == own.id) {
                    row.mode = place.mode;
                }
            }
            PatternDecision::Grant => {
                let granting = Granting {
                    pattern,
                    mode: place.mode,
                    checkout: place.checkout.as_ref(),
                    holder: &place.agent,
                    task: None,
                    reason: &place.reason,
                    until: (work.now + place.offer_ttl, place.offer_ttl),
                    place: Some(&place.id),
                };
                let id = fresh.next().ok_or_else(|| Error::bug("fewer ids than offers"))?;
                live.push(paths::grant(work, id, &granting, PathGrant::Offer)?);
                offered = true;
            }
        }
    }
    work.offers += 1;
    if offered { mark(work, place) } else { end(work, place, "taken") }
}

/// Records that a place has an offer.
fn mark(work: &mut UnitOfWork<'_>, place: &Row) -> Result<()> {
    let until = work.now + place.offer_ttl;
    table::update(work.tx, &work.project.id, &Row { state: PlaceState::Offered, expires_at: until, ..place.clone() })
}

/// The same for a named lock.
fn offer_name(work: &mut UnitOfWork<'_>, place: &Row, name: &str) -> Result<()> {
    let fresh = paths::fresh_ids(work, 1)?.remove(0);
    let expires_at = work.now + place.offer_ttl;
    let offered = LockOffered {
        holder: place.agent.to_string(),
        reason: place.reason.clone(),
        ttl_s: place.offer_ttl.as_seconds(),
        expires_at,
        place: place.id.to_string(),
    };
    let fence = Fence::from(work.append(About::of(name).hold(&fresh), Event::LockOffered(offered))?);
    let row = hold::Row {
        granted_at: work.now,
        expires_at,
        ttl: place.offer_ttl,
        reason: place.reason.clone(),
        renewal: Renewal::Explicit,
        place: Some(place.id.clone()),
        ..hold::Row::new(fresh, (HoldKind::Name, name), &place.agent, fence)
    };
    hold::insert(work.tx, &work.project.id, &row)?;
    work.project.holds_issued += 1;
    work.offers += 1;
    mark(work, place)
}
