//! Faults and remarks about an installation. `setup`, `setup --check` and `doctor` share this code, so that they report
//! the same. No hook is run.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::Serialize;
use tenure_client::phrasing::Commands;
use tenure_core::Result;

use super::check::{HookState, Installed, installed, states};
use super::githook::Hooks;
use super::target::{Ground, SetupScope, SetupTarget, quoted};
use crate::env::Env;

/// The timeout of a login shell.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DiagnosisLevel {
    /// A remark: the installation works.
    Remark,
    /// A fault: something that is installed does not work.
    Fault,
}

/// A finding about the installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Diagnosis {
    /// `None` if it concerns all tools.
    pub(crate) tool: Option<&'static str>,
    pub(crate) level: DiagnosisLevel,
    pub(crate) text: String,
    /// What to do about it.
    pub(crate) step: String,
    /// Whether it concerns hooks that a person has to trust.
    #[serde(skip)]
    pub(crate) is_trust: bool,
}

impl Diagnosis {
    fn of(
        target: Option<SetupTarget>,
        level: DiagnosisLevel,
        text: impl Into<String>,
        step: impl Into<String>,
    ) -> Diagnosis {
        Diagnosis { tool: target.map(SetupTarget::name), level, text: text.into(), step: step.into(), is_trust: false }
    }

    pub(crate) fn sentence(&self) -> String {
        let tool = self.tool.map(|tool| format!("{tool}: ")).unwrap_or_default();
        format!("{tool}{}. {}", self.text, self.step)
    }
}

/// What is installed for a tool in one scope, or the error of reading it.
pub(crate) struct Surveyed {
    pub(crate) target: SetupTarget,
    pub(crate) scope: SetupScope,
    pub(crate) installed: Result<Installed>,
}

/// Reads the files of some tools.
pub(crate) fn survey(targets: &[SetupTarget], scopes: &[SetupScope], ground: &Ground) -> Vec<Surveyed> {
    let mut found = Vec::new();
    for target in targets {
        for scope in scopes {
            found.push(Surveyed {
                target: *target,
                scope: *scope,
                installed: installed(&target.files(*scope, ground), ground),
            });
            // Their files do not depend on the scope.
            if target.tool().is_none() {
                break;
            }
        }
    }
    found
}

/// All findings.
pub(crate) fn diagnose(found: &[Surveyed], ground: &Ground, env: &Env) -> Vec<Diagnosis> {
    let mut all = Vec::new();
    for one in found {
        match &one.installed {
            Ok(installed) if installed.is_any() => all.extend(of_target(one.target, installed)),
            Ok(_) => {}
            Err(error) => all.push(Diagnosis::of(
                Some(one.target),
                DiagnosisLevel::Fault,
                error.message().trim_end_matches('.'),
                error.advice().map(|advice| advice.say(&Commands)).unwrap_or_default(),
            )),
        }
    }
    if found.iter().any(|one| one.target == SetupTarget::Git)
        && let Some(note) = ground.git.as_ref().filter(|git| git.has_no_place()).and_then(Hooks::note)
    {
        let text = note.strip_prefix("git: ").unwrap_or(&note).trim_end_matches('.').to_owned();
        all.push(Diagnosis::of(
            Some(SetupTarget::Git),
            DiagnosisLevel::Remark,
            text,
            "The commit guard is not installed here.",
        ));
    }
    let is_any = |one: &Surveyed| one.installed.as_ref().is_ok_and(Installed::is_any);
    if found.iter().any(is_any) {
        all.extend(of_program(ground, env));
        all.extend(of_path(ground));
    }
    let by_login_shell = |one: &&Surveyed| is_any(one) && one.target.tool().is_some_and(|tool| tool.uses_login_shell);
    if let Some(one) = found.iter().find(by_login_shell) {
        all.extend(of_login_shell(one.target, ground));
    }
    all
}

/// The faults of a tool's hooks, grouped by fault.
fn of_target(target: SetupTarget, installed: &Installed) -> Vec<Diagnosis> {
    let mut all: Vec<Diagnosis> = Vec::new();
    let mut problems: Vec<(String, bool, Vec<&str>)> = Vec::new();
    let stands = states(target, installed);
    for (event, state, problem) in &stands {
        let (text, is_person) = match (state, problem) {
            (HookState::Works, _) => continue,
            (HookState::Missing, _) => ("missing".to_owned(), false),
            (HookState::Changed, _) => ("changed by hand".to_owned(), false),
            (HookState::Untrusted, problem) => (problem.clone().unwrap_or_default(), true),
            (HookState::Fails, problem) => (problem.clone().unwrap_or_else(|| "fails".to_owned()), false),
        };
        match problems.iter_mut().find(|(known, _, _)| *known == text) {
            Some((_, _, events)) => events.push(event),
            None => problems.push((text, is_person, vec![event])),
        }
    }
    let repair = format!("`tenure setup {}` repairs it.", target.name());
    let title = target.tool().map_or(target.name(), |tool| tool.title);
    for (text, is_person, events) in problems {
        let which = if events.len() == stands.len() { "all hooks".to_owned() } else { events.join(", ") };
        let text = format!("{which}: {text}");
        let step = if is_person { format!("Until then {title} does not run them.") } else { repair.clone() };
        all.push(Diagnosis { is_trust: is_person, ..Diagnosis::of(Some(target), DiagnosisLevel::Fault, text, step) });
    }
    if let Some(remark) = &installed.remark {
        all.push(Diagnosis::of(Some(target), DiagnosisLevel::Remark, remark.clone(), repair.clone()));
    }
    if !installed.server && target.tool().is_some() {
        all.push(Diagnosis::of(Some(target), DiagnosisLevel::Fault, "the MCP server is missing", repair));
    }
    all
}

/// Whether a file is executable.
fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Whether some directories contain a program with Tenure's name.
pub(crate) fn is_on(path: &[PathBuf]) -> bool {
    path.iter().any(|dir| is_program(&dir.join("tenure")))
}

fn of_path(ground: &Ground) -> Option<Diagnosis> {
    let program = quoted(&ground.program);
    (!is_on(&ground.path)).then(|| {
        Diagnosis::of(
            None,
            DiagnosisLevel::Remark,
            format!("`tenure` is not on PATH: agents are told to call {program}"),
            format!("Link it: `ln -s {program} ~/.local/bin/tenure`, or add its directory to PATH in ~/.profile."),
        )
    })
}

/// Whether the login shell in which a tool runs commands finds the program. Its profile may set another PATH.
fn of_login_shell(target: SetupTarget, ground: &Ground) -> Option<Diagnosis> {
    let bash = ground.path.iter().map(|dir| dir.join("bash")).find(|file| is_program(file))?;
    let mut command = Command::new(bash);
    command.args(["-lc", "command -v tenure >/dev/null 2>&1"]);
    // A separate process group, so that processes started by the profile end with it.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().ok()?;
    let group = rustix::process::Pid::from_child(&child);
    let (say, hear) = mpsc::channel();
    std::thread::spawn(move || _ = say.send(child.wait()));
    let Ok(status) = hear.recv_timeout(PATIENCE) else {
        _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        return None;
    };
    let title = target.tool()?.title;
    let program = quoted(&ground.program);
    (!status.ok()?.success()).then(|| {
        Diagnosis::of(
            Some(target),
            DiagnosisLevel::Remark,
            format!("a login shell (`bash -lc`), in which {title} runs commands, does not find `tenure`"),
            format!("Add the directory of {program} to PATH in ~/.profile."),
        )
    })
}

/// The finding about a program in a temporary or build directory.
fn of_program(ground: &Ground, env: &Env) -> Option<Diagnosis> {
    let named = Path::new(&ground.program);
    let real = std::fs::canonicalize(named).unwrap_or_else(|_| named.to_owned());
    let temporary: Vec<PathBuf> =
        ["/tmp", "/var/tmp", "/dev/shm"].into_iter().map(PathBuf::from).chain(env.directory("TMPDIR")).collect();
    let is_built = |path: &Path| path.ancestors().skip(1).any(|dir| dir.join("CACHEDIR.TAG").is_file());
    let place = if is_built(named) || is_built(&real) {
        "build directory"
    } else if temporary.iter().any(|dir| named.starts_with(dir) || real.starts_with(dir)) {
        "temporary directory"
    } else {
        return None;
    };
    Some(Diagnosis::of(
        None,
        DiagnosisLevel::Remark,
        format!("the program is in a {place}: {}", named.display()),
        "Install it in a permanent place, then run `tenure setup` from there.",
    ))
}
