//! A tool was used: what it changed, and whether it failed. Of a command line only the program is kept.

use std::path::Path;

use tenure_core::{Result, tool as words};
use tenure_kernel::op::tool_used;

use super::guard;
use super::input::Payload;
use super::session::HookSession;
use crate::agent_tool::HookEventKind;
use crate::workspace::config::Capture;

/// How much of an output is handed on to be redacted and cut.
const OUTPUT_READ: usize = 16 * 1024;

pub(super) fn act(
    hook_session: &HookSession<'_>,
    payload: &Payload<'_>,
    event: HookEventKind,
) -> Result<Option<String>> {
    let says = says(hook_session, payload, event)?;
    if !says.paths.is_empty() || says.failed {
        // Mostly that is new.
        hook_session.context.will_write();
    }
    hook_session.say(&says)?;
    Ok(None)
}

fn says(hook_session: &HookSession<'_>, payload: &Payload<'_>, event: HookEventKind) -> Result<tool_used::ToolUsed> {
    let name = payload.tool_name();
    let shell = hook_session.tool.is_shell(name);
    let edited = (hook_session.tool.edits)(payload).unwrap_or_default();
    let ending = payload.ending(event == HookEventKind::Failed, shell);
    let program = shell.then(|| payload.command().and_then(|line| words::program(&line))).flatten();
    let failed = match ending.exit_status {
        Some(status) => ending.failed && words::failed(program.as_deref(), status),
        None => ending.failed,
    };
    let keeps = hook_session.context.workspace()?.config.capture == Capture::Errors;
    let mut paths =
        guard::inside(Path::new(&hook_session.context.workspace()?.dir), hook_session.context.env.cwd()?, &edited);
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
        ..hook_session.presence()
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
