//! `tenure hook TOOL EVENT`: an agent tool says what happens in a session.
//!
//! Whatever goes wrong here, the exit code is 0 and nothing is printed that the tool would take for an answer: one line
//! in `hook.log` says what it was. Only a guard event may end in a refusal, and with `guard.fail = "closed"` that is what
//! every failure of one that could be refused at all ends in, a panic included: the document is made before anything that
//! can fail. `allow` is never
//! printed: it would skip the person's own prompt. No process is started on this way. Git's own hooks are another matter:
//! see `git`.

mod brief;
mod compact;
mod edited_files;
mod end;
mod git;
mod guard;
mod guard_scope;
pub(crate) mod input;
mod log;
mod other_checkouts;
mod prompt;
mod refusal;
mod session;
mod shell;
mod start;
mod tool_used;
mod unguarded_notice;
mod wrapper;

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tenure_core::{Code, Error, Result, Stage};
use tenure_store::Deadline;

use crate::agent_tool::{self, AgentTool, HookEvent, HookEventKind};
use crate::args::{self, VALUED};
use crate::env::Env;
use crate::guard::off_by_variable;
use crate::program_path::callable_document;
use crate::session::is_unconfirmed;
use crate::settings::{Globals, Settings};
use crate::workspace::config::{self, Fail};
use crate::workspace::git::locate;
use guard_scope::Aim;
use input::Payload;

/// The longest payload that is read. Tools send whole files along.
const PAYLOAD_MAX: u64 = 16 * 1024 * 1024;

/// Whether the words of the command line mean a hook.
pub(crate) fn is_meant(words: &[OsString]) -> bool {
    args::named(words).is_some_and(|name| name == "hook")
}

/// Runs a hook. The exit code is 0, but for a refusal to git, which knows no other word.
pub(crate) fn run(words: &[OsString], env: &Env) -> ExitCode {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        let _ = args::run(words, env);
        return ExitCode::SUCCESS;
    }
    // A panic speaks on standard error, which some tools show.
    std::panic::set_hook(Box::new(|_| {}));
    let line = HookArgs::read(words);
    // The one deadline of this process, made before anything that takes time.
    let time = if line.is_guard() { session::GUARD_TIME } else { session::TIME };
    let deadline = Deadline::after(time);
    if let Some(event) = line.git.as_deref() {
        return git::run(&git::GitHookArgs { event, arguments: &line.arguments, globals: &line.globals }, env);
    }
    let output = outcome(&line, env, |seen| act(&line, env, seen, deadline));
    if let Some(output) = output {
        print(output, env);
    }
    ExitCode::SUCCESS
}

/// Prints a document and says whether it was written out.
fn print(document: String, env: &Env) -> bool {
    let document = callable_document(document, env);
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(document.as_bytes()).and_then(|()| stdout.write_all(b"\n"));
    written.and_then(|()| stdout.flush()).is_ok()
}

/// The command line of a hook, read without a way to fail.
struct HookArgs {
    tool: Option<&'static AgentTool>,
    event: Option<&'static HookEvent>,
    globals: Globals,
    /// The event, where git itself asks, and what it gave its hook.
    git: Option<String>,
    arguments: Vec<OsString>,
    /// What was typed, for the log.
    typed: String,
}

impl HookArgs {
    fn read(words: &[OsString]) -> HookArgs {
        let mut globals = Globals::default();
        let mut plain: Vec<String> = Vec::new();
        let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None => (word.clone(), None),
            };
            if VALUED.contains(&flag.as_str()) {
                let value = value.or_else(|| words.next());
                match flag.as_str() {
                    "--project" => globals.project = value,
                    "--agent" => globals.agent = value,
                    "--store" => globals.store = value,
                    _ => globals.request_id = value,
                }
            } else if !word.starts_with('-') {
                plain.push(word);
            }
        }
        let tool = plain.get(1).and_then(|name| agent_tool::find(name));
        let event = tool.and_then(|tool| tool.event(plain.get(2)?));
        let typed =
            plain.iter().skip(1).take(2).map(|word| tenure_core::text::excerpt(word)).collect::<Vec<_>>().join(" ");
        let git = plain.get(1).filter(|name| *name == "git").map(|_| plain.get(2).cloned().unwrap_or_default());
        let arguments = plain.iter().skip(3).map(OsString::from).collect();
        HookArgs { tool, event, globals, git, arguments, typed }
    }

    /// Whether a guard answers the event.
    fn is_guard(&self) -> bool {
        self.event.is_some_and(|event| event.kind == HookEventKind::Before)
    }

    /// What stands for "refused" if this event is one that a guard answers.
    fn refusal(&self) -> Option<String> {
        let (tool, event) = (self.tool?, self.event?);
        let reason = "Tenure could not check whether this edit is free, and guard.fail = \"closed\" refuses such \
                      edits. \
                      `tenure doctor` shows the problem; a person can set guard.fail = \"open\" in tenure.toml.";
        self.is_guard().then(|| (tool.deny)(event.name, reason).to_string())
    }
}

/// What is known of an event once its payload was read, whatever fails later.
#[derive(Default)]
struct SeenEvent {
    /// The directory of the session: its project's configuration counts.
    dir: Option<PathBuf>,
    session: Option<String>,
    is_sub_agent: bool,
    /// What a call is about to do that a guard is asked about; none where the event could not be read.
    aim: Option<Aim>,
    /// Whether a document was printed; there is room for one.
    has_spoken: bool,
}

/// What a hook prints: what it found out, or what its policy says where it could not.
fn outcome(
    line: &HookArgs,
    env: &Env,
    act: impl FnOnce(&RefCell<SeenEvent>) -> Result<Option<String>>,
) -> Option<String> {
    let refusal = line.refusal();
    let seen = RefCell::new(SeenEvent::default());
    let (failure, because) = match catch_unwind(AssertUnwindSafe(|| act(&seen))) {
        Ok(Ok(output)) => return output,
        // What a repository says is not believed yet: nothing is shown, and nothing refused.
        Ok(Err(error)) if is_unconfirmed(&error) => {
            log::append(env, &line.typed, error.code().as_str());
            return None;
        }
        // The words of an error may quote the event.
        Ok(Err(error)) => (error.code().as_str(), unguarded_notice::because(&error)),
        Err(_) => ("panic", String::new()),
    };
    let seen = seen.into_inner();
    let settled = catch_unwind(AssertUnwindSafe(|| {
        log::append(env, &line.typed, failure);
        policy_of(line, env, &seen)
    }));
    match settled {
        Ok(None) => return None,
        Ok(Some(Fail::Open)) => {}
        Ok(Some(Fail::Closed)) if refusal.is_none() => {}
        // Where not even the policy could be read, a guard that may be closed is not opened by that.
        Ok(Some(Fail::Closed)) | Err(_) => return refusal,
    }
    let (tool, event) = (line.tool?, line.event?);
    let remark = || unguarded_notice::after_failure(tool, event.kind, env, &seen, &because);
    let told = if seen.has_spoken { None } else { catch_unwind(AssertUnwindSafe(remark)).ok().flatten() };
    told.map(|text| (tool.context)(event.name, &text).to_string())
}

/// The policy of the project that a directory is in.
fn policy(env: &Env, dir: Option<PathBuf>) -> Fail {
    let dirs: Vec<PathBuf> = dir.into_iter().chain(env.cwd().ok().map(PathBuf::from)).collect();
    let mut places = Vec::new();
    for dir in dirs {
        if let Ok(Some(checkout)) = locate(&dir) {
            places.push(checkout.top);
            places.push(checkout.main);
        } else {
            places.extend(dir.ancestors().map(PathBuf::from));
        }
    }
    let places: Vec<&std::path::Path> = places.iter().map(PathBuf::as_path).collect();
    config::guard_fail(&places, env)
}

/// The policy of a failure; none where no guard could have said anything: it ends in silence then.
fn policy_of(line: &HookArgs, env: &Env, seen: &SeenEvent) -> Option<Fail> {
    // Looked at before any file: it is the way out when files are what is wrong.
    if off_by_variable(env) {
        return None;
    }
    let env = seen.dir.clone().map_or_else(|| env.clone(), |dir| env.moved(dir));
    let is_named = line.globals.project.is_some() || env.var("TENURE_PROJECT").is_ok_and(|name| name.is_some());
    let places = guard_scope::places(seen.aim.as_ref().filter(|_| line.is_guard()), &env, is_named);
    let fails = |dirs: &Vec<PathBuf>| {
        let dirs: Vec<&std::path::Path> = dirs.iter().map(PathBuf::as_path).collect();
        config::guard_fail(&dirs, &env)
    };
    let closed = places.iter().any(|dirs| fails(dirs) == Fail::Closed);
    (!places.is_empty()).then_some(if closed { Fail::Closed } else { Fail::Open })
}

fn act(line: &HookArgs, env: &Env, seen: &RefCell<SeenEvent>, deadline: Deadline) -> Result<Option<String>> {
    let (Some(tool), Some(event)) = (line.tool, line.event) else {
        return Err(Error::usage(Code::BadArguments, "no such tool or event"));
    };
    if event.kind == HookEventKind::Nothing {
        return Ok(None);
    }
    let bytes = payload(deadline)?;
    let payload = Payload::read(&bytes)?;
    let dir = payload.dir();
    *seen.borrow_mut() = SeenEvent {
        dir: dir.clone(),
        session: payload.session(),
        is_sub_agent: payload.sub_agent().is_some(),
        ..SeenEvent::default()
    };
    let env = dir.map_or_else(|| env.clone(), |dir| env.moved(dir));
    if line.is_guard() {
        seen.borrow_mut().aim = Some(Aim::of(tool, &payload, &env)?);
    }
    let out = crate::output::Printer::new(false, true, crate::output::ColourChoice::Auto, &env);
    let settings = Settings::new(line.globals.clone(), &env);
    let opened = session::HookSession::open(tool, event, &settings, &out, &payload, deadline)?;
    let Some(hook_session) = opened else { return Ok(None) };
    let show = |text: &str| {
        seen.borrow_mut().has_spoken = true;
        print((tool.context)(event.name, text).to_string(), &env)
    };
    let told = match event.kind {
        HookEventKind::Start => start::act(&hook_session, &payload, show)?,
        HookEventKind::Prompt => {
            prompt::act(&hook_session, || unguarded_notice::due(tool, &env, &seen.borrow()), show)?
        }
        HookEventKind::Before => {
            let seen = seen.borrow();
            let aim = seen.aim.as_ref().ok_or_else(|| Error::bug("a guard without an aim"))?;
            return guard::act(&hook_session, aim);
        }
        HookEventKind::After | HookEventKind::Failed => tool_used::act(&hook_session)?,
        HookEventKind::Compact => compact::act(&hook_session)?,
        HookEventKind::End => end::act(&hook_session, &payload)?,
        HookEventKind::Nothing => None,
    };
    Ok(told.map(|text| (tool.context)(event.name, &text).to_string()))
}

/// Standard input, which is waited for until the deadline: a tool may leave it open.
struct HookInput(Deadline);

impl Read for HookInput {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let stdin = rustix::stdio::stdin();
        let time = Timespec::try_from(self.0.remaining()).ok();
        let readable = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], time.as_ref())?;
        // What never ends is always readable.
        if readable == 0 || self.0.is_over() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        Ok(rustix::io::read(stdin, into)?)
    }
}

fn payload(deadline: Deadline) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let unreadable = |error: std::io::Error| {
        Error::new(Code::InputUnreadable, "standard input cannot be read").at(Stage::Arguments).cause(error)
    };
    let mut input = HookInput(deadline);
    let read = input.by_ref().take(PAYLOAD_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if read as u64 > PAYLOAD_MAX {
        // Read to its end: a tool whose pipe breaks may take that for a failure of the hook.
        let _ = std::io::copy(&mut input, &mut std::io::sink());
        return Err(Error::usage(Code::InputTooLong, "the event has more than 16 MiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &str) -> HookArgs {
        HookArgs::read(&words.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    fn env(dir: &std::path::Path) -> Env {
        Env::of(dir, []).with("HOME", dir).with("XDG_STATE_HOME", dir.join("state"))
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "reads a file of its own")]
    fn inv_r11_every_failure_of_a_guard_follows_the_policy_a_panic_included() {
        let dir = tempfile::tempdir().unwrap();
        let env = env(dir.path());
        type Act = fn(&RefCell<SeenEvent>) -> Result<Option<String>>;
        let failures: [Act; 2] = [|_| Err(Error::bug("broken")), |_| panic!("at the worst moment")];
        for words in
            ["hook claude PreToolUse", "hook codex pre-tool-use", "hook gemini BeforeTool", "hook cursor preToolUse"]
        {
            for fail in failures {
                std::fs::write(dir.path().join("tenure.toml"), "").unwrap();
                let open = outcome(&line(words), &env, fail);
                // Whose edit it was is not known, so neither is whether it was told before.
                assert_eq!(open.is_some(), words.contains("claude"), "{words}: open by default");
                assert!(!open.is_some_and(|text| text.contains("deny") || text.contains("appears once")));
                std::fs::write(dir.path().join("tenure.toml"), "[guard]\nfail = \"closed\"").unwrap();
                let refused = outcome(&line(words), &env, fail).unwrap();
                assert!(refused.contains("deny") && !refused.contains("allow"), "{refused}");
                for other in ["SessionStart", "PostToolUse", "AfterTool", "SessionEnd"] {
                    let tool = words.split(' ').nth(1).unwrap();
                    assert_eq!(outcome(&line(&format!("hook {tool} {other}")), &env, fail), None, "no guard: {other}");
                }
            }
        }
        // Where the policy lets it through the session hears of it once, and of nothing that could be taken for consent.
        std::fs::write(dir.path().join("tenure.toml"), "").unwrap();
        let named: Act = |seen| {
            seen.borrow_mut().session = Some("s".to_owned());
            panic!("later")
        };
        let told = outcome(&line("hook claude PreToolUse"), &env, named).unwrap();
        assert!(told.contains("additionalContext") && told.contains("unchecked"), "{told}");
        assert!(!told.contains("permissionDecision") && !told.contains("allow"), "{told}");
        assert_eq!(outcome(&line("hook claude PreToolUse"), &env, named), None);
        assert_eq!(outcome(&line("hook gemini BeforeTool"), &env, named), None);
        assert!(outcome(&line("hook gemini BeforeAgent"), &env, named).unwrap().contains("unchecked"));
        let spoken: Act = |seen| {
            *seen.borrow_mut() = SeenEvent { session: Some("t".to_owned()), has_spoken: true, ..SeenEvent::default() };
            Err(Error::bug("after a document was printed"))
        };
        assert_eq!(outcome(&line("hook claude PreToolUse"), &env, spoken), None);
        let log = std::fs::read_to_string(dir.path().join("state/tenure/hook.log")).unwrap();
        assert!(log.contains("claude PreToolUse panic") && log.contains("internal"), "{log}");
    }

    #[test]
    fn the_line_is_read_whatever_stands_there() {
        let full = line("--store /s hook --agent=a Claude session-start --request-id r");
        assert_eq!(full.tool.unwrap().name, "claude");
        let event = full.event.unwrap();
        assert_eq!((event.name, event.kind), ("SessionStart", HookEventKind::Start));
        assert_eq!((full.globals.store.as_deref(), full.globals.agent.as_deref()), (Some("/s"), Some("a")));
        for odd in ["hook", "hook nobody Start", "hook claude Nonsense", "hook claude", "hook --store"] {
            assert!(line(odd).event.is_none(), "{odd}");
        }
    }
}
