//! `release`

use schemars::JsonSchema;
use serde::Deserialize;
use tenure_core::name::AgentName;
use tenure_kernel::op::{release, transfer};
use tenure_kernel::{Op, answer};

use super::{Nature, Tool, read};
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "release",
    about: "Release your unfinished task so that another agent can take it; or release paths, or one hold",
    input: || schema::input::<Request>(&[]),
    output: &[
        schema::output::<answer::Task>,
        schema::output::<answer::Reserved>,
        schema::output::<answer::Transferred>,
    ],
    nature: Nature::Settles,
    ops: &["release", "transfer"],
    call: |tool_call, arguments| {
        let request: Request = read(arguments)?;
        let task = tool_call.task_or_focus(request.task.as_deref())?;
        let hold = request.hold.as_deref().map(|hold| tool_call.any_id(hold)).transpose()?;
        if let Some(to) = request.to.map(AgentName::from) {
            let op = transfer::Transfer { task, hold, to, ..transfer::Transfer::default() };
            if request.paths.is_empty() {
                return tool_call.run(&Op::new(op));
            }
            return tool_call.run_on_paths(&request.paths, &|paths, fold_case| {
                Op::new(transfer::Transfer { paths, fold_case, ..op.clone() })
            });
        }
        let op = release::Release { task, hold, reason: request.reason, ..release::Release::default() };
        if request.paths.is_empty() {
            return tool_call.run(&Op::new(op));
        }
        tool_call.run_on_paths(&request.paths, &|paths, fold_case| {
            Op::new(release::Release { paths, fold_case, ..op.clone() })
        })
    },
};

// The op's request, with paths as an agent knows them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Request {
    /// A task by id; by default yours.
    #[serde(default)]
    task: Option<String>,
    /// A hold by id, instead of a task.
    #[serde(default)]
    hold: Option<String>,
    /// Your holds on these paths, instead of a task.
    #[serde(default)]
    paths: Vec<String>,
    /// The agent that gets it; anyone without it.
    #[serde(default)]
    to: Option<String>,
    /// Why.
    #[serde(default)]
    reason: String,
}
