//! Clients that do not read their answers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Up, bearer, home, token};
use crate::home::{Engine, Home, wait_until};

/// The maximum size of a page, without JSON escapes.
const PAGE: usize = 4 * 1024 * 1024;

/// Adds tasks with descriptions of maximum length: more than one page.
fn long_tasks(home: &Home, count: usize) {
    let description = "x".repeat(64 * 1024);
    for first in (0..count).step_by(100) {
        let lines: String = (first..count.min(first + 100))
            .map(|number| format!("{}\n", json!({ "title": format!("t{number}"), "description": description })))
            .collect();
        let added = home.call(&["add", "--stdin", "--quiet"]).input(lines.as_bytes()).run();
        assert_eq!(added.code, 0, "{added:?}");
    }
}

fn asks(up: &Up, secret: &str) -> TcpStream {
    let mut stream = up.connect();
    let head =
        format!("GET /api/v1/projects/web/tasks?limit=1000 HTTP/1.1\r\nHost: x\r\nAuthorization: {secret}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// The status of an answer of which nothing else is read.
fn status(stream: &mut TcpStream) -> u16 {
    let mut line = [0; 12];
    stream.read_exact(&mut line).unwrap();
    std::str::from_utf8(&line[9..]).unwrap().parse().unwrap()
}

#[test]
fn inv_u10_a_page_ends_where_it_has_enough_bytes_and_goes_on_from_there() {
    for engine in Engine::ALL {
        let home = home(engine);
        long_tasks(&home, 150);
        let up = Up::start(&home, &["serve"]);
        let secret = bearer(&token(&home, "person:bob", "viewer", "web"));
        let (mut seen, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let path = format!("/api/v1/projects/web/tasks?limit=1000{cursor}");
            let page = up.ask("GET", &path, &[("Authorization", &secret)], None);
            assert!(page.body.to_string().len() < PAGE + 512 * 1024, "{engine:?}");
            seen.extend(page.body["items"].as_array().unwrap().iter().map(|task| task["number"].as_i64().unwrap()));
            pages += 1;
            assert_eq!(page.body["more"], json!(!page.body["next"].is_null()));
            let Value::String(next) = &page.body["next"] else { break };
            cursor = format!("&cursor={next}");
        }
        assert!(pages >= 3, "{engine:?}: {pages} pages");
        let all: Vec<i64> = seen.iter().copied().collect::<std::collections::BTreeSet<_>>().into_iter().collect();
        assert_eq!((seen.len(), all.len()), (151, 151), "{engine:?}: each once");
    }
}

#[test]
fn inv_u10_a_client_that_does_not_read_is_cut_off() {
    let home = home(Engine::File);
    long_tasks(&home, 70);
    let up = Up::start(&home, &["serve", "--seconds", "2"]);
    let secret = bearer(&token(&home, "person:bob", "viewer", "web"));
    // More than the buffers of a connection hold: requested repeatedly on one connection, and never read.
    let mut stream = up.connect();
    let ask =
        format!("GET /api/v1/projects/web/tasks?limit=1000 HTTP/1.1\r\nHost: x\r\nAuthorization: {secret}\r\n\r\n");
    for _ in 0..8 {
        stream.write_all(ask.as_bytes()).unwrap();
    }
    let admin = bearer(&token(&home, "person:ann", "admin", "*"));
    let under_way = || {
        let said = up.ask("GET", "/metrics", &[("Authorization", &admin)], None);
        let text = said.body.as_str().unwrap_or_default().to_owned();
        let line =
            text.lines().find_map(|line| line.strip_prefix("tenure_http_unsent_bytes ")).unwrap_or("-").to_owned();
        line.parse::<f64>().unwrap()
    };
    wait_until("an answer waits to be read", || under_way() > 0.0);
    wait_until("the client is cut off", || under_way() == 0.0);
    // It can read only what was already sent.
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() < 8 * PAGE, "{} bytes came", rest.len());
}

#[test]
fn inv_u10_answers_that_are_not_read_take_so_much_memory_and_no_more() {
    let home = home(Engine::File);
    long_tasks(&home, 70);
    let up = Up::start(&home, &["serve", "--seconds", "300"]);
    let [greedy, other] = ["person:bob", "person:carl"].map(|name| bearer(&token(&home, name, "viewer", "web")));
    let mut unread = Vec::new();
    let refused = (0..100).find(|_| {
        let mut stream = asks(&up, &greedy);
        let is_refused = status(&mut stream) == 503;
        unread.push(stream);
        is_refused
    });
    assert!(refused.is_some(), "a hundred answers wait to be read");
    // Other clients are answered all the same.
    assert_eq!(status(&mut asks(&up, &other)), 200);
    drop(unread);
    wait_until("room again", || status(&mut asks(&up, &greedy)) == 200);
}
