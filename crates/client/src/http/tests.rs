use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use tenure_kernel::Call;
use tenure_kernel::query::status::Status;

use tenure_core::action::Action;
use tenure_core::{Code, Kind};

use super::*;
use crate::phrasing::Commands;

/// What the server does with one request: hang up, or answer with a status and a body.
type Step = Option<(u16, String)>;

struct Server {
    address: Address,
    requests: Receiver<String>,
    thread: JoinHandle<()>,
}

/// A server that answers each request with the next step, then stops.
fn server(steps: Vec<Step>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::parse(&format!("http://{}", listener.local_addr().unwrap()), false).unwrap();
    let (seen, requests) = channel();
    let thread = std::thread::spawn(move || {
        for step in steps {
            let (stream, _) = listener.accept().unwrap();
            seen.send(read_request(&stream)).unwrap();
            let Some((status, body)) = step else { continue };
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n");
            let head = if status == 302 { format!("{head}location: http://elsewhere.example/\r\n") } else { head };
            (&stream).write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        }
    });
    Server { address, requests, thread }
}

fn read_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut text, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        text.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    text + &String::from_utf8(body).unwrap()
}

fn request() -> WireRequest {
    let call: Call = serde_json::from_str(
        r#"{"project":{"key":"name:p","label":"p"},"actor":{"name":"a"},"request_id":{"value":"r1","given":true}}"#,
    )
    .unwrap();
    WireRequest::query(&call, &Status {}, None).unwrap()
}

fn client(server: &Server) -> Http {
    Http::new(server.address.clone(), "s3cret", Duration::from_secs(20), &Connections::default()).unwrap()
}

fn answer(body: &str) -> Step {
    Some((200, wire::answer(Ok(Reply { body: body.to_owned(), replayed: false }))))
}

#[test]
fn a_request_is_sent_again_with_the_same_bytes_until_it_is_answered() {
    let cut = answer("7").map(|(status, body)| (status, body[..10].to_owned()));
    let steps = vec![None, Some((503, "<html>".into())), cut, None, Some((502, String::new())), answer("7")];
    let tries = steps.len();
    let server = server(steps);
    assert_eq!(client(&server).send(&request()).unwrap().unwrap().body, "7");
    server.thread.join().unwrap();
    let sent: Vec<String> = server.requests.iter().collect();
    assert_eq!(sent.len(), tries);
    assert!(sent.iter().all(|one| *one == sent[0]), "the same request id, the same everything");
    assert!(sent[0].contains("POST /api/v1/call ") && sent[0].contains("Bearer s3cret") && sent[0].contains("\"r1\""));
}

#[test]
fn what_a_server_refuses_is_said_as_it_says_it() {
    let error = Error::new(Code::TaskHeld, "t-1 is held").who("b, alive").attempt(Action::NextTask);
    let told = error.to_json(&Commands);
    let server = server(vec![Some((409, wire::answer(Err(error))))]);
    assert_eq!(client(&server).send(&request()).unwrap().unwrap_err().to_json(&Commands), told);
}

#[test]
fn what_will_not_be_better_is_tried_once() {
    for (status, code, kind) in [
        (401, "token_unknown", Kind::Denied),
        (403, "token_refused", Kind::Denied),
        (404, "not_a_server", Kind::Usage),
        (302, "bad_server_url", Kind::Usage),
        (413, "request_too_large", Kind::Usage),
        (500, "not_a_server", Kind::Usage),
    ] {
        let server = server(vec![Some((status, "no".into()))]);
        let error = client(&server).send(&request()).unwrap_err();
        assert_eq!((error.code().as_str(), error.kind()), (code, kind), "{status}");
        assert!(!error.to_json(&Commands).to_string().contains("s3cret"));
        server.thread.join().unwrap();
    }
}

#[test]
fn what_a_server_says_without_the_answer_of_a_call_is_read() {
    let error = || {
        Error::usage(Code::BadRequest, "this is not a request: recursion limit exceeded")
            .hint("Send less deep.")
            .entity("x")
            .detail("most", 128)
    };
    let problem = |error: &Error, status: u16| {
        let mut document = error.to_json(&Commands);
        document["status"] = status.into();
        document["title"] = "t".into();
        Some((status, document.to_string()))
    };
    for status in [400, 403, 404, 409, 412, 422, 500] {
        let server = server(vec![problem(&error(), status)]);
        assert_eq!(
            client(&server).send(&request()).unwrap_err().to_json(&Commands),
            error().to_json(&Commands),
            "{status}"
        );
    }
    let bad = server(vec![problem(&error(), 400)]);
    assert_eq!(client(&bad).hello().unwrap_err().code(), "bad_request");
    // A temporary failure is retried, whatever its message.
    let full = Error::new(Code::Overloaded, "full").at(Stage::Lock).hint("Ask again.");
    let server = server(vec![problem(&full, 503), problem(&full, 429), answer("1")]);
    assert_eq!(client(&server).send(&request()).unwrap().unwrap().body, "1");
}

#[test]
fn a_server_that_is_not_there_is_busy_once_the_patience_is_over() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = Address::parse(&format!("http://{free}"), false).unwrap();
    let client = Http::new(address, "t", Duration::from_millis(120), &Connections::default()).unwrap();
    let error = client.send(&request()).unwrap_err();
    assert_eq!((error.code().as_str(), error.kind(), error.retryable()), ("unreachable", Kind::Busy, true));
    assert_eq!(client.hello().unwrap_err().code(), "unreachable");
}

#[test]
fn a_request_that_was_not_run_is_sent_again() {
    let not_run = Error::new(Code::NotRun, "the server is about to stop").at(Stage::Lock);
    let server = server(vec![Some((503, wire::answer(Err(not_run)))), answer("1")]);
    assert_eq!(client(&server).send(&request()).unwrap().unwrap().body, "1");
}

#[test]
fn the_hello_says_which_store_it_is() {
    let hello = Hello { tenure: "9".into(), schema: 1, store: "s-1".into(), incarnation: "i".into(), file: None };
    let server = server(vec![None, Some((200, hello.to_line()))]);
    assert_eq!(client(&server).hello().unwrap(), hello);
    assert!(server.requests.recv().unwrap().starts_with("GET /api/v1/hello "));
}

#[test]
fn one_connection_serves_many_requests_where_it_is_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::parse(&format!("http://{}", listener.local_addr().unwrap()), false).unwrap();
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        for _ in 0..3 {
            assert!(read_request(&stream).starts_with("POST /api/v1/call "));
            let body = answer("1").unwrap().1;
            let length = body.len();
            (&stream)
                .write_all(format!("HTTP/1.1 200 X\r\ncontent-length: {length}\r\n\r\n{body}").as_bytes())
                .unwrap();
        }
    });
    let connections = Connections::default();
    for _ in 0..3 {
        let client = Http::new(address.clone(), "t", Duration::from_secs(20), &connections).unwrap();
        assert_eq!(client.send(&request()).unwrap().unwrap().body, "1");
    }
    thread.join().unwrap();
}

#[test]
fn whom_a_token_makes_its_bearer_says_the_server() {
    let server = server(vec![None, Some((200, r#"{"principal":"person:bob"}"#.into()))]);
    assert_eq!(client(&server).principal().unwrap().as_deref(), Some("person:bob"));
    let server = self::server(vec![Some((404, "{}".into()))]);
    assert_eq!(client(&server).principal().unwrap(), None);
    let server = self::server(vec![Some((401, "{}".into()))]);
    assert_eq!(client(&server).principal().unwrap_err().code(), "token_unknown");
}

#[test]
fn a_token_is_one_word() {
    assert_eq!(token(" tn_abc\n").unwrap(), "tn_abc");
    for bad in ["", "a b", "a\nb", &"x".repeat(513), "gar\u{e7}on"] {
        let error = token(bad).unwrap_err();
        assert_eq!(error.code(), "bad_token");
        assert!(bad.is_empty() || !error.message().contains(bad));
    }
}

#[test]
fn a_server_that_was_given_up_is_tried_once_until_it_answers() {
    let server = server(vec![None, answer("7"), None, answer("8")]);
    let client = client(&server);
    client.gave_up.store(true, Ordering::Relaxed);
    assert_eq!(client.send(&request()).unwrap_err().code(), "unreachable", "one try");
    assert_eq!(client.send(&request()).unwrap().unwrap().body, "7");
    assert_eq!(client.send(&request()).unwrap().unwrap().body, "8", "tried again");
    server.thread.join().unwrap();
}
