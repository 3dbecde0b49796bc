//! `check`: whether paths are free for the caller, and who holds them if not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::hold::{HoldKind, Mode};
use tenure_core::id::{CheckoutId, ProjectId};
use tenure_core::pattern::Pattern;
use tenure_core::reserve::PatternRequest;
use tenure_core::site::{Site, Top};
use tenure_core::{Code, Error, Result, Stage, Time};
use tenure_store::Tx;
use tenure_store::table::project;

use super::Snapshot;
use super::query::{Access, Query, Role};
use crate::answer::Checked;
use crate::call::Call;
use crate::kernel::Kernel;
use crate::paths;
use crate::waiting;

/// Whether `reserve` of these paths would be granted now. What the caller holds is not in its way.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Check {
    /// Patterns relative to the top of the checkout.
    pub paths: Vec<String>,
    /// Whether sharing them would do.
    pub shared: bool,
    /// Whether they are meant in every checkout.
    pub all_checkouts: bool,
    /// Whether the checkout's file system does not tell `A` from `a`.
    pub fold_case: bool,
}

impl Query for Check {
    const NAME: &'static str = "check";
    const ABOUT: &'static str = "Whether paths are free for the asker";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Checked;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Checked> {
        let patterns = paths::read(&self.paths, self.fold_case)?;
        kernel.in_snapshot(call, |tx, snapshot| check(tx, snapshot, self, &patterns))
    }
}

fn check(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, question: &Check, patterns: &[Pattern]) -> Result<Checked> {
    let project = snapshot.project_id();
    let here = (!question.all_checkouts).then(|| snapshot.here());
    let around = around(tx, snapshot, here.as_ref(), patterns)?;
    let mode = if question.shared { Mode::Shared } else { Mode::Exclusive };
    let wanted = PatternRequest { agent: &snapshot.call.actor.name, checkout: here.as_ref(), mode, patterns };
    let new = project::Row::new(&snapshot.call.project, ProjectId::default(), snapshot.now);
    let sight = snapshot.sight(snapshot.project.unwrap_or(&new));
    let in_the_way = waiting::decide(tx, &sight, &wanted, &around)?.err().unwrap_or_default();
    let blockers = paths::blockers(tx, project, &in_the_way, snapshot.now)?;
    let (total, holders) = (in_the_way.total(), paths::holders(&in_the_way));
    let mut elsewhere = Vec::new();
    if !question.all_checkouts {
        let checkouts = snapshot.checkouts(tx)?;
        let sight = paths::other_checkouts::CheckoutView {
            project,
            now: snapshot.now,
            dead: &snapshot.dead,
            checkouts: &checkouts,
        };
        let me = &snapshot.call.actor.name;
        let held: Vec<_> = around.live.iter().filter(|row| row.holder == *me).cloned().collect();
        let own = |pattern: &Pattern| {
            // A path that is not held yet would overlap existing holds from the beginning.
            let since = paths::other_checkouts::since(pattern, &held).unwrap_or(Time(0));
            paths::other_checkouts::OwnHold { pattern: pattern.clone(), mode, checkout: here.clone(), since }
        };
        let own: Vec<_> = patterns.iter().map(own).collect();
        elsewhere = paths::other_checkouts::of(tx, &sight, &snapshot.call.actor.name, &own)?;
        elsewhere.truncate(paths::BLOCKERS_MAX);
    }
    Ok(Checked { free: total == 0, blockers, total, holders, elsewhere })
}

/// The surroundings of some patterns, as a write would find them. A project that does not exist yet has no holds, but
/// its checkout may be inside one that has.
pub(super) fn around(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    here: Option<&CheckoutId>,
    patterns: &[Pattern],
) -> Result<paths::Around> {
    let new = project::Row::new(&snapshot.call.project, ProjectId::default(), snapshot.now);
    let project = snapshot.project.unwrap_or(&new);
    let site = match (&snapshot.call.checkout, here) {
        (_, None) => snapshot.checkouts(tx)?.site(&project.id, None),
        (place, Some(here)) => {
            let tops = place.iter().map(|place| Top { host: place.host.clone(), path: place.path.clone() }).collect();
            Site { project: project.id.clone(), checkout: Some(here.clone()), tops }
        }
    };
    let scope = paths::scope(tx, &project.id, here)?;
    let mut around = paths::look_around(tx, &snapshot.sight(project), (site, &scope), patterns)?;
    around.live.retain(|row| paths::counts(row, snapshot.now, &snapshot.dead));
    Ok(around)
}

/// Parses a kind of hold, and refuses an unknown one.
pub(super) fn kind(text: &str) -> Result<Option<HoldKind>> {
    match (text, HoldKind::from_stored(text)) {
        ("", _) => Ok(None),
        (_, Some(kind)) => Ok(Some(kind)),
        (other, None) => {
            Err(Error::usage(Code::BadKind, format!("`{}` is not a kind of hold", tenure_core::text::excerpt(other)))
                .at(Stage::Arguments)
                .hint("Give task, path or name."))
        }
    }
}
