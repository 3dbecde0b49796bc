//! The part of `release` for named locks.

use tenure_core::hold::HoldKind;
use tenure_core::number::Fence;
use tenure_core::text::cut;
use tenure_core::{Error, Result};
use tenure_store::table::{hold, lock, place};

use super::Release;
use super::held_paths::{NotHeld, finish, not_held, over, stale_fence};
use crate::answer;
use crate::locks;
use crate::paths::is_lost;
use crate::unit_of_work::UnitOfWork;
use crate::waiting;

/// Releases a lock by name. A person may end that of another agent.
pub(super) fn by_name(work: &mut UnitOfWork<'_>, name: &str, request: &Release) -> Result<answer::Reserved> {
    match locks::live(work, name)? {
        Some(row) if row.holder == work.me() || request.force => finish(work, request, vec![row]),
        live => match place(work, name)? {
            Some(place) => {
                waiting::leave(work, &place)?;
                Ok(answer::Reserved { left: vec![place.id], ..answer::Reserved::default() })
            }
            None => Err(nothing(work, name, request.fence, (live.as_ref(), not_held))?),
        },
    }
}

/// The actor's place in the waiting line for a lock.
fn place(work: &mut UnitOfWork<'_>, name: &str) -> Result<Option<place::Row>> {
    if work.project.waiting == 0 {
        return Ok(None);
    }
    let me = work.me();
    let its = |place: &place::Row| {
        place.kind == HoldKind::Name && place.state == place::PlaceState::Waiting && place.wanted.concat() == name
    };
    Ok(place::of_agent(work.tx, &work.project.id, me)?.into_iter().find(its))
}

/// Why the actor does not hold a lock: it has lapsed or was taken over, another agent holds it, or it is not held.
pub(crate) fn nothing(
    work: &mut UnitOfWork<'_>,
    name: &str,
    fence: Option<Fence>,
    (live, not_held): (Option<&hold::Row>, NotHeld),
) -> Result<Error> {
    let newest = lock::newest(work.tx, &work.project.id, name, 1)?;
    if let Some(row) = newest.first().filter(|row| fence.is_some_and(|fence| fence != row.fence)) {
        return Ok(stale_fence(row, fence));
    }
    // An agent that lost the lock learns that before it learns who holds it now.
    let me = work.me();
    let own = lock::last_of(work.tx, &work.project.id, name, me)?;
    if let Some(own) = own.filter(|own| own.ended.is_some() && is_lost(own)) {
        return over(work, &own, not_held);
    }
    match live {
        Some(row) => locks::held_by(work, row),
        None => Ok(not_held(&cut(name, 120))),
    }
}
