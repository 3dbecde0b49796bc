//! A tool was used: what it changed, and whether it failed. Of a command line only the program is kept.

use std::path::Path;

use tenure_core::{Result, tool as words};
use tenure_kernel::op::tool_used;

use super::door::Door;
use super::guard;
use super::input::Payload;
use crate::agent_tool::HookEventKind;
use crate::place::config::Capture;

/// How much of an output is handed on to be redacted and cut.
const OUTPUT_READ: usize = 16 * 1024;

pub(super) fn act(door: &Door<'_>, payload: &Payload<'_>, event: HookEventKind) -> Result<Option<String>> {
    let says = says(door, payload, event)?;
    if !says.paths.is_empty() || says.failed {
        // Mostly that is new.
        door.context.will_write();
    }
    door.say(&says)?;
    Ok(None)
}

fn says(door: &Door<'_>, payload: &Payload<'_>, event: HookEventKind) -> Result<tool_used::ToolUsed> {
    let name = payload.tool_name();
    let shell = door.tool.is_shell(name);
    let edited = (door.tool.edits)(payload).unwrap_or_default();
    let ending = payload.ending(event == HookEventKind::Failed, shell);
    let program = shell.then(|| payload.command().and_then(|line| words::program(&line))).flatten();
    let failed = match ending.exit_status {
        Some(status) => ending.failed && words::failed(program.as_deref(), status),
        None => ending.failed,
    };
    let keeps = door.context.place()?.config.capture == Capture::Errors;
    let mut paths = guard::inside(Path::new(&door.context.place()?.dir), door.context.env.cwd()?, &edited);
    // An edit that failed changed nothing that one could rely on; its path is told with the failure alone.
    paths.truncate(if failed { 1 } else { tool_used::PATHS_MAX });
    Ok(tool_used::ToolUsed {
        tool_name: name.chars().filter(|c| !c.is_control()).take(64).collect(),
        kind: match (shell, edited.is_empty()) {
            (true, _) => words::Kind::Shell,
            (false, false) => words::Kind::Edit,
            (false, true) => words::Kind::Other,
        },
        paths,
        program,
        failed,
        exit_status: ending.exit_status,
        duration_ms: payload.duration_ms(),
        output: ending.output.filter(|_| keeps && failed).map(|output| head(output, OUTPUT_READ)),
        ..door.presence()
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
