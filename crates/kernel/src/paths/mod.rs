//! Path holds: which of them conflict with a request, how they begin and end, and how a blocked agent is refused.

mod effective_end;
mod files;
mod lost_holds;
pub(crate) mod nested_holds;
pub(crate) mod other_checkouts;
mod refusal;
mod task_paths;

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::event::Event;
use tenure_core::event::hold::{CutShort, HoldExpired, HoldTransferred, LockReleased, PathReleased, PathReserved};
use tenure_core::event::place::PathOffered;
use tenure_core::hold::{Ending, HoldKind, Mode, Renewal, lapsed};
use tenure_core::id::{CheckoutId, HoldId, PlaceId, TaskId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::number::{EventNumber, Fence};
use tenure_core::pattern::{Case, Pattern};
use tenure_core::reserve::{LivePattern, PATTERNS_MAX};
use tenure_core::site::{Site, Top};
use tenure_core::{Code, Error, Result, Span, Time};
use tenure_store::error::corrupt;
use tenure_store::table::checkout::NearbyCheckout;
use tenure_store::table::{checkout, hold, path};
use tenure_store::{Batch, Statement, Tx};

pub(crate) use self::effective_end::{Ends, as_found};
pub(crate) use self::files::{FileSet, counts};
pub(crate) use self::lost_holds::{is_lost, last_own, stale};
use self::nested_holds::{Nested, Spot};
pub(crate) use self::refusal::{ANOTHER_TASK, BLOCKERS_MAX, blockers, held_by, holders, nested_views};
pub(crate) use self::task_paths::{Regained, end_with_task, hand_over, refuse_split, take_over};
use crate::answer;
use crate::checkouts::Checkouts;
use crate::mail::EndedHold;
use crate::unit_of_work::{About, UnitOfWork};
use crate::waiting::LineView;

/// Parses the patterns of a request: each in canonical form, without duplicates.
pub(crate) fn read(typed: &[String], folded: bool) -> Result<Vec<Pattern>> {
    read_up_to(typed, folded, PATTERNS_MAX)
}

/// The same with another maximum.
pub(crate) fn read_up_to(typed: &[String], folded: bool, most: usize) -> Result<Vec<Pattern>> {
    if typed.is_empty() {
        return Err(Error::usage(Code::NoPath, "no path is named").hint("Name at least one path or pattern."));
    }
    if typed.len() > most {
        return Err(Error::usage(Code::TooManyPaths, format!("{} paths, at most {most} fit", typed.len()))
            .hint("Name a directory, or give several requests."));
    }
    let case = if folded { Case::Folded } else { Case::Kept };
    let mut seen = BTreeSet::new();
    let mut patterns = Vec::with_capacity(typed.len());
    for typed in typed {
        let pattern = Pattern::parse(typed, case)?;
        if seen.insert(pattern.text().to_owned()) {
            patterns.push(pattern);
        }
    }
    Ok(patterns)
}

/// The pattern of a row.
pub(crate) fn pattern(row: &hold::Row) -> Result<Pattern> {
    let case = if row.folded { Case::Folded } else { Case::Kept };
    Pattern::parse(&row.subject, case)
        .map_err(|error| corrupt(format!("the pattern of {} cannot be read", row.id)).entity(&row.id).cause(error))
}

/// A row in the form that decisions use.
pub(crate) fn held(row: &hold::Row) -> Result<LivePattern<'_>> {
    Ok(LivePattern { holder: &row.holder, pattern: pattern(row)?, mode: row.mode, checkout: row.checkout.as_ref() })
}

/// The checkouts whose holds can conflict with a request in one of them, or in all of them if there is none. `None`
/// stands for holds on all checkouts.
pub(crate) fn scope(tx: &mut dyn Tx, project: &str, here: Option<&CheckoutId>) -> Result<Vec<Option<CheckoutId>>> {
    let mut checkouts = vec![None];
    match here {
        Some(here) => checkouts.push(Some(here.clone())),
        None => checkouts.extend(tx.fetch(checkout::all(project))?.into_iter().map(|known| Some(known.id))),
    }
    Ok(checkouts)
}

/// The holds that may overlap some patterns, settled or not, from the index on path prefixes.
pub(crate) fn candidates(
    tx: &mut dyn Tx,
    project: &str,
    checkouts: &[Option<CheckoutId>],
    patterns: &[Pattern],
) -> Result<Vec<hold::Row>> {
    tx.fetch(candidate_statements(project, checkouts, patterns).map(merged))
}

/// The statements that read the candidates; see [`merged`].
pub(crate) fn candidate_statements(
    project: &str,
    checkouts: &[Option<CheckoutId>],
    patterns: &[Pattern],
) -> Vec<Statement<Vec<hold::Row>>> {
    let prefixes: BTreeSet<String> = patterns.iter().flat_map(Pattern::shorter_prefixes).collect();
    let prefixes: Vec<String> = prefixes.into_iter().collect();
    let ranges: BTreeSet<(String, String)> = patterns.iter().filter_map(Pattern::longer_prefixes).collect();
    let checkouts: Vec<Option<&CheckoutId>> = checkouts.iter().map(Option::as_ref).collect();
    let mut statements = vec![path::shorter(project, &checkouts, &prefixes)];
    for (checkout, (begin, end)) in checkouts.iter().flat_map(|one| ranges.iter().map(move |range| (one, range))) {
        statements.push(path::longer(project, *checkout, begin, end));
    }
    statements
}

/// Candidates of one project, without duplicates, in the order of their grants.
pub(crate) fn merged(found: impl IntoIterator<Item = Vec<hold::Row>>) -> Vec<hold::Row> {
    let by_fence: BTreeMap<Fence, hold::Row> = found.into_iter().flatten().map(|row| (row.fence, row)).collect();
    by_fence.into_values().collect()
}

/// The surroundings of a request.
pub(crate) struct Around {
    /// The location of the request.
    pub(crate) site: Site,
    /// Live holds of its checkout that may overlap it.
    pub(crate) live: Vec<hold::Row>,
    /// Live holds of enclosing and nested checkouts that overlap it.
    pub(crate) nested: Vec<Nested>,
    /// Those checkouts.
    pub(crate) near: Vec<NearbyCheckout>,
}

/// Reads the surroundings of a request, in one round trip if no checkout is nested in another. Lapsed holds are
/// included.
pub(crate) fn look_around(
    tx: &mut dyn Tx,
    sight: &LineView<'_>,
    (site, scope): (Site, &[Option<CheckoutId>]),
    patterns: &[Pattern],
) -> Result<Around> {
    let view = sight.view();
    let spots = [Spot { site: &site, patterns }];
    if sight.is_write {
        nested_holds::take_turns(tx, &spots)?;
    }
    let own = candidate_statements(view.project, scope, patterns).map(merged);
    let (live, near) = tx.fetch((own, nested_holds::near(&view, &spots)))?;
    let nested = nested_holds::holds(tx, &view, &near, &spots)?;
    Ok(Around { live, nested, near, site })
}

/// The location of an op's request: one checkout, or all of them if there is none.
pub(crate) fn site(work: &mut UnitOfWork<'_>, here: Option<&CheckoutId>) -> Result<Site> {
    let project = work.project.id.clone();
    match &work.call.checkout {
        // In the usual case it is the checkout of the call, and nothing has to be read.
        Some(place) if here.is_some() && here == work.checkout.as_ref() => {
            let tops = vec![Top { host: place.host.clone(), path: place.path.clone() }];
            Ok(Site { project, checkout: here.cloned(), tops })
        }
        _ => Ok(Checkouts::of(work)?.site(&project, here)),
    }
}

/// The surroundings of an op's request. Holds that are over and overlap it are ended first.
pub(crate) fn around(work: &mut UnitOfWork<'_>, here: Option<&CheckoutId>, patterns: &[Pattern]) -> Result<Around> {
    let project = work.project.id.clone();
    let site = site(work, here)?;
    let scope = scope(work.tx, &project, here)?;
    let (tx, sight) = work.look();
    let mut around = look_around(tx, &sight, (site, &scope), patterns)?;
    around.live = end_over(work, std::mem::take(&mut around.live), patterns)?;
    Ok(around)
}

/// Whether a hold is over for this op: it has lapsed, or its holder was just proven dead.
fn is_over(work: &UnitOfWork<'_>, row: &hold::Row) -> bool {
    lapsed(work.now, row.expires_at) || work.dead.contains(&row.holder)
}

/// The live holds that may overlap some patterns. Holds that are over and overlap them are ended first.
pub(crate) fn live(
    work: &mut UnitOfWork<'_>,
    here: Option<&CheckoutId>,
    patterns: &[Pattern],
) -> Result<Vec<hold::Row>> {
    let project = work.project.id.clone();
    let checkouts = scope(work.tx, &project, here)?;
    let found = candidates(work.tx, &project, &checkouts, patterns)?;
    end_over(work, found, patterns)
}

/// Ends those holds that are over and overlap some patterns. Returns the live ones.
fn end_over(work: &mut UnitOfWork<'_>, found: Vec<hold::Row>, patterns: &[Pattern]) -> Result<Vec<hold::Row>> {
    let (over, live): (Vec<_>, Vec<_>) = found.into_iter().partition(|row| is_over(work, row));
    for row in over {
        let its = pattern(&row)?;
        if patterns.iter().any(|pattern| its.overlap(pattern).is_some()) {
            expire(work, &row)?;
        }
    }
    Ok(live)
}

/// Ends a hold, other than a task hold, because it has lapsed, its holder is proven dead, or its task's hold has
/// lapsed.
pub(crate) fn expire(work: &mut UnitOfWork<'_>, row: &hold::Row) -> Result<()> {
    let dead = work.dead.contains(&row.holder);
    cut_short(work, row, dead.then_some(CutShort::ProvenDead))
}

/// Ends a hold, other than a task hold. `why` says what cut it short, if it had not lapsed anyway.
pub(crate) fn cut_short(work: &mut UnitOfWork<'_>, row: &hold::Row, why: Option<CutShort>) -> Result<()> {
    let over = lapsed(work.now, row.expires_at);
    let ended_at = if over { row.expires_at } else { work.now };
    let expired = HoldExpired {
        kind: Some(row.kind.as_str().to_owned()),
        holder: row.holder.to_string(),
        fence: row.fence.0,
        granted_at: row.granted_at,
        expires_at: row.expires_at,
        ended_at,
        proven_dead: Some(false),
        task: Some(or_empty(row.task.as_ref()).to_owned()),
        checkout: Some(or_empty(row.checkout.as_ref()).to_owned()),
        place: row.place.as_ref().map(String::from),
        ..HoldExpired::default()
    };
    let event = Event::HoldExpired(expired.cut_short(why.filter(|_| !over)));
    work.freed = true;
    let cause = work.append(About::of(&row.subject).hold(&row.id), event)?;
    if row.asked > 0 {
        let by = row.holder.clone();
        work.over.push(EndedHold { hold: row.id.clone(), how: Ending::Expired.as_str(), by, cause });
    }
    hold::end(work.tx, &work.project.id, &row.id, ended_at, Ending::Expired)
}

/// Ends a hold, other than a task hold, for good. `said` is what its event says besides the hold.
pub(crate) fn end(
    work: &mut UnitOfWork<'_>,
    row: &hold::Row,
    how: Ending,
    cause: Option<EventNumber>,
    said: PathReleased,
) -> Result<()> {
    let (holder, fence) = (row.holder.to_string(), row.fence.0);
    let event = match row.is_name() {
        true => Event::LockReleased(LockReleased {
            holder,
            fence,
            reason: said.reason.unwrap_or_default(),
            overrode: said.overrode.flatten(),
            stolen: said.stolen,
        }),
        false => {
            let checkout = or_empty(row.checkout.as_ref()).to_owned();
            Event::PathReleased(PathReleased { holder, fence, checkout, ..said })
        }
    };
    let number = work.append(About::of(&row.subject).hold(&row.id).cause(cause), event)?;
    work.ended(&row.id, row.asked, how, number);
    work.freed = true;
    hold::end(work.tx, &work.project.id, &row.id, work.now, how)
}

/// A hold that is about to be granted.
pub(crate) struct Granting<'a> {
    pub(crate) pattern: &'a Pattern,
    pub(crate) mode: Mode,
    pub(crate) checkout: Option<&'a CheckoutId>,
    pub(crate) holder: &'a AgentName,
    pub(crate) task: Option<&'a TaskId>,
    pub(crate) reason: &'a str,
    pub(crate) until: (Time, Span),
    /// The place that it is offered to.
    pub(crate) place: Option<&'a PlaceId>,
}

/// Why a path hold is granted, with what its event says besides the hold.
pub(crate) enum PathGrant {
    /// Its holder reserved it.
    Reserve(PathReserved),
    /// Its holder waited for it.
    Offer,
    /// It was transferred with its task.
    Transfer(HoldTransferred),
}

impl Granting<'_> {
    fn event(&self, grant: PathGrant) -> Event {
        let (expires_at, ttl) = self.until;
        let (holder, checkout) = (self.holder.to_string(), or_empty(self.checkout).to_owned());
        let (task, reason) = (or_empty(self.task).to_owned(), self.reason.to_owned());
        let (mode, ttl_s) = (self.mode, ttl.as_seconds());
        match grant {
            PathGrant::Reserve(said) => {
                Event::PathReserved(PathReserved { holder, mode, checkout, task, reason, ttl_s, expires_at, ..said })
            }
            PathGrant::Offer => {
                let place = or_empty(self.place).to_owned();
                Event::PathOffered(PathOffered { holder, mode, checkout, task, reason, ttl_s, expires_at, place })
            }
            PathGrant::Transfer(said) => Event::HoldTransferred(HoldTransferred {
                holder,
                mode: Some(mode),
                checkout: Some(checkout),
                task: Some(task),
                reason: Some(reason),
                ttl_s,
                expires_at,
                ..said
            }),
        }
    }
}

/// Grants a path hold. Its fence is the number of its event.
pub(crate) fn grant(
    work: &mut UnitOfWork<'_>,
    fresh: HoldId,
    granting: &Granting<'_>,
    grant: PathGrant,
) -> Result<hold::Row> {
    let (expires_at, ttl) = granting.until;
    let fence = Fence::from(work.append(About::of(granting.pattern.text()).hold(&fresh), granting.event(grant))?);
    let row = hold::Row {
        mode: granting.mode,
        granted_at: work.now,
        expires_at,
        ttl,
        reason: granting.reason.to_owned(),
        checkout: granting.checkout.cloned(),
        folded: granting.pattern.case() == Case::Folded,
        task: granting.task.cloned(),
        place: granting.place.cloned(),
        renewal: if granting.place.is_none() { Renewal::Session } else { Renewal::Explicit },
        ..hold::Row::new(fresh, (HoldKind::Path, granting.pattern.text()), granting.holder, fence)
    };
    path::insert(work.tx, &work.project.id, &row, &granting.pattern.prefix())?;
    work.project.holds_issued += 1;
    Ok(row)
}

/// A hold as the answer shows it, with the location of its checkout.
pub(crate) fn shown(work: &mut UnitOfWork<'_>, row: &hold::Row) -> Result<answer::Hold> {
    let mut hold = match row.ended {
        None => answer::Hold::granted(row, work.now),
        Some(_) => answer::Hold::of(row, None, work.now),
    };
    if row.checkout.is_some() {
        Checkouts::of(work)?.show(&mut hold);
    }
    Ok(hold)
}

/// Unused ids for some holds.
pub(crate) fn fresh_ids(work: &mut UnitOfWork<'_>, count: usize) -> Result<Vec<HoldId>> {
    let mut drawn: Vec<HoldId> = (0..count).map(|_| work.draw_next()).collect();
    let taken = drawn.iter().map(|id| hold::exists(&work.project.id, id));
    let taken = work.tx.fetch(taken.collect::<Vec<_>>())?;
    for at in 0..count {
        while taken[at] || drawn[..at].contains(&drawn[at]) {
            let again = work.redraw()?;
            if !drawn.contains(&again) {
                drawn[at] = again;
                break;
            }
        }
    }
    Ok(drawn)
}
