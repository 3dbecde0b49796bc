//! Whether what was installed works: each command line is run as the tool would run it, with an event of that tool on its
//! standard input, in a project and on a store that are thrown away. Only lines that setup would write are run.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tenure_core::{Error, Result};

use super::entries::{other_hooks, own_hooks, own_server};
use super::githook::Presence;
use super::plan::read;
use super::tool::{Content, File, Tool, is_plugin, quoted};
use super::{entries, githook, roots};
use crate::env::Env;
use crate::place::scratch::Scratch;

/// Longer than any tool is told to wait.
const LIMIT: Duration = Duration::from_secs(10);

/// A hook that is installed, or should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) tool: &'static str,
    pub(crate) event: String,
    pub(crate) scope: &'static str,
    pub(crate) state: State,
    /// What is wrong, where something is.
    pub(crate) problem: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Works,
    Missing,
    Fails,
    /// It is not as setup writes it, so that nobody knows what it would do: it is not run.
    Changed,
}

/// A command line that is installed for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    event: String,
    command: String,
    /// Whether it is what setup writes here, to the byte. Files of a repository come from anybody: nothing else is run.
    written: bool,
    /// Whether nothing runs it: a hook of git whose file is not executable.
    is_idle: bool,
}

/// What is installed for a tool in one scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Installed {
    pub(crate) hooks: Vec<Line>,
    /// The events of hooks that call this program in a way of their own.
    pub(crate) others: Vec<String>,
    /// Whether the MCP server is there.
    pub(crate) server: bool,
    pub(crate) section: bool,
}

impl Installed {
    pub(crate) fn is_any(&self) -> bool {
        !self.hooks.is_empty() || !self.others.is_empty() || self.server || self.section
    }
}

/// Looks into the files of one tool and scope.
pub(crate) fn installed(files: &[File]) -> Result<Installed> {
    let mut found = Installed::default();
    for file in files {
        let text = match &file.content {
            Content::Hook(_) => Some(String::new()),
            _ => read(&file.path)?,
        };
        let Some(text) = text else { continue };
        match &file.content {
            Content::Json(parts) => {
                let root = entries::parse(&text).map_err(|problem| problem.of(&file.path))?;
                for part in parts {
                    match part {
                        entries::Part::Hooks { hooks, program, .. } => {
                            let line = |hook: entries::Hook| Line {
                                written: hooks.iter().any(|own| own.event == hook.event && own.command == hook.command),
                                event: hook.event,
                                command: hook.command,
                                is_idle: false,
                            };
                            found.hooks.extend(own_hooks(&root, &text, program).into_iter().map(line));
                            found.others.extend(other_hooks(&root, &text, program).into_iter().map(|hook| hook.event));
                        }
                        entries::Part::Mcp { at, value } => found.server |= own_server(&root, at, value) == Some(true),
                        _ => {}
                    }
                }
            }
            Content::Roots { program, .. } => found.server |= roots::is_set_up(&text, program),
            Content::Section => found.section = super::marked::has_section(&text),
            Content::Plugin(plugin) if is_plugin(&text) => {
                // The plugin starts the program itself, without a shell.
                let program = plugin.lines().find_map(|line| line.strip_prefix("const PROGRAM = "));
                let program: String = program.and_then(|word| serde_json::from_str(word).ok()).unwrap_or_default();
                let line = |event: &str| Line {
                    event: event.to_owned(),
                    command: format!("{} hook {} {event}", quoted(&program), file.tool.name()),
                    written: text == *plugin,
                    is_idle: false,
                };
                found.hooks.extend(file.tool.events().iter().map(|(event, _)| line(event)));
            }
            Content::Plugin(_) => {}
            Content::Hook(hook) => match githook::presence(&file.path, hook)? {
                Presence::There => found.hooks.push(git_line(hook.event)),
                Presence::Idle => found.hooks.push(Line { is_idle: true, ..git_line(hook.event) }),
                Presence::Changed => found.others.push(hook.event.to_owned()),
                Presence::Absent => {}
            },
            Content::Hooks(_) => match githook::is_configured(&text) {
                Some(true) => found.hooks.extend(githook::EVENTS.map(git_line)),
                Some(false) => found.others.extend(githook::EVENTS.map(str::to_owned)),
                None => {}
            },
        }
    }
    Ok(found)
}

/// The line of a hook of git, as it is tried: in no repository, with nothing to say.
fn git_line(event: &str) -> Line {
    let command = format!("command -v tenure >/dev/null 2>&1 && tenure hook git {event} || exit 0");
    Line { event: event.to_owned(), command, written: true, is_idle: false }
}

/// Runs every hook of a tool.
pub(crate) fn replay(tool: Tool, scope: &'static str, installed: &Installed, env: &Env) -> Result<Vec<Finding>> {
    let scratch = Scratch::new(env)?;
    let dir = scratch.file("project");
    std::fs::create_dir_all(&dir).map_err(|error| Error::bug(format!("no scratch project: {error}")))?;
    switch_on(&scratch, &dir, env);
    let mut findings = Vec::new();
    for (event, _) in tool.events() {
        let lines: Vec<&Line> = installed.hooks.iter().filter(|line| line.event == *event).collect();
        let changed = installed.others.iter().any(|other| other == event);
        let (state, problem) = match lines.as_slice() {
            [] if changed => (State::Changed, None),
            [] => (State::Missing, None),
            [line] if !line.written => (State::Changed, None),
            [line] if line.is_idle => {
                (State::Fails, Some("git does not run it: the file is not executable".to_owned()))
            }
            [line] => match run(&line.command, &fixture(tool, event, &dir), &scratch, &dir, env) {
                Ok(()) => (State::Works, None),
                Err(problem) => (State::Fails, Some(problem)),
            },
            _ => (State::Fails, Some("it is there more than once".to_owned())),
        };
        findings.push(Finding { tool: tool.name(), event: (*event).to_owned(), scope, state, problem });
    }
    Ok(findings)
}

/// The surroundings of a hook that is tried: nothing in them leads to what is real.
fn surroundings(command: &mut Command, scratch: &Scratch, dir: &Path, env: &Env) {
    command.env_clear().current_dir(dir);
    for name in ["PATH", "LANG", "USER", "LOGNAME"] {
        if let Some(value) = env.os(name) {
            command.env(name, value);
        }
    }
    let home = scratch.file("home");
    for (name, below) in
        [("HOME", ""), ("XDG_DATA_HOME", "data"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config")]
    {
        command.env(name, home.join(below));
    }
    command.env("TENURE_STORE", scratch.file("store.db"));
    command.process_group(0);
}

/// A project in which nothing happened would be left alone by every hook.
fn switch_on(scratch: &Scratch, dir: &Path, env: &Env) {
    let Ok(program) = crate::env::program() else { return };
    let mut command = Command::new(program);
    surroundings(&mut command, scratch, dir, env);
    command.args(["add", "a task of setup --check", "--agent", "setup-check"]);
    // A store that cannot be made here is what the hooks will meet and must bear, too.
    _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Runs one command line as tools do; what is wrong with it, if anything.
fn run(line: &str, input: &Value, scratch: &Scratch, dir: &Path, env: &Env) -> Result<(), String> {
    if line.starts_with("command -v tenure ") && !env.path().iter().any(|dir| dir.join("tenure").is_file()) {
        return Err("does nothing: `tenure` is not on PATH".to_owned());
    }
    if let Some(program) = line.strip_prefix("[ -x ").and_then(|rest| rest.split(" ] && ").next())
        && !Path::new(program.trim_matches('\'')).is_file()
    {
        return Err(format!("does nothing: {program} is gone"));
    }
    let mut command = Command::new("sh");
    surroundings(&mut command, scratch, dir, env);
    command.args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    let (code, stdout, stderr) = wait(child, input.to_string())?;
    // The command line hides how the program ended; what it complained about is still there.
    let complaint = stderr.lines().find(|line| !line.trim().is_empty());
    match (code, complaint) {
        // A hook that fails is silent by design and says so in its log.
        (Some(0), None) if is_answer(&stdout) => logged(scratch).map_or(Ok(()), Err),
        (Some(0), None) => Err("prints what the tool cannot read".to_owned()),
        (_, Some(line)) => Err(tenure_core::text::cut(line.trim(), 120)),
        (Some(code), None) => Err(format!("ends with {code}")),
        (None, None) => Err("was killed".to_owned()),
    }
}

/// What a hook wrote into its log, which is emptied for the next.
#[expect(clippy::disallowed_methods, reason = "a log file, never a database")]
fn logged(scratch: &Scratch) -> Option<String> {
    let path = scratch.file("home/state/tenure/hook.log");
    let text = std::fs::read_to_string(&path).ok()?;
    _ = std::fs::remove_file(&path);
    // The time is no part of what is wrong.
    let line = text.lines().next()?;
    Some(tenure_core::text::cut(line.split_once(' ').map_or(line, |(_, what)| what), 120))
}

/// Nothing, or one JSON object.
fn is_answer(stdout: &str) -> bool {
    stdout.trim().is_empty() || serde_json::from_str::<Value>(stdout).is_ok_and(|value| value.is_object())
}

fn wait(mut child: Child, input: String) -> Result<(Option<i32>, String, String), String> {
    let group = rustix::process::Pid::from_child(&child);
    let (mut stdin, mut stdout, mut stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (say, hear) = mpsc::channel();
    std::thread::spawn(move || {
        let feeder = std::thread::spawn(move || stdin.as_mut().map(|stdin| stdin.write_all(input.as_bytes())));
        let errors = std::thread::spawn(move || text_of(stderr.as_mut()));
        let answer = text_of(stdout.as_mut());
        let status = child.wait().ok().and_then(|status| status.code());
        _ = feeder.join();
        _ = say.send((status, answer, errors.join().unwrap_or_default()));
    });
    hear.recv_timeout(LIMIT).map_err(|_| {
        _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        format!("takes longer than {} s", LIMIT.as_secs())
    })
}

fn text_of(from: Option<&mut impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        _ = from.take(1024 * 1024).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An event as the tool sends it.
fn fixture(tool: Tool, event: &str, dir: &Path) -> Value {
    let cwd = dir.display().to_string();
    let session = "setup-check";
    let file = format!("{cwd}/file.txt");
    let mut input = match tool {
        Tool::Cursor => json!({ "conversation_id": session, "workspace_roots": [cwd], "hook_event_name": event }),
        _ => json!({ "session_id": session, "cwd": cwd, "hook_event_name": event, "transcript_path": "" }),
    };
    let more = match (tool, event) {
        (Tool::Claude | Tool::Gemini, "SessionStart") => json!({ "source": "startup" }),
        (Tool::Codex, "SessionStart") => json!({ "source": "startup", "model": "m", "permission_mode": "default" }),
        (_, "UserPromptSubmit" | "BeforeAgent" | "beforeSubmitPrompt") => json!({ "prompt": "" }),
        (Tool::Claude, "PreToolUse" | "PostToolUse" | "PostToolUseFailure") => {
            json!({ "tool_name": "Write", "tool_use_id": "t1", "tool_input": { "file_path": file, "content": "" } })
        }
        (Tool::Codex, "PreToolUse" | "PostToolUse") => {
            let patch = "*** Begin Patch\n*** Add File: file.txt\n+x\n*** End Patch";
            json!({ "tool_name": "apply_patch", "tool_use_id": "t1", "tool_input": { "command": patch } })
        }
        (Tool::Gemini, "BeforeTool" | "AfterTool") => {
            json!({ "tool_name": "write_file", "tool_input": { "file_path": file, "content": "" } })
        }
        (Tool::Cursor, "preToolUse" | "postToolUse") => {
            json!({ "tool_name": "Write", "tool_use_id": "t1", "tool_input": { "file_path": file } })
        }
        (Tool::Opencode, "tool.execute.before" | "tool.execute.after") => {
            json!({ "tool_name": "write", "tool_input": { "filePath": file } })
        }
        (_, "PreCompact" | "PreCompress" | "preCompact") => json!({ "trigger": "manual" }),
        (_, "SessionEnd" | "sessionEnd") => json!({ "reason": "other" }),
        _ => json!({}),
    };
    if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
        input.extend(more.clone());
    }
    input
}
