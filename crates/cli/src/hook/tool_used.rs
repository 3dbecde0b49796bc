//! A tool was used: what it changed, and whether it failed. Of a command line only the program is kept.

use tenure_core::{Result, tool as words};
use tenure_kernel::op::tool_used;

use super::guard;
use super::input::Payload;
use super::session::HookSession;
use crate::agent_tool::AgentTool;
use crate::env::Env;
use crate::workspace::Workspace;
use crate::workspace::config::Capture;

/// How much of an output is handed on to be redacted and cut.
const OUTPUT_READ: usize = 16 * 1024;

pub(super) fn act(hook_session: &HookSession<'_>) -> Result<Option<String>> {
    hook_session.say(&hook_session.says(hook_session.used.clone().unwrap_or_default()))?;
    Ok(None)
}

/// Whether a report of a tool call is mostly new to the store.
pub(super) fn is_news(used: &tool_used::ToolUsed) -> bool {
    !used.paths.is_empty() || used.failed
}

/// What a tool call did, by its event. It does not say for which session.
pub(super) fn of(
    tool: &AgentTool,
    payload: &Payload<'_>,
    has_failed: bool,
    (workspace, env): (&Workspace, &Env),
) -> Result<tool_used::ToolUsed> {
    let name = payload.tool_name();
    let shell = tool.is_shell(name);
    let edited = (tool.edits)(payload).unwrap_or_default();
    let ending = payload.ending(has_failed, shell);
    let program = shell.then(|| payload.command().and_then(|line| words::program(&line))).flatten();
    let failed = match ending.exit_status {
        Some(status) => ending.failed && words::failed(program.as_deref(), status),
        None => ending.failed,
    };
    let keeps = workspace.config.capture == Capture::Errors;
    let mut paths = guard::inside(&workspace.dir, env.cwd()?, &edited);
    // An edit that failed changed nothing that one could rely on; its path is told with the failure alone.
    paths.truncate(if failed { 1 } else { tool_used::PATHS_MAX });
    Ok(tool_used::ToolUsed {
        tool_name: name.chars().filter(|c| !c.is_control()).take(64).collect(),
        kind: match (shell, edited.is_empty()) {
            (true, _) => words::ToolKind::Shell,
            (false, false) => words::ToolKind::Edit,
            (false, true) => words::ToolKind::Other,
        },
        paths,
        program,
        failed,
        exit_status: ending.exit_status,
        duration_ms: payload.duration_ms(),
        output: ending.output.filter(|_| keeps && failed).map(|output| head(output, OUTPUT_READ)),
        ..tool_used::ToolUsed::default()
    })
}

fn head(mut text: String, most: usize) -> String {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}
