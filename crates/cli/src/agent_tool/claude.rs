//! Claude Code. Its hooks: code.claude.com/docs/en/hooks.

use serde_json::json;

use super::HookEventKind::{After, Before, Compact, End, Failed, Nothing, Prompt, Start};
use super::{AfterCompaction, AgentTool, HookEvent, additional_context, below_home, permission_denied};
use crate::setup::json_entries::{HookLayout, JsonPart};
use crate::setup::target::{Content, SetupScope};

/// The tools that change files or run commands.
const CALLS: &str = "Edit|MultiEdit|Write|NotebookEdit|Bash";

pub(super) const TOOL: AgentTool = AgentTool {
    name: "claude",
    title: "Claude Code",
    session_variable: Some("CLAUDE_CODE_SESSION_ID"),
    marker_variables: &["CLAUDECODE"],
    sends_thread_id: false,
    events: &[
        HookEvent::installed("SessionStart", Start),
        HookEvent::installed("UserPromptSubmit", Prompt),
        HookEvent::matching("PreToolUse", Before, CALLS),
        HookEvent::matching("PostToolUse", After, CALLS),
        HookEvent::matching("PostToolUseFailure", Failed, CALLS),
        HookEvent::installed("PreCompact", Compact),
        HookEvent::installed("SessionEnd", End),
        HookEvent::known("Stop", Nothing),
        HookEvent::known("SubagentStart", Nothing),
        HookEvent::known("SubagentStop", Nothing),
        HookEvent::known("Notification", Nothing),
    ],
    context: additional_context,
    deny: permission_denied,
    hears_before: true,
    after_compaction: AfterCompaction::Start,
    ends_silently: false,
    shells: &["Bash"],
    edits: |payload| match payload.tool_name() {
        "Edit" | "MultiEdit" | "Write" => Some(payload.field("file_path")),
        "NotebookEdit" => Some(payload.first_of(&["notebook_path", "file_path"])),
        _ => None,
    },
    programs: &["claude"],
    directory: ".claude",
    home: |ground| ground.claude.clone().or_else(|| below_home(".claude", ground)),
    files: |setup| {
        let grant = setup.store().map(|dir| JsonPart::Grant { at: &["sandbox", "filesystem", "allowWrite"], dir });
        let settings = std::iter::once(setup.hooks()).chain(grant).collect();
        let servers = match (setup.scope, &setup.ground.claude, &setup.ground.home) {
            (SetupScope::Project, _, _) => setup.top().join(".mcp.json"),
            (SetupScope::User, Some(dir), _) => dir.join(".claude.json"),
            (SetupScope::User, None, Some(home)) => home.join(".claude.json"),
            (SetupScope::User, None, None) => return Vec::new(),
        };
        vec![
            (setup.dir.join("settings.json"), Content::Json(settings)),
            (servers, Content::Json(vec![setup.server("mcpServers")])),
        ]
    },
    shape: HookLayout::Grouped,
    timeout_unit: 1,
    needs_trust: false,
    uses_login_shell: false,
    note: |_| None,
    sample: |sample| {
        sample.usual(match sample.kind {
            Start => json!({ "source": "startup" }),
            _ if sample.is_call() => json!({
                "tool_name": "Write", "tool_use_id": "t1", "tool_input": { "file_path": sample.file(), "content": "" },
            }),
            _ => json!({}),
        })
    },
};
