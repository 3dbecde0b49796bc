//! Holds of checkouts that enclose the checkout of a request or are nested in it. They may belong to the same project
//! (worktrees) or to others (submodules, clones), and they block the request like its own: what counts is the file.
//!
//! Only checkouts that the store knows can have holds, so they are found by an index on the locations of checkouts, not
//! by walking directories. Writers of two projects do not wait for each other's project rows. So a transaction that
//! grants paths locks the root of its checkout exclusively until its end, and every directory above it in shared mode.
//! If one of two roots is inside the other, one transaction holds exclusively what the other needs shared: the second
//! one sees what the first wrote. This would stop being true if anything granted a path without taking these locks
//! first.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};
use tenure_core::access::Role;
use tenure_core::hold::{Mode, lapsed};
use tenure_core::id::{CheckoutId, HoldId, ProjectId};
use tenure_core::name::AgentName;
use tenure_core::pattern::{Case, Pattern, PatternCandidates, PatternForm};
use tenure_core::site::{Site, Top};
use tenure_core::{Result, Time};
use tenure_store::table::checkout::{self, DirectoryLock, Locations, NearbyCheckout};
use tenure_store::table::{hold, path};
use tenure_store::{Batch, Tx};

use crate::call::Call;

/// Patterns and their location.
pub(crate) struct Spot<'a> {
    pub(crate) site: &'a Site,
    pub(crate) patterns: &'a [Pattern],
}

/// A project other than that of the op or query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherProject {
    pub(crate) project: ProjectId,
    pub(crate) label: String,
}

/// A live hold of an enclosing or nested checkout.
#[derive(Clone, Debug)]
pub(crate) struct Nested {
    pub(crate) row: hold::Row,
    pub(crate) pattern: Pattern,
    pub(crate) site: Site,
    /// Its project, if that is another.
    pub(crate) owner: Option<OtherProject>,
}

impl Nested {
    /// Whether it blocks a pattern that an agent requests.
    pub(crate) fn blocks(&self, (agent, mode): (&str, Mode), site: &Site, asked: &[Pattern]) -> bool {
        self.row.holder != agent
            && (self.row.mode == Mode::Exclusive || mode == Mode::Exclusive)
            && asked.iter().any(|pattern| self.overlaps(site, pattern))
    }

    pub(crate) fn overlaps(&self, site: &Site, pattern: &Pattern) -> bool {
        site.overlap(pattern, &self.site, &self.pattern).is_some()
    }

    /// Whether its checkout encloses a site, or is at the same location.
    pub(crate) fn is_around(&self, site: &Site) -> bool {
        self.site.tops.iter().any(|top| site.tops.iter().any(|here| top == here || top.dir_of(here).is_some()))
    }
}

/// The context for reading holds of enclosing and nested checkouts.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) call: &'a Call,
    /// The project of the request.
    pub(crate) project: &'a str,
    pub(crate) now: Time,
    /// The clock as it was read: no project's time is behind it.
    pub(crate) clock: Time,
    /// Agents of the project that are proven dead.
    pub(crate) dead: &'a [AgentName],
}

impl View<'_> {
    /// Whether a hold of a project counts. The time of another project's last op is not known, and its clock may have
    /// been set back since. So a hold lasts no longer than its TTL from now.
    fn counts(&self, project: &str, row: &hold::Row) -> bool {
        match project == self.project {
            true => super::counts(row, self.now, self.dead),
            false => !lapsed(self.clock, row.expires_at.min(self.clock + row.ttl)),
        }
    }

    /// Whether the caller sees a project. A principal of a server is told nothing about projects in which it has no
    /// role, and their holds do not block it.
    fn sees(&self, near: &NearbyCheckout) -> bool {
        match &self.call.actor.principal {
            _ if near.project == self.project => true,
            None => true,
            Some(grants) => grants.check(&near.key, "query", Some(Role::Viewer)).is_ok(),
        }
    }

    fn owner(&self, near: &NearbyCheckout) -> Option<OtherProject> {
        let other = || OtherProject { project: near.project.clone(), label: near.label.clone() };
        (near.project != self.project).then(other)
    }
}

/// Locks the checkouts of some patterns exclusively until the end of the transaction, and the directories above them in
/// shared mode.
pub(crate) fn take_turns(tx: &mut dyn Tx, spots: &[Spot<'_>]) -> Result<()> {
    let mut turns = BTreeSet::new();
    for top in spots.iter().flat_map(|spot| &spot.site.tops) {
        turns.insert(DirectoryLock { key: key(&top.host, &top.path), shared: false });
        turns.extend(above(&top.path).map(|dir| DirectoryLock { key: key(&top.host, dir), shared: true }));
    }
    checkout::take_turns(tx, turns.into_iter().collect())
}

fn key(host: &str, dir: &str) -> i64 {
    let mut hasher = Sha256::new();
    for part in ["checkout", host, dir] {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    let hash = hasher.finalize();
    i64::from_be_bytes(std::array::from_fn(|at| hash[at]))
}

/// The directories above a location, the root last.
fn above(place: &str) -> impl Iterator<Item = &str> {
    let slashes = place.rmatch_indices('/').map(|(at, _)| at).filter(move |at| at + 1 < place.len() || *at > 0);
    slashes.map(|at| if at == 0 { "/" } else { &place[..at] })
}

/// The statements that find the checkouts that some patterns may reach into or be reached from, except those that the
/// caller does not see.
pub(crate) fn near<'a>(view: &View<'a>, spots: &[Spot<'_>]) -> impl Batch<Output = Vec<NearbyCheckout>> + use<'a> {
    let mut wanted: BTreeMap<&str, Locations> = BTreeMap::new();
    for spot in spots {
        for top in &spot.site.tops {
            let wanted = wanted.entry(&top.host).or_default();
            above(&top.place("")).for_each(|dir| wanted.only(dir));
            for pattern in spot.patterns {
                // On a case-insensitive file system the index on locations cannot find equal prefixes.
                let begins = if pattern.case() == Case::Folded { "" } else { pattern.beginning() };
                let begins = top.place(begins);
                let inside = above(&begins).take_while(|dir| dir.len() > top.path.len());
                inside.for_each(|dir| wanted.only(dir));
                if pattern.form() != PatternForm::Path || pattern.case() == Case::Folded {
                    let end = after(&begins);
                    wanted.between(begins, end);
                }
            }
        }
    }
    let at = wanted.iter().map(|(host, wanted)| checkout::at(host, wanted));
    let view = *view;
    at.collect::<Vec<_>>().map(move |found| {
        let seen = found.into_iter().flatten().filter(|near| view.sees(near));
        let all: BTreeMap<(ProjectId, CheckoutId), NearbyCheckout> =
            seen.map(|near| ((near.project.clone(), near.id.clone()), near)).collect();
        all.into_values().collect()
    })
}

/// The first text after all texts with a prefix. Locations are compared bytewise, and end in a slash or a name.
fn after(begin: &str) -> String {
    let mut end = begin.to_owned();
    match end.pop() {
        Some('/') => end.push('0'),
        Some(last) => end.extend([last, '\u{10ffff}']),
        None => end.push('\u{10ffff}'),
    }
    end
}

/// The holds of enclosing and nested checkouts for some patterns, for read-only callers.
pub(crate) fn seen(tx: &mut dyn Tx, view: &View<'_>, spots: &[Spot<'_>]) -> Result<Vec<Nested>> {
    let near = tx.fetch(near(view, spots))?;
    holds(tx, view, &near, spots)
}

/// The lookups in one checkout.
#[derive(Default)]
struct NestedLookup {
    shorter: BTreeSet<String>,
    longer: BTreeSet<(String, String)>,
}

/// The live holds of enclosing and nested checkouts that overlap one of some patterns.
pub(crate) fn holds(
    tx: &mut dyn Tx,
    view: &View<'_>,
    near: &[NearbyCheckout],
    spots: &[Spot<'_>],
) -> Result<Vec<Nested>> {
    let mut wanted: BTreeMap<(&ProjectId, Option<&CheckoutId>), NestedLookup> = BTreeMap::new();
    for near in near {
        for spot in spots {
            for candidates in spot.site.tops.iter().flat_map(|top| candidates(near, spot, top)) {
                for checkout in [None, Some(&near.id)] {
                    let wanted = wanted.entry((&near.project, checkout)).or_default();
                    wanted.shorter.extend(candidates.shorter.iter().cloned());
                    wanted.longer.extend(candidates.longer.clone());
                }
            }
        }
    }
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let (mut whose, mut statements) = (Vec::new(), Vec::new());
    for ((project, checkout), wanted) in &wanted {
        let shorter: Vec<String> = wanted.shorter.iter().cloned().collect();
        statements.push(path::shorter(project, &[*checkout], &shorter));
        statements.extend(wanted.longer.iter().map(|(begin, end)| path::longer(project, *checkout, begin, end)));
        whose.resize(statements.len(), *project);
    }
    let mut seen: BTreeSet<(&ProjectId, HoldId)> = BTreeSet::new();
    let mut all = Vec::new();
    for (project, rows) in whose.into_iter().zip(tx.fetch(statements)?) {
        for row in rows {
            if !view.counts(project, &row) || !seen.insert((project, row.id.clone())) {
                continue;
            }
            let its = near.iter().filter(|near| near.project == *project);
            let its: Vec<&NearbyCheckout> =
                its.filter(|near| row.checkout.as_ref().is_none_or(|id| *id == near.id)).collect();
            let Some(first) = its.first() else { continue };
            let tops = its.iter().map(|near| near.top.clone()).collect();
            let site = Site { project: project.clone(), checkout: row.checkout.clone(), tops };
            let nested = Nested { pattern: super::pattern(&row)?, owner: view.owner(first), site, row };
            let meets = |spot: &Spot<'_>| spot.patterns.iter().any(|pattern| nested.overlaps(spot.site, pattern));
            if spots.iter().any(meets) {
                all.push(nested);
            }
        }
    }
    all.sort_by(|one, other| (one.row.granted_at, &one.row.id).cmp(&(other.row.granted_at, &other.row.id)));
    Ok(all)
}

/// The candidates in a checkout that may overlap patterns at a root. Holds of the same checkout are looked up
/// elsewhere.
fn candidates(near: &NearbyCheckout, spot: &Spot<'_>, top: &Top) -> Vec<PatternCandidates> {
    let is_own =
        near.project == spot.site.project && (spot.site.checkout.as_ref() == Some(&near.id) || near.top == *top);
    match (near.top.dir_of(top), top.dir_of(&near.top)) {
        (Some(dir), _) => spot.patterns.iter().map(|pattern| pattern.candidates_around(&dir)).collect(),
        (_, Some(dir)) => spot.patterns.iter().filter_map(|pattern| pattern.candidates_in(&dir)).collect(),
        _ if near.top == *top && !is_own => spot.patterns.iter().map(Pattern::candidates).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directories_above_a_place_end_at_the_root() {
        let dirs = |place| above(place).collect::<Vec<_>>();
        assert_eq!(dirs("/w/a/b"), ["/w/a", "/w", "/"]);
        assert_eq!(dirs("/w/a/"), ["/w/a", "/w", "/"]);
        assert_eq!(dirs("/w"), ["/"]);
        assert!(dirs("/").is_empty());
    }

    #[test]
    fn what_begins_alike_comes_before_what_is_after_it() {
        for (begin, inside) in
            [("/w/", "/w/a"), ("/w/su", "/w/su"), ("/w/su", "/w/sub/x"), ("/", "/w"), ("/w/s", "/w/sé")]
        {
            assert!(*begin <= *inside && *inside < *after(begin), "{begin} {inside}");
        }
        for (begin, outside) in [("/w/", "/w0"), ("/w/su", "/w/sv"), ("/w/", "/x/a")] {
            assert!(*outside >= *after(begin), "{begin} {outside}");
        }
    }
}
