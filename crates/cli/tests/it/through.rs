//! Runs the whole suite through servers: separate processes of the program between the calls of a test and its store.
//! `TENURE_IT_THROUGH=up` puts `tenure up` beside each embedded store. `http` puts `tenure serve` before each store,
//! two of them before PostgreSQL, with a round-robin proxy.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::home::{Engine, Home, text};

/// The requested transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Http,
}

fn asked_for() -> Option<Way> {
    match std::env::var("TENURE_IT_THROUGH").ok()?.as_str() {
        "up" => Some(Way::Up),
        "http" => Some(Way::Http),
        other => panic!("TENURE_IT_THROUGH is up or http, not {other}"),
    }
}

/// The servers of one test; killed with it.
pub(crate) struct Servers {
    children: Vec<Child>,
    /// The environment that a call needs to reach a remote server.
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

impl Servers {
    /// Starts the requested servers, and waits until they listen. `home` has none yet.
    pub(crate) fn asked_for(home: &Home, engine: Engine) -> Option<Servers> {
        let mut servers = Servers { children: Vec::new(), environment: Vec::new() };
        match (asked_for()?, engine) {
            // The socket exists beside an embedded store only.
            (Way::Up, Engine::Postgres) => return None,
            (Way::Up, Engine::File) => drop(servers.start(home, &["up", "--no-http", "--json"])),
            (Way::Http, _) => {
                let token = token(home, "person:ann");
                let count = if engine == Engine::Postgres { 2 } else { 1 };
                let serve = ["serve", "--quiet", "--listen", "127.0.0.1:0", "--json"];
                let urls: Vec<String> = (0..count).map(|_| text(&servers.start(home, &serve)["url"])).collect();
                servers.environment = vec![("TENURE_URL", before(urls).into()), ("TENURE_TOKEN", token.into())];
            }
        }
        Some(servers)
    }

    fn start(&mut self, home: &Home, args: &[&str]) -> Value {
        let mut command = home.call(args).into_command();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        self.children.push(child);
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the server says {line:?}"));
        said["data"].clone()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A token of an admin, with the same rights as the local person.
fn token(home: &Home, person: &str) -> String {
    home.ok(&["member", "set", person, "--role", "admin", "--everywhere"]);
    text(&home.ok(&["token", "add", "--for", person])["secret"])
}

/// A round-robin proxy for several servers. It ends with the process.
fn before(urls: Vec<String>) -> String {
    let [_, _, ..] = urls.as_slice() else { return urls.into_iter().collect() };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (client, server) in listener.incoming().zip(urls.iter().cycle()) {
            let Ok(client) = client else { return };
            // A server that has ended is treated as unreachable.
            let Ok(server) = TcpStream::connect(server.trim_start_matches("http://")) else { continue };
            for (mut from, mut to) in [
                (client.try_clone().unwrap(), server.try_clone().unwrap()),
                (server.try_clone().unwrap(), client.try_clone().unwrap()),
            ] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                });
            }
        }
    });
    url
}
