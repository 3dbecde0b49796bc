//! Cursor. What its hooks send is known from adapters that others wrote, not from a schema of its own.

use serde_json::json;

use super::HookEventKind::{After, Before, Compact, End, Failed, Nothing, Prompt, Start};
use super::{AfterCompaction, AgentTool, HookEvent, Sample, below_home, merged};
use crate::setup::json_entries::{HookLayout, JsonPart};
use crate::setup::target::Content;

/// The tools that change files or run commands.
const CALLS: &str = "Write|Delete|Shell";

pub(super) const TOOL: AgentTool = AgentTool {
    name: "cursor",
    title: "Cursor",
    session_variable: None,
    marker_variables: &["CURSOR_AGENT"],
    sends_thread_id: false,
    events: &[
        HookEvent::installed("sessionStart", Start),
        HookEvent::installed("beforeSubmitPrompt", Prompt),
        HookEvent::matching("preToolUse", Before, CALLS),
        HookEvent::matching("postToolUse", After, CALLS),
        HookEvent::known("postToolUseFailure", Failed),
        HookEvent::installed("preCompact", Compact),
        HookEvent::installed("sessionEnd", End),
        HookEvent::known("stop", Nothing),
        HookEvent::known("subagentStart", Nothing),
        HookEvent::known("subagentStop", Nothing),
        HookEvent::known("afterFileEdit", Nothing),
        HookEvent::known("beforeShellExecution", Nothing),
        HookEvent::known("afterShellExecution", Nothing),
        HookEvent::known("beforeReadFile", Nothing),
    ],
    context: |_, text| json!({ "additional_context": text }),
    deny: |_, reason| json!({ "permission": "deny", "user_message": reason, "agent_message": reason }),
    hears_before: false,
    after_compaction: AfterCompaction::Prompt,
    ends_silently: false,
    shells: &["Shell", "Terminal", "run_terminal_cmd"],
    edits: |payload| match payload.tool_name() {
        "Write" | "Edit" | "MultiEdit" | "StrReplace" | "Delete" | "EditNotebook" | "edit_file" | "delete_file"
        | "search_replace" => {
            Some(payload.first_of(&["file_path", "path", "target_file", "target_notebook", "notebook_path"]))
        }
        _ => None,
    },
    programs: &["cursor", "cursor-agent"],
    directory: ".cursor",
    home: |ground| below_home(".cursor", ground),
    files: |setup| {
        vec![
            (setup.dir.join("hooks.json"), Content::Json(vec![setup.hooks(), JsonPart::Version])),
            (setup.dir.join("mcp.json"), Content::Json(vec![setup.server("mcpServers")])),
        ]
    },
    shape: HookLayout::Flat,
    timeout_unit: 1,
    needs_trust: false,
    uses_login_shell: false,
    note: |_| None,
    sample: |sample| {
        let session = json!({
            "conversation_id": Sample::SESSION, "workspace_roots": [sample.cwd()], "hook_event_name": sample.event,
        });
        let call = match sample.is_call() {
            true => json!({ "tool_name": "Write", "tool_use_id": "t1", "tool_input": { "file_path": sample.file() } }),
            false => json!({}),
        };
        merged(session, merged(sample.by_kind(), call))
    },
};
