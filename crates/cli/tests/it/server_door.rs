//! A server's answers to invalid requests of every kind.

use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::client::{Reply, Up, bearer, home, token};
use crate::home::{Engine, text};

/// Sends raw bytes, and reads the answer until the connection is closed.
fn raw(up: &Up, bytes: &[u8]) -> Reply {
    let mut stream = up.connect();
    stream.write_all(bytes).unwrap();
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    Reply::read(&String::from_utf8(said).unwrap())
}

#[test]
fn every_refusal_is_a_problem_document() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let secret = bearer(&token(&home, "person:bob", "worker", "web"));
    let auth = format!("Host: x\r\nConnection: close\r\nAuthorization: {secret}\r\n");
    let plain = "Host: x\r\nConnection: close\r\n";
    let json = "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    let asked: Vec<(u16, Vec<u8>)> = vec![
        (400, format!("GET /api/v1/projects/%ff/tasks HTTP/1.1\r\n{auth}\r\n").into()),
        (400, format!("GET /api/v1/projects/web/tasks/%ff HTTP/1.1\r\n{auth}\r\n").into()),
        (400, format!("GET /api/v1/projects/web/tasks/%ff/story HTTP/1.1\r\n{auth}\r\n").into()),
        (400, format!("POST /api/v1/ops/%ff HTTP/1.1\r\n{auth}{json}").into()),
        (400, format!("GET /login/%ff HTTP/1.1\r\n{plain}\r\n").into()),
        (400, format!("GET /api/v1/projects?limit=%ff HTTP/1.1\r\n{auth}\r\n").into()),
        (400, format!("GET /api/v1/projects?limit=%zz HTTP/1.1\r\n{auth}\r\n").into()),
        (400, format!("GET /api/v1/projects?limit=%+f HTTP/1.1\r\n{auth}\r\n").into()),
        (400, format!("GET /api/v1/events?since=%ff HTTP/1.1\r\n{auth}\r\n").into()),
        (400, [format!("POST /api/v1/ops/add HTTP/1.1\r\n{auth}Tenure-Agent: ").as_bytes(), b"\xff\r\n", json.as_bytes()].concat()),
        (400, format!("POST /api/v1/ops/add HTTP/1.1\r\n{auth}Tenure-Agent: NO NAME\r\n{json}").into()),
        (400, format!("POST /api/v1/ops/add HTTP/1.1\r\n{auth}Idempotency-Key: a b\r\n{json}").into()),
        (400, format!("POST /api/v1/ops/add HTTP/1.1\r\n{auth}Content-Type: application/json\r\nContent-Length: 1\r\n\r\n\u{7f}").into()),
        (415, format!("POST /api/v1/ops/add HTTP/1.1\r\n{auth}Content-Length: 2\r\n\r\n{{}}").into()),
        (405, format!("FOO /api/v1/projects HTTP/1.1\r\n{auth}\r\n").into()),
        (405, format!("OPTIONS /api/v1/projects HTTP/1.1\r\n{auth}\r\n").into()),
        (405, format!("DELETE /livez HTTP/1.1\r\n{plain}\r\n").into()),
        (401, format!("OPTIONS /api/v1/projects HTTP/1.1\r\n{plain}\r\n").into()),
        (404, format!("GET /%ff HTTP/1.1\r\n{plain}\r\n").into()),
        (404, format!("OPTIONS /nothing HTTP/1.1\r\n{plain}\r\n").into()),
        (403, format!("POST /login HTTP/1.1\r\n{plain}Content-Length: 0\r\n\r\n").into()),
        (413, format!("POST /login HTTP/1.1\r\n{plain}Content-Length: 5000\r\n\r\n{}", "x".repeat(5_000)).into()),
        (404, format!("POST /api/v1/ops/access_denied HTTP/1.1\r\n{auth}{json}").into()),
        // Malformed HTTP.
        (400, b"G@T / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec()),
        (400, b"GET / HTTP/1.1\r\nHost: x\r\nno header\r\n\r\n".to_vec()),
        (400, b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n".to_vec()),
        (431, format!("GET / HTTP/1.1\r\n{plain}A: {}\r\n\r\n", "x".repeat(1 << 20)).into()),
    ];
    for (status, request) in &asked {
        let reply = raw(&up, request);
        let shown = String::from_utf8_lossy(&request[..request.len().min(120)]);
        assert_eq!(reply.status, *status, "{shown} {reply:?}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{shown} {reply:?}");
        assert_eq!(reply.body["status"], *status, "{shown} {reply:?}");
        for field in ["type", "title", "code", "kind", "message", "retryable", "details"] {
            assert!(reply.body.get(field).is_some(), "no {field} in {reply:?}");
        }
    }
    let not_that_way = raw(&up, format!("PUT /api/v1/projects HTTP/1.1\r\n{auth}\r\n").as_bytes());
    assert!(not_that_way.header("allow").is_some_and(|methods| methods.contains("GET")), "{not_that_way:?}");
    let head = raw(&up, format!("HEAD /nothing HTTP/1.1\r\n{plain}\r\n").as_bytes());
    assert_eq!(
        (head.status, head.header("content-type"), &head.body),
        (404, Some("application/problem+json"), &json!(""))
    );
    // The suggestion for an unknown op is an op of this door.
    let unknown = raw(&up, format!("POST /api/v1/ops/access_denied HTTP/1.1\r\n{auth}{json}").as_bytes());
    assert_eq!(unknown.body["code"], "unknown_op");
    assert!(!unknown.body["hint"].as_str().unwrap().contains("access_denied"), "{unknown:?}");
}

#[test]
fn a_version_is_said_once_or_twice_alike_and_ops_answer_it() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let secret = bearer(&token(&home, "person:bob", "worker", "web"));
    let auth = ("Authorization", secret.as_str());
    let post = |op: &str, tag: Option<&str>, body: &Value| up.op(&secret, op, tag, body);
    let added = post("add", None, &json!({ "title": "one" }));
    let (task, tag) = (text(&added.body["id"]), added.header("etag").expect("a task has a version").to_owned());
    let version = added.body["version"].as_i64().unwrap();
    assert!(tag.starts_with(&format!("\"{version}-")), "{tag}");
    let shown = up.ask("GET", &format!("/api/v1/projects/web/tasks/{task}"), &[auth], None);
    assert!(shown.header("etag").is_some_and(|tag| tag.starts_with(&format!("\"{version}-"))), "{shown:?}");
    let edit = |title: &str, expect: i64| json!({ "task": task, "title": title, "expect_version": expect });
    let differ = post("edit", Some(&tag), &edit("two", version + 7));
    assert_eq!(
        (differ.status, &differ.body["kind"], &differ.body["code"]),
        (400, &json!("usage"), &json!("bad_header"))
    );
    let alike = post("edit", Some(&tag), &edit("two", version));
    assert_eq!(alike.status, 200, "{alike:?}");
    let next = alike.header("etag").unwrap().to_owned();
    assert_ne!(next, tag);
    assert_eq!(post("edit", Some(&tag), &json!({ "task": task, "title": "three" })).status, 412);
    assert_eq!(post("edit", Some(&next), &json!({ "task": task, "title": "three" })).status, 200);
    assert_eq!(post("remember", None, &json!({ "items": [{ "text": "x" }] })).header("etag"), None);
}

#[test]
fn inv_s1_denials_are_written_at_once_and_the_same_one_not_without_end() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    for _ in 0..50 {
        assert_eq!(up.ask("GET", "/api/v1/projects", &[], None).status, 401);
    }
    assert_eq!(up.ask("GET", "/metrics", &[("Authorization", "Bearer tenure_0")], None).status, 401);
    let secret = bearer(&token(&home, "person:bob", "viewer", "web"));
    for _ in 0..10 {
        let denied = up.ask("POST", "/api/v1/ops/add", &[("Authorization", &secret)], Some(&json!({ "title": "x" })));
        assert_eq!(denied.body["code"], "role_too_low");
    }
    let audit = home.ok(&["log", "--whole-store", "--kind", "access.denied", "--limit", "1000"]);
    let mut what: Vec<String> =
        audit["items"].as_array().unwrap().iter().map(|event| text(&event["data"]["what"])).collect();
    what.sort();
    let counted: Vec<(&str, usize)> = what.chunk_by(|a, b| a == b).map(|same| (same[0].as_str(), same.len())).collect();
    assert_eq!(counted, [("GET /api/v1/projects", 20), ("GET /metrics", 1), ("add", 10)], "{audit}");
}
