//! Transfers from outside: of a task, a path, a lock, a hold by its id, and of everything.

use serde_json::{Value, json};

use crate::home::{Engine, Home, text};

/// What an agent holds, sorted.
fn held(home: &Home, agent: &str) -> Vec<String> {
    let found = home.ok(&["holds", "--agent", agent]);
    let mut held: Vec<String> = found["items"].as_array().unwrap().iter().map(|hold| text(&hold["subject"])).collect();
    held.sort();
    held
}

fn story(engine: Engine) {
    let home = Home::new(engine);
    let task = home.add("one");
    home.ok_as("b", &["note", &task, "here"]);
    home.ok_as("a", &["claim", &task]);
    home.ok_as("a", &["reserve", "src/a.rs"]);
    home.ok_as("a", &["lock", "deploy"]);
    home.ok_as("a", &["reserve", "docs/"]);
    let moved = home.ok_as("a", &["transfer", "docs/", "--to", "b"]);
    assert_eq!((&moved["holds"][0]["subject"], &moved["holds"][0]["holder"]), (&json!("docs/"), &json!("b")));
    let lock = home.ok_as("a", &["transfer", "deploy", "--to", "b"])["holds"][0].clone();
    assert_eq!((&lock["kind"], &lock["holder"]), (&json!("name"), &json!("b")));
    home.ok_as("b", &["transfer", "--lock", "deploy", "--to", "a", "--fence", &lock["fence"].to_string()]);
    let id = text(&home.ok(&["holds", "--agent", "b"])["items"][0]["id"]);
    home.ok_as("b", &["transfer", &id[..6], "--to", "a"]);
    home.refused_as("b", &["transfer", "nothing/", "--to", "a"]).is("not_found", "nothing_to_transfer");
    home.refused_as("b", &["transfer", "--all", "--to", "a"]).is("not_found", "nothing_to_transfer");
    home.refused_as("b", &["transfer", "--from", "a", "--to", "b"]).is("usage", "bad_arguments");
    let moved = home.ok_as("a", &["transfer", "--all", "--to", "b"]);
    assert_eq!(moved["holds"].as_array().map(Vec::len), Some(4), "{moved}");
    let mut all = [task.as_str(), "src/a.rs", "deploy", "docs/"];
    all.sort_unstable();
    assert_eq!((held(&home, "a"), held(&home, "b")), (vec![], all.map(str::to_owned).to_vec()));
    home.refused_as("a", &["transfer", "--all", "--from", "b", "--to", "a"]).is("conflict", "task_held");
    home.ok(&["transfer", "--all", "--from", "b", "--to", "a", "--force"]);
    assert_eq!(held(&home, "b"), Vec::<String>::new());
    let said = home.call(&["transfer", "deploy", "--to", "b"]).agent("a").run();
    assert!(said.stdout.starts_with("deploy is now held by b, fence "), "{said:?}");
    let why = home.call(&["why", "deploy"]).run().stdout;
    assert!(why.contains("a transferred the lock deploy from a to b"), "{why}");
    assert!(home.replayed() > 0);
}

#[test]
fn inv_r9_what_is_held_is_handed_over() {
    story(Engine::File);
}

#[test]
fn inv_r9_what_is_held_is_handed_over_on_postgres() {
    story(Engine::Postgres);
}

/// A message to everyone, and the thread that it begins.
#[test]
fn a_thread_is_seen_in_the_inbox() {
    let home = Home::new(Engine::File);
    let task = home.add("one");
    for agent in ["a", "b", "c"] {
        home.ok_as(agent, &["note", &task, "here"]);
    }
    let first = home.ok_as("a", &["send", "all", "who has the schema?"]);
    let to: Vec<&Value> = first["to"].as_array().unwrap().iter().map(|to| &to["agent"]).collect();
    assert_eq!(to, ["b", "c"]);
    let id = text(&first["id"]);
    let second = home.ok_as("b", &["send", "--reply", &id[..6], "I do"]);
    assert_eq!((&second["to"][0]["agent"], &second["thread"]), (&json!("a"), &first["id"]));
    // An own message can be answered too.
    let third = text(&home.ok_as("b", &["send", "--reply", &text(&second["id"]), "done now"])["id"]);
    let shown = home.call(&["inbox"]).agent("a").run().stdout;
    assert!(shown.contains(&format!("re {id}, ")), "{shown}");
    assert!(shown.contains(&format!("{third}  b  re {}, thread {id}", text(&second["id"]))), "{shown}");
}
