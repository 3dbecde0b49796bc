//! Says that a task cannot go on, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::hold::{Ending, Right};
use tenure_core::task::{Status, Verb, transition};
use tenure_core::{Error, Kind, Result, event, id, text};
use tenure_store::table::task;

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
    pub reason: String,
    /// The task that blocks it: when that is done, the blocker is gone.
    #[serde(default)]
    pub on: Option<String>,
    /// The fence to act under, in place of the one last shown.
    #[serde(default)]
    pub fence: Option<i64>,
    /// Whether a person overrides the holder.
    #[serde(default)]
    pub force: bool,
}

impl Request {
    pub(crate) fn check(&self) -> Result<()> {
        text::required(&self.reason, "reason").map(|_| ())
    }
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::Task> {
    let task = unit.meant(request.task.as_deref())?;
    let mut loaded = unit.load(&task, id::Sort::Hold)?;
    let (right, overrode) = unit.right_or_force(&loaded, request.fence, request.force)?;
    let status =
        transition(&task, loaded.full.task.status, Verb::Block).map_err(|error| finished(error, &loaded.full.task))?;
    if let Some(on) = &request.on {
        check_blocker(unit, &task, on)?;
    }
    let reason = text::required(&request.reason, "reason")?;
    let full = &mut loaded.full;
    let before = full.task.class();
    let hold = full.held.as_ref().map_or(String::new(), |held| held.id.clone());
    let data = json!({ "reason": reason, "on": request.on, "late": right == Right::Late, "overrode": overrode });
    let number = unit.append(event::kind::TASK_BLOCKED, &task, &hold, None, &data)?;
    unit.end_hold(full, Ending::Finished, number, overrode.as_deref())?;
    full.task.set_status(status);
    full.task.reason = reason;
    full.task.blocked_on = request.on.clone().unwrap_or_default();
    full.task.version += 1;
    full.task.updated_at = unit.now;
    unit.store_task(before, &full.task)?;
    Ok(unit.view(&loaded.full, &loaded.edges))
}

fn check_blocker(unit: &mut Unit<'_>, task: &str, on: &str) -> Result<()> {
    if on == task {
        return Err(Error::refused(Kind::Conflict, "cycle", format!("{task} cannot be blocked on itself")).entity(task));
    }
    match task::existing(unit.tx, &unit.project.id, &[on.to_owned()])?.first() {
        None => Err(id::unknown(on, id::Sort::Task)),
        Some((_, status @ (Status::Done | Status::Cancelled))) => {
            Err(Error::refused(Kind::Conflict, "blocker_gone", format!("{on} is {status}: it cannot block anything"))
                .entity(on))
        }
        Some(_) => Ok(()),
    }
}
