//! A PostgreSQL that stops answering, or is unreachable for a while, under long-running processes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use tenure_store::Location;
use tenure_testkit::pg::{Own, server};
use tenure_testkit::relay::Relay;

use crate::guards::{begin, claude, edit, held, send};
use crate::guards_shell::bash;
use crate::home::{Home, wait_until};
use crate::hooks::refusal;

fn started(home: &Home, agent: &str, args: &[&str]) -> Child {
    let mut command = home.call(args).agent(agent).json().into_command();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A home whose store is behind a relay.
fn behind_a_relay() -> (Home, Relay) {
    let schema = server().fresh_schema();
    let relay = Relay::to(&Location::Postgres(server().url(&schema)));
    let Location::Postgres(url) = relay.location() else { panic!("a relay is for PostgreSQL") };
    (Home::at(&url), relay)
}

#[test]
fn inv_r14_a_runner_on_a_server_that_stops_ends_its_command_and_itself() {
    let own = Own::start();
    let home = Home::at(&own.url("t"));
    home.add("one");
    let script = "echo $$ > ../pid.new && mv ../pid.new ../pid; exec sleep 600";
    let run = started(&home, "a", &["lock", "deploy", "--ttl", "4s", "--", "sh", "-c", script]);
    wait_until("the command runs", || home.path("pid").exists());
    let stopped = own.stop();
    let output = run.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &document["error"]["code"]), (Some(123), &json!("lock_lost")), "{document}");
    let pid = std::fs::read_to_string(home.path("pid")).unwrap();
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
    drop(stopped);
    wait_until("the lock has lapsed", || home.call(&["lock", "deploy"]).agent("b").json().run().code == 0);
}

#[test]
fn a_follower_goes_on_when_the_server_is_back() {
    let (home, relay) = behind_a_relay();
    home.add("one");
    let mut follower = started(&home, "a", &["log", "--follow"]);
    let mut out = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut complaints = BufReader::new(follower.stderr.take().unwrap()).lines();
    let mut next = |title: &str| {
        loop {
            let event: Value = serde_json::from_str(&out.next().unwrap().unwrap()).unwrap();
            if event["kind"] == "task.added" {
                assert_eq!(event["data"]["title"], title);
                return;
            }
        }
    };
    next("one");
    relay.cut();
    let told = complaints.next().unwrap().unwrap();
    assert!(told.contains("PostgreSQL"), "{told}");
    relay.mend();
    home.add("two");
    next("two");
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert_eq!(complaints.map_while(Result::ok).count(), 0, "once for each time");
}

#[test]
fn inv_r7_who_waits_in_line_keeps_its_place_when_the_server_is_back() {
    let (home, relay) = behind_a_relay();
    let held = home.ok_as("a", &["lock", "deploy"]);
    let mut waiter = started(&home, "b", &["lock", "deploy", "--wait"]);
    let waits = || home.ok(&["holds", "--kind", "name"])["waiting"].as_array().is_some_and(|all| !all.is_empty());
    wait_until("b waits", waits);
    relay.cut();
    // No connection gets through, and the waiting process still runs.
    assert_eq!(home.call(&["status"]).json().run().code, 3);
    assert!(waiter.try_wait().unwrap().is_none());
    relay.mend();
    home.ok_as("a", &["release", "deploy"]);
    let output = waiter.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &document["data"]["holder"]), (Some(0), &json!("b")), "{document}");
    assert!(document["data"]["fence"].as_i64() > held["fence"].as_i64());
    home.replayed();
}

#[test]
fn inv_r11_of_the_hooks_of_a_silent_server_one_waits_and_the_others_follow_the_policy_at_once() {
    let (home, relay) = behind_a_relay();
    home.add("one");
    begin(&home, "claude", &["s1", "s2"]);
    assert_eq!(claude(&home, "s1", &home.repo(), "a.rs"), None);
    relay.silence();
    let before = relay.connections();
    let told = send(&home, "claude", "PreToolUse", &edit("claude", "s2", &home.repo(), "b.rs")).stdout;
    assert!(told.contains("unchecked") && !told.contains("deny"), "{told}");
    // One deadline for the whole hook: after the first timeout, further requests are not even sent.
    assert_eq!(relay.connections() - before, 1);
    let said = |event: &str, file: &str| send(&home, "claude", event, &edit("claude", "s2", &home.repo(), file)).stdout;
    for event in ["UserPromptSubmit", "PostToolUse", "PreToolUse", "PreCompact", "SessionStart", "PreToolUse"] {
        assert_eq!(said(event, "b.rs"), "", "{event}: told once");
    }
    assert_eq!(bash(&home, "s2", "ls"), None);
    std::fs::write(home.repo().join("tenure.toml"), "[guard]\nfail = \"closed\"\n").unwrap();
    assert!(refusal("claude", "PreToolUse", &said("PreToolUse", "b.rs")).contains("closed"));
    assert!(bash(&home, "s2", "git stash").is_some_and(|reason| reason.contains("closed")));
    assert_eq!(relay.connections() - before, 1, "a server that was silent a moment ago is not asked by each hook");
    std::fs::remove_file(home.repo().join("tenure.toml")).unwrap();
    relay.mend();
    // Commands try at once; hooks try again after a while.
    assert_eq!(home.call(&["status"]).json().run().code, 0);
    wait_until("the guard looks again", || {
        said("PreToolUse", "b.rs");
        held(&home).contains(&"claude-s2 b.rs".to_owned())
    });
}
