//! Measures hooks against the floor: the read floor for a hook that writes nothing, the write floor otherwise.
//!
//! Each session is a process of its own, as with a real tool: this program starts itself, and the child calls the hooks
//! of one session from start to end.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::WARM_UP;
use crate::home::{Engine, Home, Programs};
use crate::table::Table;

/// The argument that starts this program as the tool of one session. The arguments after it: the script, the tool, the
/// session id, the two homes.
pub(crate) const PART: &str = "--hook-part";
/// The size of the large project: tasks, memories, and events not yet delivered to one agent.
const MANY: usize = 10_000;
/// The maximum number of memories in one note.
const AT_ONCE: usize = 50;
/// The agent that was absent while the large project grew.
const AWAY: &str = "away";

/// A timed call, and the floor it is compared with.
struct Step {
    name: &'static str,
    floor: &'static str,
    /// The arguments of a command, or the event of a hook with its distinguishing payload.
    call: Call,
    agent: Option<&'static str>,
    worker: bool,
}

#[derive(Clone, Copy)]
enum Call {
    Hook(&'static str, Told),
    Command(&'static [&'static str]),
}

#[derive(Clone, Copy)]
enum Told {
    Source(&'static str),
    Edit(&'static str),
    Nothing,
}

const fn hook(name: &'static str, floor: &'static str, event: &'static str, told: Told) -> Step {
    Step { name, floor, call: Call::Hook(event, told), agent: None, worker: false }
}

const fn command(name: &'static str, floor: &'static str, words: &'static [&'static str]) -> Step {
    Step { name, floor, call: Call::Command(words), agent: None, worker: false }
}

/// One session in a project with few rows. The first event after the start records that the session's process persists
/// (`again_at`), so it is a write. Before the end, the session finishes its task, untimed.
const SESSION: &[Step] = &[
    hook("`SessionStart`, a new session", "write", "SessionStart", Told::Source("startup")),
    command("`resume`, told by `confirm`", "write", &["resume"]),
    hook("`UserPromptSubmit`, the first", "write", "UserPromptSubmit", Told::Nothing),
    hook("`UserPromptSubmit`", "read", "UserPromptSubmit", Told::Nothing),
    hook("`PreToolUse` of an edit, allowed", "read", "PreToolUse", Told::Edit("src/a.rs")),
    hook("`PostToolUse` of an edit, a new file", "write", "PostToolUse", Told::Edit("src/a.rs")),
    hook("`PostToolUse` of an edit, nothing new", "read", "PostToolUse", Told::Edit("src/a.rs")),
    hook("`SessionStart`, compacted, with its brief", "write", "SessionStart", Told::Source("compact")),
    command("`resume --peek`", "read", &["resume", "--peek"]),
    command("`done`", "write", &["done"]),
    hook("`SessionEnd`", "write", "SessionEnd", Told::Nothing),
];

/// The calls whose cost could grow with a project.
const LARGE: &[Step] = &[
    hook("`SessionStart`, a new session", "write", "SessionStart", Told::Source("startup")),
    hook("`UserPromptSubmit`, the first", "write", "UserPromptSubmit", Told::Nothing),
    hook("`UserPromptSubmit`", "read", "UserPromptSubmit", Told::Nothing),
    hook("`PostToolUse` of an edit, a new file", "write", "PostToolUse", Told::Edit("src/a.rs")),
    hook("`SessionEnd`", "write", "SessionEnd", Told::Nothing),
    Step {
        agent: Some(AWAY),
        ..hook("`SessionStart` of one that holds a task", "write", "SessionStart", Told::Source("resume"))
    },
    Step {
        agent: Some(AWAY),
        worker: true,
        ..hook("`SessionStart` of a worker, told by `confirm`", "write", "SessionStart", Told::Source("resume"))
    },
    Step { agent: Some(AWAY), ..command("`resume`, told by `confirm`", "write", &["resume"]) },
    Step { agent: Some(AWAY), ..command("`resume --peek`", "read", &["resume", "--peek"]) },
];

/// A session that starts and ends between two timed ones. The start of a session releases the holds of dead processes,
/// including those of the previous round. Without this session, the first timed call would pay for that.
const BETWEEN: &[Step] = &[
    hook("`SessionStart`", "read", "SessionStart", Told::Source("startup")),
    hook("`SessionEnd`", "read", "SessionEnd", Told::Nothing),
];

fn script(name: &str) -> &'static [Step] {
    match name {
        "large" => LARGE,
        "between" => BETWEEN,
        _ => SESSION,
    }
}

/// Measures a project with few rows.
pub(crate) fn few(programs: &Programs, tool: &'static str, runs: usize) -> Table {
    let home = Home::new(programs, Engine::Sqlite);
    home.time(&["add", "first"]);
    measure(programs, &home, &format!("Hooks of {tool}"), ("session", tool), runs)
}

/// Measures a project with 10,000 tasks and 10,000 memories, and an agent with as many undelivered events.
pub(crate) fn many(programs: &Programs, runs: usize) -> Table {
    let home = Home::new(programs, Engine::Sqlite);
    home.time(&["add", "Make the import of the parser accept the new format so that the slow tests pass"]);
    home.time(&["resume", "--agent", AWAY]);
    let tasks: String = (0..MANY).map(|n| format!("{}\n", json!({ "title": sentence(n) }))).collect();
    home.feed(&["add", "--stdin"], &tasks);
    for from in (0..MANY).step_by(AT_ONCE) {
        let memories: Vec<Value> = (from..from + AT_ONCE).map(memory).collect();
        let memories = Value::from(memories).to_string();
        home.feed(&["note", "what we know", "--memories", "-", "--agent", AWAY], &memories);
    }
    let title = format!("Among {MANY} tasks, {MANY} memories and {MANY} events that nobody was told");
    measure(programs, &home, &title, ("large", "claude"), runs)
}

/// A sentence from a shared vocabulary, which includes the words of the current task.
fn sentence(n: usize) -> String {
    const WORDS: [&str; 24] = [
        "make", "import", "parser", "accept", "new", "format", "slow", "tests", "pass", "cache", "error", "file",
        "line", "store", "build", "release", "version", "server", "client", "request", "index", "table", "column",
        "schema",
    ];
    let at = |k: usize| WORDS[(n * 7 + k * 5 + n / 24 * k) % WORDS.len()];
    format!("{} {} {} {} {} of number {n}", at(0), at(1), at(2), at(3), at(4))
}

fn memory(n: usize) -> Value {
    let kind = match n % 20 {
        0 => "directive",
        1..=4 => "lesson",
        _ => "fact",
    };
    json!({ "text": format!("{}; {}", sentence(n), sentence(n + 3)), "key": format!("k/{n}"), "kind": kind, "scope": "project" })
}

fn measure(
    programs: &Programs,
    home: &Home<'_>,
    title: &str,
    (name, tool): (&'static str, &'static str),
    runs: usize,
) -> Table {
    let bare = Home::new(programs, Engine::Sqlite);
    bare.time(&["add", "first"]);
    let mut table =
        Table::new(title, &["call", "Tenure p50", "floor p50", "ratio", "Tenure p99", "floor p99", "p99 ratio"]);
    let steps = script(name);
    let mut pairs = vec![Vec::new(); steps.len()];
    for round in 0..WARM_UP + runs {
        home.time(&["add", "for the next session"]);
        let session = format!("{tool}-session-{round}");
        let played = |name: &str, session: &str| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([PART, name, tool, session]).args([home.path(), bare.path()]).stdin(Stdio::null());
            command
        };
        let between = played("between", &format!("{session}-between")).stdout(Stdio::null()).status().unwrap();
        assert!(between.success(), "the session between two others failed");
        if name == "large" {
            // The absent agent holds a task from a process that is alive: this one.
            home.time(&["resume", "--agent", AWAY]);
        }
        let mut child = played(name, &session).stdout(Stdio::piped()).spawn().unwrap();
        for (line, pairs) in BufReader::new(child.stdout.take().unwrap()).lines().zip(&mut pairs) {
            let line = line.unwrap();
            let (ours, least) = line.split_once(' ').unwrap();
            let time = |nanos: &str| Duration::from_nanos(nanos.parse().unwrap());
            pairs.push((time(ours), time(least)));
        }
        assert!(child.wait().unwrap().success(), "a session failed");
    }
    for (step, pairs) in steps.iter().zip(pairs) {
        table.compare(&format!("{} ({} floor)", step.name, step.floor), &pairs);
    }
    assert!(!home.path().join(".local/state/tenure/hook.log").exists(), "a hook failed");
    table
}

/// Plays the tool of one session. Prints one line per step: its time and the time of the floor just before, in
/// nanoseconds.
pub(crate) fn part(programs: &Programs, words: &[String]) {
    let [name, tool, session, home, bare] = words else { panic!("five words") };
    let (home, bare) = (Home::at(programs, home.into()), Home::at(programs, bare.into()));
    let variable = if tool == "codex" { "CODEX_THREAD_ID" } else { "CLAUDE_CODE_SESSION_ID" };
    let of_away = format!("{session}-away");
    for step in script(name) {
        // One id in one process is one agent.
        let session = if step.agent.is_some() { &of_away } else { session };
        let least = bare.time_floor(step.floor);
        let mut words: Vec<&str> = step.agent.iter().flat_map(|agent| ["--agent", agent]).collect();
        let mut vars = vec![(variable, session.as_str())];
        if step.worker {
            vars.push(("TENURE_WORKER", "1"));
        }
        let took = match step.call {
            Call::Command(more) => {
                words.extend(more);
                home.time_with(&words, &vars, None)
            }
            Call::Hook(event, told) => {
                words.extend(["hook", tool.as_str(), event]);
                home.time_with(&words, &vars, Some(&payload(&home, tool, session, event, told)))
            }
        };
        println!("{} {}", took.as_nanos(), least.as_nanos());
    }
}

/// The payload that a tool sends.
fn payload(home: &Home<'_>, tool: &str, session: &str, event: &str, told: Told) -> String {
    let cwd = home.repository();
    let mut sent = json!({
        "session_id": session, "transcript_path": cwd.join("transcript.jsonl"), "cwd": cwd, "hook_event_name": event,
        "permission_mode": "default",
    });
    let text = "let value = parse(input).map_err(|error| error.at(line))?;\n".repeat(30);
    match told {
        Told::Source(source) => sent["source"] = source.into(),
        Told::Nothing if event == "SessionEnd" => sent["reason"] = "prompt_input_exit".into(),
        Told::Nothing => sent["prompt"] = text.into(),
        Told::Edit(path) if tool == "codex" => {
            sent["tool_name"] = "apply_patch".into();
            let patch =
                format!("*** Begin Patch\n*** Update File: {path}\n@@\n+{}*** End Patch\n", text.replace('\n', "\n+"));
            sent["tool_input"] = json!({ "command": patch });
        }
        Told::Edit(path) => {
            sent["tool_name"] = "Edit".into();
            sent["tool_input"] = json!({ "file_path": cwd.join(path), "old_string": text, "new_string": text });
        }
    }
    if event == "PostToolUse" {
        sent["tool_response"] = if tool == "codex" { "Success.".into() } else { json!({ "success": true }) };
    }
    sent.to_string()
}
