//! The effective end of holds that belong to a task, as the next write would find it. Rows that the store returns as
//! overlap candidates contain it. For other rows it is looked up here. Both use [`tenure_core::hold::ends`].

use std::collections::{BTreeSet, HashMap};

use tenure_core::hold::ends;
use tenure_core::id::TaskId;
use tenure_core::{Result, Time};
use tenure_store::Tx;
use tenure_store::table::{hold, path};

/// The expiry of the task holds that some rows depend on.
#[derive(Default)]
pub(crate) struct Ends(HashMap<TaskId, Time>);

impl Ends {
    pub(crate) fn of(tx: &mut dyn Tx, project: &str, rows: &[hold::Row]) -> Result<Ends> {
        let live = rows.iter().filter(|row| row.is_path() && row.ended.is_none());
        let tasks: BTreeSet<TaskId> = live.filter_map(|row| row.task.clone()).collect();
        if tasks.is_empty() {
            return Ok(Ends::default());
        }
        let tasks: Vec<TaskId> = tasks.into_iter().collect();
        Ok(Ends(path::task_ends(tx, project, &tasks)?.into_iter().collect()))
    }

    /// The effective end of a hold.
    pub(crate) fn end(&self, row: &hold::Row) -> Time {
        let task = row.task.as_ref().filter(|_| row.is_path());
        ends(row.expires_at, task.and_then(|task| self.0.get(task)).copied())
    }
}

/// Replaces the stored expiry with the one that a write would find.
pub(crate) fn as_found(tx: &mut dyn Tx, project: &str, rows: &mut [hold::Row]) -> Result<()> {
    let ends = Ends::of(tx, project, rows)?;
    for row in rows.iter_mut().filter(|row| row.ended.is_none()) {
        row.expires_at = ends.end(row);
    }
    Ok(())
}
