//! `release`

use tenure_kernel::op::release::Request;
use tenure_kernel::{Op, shape};

use super::{Nature, Tool, read};
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "release",
    about: "Give your task back unfinished, for another agent to take",
    input: || schema::input::<Request>(&["fence", "force"]),
    output: &[schema::output::<shape::Task>],
    nature: Nature::Settles,
    ops: &["release"],
    call: |visit, arguments| {
        let mut request: Request = read(arguments)?;
        request.task = visit.task_or_focus(request.task.as_deref())?;
        visit.run(&Op::Release(request))
    },
};
