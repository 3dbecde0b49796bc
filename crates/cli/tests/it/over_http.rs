//! The store's rules hold over HTTP: queries change nothing, and a request with an idempotency key runs once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::client::{Up, bearer, home, token};
use crate::home::{Engine, Home, text};

/// A persistent connection.
struct Kept {
    stream: BufReader<TcpStream>,
    secret: String,
}

impl Kept {
    fn get(&mut self, path: &str) -> (u16, String) {
        let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\n\r\n", self.secret);
        self.stream.get_mut().write_all(head.as_bytes()).unwrap();
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(said) = line.strip_prefix("http/1.1 ") {
                status = said[..3].parse().unwrap();
            } else if let Some(said) = line.strip_prefix("content-length: ") {
                length = said.parse().unwrap();
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap())
    }
}

/// The files that a query must not change.
fn files(home: &Home) -> Vec<Vec<u8>> {
    let database = home.database();
    let log = database.with_file_name("tenure.db-wal");
    [database, log].iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn inv_t5_ten_thousand_questions_over_http_leave_the_files_as_they_are() {
    let home = home(Engine::File);
    let task = text(&home.ok_as("a", &["claim"])["task"]["id"]);
    home.ok_as("a", &["reserve", "src/"]);
    home.ok(&["send", "a", "hello"]);
    home.ok(&["remember", "a fact"]);
    // Without an effective rate limit, which is not under test.
    let up = Up::start(&home, &["serve", "--per-second", "1000000"]);
    let secret = token(&home, "person:bob", "viewer", "web");
    let description = up.ask("GET", "/api/v1/openapi.json", &[("Authorization", &bearer(&secret))], None);
    let paths: Vec<String> = description.body["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, methods)| methods.get("get").is_some())
        .map(|(path, _)| path.replace("{project}", "web").replace("{id}", &task))
        // These two block until an event.
        .filter(|path| !["/api/v1/events", "/api/v1/wait"].contains(&path.as_str()))
        .collect();
    assert!(paths.len() > 10, "{paths:?}");
    let before = files(&home);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut kept = Kept { stream: BufReader::new(up.connect()), secret: bearer(&secret) };
                for path in paths.iter().cycle().take(2_500) {
                    let (status, body) = kept.get(path);
                    // A forbidden resource looks like a missing one.
                    assert!([200, 403, 404].contains(&status), "{path}: {status} {body}");
                }
            });
        }
    });
    assert!(files(&home) == before, "byte for byte");
}

#[test]
fn inv_t6_a_request_under_its_key_is_carried_out_once_and_is_its_own_callers() {
    for engine in Engine::ALL {
        let home = home(engine);
        let up = Up::start(&home, &["serve"]);
        let secrets = ["person:bob", "person:eve"].map(|name| bearer(&token(&home, name, "worker", "web")));
        let post = |secret: &str, op: &str, body: Value| {
            let headers = [("Authorization", secret), ("Idempotency-Key", "k-1")];
            up.ask("POST", &format!("/api/v1/ops/{op}?project=web"), &headers, Some(&body))
        };
        let made = post(&secrets[0], "add", json!({ "title": "mine" }));
        assert_eq!((made.status, made.header("idempotency-replayed")), (200, None));
        // The task has changed since: the answer is the original one.
        let id = text(&made.body["id"]);
        home.ok(&["edit", &id, "--title", "another"]);
        home.ok(&["cancel", &id]);
        let events = home.events().len();
        let again = post(&secrets[0], "add", json!({ "title": "mine" }));
        assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")));
        assert_eq!(again.body, made.body);
        assert_eq!(home.events().len(), events, "nothing else happens");
        let other = post(&secrets[0], "add", json!({ "title": "not mine" }));
        assert_eq!((other.status, &other.body["kind"]), (422, &json!("mismatch")));
        let hers = post(&secrets[1], "add", json!({ "title": "mine" }));
        assert_eq!((hers.status, hers.header("idempotency-replayed")), (200, None));
        assert_ne!(hers.body["id"], made.body["id"], "a key is its caller's");
        let refused = post(&secrets[1], "done", json!({ "task": "t-00000" }));
        assert_eq!(refused.status, 404);
        let done = post(&secrets[1], "done", json!({ "task": hers.body["id"] }));
        assert_eq!(done.status, 200, "a refusal keeps no record: {done:?}");
    }
}

#[test]
fn whoever_only_works_in_a_project_drops_none_of_its_events_from_afar() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["serve"]);
    let dropped = || home.call(&["log", "--since", "0"]).run().code != 0;
    for (principal, role, drops) in [("person:bob", "worker", false), ("person:carl", "operator", true)] {
        let secret = bearer(&token(&home, principal, role, "web"));
        // Old events are checked about every 64 events of a log.
        for n in 0..70 {
            let call = json!({
                "project": { "key": "name:web", "label": "web" }, "actor": { "name": principal },
                "request_id": { "value": format!("r{n}") }, "keep_events_us": 1,
            });
            let document = json!({ "call": call, "op": "add", "request": { "title": "far" } });
            let reply = up.ask("POST", "/api/v1/call", &[("Authorization", &secret)], Some(&document));
            assert_eq!(reply.body["ok"], true, "{reply:?}");
        }
        assert_eq!(dropped(), drops, "{role}");
    }
}
