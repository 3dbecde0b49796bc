//! Mail between agents, from outside.

use std::ffi::OsStr;
use std::process::Stdio;

use serde_json::Value;

use crate::home::{Engine, Home, text};

/// The messages of an inbox, each with whether it was offered before.
fn said(found: &Value) -> Vec<(String, bool)> {
    let items = found["items"].as_array().unwrap();
    items.iter().map(|message| (text(&message["text"]), message["again"].as_bool().unwrap())).collect()
}

fn story(engine: Engine) {
    let home = Home::new(engine);
    let task = home.add("import the file");
    for agent in ["a", "b"] {
        home.ok_as(agent, &["note", &task, "here"]);
    }
    home.ok_as("a", &["claim", &task]);
    let sent = home.ok_as("b", &["send", "--about", &task[..5], "please release it", "--request", "--urgent"]);
    assert_eq!((text(&sent["to"][0]["agent"]), text(&sent["to"][0]["liveness"])), ("a".into(), "alive".into()));
    home.ok_as("b", &["send", "a,person:ann", "the schema is merged"]);
    assert_eq!(said(&home.ok_as("a", &["inbox", "--peek"])).len(), 2);
    let found = home.ok_as("a", &["inbox", "--limit", "1"]);
    assert_eq!((said(&found), found["more"].clone()), (vec![("please release it".into(), false)], true.into()));
    assert_eq!(said(&home.ok_as("a", &["mail"])), [("the schema is merged".into(), false)]);
    assert_eq!(said(&home.ok_as("a", &["inbox"])), []);
    home.ok_as("a", &["release", &task]);
    let told = home.ok_as("b", &["inbox"]);
    assert_eq!(
        (text(&told["items"][0]["what"]), text(&told["items"][0]["ended"]["how"])),
        ("ending".into(), "released".into())
    );
    let id = text(&sent["id"]);
    assert_eq!(home.ok_as("a", &["inbox", "--ack", &id[..5]])["acked"][0], id);
    // A resume delivers it too, and delivered mail is not new any more.
    home.ok_as("b", &["send", "--to", "a", "two\nlines"]);
    let brief = home.call(&["resume"]).agent("a").run().stdout;
    assert!(brief.contains("## Mail\n- g-") && brief.contains("> two\n> lines"), "{brief}");
    assert_eq!(said(&home.ok_as("a", &["inbox"])), []);
    assert!(home.replayed() > 0);
}

#[test]
fn inv_m6_mail_is_sent_read_once_and_over_with_its_hold() {
    story(Engine::File);
}

#[test]
fn inv_m6_mail_is_sent_read_once_and_over_with_its_hold_on_postgres() {
    story(Engine::Postgres);
}

/// Output that was lost, in every detectable way: offered mail is offered again.
#[test]
fn inv_i3_mail_that_could_not_be_printed_is_offered_again() {
    let home = Home::new(Engine::File);
    let task = home.add("one");
    home.ok_as("a", &["note", &task, "here"]);
    home.ok(&["send", "a", "hello"]);
    let script = |redirect: &str| {
        let line = format!("exec \"$0\" --agent a inbox {redirect}");
        let mut command = home.clean(OsStr::new("sh"));
        command.args(["-c", &line]).arg(env!("CARGO_BIN_EXE_tenure")).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap();
    };
    for nowhere in ["> /dev/full", ">&-", "--quiet"] {
        script(nowhere);
        assert_eq!(said(&home.ok_as("a", &["inbox", "--peek"])), [("hello".into(), true)], "{nowhere}");
    }
    script("> /dev/null");
    assert_eq!(said(&home.ok_as("a", &["inbox", "--peek"])), []);
}

#[test]
fn mail_as_people_read_it() {
    let home = Home::new(Engine::File);
    let task = home.add("import the file");
    home.ok_as("codex-2", &["claim", &task]);
    let out = |agent: &str, args: &[&str]| home.call(args).agent(agent).run().stdout;
    assert_eq!(out("codex-2", &["inbox"]), "No new messages.\n");
    let sent = out("person:ann", &["send", "--about", &task, "how far is it?\nI wait", "--request"]);
    let id = sent.split_whitespace().nth(1).unwrap().to_owned();
    assert_eq!(
        sent,
        format!(
            "Sent {id} to codex-2 (alive) about {task}\nIt ends when the hold ends; `tenure inbox` then tells you \
             how.\n"
        )
    );
    let shown = out("codex-2", &["inbox"]);
    assert!(shown.starts_with(&format!("{id}  person:ann  request, about {task}, ")), "{shown}");
    assert!(shown.ends_with(&format!("  > how far is it?\n  > I wait\n  tenure inbox --ack {id}\n")), "{shown}");
    assert_eq!(out("codex-2", &["inbox", "--ack", &id]), format!("Acknowledged {id}\nNo new messages.\n"));
    home.ok_as("codex-2", &["done"]);
    let shown = out("person:ann", &["inbox"]);
    assert!(shown.contains("your message to codex-2, request") && shown.contains("over: done by codex-2"), "{shown}");
}

#[test]
fn bad_messages_are_refused_and_nothing_is_kept() {
    let home = Home::new(Engine::File);
    let task = home.add("one");
    home.ok_as("codex-2", &["note", &task, "here"]);
    let events = home.ok(&["log"])["total"].clone();
    for (args, code) in [
        (vec!["send"], "bad_arguments"),
        (vec!["send", "hello"], "no_recipient"),
        (vec!["send", "codex-2", ""], "text_empty"),
        (vec!["send", "codex-2", "a\u{1b}[31m"], "control_character"),
        (vec!["send", "Codex 2", "x"], "bad_name"),
        (vec!["inbox", "--limit", "0"], "bad_limit"),
        (vec!["inbox", "--limit", "101", "--peek"], "bad_limit"),
        (vec!["inbox", "--ack", "g-1", "--peek"], "bad_arguments"),
    ] {
        home.refused(&args).is("usage", code);
    }
    home.refused(&["send", "codex2", "x"]).is("not_found", "unknown_agent");
    home.refused(&["send", "person:ann", "x"]).is("conflict", "to_yourself");
    home.refused(&["send", "--about", &task, "x"]).is("conflict", "not_held");
    home.refused(&["send", "codex-2", &"x".repeat(9_000)]).is("usage", "message_too_long");
    for id in ["g-00000", "", "'; --", "../x"] {
        home.refused(&["inbox", "--ack", id]).is("not_found", "not_found");
    }
    assert_eq!(home.ok(&["log"])["total"], events);
    let fresh = Home::direct(Engine::File);
    assert_eq!(fresh.ok(&["inbox", "--peek"])["total"], 0);
    assert!(!fresh.database().exists(), "a look creates nothing");
}
