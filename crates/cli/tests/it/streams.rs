//! The command-line arguments and the output streams.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde_json::Value;

use crate::home::{Call, Engine, Home, TENURE, text, wait_until};

/// Every command by its canonical name.
const COMMANDS: [&str; 27] = [
    "next", "claim", "add", "list", "show", "note", "done", "block", "release", "holds", "log", "status", "why",
    "whoami", "doctor", "edit", "unblock", "reopen", "cancel", "transfer", "agent", "project", "backup", "restore",
    "demo", "send", "inbox",
];

#[test]
fn global_flags_stand_before_or_after_the_command() {
    let home = Home::new(Engine::File);
    home.add("one");
    let after = home.run(&["list", "--json"]);
    assert!(after.json.is_some());
    for args in [&["--json", "list"][..], &["--quiet", "--json", "list"], &["list", "--all", "--json", "--quiet"]] {
        assert_eq!(home.run(args).stdout, after.stdout, "{args:?}");
    }
    assert_eq!(home.call(&["list"]).env("TENURE_FORMAT", "JSON").run().stdout, after.stdout);
    assert!(home.call(&["list"]).env("TENURE_FORMAT", "text").run().json.is_none());
    let named = home.call(&["--store", home.database().to_str().unwrap(), "list", "--json"]).run();
    assert_eq!(named.stdout, after.stdout);
}

#[test]
fn after_two_dashes_everything_is_an_argument() {
    let home = Home::new(Engine::File);
    let added = home.run(&["add", "--", "--json"]);
    assert!(added.json.is_none() && added.stdout.contains("--json"), "{added:?}");
    assert_eq!(home.ok(&["add", "--json", "--", "-x --quiet"])["title"], "-x --quiet");
    let id = home.add("third");
    assert_eq!(home.ok(&["note", &id, "--", "--agent"])["task"], id.as_str());
    assert_eq!(home.ok(&["edit", &id, "--title", "--help"])["title"], "--help");
    assert_eq!(home.run(&["--", "list"]).code, 2);
}

#[test]
fn aliases_are_the_command_they_stand_for() {
    let home = Home::new(Engine::File);
    let id = text(&home.ok(&["create", "one"])["id"]);
    assert_eq!(home.run(&["ls"]).stdout, home.run(&["list"]).stdout);
    assert_eq!(home.run(&["ready", "--json"]).stdout, home.run(&["list", "--state", "ready", "--json"]).stdout);
    assert_eq!(home.run(&["get", &id]).stdout, home.run(&["show", &id]).stdout);
    assert_eq!(home.run(&["--json", "history"]).stdout, home.run(&["--json", "log"]).stdout);
    home.ok(&["take", &id]);
    home.ok(&["unlock", &id]);
    // An alias is still a plain argument in an argument position.
    assert_eq!(home.ok(&["add", "add"])["title"], "add");
    assert_eq!(home.ok(&["new", "new"])["title"], "new");
    assert_eq!(home.ok(&["--agent", "list", "close", &id])["finished_by"], "list");
}

#[test]
fn quiet_prints_errors_only() {
    let home = Home::new(Engine::File);
    let added = home.run(&["add", "one", "--quiet"]);
    assert_eq!((added.code, added.stdout.as_str(), added.stderr.as_str()), (0, "", ""));
    assert_eq!(home.run(&["--quiet", "list"]).stdout, "");
    let refused = home.run(&["--quiet", "show", "t-00000zz"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(refused.stderr.starts_with("tenure: there is no task"));
    // Requested JSON is printed even with `--quiet`.
    assert!(home.run(&["--quiet", "--json", "list"]).json.is_some());
}

#[test]
fn a_reader_that_hangs_up_is_not_an_error() {
    let home = Home::new(Engine::File);
    // More than a pipe buffer, so that the write itself fails.
    home.add_many(1_000);
    for call in
        ["list --all --limit 1000", "log --limit 1000 --json", "list --json", "status", "--help", "completions bash"]
    {
        // Without pipefail the exit code of the first command would be lost, so it is written to a file.
        let script = format!("({TENURE} {call}; echo $? >code) | head -c 0; sleep 0");
        let output = home.clean("sh".as_ref()).args(["-c", &script]).output().unwrap();
        wait_until("the exit code", || {
            std::fs::read_to_string(home.path("repo/code")).is_ok_and(|code| !code.is_empty())
        });
        assert_eq!(std::fs::read_to_string(home.path("repo/code")).unwrap(), "0\n", "{call}: {output:?}");
        assert_eq!(output.stderr, b"", "{call}");
        std::fs::remove_file(home.path("repo/code")).unwrap();
    }
    // A full disk under the output is an error.
    let full = Command::new(TENURE).arg("--help").stdout(std::fs::File::create("/dev/full").unwrap()).status().unwrap();
    assert_eq!(full.code(), Some(4));
}

#[test]
fn help_has_examples_that_begin_with_the_program() {
    let home = Home::direct(Engine::File);
    for command in COMMANDS {
        let help = home.run(&[command, "--help"]);
        assert_eq!((help.code, help.stderr.as_str()), (0, ""), "{command}");
        let examples = help.stdout.split("Examples:\n").nth(1).unwrap_or_else(|| panic!("{command} has no examples"));
        assert!(examples.trim().lines().all(|line| line.trim().starts_with("tenure ")), "{command}: {examples}");
        assert_eq!(home.run(&[command, "-h"]).code, 0);
    }
    for args in [["--help"], ["-h"]] {
        let overview = home.run(&args);
        assert_eq!(overview.code, 0);
        assert!(COMMANDS.iter().all(|command| overview.stdout.contains(&format!("\n  {command} "))), "{overview:?}");
    }
    assert!(home.run(&["--version"]).stdout.starts_with("tenure 0."));
    assert!(home.files("home").is_empty());
}

#[test]
fn completions_know_the_commands() {
    let home = Home::new(Engine::File);
    for shell in ["bash", "zsh", "fish"] {
        let script = home.run(&["completions", shell]);
        assert_eq!(script.code, 0);
        assert!(script.stdout.contains("tenure complete-words"), "{shell}");
        let offered = home.run(&["complete-words", shell, "--", ""]);
        assert!(COMMANDS.iter().all(|command| offered.stdout.contains(command)), "{shell}");
    }
    home.refused(&["completions", "tcsh"]).is("usage", "bad_arguments");
}

/// A command that runs until it is killed, and its output lines.
struct Stream {
    child: Child,
    lines: Receiver<String>,
}

impl Stream {
    fn of(call: Call) -> Stream {
        let mut child = call.into_command().stdout(Stdio::piped()).spawn().unwrap();
        let (send, lines) = std::sync::mpsc::channel();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut line = String::new();
            while stdout.read_line(&mut line).is_ok_and(|length| length > 0) && send.send(line.clone()).is_ok() {
                line.clear();
            }
        });
        Stream { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(60)).expect("a line within a minute")
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_follower_prints_one_event_a_line_as_it_happens() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("before");
        let stream = Stream::of(home.call(&["log", "--follow", "--json"]));
        let past: Vec<i64> = (0..3).map(|_| stream.json()["number"].as_i64().unwrap()).collect();
        assert_eq!(past, [1, 2, 3]);
        for number in 4..8 {
            let task = home.add("during");
            let event = stream.json();
            assert_eq!((&event["number"], &event["subject"]), (&number.into(), &task.into()), "{engine:?}");
        }
    }
}

#[test]
fn whoever_looks_before_the_first_write_sees_it_come() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let follower = Stream::of(home.call(&["log", "--follow", "--json"]));
        let watcher = Stream::of(home.call(&["status", "--watch", "--json"]));
        assert_eq!(watcher.json()["ready"], 0);
        home.add("the first");
        let kinds: Vec<String> = (0..3).map(|_| text(&follower.json()["kind"])).collect();
        assert_eq!(kinds, ["project.created", "agent.registered", "task.added"], "{engine:?}");
        wait_until("the first task", || watcher.json()["ready"] == 1);
    }
}

#[test]
fn a_watched_status_begins_at_once_and_shows_changes() {
    let home = Home::new(Engine::File);
    home.add("one");
    let stream = Stream::of(home.call(&["status", "--watch", "--json"]));
    assert_eq!(stream.json()["ready"], 1);
    home.add("two");
    wait_until("the change", || stream.json()["ready"] == 2);
    let first = Stream::of(home.call(&["status", "--watch"])).line();
    assert!(first.ends_with(".\n") && !first.contains('\u{1b}'), "{first}");
}

#[test]
fn inv_t10_a_log_that_is_removed_while_others_watch_loses_nothing_that_was_acknowledged() {
    for watching in [["log", "--follow", "--json"], ["status", "--watch", "--json"]] {
        let home = Home::direct(Engine::File);
        home.add("before");
        // Two of them: the second finds the log that the first has recreated.
        let streams = [(); 2].map(|()| Stream::of(home.call(&watching)));
        streams.iter().for_each(|stream| drop(stream.json()));
        for title in ["one", "two", "three"] {
            home.add(title);
        }
        let log = home.database().with_extension("db-wal");
        std::fs::remove_file(&log).unwrap();
        // There is no writer: a watcher preserves the contents of the log.
        wait_until("a watcher has the log under its name again", || log.exists());
        wait_until("the store can be written", || home.run(&["add", "after", "--json"]).code == 0);
        drop(streams);
        assert_eq!(home.ok(&["list"])["total"], 5, "{watching:?}");
    }
}

#[test]
fn plain_output_has_no_escapes() {
    let home = Home::new(Engine::File);
    let task = home.add("one");
    home.ok_as("a", &["claim"]);
    for args in [&["list"][..], &["status"], &["log"], &["holds"], &["doctor"], &["show", &task]] {
        let output = home.call(args).env("TERM", "xterm-256color").run();
        assert!(!output.stdout.contains('\u{1b}') && output.code == 0, "{output:?}");
    }
}
