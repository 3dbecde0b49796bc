//! A simulated agent tool: a long-lived process that runs hooks and commands.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::home::{Home, TENURE};

/// A shell that stands for the tool: it is the parent of the processes it starts, as with a real one.
pub(crate) struct Tool<'a> {
    home: &'a Home,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    name: &'static str,
    /// Prefixed to every command that the agent runs.
    variables: String,
}

impl<'a> Tool<'a> {
    pub(crate) fn new(home: &'a Home, name: &'static str, variables: &str) -> Tool<'a> {
        Tool::started_as(home, name, variables, &[])
    }

    /// The same with arguments on its command line.
    pub(crate) fn started_as(home: &'a Home, name: &'static str, variables: &str, words: &[&str]) -> Tool<'a> {
        let mut shell = home.clean(std::ffi::OsStr::new("sh"));
        if !words.is_empty() {
            shell.arg("-s").args(words);
        }
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = shell.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Tool { home, child, stdin, stdout, name, variables: variables.to_owned() }
    }

    /// The same tool under another session id.
    pub(crate) fn now(&mut self, variables: &str) {
        variables.clone_into(&mut self.variables);
    }

    /// Runs a line and returns its exit code and output.
    pub(crate) fn line(&mut self, line: &str) -> (i32, String) {
        let out = self.home.path(&format!("out-{}", self.child.id()));
        writeln!(self.stdin, "{line} > '{}'; echo \"$?\"", out.display()).unwrap();
        let mut code = String::new();
        self.stdout.read_line(&mut code).unwrap();
        (code.trim().parse().unwrap(), std::fs::read_to_string(&out).unwrap())
    }

    /// Sends an event; the exit code is always 0.
    pub(crate) fn hook(&mut self, event: &str, session: &str, more: &Value) -> String {
        let mut payload = json!({ "session_id": session, "cwd": self.home.repo(), "hook_event_name": event });
        more.as_object().unwrap().iter().for_each(|(key, value)| payload[key.as_str()] = value.clone());
        let file = self.home.path(&format!("event-{}", self.child.id()));
        std::fs::write(&file, payload.to_string()).unwrap();
        // As tools run it: through a separate shell, which is not the tool.
        let name = self.name;
        let (code, text) = self.line(&format!("sh -c '{TENURE} hook {name} {event}' < '{}'", file.display()));
        assert_eq!(code, 0, "{event}");
        text
    }

    /// Starts a session and returns its context.
    pub(crate) fn start(&mut self, session: &str, source: &str) -> String {
        let printed = self.hook("SessionStart", session, &json!({ "source": source }));
        if printed.is_empty() {
            return printed;
        }
        let document: Value = serde_json::from_str(&printed).unwrap();
        document["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
    }

    /// Runs a command of the agent and returns its JSON output.
    pub(crate) fn run(&mut self, args: &str) -> Value {
        let line = format!("{} TENURE_FORMAT=json {TENURE} {args}", self.variables);
        let (_, text) = self.line(&line);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args}: {error}: {text}"))
    }

    /// The identity of the agent's commands.
    pub(crate) fn whoami(&mut self) -> (Option<String>, String) {
        let data = self.run("whoami")["data"].take();
        (data["agent"].as_str().map(str::to_owned), data["source"].as_str().unwrap().to_owned())
    }

    /// Kills it and waits for its end.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Tool<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
