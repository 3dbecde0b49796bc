//! A session begins: it is registered and shown what it may need. It takes nothing, unless it is a worker.

use tenure_core::Result;
use tenure_core::session::{Context as Knowledge, Start};
use tenure_core::text::quote;
use tenure_kernel::Op;
use tenure_kernel::answer::LeftBehind;
use tenure_kernel::op::{session_end, tool_used};
use tenure_kernel::query::standing::{Depth, HookContext};

use super::brief;
use super::input::Payload;
use super::session::HookSession;
use crate::agent_tool::AfterCompaction;
use crate::guard;

/// Shows what there is by `show`, which says whether it was written out: only then does it count as told.
pub(super) fn act(
    hook_session: &HookSession<'_>,
    payload: &Payload<'_>,
    show: impl FnOnce(&str) -> bool,
) -> Result<Option<String>> {
    let depth = if hook_session.sub_agent.is_some() { Depth::News } else { Depth::Who };
    let Some(standing) = hook_session.standing(&hook_session.presence(), depth)? else { return Ok(None) };
    // A sub-agent works for its session: it is told nothing of tasks, and takes none.
    if hook_session.sub_agent.is_some() {
        hook_session.say_after(&standing, &hook_session.presence())?;
        return Ok(None);
    }
    let source = Start::of(payload.source.as_deref().unwrap_or_default());
    replace_threads(hook_session, &standing, source)?;
    let dead = hook_session.dead("nobody")?;
    let started = hook_session.start(&standing, source, &dead)?;
    let brief = brief::of(hook_session, &started.agent, &dead)?;
    if source == Start::Clear && hook_session.tool.after_compaction == AfterCompaction::Prompt {
        // What is said now it does not hear; it is said with the next prompt.
        let says = tool_used::ToolUsed { context: Knowledge::Cleared, ..hook_session.presence() };
        hook_session.run::<serde_json::Value>(&started.agent, &Op::new(says), Vec::new())?;
    }
    let left = started.left_behind.as_ref().map(|left| left_behind(left, brief.is_taken));
    let told = started.second_of.as_ref().map(|first| {
        format!(
            "Tenure: this session id also runs in another process as {first}. Here you are the separate agent {}.",
            started.agent
        )
    });
    let off = guard::sentence(&guard::here(hook_session.context.settings.env, standing.guards));
    let off = off.map(|off| format!("Tenure: {off}"));
    let parts: Vec<String> = [told, off, left, brief.text].into_iter().flatten().collect();
    let text = (!parts.is_empty()).then(|| brief::cut(parts.join("\n\n")));
    if text.is_some_and(|text| show(&text)) && (brief.offered.events.is_some() || brief.offered.mail.is_some()) {
        hook_session.run::<serde_json::Value>(&started.agent, &Op::new(brief.offered), Vec::new())?;
    }
    Ok(None)
}

/// That what a session held ended with its last process, when, and what helps. The instant keeps the text from being the
/// same as an earlier one, which some tools do not show twice.
fn left_behind(left: &LeftBehind, is_taken: bool) -> String {
    let at = left.ended_at.split_once('.').map_or(left.ended_at.clone(), |(at, _)| format!("{at}Z"));
    let mut text = format!("Tenure: your holds ended with the last process of this session, at {at}.");
    if let Some(task) = left.task.as_ref().filter(|_| !is_taken) {
        text.push_str(&format!(" You no longer hold {task}: `tenure resume` takes it again."));
    }
    if !left.paths.is_empty() {
        let named: Vec<String> = left.paths.iter().map(|path| quote(path, 120)).collect();
        let more = if left.more > 0 { format!(" and {} more", left.more) } else { String::new() };
        text.push_str(&format!(" Released: {}{more}.", named.join(", ")));
    }
    text
}

/// Ends the sessions of this process that a new one has replaced, where the tool sends no event for that: such a tool has
/// one session at a time, unless it serves others.
fn replace_threads(hook_session: &HookSession<'_>, standing: &HookContext, source: Start) -> Result<()> {
    if !hook_session.tool.ends_silently || source != Start::Startup || hook_session.serves_many() {
        return Ok(());
    }
    for old in hook_session.live_beside(&standing.known) {
        let request = session_end::SessionEnd {
            tool: hook_session.tool.name.to_owned(),
            session: old.session.clone(),
            reason: "new".to_owned(),
            event: String::new(),
        };
        hook_session.run::<serde_json::Value>(&old.agent, &Op::new(request), Vec::new())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_behind_is_named_with_what_helps() {
        let left = LeftBehind {
            ended_at: "2026-11-16T07:00:00.123456Z".into(),
            task: Some("t-1".into()),
            paths: vec!["src/a.rs".into(), "b\n”c".into()],
            more: 3,
        };
        let told = left_behind(&left, false);
        for part in ["2026-11-16T07:00:00Z", "no longer hold t-1: `tenure resume`", "“src/a.rs”", "and 3 more"] {
            assert!(told.contains(part), "{part} in {told}");
        }
        assert!(!told.contains('\n'), "{told}");
        assert!(!left_behind(&left, true).contains("t-1"), "a worker has taken it again");
        assert!(!left_behind(&LeftBehind { paths: Vec::new(), more: 0, ..left }, false).contains("Released"));
    }
}
