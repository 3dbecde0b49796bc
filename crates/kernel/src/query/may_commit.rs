//! `may_commit`: whether the caller may commit files, for git's hooks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::hold::{HoldTransferred, PathReserved};
use tenure_core::event::place::OfferTaken;
use tenure_core::event::{self, Event};
use tenure_core::hold::{Ended, Ending, Mode, lapsed};
use tenure_core::id::{CheckoutId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::pattern::Pattern;
use tenure_core::site::{Site, Top};
use tenure_core::{Result, Time};
use tenure_store::Tx;
use tenure_store::table::{agent, edited_file, event as log, hold, path, project};

use super::Snapshot;
use super::query::{Access, Query, Role};
use crate::answer::{Blocker, Committing, LostFile, TakenFile};
use crate::call::Call;
use crate::fact;
use crate::kernel::Kernel;
use crate::paths::nested_holds::{self, Nested, Spot};
use crate::paths::{self, FileSet};
use crate::waiting::Obstacles;

/// How many of an agent's own ended holds are read.
const PAST_MAX: usize = 1_000;
/// How many grants since a loss are read, newest first.
const SINCE_MAX: usize = 2_000;

/// Whether files may be committed; nothing where the project is not switched on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MayCommit {
    /// The files, relative to the top of the checkout.
    pub paths: Vec<String>,
    /// Whether the checkout's file system does not tell `A` from `a`.
    pub fold_case: bool,
}

impl Query for MayCommit {
    const NAME: &'static str = "may_commit";
    const ABOUT: &'static str = "Whether files may be committed by the asker";
    const PUBLIC: bool = false;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Option<Committing>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Option<Committing>> {
        kernel.in_snapshot(call, |tx, snapshot| {
            if !snapshot.project.is_some_and(project::Row::is_switched_on) {
                return Ok(None);
            }
            let mut look = Look::at(tx, snapshot, &self.paths, self.fold_case)?;
            let taken = look.taken(tx, snapshot)?;
            let lost = look.lost(tx, snapshot, &taken)?;
            Ok(Some(Committing { taken, lost }))
        })
    }
}

/// Files of a checkout, and the holds that match them.
pub(super) struct Look {
    here: Option<CheckoutId>,
    pub(super) files: FileSet,
    /// Live holds.
    pub(super) held: Vec<(hold::Row, Pattern)>,
    /// Live holds of enclosing checkouts, each with the files that match it.
    around: Vec<(Nested, Vec<String>)>,
    /// Own holds that are over and that no write has ended yet.
    over: Vec<hold::Row>,
}

impl Look {
    pub(super) fn at(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, paths: &[String], fold_case: bool) -> Result<Look> {
        let here = snapshot.here();
        let files = FileSet::of(paths, fold_case);
        let checkouts = [None, Some(here.clone())];
        let found = files.held(tx, snapshot.project_id(), &checkouts)?;
        let (held, over): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(row, _)| paths::counts(row, snapshot.now, &snapshot.dead));
        let me = &snapshot.call.actor.name;
        let over = over.into_iter().map(|(row, _)| row);
        let over = over.filter(|row| row.holder == *me && lapsed(snapshot.now, row.expires_at)).collect();
        let around = reaching(tx, snapshot, &here, &files)?;
        Ok(Look { here: Some(here), files, held, around, over })
    }

    /// The files that others hold, except those shared with the caller.
    fn taken(&self, tx: &mut dyn Tx, snapshot: &Snapshot<'_>) -> Result<Vec<TakenFile>> {
        let me = &snapshot.call.actor.name;
        let shared = self.own(snapshot);
        let mut first: BTreeMap<&str, &hold::Row> = BTreeMap::new();
        for (row, pattern) in self.held.iter().filter(|(row, _)| row.holder != *me) {
            for path in self.files.within(pattern) {
                if row.mode == Mode::Exclusive || !shared.contains(path) {
                    first.entry(path).or_insert(row);
                }
            }
        }
        let mut holders = Holders::default();
        let mut taken: BTreeMap<String, TakenFile> = BTreeMap::new();
        for (path, row) in first {
            taken.insert(path.to_owned(), holders.taken(tx, snapshot, path, row)?);
        }
        for (one, files) in self.around.iter().filter(|(one, _)| one.row.holder != *me) {
            let in_the_way = Obstacles { nested: vec![one.clone()], ..Obstacles::default() };
            let Some(blocker) = paths::blockers(tx, snapshot.project_id(), &in_the_way, snapshot.now)?.pop() else {
                continue;
            };
            for path in files.iter().filter(|path| one.row.mode == Mode::Exclusive || !shared.contains(path.as_str())) {
                let all_checkouts = one.row.checkout.is_none();
                let found = || TakenFile { path: path.clone(), blocker: blocker.clone(), all_checkouts };
                taken.entry(path.clone()).or_insert_with(found);
            }
        }
        Ok(taken.into_values().collect())
    }

    /// The files that the caller holds.
    pub(super) fn own(&self, snapshot: &Snapshot<'_>) -> BTreeSet<&str> {
        let own = self.held.iter().filter(|(row, _)| row.holder == snapshot.call.actor.name);
        own.flat_map(|(_, pattern)| self.files.within(pattern)).collect()
    }

    /// The files whose last hold the caller lost, and that another agent has held or changed since.
    fn lost(&mut self, tx: &mut dyn Tx, snapshot: &Snapshot<'_>, taken: &[TakenFile]) -> Result<Vec<LostFile>> {
        let project = snapshot.project_id();
        let me = &snapshot.call.actor.name;
        let mut past = path::past_of(tx, project, me, PAST_MAX)?;
        past.extend(
            std::mem::take(&mut self.over)
                .into_iter()
                .map(|row| hold::Row { ended: Some(Ended { at: row.expires_at, how: Ending::Expired }), ..row }),
        );
        past.retain(|row| row.checkout.is_none() || row.checkout == self.here);
        past.sort_by_key(|row| std::cmp::Reverse(row.fence));
        let own = self.own(snapshot);
        let patterns = past.iter().map(|row| self.files.pattern(row)).collect::<Result<Vec<_>>>()?;
        let mut last: BTreeMap<&str, &hold::Row> = BTreeMap::new();
        for (row, pattern) in past.iter().zip(&patterns) {
            for path in self.files.within(pattern) {
                last.entry(path).or_insert(row);
            }
        }
        last.retain(|path, row| {
            is_lost(row)
                && !own.contains(path)
                && taken.binary_search_by(|other| other.path.as_str().cmp(path)).is_err()
        });
        if last.is_empty() {
            return Ok(Vec::new());
        }
        let since = self.since(tx, snapshot, &last)?;
        let lost = last.into_iter().filter_map(|(path, row)| {
            let ((at, by, changed), ended) = (since.get(path)?, row.ended?);
            Some(LostFile {
                path: path.to_owned(),
                how: ended.how.as_str().to_owned(),
                ago_s: ended.at.age(snapshot.now).as_seconds(),
                by: by.clone(),
                changed: *changed,
                since_s: at.age(snapshot.now).as_seconds(),
            })
        });
        Ok(lost.collect())
    }

    /// The latest agent that has changed or held each file since the caller's hold on it ended.
    fn since(
        &self,
        tx: &mut dyn Tx,
        snapshot: &Snapshot<'_>,
        last: &BTreeMap<&str, &hold::Row>,
    ) -> Result<HashMap<String, (Time, AgentName, bool)>> {
        let (project, me) = (snapshot.project_id(), &snapshot.call.actor.name);
        let names: Vec<String> = last.keys().map(|path| (*path).to_owned()).collect();
        let from = last.values().filter_map(|row| row.ended).map(|ended| ended.at).min().unwrap_or(Time(0));
        let above = last.values().map(|row| row.fence.event()).min().unwrap_or_default();
        let mut found: HashMap<String, (Time, AgentName, bool)> = HashMap::new();
        let mut note = |path: &str, at: Time, by: &str, changed: bool| {
            if last.get(path).and_then(|row| row.ended).is_some_and(|ended| at >= ended.at) {
                let entry = found.entry(path.to_owned()).or_insert_with(|| (at, by.into(), changed));
                if at > entry.0 {
                    *entry = (at, by.into(), changed);
                }
            }
        };
        for (path, by, at) in edited_file::by_others(tx, project, (or_empty(self.here.as_ref()), me), &names, from)? {
            note(&path, at, &by, true);
        }
        let files = FileSet::of(&names, self.files.is_folded());
        for kind in [event::kind::PATH_RESERVED, event::kind::OFFER_TAKEN, event::kind::HOLD_TRANSFERRED] {
            let filter = log::EventFilter { kind: Some(kind.to_owned()), ..log::EventFilter::default() };
            for row in tx.fetch(log::page(project, &filter, (above, EventNumber::MAX), true, SINCE_MAX))? {
                // Task holds and locks have no checkout.
                let (holder, checkout) = match fact::seen(&row.kind, &row.data) {
                    Event::PathReserved(PathReserved { holder, checkout, .. }) => (holder, Some(checkout)),
                    Event::OfferTaken(OfferTaken { holder, checkout, .. })
                    | Event::HoldTransferred(HoldTransferred { holder, checkout, .. }) => (holder, checkout),
                    _ => continue,
                };
                let is_here = checkout.is_some_and(|id| ["", or_empty(self.here.as_ref())].contains(&id.as_str()));
                if !is_here || holder == *me {
                    continue;
                }
                if let Ok(pattern) = Pattern::parse(&row.subject, files.case()) {
                    files.within(&pattern).for_each(|path| note(path, row.at, &holder, false));
                }
            }
        }
        Ok(found)
    }
}

/// The holds of enclosing checkouts that match some of the files, each with those files.
fn reaching(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    here: &CheckoutId,
    files: &FileSet,
) -> Result<Vec<(Nested, Vec<String>)>> {
    let (Some(project), Some(place)) = (snapshot.project, &snapshot.call.checkout) else { return Ok(Vec::new()) };
    let top = Top { host: place.host.clone(), path: place.path.clone() };
    let site = Site { project: project.id.clone(), checkout: Some(here.clone()), tops: vec![top.clone()] };
    let patterns = files.patterns()?;
    let mut found = Vec::new();
    for one in nested_holds::seen(tx, &snapshot.sight(project).view(), &[Spot { site: &site, patterns: &patterns }])? {
        let dirs = one.site.tops.iter().filter_map(|other| match other == &top {
            true => Some(String::new()),
            false => other.dir_of(&top),
        });
        let (dirs, pattern): (Vec<String>, _) = (dirs.collect(), files.pattern(&one.row)?);
        let within: Vec<String> = files.within_around(&pattern, &dirs).into_iter().map(str::to_owned).collect();
        if !within.is_empty() {
            found.push((one, within));
        }
    }
    Ok(found)
}

/// Whether a hold that is over was not released by its holder.
fn is_lost(row: &hold::Row) -> bool {
    row.ended.is_some_and(|ended| matches!(ended.how, Ending::Expired | Ending::Forced | Ending::Transferred))
}

/// A cache of holders.
#[derive(Default)]
pub(super) struct Holders(HashMap<AgentName, Option<agent::Row>>);

impl Holders {
    pub(super) fn taken(
        &mut self,
        tx: &mut dyn Tx,
        snapshot: &Snapshot<'_>,
        path: &str,
        row: &hold::Row,
    ) -> Result<TakenFile> {
        if !self.0.contains_key(&row.holder) {
            self.0.insert(row.holder.clone(), tx.fetch(agent::get(snapshot.project_id(), &row.holder))?);
        }
        let holder = self.0.get(&row.holder).and_then(Option::as_ref);
        Ok(TakenFile {
            path: path.to_owned(),
            blocker: Blocker::of_path(row, holder, snapshot.now),
            all_checkouts: row.checkout.is_none(),
        })
    }
}
