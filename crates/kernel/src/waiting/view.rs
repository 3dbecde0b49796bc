//! The waiting line in answers: places with their numbers, and the state of one place.

use tenure_core::id::PlaceId;
use tenure_core::number::EventNumber;
use tenure_core::waiting::{Waiter, WaitingLine};
use tenure_core::{Result, Time};
use tenure_store::Tx;
use tenure_store::table::place::{self as table, PlaceState};

use super::{LoadedLine, load};
use crate::answer::{Place, PlaceTurn};
use crate::query::Snapshot;

/// All live places, in the order of their tickets.
pub(crate) fn shown(tx: &mut dyn Tx, snapshot: &Snapshot<'_>) -> Result<Vec<Place>> {
    let Some(project) = snapshot.project.filter(|project| project.waiting > 0) else { return Ok(Vec::new()) };
    let loaded = load(tx, &snapshot.sight(project), None)?;
    let mut places = all(&loaded, snapshot.now);
    let known = snapshot.checkouts(tx)?;
    places.iter_mut().for_each(|place| known.show_place(place));
    Ok(places)
}

fn all(loaded: &LoadedLine, now: Time) -> Vec<Place> {
    let waiting = loaded.waiting.iter().zip(loaded.line.places()).filter(|(place, _)| place.owner.is_none());
    let shown = |row: &table::Row, waiter| (row.ticket, Place::of(row, Some(loaded.line.number(waiter)), now));
    let mut all: Vec<(EventNumber, Place)> = waiting.map(|(place, waiter)| shown(&place.row, waiter)).collect();
    all.extend(loaded.offered.iter().map(|row| (row.ticket, Place::of(row, None, now))));
    all.sort_by_key(|(ticket, _)| *ticket);
    all.into_iter().map(|(_, place)| place).collect()
}

/// The state of a place. The previous answer is returned as long as nothing happened in the project and nothing that
/// blocks the place has lapsed.
pub(crate) fn turn(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    place: &str,
    before: Option<&PlaceTurn>,
) -> Result<PlaceTurn> {
    let place = &PlaceId::from(place);
    let Some(project) = snapshot.project else { return Ok(PlaceTurn::gone(place)) };
    let unchanged = |before: &&PlaceTurn| before.last_event == project.last_event && snapshot.now < before.look_at;
    if let Some(before) = before.filter(unchanged) {
        return Ok(before.clone());
    }
    let Some(row) = table::get(tx, &project.id, place)? else { return Ok(PlaceTurn::gone(place)) };
    let sight = snapshot.sight(project);
    let mut turn = match row.state {
        _ if sight.is_over(&row.agent, row.expires_at) => PlaceTurn::gone(place),
        PlaceState::Ended => PlaceTurn::gone(place),
        PlaceState::Offered => PlaceTurn { state: "offered".to_owned(), ..PlaceTurn::gone(place) },
        PlaceState::Waiting => waits(&load(tx, &sight, None)?, &row),
    };
    turn.last_event = project.last_event;
    Ok(turn)
}

/// The state of a waiting place: what blocks it, and when to check again if nothing happens until then.
fn waits(loaded: &LoadedLine, row: &table::Row) -> PlaceTurn {
    let line: &WaitingLine = &loaded.line;
    let own = loaded.waiting.iter().position(|place| place.owner.is_none() && place.row.id == row.id);
    let Some(waiter): Option<&Waiter> = own.map(|own| &line.places()[own]) else { return PlaceTurn::gone(&row.id) };
    let blocked = line.blocked(waiter);
    if blocked.is_free() {
        return PlaceTurn { state: "ready".to_owned(), ..PlaceTurn::gone(&row.id) };
    }
    let hold = |at: usize| loaded.holds.get(at).unwrap_or_else(|| &loaded.nested[at - loaded.holds.len()].row);
    let holds = blocked.holds.iter().map(|at| hold(*at));
    let places = blocked.places.iter().map(|at| &loaded.waiting[*at]);
    // It is not known here when a hold of another project ends.
    let is_elsewhere =
        blocked.holds.iter().any(|at| *at >= loaded.holds.len()) || places.clone().any(|place| place.owner.is_some());
    let soonest = holds.clone().map(|hold| hold.expires_at).chain(places.clone().map(|place| place.row.expires_at));
    let soonest = soonest.min().filter(|_| !is_elsewhere);
    let behind = places.map(|place| &place.row.agent).next();
    PlaceTurn {
        state: "waiting".to_owned(),
        place: Some(line.number(waiter)),
        behind: holds.map(|hold| &hold.holder).next().or(behind).cloned(),
        look_at: soonest.unwrap_or(Time(0)).min(row.expires_at),
        ..PlaceTurn::gone(&row.id)
    }
}
