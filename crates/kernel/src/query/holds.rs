//! `holds`: the live holds, by expiry.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::hold::HoldKind;
use tenure_core::hold::lapsed;
use tenure_core::name::AgentName;
use tenure_core::pattern::{Case, Pattern};
use tenure_core::{Result, Time, id, name};
use tenure_store::table::{agent, hold};
use tenure_store::{RowsWithin, Tx};

use super::query::{Access, Query, Role};
use super::{PAGE_BYTES, Snapshot, bad_cursor, check, fitting, limit};
use crate::answer::{Hold, Page, Place};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::paths::{self, nested_holds::Nested};
use crate::waiting;

/// Which holds are shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Only those of an agent.
    pub holder: Option<AgentName>,
    /// Only those of a kind: `task`, `path` or `name`.
    pub kind: Option<String>,
    /// Only those that have a file in common with one of these patterns, in the checkout of the asker.
    pub paths: Vec<String>,
    /// Whether that checkout's file system does not tell `A` from `a`.
    pub fold_case: bool,
}

/// A page of live holds, the next to end first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Holds {
    /// Which holds.
    #[serde(default)]
    pub filter: Filter,
    /// Page size.
    #[serde(default = "super::usual")]
    pub limit: usize,
    /// Where the page begins.
    #[serde(default)]
    pub cursor: Option<String>,
}

impl Holds {
    /// The first page of all holds, or of those of one agent.
    pub fn of(holder: Option<&str>, limit: usize) -> Holds {
        Holds { filter: Filter { holder: holder.map(AgentName::from), ..Filter::default() }, limit, cursor: None }
    }
}

impl Query for Holds {
    const NAME: &'static str = "holds";
    const ABOUT: &'static str = "Live holds, the next to end first, and who waits";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Page<Hold>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Page<Hold>> {
        let filter = &self.filter;
        limit(self.limit)?;
        filter.holder.as_deref().map(name::check).transpose()?;
        let kind = check::kind(filter.kind.as_deref().unwrap_or_default())?;
        let patterns = if filter.paths.is_empty() { Vec::new() } else { paths::read(&filter.paths, filter.fold_case)? };
        let start = self.cursor.as_deref().map(parse).transpose()?;
        kernel
            .in_snapshot(call, |tx, snapshot| page(tx, snapshot, (filter, kind, &patterns), self.limit, start.as_ref()))
    }
}

fn page(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    (filter, kind, patterns): (&Filter, Option<HoldKind>, &[Pattern]),
    rows: usize,
    start: Option<&(Time, String)>,
) -> Result<Page<Hold>> {
    let project = snapshot.project_id();
    // A lapsed hold is over, settled or not, so the page begins after now.
    let now = (snapshot.now, "\u{7f}".to_owned());
    let begin = start.map_or(&now, |start| if *start > now { start } else { &now });
    let mut cut = false;
    let mut nested = Vec::new();
    let mut found = match (&filter.holder, patterns) {
        (None, []) => {
            let found = soonest_within(tx, snapshot, kind, begin, (rows + 1, PAGE_BYTES))?;
            cut = found.cut;
            found.rows
        }
        (holder, []) => {
            let own = hold::all_of_holder(tx, project, holder.as_deref().unwrap_or_default())?;
            sorted(own, begin)
        }
        (_, patterns) => {
            let (own, others) = meeting(tx, snapshot, patterns)?;
            nested = others;
            sorted(own, begin)
        }
    };
    let ends = paths::Ends::of(tx, project, &found)?;
    let is_wanted = |hold: &hold::Row| {
        !lapsed(snapshot.now, ends.end(hold))
            && filter.holder.as_ref().is_none_or(|holder| hold.holder == *holder)
            && kind.is_none_or(|kind| hold.kind == kind)
            && !snapshot.died(hold)
    };
    found.retain(is_wanted);
    let fitting = fitting(found.iter().map(bytes), rows);
    let more = cut || found.len() > fitting;
    found.truncate(fitting);
    let next = more.then(|| found.last().map(|hold| format!("{}.{}", hold.expires_at.0, hold.id))).flatten();
    let mut items = views(tx, snapshot, &found)?;
    // Holds of other projects come after all holds of this one.
    nested.retain(|one| is_wanted(&one.row));
    if !more {
        items.extend(paths::nested_views(tx, &nested, snapshot.now)?);
    }
    let total = (!more && start.is_none()).then_some(i64::try_from(items.len()).unwrap_or(i64::MAX));
    let mut page = Page::of(items, total, next);
    if start.is_none() {
        page.waiting = waiting(tx, snapshot, filter, patterns)?;
    }
    Ok(page)
}

/// The places in the waiting line that match the filter. An offer is a hold, and listed as one.
fn waiting(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, filter: &Filter, patterns: &[Pattern]) -> Result<Vec<Place>> {
    let case = if filter.fold_case { Case::Folded } else { Case::Kept };
    let meets = |place: &Place| {
        let its = place.wanted.iter().filter_map(|text| Pattern::parse(text, case).ok());
        patterns.is_empty() || its.into_iter().any(|its| patterns.iter().any(|asked| its.overlap(asked).is_some()))
    };
    let mut places = waiting::shown(tx, snapshot)?;
    places.retain(|place| {
        let kind = filter.kind.as_ref().is_none_or(|kind| place.kind == *kind);
        let on_paths = patterns.is_empty() || place.kind == HoldKind::Path.as_str();
        kind && on_paths
            && place.state == "waiting"
            && filter.holder.as_ref().is_none_or(|agent| place.agent == *agent)
            && meets(place)
    });
    Ok(places)
}

/// The first holds after a position in the order of their expiry. A hold of a dead agent is over.
pub(super) fn soonest(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    kind: Option<HoldKind>,
    begin: &(Time, String),
    limit: usize,
) -> Result<Vec<hold::Row>> {
    soonest_within(tx, snapshot, kind, begin, (limit, usize::MAX)).map(|found| found.rows)
}

/// The same, up to about `most` bytes.
fn soonest_within(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    kind: Option<HoldKind>,
    begin: &(Time, String),
    (limit, most): (usize, usize),
) -> Result<RowsWithin<hold::Row>> {
    let mut found: Vec<hold::Row> = Vec::new();
    let mut after = begin.clone();
    loop {
        let RowsWithin { rows: page, cut } =
            tx.fetch_within(hold::page(snapshot.project_id(), kind, (after.0, &after.1), limit), most)?;
        let goes_on = cut || page.len() == limit;
        let last = page.last().filter(|_| goes_on).map(|hold| (hold.expires_at, hold.id.to_string()));
        let ends = paths::Ends::of(tx, snapshot.project_id(), &page)?;
        let lives = |hold: &hold::Row| !snapshot.died(hold) && !lapsed(snapshot.now, ends.end(hold));
        found.extend(page.into_iter().filter(lives));
        let is_long = found.iter().map(bytes).sum::<usize>() > most / 2;
        match last {
            Some(last) if found.len() < limit && !is_long => after = last,
            last => {
                let cut = last.is_some() && found.len() < limit;
                found.truncate(limit);
                return Ok(RowsWithin { rows: found, cut });
            }
        }
    }
}

/// The approximate size of a hold in an answer.
fn bytes(hold: &hold::Row) -> usize {
    const REST: usize = 512;
    hold.subject.len() + hold.reason.len() + REST
}

fn sorted(mut found: Vec<hold::Row>, begin: &(Time, String)) -> Vec<hold::Row> {
    found.sort_by(|a, b| (a.expires_at, &a.id).cmp(&(b.expires_at, &b.id)));
    found.retain(|hold| (hold.expires_at, hold.id.as_str()) > (begin.0, begin.1.as_str()));
    found
}

/// The live holds of all agents that overlap some patterns: those of the project, and those of others whose checkouts
/// enclose the caller's or are nested in it.
fn meeting(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, patterns: &[Pattern]) -> Result<(Vec<hold::Row>, Vec<Nested>)> {
    let here = snapshot.here();
    let around = check::around(tx, snapshot, Some(&here), patterns)?;
    let mut met = Vec::new();
    for row in around.live {
        let its = paths::pattern(&row)?;
        if patterns.iter().any(|pattern| its.overlap(pattern).is_some()) {
            met.push(row);
        }
    }
    let (own, others): (Vec<_>, Vec<_>) = around.nested.into_iter().partition(|one| one.owner.is_none());
    let own = own.into_iter().map(|one| one.row).filter(|row| met.iter().all(|known| known.id != row.id));
    let own: Vec<hold::Row> = own.collect();
    Ok(([met, own].concat(), others))
}

/// Holds with the liveness of their holders.
pub(crate) fn views(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, found: &[hold::Row]) -> Result<Vec<Hold>> {
    let mut holders: HashMap<AgentName, Option<agent::Row>> = HashMap::new();
    for hold in found {
        if !holders.contains_key(&hold.holder) {
            holders.insert(hold.holder.clone(), tx.fetch(agent::get(snapshot.project_id(), &hold.holder))?);
        }
    }
    let ends = paths::Ends::of(tx, snapshot.project_id(), found)?;
    let seen = |hold: &hold::Row| {
        let mut hold = hold.clone();
        if hold.ended.is_none() {
            hold.expires_at = ends.end(&hold);
            hold.expires_at = if snapshot.died(&hold) { hold.expires_at.min(snapshot.now) } else { hold.expires_at };
        }
        Hold::of(&hold, holders.get(&hold.holder).and_then(Option::as_ref), snapshot.now)
    };
    let mut views: Vec<Hold> = found.iter().map(seen).collect();
    name_checkouts(tx, snapshot, &mut views)?;
    Ok(views)
}

/// Replaces the id of a checkout with its location.
pub(crate) fn name_checkouts(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, holds: &mut [Hold]) -> Result<()> {
    if holds.iter().all(|hold| hold.checkout.is_none()) {
        return Ok(());
    }
    let known = snapshot.checkouts(tx)?;
    holds.iter_mut().for_each(|hold| known.show(hold));
    Ok(())
}

fn parse(text: &str) -> Result<(Time, String)> {
    let (time, id) = text.split_once('.').filter(|(_, id)| id::is_prefix(id)).ok_or_else(|| bad_cursor(text))?;
    Ok((Time(time.parse().map_err(|_| bad_cursor(text))?), id.to_owned()))
}
