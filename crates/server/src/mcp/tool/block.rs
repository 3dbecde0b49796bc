//! `block`

use tenure_kernel::op::block::Block;
use tenure_kernel::{Op, answer};

use super::{Nature, Tool, read};
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "block",
    about: "Block your task when it cannot continue until a person or another task acts; give the reason. This \
            releases the task",
    input: || schema::input::<Block>(&["fence", "force"]),
    output: &[schema::output::<answer::Task>],
    nature: Nature::Settles,
    ops: &["block"],
    call: |tool_call, arguments| {
        let mut request: Block = read(arguments)?;
        request.task = tool_call.task_or_focus(request.task.as_deref())?;
        request.on = tool_call.task_or_focus(request.on.as_deref())?;
        tool_call.run(&Op::new(request))
    },
};
