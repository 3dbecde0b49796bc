//! `reserve`

use schemars::JsonSchema;
use serde::Deserialize;
use tenure_kernel::op::reserve;
use tenure_kernel::{Op, answer};

use super::{Nature, Tool, read};
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "reserve",
    about: "Take paths before you edit them, all or none, so that no other agent edits them meanwhile. They go with your \
            task and are free when it ends",
    input: || schema::input::<Request>(&[]),
    output: &[schema::output::<answer::Reserved>],
    nature: Nature::Settles,
    ops: &["reserve"],
    call: |tool_call, arguments| {
        let request: Request = read(arguments)?;
        tool_call.run_on_paths(&request.paths, &|paths, fold_case| {
            Op::new(reserve::Reserve {
                paths,
                shared: request.shared,
                ttl_s: request.ttl_s,
                reason: request.reason.clone(),
                all_checkouts: false,
                fold_case,
                wait: request.wait,
                ..reserve::Reserve::default()
            })
        })
    },
};

// The op's request, with paths as an agent knows them. The door finds the checkout that they are in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Files, directories (all below them), or globs (with `*` or `?`).
    paths: Vec<String>,
    /// Others may share them.
    #[serde(default)]
    shared: bool,
    /// Seconds they are kept without a call of yours.
    #[serde(default)]
    ttl_s: Option<i64>,
    /// What for.
    #[serde(default)]
    reason: String,
    /// Queue where others are in the way; call again to take it.
    #[serde(default)]
    wait: bool,
}
