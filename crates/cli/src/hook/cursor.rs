//! Cursor. What its hooks send is known from adapters that others wrote, not from a schema of its own.

use serde_json::json;

use super::input::Payload;
use super::tool::{Afterwards, Event, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "cursor",
    events: &[
        ("sessionStart", Event::Start),
        ("beforeSubmitPrompt", Event::Prompt),
        ("preToolUse", Event::Before),
        ("postToolUse", Event::After),
        ("postToolUseFailure", Event::Failed),
        ("preCompact", Event::Compact),
        ("sessionEnd", Event::End),
        ("stop", Event::Nothing),
        ("subagentStart", Event::Nothing),
        ("subagentStop", Event::Nothing),
        ("afterFileEdit", Event::Nothing),
        ("beforeShellExecution", Event::Nothing),
        ("afterShellExecution", Event::Nothing),
        ("beforeReadFile", Event::Nothing),
    ],
    context: |_, text| json!({ "additional_context": text }),
    deny: |_, reason| json!({ "permission": "deny", "user_message": reason, "agent_message": reason }),
    hears_before: false,
    afterwards: Afterwards::Prompt,
    shells: &["Shell", "Terminal", "run_terminal_cmd"],
    edits: |payload: &Payload<'_>| match payload.tool_name() {
        "Write" | "Edit" | "MultiEdit" | "StrReplace" | "Delete" | "EditNotebook" | "edit_file" | "delete_file"
        | "search_replace" => {
            Some(payload.first_of(&["file_path", "path", "target_file", "target_notebook", "notebook_path"]))
        }
        _ => None,
    },
};
