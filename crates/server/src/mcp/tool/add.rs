//! `add`

use tenure_core::Result;
use tenure_kernel::op::add::Add;
use tenure_kernel::{Op, answer};

use super::{Nature, Tool, read};
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "add",
    about: "Add a task for later or for others. Does not claim it",
    input: || schema::input::<Add>(&[]),
    output: &[schema::output::<answer::Task>],
    nature: Nature::Adds,
    ops: &["add"],
    call: |tool_call, arguments| {
        let mut request: Add = read(arguments)?;
        request.after = request.after.iter().map(|typed| tool_call.task_id(typed)).collect::<Result<_>>()?;
        tool_call.run(&Op::new(request))
    },
};
