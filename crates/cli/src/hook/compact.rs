//! The context of a session is about to be made shorter: what it knew of its task is shown to it again, where its tool has
//! a place for that.

use tenure_core::Result;
use tenure_core::session::Context;
use tenure_kernel::op::tool_used;
use tenure_kernel::query::standing::Depth;

use super::brief;
use super::door::Door;
use crate::agent_tool::AfterCompaction;

pub(super) fn act(door: &Door<'_>) -> Result<Option<String>> {
    let Some(standing) = door.standing(&door.presence(), Depth::News)? else { return Ok(None) };
    let afterwards = door.tool.after_compaction;
    // The context of a sub-agent is its own.
    let own = door.sub_agent.is_none();
    let context = if own && afterwards == AfterCompaction::Prompt { Context::Shortened } else { Context::Kept };
    door.say_after(&standing, &tool_used::ToolUsed { context, ..door.presence() })?;
    match &standing.mine {
        Some(mine) if own && afterwards == AfterCompaction::Now => brief::short(door, &mine.agent),
        _ => Ok(None),
    }
}
