//! A server for a test, and a minimal HTTP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::home::{Engine, Home, text};

/// The timeout of a test; it measures nothing.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that runs beside the test and is killed with it.
pub(crate) struct Up {
    pub(crate) child: Child,
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
    /// The path of the one-time link.
    pub(crate) link: String,
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Up {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Up {
        let words: Vec<&str> = args.iter().copied().chain(["--listen", "127.0.0.1:0", "--quiet", "--json"]).collect();
        let mut command = home.call(&words).into_command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Up::of(command.spawn().unwrap())
    }

    /// Waits until a started server reports its address.
    pub(crate) fn of(mut child: Child) -> Up {
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the server says {line:?}"));
        let url = said["data"]["url"].as_str().unwrap_or_default().to_owned();
        let address = url.trim_start_matches("http://").to_owned();
        let link = said["data"]["sign_in"].as_str().map_or(String::new(), |link| link[url.len()..].to_owned());
        Up { child, address, link }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    /// Terminates the server and waits for its end.
    pub(crate) fn end(&mut self) {
        self.signal(Signal::TERM);
        self.child.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Reply {
        let mut stream = self.connect();
        let body = body.map(Value::to_string);
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                head.push_str("Content-Type: application/json\r\n");
            }
        }
        stream.write_all(format!("{head}\r\n{}", body.unwrap_or_default()).as_bytes()).unwrap();
        let mut said = Vec::new();
        stream.read_to_end(&mut said).unwrap();
        Reply::read(&String::from_utf8(said).unwrap())
    }

    /// Sends an op, optionally with `If-Match`.
    pub(crate) fn op(&self, secret: &str, op: &str, tag: Option<&str>, body: &Value) -> Reply {
        let mut headers = vec![("Authorization", secret)];
        headers.extend(tag.map(|tag| ("If-Match", tag)));
        self.ask("POST", &format!("/api/v1/ops/{op}"), &headers, Some(body))
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn read(said: &str) -> Reply {
        let (head, body) = said.split_once("\r\n\r\n").unwrap_or((said, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{said}"));
        Reply { status, head: head.to_owned(), body: serde_json::from_str(body).unwrap_or(json!(body)) }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn cookies(&self) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")).map(|(_, value)| value).collect()
    }
}

/// A token of a principal with a role, created by the local person.
pub(crate) fn token(home: &Home, principal: &str, role: &str, project: &str) -> String {
    home.ok(&["member", "set", principal, "--role", role, "--in", project]);
    text(&home.ok(&["token", "add", "--for", principal])["secret"])
}

pub(crate) fn bearer(secret: &str) -> String {
    format!("Bearer {secret}")
}

/// A home whose project is called `web`, with one task.
pub(crate) fn home(engine: Engine) -> Home {
    let home = Home::direct(engine);
    std::fs::write(home.path("repo/tenure.toml"), "project = \"web\"\n").unwrap();
    home.add("first");
    home
}
