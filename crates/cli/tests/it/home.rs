//! An isolated home for each test, independent of the user's environment.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tenure_kernel::answer::LoggedEvent;
use tenure_testkit::{pg, raw, replay};

use crate::serving::{Serving, Through};
use crate::through::Servers;

/// The binary under test.
pub(crate) const TENURE: &str = env!("CARGO_BIN_EXE_tenure");

/// Copies the program with a separate process: a descriptor open for writing in this process would be inherited by
/// programs that other tests start meanwhile, and a file open for writing cannot be executed.
pub(crate) fn copy_program(to: &Path) {
    assert!(Command::new("cp").arg(TENURE).arg(to).status().unwrap().success(), "{}", to.display());
}

/// The engine of a test's store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The user's store below HOME.
    File,
    /// A separate schema on PostgreSQL.
    Postgres,
}

impl Engine {
    pub(crate) const ALL: [Engine; 2] = [Engine::File, Engine::Postgres];
}

/// A temporary directory with a home, a repository and a store that does not exist yet.
pub(crate) struct Home {
    /// Server processes, if the suite runs through servers. They are ended before the directory is removed.
    servers: Option<Servers>,
    _dir: tempfile::TempDir,
    root: PathBuf,
    /// The URL and the schema, on PostgreSQL.
    postgres: Option<(String, String)>,
    /// A server in this process between the calls and the embedded store.
    serving: Option<Serving>,
}

impl Home {
    /// A home with a git repository. The whole suite can run through servers, see [`crate::through`].
    pub(crate) fn new(engine: Engine) -> Home {
        let home = Home::without_git(engine);
        home.git_init("repo");
        home
    }

    /// The same for a test of the store itself (its files, its discovery, its changes): never through a server.
    pub(crate) fn direct(engine: Engine) -> Home {
        let home = Home::direct_without_git(engine);
        home.git_init("repo");
        home
    }

    /// The same with a directory `repo` that is not a repository.
    pub(crate) fn direct_without_git(engine: Engine) -> Home {
        Home::made(engine, None)
    }

    /// Whether calls go to a server over HTTP.
    pub(crate) fn is_far(&self) -> bool {
        self.servers.as_ref().is_some_and(|servers| !servers.environment.is_empty())
    }

    /// A home with a git repository and a store at a URL.
    pub(crate) fn at(url: &str) -> Home {
        let (_, schema) = url.split_once("schema=").expect("a URL with a schema");
        let home = Home { postgres: Some((url.to_owned(), schema.to_owned())), ..Home::made(Engine::File, None) };
        home.git_init("repo");
        home
    }

    /// A home with a directory `repo` that is not a repository.
    pub(crate) fn without_git(engine: Engine) -> Home {
        let mut home = Home::made(engine, None);
        home.servers = Servers::asked_for(&home, engine);
        home
    }

    fn made(engine: Engine, through: Option<Through>) -> Home {
        crate::signals::reset_ignored();
        let dir = tempfile::Builder::new().prefix("tn-it-").tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["home", "repo", "tmp", "installed"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(TENURE, root.join("installed/tenure")).unwrap();
        let postgres = (engine == Engine::Postgres).then(|| {
            let schema = pg::server().fresh_schema();
            (pg::server().url(&schema), schema)
        });
        let mut home = Home { servers: None, _dir: dir, root, postgres, serving: None };
        home.serving = through.map(|through| Serving::start(&home.database(), through));
        home
    }

    /// A home whose calls go through a server in this process.
    pub(crate) fn served(through: Through) -> Home {
        let home = Home::made(Engine::File, Some(through));
        home.git_init("repo");
        home
    }

    pub(crate) fn serving(&self) -> &Serving {
        self.serving.as_ref().expect("this test has a server")
    }

    /// A path inside the root.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    /// The user's embedded store.
    pub(crate) fn database(&self) -> PathBuf {
        self.path("home/.local/share/tenure/tenure.db")
    }

    /// The same with nothing in its log: to be copied, moved or changed alone.
    pub(crate) fn whole_database(&self) -> PathBuf {
        raw::tamper(&self.database(), "SELECT COUNT(*) FROM sqlite_schema");
        self.database()
    }

    pub(crate) fn schema(&self) -> &str {
        &self.postgres.as_ref().expect("this test is on PostgreSQL").1
    }

    /// Creates a repository with one commit.
    pub(crate) fn git_init(&self, name: &str) {
        std::fs::create_dir_all(self.path(name)).unwrap();
        self.git(name, &["init", "-q", "-b", "main"]);
        self.git(name, &["commit", "-q", "--allow-empty", "-m", "first"]);
    }

    pub(crate) fn git(&self, name: &str, args: &[&str]) {
        let mut git = self.clean(OsStr::new("git"));
        for (key, value) in [("AUTHOR", "ann"), ("COMMITTER", "ann")] {
            git.env(format!("GIT_{key}_NAME"), value).env(format!("GIT_{key}_EMAIL"), "ann@example.com");
        }
        git.env("GIT_CONFIG_NOSYSTEM", "1").args(["-c", "protocol.file.allow=always"]).args(args);
        let output = git.current_dir(self.path(name)).output().expect("git is there");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A program with a clean environment, run in the repository.
    pub(crate) fn clean(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.repo());
        for (key, value) in self.environment() {
            command.env(key, value);
        }
        command
    }

    /// The environment of every process of this test.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        // As on a machine where the program is installed.
        let mut path = std::env::var_os("PATH").unwrap_or_default();
        path.push(":");
        path.push(self.path("installed"));
        let mut variables = vec![
            ("PATH", path),
            ("HOME", self.path("home").into()),
            ("TMPDIR", self.path("tmp").into()),
            ("USER", "ann".into()),
        ];
        let far = self.servers.as_ref().map(|servers| servers.environment.clone()).unwrap_or_default();
        match &self.postgres {
            Some((url, _)) if far.is_empty() => variables.push(("TENURE_STORE", url.into())),
            _ => variables.extend(far),
        }
        if let Some(serving) = &self.serving {
            variables.extend(serving.environment());
        }
        variables
    }

    /// A call of `tenure`, to be modified before it runs.
    pub(crate) fn call<S: AsRef<OsStr>>(&self, args: &[S]) -> Call {
        let mut command = self.clean(OsStr::new(TENURE));
        command.args(args);
        Call { command, input: Vec::new() }
    }

    /// Runs `tenure` as the person ann.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        self.call(args).run()
    }

    /// Runs `tenure … --json`, which must succeed, and returns `data`.
    pub(crate) fn ok(&self, args: &[&str]) -> Value {
        self.call(args).env("TENURE_FORMAT", "json").run().data()
    }

    /// The same as an agent.
    pub(crate) fn ok_as(&self, agent: &str, args: &[&str]) -> Value {
        self.call(args).env("TENURE_FORMAT", "json").env("TENURE_AGENT", agent).run().data()
    }

    /// Runs `tenure … --json` as an agent, which must be refused, and returns the error.
    pub(crate) fn refused_as(&self, agent: &str, args: &[&str]) -> Refusal {
        self.call(args).env("TENURE_FORMAT", "json").env("TENURE_AGENT", agent).run().refusal()
    }

    /// Runs `tenure … --json`, which must be refused.
    pub(crate) fn refused(&self, args: &[&str]) -> Refusal {
        self.call(args).env("TENURE_FORMAT", "json").run().refusal()
    }

    /// Adds a task and returns its id.
    pub(crate) fn add(&self, title: &str) -> String {
        text(&self.ok(&["add", title])["id"])
    }

    /// Adds many tasks and returns their ids.
    pub(crate) fn add_many(&self, count: usize) -> Vec<String> {
        let lines: String = (0..count).map(|n| format!("{{\"title\":\"task {n}\"}}\n")).collect();
        let added = self.call(&["add", "--stdin", "--json"]).input(lines.as_bytes()).run().data();
        assert_eq!(added["count"], count);
        added["ids"].as_array().unwrap().iter().map(text).collect()
    }

    /// All events, oldest first, read page by page.
    pub(crate) fn events(&self) -> Vec<LoggedEvent> {
        let mut all = Vec::new();
        let mut page = self.ok(&["log", "--since", "0", "--limit", "1000"]);
        loop {
            all.extend(serde_json::from_value::<Vec<LoggedEvent>>(page["items"].take()).unwrap());
            match page["next"].as_str() {
                Some(next) => page = self.ok(&["log", "--cursor", next, "--limit", "1000"]),
                None => return all,
            }
        }
    }

    /// Replays the whole log: no gap, no two holders at once. Returns the number of events.
    pub(crate) fn replayed(&self) -> usize {
        let events = self.events();
        replay::replay(&events);
        events.len()
    }

    /// All files below a directory, to assert that none was created.
    pub(crate) fn files(&self, name: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.path(name)];
        while let Some(dir) = open.pop() {
            for entry in std::fs::read_dir(&dir).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    open.push(path.clone());
                }
                found.push(path);
            }
        }
        found.sort();
        found
    }
}

pub(crate) struct Call {
    command: Command,
    input: Vec<u8>,
}

impl Call {
    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Call {
        self.command.env(key, value);
        self
    }

    pub(crate) fn no_env(mut self, key: &str) -> Call {
        self.command.env_remove(key);
        self
    }

    pub(crate) fn agent(self, name: &str) -> Call {
        self.env("TENURE_AGENT", name)
    }

    /// Requests JSON by the variable, so that the arguments stay unchanged.
    pub(crate) fn json(self) -> Call {
        self.env("TENURE_FORMAT", "json")
    }

    pub(crate) fn cwd(mut self, dir: impl AsRef<Path>) -> Call {
        self.command.current_dir(dir);
        self
    }

    pub(crate) fn input(mut self, bytes: &[u8]) -> Call {
        self.input = bytes.to_vec();
        self
    }

    pub(crate) fn into_command(self) -> Command {
        self.command
    }

    pub(crate) fn run(mut self) -> Output {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = self.input;
        // A child that exits early leaves its input unread.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        Output::of(&output)
    }
}

/// The result of a call.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Standard output, if it is one JSON document.
    pub(crate) json: Option<Value>,
}

impl Output {
    pub(crate) fn of(output: &std::process::Output) -> Output {
        let stdout = String::from_utf8(output.stdout.clone()).expect("standard output is UTF-8");
        let json = serde_json::from_str(&stdout).ok();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Output { code: output.status.code().unwrap_or(-1), stdout, stderr, json }
    }

    /// The `data` of a success.
    pub(crate) fn data(self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        let mut json = self.json.expect("a JSON document");
        assert_eq!(json["ok"], true);
        json["data"].take()
    }

    /// The error of a refusal, with all its fields.
    pub(crate) fn refusal(self) -> Refusal {
        assert_ne!(self.code, 0, "{self:?}");
        let json = self.json.unwrap_or_else(|| panic!("not a JSON document: {} {}", self.stdout, self.stderr));
        assert_eq!(json["ok"], false);
        let error = json["error"].clone();
        for key in ["code", "kind", "message", "hint", "retryable", "details"] {
            assert!(error.get(key).is_some(), "no {key} in {error}");
        }
        assert!(error["details"]["stage"].is_string(), "no stage in {error}");
        assert!(error["details"].get("entity").is_some(), "no entity in {error}");
        let exit = match text(&error["kind"]).as_str() {
            "usage" => 2,
            "denied" | "not_found" | "conflict" | "stale" | "mismatch" => 1,
            "busy" => 3,
            "storage" | "internal" => 4,
            other => panic!("an unknown kind: {other}"),
        };
        assert_eq!(self.code, exit, "{error}");
        assert_ne!(error["kind"], "internal", "a defect: {error}");
        assert_eq!(error["retryable"], exit == 3, "{error}");
        assert_eq!(self.stderr, "", "with --json everything is said on standard output");
        Refusal { exit: self.code, kind: text(&error["kind"]), code: text(&error["code"]), error }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) exit: i32,
    pub(crate) kind: String,
    pub(crate) code: String,
    pub(crate) error: Value,
}

impl Refusal {
    pub(crate) fn message(&self) -> &str {
        self.error["message"].as_str().unwrap()
    }

    pub(crate) fn detail(&self, key: &str) -> &Value {
        &self.error["details"][key]
    }

    #[track_caller]
    pub(crate) fn is(&self, kind: &str, code: &str) -> &Refusal {
        assert_eq!((self.kind.as_str(), self.code.as_str()), (kind, code), "{}", self.error);
        self
    }

    /// Checks that the message names all of these.
    #[track_caller]
    pub(crate) fn names(&self, words: &[&str]) -> &Refusal {
        for word in words {
            assert!(self.message().contains(word), "{:?} does not name {word:?}", self.message());
        }
        self
    }
}

#[track_caller]
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}

/// The keys of a JSON object, sorted, in one line.
#[track_caller]
pub(crate) fn keys(value: &Value) -> String {
    let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys.join(" ")
}

/// Words, sorted, in one line: the expected value of `keys`.
pub(crate) fn words(line: &str) -> String {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    words.sort_unstable();
    words.join(" ")
}

/// Waits for a condition, for at most a minute, which is longer than any of them takes.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_true() {
        assert!(start.elapsed().as_secs() < 60, "{what}: not within a minute");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
