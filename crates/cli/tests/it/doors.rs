//! Every op declares its doors; the command line reaches exactly those that declare it.

use std::collections::BTreeSet;
use std::process::Command;

use tenure_kernel::op::{self, Door};

use crate::home::{Engine, Home, text};

#[test]
fn the_ops_that_declare_the_command_line_are_those_it_reaches() {
    let home = Home::new(Engine::File);
    let task = home.add("one");
    home.call(&["add", "--stdin"]).input(b"{\"title\":\"two\"}\n{\"title\":\"three\"}\n").run();
    let exported = home.run(&["export"]).stdout;
    home.ok_as("b", &["note", &task, "seen"]);
    for (agent, args) in [
        ("person:ann", vec!["edit", &task, "--title", "first"]),
        ("a", vec!["claim", &task]),
        ("a", vec!["reserve", "src/", "--reason", "index"]),
        ("a", vec!["lock", "deploy", "--reason", "v2"]),
        ("a", vec!["note", "half"]),
        ("a", vec!["transfer", &task, "--to", "b"]),
        ("b", vec!["claim", &task]),
        ("b", vec!["block", &task, "--reason", "waits"]),
        ("b", vec!["unblock", &task]),
        ("b", vec!["claim", &task]),
        ("b", vec!["release", &task]),
        ("b", vec!["claim", &task]),
        ("b", vec!["done", &task]),
        ("person:ann", vec!["reopen", &task]),
        ("b", vec!["resume"]),
        ("b", vec!["release"]),
        ("person:ann", vec!["cancel", &task]),
        ("person:ann", vec!["off", "--for", "1m"]),
    ] {
        home.ok_as(agent, &args);
    }
    assert_eq!(home.ok(&["lessons"])["count"], 1, "it was blocked and went on");
    let said = home.ok(&["remember", "mind the gap"]);
    let memory = text(&said["items"][0]["id"]);
    home.ok(&["memory", "pin", &memory]);
    home.ok(&["memory", "forget", &memory]);
    let sent = home.ok_as("b", &["send", "a", "how far is it?", "--request"]);
    // `inbox` appends an event only if it acknowledges a message.
    home.ok_as("a", &["inbox", "--ack", &text(&sent["id"])]);
    let copy = Command::new("cp").arg("-a").arg(home.repo()).arg(home.path("copied")).status().unwrap();
    assert!(copy.success());
    let copied = |args: &[&str]| home.call(args).json().cwd(home.path("copied"));
    copied(&["project", "join"]).run().data();

    let other = |args: &[&str]| home.call(args).json().cwd(home.path("elsewhere"));
    home.git_init("elsewhere");
    other(&["import", "-"]).input(exported.as_bytes()).run().data();
    let events = |items: &serde_json::Value| -> BTreeSet<String> {
        items.as_array().unwrap().iter().map(|event| text(&event["op"])).collect()
    };
    let mut reached = events(&home.ok(&["log", "--limit", "1000"])["items"]);
    reached.extend(events(&other(&["log", "--limit", "1000"]).run().data()["items"]));
    // The one op without an event of its own.
    other(&["project", "forget", "elsewhere", "--yes"]).run().data();
    reached.insert("forget".to_owned());
    // And one that appends events only if there are lessons.
    home.ok_as("b", &["lessons"]);
    reached.insert("lessons".to_owned());
    home.git_init("fresh");
    let fresh = |args: &[&str]| home.call(args).json().cwd(home.path("fresh"));
    fresh(&["setup", "agents", "--yes"]).run().data();
    reached.extend(events(&fresh(&["log", "--limit", "1000"]).run().data()["items"]));

    let token = home.ok(&["token", "add", "--for", "person:bob"]);
    home.ok(&["token", "revoke", &text(&token["id"])]);
    home.ok(&["member", "set", "person:bob", "--role", "worker", "--everywhere"]);
    home.ok(&["member", "disable", "person:bob"]);
    // These apply to the whole store, and are in its log.
    reached.extend(events(&home.ok(&["log", "--whole-store", "--limit", "1000"])["items"]));

    let declared: BTreeSet<String> =
        op::OPS.iter().filter(|entry| entry.doors.contains(&Door::Cli)).map(|entry| entry.name.to_owned()).collect();
    // An op that the story leaves out is reached by the first example of the command with its name.
    for name in declared.difference(&reached) {
        let (example, open) = (first_example(&home, name), home.add("an example"));
        let args: Vec<&str> =
            example.split_whitespace().skip(1).map(|arg| if arg == SOME_TASK { &open } else { arg }).collect();
        home.ok_as("person:ann", &args);
    }
    reached.extend(events(&home.ok(&["log", "--limit", "1000"])["items"]));
    assert_eq!(reached, declared);
}

/// The id in examples.
const SOME_TASK: &str = "t-7k3fq";

/// The command line that the help of a command has as its first example. Later ones may name a time that is too far away.
fn first_example(home: &Home, command: &str) -> String {
    let help = home.run(&[command, "--help"]).stdout;
    let start = format!("tenure {command}");
    let (_, examples) = help.split_once("Examples:").unwrap_or_else(|| panic!("`{command}` has no examples: {help}"));
    let first = examples.lines().map(str::trim).find(|line| line.starts_with(&start));
    first.unwrap_or_else(|| panic!("no example begins with `{start}`: {help}")).to_owned()
}
