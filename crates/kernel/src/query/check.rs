//! `check`: whether paths are free for the asker, and who has them if not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::hold::{Mode, lapsed};
use tenure_core::pattern::Pattern;
use tenure_core::reserve::Wanted;
use tenure_core::{Error, Result, Stage, Time};
use tenure_store::Tx;
use tenure_store::table::{checkout, hold};

use super::Scene;
use crate::call::{Call, checkout_id};
use crate::kernel::Kernel;
use crate::line::{self, InTheWay, Sight};
use crate::paths;
use crate::shape::Checked;

/// What is asked about paths.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Question {
    /// Patterns relative to the top of the checkout.
    pub paths: Vec<String>,
    /// Whether sharing them would do.
    pub shared: bool,
    /// Whether they are meant in every checkout.
    pub all_checkouts: bool,
    /// Whether the checkout's file system does not tell `A` from `a`.
    pub fold_case: bool,
}

impl Kernel {
    /// Whether `reserve` of these paths would be granted now. What is held by the asker stands in nobody's way.
    pub fn check(&self, call: &Call, question: &Question) -> Result<Checked> {
        let patterns = paths::read(&question.paths, question.fold_case)?;
        self.ask(call, |tx, scene| check(tx, scene, question, &patterns))
    }
}

/// The checkout that the asker is in. One that was never written from has no id: only holds over all checkouts are in it.
pub(super) fn here(tx: &mut dyn Tx, scene: &Scene<'_>) -> Result<String> {
    let Some(place) = &scene.call.checkout else { return Ok(UNSEEN.to_owned()) };
    let rows = tx.query(checkout::OF_HOST, &[scene.project_id().into(), (&place.host).into()])?;
    let rows = rows.into_iter().map(checkout::decode).collect::<Result<Vec<_>>>()?;
    Ok(Some(checkout_id(scene.call, &rows)).filter(|id| !id.is_empty()).unwrap_or_else(|| UNSEEN.to_owned()))
}

/// An id that no checkout has.
const UNSEEN: &str = "-";

fn check(tx: &mut dyn Tx, scene: &Scene<'_>, question: &Question, patterns: &[Pattern]) -> Result<Checked> {
    let project = scene.project_id();
    let here = if question.all_checkouts { String::new() } else { here(tx, scene)? };
    let live = live(tx, scene, &here, patterns)?;
    let mode = if question.shared { Mode::Shared } else { Mode::Exclusive };
    let wanted = Wanted { agent: &scene.call.actor.name, checkout: &here, mode, patterns };
    let in_the_way = match scene.project {
        Some(row) => {
            let sight = Sight { project: row, now: scene.now, dead: &scene.dead };
            line::decide(tx, &sight, &wanted, &live)?.err().unwrap_or_default()
        }
        None => InTheWay::default(),
    };
    let blockers = paths::blockers(tx, project, &in_the_way, scene.now)?;
    let total = in_the_way.holds.len() + in_the_way.places.len();
    let mut elsewhere = Vec::new();
    if !question.all_checkouts {
        let checkouts = scene.checkouts(tx)?;
        let sight = paths::elsewhere::Sight { project, now: scene.now, dead: &scene.dead, checkouts: &checkouts };
        let me = &scene.call.actor.name;
        let held: Vec<_> = live.iter().filter(|row| row.holder == *me).cloned().collect();
        let own = |pattern: &Pattern| {
            // What is not held yet would meet what others have had all the time.
            let since = paths::elsewhere::since(pattern, &held).unwrap_or(Time(0));
            paths::elsewhere::Own { pattern: pattern.clone(), mode, checkout: here.clone(), since }
        };
        let own: Vec<_> = patterns.iter().map(own).collect();
        elsewhere = paths::elsewhere::of(tx, &sight, &scene.call.actor.name, &own)?;
        elsewhere.truncate(paths::BLOCKERS_MAX);
    }
    Ok(Checked { free: total == 0, blockers, total, elsewhere })
}

/// The live holds that may overlap some patterns, as a write would find them.
pub(super) fn live(tx: &mut dyn Tx, scene: &Scene<'_>, here: &str, patterns: &[Pattern]) -> Result<Vec<hold::Row>> {
    let project = scene.project_id();
    let checkouts = paths::scope(tx, project, here)?;
    let mut found = paths::candidates(tx, project, &checkouts, patterns)?;
    found.retain(|row| !lapsed(scene.now, row.expires_at) && !scene.dead.contains(&row.holder));
    Ok(found)
}

/// Refuses a kind of hold that there is not.
pub(super) fn kind(text: &str) -> Result<&str> {
    match text {
        "" | "task" | "path" | "name" => Ok(text),
        other => {
            Err(Error::usage("bad_kind", format!("`{}` is not a kind of hold", tenure_core::text::excerpt(other)))
                .at(Stage::Arguments)
                .hint("Give task, path or name."))
        }
    }
}
