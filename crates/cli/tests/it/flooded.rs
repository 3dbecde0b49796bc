//! Floods of idle connections must not take the server from other clients.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::client::{Up, bearer, home, token};
use crate::home::{Engine, text, wait_until};

/// Shorter than the idle timeout of the server.
const SOON: Duration = Duration::from_secs(10);

/// Raises this process's limit of open files to the maximum.
fn many_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

fn said(up: &Up, bytes: &str) -> TcpStream {
    let mut stream = up.connect();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    stream
}

/// Reads an answer of `/livez` on a connection that stays open.
fn lives(stream: &mut TcpStream) {
    let mut read = Vec::new();
    while !read.ends_with(b"}") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "closed after {:?}", String::from_utf8_lossy(&read));
        read.push(byte[0]);
    }
    assert!(read.starts_with(b"HTTP/1.1 200"));
}

/// Whether the server closes a connection soon, without an answer.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

const ASK: &str = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
const HALF: &str = "GET /livez HTTP/1.1\r\nHost: x\r\n";

#[test]
fn inv_s1_halves_of_requests_shut_nobody_out() {
    many_files();
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let secret = bearer(&token(&home, "person:bob", "worker", "web"));
    let mut kept = said(&up, ASK);
    lives(&mut kept);
    let mut listener =
        said(&up, &format!("GET /api/v1/events?project=web HTTP/1.1\r\nHost: x\r\nAuthorization: {secret}\r\n\r\n"));
    let mut byte = [0];
    assert_eq!(listener.read(&mut byte).unwrap(), 1);
    let mut halves: Vec<TcpStream> = (0..1_200).map(|_| said(&up, HALF)).collect();
    assert_eq!(up.ask("GET", "/livez", &[], None).status, 200);
    // The oldest connections are closed; the newest may still complete its request.
    assert!(is_closed(&mut halves[0]), "the oldest half stays");
    assert!(is_closed(&mut halves[100]));
    let newest = halves.last_mut().unwrap();
    newest.write_all(b"\r\n").unwrap();
    lives(newest);
    // An established client is still served, and an event stream still delivers.
    kept.write_all(ASK.as_bytes()).unwrap();
    lives(&mut kept);
    home.add("heard");
    let mut heard = String::new();
    while !heard.contains("heard") {
        let mut bytes = [0; 1024];
        let count = listener.read(&mut bytes).unwrap();
        assert_ne!(count, 0, "the stream ended: {heard}");
        heard.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
}

#[test]
fn inv_s1_connections_that_are_kept_open_shut_nobody_out() {
    let home = home(Engine::File);
    // A low file limit has the same effect as many connections.
    let plain = home.call(&["up", "--listen", "127.0.0.1:0", "--quiet", "--json"]).into_command();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 320 && exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(plain.get_current_dir().unwrap());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let up = Up::of(command.spawn().unwrap());
    let mut kept = Vec::new();
    for _ in 0..400 {
        let mut stream = said(&up, ASK);
        lives(&mut stream);
        kept.push(stream);
    }
    assert!(is_closed(&mut kept[0]));
    let newest = kept.last_mut().unwrap();
    newest.write_all(ASK.as_bytes()).unwrap();
    lives(newest);
}

/// Waits for a place in line on many connections, each until the server refuses or keeps it.
fn waits(up: &Up, secret: &str, place: &str, count: usize) -> Vec<TcpStream> {
    let ask = format!(
        "GET /api/v1/wait?project=web&place={place} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: {secret}\r\n\r\n"
    );
    (0..count).map(|_| said(up, &ask)).collect()
}

#[test]
fn inv_s1_one_principal_that_waits_and_listens_shuts_nobody_out() {
    const MOST: usize = 8;
    let home = home(Engine::File);
    let most = MOST.to_string();
    let up = Up::start(&home, &["serve", "--seconds", "60", "--at-once", &most, "--listeners", &most]);
    let [bob, carl] = ["person:bob", "person:carl"].map(|name| bearer(&token(&home, name, "worker", "web")));
    let admin = bearer(&token(&home, "person:ann", "admin", "*"));
    home.ok_as("a", &["lock", "deploy"]);
    std::fs::write(home.path("repo/tenure.toml"), "project = \"web\"\n[wait]\nplace = \"5m\"\ncall = \"1s\"\n")
        .unwrap();
    let place = text(home.refused_as("b", &["lock", "deploy", "--wait"]).detail("id"));
    let _waits = waits(&up, &bob, &place, MOST * 2);
    // One principal gets half of the places, whether it asks at once or one after the other.
    wait_until("half of the listeners are of one principal", || {
        let said = up.ask("GET", "/metrics", &[("Authorization", &admin)], None);
        said.status == 200 && text(&said.body).contains(&format!("tenure_http_listeners {}\n", MOST / 2))
    });
    let refused = up.ask("GET", "/api/v1/events?project=web", &[("Authorization", &bob)], None);
    assert_eq!((refused.status, &refused.body["code"]), (503, &"overloaded".into()), "{refused:?}");
    assert_eq!(up.op(&bob, "add", None, &json!({ "title": "waits are no requests" })).status, 200);
    assert_eq!(up.op(&carl, "add", None, &json!({ "title": "asked" })).status, 200);
    let mut heard = said(
        &up,
        &format!("GET /api/v1/events?project=web&since=0 HTTP/1.1\r\nHost: x\r\nAuthorization: {carl}\r\n\r\n"),
    );
    let mut head = [0; 12];
    heard.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
}
