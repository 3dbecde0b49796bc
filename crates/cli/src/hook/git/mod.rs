//! `tenure hook git EVENT`: git itself asks, from its own hooks.
//!
//! Here the exit status is the answer: 1 refuses, with words on standard error; all well is silent and 0. What goes wrong
//! in Tenure follows `guard.fail`: `open` lets it through with one line, `closed` refuses. A panic is such a failure, and
//! never an exit status of its own. Unlike the hooks of agent tools this one may start git, and waits for it only so long.

mod git_command;
mod messages;
mod post_commit;
mod pre_commit;
mod pre_push;

use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use tenure_core::guard::Treatment;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::Actor;
use tenure_kernel::op::tool_used;
use tenure_store::Deadline;

use super::{log, policy};
use crate::env::Env;
use crate::guard;
use crate::identity::{ActorKind, Identity, ResolvedCaller};
use crate::output::{ColourChoice, Printer};
use crate::program_path::callable;
use crate::session::{HookTime, RunOptions, Session, StoreUse, caller, is_unconfirmed};
use crate::settings::{Globals, Settings};
use crate::workspace;
use crate::workspace::config::Fail;

/// How long a guard waits for the store: the commit waits for it.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long everything that it asks of the store may take together.
const TIME: Duration = Duration::from_secs(4);

/// The events that git has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitEvent {
    PreCommit,
    PostCommit,
    /// A merge that makes its commit itself.
    PreMergeCommit,
    PostMerge,
    PrePush,
}

impl GitEvent {
    fn called(name: &str) -> Option<GitEvent> {
        match name.to_lowercase().replace('_', "-").as_str() {
            "pre-commit" => Some(GitEvent::PreCommit),
            "post-commit" => Some(GitEvent::PostCommit),
            "pre-merge-commit" => Some(GitEvent::PreMergeCommit),
            "post-merge" => Some(GitEvent::PostMerge),
            "pre-push" => Some(GitEvent::PrePush),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            GitEvent::PreCommit => "pre-commit",
            GitEvent::PostCommit => "post-commit",
            GitEvent::PreMergeCommit => "pre-merge-commit",
            GitEvent::PostMerge => "post-merge",
            GitEvent::PrePush => "pre-push",
        }
    }

    /// What it is about, for sentences.
    const fn deed(self) -> &'static str {
        match self {
            GitEvent::PrePush => "push",
            _ => "commit",
        }
    }

    /// Whether it comes after the deed.
    const fn is_after(self) -> bool {
        matches!(self, GitEvent::PostCommit | GitEvent::PostMerge)
    }
}

/// What came of looking.
#[derive(Debug, PartialEq, Eq)]
enum GuardOutcome {
    /// Nothing is in the way.
    Fine,
    /// It goes on, and there is something to say.
    Said(String),
    Refused(String),
}

/// What the command line of such a hook says.
pub(super) struct GitHookArgs<'a> {
    pub(super) event: &'a str,
    /// What git gave the hook: for a push the name and the address of the other side.
    pub(super) arguments: &'a [OsString],
    pub(super) globals: &'a Globals,
}

/// Runs a hook of git. The exit code is 0 or 1.
pub(super) fn run(asked: &GitHookArgs<'_>, env: &Env) -> ExitCode {
    let Some(event) = GitEvent::called(asked.event) else {
        log::append(env, "git", Code::BadArguments.as_str());
        return ExitCode::SUCCESS;
    };
    let outcome = outcome(event, env, || act(event, asked, env));
    let (text, code) = match outcome {
        GuardOutcome::Fine => return ExitCode::SUCCESS,
        GuardOutcome::Said(text) => (text, ExitCode::SUCCESS),
        GuardOutcome::Refused(text) => (text, ExitCode::FAILURE),
    };
    let text = callable(text, env);
    let mut stderr = std::io::stderr().lock();
    // A failure to write is ignored: the answer is the exit status.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.write_all(b"\n"));
    code
}

/// What was found out, or what the policy says where nothing could be.
fn outcome(event: GitEvent, env: &Env, act: impl FnOnce() -> Result<GuardOutcome>) -> GuardOutcome {
    let failure = match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(outcome)) => return outcome,
        Ok(Err(error)) if is_unconfirmed(&error) => {
            log::append(env, &format!("git {}", event.name()), error.code().as_str());
            return GuardOutcome::Fine;
        }
        // A wrong environment does not show in the store, so the message names it.
        Ok(Err(error)) if error.code() == Code::BadName => "bad_name: TENURE_AGENT is not the name of an agent",
        Ok(Err(error)) => error.code().as_str(),
        Err(_) => "panic",
    };
    let looked = catch_unwind(AssertUnwindSafe(|| {
        let code = failure.split(':').next().unwrap_or(failure);
        log::append(env, &format!("git {}", event.name()), code);
        policy(env, None)
    }));
    let deed = event.deed();
    match (event.is_after(), looked.unwrap_or(Fail::Closed)) {
        // The commit is made; nothing can be undone by complaining.
        (true, _) => GuardOutcome::Fine,
        (_, Fail::Open) => GuardOutcome::Said(format!(
            "tenure: could not check whether other agents hold what you {deed} ({failure}); it continues unchecked. \
             `tenure doctor` shows the problem."
        )),
        (_, Fail::Closed) => GuardOutcome::Refused(format!(
            "tenure: could not check whether other agents hold what you {deed} ({failure}), and guard.fail = \
             \"closed\" refuses this. `tenure doctor` shows the problem; a person can set guard.fail = \"open\" in \
             tenure.toml."
        )),
    }
}

fn act(event: GitEvent, asked: &GitHookArgs<'_>, env: &Env) -> Result<GuardOutcome> {
    let out = Printer::new(false, true, ColourChoice::Auto, env);
    let time = HookTime { patience: PATIENCE, deadline: Deadline::after(TIME) };
    let settings = Settings::new(asked.globals.clone(), env);
    let workspace = workspace::resolve(&settings.globals, env)?;
    if workspace.checkout.is_none() || workspace.project.key.is_none() {
        return Ok(GuardOutcome::Fine);
    }
    if event == GitEvent::PostMerge {
        // A fast-forward was committed elsewhere, and a squash is not committed yet.
        let is_squash = asked.arguments.first().is_some_and(|argument| argument == "1");
        if is_squash || !git_command::is_merge() {
            return Ok(GuardOutcome::Fine);
        }
    }
    let context = Session::at(workspace, &settings, &out, StoreUse::Hook { time, writes: event.is_after() });
    if event.is_after() {
        return post_commit::act(context);
    }
    if let Some(sentence) = guard::sentence(&guard::state(&context)?) {
        return Ok(GuardOutcome::Said(format!("tenure: {sentence}")));
    }
    let outcome = match event {
        GitEvent::PrePush => pre_push::act(&context, asked.arguments),
        _ => pre_commit::act(&context, event == GitEvent::PreMergeCommit),
    }?;
    if outcome != GuardOutcome::Fine
        && let Err(error) = fired(context, event)
    {
        // What was found out counts, whether or not it can be remembered: a sandbox may not let the store be written.
        log::append(env, &format!("git {}", event.name()), error.code().as_str());
    }
    Ok(outcome)
}

/// Remembers that a guard had something to say. One that lets a commit through in silence writes nothing.
fn fired(context: Session<'_>, event: GitEvent) -> Result<()> {
    // A caller without a name can be refused, but there is nothing to record about it.
    if !matches!(caller::resolved(&context)?, ResolvedCaller::Known(_)) {
        return Ok(());
    }
    let identity = caller::identity(&context)?;
    let context = context.acting_as(actor(identity));
    let says = tool_used::ToolUsed {
        tool: "git".to_owned(),
        session: "git".to_owned(),
        event: event.name().to_owned(),
        first: true,
        ..tool_used::ToolUsed::default()
    };
    context.run(says, RunOptions::default()).map(|_| ())
}

/// The caller of git, as its hook acts for it.
fn actor(identity: Identity) -> Actor {
    Actor {
        name: identity.name.into(),
        tool: identity.tool.unwrap_or_default().to_owned(),
        process: None,
        door: tenure_kernel::Door::Hook,
        principal: None,
    }
}

/// What a guard does with a caller that others block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Told in one line and let through.
    Warn,
    Refuse,
    /// Refused, and told that the caller has no name.
    RefuseUnknown,
}

/// What the guard does with the caller. An agent tool that does not say which session it is has no holds of its own.
fn manner(context: &Session<'_>) -> Result<Manner> {
    Ok(match caller::resolved(context)? {
        ResolvedCaller::Known(identity) => {
            match guard::treats(&context.workspace.config, identity.kind == ActorKind::Person) {
                Treatment::Warn => Manner::Warn,
                Treatment::Refuse => Manner::Refuse,
            }
        }
        ResolvedCaller::Pretender(_) => Manner::Refuse,
        ResolvedCaller::Unnamed(_) | ResolvedCaller::Several(_) => Manner::RefuseUnknown,
    })
}

/// A failure of git, which is one of looking.
fn git_failed(what: &str) -> Error {
    Error::new(Code::GitFailed, format!("git did not list {what} in time"))
        .at(Stage::Read)
        .hint("Try the commit again; check the repository with `git status`.")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "writes a file of its own")]
mod tests {
    use super::*;

    #[test]
    fn inv_r11_what_fails_follows_the_policy_a_panic_included() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::of(dir.path(), []).with("HOME", dir.path()).with("XDG_STATE_HOME", dir.path().join("state"));
        type Act = fn() -> Result<GuardOutcome>;
        let failures: [Act; 2] = [|| Err(Error::bug("broken")), || panic!("at the worst moment")];
        for event in [GitEvent::PreCommit, GitEvent::PreMergeCommit, GitEvent::PrePush] {
            for act in failures {
                std::fs::write(dir.path().join("tenure.toml"), "").unwrap();
                assert!(matches!(outcome(event, &env, act), GuardOutcome::Said(text) if text.lines().count() == 1));
                std::fs::write(dir.path().join("tenure.toml"), "[guard]\nfail = \"closed\"").unwrap();
                assert!(matches!(outcome(event, &env, act), GuardOutcome::Refused(text) if text.contains("closed")));
                assert_eq!(outcome(GitEvent::PostCommit, &env, act), GuardOutcome::Fine);
            }
        }
        let log = std::fs::read_to_string(dir.path().join("state/tenure/hook.log")).unwrap();
        assert!(log.contains("git pre-push panic") && log.contains("git post-commit internal"), "{log}");
    }
}
