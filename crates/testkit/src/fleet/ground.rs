//! The environment of a fleet: a repository with directories and files, a home, a store, and the real `tenure` binary.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_kernel::answer::LoggedEvent;

use crate::fixture::Engine;
use crate::pg;

/// The number of files per directory.
const FILES: usize = 3;

/// The environment, as passed to each process of the fleet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ground {
    tenure: PathBuf,
    root: PathBuf,
    store: Option<String>,
    pub(super) directories: usize,
}

/// The result of a `tenure` call.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) exit: i32,
    /// The `data` field, or null.
    pub(super) data: Value,
    /// The error code, or empty.
    pub(super) code: String,
    pub(crate) stdout: String,
}

impl Ground {
    /// Creates the environment below a directory.
    pub(crate) fn new(root: &Path, engine: Engine, directories: usize) -> Ground {
        let store = (engine == Engine::Postgres).then(|| pg::server().url(&pg::server().fresh_schema()));
        let ground = Ground { tenure: tenure(), root: root.canonicalize().unwrap(), store, directories };
        for name in ["home", "tmp", "repo"] {
            std::fs::create_dir(ground.root.join(name)).unwrap();
        }
        for directory in 0..directories {
            std::fs::create_dir(ground.repo().join(format!("d{directory:02}"))).unwrap();
            for file in ground.files_in(directory) {
                std::fs::write(ground.repo().join(file), "").unwrap();
            }
        }
        // A guard that cannot check must refuse, because only holds keep updates apart here. Places in line expire
        // quickly, because few of the dead agents leave a proof.
        let config = "[guard]\nfail = \"closed\"\n\n[wait]\nplace = \"20s\"\noffer = \"5s\"\n";
        std::fs::write(ground.repo().join("tenure.toml"), config).unwrap();
        ground.git(&["init", "-q", "-b", "main"]);
        ground.git(&["add", "-A"]);
        ground.git(&["commit", "-q", "-m", "first"]);
        // A person's write creates the project; before that, hooks do nothing.
        assert_eq!(ground.call(&[], &["add", "work of the fleet"], "").exit, 0);
        ground
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.root.join("repo")
    }

    /// A temporary file, renamed after it is written.
    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.root.join("tmp").join(name)
    }

    pub(super) fn files_in(&self, directory: usize) -> Vec<String> {
        (0..FILES).map(|file| format!("d{directory:02}/f{file}.txt")).collect()
    }

    pub(super) fn files(&self) -> Vec<String> {
        (0..self.directories).flat_map(|directory| self.files_in(directory)).collect()
    }

    fn git(&self, args: &[&str]) {
        let mut git = self.clean(OsStr::new("git"));
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "ann").env(format!("GIT_{who}_EMAIL"), "ann@example.com");
        }
        let output = git.env("GIT_CONFIG_NOSYSTEM", "1").args(args).output().expect("git is there");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A program with a clean environment, run in the repository.
    fn clean(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.repo()).env("USER", "ann");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root.join("home")).env("TMPDIR", self.root.join("tmp"));
        if let Some(store) = &self.store {
            command.env("TENURE_STORE", store);
        }
        command
    }

    /// Runs `tenure` to its end, as the agent given by the variables.
    pub(crate) fn call(&self, variables: &[(&str, &str)], args: &[&str], input: &str) -> Answer {
        let mut child = self.start(variables, args);
        feed(&mut child, input);
        Answer::of(child)
    }

    /// Starts `tenure`, which may wait for its input.
    pub(crate) fn start(&self, variables: &[(&str, &str)], args: &[&str]) -> Child {
        let mut command = self.clean(self.tenure.as_os_str());
        command.env("TENURE_FORMAT", "json").envs(variables.iter().copied()).args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// All events, oldest first.
    pub(crate) fn events(&self) -> Vec<LoggedEvent> {
        let mut all = Vec::new();
        let mut page = self.call(&[], &["log", "--since", "0", "--limit", "1000"], "").data;
        loop {
            all.extend(serde_json::from_value::<Vec<LoggedEvent>>(page["items"].take()).unwrap());
            match page["next"].as_str() {
                Some(next) => page = self.call(&[], &["log", "--cursor", next, "--limit", "1000"], "").data,
                None => return all,
            }
        }
    }
}

/// Writes the complete input of a process.
pub(crate) fn feed(child: &mut Child, input: &str) {
    // An event fits into the pipe buffer. A process that does not read its input is not an error.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
}

impl Answer {
    pub(crate) fn of(child: Child) -> Answer {
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let mut document: Value = serde_json::from_str(&stdout).unwrap_or_default();
        Answer {
            exit: output.status.code().unwrap_or(-1),
            data: document["data"].take(),
            code: document["error"]["code"].as_str().unwrap_or_default().to_owned(),
            stdout: stdout + &String::from_utf8_lossy(&output.stderr),
        }
    }
}

/// The binary from the same build: beside this program, or in the parent directory for test programs.
fn tenure() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let places = own.ancestors().skip(1).take(2).map(|dir| dir.join("tenure"));
    let found = places.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("no tenure near {}: run `cargo build --workspace` first", own.display()))
}
