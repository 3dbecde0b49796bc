//! What the guards ask before they do anything: whether they are off, whether a file is held already, and who works in a
//! checkout.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use tenure_core::error::detail::UsesTools;
use tenure_core::hold::{Mode, lapsed};
use tenure_core::pattern::{Case, Pattern};
use tenure_core::reserve::Wanted;
use tenure_core::{Error, Result, Time};
use tenure_store::Tx;
use tenure_store::table::{agent, hold, project};

use super::Scene;
use super::check::{around, here};
use super::session::{Look, Mine, Standing, standing};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::line::{self, InTheWay};
use crate::op::guard::FILES_MAX;
use crate::paths::{self, nested::Nested};
use crate::shape::{Checked, Guards};

/// How an edit stands before anything is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outlook {
    /// What is known of the session.
    pub standing: Standing,
    /// Whether all files are held by it already, and nothing is to be written: the edit goes on in silence.
    pub is_quiet: bool,
}

impl Kernel {
    /// Whether the guards are off, until when and by whom. Every guard asks this; what it needs is on the project's row,
    /// so it costs no statement of its own.
    pub fn guards(&self, call: &Call) -> Result<Guards> {
        self.ask(call, |_, scene| Ok(scene.project.map_or_else(Guards::default, |row| Guards::of(row, scene.now))))
    }

    /// How an edit of some files stands; nothing in a project that is not switched on. Files that cannot be patterns are
    /// for the op to refuse.
    pub fn outlook(&self, call: &Call, look: &Look<'_>, files: &[String], fold_case: bool) -> Result<Option<Outlook>> {
        self.ask(call, |tx, scene| {
            if !scene.project.is_some_and(project::Row::is_switched_on) {
                return Ok(None);
            }
            let standing = standing(tx, scene, look)?;
            let is_quiet = match &standing.mine {
                Some(mine) if mine.settled && !files.is_empty() => covered(tx, scene, mine, files, fold_case)?,
                _ => false,
            };
            Ok(Some(Outlook { standing, is_quiet }))
        })
    }

    /// The refusal of an edit of some files, as the op `guard` would make it, without a write: for a store that cannot be
    /// written now. Nothing where nobody stands in the way.
    pub fn in_the_way(&self, call: &Call, files: &[String], fold_case: bool) -> Result<Option<Error>> {
        let patterns = paths::read_up_to(files, fold_case, FILES_MAX)?;
        self.ask(call, |tx, scene| {
            let Some(project) = scene.project else { return Ok(None) };
            let here = here(tx, scene)?;
            let around = around(tx, scene, &here, &patterns)?;
            let me = &scene.call.actor.name;
            let wanted = Wanted { agent: me, checkout: &here, mode: Mode::Exclusive, patterns: &patterns };
            let Err(in_the_way) = line::decide(tx, &scene.sight(project), &wanted, &around)? else { return Ok(None) };
            let refusal = paths::held_by(tx, &project.id, (&patterns, &in_the_way), scene.now)?;
            let uses_tools = tx.fetch(agent::get(&project.id, me))?.is_some_and(|agent| agent.mcp);
            Ok(Some(refusal.with(&UsesTools(uses_tools))))
        })
    }

    /// Who but the asker holds anything in the checkout of the call.
    pub fn others_here(&self, call: &Call) -> Result<Checked> {
        let everything = [Pattern::parse("./", Case::Kept)?];
        self.ask(call, |tx, scene| {
            let here = here(tx, scene)?;
            let me = &scene.call.actor.name;
            let around = around(tx, scene, &here, &everything)?;
            // What is held around this checkout reaches into it; git leaves alone what lies inside of it.
            let is_around = |one: &Nested| one.row.holder != *me && one.is_around(&around.site);
            let nested = around.nested.into_iter().filter(is_around).collect();
            let mut holds: Vec<hold::Row> = around.live.into_iter().filter(|row| row.holder != *me).collect();
            // Whose work is at risk matters more than how many files it is: each holder stands there first.
            let mut seen = HashSet::new();
            holds.sort_by_key(|row| !seen.insert(row.holder.clone()));
            let in_the_way = InTheWay { holds, nested, ..InTheWay::default() };
            let (total, holders) = (in_the_way.total(), paths::holders(&in_the_way));
            let blockers = paths::blockers(tx, scene.project_id(), &in_the_way, scene.now)?;
            Ok(Checked { free: total == 0, blockers, total, holders, elsewhere: Vec::new() })
        })
    }
}

/// Whether every file is in an own live exclusive hold that needs no renewal and goes with the task in focus.
fn covered(tx: &mut dyn Tx, scene: &Scene<'_>, mine: &Mine, files: &[String], fold_case: bool) -> Result<bool> {
    let case = if fold_case { Case::Folded } else { Case::Kept };
    let Ok(patterns) = files.iter().map(|file| Pattern::parse(file, case)).collect::<Result<Vec<_>>>() else {
        return Ok(false);
    };
    let here = here(tx, scene)?;
    let rows = paths::candidates(tx, scene.project_id(), &[here, String::new()], &patterns)?;
    let own: Vec<&hold::Row> = rows
        .iter()
        .filter(|row| row.holder == mine.agent && row.mode == Mode::Exclusive && is_fresh(row, scene.now))
        // What is only offered is taken by the first edit.
        .filter(|row| row.place.is_empty())
        .collect();
    let goes_on = |row: &hold::Row| mine.focus.is_empty() || row.task == mine.focus;
    let same: HashSet<&str> = own.iter().filter(|row| goes_on(row)).map(|row| row.subject.as_str()).collect();
    let mut rest = patterns.iter().filter(|pattern| !same.contains(pattern.text())).peekable();
    if rest.peek().is_none() {
        return Ok(true);
    }
    let wider = own.iter().map(|row| paths::pattern(row)).collect::<Result<Vec<Pattern>>>()?;
    Ok(rest.all(|pattern| wider.iter().any(|wider| wider.text() != pattern.text() && wider.covers(pattern))))
}

/// Whether a hold has more than three quarters of its time left.
fn is_fresh(row: &hold::Row, now: Time) -> bool {
    !lapsed(now, row.expires_at) && (row.expires_at - now).0 > row.ttl.0 - row.ttl.0 / 4
}
