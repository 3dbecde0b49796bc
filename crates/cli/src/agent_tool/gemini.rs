//! Gemini CLI. Its hooks: geminicli.com/docs/hooks/reference.

use serde_json::json;

use super::HookEventKind::{After, Before, Compact, End, Nothing, Prompt, Start};
use super::{AfterCompaction, AgentTool, HookEvent, additional_context, below_home};
use crate::setup::json_entries::HookLayout;
use crate::setup::target::{Content, SetupScope};

/// The tools that change files or run commands.
const CALLS: &str = "write_file|replace|run_shell_command";

pub(super) const TOOL: AgentTool = AgentTool {
    name: "gemini",
    title: "Gemini CLI",
    session_variable: None,
    marker_variables: &["GEMINI_CLI"],
    sends_thread_id: false,
    events: &[
        HookEvent::installed("SessionStart", Start),
        HookEvent::installed("BeforeAgent", Prompt),
        HookEvent::matching("BeforeTool", Before, CALLS),
        HookEvent::matching("AfterTool", After, CALLS),
        HookEvent::installed("PreCompress", Compact),
        HookEvent::installed("SessionEnd", End),
        HookEvent::known("AfterAgent", Nothing),
        HookEvent::known("BeforeModel", Nothing),
        HookEvent::known("AfterModel", Nothing),
        HookEvent::known("BeforeToolSelection", Nothing),
        HookEvent::known("Notification", Nothing),
    ],
    context: additional_context,
    deny: |_, reason| json!({ "decision": "deny", "reason": reason }),
    hears_before: false,
    after_compaction: AfterCompaction::Prompt,
    ends_silently: false,
    shells: &["run_shell_command"],
    edits: |payload| match payload.tool_name() {
        "write_file" | "replace" | "edit" => Some(payload.first_of(&["file_path", "path"])),
        _ => None,
    },
    programs: &["gemini"],
    directory: ".gemini",
    home: |ground| below_home(".gemini", ground),
    files: |setup| {
        let parts = vec![setup.hooks(), setup.server("mcpServers")];
        vec![(setup.dir.join("settings.json"), Content::Json(parts))]
    },
    shape: HookLayout::Grouped,
    timeout_unit: 1_000,
    needs_trust: false,
    uses_login_shell: false,
    note: |scope| {
        (scope == SetupScope::Project)
            .then_some("Gemini CLI identifies project hooks by a fingerprint and asks you about new ones.")
    },
    sample: |sample| {
        sample.usual(match sample.kind {
            Start => json!({ "source": "startup" }),
            _ if sample.is_call() => {
                json!({ "tool_name": "write_file", "tool_input": { "file_path": sample.file(), "content": "" } })
            }
            _ => json!({}),
        })
    },
};
