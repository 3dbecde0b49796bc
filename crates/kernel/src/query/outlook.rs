//! `outlook`: whether an edit is allowed, before anything is written.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::hold::{Mode, lapsed};
use tenure_core::pattern::{Case, Pattern};
use tenure_core::{Result, Time};
use tenure_store::Tx;
use tenure_store::table::{hold, project};

use super::Snapshot;
use super::query::{Access, Query, Role};
use super::standing::{HookContext, Mine, Standing, standing};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::paths;

/// How an edit of some files stands; nothing in a project that is not switched on. Files that cannot be patterns are for
/// the op to refuse.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outlook {
    /// What a hook asks.
    pub look: Standing,
    /// The files.
    pub files: Vec<String>,
    /// Whether the checkout's file system does not tell `A` from `a`.
    #[serde(default)]
    pub fold_case: bool,
}

/// How an edit stands before anything is written.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EditOutlook {
    /// What is known of the session.
    pub standing: HookContext,
    /// Whether all files are held by it already, and nothing is to be written: the edit goes on in silence.
    pub is_quiet: bool,
}

impl Query for Outlook {
    const NAME: &'static str = "outlook";
    const ABOUT: &'static str = "How an edit stands before anything is written";
    const PUBLIC: bool = false;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Option<EditOutlook>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Option<EditOutlook>> {
        let (files, fold_case) = (self.files.as_slice(), self.fold_case);
        kernel.in_snapshot(call, |tx, snapshot| {
            if !snapshot.project.is_some_and(project::Row::is_switched_on) {
                return Ok(None);
            }
            let standing = standing(tx, snapshot, &self.look)?;
            let is_quiet = match &standing.mine {
                Some(mine) if mine.settled && !files.is_empty() => covered(tx, snapshot, mine, files, fold_case)?,
                _ => false,
            };
            Ok(Some(EditOutlook { standing, is_quiet }))
        })
    }
}

/// Whether every file is covered by an own live exclusive hold that needs no renewal and belongs to the task in focus.
fn covered(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, mine: &Mine, files: &[String], fold_case: bool) -> Result<bool> {
    let case = if fold_case { Case::Folded } else { Case::Kept };
    let Ok(patterns) = files.iter().map(|file| Pattern::parse(file, case)).collect::<Result<Vec<_>>>() else {
        return Ok(false);
    };
    let here = snapshot.here();
    let rows = paths::candidates(tx, snapshot.project_id(), &[Some(here), None], &patterns)?;
    let own: Vec<&hold::Row> = rows
        .iter()
        .filter(|row| row.holder == mine.agent && row.mode == Mode::Exclusive && is_fresh(row, snapshot.now))
        // An offer is taken by the first edit.
        .filter(|row| row.place.is_none())
        .collect();
    let goes_on = |row: &hold::Row| mine.focus.is_none() || row.task == mine.focus;
    let same: HashSet<&str> = own.iter().filter(|row| goes_on(row)).map(|row| row.subject.as_str()).collect();
    let mut rest = patterns.iter().filter(|pattern| !same.contains(pattern.text())).peekable();
    if rest.peek().is_none() {
        return Ok(true);
    }
    let wider = own.iter().map(|row| paths::pattern(row)).collect::<Result<Vec<Pattern>>>()?;
    Ok(rest.all(|pattern| wider.iter().any(|wider| wider.text() != pattern.text() && wider.covers(pattern))))
}

/// Whether a hold has more than three quarters of its TTL left.
fn is_fresh(row: &hold::Row, now: Time) -> bool {
    !lapsed(now, row.expires_at) && (row.expires_at - now).0 > row.ttl.0 - row.ttl.0 / 4
}
