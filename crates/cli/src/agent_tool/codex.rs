//! Codex. Its hooks: developers.openai.com/codex/hooks; its documents have schemas in `codex-rs/hooks/schema/generated`,
//! which refuse fields that they do not know.

use std::collections::HashSet;

use serde_json::json;

use super::HookEventKind::{After, Before, Compact, End, Nothing, Prompt, Start};
use super::{AfterCompaction, AgentTool, HookEvent, additional_context, below_home, permission_denied};
use crate::setup::json_entries::HookLayout;
use crate::setup::target::Content;

/// The tools that change files or run commands.
const CALLS: &str = "apply_patch|Bash";

pub(super) const TOOL: AgentTool = AgentTool {
    name: "codex",
    title: "Codex",
    session_variable: Some("CODEX_THREAD_ID"),
    marker_variables: &["CODEX_SANDBOX"],
    sends_thread_id: true,
    events: &[
        HookEvent::installed("SessionStart", Start),
        HookEvent::installed("UserPromptSubmit", Prompt),
        HookEvent::matching("PreToolUse", Before, CALLS),
        HookEvent::matching("PostToolUse", After, CALLS),
        HookEvent::installed("PreCompact", Compact),
        HookEvent::known("PostCompact", Nothing),
        HookEvent::installed("SessionEnd", End),
        HookEvent::known("Stop", Nothing),
        HookEvent::known("StopFailure", Nothing),
        HookEvent::known("SubagentStart", Nothing),
        HookEvent::known("SubagentStop", Nothing),
    ],
    context: additional_context,
    deny: permission_denied,
    // Versions before 0.129 report the hook as failed.
    hears_before: false,
    after_compaction: AfterCompaction::Start,
    // It says nothing when a person leaves a thread for a new one (`/new`).
    ends_silently: true,
    shells: &["Bash", "shell", "shell_command", "local_shell", "exec_command", "unified_exec"],
    edits: |payload| match payload.tool_name() {
        "apply_patch" => Some(patched(&payload.patch())),
        // A patch can also be put through the shell.
        name if TOOL.is_shell(name) => payload.command().map(|text| patched(&text)).filter(|files| !files.is_empty()),
        _ => None,
    },
    programs: &["codex"],
    directory: ".codex",
    home: |ground| ground.codex.clone().or_else(|| below_home(".codex", ground)),
    files: |setup| {
        let roots = Content::Roots { program: setup.program().to_owned(), dir: setup.store() };
        vec![(setup.dir.join("hooks.json"), Content::Json(vec![setup.hooks()])), (setup.dir.join("config.toml"), roots)]
    },
    shape: HookLayout::Grouped,
    timeout_unit: 1,
    needs_trust: true,
    uses_login_shell: true,
    note: |_| {
        Some("Codex runs a hook only if you trust it: open /hooks in Codex now, and after each change of the hooks.")
    },
    sample: |sample| {
        sample.usual(match sample.kind {
            Start => json!({ "source": "startup", "model": "m", "permission_mode": "default" }),
            _ if sample.is_call() => {
                let patch = "*** Begin Patch\n*** Add File: file.txt\n+x\n*** End Patch";
                json!({ "tool_name": "apply_patch", "tool_use_id": "t1", "tool_input": { "command": patch } })
            }
            _ => json!({}),
        })
    },
};

/// The files that a patch adds, changes, deletes or moves, in its order and each once.
pub(super) fn patched(patch: &str) -> Vec<String> {
    const MARKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let mut files: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    if !patch.contains("*** Begin Patch") && !MARKS.iter().any(|mark| patch.starts_with(mark)) {
        return files;
    }
    for line in patch.lines() {
        let file = MARKS.iter().find_map(|mark| line.trim_start().strip_prefix(mark)).map(str::trim);
        if let Some(file) = file.filter(|file| !file.is_empty() && known.insert(*file)) {
            files.push(file.to_owned());
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_a_patch_are_found() {
        let patch = "*** Begin Patch\n*** Add File: new file.rs\n+x\n*** Update File: a/b.rs\n*** Move to: a/c.rs\n@@\n-x\n\
                     *** Delete File: old.rs\n*** Update File: a/b.rs\n*** End Patch";
        assert_eq!(patched(patch), ["new file.rs", "a/b.rs", "a/c.rs", "old.rs"]);
        assert_eq!(patched("echo '*** Add File: x'"), Vec::<String>::new());
        assert_eq!(patched(""), Vec::<String>::new());
    }
}
