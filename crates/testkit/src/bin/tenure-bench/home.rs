//! The programs under measurement, and isolated home directories to run them in.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tenure_testkit::pg;

/// The measured programs, built with the same profile as this one.
pub(crate) struct Programs {
    tenure: PathBuf,
    floor: PathBuf,
}

impl Programs {
    pub(crate) fn find() -> Result<Programs, String> {
        let own = env::current_exe().map_err(|e| format!("cannot tell where this program is: {e}"))?;
        let beside = |name: &str| {
            let path = own.with_file_name(name);
            let missing = || format!("no {name} beside this program: run `cargo build --release --workspace` first");
            path.is_file().then_some(path).ok_or_else(missing)
        };
        Ok(Programs { tenure: beside("tenure")?, floor: beside("tenure-floor")? })
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Sqlite => "SQLite",
            Engine::Postgres => "PostgreSQL",
        }
    }
}

/// A home directory with one repository, isolated from the user's own environment.
pub(crate) struct Home<'a> {
    programs: &'a Programs,
    dir: PathBuf,
    /// The temporary directory, if this process created it.
    kept: Option<TempDir>,
    schema: Option<String>,
}

impl<'a> Home<'a> {
    pub(crate) fn new(programs: &'a Programs, engine: Engine) -> Home<'a> {
        let dir = tempfile::Builder::new().prefix("tn-").tempdir().unwrap();
        let schema = matches!(engine, Engine::Postgres).then(|| pg::server().fresh_schema());
        let home = Home { programs, dir: dir.path().to_owned(), kept: Some(dir), schema };
        fs::create_dir(home.repository()).unwrap();
        fs::write(home.repository().join("README.md"), "a repository\n").unwrap();
        let author = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"];
        for words in [&["init", "--quiet"][..], &["add", "-A"], &["commit", "--quiet", "-m", "first"]] {
            let words = [&author[..], words].concat();
            assert!(home.command(Path::new("git"), &words).status().unwrap().success(), "git {words:?} failed");
        }
        home
    }

    /// A home that another process created and will remove.
    pub(crate) fn at(programs: &'a Programs, dir: PathBuf) -> Home<'a> {
        Home { programs, dir, kept: None, schema: None }
    }

    /// A home with these tasks: one JSON object per line, one call per batch.
    pub(crate) fn with_batches(
        programs: &'a Programs,
        engine: Engine,
        batches: impl Iterator<Item = String>,
    ) -> Home<'a> {
        let home = Home::new(programs, engine);
        batches.for_each(|batch| home.feed(&["add", "--stdin"], &batch));
        home
    }

    pub(crate) fn path(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.dir.join("repository")
    }

    /// Standard input with a text, as a file, which never blocks the reader.
    fn input(&self, text: &str) -> File {
        let file = self.dir.join("input");
        fs::write(&file, text).unwrap();
        File::open(file).unwrap()
    }

    /// Makes a call with a text on standard input.
    pub(crate) fn feed(&self, words: &[&str], text: &str) {
        let mut command = self.command(&self.programs.tenure, words);
        assert!(command.stdin(self.input(text)).status().unwrap().success(), "failed: tenure {}", words.join(" "));
    }

    /// A program that runs in the repository. This process changes its own directory instead of setting one for the
    /// child: with a child directory, a static Rust program cannot use posix_spawn and forks instead, which costs more
    /// than the measured call.
    fn command(&self, program: &Path, words: &[&str]) -> Command {
        env::set_current_dir(self.repository()).unwrap();
        let mut command = Command::new(program);
        command.args(words).env_clear().env("HOME", &self.dir).env("USER", "bench").env("PATH", "/usr/bin:/bin");
        if let Some(schema) = &self.schema {
            command.env("TENURE_STORE", pg::server().url(schema));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// The duration of a call, and whether it succeeded.
    pub(crate) fn try_time(&self, words: &[&str]) -> (Duration, bool) {
        clock(self.command(&self.programs.tenure, words))
    }

    pub(crate) fn time(&self, words: &[&str]) -> Duration {
        let (time, ok) = self.try_time(words);
        assert!(ok, "failed: tenure {}", words.join(" "));
        time
    }

    /// The duration of a call with additional variables and optional standard input.
    pub(crate) fn time_with(&self, words: &[&str], vars: &[(&str, &str)], text: Option<&str>) -> Duration {
        let mut command = self.command(&self.programs.tenure, words);
        command.envs(vars.iter().copied());
        if let Some(text) = text {
            command.stdin(self.input(text));
        }
        let (time, ok) = clock(command);
        assert!(ok, "failed: tenure {}", words.join(" "));
        time
    }

    pub(crate) fn time_floor(&self, what: &str) -> Duration {
        let store = self.dir.join(".local/share/tenure/tenure.db");
        let (time, ok) = clock(self.command(&self.programs.floor, &[what, store.to_str().unwrap()]));
        assert!(ok, "failed: tenure-floor {what}");
        time
    }

    /// The JSON output of a call.
    pub(crate) fn answer(&self, words: &[&str]) -> Value {
        let output = self.command(&self.programs.tenure, words).stdout(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "failed: tenure {}: {output:?}", words.join(" "));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Home<'_> {
    fn drop(&mut self) {
        if let Some(schema) = &self.schema {
            pg::server().batch(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE"));
        }
        // The working directory must not be the one about to be removed.
        env::set_current_dir("/").unwrap();
        drop(self.kept.take());
    }
}

fn clock(mut command: Command) -> (Duration, bool) {
    let start = Instant::now();
    let status = command.status().unwrap();
    (start.elapsed(), status.success())
}
