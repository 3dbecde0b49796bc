//! Gemini CLI. Its hooks: geminicli.com/docs/hooks/reference.

use serde_json::json;

use super::input::Payload;
use super::tool::{Afterwards, Event, Tool, additional_context};

pub(super) const TOOL: Tool = Tool {
    name: "gemini",
    events: &[
        ("SessionStart", Event::Start),
        ("BeforeAgent", Event::Prompt),
        ("BeforeTool", Event::Before),
        ("AfterTool", Event::After),
        ("PreCompress", Event::Compact),
        ("SessionEnd", Event::End),
        ("AfterAgent", Event::Nothing),
        ("BeforeModel", Event::Nothing),
        ("AfterModel", Event::Nothing),
        ("BeforeToolSelection", Event::Nothing),
        ("Notification", Event::Nothing),
    ],
    context: additional_context,
    deny: |_, reason| json!({ "decision": "deny", "reason": reason }),
    hears_before: false,
    afterwards: Afterwards::Prompt,
    shells: &["run_shell_command"],
    edits: |payload: &Payload<'_>| match payload.tool_name() {
        "write_file" | "replace" | "edit" => Some(payload.first_of(&["file_path", "path"])),
        _ => None,
    },
};
