//! Gives a task back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::hold::{Ending, Right};
use tenure_core::task::{Status, Verb, transition};
use tenure_core::{Error, Kind, Result, event, id, text};

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
    let (right, overrode) = unit.right_or_force(&loaded, request.fence, request.force)?;
    if right == Right::Late {
        // What is over cannot be given back; finishing late is allowed, this is not.
        return Err(Error::refused(
            Kind::Stale,
            "lapsed",
            format!("your hold on {task} has lapsed: there is nothing to give back"),
        )
        .entity(&task)
        .attempt(format!("tenure claim {task}"))
        .attempt("tenure next"));
    }
    let full = &mut loaded.full;
    if full.held.is_none() && full.task.status == Status::Open {
        return Err(Error::refused(Kind::Conflict, "not_held", format!("{task} is not held by anyone"))
            .entity(&task)
            .attempt(format!("tenure show {task}")));
    }
    let status = transition(&task, full.task.status, Verb::Release).map_err(|error| finished(error, &full.task))?;
    let before = full.task.class();
    let hold = full.held.as_ref().map_or(String::new(), |held| held.id.clone());
    let reason = text::body(&request.reason, "reason")?;
    let data = json!({ "reason": reason, "overrode": overrode });
    let number = unit.append(event::kind::TASK_RELEASED, &task, &hold, None, &data)?;
    unit.end_hold(full, Ending::Released, number, overrode.as_deref())?;
    full.task.set_status(status);
    full.task.version += 1;
    full.task.updated_at = unit.now;
    unit.store_task(before, &full.task)?;
    Ok(unit.view(&loaded.full, &loaded.edges))
}
