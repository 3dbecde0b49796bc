//! Locks from outside: commands that run under a lock, with real processes and real signals.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::home::{Engine, Home, keys, text, wait_until, words};

const HOLD: &str = "id kind subject holder fence mode reason granted_at expires_at expires_in_s ttl_s state liveness";

/// A runner in the background. Its command writes its pid to a file, and continues until a line is written to a pipe.
pub(crate) struct Run<'a> {
    home: &'a Home,
    child: Child,
}

impl<'a> Run<'a> {
    pub(crate) fn start(home: &'a Home, agent: &str, ttl: &str, script: &str) -> Run<'a> {
        let pipe = home.path("pipe");
        if !pipe.exists() {
            assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        }
        let _ = std::fs::remove_file(home.path("pid"));
        let script = format!("{script}\necho $$ > ../pid.new && mv ../pid.new ../pid; read line < ../pipe; exit 0");
        let args = ["lock", "deploy", "--ttl", ttl, "--json", "--", "sh", "-c", &script];
        let mut command = home.call(&args).agent(agent).into_command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_until("the command runs", || home.path("pid").exists());
        Run { home, child }
    }

    fn command(&self) -> String {
        std::fs::read_to_string(self.home.path("pid")).unwrap().trim().to_owned()
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Lets the command end normally.
    pub(crate) fn let_go(&self) {
        std::fs::write(self.home.path("pipe"), "go\n").unwrap();
    }

    pub(crate) fn end(mut self) -> (i32, Value) {
        wait_until("the runner has ended", || self.child.try_wait().unwrap().is_some());
        let output = self.child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = said.lines().last().unwrap_or("null").to_owned();
        let code = output.status.code().unwrap_or_else(|| -output.status.signal().unwrap());
        (code, serde_json::from_str(&last).unwrap_or_else(|_| json!(said)))
    }
}

/// Whether a process has ended, including a zombie.
fn is_gone(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.map_or(true, |stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

#[test]
fn inv_r9_lock_and_release_answer_in_their_shapes() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let held = home.ok_as("a", &["lock", "deploy", "--reason", "v2"]);
        assert_eq!(keys(&held), words(HOLD));
        assert_eq!((&held["kind"], &held["subject"], &held["ttl_s"]), (&json!("name"), &json!("deploy"), &json!(600)));
        home.refused_as("b", &["lock", "deploy"]).is("conflict", "lock_held").names(&["held by a"]);
        let own = home.refused_as("a", &["lock", "deploy"]);
        own.is("conflict", "lock_held");
        assert_eq!(own.detail("blockers")[0]["holder"], "a");
        let fence = held["fence"].to_string();
        assert_eq!(home.ok_as("a", &["lock", "deploy", "--fence", &fence])["fence"], held["fence"]);
        home.refused_as("a", &["lock", "deploy", "--fence", "1"]).is("stale", "stale_fence");
        home.refused_as("b", &["lock", "deploy", "--force"]).is("denied", "not_gone");
        assert_eq!(home.ok(&["show", "deploy"])["id"], held["id"]);
        assert_eq!(home.ok(&["holds", "--kind", "name"])["items"][0]["subject"], "deploy");
        home.refused_as("b", &["release", "deploy"]).is("conflict", "lock_held");
        assert_eq!(home.ok_as("a", &["release", "deploy"])["holds"][0]["state"], "released");
        home.refused_as("a", &["release", "--lock", "deploy"]).is("conflict", "not_held");
        let story = home.ok(&["why", "deploy"]);
        assert_eq!(story["story"][0]["text"], "a took the lock deploy: “v2”");
        assert_eq!(home.ok(&["why", held["id"].as_str().unwrap()])["story"], story["story"]);
        home.replayed();
    }
}

#[test]
fn inv_r2_a_word_that_is_a_lock_and_a_path_is_what_one_has() {
    let home = Home::new(Engine::File);
    home.ok_as("a", &["lock", "build"]);
    home.ok_as("b", &["reserve", "build"]);
    assert_eq!(home.ok_as("b", &["release", "build"])["holds"][0]["kind"], "path");
    home.refused_as("b", &["release", "build"]).is("conflict", "lock_held");
    home.ok_as("a", &["reserve", "build"]);
    home.refused_as("a", &["release", "build"]).is("usage", "release_which");
    assert_eq!(home.ok_as("a", &["release", "--lock", "build"])["holds"][0]["kind"], "name");
    assert_eq!(home.ok_as("a", &["release", "./build"])["holds"][0]["kind"], "path");
    home.ok_as("a", &["lock", "src/x"]);
    assert_eq!(home.ok_as("a", &["release", "src/x"])["holds"][0]["kind"], "name");
    let task = home.add("one");
    home.ok_as("a", &["lock", &task]);
    home.refused_as("a", &["release", &task]).is("conflict", "not_held");
    assert_eq!(home.ok_as("a", &["release", "--lock", &task])["holds"][0]["subject"], json!(task));
    assert_eq!(home.ok(&["why", &task])["story"].as_array().unwrap().len(), 1, "its own story alone");
}

#[test]
fn inv_r14_the_exit_code_is_that_of_the_command() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let run = |args: &[&str]| home.call(args).agent("a").run();
        let done = run(&["lock", "deploy", "--", "sh", "-c", "echo $TENURE_LOCK $TENURE_FENCE; exit 7"]);
        let fence = home.ok(&["log", "--kind", "lock.taken"])["items"][0]["number"].clone();
        assert_eq!((done.code, done.stdout.trim()), (7, format!("deploy {fence}").as_str()), "{}", done.stderr);
        assert_eq!(run(&["lock", "deploy", "--", "sh", "-c", "kill -TERM $$"]).code, 143);
        assert_eq!(run(&["lock", "deploy", "--", "true"]).code, 0);
        let told = run(&["lock", "deploy", "--json", "--", "sh", "-c", "echo out --json; exit 3"]);
        let (out, document) = told.stdout.split_once('\n').unwrap();
        let document: Value = serde_json::from_str(document).unwrap();
        assert_eq!((told.code, out), (3, "out --json"));
        assert_eq!((&document["ok"], &document["data"]["exit"]), (&json!(true), &json!(3)));
        assert_eq!(keys(&document["data"]), "exit hold leftovers released signal");
        // Output without a final line break, and no output.
        for (script, said) in [("printf unfinished", "unfinished"), ("true", "")] {
            let told = run(&["lock", "deploy", "--json", "--", "sh", "-c", script]);
            let (out, document) = told.stdout.trim_end().rsplit_once('\n').unwrap_or(("", told.stdout.trim_end()));
            let document: Value = serde_json::from_str(document).unwrap_or_else(|_| panic!("{:?}", told.stdout));
            assert_eq!((out, &document["ok"]), (said, &json!(true)));
        }
        home.replayed();
        assert!(home.ok(&["holds"])["items"].as_array().unwrap().is_empty());
    }
}

#[test]
fn inv_r14_what_fails_before_the_command_starts_is_told_apart() {
    let home = Home::new(Engine::File);
    let run = |args: &[&str]| home.call(args).agent("a").env("TENURE_FORMAT", "json").run();
    for (args, code) in [
        (vec!["lock", "deploy", "--", "no-such-command-here"], "command_not_started"),
        (vec!["lock", "-x", "--", "true"], "bad_arguments"),
        (vec!["lock", "", "--", "true"], "bad_lock_name"),
        (vec!["lock", "deploy", "--bogus", "--", "true"], "bad_arguments"),
        (vec!["lock", "deploy", "--ttl", "0s", "--", "true"], "bad_ttl"),
        // An empty variable after the dashes is not a command, and the answer of an earlier run is not a lock.
        (vec!["lock", "deploy", "--"], "no_command"),
        (vec!["lock", "deploy", "--request-id", "r-1", "--", "true"], "run_not_repeated"),
    ] {
        let refused = run(&args);
        assert_eq!(refused.code, 125, "{args:?}: {}", refused.stderr);
        let document = refused.json.unwrap();
        assert_eq!((&document["error"]["code"], &document["error"]["details"]["exit"]), (&json!(code), &json!(125)));
    }
    assert!(home.ok(&["holds"])["items"].as_array().unwrap().is_empty(), "the lock is free again");
    home.ok_as("b", &["lock", "deploy"]);
    assert_eq!(run(&["lock", "deploy", "--", "touch", "ran"]).code, 125);
    assert!(!home.repo().join("ran").exists());
    // A new home, because a project that has been used is pinned to its store.
    let home = Home::new(Engine::File);
    let nowhere =
        home.call(&["lock", "x", "--store", "postgres://nobody@127.0.0.1:1/none", "--json", "--", "touch", "ran"]);
    let busy = nowhere.agent("a").run();
    assert_eq!(busy.code, 124, "{}", busy.stdout);
    assert!(!home.repo().join("ran").exists());
}

#[test]
fn inv_r14_a_run_renews_its_lock_and_signals_reach_its_command() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let run = Run::start(&home, "a", "2s", "trap 'exit 5' INT");
        let ends = || text(&home.ok(&["holds", "--kind", "name"])["items"][0]["expires_at"]);
        let first = ends();
        wait_until("the lock was renewed", || ends() > first);
        // Another run of the same agent is excluded.
        let second = home.call(&["lock", "deploy", "--json", "--", "true"]).agent("a").run();
        assert_eq!((second.code, &second.json.unwrap()["error"]["code"]), (125, &json!("lock_held")));
        run.signal("-INT");
        let (code, document) = run.end();
        assert_eq!((code, &document["data"]["released"]), (5, &json!(true)), "{document}");
        home.ok_as("b", &["lock", "deploy"]);
        home.replayed();
    }
}

#[test]
fn inv_r14_a_lost_lock_ends_the_command() {
    let home = Home::new(Engine::File);
    let run = Run::start(&home, "a", "4s", "trap 'echo asked > ../asked; exit 0' TERM");
    home.ok(&["lock", "deploy", "--force"]);
    let (code, document) = run.end();
    assert_eq!((code, &document["error"]["code"]), (123, &json!("lock_lost")), "{document}");
    assert_eq!(document["error"]["details"]["exit"], 123);
    assert!(home.path("asked").exists(), "it was asked before it was killed");
    assert_eq!(home.ok(&["show", "deploy"])["holder"], "person:ann", "whoever has it now keeps it");
    home.replayed();
}

#[test]
fn inv_r14_a_command_that_will_not_end_is_killed_with_all_it_started() {
    let home = Home::new(Engine::File);
    let run = Run::start(
        &home,
        "a",
        "2s",
        "trap '' TERM; (trap '' TERM; echo $BASHPID; exec sleep 600) & echo $! > ../child",
    );
    home.ok(&["lock", "deploy", "--force"]);
    let command = run.command();
    let (code, _) = run.end();
    assert_eq!(code, 123);
    let child = std::fs::read_to_string(home.path("child")).unwrap();
    wait_until("all of them are gone", || is_gone(&command) && is_gone(child.trim()));
}

#[test]
fn inv_r14_what_a_command_that_ends_when_asked_has_started_goes_with_it() {
    let home = Home::new(Engine::File);
    let script = "trap 'exit 0' TERM; (trap '' TERM; exec sleep 600) & echo $! > ../child";
    let run = Run::start(&home, "a", "2s", script);
    home.ok(&["lock", "deploy", "--force"]);
    assert_eq!(run.end().0, 123);
    let child = std::fs::read_to_string(home.path("child")).unwrap();
    wait_until("what it has started is gone", || is_gone(child.trim()));
}

#[test]
fn inv_r14_the_command_of_a_killed_runner_does_not_outlive_it() {
    let home = Home::new(Engine::File);
    let run = Run::start(&home, "a", "2s", "");
    let command = run.command();
    run.signal("-KILL");
    wait_until("the command is gone", || is_gone(&command));
    // The lock is free when its time to live is over.
    wait_until("the lock is free", || home.call(&["lock", "deploy"]).agent("b").run().code == 0);
    home.replayed();
}

#[test]
fn inv_r14_the_command_of_a_stopped_runner_is_gone_before_its_lock() {
    let home = Home::new(Engine::File);
    let run = Run::start(&home, "a", "2s", "trap '' TERM");
    let command = run.command();
    run.signal("-STOP");
    wait_until("the lock is free", || home.call(&["lock", "deploy"]).agent("b").run().code == 0);
    assert!(is_gone(&command), "two would have it now");
    run.signal("-CONT");
    let (code, document) = run.end();
    assert_eq!((code, &document["error"]["code"]), (123, &json!("lock_lost")), "{document}");
    assert_eq!(home.ok(&["show", "deploy"])["holder"], "b");
    home.replayed();
}

#[test]
fn inv_r14_a_store_that_cannot_be_reached_ends_the_command_before_the_lock() {
    let home = Home::new(Engine::File);
    let run = Run::start(&home, "a", "8s", "");
    let command = run.command();
    let turn = std::fs::File::options().write(true).open(format!("{}-turn-a", home.database().display())).unwrap();
    turn.lock().unwrap();
    wait_until("the command is gone", || is_gone(&command));
    // Queries take no turn.
    assert_eq!(home.ok(&["holds", "--kind", "name"])["items"].as_array().unwrap().len(), 1, "and the lock is there");
    turn.unlock().unwrap();
    let (code, document) = run.end();
    assert_eq!((code, &document["error"]["code"]), (123, &json!("lock_lost")), "{document}");
}

#[test]
fn inv_r14_what_a_command_leaves_running_is_left_alone_when_it_ends_by_itself() {
    let home = Home::new(Engine::File);
    let run = Run::start(&home, "a", "30s", "");
    run.let_go();
    let (code, document) = run.end();
    assert_eq!((code, &document["data"]["exit"]), (0, &json!(0)), "{document}");
}

#[test]
fn why_of_a_path_and_the_tree_of_holds() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.ok_as("a", &["reserve", "src/", "--reason", "index"]);
        home.ok_as("a", &["release", "src/"]);
        home.ok_as("b", &["reserve", "src/lib.rs", "docs/guide/a.md", "docs/guide/b.md"]);
        home.ok_as("c", &["lock", "deploy"]);
        let story = home.ok(&["why", "src/lib.rs"]);
        let told: Vec<String> = story["story"].as_array().unwrap().iter().map(|told| text(&told["text"])).collect();
        assert_eq!(told, ["a reserved src/: “index”", "a released the path src/", "b reserved src/lib.rs"]);
        assert_eq!((keys(&story["story"][0]).as_str(), &story["subject"]), ("at number text", &json!("src/lib.rs")));
        home.refused(&["why", "lib/none.rs"]).is("not_found", "not_found");
        std::fs::write(home.repo().join("there.rs"), "").unwrap();
        home.refused(&["why", "there.rs"]).is("not_found", "nothing_known");
        home.refused(&["why", "t-zzzzz"]).is("not_found", "not_found");
        assert_eq!(home.ok(&["why", "docs/"])["story"].as_array().unwrap().len(), 2);
        assert_eq!(home.ok(&["show", "src/lib.rs"])["items"][0]["holder"], "b");
        let memory = home.ok(&["remember", "mind the gap"]);
        let id = text(&memory["items"][0]["id"]);
        assert_eq!(home.ok(&["show", &id])["text"], "mind the gap");
        assert_eq!(home.ok(&["why", &id])["story"].as_array().unwrap().len(), 1);
        let tree = home.run(&["holds", "--tree"]);
        let names: Vec<&str> = tree.stdout.lines().map(|line| line.split("  ").next().unwrap()).collect();
        assert_eq!(tree.code, 0);
        assert!(tree.stdout.contains("└─ src/lib.rs") && tree.stdout.contains("├─ docs/guide/"), "{names:?}");
        assert!(tree.stdout.contains("locks\n└─ deploy"), "{}", tree.stdout);
    }
}
