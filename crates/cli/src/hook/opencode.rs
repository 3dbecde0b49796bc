//! OpenCode, through the plugin that `tenure setup` writes: it sends what the others send, and reads `context` and `deny`.

use serde_json::json;

use super::codex::patched;
use super::input::Payload;
use super::tool::{Event, Tool};

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
    shells: &["bash"],
    edits: |payload: &Payload<'_>| match payload.tool_name() {
        "edit" | "write" | "multiedit" => payload.first_of(&["filePath", "file_path", "path"]),
        "patch" | "apply_patch" => patched(&payload.patch()),
        _ => Vec::new(),
    },
};
