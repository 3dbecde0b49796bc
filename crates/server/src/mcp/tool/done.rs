//! `done`

use tenure_kernel::op::done::Done;
use tenure_kernel::{Op, answer};

use super::{Nature, Tool, read};
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "done",
    about: "Finish your task when its acceptance criteria are met; its dependents become ready. `resume` then gives \
            the next task",
    input: || schema::input::<Done>(&["fence", "force"]),
    output: &[schema::output::<answer::Finished>],
    nature: Nature::Settles,
    ops: &["done"],
    call: |tool_call, arguments| {
        let mut request: Done = read(arguments)?;
        request.task = tool_call.task_or_focus(request.task.as_deref())?;
        tool_call.run(&Op::new(request))
    },
};
