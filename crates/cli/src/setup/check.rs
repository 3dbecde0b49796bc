//! Checks whether the installed hooks work. Each command line is run as its tool would run it: with an event of that
//! tool on standard input, in a temporary project, on a temporary store. Only command lines that setup would write are
//! run.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tenure_core::{Error, Result};

use super::diagnosis::is_on;
use super::githook::{HookProgram, LinePresence};
use super::hook_command::shell_word;
use super::json_entries::{other_hooks, own_hooks, own_positions, own_server};
use super::plan::read;
use super::target::{Content, Ground, SetupScope, SetupTarget, TargetFile, quoted};
use super::{codex_config, githook, json_entries, toml_hooks, trust};
use crate::agent_tool::{Sample, is_plugin};
use crate::env::Env;
use crate::workspace::scratch::Scratch;

/// Longer than the timeout of any hook.
const LIMIT: Duration = Duration::from_secs(10);

/// A hook that is installed or should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HookFinding {
    pub(crate) tool: &'static str,
    pub(crate) event: String,
    pub(crate) scope: &'static str,
    pub(crate) state: HookState,
    /// The fault, if there is one.
    pub(crate) problem: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HookState {
    Works,
    Missing,
    Fails,
    /// It differs from what setup writes. Its effect is unknown, so it is not run.
    Changed,
    /// The tool does not run it until a person trusts it.
    Untrusted,
}

/// A command line installed for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstalledCommand {
    event: String,
    command: String,
    /// Whether it is byte for byte what setup writes here. Files of a repository are not trusted, so no other line is
    /// run.
    written: bool,
    /// Why it has no effect, if that is visible without running it.
    problem: Option<String>,
    /// Why its tool does not run it.
    distrust: Option<&'static str>,
}

impl InstalledCommand {
    fn of(event: &str, command: String, written: bool, path: &[std::path::PathBuf]) -> InstalledCommand {
        InstalledCommand {
            event: event.to_owned(),
            problem: dead_end(&command, path),
            command,
            written,
            distrust: None,
        }
    }
}

/// The fault of a command line of setup whose program does not exist.
fn dead_end(command: &str, path: &[std::path::PathBuf]) -> Option<String> {
    if command.starts_with("command -v tenure ") {
        return (!is_on(path)).then(|| "does nothing: `tenure` is not on PATH".to_owned());
    }
    let (program, _) = shell_word(command.strip_prefix("[ -x ")?)?;
    (!Path::new(&program).is_file()).then(|| gone(&program))
}

fn gone(program: &str) -> String {
    format!("does nothing: {} does not exist", tenure_core::text::cut(program, 200))
}

/// The program that a plugin of OpenCode starts.
fn plugin_program(text: &str) -> Option<String> {
    let word = text.lines().find_map(|line| line.strip_prefix("const PROGRAM = "))?;
    serde_json::from_str(word).ok()
}

/// What is installed for a tool in one scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Installed {
    pub(crate) hooks: Vec<InstalledCommand>,
    /// The events whose hooks call this program by a command line that setup did not write.
    pub(crate) others: Vec<String>,
    /// Remarks about what works.
    pub(crate) remark: Option<String>,
    /// Whether the MCP server is configured.
    pub(crate) server: bool,
    pub(crate) section: bool,
}

impl Installed {
    pub(crate) fn is_any(&self) -> bool {
        !self.hooks.is_empty() || !self.others.is_empty() || self.server || self.section
    }
}

/// Reads the files of one tool and scope.
pub(crate) fn installed(files: &[TargetFile], ground: &Ground) -> Result<Installed> {
    let mut found = Installed::default();
    for file in files {
        let text = match &file.content {
            Content::Hook(_) => Some(String::new()),
            _ => read(&file.path)?,
        };
        let Some(text) = text else { continue };
        match &file.content {
            Content::Json(parts) => {
                let root = json_entries::parse(&text).map_err(|problem| problem.of(&file.path))?;
                for part in parts {
                    match part {
                        json_entries::JsonPart::Hooks { hooks, program, .. } => {
                            let line = |hook: json_entries::HookEntry| {
                                let is_own = |own: &json_entries::HookEntry| {
                                    own.event == hook.event && own.command == hook.command
                                };
                                InstalledCommand::of(
                                    &hook.event,
                                    hook.command.clone(),
                                    hooks.iter().any(is_own),
                                    &ground.path,
                                )
                            };
                            let mut lines: Vec<InstalledCommand> =
                                own_hooks(&root, &text, program).into_iter().map(line).collect();
                            if let Some(config) = trust_config(file.target, ground) {
                                for (line, position) in lines.iter_mut().zip(own_positions(&root, program)) {
                                    line.distrust = trust::of(&config, &file.path, &position).problem();
                                }
                            }
                            found.hooks.extend(lines);
                            found.others.extend(other_hooks(&root, &text, program).into_iter().map(|hook| hook.event));
                        }
                        json_entries::JsonPart::Mcp { at, value } => {
                            found.server |= own_server(&root, at, value) == Some(true);
                        }
                        _ => {}
                    }
                }
            }
            Content::Roots { program, .. } => {
                found.server |= codex_config::is_set_up(&text, program);
                let line =
                    |(event, command): (String, String)| InstalledCommand::of(&event, command, false, &ground.path);
                found.hooks.extend(toml_hooks::own(&text, program).into_iter().map(line));
            }
            Content::Section => found.section = super::marked_section::has_section(&text),
            Content::Plugin(plugin) if is_plugin(&text) => {
                // The plugin starts the program itself, without a shell.
                let program = plugin_program(plugin).unwrap_or_default();
                let there = plugin_program(&text).filter(|there| there.starts_with('/') && !Path::new(there).is_file());
                let problem = there.map(|there| gone(&there));
                let line = |event: &str| {
                    let command = format!("{} hook {} {event}", quoted(&program), file.target.name());
                    InstalledCommand {
                        problem: problem.clone(),
                        ..InstalledCommand::of(event, command, text == *plugin, &ground.path)
                    }
                };
                found.hooks.extend(file.target.events().into_iter().map(line));
            }
            Content::Plugin(_) => {}
            Content::Hook(hook) => {
                let presence = githook::presence(&file.path, hook)?;
                add_git(&mut found, &[hook.event], &presence, &githook::wanted(hook), ground);
            }
            Content::Hooks { program, .. } => {
                let presence = githook::configured_presence(&text);
                add_git(&mut found, &githook::EVENTS, &presence, &HookProgram::of(program.as_deref()), ground);
            }
        }
    }
    Ok(found)
}

/// The user's configuration of a tool that runs only trusted hooks; `None` if it cannot be read.
fn trust_config(target: SetupTarget, ground: &Ground) -> Option<toml::Table> {
    target.tool().filter(|tool| tool.needs_trust)?;
    let files = target.files(SetupScope::User, ground);
    let file = files.iter().find(|file| matches!(file.content, Content::Roots { .. }))?;
    read(&file.path).ok()?.unwrap_or_default().parse().ok()
}

/// Adds the hooks of git.
fn add_git(
    found: &mut Installed,
    events: &[&'static str],
    presence: &LinePresence,
    wanted: &HookProgram,
    ground: &Ground,
) {
    let named = match presence {
        LinePresence::Absent => return,
        LinePresence::Changed => return found.others.extend(events.iter().map(|event| (*event).to_owned())),
        LinePresence::Idle => wanted,
        LinePresence::There(named) => named,
    };
    let place = named.place().filter(|place| Path::new(place).is_file());
    let gone = named.place().filter(|_| place.is_none());
    let problem = match (presence, place, gone) {
        (LinePresence::Idle, _, _) => Some("git does not run it: the file is not executable".to_owned()),
        (_, Some(_), _) => None,
        _ if is_on(&ground.path) => None,
        (_, _, Some(gone)) => Some(format!("does nothing: {gone} does not exist and `tenure` is not on PATH")),
        _ => Some("does nothing: `tenure` is not on PATH".to_owned()),
    };
    if problem.is_none() && named != wanted {
        found.remark = Some(match (named, gone) {
            (_, Some(gone)) => format!(
                "the hooks name {gone}, which does not exist; they run `tenure` from PATH \
                                        instead"
            ),
            (HookProgram::Place(place), _) => format!("the hooks name another program, {place}"),
            _ => "the hooks are from an earlier version, which does nothing if `tenure` is not on PATH".to_owned(),
        });
    }
    // The check runs it outside of any repository and with empty input.
    let line = |event: &&'static str| InstalledCommand {
        command: format!("{} hook git {event} || exit 0", quoted(place.unwrap_or("tenure"))),
        event: (*event).to_owned(),
        written: true,
        problem: problem.clone(),
        distrust: None,
    };
    found.hooks.extend(events.iter().map(line));
}

/// The state of each hook of a tool, without running it. A hook that looks correct may still fail.
pub(crate) fn states(target: SetupTarget, installed: &Installed) -> Vec<(&'static str, HookState, Option<String>)> {
    let of = |event: &'static str| {
        let lines: Vec<&InstalledCommand> = installed.hooks.iter().filter(|line| line.event == event).collect();
        let changed = installed.others.iter().any(|other| other == event);
        let (state, problem) = match lines.as_slice() {
            [] if changed => (HookState::Changed, None),
            [] => (HookState::Missing, None),
            [line] if line.problem.is_some() => (HookState::Fails, line.problem.clone()),
            [line] if !line.written => (HookState::Changed, None),
            [line] => match line.distrust {
                Some(problem) => (HookState::Untrusted, Some(problem.to_owned())),
                None => (HookState::Works, None),
            },
            _ => (HookState::Fails, Some("it is installed more than once".to_owned())),
        };
        (event, state, problem)
    };
    target.events().into_iter().map(of).collect()
}

/// Runs every hook of a tool.
pub(crate) fn replay(
    target: SetupTarget,
    scope: &'static str,
    installed: &Installed,
    env: &Env,
) -> Result<Vec<HookFinding>> {
    let scratch = Scratch::new(env)?;
    let dir = scratch.file("project");
    std::fs::create_dir_all(&dir).map_err(|error| {
        Error::bug(format!(
            "the temporary project cannot be created: \
                                                                      {error}"
        ))
    })?;
    switch_on(&scratch, &dir, env);
    let mut findings = Vec::new();
    for (event, mut state, mut problem) in states(target, installed) {
        // A hook that its tool does not run yet is tried too, because it may also fail.
        let line = installed.hooks.iter().find(|line| line.event == event);
        if let (HookState::Works | HookState::Untrusted, Some(line)) = (state, line)
            && let Err(failure) = run(&line.command, &sample(target, event, &dir), &scratch, &dir, env)
        {
            (state, problem) = (HookState::Fails, Some(failure));
        }
        findings.push(HookFinding { tool: target.name(), event: event.to_owned(), scope, state, problem });
    }
    Ok(findings)
}

/// The environment of a hook under test. It refers to no real project, store or configuration.
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

/// Creates a project with one event. Hooks ignore a project without events.
fn switch_on(scratch: &Scratch, dir: &Path, env: &Env) {
    let Ok(program) = crate::env::program() else { return };
    let mut command = Command::new(program);
    surroundings(&mut command, scratch, dir, env);
    command.args(["add", "a task of setup --check", "--agent", "setup-check"]);
    // If the store cannot be created here, the hooks will meet the same error and must tolerate it.
    _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Runs one command line as tools do, and returns its fault.
fn run(line: &str, input: &Value, scratch: &Scratch, dir: &Path, env: &Env) -> Result<(), String> {
    let mut command = Command::new("sh");
    surroundings(&mut command, scratch, dir, env);
    command.args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    let (code, stdout, stderr) = wait(child, input.to_string())?;
    // The command line hides the exit status of the program, but not its standard error.
    let complaint = stderr.lines().find(|line| !line.trim().is_empty());
    match (code, complaint) {
        // A failing hook is silent by design and writes to its log.
        (Some(0), None) if is_answer(&stdout) => logged(scratch).map_or(Ok(()), Err),
        (Some(0), None) => Err("prints output that the tool cannot read".to_owned()),
        (_, Some(line)) => Err(tenure_core::text::cut(line.trim(), 120)),
        (Some(code), None) => Err(format!("ends with {code}")),
        (None, None) => Err("was killed".to_owned()),
    }
}

/// Reads and empties the log of a hook.
#[expect(clippy::disallowed_methods, reason = "a log file, never a database")]
fn logged(scratch: &Scratch) -> Option<String> {
    let path = scratch.file("home/state/tenure/hook.log");
    let text = std::fs::read_to_string(&path).ok()?;
    _ = std::fs::remove_file(&path);
    // The time is not part of the fault.
    let line = text.lines().next()?;
    Some(tenure_core::text::cut(line.split_once(' ').map_or(line, |(_, what)| what), 120))
}

/// Checks that the output is empty or one JSON object.
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

/// An event as the tool sends it; git sends none.
fn sample(target: SetupTarget, event: &str, dir: &Path) -> Value {
    let known = target.tool().and_then(|tool| Some((tool, tool.event(event)?)));
    known.map_or_else(|| json!({}), |(tool, known)| (tool.sample)(&Sample { event, kind: known.kind, dir }))
}
