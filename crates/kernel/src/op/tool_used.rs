//! Records structured facts of one tool call: presence, files changed, failures. It never records a prompt or a command
//! line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::tool::{ToolFailed, ToolWorked};
use tenure_core::id::or_empty;
use tenure_core::number::EventNumber;
use tenure_core::tool::{self, Past, Remark};
use tenure_core::{Code, Error, Result, Span, Time, redact, session};
use tenure_store::Tx;
use tenure_store::table::{edited_file, event as log, hook_run as hooks, session as table};

use super::operation::{Access, Door, Operation, Role};
use crate::fact;
use crate::unit_of_work::{About, UnitOfWork};
use crate::{answer, session as sessions};

/// The maximum number of files recorded for one call.
pub const PATHS_MAX: usize = 200;
/// The maximum number of bytes kept of a failure's output.
pub const OUTPUT_MAX: usize = 400;
/// How many of an agent's last events are searched for earlier tool calls.
pub(crate) const LOOK_BACK: usize = 64;
/// The minimum interval between two recorded runs of a hook.
pub const FIRED_EVERY: Span = Span::minutes(1);

/// The request. Without the name of a tool it only records presence.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolUsed {
    /// The agent tool.
    pub tool: String,
    /// The id of the session.
    pub session: String,
    /// The hook that reported it.
    #[serde(default)]
    pub event: String,
    /// The tool that was used.
    #[serde(default)]
    pub tool_name: String,
    /// What it does.
    #[serde(default)]
    pub kind: tool::ToolKind,
    /// Files that it changed, relative to the top of the checkout.
    #[serde(default)]
    pub paths: Vec<String>,
    /// The program that it ran: a base name, for some programs with a verb.
    #[serde(default)]
    pub program: Option<String>,
    /// Whether it failed.
    #[serde(default)]
    pub failed: bool,
    /// The exit status, if any.
    #[serde(default)]
    pub exit_status: Option<i64>,
    /// The duration, if known.
    #[serde(default)]
    pub duration_ms: Option<i64>,
    /// The sub-agent that used it: a label, never a holder.
    #[serde(default)]
    pub sub_agent: Option<String>,
    /// The beginning of its output if it failed; only if the configuration enables it.
    #[serde(default)]
    pub output: Option<String>,
    /// Whether the answer is shown to the session.
    #[serde(default)]
    pub told: bool,
    /// The time up to which changes are shown; later changes are shown next time. By default now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_as_of: Option<String>,
    /// The change of the session's context.
    #[serde(default)]
    pub context: session::Context,
    /// Whether this event is the one that registered the session in its process.
    #[serde(default)]
    pub first: bool,
}

/// Checks a short text of a tool: at most 128 bytes on one line, or empty.
pub(crate) fn check_word(word: &str) -> Result<()> {
    if word.len() <= 128 && tenure_core::text::hidden(word).next().is_none() {
        return Ok(());
    }
    let shown = tenure_core::text::excerpt(word);
    Err(Error::usage(Code::BadWord, format!("`{shown}` is not one line of at most 128 bytes")))
}

pub(crate) fn check_path(path: &str) -> Result<()> {
    let steps_out = path.split('/').any(|part| part == "..");
    if (1..=4_096).contains(&path.len()) && !path.starts_with('/') && !steps_out && !path.contains('\0') {
        return Ok(());
    }
    let shown = tenure_core::text::excerpt(path);
    Err(Error::usage(Code::BadToolPath, format!("`{shown}` is not a path inside the checkout")))
}

impl Operation for ToolUsed {
    const NAME: &'static str = "tool_used";
    const ABOUT: &'static str = "Record a tool call: presence, changed files, failures";
    const DOORS: &'static [Door] = &[Door::Hook];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::ToolUseRecorded;

    fn check(&self) -> Result<()> {
        session::id(&self.session)?;
        for word in [&self.tool, &self.event, &self.tool_name] {
            check_word(word)?;
        }
        self.sub_agent.as_deref().map(check_word).transpose()?;
        self.told_as_of.as_deref().map(Time::parse).transpose()?;
        if let Some(program) = self.program.as_deref().filter(|program| !tool::is_program(program)) {
            let shown = tenure_core::text::excerpt(program);
            return Err(Error::usage(Code::BadProgram, format!("`{shown}` is more than the name of a program")));
        }
        if self.paths.len() > PATHS_MAX {
            let message = format!("the call names {} files; the limit is {PATHS_MAX}", self.paths.len());
            return Err(Error::usage(Code::TooManyPaths, message));
        }
        self.paths.iter().try_for_each(|path| check_path(path))
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::ToolUseRecorded> {
        let project = work.project.id.clone();
        let me = work.me();
        let focus = work.focus().cloned();
        fired(work, &self.tool, &self.event)?;
        let process = sessions::process(work.call);
        let one = table::ProcessSession { agent: me, process: &process, tool: &self.tool, session: &self.session };
        if !self.first && !process.host.is_empty() {
            one.again(work.tx, &project, work.now)?;
        }
        if self.told {
            let found = self.told_as_of.as_deref().map(Time::parse).transpose()?;
            one.told(work.tx, &project, found.map_or(work.now, |found| found.min(work.now)))?;
        }
        let shortened_at = match self.context {
            session::Context::Kept => None,
            session::Context::Shortened => Some(Some(work.now)),
            // A negative time means that nothing of the context is left.
            session::Context::Cleared => Some(Some(Time(-work.now.0))),
            session::Context::Shown => Some(None),
        };
        if let Some(at) = shortened_at {
            one.shortened(work.tx, &project, at)?;
        }
        if !self.paths.is_empty() {
            let checkout = work.checkout.clone();
            let place = edited_file::EditedFile { task: focus.as_ref(), checkout: checkout.as_ref(), agent: me };
            edited_file::put(work.tx, &project, &place, &self.paths, work.now)?;
        }
        let number = match said(work.tx, &project, me, self)? {
            None => None,
            Some(remark) => Some(remember(work, self, remark, or_empty(focus.as_ref()))?),
        };
        Ok(answer::ToolUseRecorded { agent: me.clone(), number })
    }
}

/// The remark about a call, given the earlier remarks.
pub(crate) fn said(tx: &mut dyn Tx, project: &str, agent: &str, request: &ToolUsed) -> Result<Option<Remark>> {
    if request.tool_name.is_empty() {
        return Ok(None);
    }
    let past = log::remarks(tx, project, agent, LOOK_BACK)?.into_iter().filter_map(|(kind, data)| {
        let (failed, tool, program) = match fact::seen(&kind, &data) {
            Event::ToolFailed(ToolFailed { tool, program, .. }) => (true, tool, program),
            Event::ToolWorked(ToolWorked { tool, program, .. }) => (false, tool, program),
            _ => return None,
        };
        Some(Past { failed, tool, program: program.unwrap_or_default() })
    });
    let past: Vec<Past> = past.collect();
    Ok(tool::remark(&past, &request.tool_name, request.program.as_deref().unwrap_or_default(), !request.failed))
}

fn remember(work: &mut UnitOfWork<'_>, request: &ToolUsed, remark: Remark, focus: &str) -> Result<EventNumber> {
    let (tool, kind) = (request.tool_name.clone(), request.kind);
    let (program, path) = (request.program.clone(), request.paths.first().cloned());
    let (exit_status, duration_ms, sub_agent) = (request.exit_status, request.duration_ms, request.sub_agent.clone());
    let event = match remark {
        Remark::Worked => {
            Event::ToolWorked(ToolWorked { tool, kind, program, path, exit_status, duration_ms, sub_agent })
        }
        Remark::Failed => {
            let output = request.output.as_deref().map(kept);
            Event::ToolFailed(ToolFailed { tool, kind, program, path, exit_status, duration_ms, sub_agent, output })
        }
    };
    work.append(About::of(focus), event)
}

/// The stored part of a failing tool's output. It is redacted before it is truncated, because half of a secret can no
/// longer be recognised.
fn kept(output: &str) -> String {
    let mut kept = redact::redact(output).replace('\0', "");
    let mut end = kept.len().min(OUTPUT_MAX);
    while !kept.is_char_boundary(end) {
        end -= 1;
    }
    kept.truncate(end);
    kept
}

/// Records when a hook ran, at most once a minute.
pub(crate) fn fired(work: &mut UnitOfWork<'_>, tool: &str, event: &str) -> Result<()> {
    if event.is_empty() {
        return Ok(());
    }
    hooks::put(work.tx, &work.project.id, tool, event, work.now, work.now - FIRED_EVERY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_m5_a_command_line_is_refused_as_a_program() {
        let request = |program: &str| ToolUsed {
            tool: "claude".into(),
            session: "s".into(),
            program: Some(program.into()),
            ..ToolUsed::default()
        };
        assert!(request("cargo test").check().is_ok());
        for more in ["cargo test --secret", "curl -H x", "A=b c", "/bin/ls", "", "a\nb"] {
            assert_eq!(request(more).check().unwrap_err().code(), "bad_program", "{more}");
        }
    }

    #[test]
    fn only_paths_inside_are_taken() {
        for bad in ["", "/etc/passwd", "../x", "a/../../b", "a\0"] {
            assert!(check_path(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "a/b c", "[id].tsx", "-x", "..a/b", "ü\n"] {
            assert!(check_path(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn inv_m5_output_is_redacted_before_it_is_cut() {
        let secret = format!("ghp{}{}", "_", "a1B2".repeat(10));
        let text = format!("{}{secret}", "x ".repeat(190));
        let kept = kept(&text);
        assert!(kept.len() <= OUTPUT_MAX && !kept.contains("ghp_a1B2"), "{kept}");
    }
}
