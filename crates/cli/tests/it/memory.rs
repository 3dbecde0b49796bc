//! Memory, from outside.

use crate::home::{Engine, Home, text};

fn story(engine: Engine) {
    let home = Home::new(engine);
    let task = home.add("import the file");
    home.ok_as("a", &["claim", &task]);
    let said = home.ok_as("a", &["remember", "the importer needs LC_ALL=C", "--key", "Importer Locale"]);
    assert_eq!((text(&said["items"][0]["scope"]), text(&said["items"][0]["of"])), ("task".into(), task.clone()));
    assert_eq!(text(&said["items"][0]["key"]), "importer-locale");
    let directive = ["remember", "run make lint first", "--kind", "directive", "--scope", "project"];
    home.ok_as("a", &directive);
    home.ok_as("a", &["remember", "the proxy drops idle connections", "--scope", "global"]);
    let found = |agent: &str, args: &[&str]| -> Vec<String> {
        home.ok_as(agent, args)["items"].as_array().unwrap().iter().map(|memory| text(&memory["text"])).collect()
    };
    assert_eq!(found("a", &["recall", "importer"]), ["the importer needs LC_ALL=C"]);
    assert_eq!(found("b", &["recall", "importer"]), [""; 0], "of a task that is not theirs");
    assert_eq!(found("b", &["recall", "importer", "--task", &task]).len(), 1);
    assert_eq!(found("b", &["recall", "lint", "--kind", "directive"]), ["run make lint first"]);
    assert_eq!(found("b", &["recall", "lint", "--kind", "lesson"]), [""; 0]);
    // Another repository in the same store sees only the memories for all projects.
    home.git_init("other");
    let other = home.call(&["memory", "list"]).json().cwd(home.path("other")).run().data();
    assert_eq!(text(&other["items"][0]["text"]), "the proxy drops idle connections");
    assert_eq!(other["total"], 1);

    let shared = home.ok(&["memory", "list", "--scope", "project"])["items"][0].clone();
    let id = text(&shared["id"]);
    home.refused_as("a", &["memory", "pin", &id]).is("denied", "people_only");
    assert_eq!(home.ok(&["memory", "pin", &id[..5]])["pinned"], true);
    assert_eq!(home.ok(&["memory", "list", "--pinned"])["total"], 1);
    home.ok(&["memory", "pin", &id, "--off"]);
    home.ok_as("b", &["memory", "forget", &id]);
    home.refused(&["memory", "forget", &id]).is("not_found", "not_found");
    let global = text(&home.ok(&["memory", "list", "--scope", "global"])["items"][0]["id"]);
    home.ok(&["memory", "forget", &global]);
    assert_eq!(home.ok(&["memory", "list"])["total"], 0);
    assert!(home.replayed() > 0);
}

#[test]
fn memories_are_kept_found_pinned_and_forgotten() {
    story(Engine::File);
}

#[test]
fn memories_are_kept_found_pinned_and_forgotten_on_postgres() {
    story(Engine::Postgres);
}

#[test]
fn bad_memories_are_refused_and_nothing_is_kept() {
    let home = Home::new(Engine::File);
    let task = home.add("one");
    let events = home.ok(&["log"])["total"].clone();
    for (args, code) in [
        (vec!["remember"], "bad_arguments"),
        (vec!["remember", ""], "text_empty"),
        (vec!["remember", " \n"], "text_empty"),
        (vec!["remember", "a\u{1b}[31m"], "control_character"),
        (vec!["remember", "x", "--key", "$(id)"], "bad_key"),
        (vec!["remember", "x", "--kind", "rumour"], "bad_arguments"),
        (vec!["remember", "x", "--scope", "galaxy"], "bad_arguments"),
        (vec!["remember", "x", "--ttl", "soon"], "bad_duration"),
        (vec!["remember", "x", "--ttl", "1s"], "bad_memory_ttl"),
        (vec!["remember", "x", "--task", &task, "--scope", "agent"], "task_and_scope"),
        (vec!["remember", "x", "--scope", "task"], "no_focus"),
        (vec!["recall"], "bad_arguments"),
        (vec!["recall", "x", "--limit", "0"], "bad_limit"),
        (vec!["memory", "list", "--cursor", "x"], "bad_cursor"),
        (vec!["memory", "pin"], "bad_arguments"),
    ] {
        home.refused(&args).is("usage", code);
    }
    home.refused(&["remember", &"x".repeat(5_000)]).is("usage", "memory_too_long");
    home.refused(&["remember", "x", "--task", "t-00000"]).is("not_found", "not_found");
    for id in ["m-00000", "", "'; --", "../x"] {
        home.refused(&["memory", "forget", id]).is("not_found", "not_found");
    }
    assert_eq!(home.ok(&["log"])["total"], events);
    // A query creates nothing.
    let fresh = Home::direct(Engine::File);
    assert_eq!(fresh.ok(&["recall", "anything"])["total"], 0);
    assert_eq!(fresh.run(&["memory", "list"]).stdout, "No memories.\n");
    assert!(!fresh.database().exists());
}
