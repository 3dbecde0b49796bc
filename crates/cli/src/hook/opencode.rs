//! OpenCode, through the plugin that `tenure setup` writes: it sends what the others send, and reads `context` and `deny`.

use serde_json::json;

use super::codex::patched;
use super::input::Payload;
use super::tool::{Afterwards, Event, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "opencode",
    events: &[
        ("session.created", Event::Start),
        ("session.start", Event::Start),
        ("chat.message", Event::Prompt),
        ("tool.execute.before", Event::Before),
        ("tool.execute.after", Event::After),
        ("session.compacting", Event::Compact),
        ("experimental.session.compacting", Event::Compact),
        ("session.compacted", Event::Start),
        ("session.deleted", Event::End),
        ("session.end", Event::End),
        ("session.idle", Event::Nothing),
    ],
    context: |_, text| json!({ "context": text }),
    deny: |_, reason| json!({ "deny": reason }),
    hears_before: false,
    afterwards: Afterwards::Now,
    shells: &["bash", "shell"],
    edits: |payload: &Payload<'_>| match payload.tool_name() {
        "edit" | "write" | "multiedit" => Some(payload.first_of(&["filePath", "file_path", "path"])),
        "patch" | "apply_patch" => Some(patched(&payload.patch())),
        _ => None,
    },
};

#[cfg(test)]
mod tests {
    use super::*;

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
