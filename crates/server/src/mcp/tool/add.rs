//! `add`

use tenure_core::Result;
use tenure_kernel::op::add::Request;
use tenure_kernel::{Op, shape};

use super::{Nature, Tool, read};
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "add",
    about: "Add a task for later or for others. It takes nothing",
    input: || schema::input::<Request>(&[]),
    output: &[schema::output::<shape::Task>],
    nature: Nature::Adds,
    ops: &["add"],
    call: |visit, arguments| {
        let mut request: Request = read(arguments)?;
        request.after = request.after.iter().map(|typed| visit.task_id(typed)).collect::<Result<_>>()?;
        visit.run(&Op::Add(request))
    },
};
