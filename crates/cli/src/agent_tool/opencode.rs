//! OpenCode, through the plugin that `tenure setup` writes: it sends what the others send, and reads `context` and `deny`.

use serde_json::json;

use super::HookEventKind::{After, Before, Compact, End, Nothing, Prompt, Start};
use super::codex::patched;
use super::{AfterCompaction, AgentTool, HookEvent, Sample};
use crate::setup::json_entries::{HookLayout, JsonPart};
use crate::setup::target::{Content, SetupScope};

pub(super) const TOOL: AgentTool = AgentTool {
    name: "opencode",
    title: "OpenCode",
    // Version 1 has it from the plugin, version 2 sets it itself.
    session_variable: Some("OPENCODE_SESSION_ID"),
    marker_variables: &["OPENCODE"],
    sends_thread_id: false,
    events: &[
        HookEvent::installed("session.created", Start),
        HookEvent::known("session.start", Start),
        HookEvent::installed("chat.message", Prompt),
        HookEvent::installed("tool.execute.before", Before),
        HookEvent::installed("tool.execute.after", After),
        HookEvent::installed("session.compacting", Compact),
        HookEvent::known("experimental.session.compacting", Compact),
        HookEvent::known("session.compacted", Start),
        HookEvent::installed("session.deleted", End),
        HookEvent::known("session.end", End),
        HookEvent::known("session.idle", Nothing),
    ],
    context: |_, text| json!({ "context": text }),
    deny: |_, reason| json!({ "deny": reason }),
    hears_before: false,
    after_compaction: AfterCompaction::Now,
    ends_silently: false,
    shells: &["bash", "shell"],
    edits: |payload| match payload.tool_name() {
        "edit" | "write" | "multiedit" => Some(payload.first_of(&["filePath", "file_path", "path"])),
        "patch" | "apply_patch" => Some(patched(&payload.patch())),
        _ => None,
    },
    programs: &["opencode", "opencode2"],
    directory: ".opencode",
    home: |ground| ground.config_home.as_ref().map(|dir| dir.join("opencode")),
    files: |setup| {
        let base = if setup.scope == SetupScope::User { setup.dir.clone() } else { setup.top() };
        let (plain, commented) = (base.join("opencode.json"), base.join("opencode.jsonc"));
        let config = if !plain.exists() && commented.exists() { commented } else { plain };
        let server = json!({ "type": "local", "command": [setup.program(), "mcp"], "enabled": true });
        vec![
            (setup.dir.join("plugins/tenure.js"), Content::Plugin(plugin(setup.program()))),
            (config, Content::Json(vec![JsonPart::Mcp { at: "mcp", value: server }])),
        ]
    },
    // Of no effect: the plugin takes the place of hooks in a file.
    shape: HookLayout::Grouped,
    timeout_unit: 1,
    needs_trust: false,
    uses_login_shell: false,
    note: |_| None,
    sample: |sample| {
        let mut event = json!({
            "session_id": Sample::SESSION, "cwd": sample.cwd(), "hook_event_name": sample.event, "transcript_path": "",
        });
        if sample.is_call() {
            event["tool_name"] = json!("write");
            event["tool_input"] = json!({ "filePath": sample.file() });
        }
        event
    },
};

/// OpenCode has no command hooks: a plugin calls the program.
fn plugin(program: &str) -> String {
    include_str!("opencode_plugin.js").replace("\"@PROGRAM@\"", &json!(program).to_string())
}

/// Whether a file is a plugin of this program, of whatever version.
pub(crate) fn is_plugin(text: &str) -> bool {
    text.starts_with("// Written by `tenure setup`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::input::Payload;

    #[test]
    fn the_plugin_knows_the_tools_of_the_server_by_name() {
        let named: Vec<String> = tenure_server::mcp::names().iter().map(|name| format!("\"{name}\"")).collect();
        let line = format!("[{}]", named.join(", "));
        assert!(plugin("tenure").contains(&line), "{line}");
    }

    #[test]
    fn a_shell_is_one_under_both_of_its_names() {
        let sent =
            r#"{"tool_name":"shell","tool_input":{"command":"make"},"tool_response":{"exit_code":2,"output":"x"}}"#;
        let payload = Payload::read(sent.as_bytes()).unwrap();
        assert!(TOOL.is_shell("bash") && TOOL.is_shell(payload.tool_name()));
        let ending = payload.ending(false, TOOL.is_shell(payload.tool_name()));
        assert_eq!((ending.failed, ending.exit_status), (true, Some(2)));
    }
}
