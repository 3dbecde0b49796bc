//! The part of `release` for paths, and for holds by id.

use std::collections::BTreeSet;

use tenure_core::action::{Action, Advice};
use tenure_core::event::hold::PathReleased;
use tenure_core::hold::{Ended, Ending, HoldKind, lapsed};
use tenure_core::id::{AnyId, CheckoutId, PlaceId, TaskId, or_empty};
use tenure_core::number::Fence;
use tenure_core::pattern::Pattern;
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result, id};
use tenure_store::table::{hold, place};

use super::Release;
use crate::answer;
use crate::checkouts::Checkouts;
use crate::locks;
use crate::paths;
use crate::unit_of_work::{UnitOfWork, people_only};
use crate::waiting::{self, Obstacles};

/// Releases a hold by id. Returns the task if the hold is on a task.
pub(super) fn by_id(
    work: &mut UnitOfWork<'_>,
    named: &AnyId,
    request: &Release,
) -> Result<Result<TaskId, answer::Reserved>> {
    id::named(named, id::Sort::Hold)?;
    let project = work.project.id.clone();
    if named.starts_with("w-") {
        return leave(work, named).map(Err);
    }
    let row = hold::get(work.tx, &project, named)?.ok_or_else(|| id::unknown(named, id::Sort::Hold))?;
    if let Some(task) = row.held_task() {
        return if row.ended.is_none() { Ok(Ok(task)) } else { Err(over(work, &row, not_held)?) };
    }
    if row.ended.is_some() || lapsed(work.now, row.expires_at) {
        return Err(over(work, &row, not_held)?);
    }
    if row.holder != work.me() && !request.force {
        return Err(held_by(work, row)?);
    }
    finish(work, request, vec![row]).map(Err)
}

/// Releases all own holds that some patterns cover. A person may end those of others.
pub(super) fn by_pattern(work: &mut UnitOfWork<'_>, request: &Release) -> Result<answer::Reserved> {
    let patterns = paths::read(&request.paths, request.fold_case)?;
    // A call from outside any checkout means its holds in all of them.
    let here = work.checkout.clone();
    let live = paths::live(work, here.as_ref(), &patterns)?;
    let me = work.me();
    let own = own_places(work, here.as_ref())?;
    let mut left: BTreeSet<PlaceId> = BTreeSet::new();
    let mut ending: Vec<hold::Row> = Vec::new();
    for pattern in &patterns {
        let mut found = false;
        for row in &live {
            if (row.holder == me || request.force) && pattern.covers(&paths::pattern(row)?) {
                found = true;
                if !ending.iter().any(|other| other.id == row.id) {
                    ending.push(row.clone());
                }
            }
        }
        for place in &own {
            if place.covered_by(pattern)? {
                found = true;
                left.insert(place.0.id.clone());
            }
        }
        if !found {
            return Err(nothing(work, pattern, &live, not_held)?);
        }
    }
    let mut released = finish(work, request, ending)?;
    for place in own.iter().filter(|place| left.contains(&place.0.id)) {
        waiting::leave(work, &place.0)?;
        released.left.push(place.0.id.clone());
    }
    released.globs = paths::globs(&patterns);
    Ok(released)
}

/// A place of the releasing agent.
struct OwnPlace(place::Row);

impl OwnPlace {
    /// Whether a pattern covers any part of what it waits for. Without that part the rest is not wanted either.
    fn covered_by(&self, pattern: &Pattern) -> Result<bool> {
        for text in &self.0.wanted {
            if pattern.covers(&Pattern::parse(text, pattern.case())?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The actor's places that wait for paths. An offer is a hold and is released as one.
fn own_places(work: &mut UnitOfWork<'_>, here: Option<&CheckoutId>) -> Result<Vec<OwnPlace>> {
    if work.project.waiting == 0 {
        return Ok(Vec::new());
    }
    let me = work.me();
    let own = place::of_agent(work.tx, &work.project.id, me)?.into_iter().filter(|place| {
        let meets = here.is_none() || place.checkout.is_none() || place.checkout.as_ref() == here;
        place.kind == HoldKind::Path && place.state == place::PlaceState::Waiting && meets
    });
    Ok(own.map(OwnPlace).collect())
}

/// Leaves the waiting line at a place named by id.
fn leave(work: &mut UnitOfWork<'_>, named: &str) -> Result<answer::Reserved> {
    let project = work.project.id.clone();
    let row = place::get(work.tx, &project, named)?.ok_or_else(|| id::unknown(named, id::Sort::Place))?;
    if row.agent != work.me() || row.state == place::PlaceState::Ended {
        return Err(not_held(named));
    }
    if row.state == place::PlaceState::Offered {
        let held = hold::all_of_holder(work.tx, &project, &row.agent)?;
        let offered =
            held.into_iter().filter(|hold| hold.place.as_ref() == Some(&row.id) && !lapsed(work.now, hold.expires_at));
        return finish(work, &Release::default(), offered.collect());
    }
    waiting::leave(work, &row)?;
    Ok(answer::Reserved { left: vec![row.id], ..answer::Reserved::default() })
}

/// The refusal of a path or a lock that another agent holds.
pub(crate) fn held_by(work: &mut UnitOfWork<'_>, row: hold::Row) -> Result<Error> {
    if row.is_name() {
        return locks::held_by(work, &row);
    }
    let patterns = [paths::pattern(&row)?];
    others_hold(work, &patterns, vec![row])
}

fn others_hold(work: &mut UnitOfWork<'_>, patterns: &[Pattern], holds: Vec<hold::Row>) -> Result<Error> {
    let in_the_way = Obstacles { holds, ..Obstacles::default() };
    let refusal = paths::held_by(work.tx, &work.project.id, (patterns, &in_the_way), work.now)?;
    Ok(refusal.attempt(Action::holds_of("path")))
}

/// The refusal of something, as shown, that is not held.
pub(crate) type NotHeld = fn(&str) -> Error;

/// Why no hold is within a pattern: a wider hold covers it, it was lost, another agent holds it, or it is not held.
pub(crate) fn nothing(
    work: &mut UnitOfWork<'_>,
    pattern: &Pattern,
    live: &[hold::Row],
    not_held: NotHeld,
) -> Result<Error> {
    let me = work.me();
    let shown = cut(pattern.text(), 120);
    let mut others = Vec::new();
    for row in live {
        if paths::pattern(row)?.overlap(pattern).is_none() {
            continue;
        }
        if row.holder == me {
            return Ok(not_held(&shown)
                .hint(format!("You hold {}, which covers more than this.", cut(&row.subject, 120)))
                .attempt(Action::release(&row.id)));
        }
        others.push(row.clone());
    }
    // An agent that lost the hold learns that before it learns who holds it now.
    let (project, here) = (work.project.id.clone(), work.checkout.clone());
    if let Some(lost) = paths::last_own(work.tx, &project, (me, here.as_ref()), pattern)?.filter(paths::is_lost) {
        return paths::stale(work, &lost);
    }
    let refusal = match others.is_empty() {
        true => not_held(&shown),
        false => others_hold(work, std::slice::from_ref(pattern), others)?,
    };
    // A worktree that was moved or removed leaves its holds behind.
    for row in hold::all_of_holder(work.tx, &project, me)?.iter().filter(|row| row.is_path()) {
        if !lapsed(work.now, row.expires_at) && pattern.covers(&paths::pattern(row)?) {
            let name = cut(&Checkouts::of(work)?.name(or_empty(row.checkout.as_ref())), 120);
            return Ok(refusal
                .hint(
                    Advice::from(format!("You hold it in another checkout, {name}: "))
                        .action(Action::release(&row.id))
                        .text("."),
                )
                .attempt(Action::release(&row.id)));
        }
    }
    Ok(refusal)
}

/// The refusal of a hold that has ended.
pub(crate) fn over(work: &mut UnitOfWork<'_>, row: &hold::Row, not_held: NotHeld) -> Result<Error> {
    if paths::is_lost(row) && row.holder == work.me() {
        return paths::stale(work, row);
    }
    Ok(not_held(&cut(&row.subject, 120)).detail("hold", row.id.clone()))
}

pub(super) fn not_held(shown: &str) -> Error {
    Error::new(Code::NotHeld, format!("{shown} is not held by you")).entity(shown).attempt(Action::own_holds())
}

/// The refusal of a fence that is not the hold's.
pub(crate) fn stale_fence(row: &hold::Row, given: Option<Fence>) -> Error {
    let message = format!("the hold on {} has another fence", cut(&row.subject, 120));
    Error::new(Code::StaleFence, message)
        .entity(&row.id)
        .attempt(Action::show(&row.id))
        .detail("fence", given)
        .detail("current_fence", row.fence)
}

pub(super) fn finish(work: &mut UnitOfWork<'_>, request: &Release, ending: Vec<hold::Row>) -> Result<answer::Reserved> {
    if request.force && !work.call.actor.is_person() {
        return Err(people_only("--force"));
    }
    let me = work.me();
    let mut holds = Vec::with_capacity(ending.len());
    for mut row in ending {
        if request.fence.is_some_and(|fence| fence != row.fence) {
            return Err(stale_fence(&row, request.fence));
        }
        let overrode = (row.holder != me).then(|| row.holder.clone());
        let how = if overrode.is_some() { Ending::Forced } else { Ending::Released };
        let said = PathReleased {
            reason: Some(request.reason.clone()),
            overrode: Some(overrode.map(String::from)),
            ..PathReleased::default()
        };
        paths::end(work, &row, how, None, said)?;
        row.ended = Some(Ended { at: work.now, how });
        holds.push(paths::shown(work, &row)?);
    }
    Ok(answer::Reserved { holds, ..answer::Reserved::default() })
}
