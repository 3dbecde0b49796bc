//! The context of a session is about to be made shorter: what it knew of its task is shown to it again, where its tool has
//! a place for that.

use tenure_core::Result;
use tenure_core::session::Context;
use tenure_kernel::op::tool_used;
use tenure_kernel::query::standing::Depth;

use super::brief;
use super::session::HookSession;
use crate::agent_tool::AfterCompaction;

pub(super) fn act(hook_session: &HookSession<'_>) -> Result<Option<String>> {
    let Some(standing) = hook_session.standing(&hook_session.presence(), Depth::News)? else { return Ok(None) };
    let afterwards = hook_session.tool.after_compaction;
    // The context of a sub-agent is its own.
    let own = hook_session.sub_agent.is_none();
    let context = if own && afterwards == AfterCompaction::Prompt { Context::Shortened } else { Context::Kept };
    hook_session.say_after(&standing, &tool_used::ToolUsed { context, ..hook_session.presence() })?;
    match &standing.mine {
        Some(mine) if own && afterwards == AfterCompaction::Now => brief::short(hook_session, &mine.agent),
        _ => Ok(None),
    }
}
