//! `resume`

use schemars::JsonSchema;
use serde::Deserialize;
use tenure_core::{Result, Stage};
use tenure_kernel::Op;
use tenure_kernel::op::{claim, resume};
use tenure_kernel::shape::Resumed;

use super::{Nature, Tool, Visit, read};
use crate::mcp::answer::Answer;
use crate::mcp::delivery::Offered;
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "resume",
    about: "Start here, and again after `done` or a break: go on with your task or take the best one, with all that is \
            known about it and what happened since",
    input: || schema::input::<Request>(&[]),
    output: &[schema::output::<Resumed>],
    nature: Nature::Settles,
    ops: &["claim", "resume"],
    call: |visit, arguments| resume(visit, read(arguments)?),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Take this task instead of the best.
    #[serde(default)]
    task: Option<String>,
    /// Only tasks with all of these labels.
    #[serde(default)]
    labels: Vec<String>,
    /// Size of the brief in tokens, 1500 without it.
    #[serde(default)]
    budget: Option<i64>,
}

fn resume(visit: &Visit<'_>, request: Request) -> Result<Answer> {
    let defaults = visit.defaults()?;
    let ttl_s = defaults.task_ttl_s;
    let mut labels = if request.labels.is_empty() { defaults.labels } else { request.labels };
    let mut claimed = None;
    if let Some(typed) = request.task.as_deref() {
        // A task that is named is meant, whatever its labels. Once it is claimed it is the focus, which resume returns.
        labels = Vec::new();
        let task = Some(visit.task_id(typed)?);
        claimed = Some(visit.run(&Op::Claim(claim::Request { task, ttl_s, labels: Vec::new() }))?);
    }
    let request = resume::Request { labels, ttl_s, budget: request.budget, limit: None };
    let mut answer = visit.run(&Op::Resume(request))?;
    let resumed: Resumed = serde_json::from_value(answer.value.clone()).map_err(|error| {
        tenure_core::Error::bug(format!("the answer to resume cannot be read: {error}")).at(Stage::Reply)
    })?;
    // What a take-over made of the task's paths is known to the claim alone.
    for told in ["paths", "lost_paths"] {
        if let Some(paths) = claimed.as_ref().and_then(|claimed| claimed.value.get(told)) {
            answer.value[told] = paths.clone();
        }
    }
    answer.offered = offered(&resumed);
    answer.text = Some(resumed.brief.text);
    Ok(answer)
}

/// Where nothing is new there is nothing to confirm. Of the mail only what stands in the text was certainly read: not
/// every client shows the rest to its model.
fn offered(resumed: &Resumed) -> Offered {
    let new = !resumed.events.items.is_empty() || resumed.events.more;
    Offered { events: resumed.events.offered.filter(|_| new), mail: resumed.brief.mail }
}
