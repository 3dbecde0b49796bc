//! What the tools have in common: events, and what each calls and expects.

use serde_json::Value;

use super::input::Payload;
use super::{claude, codex, cursor, gemini, opencode};

/// What an event means to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A session begins, or its context was made shorter.
    Start,
    /// A person sent a prompt.
    Prompt,
    /// A tool is about to be used: what a guard answers.
    Before,
    /// A tool was used.
    After,
    /// A tool was used and failed.
    Failed,
    /// The context is about to be made shorter.
    Compact,
    /// A session is over.
    End,
    /// Nothing.
    Nothing,
}

/// When a session is shown again what it lost as its context was made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// The tool begins it anew.
    Start,
    /// Nothing comes until the next prompt.
    Prompt,
    /// While it is made shorter: what is said then is kept.
    Now,
}

/// An agent tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// Its events by its own names.
    pub(super) events: &'static [(&'static str, Event)],
    /// The document that adds to the context of a session.
    pub(super) context: fn(&str, &str) -> Value,
    /// The document that refuses a tool call.
    pub(super) deny: fn(&str, &str) -> Value,
    /// Whether a session hears context with the event before a tool is used.
    pub(super) hears_before: bool,
    /// When it is shown again what it lost as its context was made shorter.
    pub(super) afterwards: Afterwards,
    /// Tools that run commands.
    pub(super) shells: &'static [&'static str],
    /// The files that a tool call changes, as the tool names them; nothing for a tool that changes no files by itself.
    pub(super) edits: fn(&Payload<'_>) -> Option<Vec<String>>,
}

const TOOLS: [&Tool; 5] = [&claude::TOOL, &codex::TOOL, &gemini::TOOL, &cursor::TOOL, &opencode::TOOL];

/// The tool of a name.
pub(super) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.into_iter().find(|tool| tool.name.eq_ignore_ascii_case(name))
}

impl Tool {
    /// The event of a name, however it is spelled: `SessionStart`, `session-start`, `session_start`.
    pub(super) fn event(&self, typed: &str) -> Option<(&'static str, Event)> {
        let plain = |name: &str| -> String {
            name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
        };
        let typed = plain(typed);
        self.events.iter().find(|(name, _)| plain(name) == typed).copied()
    }

    /// Whether a tool of that name runs commands.
    pub(super) fn is_shell(&self, name: &str) -> bool {
        self.shells.contains(&name)
    }
}

/// The document of Claude Code that adds to the context, which others have taken over.
pub(super) fn additional_context(event: &str, text: &str) -> Value {
    serde_json::json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
}

/// The document of Claude Code that refuses a tool call.
pub(super) fn permission_denied(event: &str, reason: &str) -> Value {
    serde_json::json!({
        "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    })
}
