//! `may_push`: whether the caller may push commits.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::hold::Mode;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::pattern::Pattern;
use tenure_core::{Result, Time, event};
use tenure_store::Tx;
use tenure_store::table::{event as log, hold, project};

use super::Snapshot;
use super::may_commit::{Holders, Look};
use super::query::{Access, Query, Role};
use crate::answer::{Late, Pushing};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::paths::FileSet;

/// Whether commits may be pushed; nothing where the project is not switched on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MayPush {
    /// The commits.
    pub commits: Vec<Made>,
    /// Whether the checkout's file system ignores case.
    #[serde(default)]
    pub fold_case: bool,
}

/// A commit that is about to be pushed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// Its id.
    pub id: String,
    /// The time of creation.
    pub at: Time,
    /// Its files.
    pub paths: Vec<String>,
}

impl Query for MayPush {
    const NAME: &'static str = "may_push";
    const ABOUT: &'static str = "Check whether the caller may push commits";
    const PUBLIC: bool = false;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Option<Pushing>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Option<Pushing>> {
        kernel.in_snapshot(call, |tx, snapshot| {
            if !snapshot.project.is_some_and(project::Row::is_switched_on) {
                return Ok(None);
            }
            Ok(Some(Pushing { late: late(tx, snapshot, &self.commits, self.fold_case)? }))
        })
    }
}

/// The commits that conflict with a hold of another agent. Only the holder may push a file that is held in all
/// checkouts. A file held in this checkout was committed past the guard if it was committed while it was held; earlier
/// commits are fine.
fn late(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, commits: &[Made], fold_case: bool) -> Result<Vec<Late>> {
    let all: BTreeSet<&String> = commits.iter().flat_map(|commit| &commit.paths).collect();
    let all: Vec<String> = all.into_iter().cloned().collect();
    let look = Look::at(tx, snapshot, &all, fold_case)?;
    let shared: BTreeSet<String> = look.own(snapshot).into_iter().map(str::to_owned).collect();
    let me = &snapshot.call.actor.name;
    let others: Vec<&(hold::Row, Pattern)> = look.held.iter().filter(|(row, _)| row.holder != *me).collect();
    let (mut found, mut seen, mut holders) = (Vec::new(), BTreeSet::new(), Holders::default());
    for commit in commits {
        let files = FileSet::of(&commit.paths, fold_case);
        let mut made_by: Option<Option<(AgentName, EventNumber)>> = None;
        for (row, pattern) in &others {
            for path in files.within(pattern) {
                if seen.contains(path) || row.mode == Mode::Shared && shared.contains(path) {
                    continue;
                }
                if made_by.is_none() {
                    made_by = Some(recorded(tx, snapshot, &commit.id)?);
                }
                let in_the_way = match made_by.as_ref().and_then(Option::as_ref) {
                    Some((agent, _)) if *agent == row.holder => false,
                    Some((_, number)) => row.checkout.is_none() || *number > row.fence.event(),
                    None => row.checkout.is_none() || commit.at >= row.granted_at,
                };
                if in_the_way {
                    seen.insert(path.to_owned());
                    found.push(Late { commit: commit.id.clone(), taken: holders.taken(tx, snapshot, path, row)? });
                }
            }
        }
    }
    Ok(found)
}

/// The author of a commit and the number of its event, if it was recorded.
fn recorded(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, commit: &str) -> Result<Option<(AgentName, EventNumber)>> {
    let filter = log::EventFilter { subject: Some(commit.to_owned()), ..log::EventFilter::default() };
    let events = tx.fetch(log::page(snapshot.project_id(), &filter, log::ALL, false, 5))?;
    let first = events.into_iter().find(|event| event.kind == event::kind::PATH_COMMITTED);
    Ok(first.map(|event| (event.actor, event.number)))
}
