//! Finishes a task; what waited only for it becomes ready in the same transaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::hold::{Ending, Right};
use tenure_core::task::{Status, Verb, transition};
use tenure_core::{Result, event, id};

use super::claim::finished;
use crate::shape;
use crate::unit::Unit;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The task; without it the one in focus.
    #[serde(default)]
    pub task: Option<String>,
    /// The fence to act under, in place of the one last shown.
    #[serde(default)]
    pub fence: Option<i64>,
    /// Whether a person overrides the holder.
    #[serde(default)]
    pub force: bool,
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::Done> {
    let task = unit.meant(request.task.as_deref())?;
    let mut loaded = unit.load(&task, id::Sort::Hold)?;
    let (right, overrode) = unit.right_or_force(&loaded, request.fence, request.force)?;
    let full = &mut loaded.full;
    let status = transition(&task, full.task.status, Verb::Done).map_err(|error| finished(error, &full.task))?;
    let late = right == Right::Late;
    let before = full.task.class();
    let hold = full.held.as_ref().map_or(String::new(), |held| held.id.clone());
    let data = json!({ "late": late, "overrode": overrode, "attempt": full.task.attempt });
    let number = unit.append(event::kind::TASK_DONE, &task, &hold, None, &data)?;
    unit.end_hold(full, Ending::Finished, number, overrode.as_deref())?;
    full.task.set_status(status);
    full.task.reason.clear();
    full.task.blocked_on.clear();
    full.task.version += 1;
    full.task.updated_at = unit.now;
    full.task.finished_by = unit.me().to_owned();
    full.task.finished_at = unit.now;
    unit.store_task(before, &full.task)?;
    let mut unlocked = unit.shift(&task, -1, 0, number)?;
    unlocked.truncate(1_000);
    debug_assert_eq!(full.task.status, Status::Done);
    Ok(shape::Done { task: unit.view(&loaded.full, &loaded.edges), late, unlocked })
}
