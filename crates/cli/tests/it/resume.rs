//! A session dies and the next one continues, with real processes.

use std::process::Stdio;

use crate::home::{Engine, Home, text, wait_until};

/// A works, notes, remembers and is killed with two files uncommitted; B continues; A returns.
fn crash_story(engine: Engine) {
    let home = Home::new(engine);
    let task = text(&home.ok(&["add", "port the parser", "--acceptance", "all tests pass"])["id"]);
    std::fs::write(home.repo().join("report.txt"), "12 of 40 pass").unwrap();
    home.git("repo", &["add", "report.txt"]);
    home.git("repo", &["commit", "-q", "-m", "report"]);
    let mut session = home.clean("sh".as_ref());
    session.env("T", crate::home::TENURE).env("TENURE_AGENT", "a").stdout(Stdio::null());
    let work = "set -e; \"$T\" resume --ttl 2s; \"$T\" reserve lexer.rs 'name with blanks.rs'; echo half > lexer.rs; echo half > 'name with blanks.rs'
        \"$T\" note 'lexer done, parser half' --remember 'the lexer wants UTF-8' --artifact report=report.txt
        : > ../stopped; while :; do \"$T\" list > ../seen; done";
    let mut session = session.args(["-c", work]).spawn().unwrap();
    wait_until("A has worked", || home.path("stopped").exists());
    session.kill().unwrap();
    session.wait().unwrap();
    wait_until("the hold lapses", || home.ok(&["show", &task])["state"] == "ready");

    let second = home.ok_as("b", &["resume"]);
    assert_eq!((text(&second["focus"]), second["task"]["attempt"].as_i64()), (task, Some(2)));
    let brief = text(&second["brief"]["text"]);
    for expected in [
        "> all tests pass",
        "Taken 2 times so far: the hold of a on",
        "> lexer done, parser half",
        "“lexer.rs”, “name with blanks.rs”",
        "report “report.txt” (13 bytes, sha256 ",
        "“the lexer wants UTF-8”",
        "Last commit then: ",
        "`tenure done`",
    ] {
        assert!(brief.contains(expected), "{expected:?} in {brief}");
    }
    // A returns: its `done` is refused, and one sentence explains why.
    home.refused_as("a", &["done"]).is("stale", "stale_fence");
    let back = home.ok_as("a", &["resume"]);
    let lost = text(&back["lost"]);
    assert!(lost.contains("is no longer yours: b took it over at") && !lost.contains('\n'), "{lost}");
    home.ok_as("b", &["done"]);
    assert!(home.replayed() > 0);
}

#[test]
fn inv_l3_the_next_session_goes_on_where_the_dead_one_stopped() {
    for engine in Engine::ALL {
        crash_story(engine);
    }
}

#[test]
fn inv_i3_what_nobody_saw_is_told_again() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("work");
        home.ok_as("a", &["resume"]);
        home.ok_as("b", &["note", &task, "look here"]);
        let news = |data: &serde_json::Value| -> Vec<(String, bool)> {
            let items = data["events"]["items"].as_array().unwrap();
            items.iter().map(|item| (text(&item["text"]), item["again"] == true)).collect()
        };
        // The reader of the first call is gone before any output; the second call is quiet.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut call = home.clean(crate::home::TENURE.as_ref());
        call.args(["resume"]).env("TENURE_AGENT", "a").stdout(writer).status().unwrap();
        assert_eq!(home.call(&["resume", "--quiet"]).env("TENURE_AGENT", "a").run().code, 0);
        let shown = news(&home.ok_as("a", &["resume"]));
        assert!(shown.len() == 1 && shown[0].0.contains("“look here”") && shown[0].1, "{shown:?}");
        assert_eq!(news(&home.ok_as("a", &["resume"])), [], "it was shown");
    }
}

#[test]
fn a_look_takes_nothing_and_makes_nothing() {
    let home = Home::new(Engine::File);
    let before = home.files(".");
    let seen = home.ok_as("a", &["resume", "--peek"]);
    assert_eq!((text(&seen["rule"]), home.files(".")), ("none".into(), before));
    let task = home.add("work");
    let seen = home.ok_as("a", &["resume", "--peek"]);
    assert_eq!((text(&seen["task"]["id"]), seen["hold"].is_null()), (task.clone(), true));
    assert_eq!(home.ok(&["show", &task])["state"], "ready");
    assert!(text(&seen["brief"]["text"]).contains("`tenure resume`"));
}

#[test]
fn inside_a_session_no_id_is_needed() {
    let home = Home::new(Engine::File);
    home.add("one");
    home.add("two");
    let session = |args: &[&str]| {
        home.call(args).env("CLAUDE_CODE_SESSION_ID", "11aa").env("CLAUDECODE", "1").json().run().data()
    };
    let first = text(&session(&["resume"])["focus"]);
    assert_eq!(text(&session(&["note", "half"])["task"]), first);
    assert_eq!(text(&session(&["done"])["id"]), first);
    let second = text(&session(&["resume"])["focus"]);
    assert_ne!(first, second);
    assert_eq!(text(&session(&["block", "--reason", "waits"])["id"]), second);
    assert_eq!(text(&session(&["resume"])["rule"]), "none");
}

#[test]
fn bad_requests_say_what_was_wrong() {
    let home = Home::new(Engine::File);
    home.add("one");
    home.ok_as("a", &["resume"]);
    home.refused_as("a", &["resume", "--budget", "10"]).is("usage", "bad_budget");
    home.refused_as("a", &["resume", "--limit", "0"]).is("usage", "bad_limit");
    home.refused_as("a", &["note", "x", "--artifact", "absent"]).is("usage", "unreadable_input");
    home.refused_as("a", &["note", "x", "--artifact", "."]).is("usage", "unreadable_input");
    std::fs::write(home.path("elsewhere"), "x").unwrap();
    std::os::unix::fs::symlink(home.path("elsewhere"), home.repo().join("link")).unwrap();
    for outside in ["../elsewhere", "link", "report=link", "/etc/passwd"] {
        home.refused_as("a", &["note", "x", "--artifact", outside]).is("usage", "path_outside");
    }
    home.refused_as("a", &["note", "x", "--memories", "[{\"txt\":1}]"]).is("usage", "bad_data");
    assert_eq!(
        home.ok_as("a", &["show", &text(&home.ok(&["list"])["items"][0]["id"])])["notes"],
        serde_json::json!([])
    );
}
