//! The location of a repository's hooks, as reported by git, the only program that knows all its settings.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::super::marked_section::TOML;
use super::{EVENTS, HookFile, LEGACY, read, script};
use crate::workspace::git::GitCheckout;

/// The timeout of git.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the hooks of a repository are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hooks {
    /// The directory of the files.
    dir: PathBuf,
    /// Whether husky runs them: with `sh -e`, whatever their mode.
    husky: bool,
    /// Whether the directory is outside of the repository, so that other repositories share it.
    outside: bool,
    /// The configuration that all working trees share.
    config: PathBuf,
    /// Whether this version of git reads hooks from the configuration.
    by_config: bool,
    /// The path of the program.
    program: Option<String>,
    /// Whether the files are meant to be committed; they contain no path of a machine.
    committed: bool,
}

impl Hooks {
    /// Asks git for the location of its hooks, which will run this program.
    pub(crate) fn of(checkout: &GitCheckout, program: &str) -> Option<Hooks> {
        let top = &checkout.top;
        let said = git(top, &["rev-parse", "--git-path", "hooks"])?;
        let said = said.strip_suffix('\n').unwrap_or(&said);
        let named = top.join(said);
        let mut dir = crate::workspace::git::canonical(&named).ok()?;
        let inside = [&checkout.top, &checkout.common, &checkout.main].iter().any(|base| dir.starts_with(base));
        // Husky rewrites its own directory with every installation, and runs the files in the parent directory.
        let husky = dir.file_name().is_some_and(|name| name == "_")
            && ["h", "husky.sh"].iter().any(|file| dir.join(file).is_file());
        if husky {
            dir.pop();
        }
        let probe = ["-c", "hook.tenure-probe.event=pre-commit", "-c", "hook.tenure-probe.command=true"];
        let listed = git(top, &[probe.as_slice(), &["hook", "list", "pre-commit"]].concat());
        let by_config = listed.is_some_and(|listed| listed.lines().any(|line| line.trim() == "tenure-probe"));
        Some(Hooks {
            committed: !dir.starts_with(&checkout.common),
            dir,
            husky,
            outside: !inside,
            config: checkout.common.join("config"),
            by_config,
            program: script::place(program).map(str::to_owned),
        })
    }

    /// The files and the content of each.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Option<HookFile>)> {
        let mut files = Vec::new();
        let configured = || read(&self.config).is_ok_and(|text| text.is_some_and(|text| text.contains(TOML.begin)));
        if self.by_config || configured() {
            files.push((self.config.clone(), None));
        }
        if self.outside {
            return files;
        }
        for event in EVENTS {
            let program = self.program.clone().filter(|_| !self.committed);
            let hook = HookFile { event, husky: self.husky, wanted: !self.by_config, program };
            files.push((self.dir.join(event), Some(hook.clone())));
            let legacy = self.dir.join(format!("{event}.{LEGACY}"));
            if legacy.exists() {
                files.push((legacy, Some(HookFile { wanted: false, ..hook })));
            }
        }
        files
    }

    /// The path of the program, for the configuration of this clone.
    pub(crate) fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// Whether hooks are written to the configuration.
    pub(crate) fn by_config(&self) -> bool {
        self.by_config
    }

    /// Whether there is no location for hooks of this repository alone.
    pub(crate) fn has_no_place(&self) -> bool {
        self.outside && !self.by_config
    }

    /// Remarks about the location of the hooks.
    pub(crate) fn note(&self) -> Option<String> {
        if self.by_config {
            return None;
        }
        let dir = self.dir.display();
        if self.outside {
            return Some(format!(
                "git: core.hooksPath is {dir}, outside this repository and shared with other repositories, so \
                 nothing is written there. A git from 2.54 on reads hooks from its configuration and needs \
                 no file."
            ));
        }
        self.husky
            .then(|| format!("git: husky runs the hooks in {dir}; they are files of the repository, to be committed."))
    }
}

/// The output of git in a checkout; nothing if it fails or times out.
pub(crate) fn git(top: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(top).args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    let mut child = command.spawn().ok()?;
    let mut stdout = child.stdout.take()?;
    let (say, hear) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.by_ref().take(64 * 1024).read_to_string(&mut text);
        let _ = say.send(read.map(|_| text));
    });
    let heard = hear.recv_timeout(PATIENCE);
    if heard.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().ok()?;
    heard.ok()?.ok().filter(|_| status.success())
}
