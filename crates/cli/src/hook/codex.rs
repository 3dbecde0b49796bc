//! Codex. Its hooks: developers.openai.com/codex/hooks; its documents have schemas in `codex-rs/hooks/schema/generated`,
//! which refuse fields that they do not know.

use std::collections::HashSet;

use super::input::Payload;
use super::tool::{Afterwards, Event, Tool, additional_context, permission_denied};

pub(super) const TOOL: Tool = Tool {
    name: "codex",
    events: &[
        ("SessionStart", Event::Start),
        ("UserPromptSubmit", Event::Prompt),
        ("PreToolUse", Event::Before),
        ("PostToolUse", Event::After),
        ("PreCompact", Event::Compact),
        ("PostCompact", Event::Nothing),
        ("SessionEnd", Event::End),
        ("Stop", Event::Nothing),
        ("StopFailure", Event::Nothing),
        ("SubagentStart", Event::Nothing),
        ("SubagentStop", Event::Nothing),
    ],
    context: additional_context,
    deny: permission_denied,
    // It does since 0.129; earlier ones call the hook failed.
    hears_before: false,
    afterwards: Afterwards::Start,
    shells: &["Bash", "shell", "shell_command", "local_shell", "exec_command", "unified_exec"],
    edits: |payload: &Payload<'_>| match payload.tool_name() {
        "apply_patch" => Some(patched(&payload.patch())),
        // A patch can also be put through the shell.
        name if TOOL.is_shell(name) => payload.command().map(|text| patched(&text)).filter(|files| !files.is_empty()),
        _ => None,
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
