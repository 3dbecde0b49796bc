//! Gives a task back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::hold::{Ending, Right};
use tenure_core::task::{Status, Verb};
use tenure_core::{Error, Kind, Result, event, text};
use tenure_store::table::task;

use super::leaving::{Acting, Leaving};
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
    let acting = Acting { task: request.task.as_deref(), fence: request.fence, force: request.force };
    let mut leaving = Leaving::begin_if(unit, &acting, Verb::Release, is_held)?;
    let reason = text::body(&request.reason, "reason")?;
    leaving.end(unit, event::kind::TASK_RELEASED, Ending::Released, json!({ "reason": reason }), |_| {})?;
    Ok(leaving.view(unit))
}

/// What is over cannot be given back: finishing late is allowed, this is not.
fn is_held(task: &str, right: Right, full: &task::Full) -> Result<()> {
    if right == Right::Late {
        return Err(Error::refused(
            Kind::Stale,
            "lapsed",
            format!("your hold on {task} has lapsed: there is nothing to give back"),
        )
        .entity(task)
        .attempt(format!("tenure claim {task}"))
        .attempt("tenure next"));
    }
    if full.held.is_none() && full.task.status == Status::Open {
        return Err(Error::refused(Kind::Conflict, "not_held", format!("{task} is not held by anyone"))
            .entity(task)
            .attempt(format!("tenure show {task}")));
    }
    Ok(())
}
