//! Finding tasks by words, adding them from lists, waiting for one, and times as people type them.

use std::process::Stdio;

use serde_json::json;

use crate::home::{Engine, Home};

fn titles(data: &serde_json::Value) -> Vec<&str> {
    data["items"].as_array().unwrap().iter().map(|task| task["title"].as_str().unwrap()).collect()
}

#[test]
fn tasks_are_found_by_words_wherever_they_stand() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.ok(&["add", "Fix the login page"]);
        home.ok(&["add", "Write the docs", "--description", "how to log in with readFile"]);
        let noted = home.ok(&["add", "Rotate keys", "--priority", "0"])["id"].as_str().unwrap().to_owned();
        home.ok_as("ann", &["note", &noted, "the login key is the old one"]);
        assert_eq!(titles(&home.ok(&["list", "login"])), ["Rotate keys", "Fix the login page"]);
        assert_eq!(titles(&home.ok(&["list", "LOG"])), ["Rotate keys", "Fix the login page", "Write the docs"]);
        assert_eq!(titles(&home.ok(&["search", "page", "login"])), ["Fix the login page"]);
        assert_eq!(titles(&home.ok(&["list", "--sort", "created", "log"]))[0], "Rotate keys");
        assert_eq!(titles(&home.ok(&["list", "--sort", "created", "-n", "1"])), ["Rotate keys"]);
        let found = home.ok(&["list", "old keys"]);
        assert_eq!(found["items"][0]["match"], json!(["title", "note"]));
        let first = home.ok(&["list", "log", "-n", "1"]);
        let next = home.ok(&["list", "log", "-n", "1", "--cursor", first["next"].as_str().unwrap()]);
        assert_eq!(titles(&next), ["Fix the login page"]);
        let shown = home.run(&["grep", "login"]).stdout;
        assert!(shown.contains("Rotate keys  (in note)") && shown.contains("Fix the login page\n"), "{shown}");
        home.refused(&["list", "the"]).is("usage", "bad_search");
        home.ok_as("ann", &["done", &noted]);
        assert_eq!(titles(&home.ok(&["list", "old"])), [""; 0]);
        assert_eq!(titles(&home.ok(&["list", "old", "--all"])), ["Rotate keys"]);
    }
}

#[test]
fn a_list_becomes_tasks_all_or_none() {
    let home = Home::new(Engine::File);
    let list = "# Release\n\n- [ ] Tag it\n  * Build it\n- [x] Decide\n3. Publish it\r\n";
    std::fs::write(home.path("repo/TODO.md"), list).unwrap();
    home.ok(&["add", "--lines", "TODO.md", "--label", "release", "-p", "1"]);
    let found = home.ok(&["list", "--label", "release"]);
    assert_eq!(titles(&found), ["Tag it", "Build it", "Publish it"]);
    assert_eq!(found["items"][0]["priority"], 1);
    let said = home.call(&["add", "--lines", "-"]).input(b"One more\n- [x] old\n").run();
    assert!(said.stdout.contains("Added 1 task:") && said.stderr.contains("left out 1 checked item"), "{said:?}");
    let long = format!("fine\n- {}\n", "x".repeat(501));
    let refused = home.call(&["add", "--lines", "-", "--json"]).input(long.as_bytes()).run();
    assert!(refused.code == 2 && refused.stdout.contains("line 2"), "{refused:?}");
    home.call(&["add", "--lines", "-", "--json"]).input(b"# nothing\n").run().refusal().is("usage", "nothing_to_add");
    home.refused(&["add", "--lines", "missing.md"]).is("usage", "unreadable_input");
    assert_eq!(home.ok(&["list"])["items"].as_array().unwrap().len(), 4);
}

#[test]
fn import_takes_what_add_takes() {
    let home = Home::new(Engine::File);
    let lines = "{\"title\":\"one\",\"key\":\"a\"}\n{\"title\":\"two\",\"after\":[\"a\"]}\n";
    std::fs::write(home.path("repo/tasks.jsonl"), lines).unwrap();
    assert_eq!(home.ok(&["import", "tasks.jsonl", "--dry-run"])["count"], 2);
    assert_eq!(titles(&home.ok(&["list"])), [""; 0]);
    assert_eq!(home.ok(&["import", "tasks.jsonl"])["count"], 2);
    assert_eq!(titles(&home.ok(&["list"])), ["one", "two"]);
    std::fs::write(home.path("repo/odd.txt"), "Fix the login\n").unwrap();
    home.refused(&["import", "odd.txt"]).is("usage", "bad_export");
}

#[test]
fn resume_waits_for_a_task_and_claims_one() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.ok(&["add", "held"]);
        home.ok_as("bob", &["claim"]);
        let none = home.call(&["resume", "--wait=1s", "--json"]).agent("ann").run();
        assert_eq!(none.code, 3, "{none:?}");
        none.refusal().is("busy", "still_waiting").names(&["no task became ready for you in 1s"]);
        let mut waiting = home.call(&["resume", "--wait=60s", "--json"]).agent("ann").into_command();
        let child = waiting.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        home.ok(&["add", "Come and take it"]);
        home.ok(&["add", "Another"]);
        let output = child.wait_with_output().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["data"]["task"]["title"], "Come and take it", "{output:?}");
        let claims = home.events().iter().filter(|event| event.kind == "task.claimed" && event.actor == "ann").count();
        assert_eq!(claims, 1);
    }
}

#[test]
fn a_time_is_that_of_the_person() {
    let home = Home::new(Engine::File);
    home.ok(&["add", "one"]);
    for since in ["1h", "yesterday", "2020-01-31", "2020-01-31 18:00", "2020-01-31T09:00:00Z"] {
        for zone in ["UTC", "EST5", "CET-1"] {
            let page = home.call(&["log", "--since", since, "--json"]).env("TZ", zone).run().data();
            assert!(!page["items"].as_array().unwrap().is_empty(), "{since} in {zone}");
        }
    }
    for since in ["soon", "2020-13-01", "25:00", ""] {
        home.refused(&["log", "--since", since]).is("usage", "bad_time");
    }
    assert_eq!(home.ok(&["log", "--since", "0s"])["items"], json!([]));
}

/// Runs a line in a terminal of its own.
#[cfg(target_os = "linux")]
fn in_terminal(home: &Home, editor: &str, line: &str) -> (i32, String) {
    let script = home.path("tmp/editor.sh");
    std::fs::write(&script, format!("#!/bin/sh\n{editor}\n")).unwrap();
    let mut command = home.clean("script".as_ref());
    command.args(["-qec", line, "/dev/null"]).stdin(Stdio::null());
    command.env("EDITOR", format!("sh {}", script.display())).env("TMPDIR", home.path("tmp"));
    let output = command.current_dir(home.repo()).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
#[cfg(target_os = "linux")]
fn a_task_is_edited_in_an_editor_and_a_text_is_never_lost() {
    let home = Home::new(Engine::File);
    let id = home.ok(&["add", "Fix the login", "-d", "one", "--label", "a,b"])["id"].as_str().unwrap().to_owned();
    home.refused(&["edit", &id]).is("usage", "nothing_to_change");
    let line = format!("{} edit {id}", env!("CARGO_BIN_EXE_tenure"));
    let kept = || home.files("tmp").into_iter().filter(|path| path.to_str().unwrap().contains("tenure-t-")).count();

    let (code, said) = in_terminal(&home, "sed -i 's/^title: .*/title: Another/; s/^one$/two/' \"$1\"", &line);
    assert_eq!((code, kept()), (0, 0), "{said}");
    let task = home.ok(&["show", &id]);
    assert_eq!(
        (&task["title"], &task["description"], &task["labels"]),
        (&json!("Another"), &json!("two"), &json!(["a,b"]))
    );

    let (code, said) = in_terminal(&home, ": > \"$1\"", &line);
    assert!(code == 0 && said.contains("Nothing was changed") && kept() == 0, "{said}");
    let (code, said) = in_terminal(&home, "sed -i 's/^priority: .*/priority: 9/' \"$1\"", &line);
    assert!(code == 2 && said.contains("line 4: a priority is 0 to 4") && said.contains("Your text is in"), "{said}");
    assert_eq!(kept(), 1);
    let other =
        format!("{} edit {id} --priority 0 >/dev/null; sed -i 's/^two$/three/' \"$1\"", env!("CARGO_BIN_EXE_tenure"));
    let (code, said) = in_terminal(&home, &other, &line);
    assert!(code == 1 && said.contains("Your text is in") && kept() == 2, "{code} {said}");
    assert_eq!(home.ok(&["show", &id])["description"], "two");
}
