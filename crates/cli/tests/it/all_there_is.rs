//! A stream from the oldest event that is kept.

use std::io::{Read, Write};

use crate::client::{Up, bearer, home, token};
use crate::home::Engine;

#[test]
fn all_there_is_is_told_of_a_project_whose_first_events_are_gone() {
    let home = home(Engine::File);
    home.add("second");
    home.ok(&["project", "forget", "web", "--yes"]);
    home.add("anew");
    let oldest = home.ok(&["log", "--limit", "1000"])["items"][0]["number"].as_i64().unwrap();
    assert!(oldest > 1, "its numbers go on: {oldest}");
    let up = Up::start(&home, &["up"]);
    let secret = bearer(&token(&home, "person:bob", "worker", "web"));
    let mut stream = up.connect();
    let head = "GET /api/v1/events?project=web&since=0 HTTP/1.1\r\nHost: x\r\n";
    stream.write_all(format!("{head}Authorization: {secret}\r\n\r\n").as_bytes()).unwrap();
    let mut heard = String::new();
    while !heard.contains("task.added") {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).unwrap();
        heard.push_str(&String::from_utf8_lossy(&bytes[..count]));
        assert!(count > 0 && heard.starts_with("HTTP/1.1 200"), "{heard}");
    }
    assert!(heard.contains(&format!("\"number\":{oldest},")), "{heard}");
}
