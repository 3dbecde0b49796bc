//! `show`: one task with its notes, dependents and newest events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Topic;
use tenure_core::id::TaskId;
use tenure_core::task::TaskStatus;
use tenure_core::{Result, id};
use tenure_store::Tx;
use tenure_store::table::{artifact, dep, note, task};

use super::Snapshot;
use super::list::views;
use super::query::{Access, Query, Role};
use crate::answer::{LoggedEvent, NoteView, Shown};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::op::note::Artifact;

/// The maximum number of notes and of dependents.
const MANY: usize = 100;
/// The maximum number of files that notes name.
const FILES: usize = 1_000;
/// The maximum number of events.
const EVENTS: usize = 20;

/// One task.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// The whole id.
    pub id: String,
}

impl Query for Show {
    const NAME: &'static str = "show";
    const ABOUT: &'static str = "Get one task with its notes, dependents and newest events";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Shown;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Shown> {
        id::named(&self.id, id::Sort::Task)?;
        kernel.in_snapshot(call, |tx, snapshot| show(tx, snapshot, &self.id.as_str().into()))
    }
}

pub(super) fn show(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, named: &TaskId) -> Result<Shown> {
    let project = snapshot.project_id();
    let full = tx.fetch(task::get(project, named))?.ok_or_else(|| id::unknown(named, id::Sort::Task))?;
    let blocker_gone = match &full.task.blocked_on {
        None => false,
        Some(on) => {
            task::existing(tx, project, std::slice::from_ref(on))?.iter().all(|(_, status)| *status == TaskStatus::Done)
        }
    };
    let notes = note::newest_within(tx, project, named, (MANY, super::PAGE_BYTES))?;
    let mut notes = notes.rows.into_iter().map(NoteView::of).collect::<Result<Vec<_>>>()?;
    // The newest come first, and those of one note in reverse order.
    for file in artifact::newest(tx, project, named, FILES)?.into_iter().rev() {
        if let Some(note) = notes.iter_mut().find(|note| note.id == file.note) {
            let artifact::Row { path, kind, sha256, size, .. } = file;
            note.artifacts.push(Artifact { path, kind: Some(kind), sha256, size });
        }
    }
    let dependents = dep::dependents(tx, project, named, MANY)?.into_iter().map(|edge| edge.after).collect();
    let (mut events, _) = super::why::newest(tx, project, named, Topic::Other, EVENTS)?;
    events.reverse();
    let mut views = views(tx, snapshot, std::slice::from_ref(&full))?;
    let task = views.pop().ok_or_else(|| id::unknown(named, id::Sort::Task))?;
    let events = events.into_iter().map(LoggedEvent::of).collect::<Result<_>>()?;
    Ok(Shown { task, blocker_gone, notes, dependents, events })
}
