//! `reserve`

use schemars::JsonSchema;
use serde::Deserialize;
use tenure_kernel::op::reserve;
use tenure_kernel::{Op, answer};

use super::{Nature, Tool, read};
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "reserve",
    about: "Reserve paths before you edit them, all or none, so that no other agent edits them. They are released \
            when your task ends",
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
    /// Share the paths with other shared reservations.
    #[serde(default)]
    shared: bool,
    /// Seconds that the holds live without a call.
    #[serde(default)]
    ttl_s: Option<i64>,
    /// The purpose.
    #[serde(default)]
    reason: String,
    /// Join the waiting line if a hold conflicts; call again to take the paths.
    #[serde(default)]
    wait: bool,
}
