//! Loading the waiting line: the places of a project, those of other projects that want the same files, and all holds
//! around them.
//!
//! Each project has its own line, and its ops make offers only to its own places. If checkouts of two projects are
//! nested, both lines are treated as one, ordered by time, so that neither overtakes the other. An agent that waits for
//! a hold of another project finds out by polling.

use tenure_core::hold::{HoldKind, lapsed};
use tenure_core::id::CheckoutId;
use tenure_core::pattern::{Case, Pattern};
use tenure_core::site::Site;
use tenure_core::waiting::{HoldTarget, LiveHold, Waiter, WaitingLine};
use tenure_core::{Error, Result};
use tenure_store::error::corrupt;
use tenure_store::table::checkout::{self, NearbyCheckout};
use tenure_store::table::place::{self as table, PlaceState};
use tenure_store::table::{hold, lock};
use tenure_store::{Batch, Tx};

use super::{LineView, Want};
use crate::checkouts::Checkouts;
use crate::paths;
use crate::paths::nested_holds::{self, Nested, OtherProject, Spot};

/// A live place whose agent waits.
#[derive(Clone, Debug)]
pub(crate) struct LivePlace {
    pub(crate) row: table::Row,
    pub(crate) thing: HoldTarget,
    /// The project whose line it is in, if that is another.
    pub(crate) owner: Option<OtherProject>,
}

/// The waiting line as it is now.
pub(crate) struct LoadedLine {
    /// The waiting places, in order. They are the places of `line`.
    pub(crate) waiting: Vec<LivePlace>,
    /// Live places of the project with an offer.
    pub(crate) offered: Vec<table::Row>,
    /// Live holds of the project that may conflict with the places or the request. They are the first holds of `line`.
    pub(crate) holds: Vec<hold::Row>,
    /// Live holds of other projects. They are the remaining holds of `line`.
    pub(crate) nested: Vec<Nested>,
    /// Holds of the project that are over and not ended yet.
    pub(super) over: Vec<(hold::Row, HoldTarget)>,
    pub(crate) line: WaitingLine,
}

/// Loads the line, with the surroundings of a request.
pub(crate) fn load(tx: &mut dyn Tx, sight: &LineView<'_>, request: Option<&Want<'_>>) -> Result<LoadedLine> {
    let project = &sight.project.id;
    let (mut places, known) = tx.fetch((table::line(project), checkout::all(project)))?;
    let known = Checkouts::new(known, "");
    places.retain(|place| !sight.is_over(&place.agent, place.expires_at));
    let mut entries =
        places.into_iter().map(|row| PlaceEntry::of(row, None, project, &known)).collect::<Result<Vec<_>>>()?;
    let (mut things, mut names) = (Vec::new(), Vec::new());
    for entry in &entries {
        match &entry.thing {
            HoldTarget::Paths { site, patterns, .. } => things.push((site.clone(), patterns.clone())),
            HoldTarget::Name(name) => names.push(name.clone()),
        }
    }
    match request {
        Some(Want::Paths(wanted, site)) => things.push(((*site).clone(), wanted.patterns.to_vec())),
        Some(Want::Name { name, .. }) => names.push((*name).to_owned()),
        None => {}
    }
    let (rows, near) = around(tx, sight, &known, &things, names)?;
    let (over, mut holds): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| sight.has_ended(row));
    let others = others(tx, sight, &near)?;
    let (mut nested, theirs) = (others.holds, others.entries);
    let near = [near, others.near].concat();
    let mut spots: Vec<Spot<'_>> = things.iter().map(|(site, patterns)| Spot { site, patterns }).collect();
    spots.extend(theirs.iter().filter_map(PlaceEntry::spot));
    for found in nested_holds::holds(tx, &sight.view(), &near, &spots)? {
        match &found.owner {
            None if holds.iter().all(|row| row.id != found.row.id) => holds.push(found.row),
            Some(owner) if !is_among(&nested, owner, &found.row) => nested.push(found),
            _ => {}
        }
    }
    if !theirs.is_empty() {
        entries.extend(theirs);
        let whose = |entry: &PlaceEntry| entry.owner.as_ref().map_or(project, |owner| &owner.project).clone();
        entries.sort_by_key(|entry| (entry.row.queued_at, whose(entry), entry.row.ticket));
    }
    let thing = |row: &hold::Row| held_thing(row, project, &known);
    let held = |row: &hold::Row| Ok(LiveHold { holder: row.holder.clone(), thing: thing(row)? });
    let mut all = holds.iter().map(held).collect::<Result<Vec<_>>>()?;
    all.extend(nested.iter().map(|one| LiveHold { holder: one.row.holder.clone(), thing: nested_thing(one) }));
    let over = over.into_iter().map(|row| thing(&row).map(|thing| (row, thing))).collect::<Result<Vec<_>>>()?;
    let (mut waiting, mut offered, mut waiters) = (Vec::new(), Vec::new(), Vec::new());
    for PlaceEntry { row, owner, thing } in entries {
        if row.state == PlaceState::Offered {
            offered.push(row);
        } else {
            let ticket = i64::try_from(waiting.len()).map_err(|_| Error::bug("a line without an end"))?;
            waiters.push(Waiter { agent: row.agent.clone(), ticket, thing: thing.clone() });
            waiting.push(LivePlace { row, thing, owner });
        }
    }
    Ok(LoadedLine { waiting, offered, holds, nested, over, line: WaitingLine::new(all, waiters) })
}

/// A place and its target.
struct PlaceEntry {
    row: table::Row,
    owner: Option<OtherProject>,
    thing: HoldTarget,
}

impl PlaceEntry {
    fn of(row: table::Row, owner: Option<OtherProject>, project: &str, known: &Checkouts) -> Result<PlaceEntry> {
        let thing = thing(&row, known.site(project, row.checkout.as_ref()))?;
        Ok(PlaceEntry { row, owner, thing })
    }

    fn spot(&self) -> Option<Spot<'_>> {
        match &self.thing {
            HoldTarget::Paths { site, patterns, .. } => Some(Spot { site, patterns }),
            HoldTarget::Name(_) => None,
        }
    }
}

fn is_among(nested: &[Nested], owner: &OtherProject, row: &hold::Row) -> bool {
    nested.iter().any(|one| one.owner.as_ref() == Some(owner) && one.row.id == row.id)
}

/// The holds of the project that have not been ended, lapsed or not, and may conflict with some targets; also the
/// enclosing and nested checkouts.
fn around(
    tx: &mut dyn Tx,
    sight: &LineView<'_>,
    known: &Checkouts,
    things: &[(Site, Vec<Pattern>)],
    mut names: Vec<String>,
) -> Result<(Vec<hold::Row>, Vec<NearbyCheckout>)> {
    let project = &sight.project.id;
    let spots: Vec<Spot<'_>> = things.iter().map(|(site, patterns)| Spot { site, patterns }).collect();
    if sight.is_write {
        nested_holds::take_turns(tx, &spots)?;
    }
    names.sort();
    names.dedup();
    let mut on_paths = Vec::new();
    if !things.is_empty() {
        let patterns: Vec<Pattern> = things.iter().flat_map(|(_, patterns)| patterns.clone()).collect();
        let everywhere = things.iter().any(|(site, _)| site.checkout.is_none());
        let mut checkouts: Vec<Option<CheckoutId>> = vec![None];
        checkouts.extend(known.ids().filter(|_| everywhere).cloned().map(Some));
        checkouts.extend(things.iter().map(|(site, _)| site.checkout.clone()));
        checkouts.sort();
        checkouts.dedup();
        on_paths = paths::candidate_statements(project, &checkouts, &patterns);
    }
    let locks: Vec<_> = names.iter().map(|name| lock::live(project, name)).collect();
    let near = nested_holds::near(&sight.view(), &spots);
    let (mut rows, locks, near) = tx.fetch((on_paths.map(paths::merged), locks, near))?;
    rows.extend(locks.into_iter().flatten());
    Ok((rows, near))
}

/// What other projects have in common with some checkouts.
#[derive(Default)]
struct Others {
    entries: Vec<PlaceEntry>,
    /// The holds around the targets of those places, in their own checkouts.
    holds: Vec<Nested>,
    near: Vec<NearbyCheckout>,
}

/// The places in the lines of other projects, with their targets.
fn others(tx: &mut dyn Tx, sight: &LineView<'_>, near: &[NearbyCheckout]) -> Result<Others> {
    let mut projects: Vec<&NearbyCheckout> = near.iter().filter(|near| near.waiting > 0).collect();
    projects.retain(|near| near.project != sight.project.id);
    projects.dedup_by_key(|near| &near.project);
    if projects.is_empty() {
        return Ok(Others::default());
    }
    let lines = projects.iter().map(|near| (table::line(&near.project), checkout::all(&near.project)));
    let lines = tx.fetch(lines.collect::<Vec<_>>())?;
    let mut entries = Vec::new();
    // The statements for each entry with paths, and its project.
    let (mut of, mut statements) = (Vec::new(), Vec::new());
    let mut whose: Vec<(&NearbyCheckout, Checkouts)> = Vec::new();
    for (near, (places, known)) in projects.into_iter().zip(lines) {
        let known = Checkouts::new(known, "");
        let owner = OtherProject { project: near.project.clone(), label: near.label.clone() };
        for row in places {
            let is_over = lapsed(sight.clock, row.expires_at.min(sight.clock + row.ttl));
            if is_over || row.state != PlaceState::Waiting || row.kind != HoldKind::Path {
                continue;
            }
            let entry = PlaceEntry::of(row, Some(owner.clone()), &near.project, &known)?;
            if let HoldTarget::Paths { site, patterns, .. } = &entry.thing {
                of.push(whose.len());
                statements.push(paths::candidate_statements(
                    &near.project,
                    &known.scope(site.checkout.as_ref()),
                    patterns,
                ));
            }
            entries.push(entry);
        }
        whose.push((near, known));
    }
    let spots: Vec<Spot<'_>> = entries.iter().filter_map(PlaceEntry::spot).collect();
    let (near, direct) = tx.fetch((nested_holds::near(&sight.view(), &spots), statements))?;
    let mut holds: Vec<Nested> = Vec::new();
    for (at, found) in of.into_iter().zip(direct) {
        let (near, known) = &whose[at];
        let owner = OtherProject { project: near.project.clone(), label: near.label.clone() };
        for row in found.into_iter().flat_map(|rows| paths::merged([rows])) {
            let counts = !lapsed(sight.clock, row.expires_at.min(sight.clock + row.ttl));
            if counts && !is_among(&holds, &owner, &row) {
                let (site, pattern) = (known.site(&near.project, row.checkout.as_ref()), paths::pattern(&row)?);
                holds.push(Nested { row, pattern, site, owner: Some(owner.clone()) });
            }
        }
    }
    Ok(Others { entries, holds, near })
}

/// The target of a place.
pub(super) fn thing(place: &table::Row, site: Site) -> Result<HoldTarget> {
    if place.kind == HoldKind::Name {
        return Ok(HoldTarget::Name(place.wanted.concat()));
    }
    let case = if place.folded { Case::Folded } else { Case::Kept };
    let read = |text: &String| {
        Pattern::parse(text, case)
            .map_err(|error| corrupt(format!("what {} waits for cannot be read", place.id)).cause(error))
    };
    let patterns = place.wanted.iter().map(read).collect::<Result<Vec<_>>>()?;
    Ok(HoldTarget::Paths { site, mode: place.mode, patterns })
}

/// A hold in the form that the line uses.
fn held_thing(row: &hold::Row, project: &str, known: &Checkouts) -> Result<HoldTarget> {
    if row.is_name() {
        return Ok(HoldTarget::Name(row.subject.clone()));
    }
    let patterns = vec![paths::pattern(row)?];
    Ok(HoldTarget::Paths { site: known.site(project, row.checkout.as_ref()), mode: row.mode, patterns })
}

fn nested_thing(one: &Nested) -> HoldTarget {
    HoldTarget::Paths { site: one.site.clone(), mode: one.row.mode, patterns: vec![one.pattern.clone()] }
}
