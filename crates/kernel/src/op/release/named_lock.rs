//! The part of `release` that gives a named lock back.

use tenure_core::hold::HoldKind;
use tenure_core::text::cut;
use tenure_core::{Error, Result};
use tenure_store::table::{hold, lock, place};

use super::Release;
use super::held_paths::{finish, not_held, over, stale_fence};
use crate::line;
use crate::locks;
use crate::paths::is_lost;
use crate::shape;
use crate::unit::Unit;

/// Gives the lock of a name back; a person may end that of another.
pub(super) fn by_name(unit: &mut Unit<'_>, name: &str, request: &Release) -> Result<shape::Reserved> {
    match locks::live(unit, name)? {
        Some(row) if row.holder == unit.me() || request.force => finish(unit, request, vec![row]),
        live => match place(unit, name)? {
            Some(place) => {
                line::leave(unit, &place)?;
                Ok(shape::Reserved { left: vec![place.id], ..shape::Reserved::default() })
            }
            None => Err(nothing(unit, name, request, live.as_ref())?),
        },
    }
}

/// The place in the line at which the actor waits for a lock.
fn place(unit: &mut Unit<'_>, name: &str) -> Result<Option<place::Row>> {
    if unit.project.waiting == 0 {
        return Ok(None);
    }
    let me = unit.me();
    let its = |place: &place::Row| {
        place.kind == HoldKind::Name && place.state == place::State::Waiting && place.wanted.concat() == name
    };
    Ok(place::of_agent(unit.tx, &unit.project.id, me)?.into_iter().find(its))
}

/// Why there is nothing to give back: it has lapsed or was taken over, another has it, or nobody has it.
fn nothing(unit: &mut Unit<'_>, name: &str, request: &Release, live: Option<&hold::Row>) -> Result<Error> {
    let newest = lock::newest(unit.tx, &unit.project.id, name, 1)?;
    if let Some(row) = newest.first().filter(|row| request.fence.is_some_and(|fence| fence != row.fence)) {
        return Ok(stale_fence(row, request.fence));
    }
    // Whoever lost it learns that before it is told who has it now.
    let me = unit.me();
    let own = lock::last_of(unit.tx, &unit.project.id, name, me)?;
    if let Some(own) = own.filter(|own| own.ended.is_some() && is_lost(own)) {
        return over(unit, &own);
    }
    match live {
        Some(row) => locks::held_by(unit, row),
        None => Ok(not_held(&cut(name, 120))),
    }
}
