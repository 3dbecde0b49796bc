//! A session is over: what it holds is free now.

use tenure_core::Result;
use tenure_kernel::Op;
use tenure_kernel::op::session_end;
use tenure_kernel::query::standing::Depth;

use super::input::Payload;
use super::session::HookSession;

pub(super) fn act(hook_session: &HookSession<'_>, payload: &Payload<'_>) -> Result<Option<String>> {
    let Some(standing) = hook_session.standing(&hook_session.presence(), Depth::Who)? else { return Ok(None) };
    // One that was never registered has nothing that could end; a sub-agent's end is not the session's.
    let Some(mine) = standing.mine.as_ref().filter(|_| hook_session.sub_agent.is_none()) else { return Ok(None) };
    let own: Vec<_> = standing.known.iter().filter(|seen| seen.agent == mine.agent).cloned().collect();
    let request = session_end::SessionEnd {
        tool: hook_session.tool.name.to_owned(),
        session: hook_session.session().to_owned(),
        reason: payload.reason.clone().unwrap_or_default().chars().filter(|c| !c.is_control()).take(64).collect(),
        event: hook_session.event().to_owned(),
    };
    hook_session.run::<serde_json::Value>(&mine.agent, &Op::new(request), hook_session.proofs(&own))?;
    Ok(None)
}
