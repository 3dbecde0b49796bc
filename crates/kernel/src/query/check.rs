//! `check`: whether paths are free for the asker, and who has them if not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::hold::{HoldKind, Mode};
use tenure_core::id::{CheckoutId, ProjectId};
use tenure_core::pattern::Pattern;
use tenure_core::reserve::Wanted;
use tenure_core::site::{Site, Top};
use tenure_core::{Code, Error, Result, Stage, Time};
use tenure_store::Tx;
use tenure_store::table::{checkout, project};

use super::Scene;
use super::query::{Access, Query, Role};
use crate::call::{Call, checkout_id};
use crate::kernel::Kernel;
use crate::line;
use crate::paths;
use crate::shape::Checked;

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
        kernel.in_snapshot(call, |tx, scene| check(tx, scene, self, &patterns))
    }
}

/// The checkout that the asker is in. One that was never written from has no id: only holds over all checkouts are in it.
pub(super) fn here(tx: &mut dyn Tx, scene: &Scene<'_>) -> Result<CheckoutId> {
    let Some(place) = &scene.call.checkout else { return Ok(UNSEEN.into()) };
    let rows = tx.fetch(checkout::of_host(scene.project_id(), &place.host))?;
    Ok(checkout_id(scene.call, &rows).unwrap_or_else(|| UNSEEN.into()))
}

/// An id that no checkout has.
const UNSEEN: &str = "-";

fn check(tx: &mut dyn Tx, scene: &Scene<'_>, question: &Check, patterns: &[Pattern]) -> Result<Checked> {
    let project = scene.project_id();
    let here = if question.all_checkouts { None } else { Some(here(tx, scene)?) };
    let around = around(tx, scene, here.as_ref(), patterns)?;
    let mode = if question.shared { Mode::Shared } else { Mode::Exclusive };
    let wanted = Wanted { agent: &scene.call.actor.name, checkout: here.as_ref(), mode, patterns };
    let new = project::Row::new(&scene.call.project, ProjectId::default(), scene.now);
    let sight = scene.sight(scene.project.unwrap_or(&new));
    let in_the_way = line::decide(tx, &sight, &wanted, &around)?.err().unwrap_or_default();
    let blockers = paths::blockers(tx, project, &in_the_way, scene.now)?;
    let (total, holders) = (in_the_way.total(), paths::holders(&in_the_way));
    let mut elsewhere = Vec::new();
    if !question.all_checkouts {
        let checkouts = scene.checkouts(tx)?;
        let sight = paths::elsewhere::Sight { project, now: scene.now, dead: &scene.dead, checkouts: &checkouts };
        let me = &scene.call.actor.name;
        let held: Vec<_> = around.live.iter().filter(|row| row.holder == *me).cloned().collect();
        let own = |pattern: &Pattern| {
            // What is not held yet would meet what others have had all the time.
            let since = paths::elsewhere::since(pattern, &held).unwrap_or(Time(0));
            paths::elsewhere::Own { pattern: pattern.clone(), mode, checkout: here.clone(), since }
        };
        let own: Vec<_> = patterns.iter().map(own).collect();
        elsewhere = paths::elsewhere::of(tx, &sight, &scene.call.actor.name, &own)?;
        elsewhere.truncate(paths::BLOCKERS_MAX);
    }
    Ok(Checked { free: total == 0, blockers, total, holders, elsewhere })
}

/// What is around some patterns, as a write would find it. A project that does not exist yet has no holds, and its checkout
/// may lie in one that has.
pub(super) fn around(
    tx: &mut dyn Tx,
    scene: &Scene<'_>,
    here: Option<&CheckoutId>,
    patterns: &[Pattern],
) -> Result<paths::Around> {
    let new = project::Row::new(&scene.call.project, ProjectId::default(), scene.now);
    let project = scene.project.unwrap_or(&new);
    let site = match (&scene.call.checkout, here) {
        (_, None) => scene.checkouts(tx)?.site(&project.id, None),
        (place, Some(here)) => {
            let tops = place.iter().map(|place| Top { host: place.host.clone(), path: place.path.clone() }).collect();
            Site { project: project.id.clone(), checkout: Some(here.clone()), tops }
        }
    };
    let scope = paths::scope(tx, &project.id, here)?;
    let mut around = paths::look_around(tx, &scene.sight(project), (site, &scope), patterns)?;
    around.live.retain(|row| paths::counts(row, scene.now, &scene.dead));
    Ok(around)
}

/// Refuses a kind of hold that there is not.
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
