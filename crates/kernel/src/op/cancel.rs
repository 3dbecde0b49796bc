//! Gives a task up. What depends on it is stuck until somebody edits or reopens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::hold::Ending;
use tenure_core::task::{Verb, transition};
use tenure_core::{Result, event, id, text};

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
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// The fence to act under, in place of the one last shown.
    #[serde(default)]
    pub fence: Option<i64>,
    /// Whether a person overrides the holder.
    #[serde(default)]
    pub force: bool,
}

impl Request {
    pub(crate) fn check(&self) -> Result<()> {
        text::body(&self.reason, "reason").map(|_| ())
    }
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::Task> {
    let task = unit.meant(request.task.as_deref())?;
    let mut loaded = unit.load(&task, id::Sort::Hold)?;
    let (_, overrode) = unit.right_or_force(&loaded, request.fence, request.force)?;
    let full = &mut loaded.full;
    let status = transition(&task, full.task.status, Verb::Cancel).map_err(|error| finished(error, &full.task))?;
    let before = full.task.class();
    let hold = full.held.as_ref().map_or(String::new(), |held| held.id.clone());
    let reason = text::body(&request.reason, "reason")?;
    let data = json!({ "reason": reason, "overrode": overrode });
    let number = unit.append(event::kind::TASK_CANCELLED, &task, &hold, None, &data)?;
    unit.end_hold(full, Ending::Finished, number, overrode.as_deref())?;
    full.task.set_status(status);
    full.task.reason = reason;
    full.task.blocked_on.clear();
    full.task.version += 1;
    full.task.updated_at = unit.now;
    full.task.finished_by = unit.me().to_owned();
    full.task.finished_at = unit.now;
    unit.store_task(before, &full.task)?;
    unit.shift(&task, 0, 1, number)?;
    Ok(unit.view(&loaded.full, &loaded.edges))
}
