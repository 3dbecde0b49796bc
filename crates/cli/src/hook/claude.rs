//! Claude Code. Its hooks: code.claude.com/docs/en/hooks.

use super::input::Payload;
use super::tool::{Afterwards, Event, Tool, additional_context, permission_denied};

pub(super) const TOOL: Tool = Tool {
    name: "claude",
    events: &[
        ("SessionStart", Event::Start),
        ("UserPromptSubmit", Event::Prompt),
        ("PreToolUse", Event::Before),
        ("PostToolUse", Event::After),
        ("PostToolUseFailure", Event::Failed),
        ("PreCompact", Event::Compact),
        ("SessionEnd", Event::End),
        ("Stop", Event::Nothing),
        ("SubagentStart", Event::Nothing),
        ("SubagentStop", Event::Nothing),
        ("Notification", Event::Nothing),
    ],
    context: additional_context,
    deny: permission_denied,
    hears_before: true,
    afterwards: Afterwards::Start,
    shells: &["Bash"],
    edits: |payload: &Payload<'_>| match payload.tool_name() {
        "Edit" | "MultiEdit" | "Write" => Some(payload.field("file_path")),
        "NotebookEdit" => Some(payload.first_of(&["notebook_path", "file_path"])),
        _ => None,
    },
};
