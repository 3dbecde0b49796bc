//! ETags of tasks over HTTP.

use serde_json::{Value, json};

use crate::client::{Up, bearer, home, token};
use crate::home::{Engine, text};

#[test]
fn a_tag_is_of_all_that_was_read_and_an_edit_looks_at_its_version() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let secret = bearer(&token(&home, "person:bob", "worker", "web"));
    let auth = ("Authorization", secret.as_str());
    let post = |op: &str, tag: Option<&str>, body: &Value| up.op(&secret, op, tag, body);
    let task = text(&post("add", None, &json!({ "title": "one" })).body["id"]);
    let path = format!("/api/v1/projects/web/tasks/{task}");
    let get = |seen: &str| up.ask("GET", &path, &[auth, ("If-None-Match", seen)], None);
    let read = || up.ask("GET", &path, &[auth], None);
    let before = read();
    let tag = before.header("etag").unwrap().to_owned();
    for seen in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
        let same = get(&seen);
        assert_eq!((same.status, same.header("etag")), (304, Some(tag.as_str())), "{seen}");
    }
    // A note does not change the task's version, but the answer.
    assert_eq!(post("note", None, &json!({ "task": task, "text": "said" })).status, 200);
    let after = get(&tag);
    assert_eq!((after.status, &after.body["version"]), (200, &before.body["version"]));
    assert!(after.body.to_string().contains("said"), "{after:?}");
    assert_ne!(after.header("etag"), Some(tag.as_str()));
    assert_eq!(get("\"1\"").status, 200);
    // An edit compares the version: with the ETag from before the note, or without any.
    let edit = |tag: &str, title: &str| post("edit", Some(tag), &json!({ "task": task, "title": title }));
    assert_eq!(edit(&tag, "two").status, 200);
    assert_eq!(edit(&tag, "three").status, 412);
    let version = read().body["version"].as_i64().unwrap();
    assert_eq!(edit(&format!("\"{}\"", version - 1), "three").status, 412);
    assert_eq!(edit(&format!("\"{version}\""), "three").status, 200);
    assert_eq!(edit("*", "four").status, 200);
    for bad in ["W/\"1\"", "\"1\", \"2\"", "\"\"", "\"x\""] {
        assert_eq!(edit(bad, "five").body["code"], "bad_header", "{bad}");
    }
    // An op without a version rejects `If-Match`.
    let other = post("cancel", Some(&tag), &json!({ "task": task }));
    assert_eq!((other.status, &other.body["code"]), (400, &json!("bad_header")), "{other:?}");
    assert!(text(&other.body["hint"]).contains("`edit`"));
    assert_eq!((&read().body["title"], &read().body["state"]), (&json!("four"), &before.body["state"]));
}
