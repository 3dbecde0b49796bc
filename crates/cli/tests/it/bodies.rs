//! Request bodies that are too long or malformed, and the client's view of the refusal.

use std::io::{Read, Write};

use crate::client::{Reply, Up, bearer, home, token};
use crate::home::Engine;

#[test]
fn a_body_far_too_long_is_heard_out_and_refused() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let secret = bearer(&token(&home, "person:bob", "worker", "web"));
    let part = vec![b'x'; 1 << 20];
    let mut stream = up.connect();
    let head = format!(
        "POST /api/v1/ops/add HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: {secret}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        part.len() * 40
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A client can write the whole body before it reads the answer.
    for _ in 0..40 {
        stream.write_all(&part).unwrap();
    }
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    let reply = Reply::read(&said);
    assert_eq!((reply.status, &reply.body["code"]), (413, &"body_too_large".into()), "{reply:?}");
    // A client that sends `Expect: 100-continue` is refused before it sends the body.
    let mut stream = up.connect();
    stream.write_all(head.replace("Content-Type", "Expect: 100-continue\r\nContent-Type").as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert_eq!(Reply::read(&said).status, 413, "{said}");
}

#[test]
fn a_command_far_away_with_too_much_to_say_is_told_so() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let secret = token(&home, "person:bob", "worker", "web");
    let lines: String = (0..1_400)
        .map(|number| format!("{{\"title\":\"t{number}\",\"description\":\"{}\"}}\n", "x".repeat(20_000)))
        .collect();
    let far = home
        .call(&["add", "--stdin"])
        .env("TENURE_URL", format!("http://{}", up.address))
        .env("TENURE_TOKEN", &secret)
        .env("TENURE_PROJECT", "web");
    far.json().input(lines.as_bytes()).run().refusal().is("usage", "request_too_large");
}

#[test]
fn a_malformed_body_is_not_called_too_long() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let secret = bearer(&token(&home, "person:bob", "worker", "web"));
    for (head, body) in [
        (
            format!("POST /api/v1/ops/add HTTP/1.1\r\nAuthorization: {secret}\r\nContent-Type: application/json\r\n"),
            "zz\r\n{}\r\n0\r\n\r\n",
        ),
        ("POST /login HTTP/1.1\r\n".to_owned(), "-1\r\nx"),
    ] {
        let mut stream = up.connect();
        let request = format!("{head}Host: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).unwrap();
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        let reply = Reply::read(&said);
        assert_eq!((reply.status, &reply.body["code"]), (400, &"body_broken".into()), "{head} {reply:?}");
    }
}
