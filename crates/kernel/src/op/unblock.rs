//! Says that a blocked task can go on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::task::{Verb, transition};
use tenure_core::{Result, event};
use tenure_store::table::task;

use super::claim::finished;
use crate::shape;
use crate::unit::Unit;

/// The request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The task.
    pub task: String,
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::Task> {
    let mut loaded = unit.load(&request.task)?;
    go_on(unit, &mut loaded.full)?;
    Ok(unit.view(&loaded.full, &loaded.edges))
}

/// Opens a blocked task.
pub(crate) fn go_on(unit: &mut Unit<'_>, full: &mut task::Full) -> Result<()> {
    let id = full.task.id.clone();
    let status = transition(&id, full.task.status, Verb::Unblock).map_err(|error| finished(error, &full.task))?;
    let before = full.task.class();
    let data = json!({ "reason": full.task.reason });
    unit.append(event::kind::TASK_UNBLOCKED, &id, "", None, &data)?;
    full.task.set_status(status);
    full.task.reason.clear();
    full.task.blocked_on.clear();
    full.task.version += 1;
    full.task.updated_at = unit.now;
    unit.store_task(before, &full.task)
}
