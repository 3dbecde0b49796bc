//! MCP over HTTP: a session is one agent, on any server of the store, until its client ends it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::{Reply, Up, bearer, home, token};
use crate::home::{Engine, Home, text};

const MCP: &str = "/mcp?project=web";
const BOTH: (&str, &str) = ("Accept", "application/json, text/event-stream");

/// A client with a token.
struct Client {
    secret: String,
    session: String,
    called: i64,
}

impl Client {
    /// A client that has initialised its session.
    fn connect(up: &Up, secret: &str) -> Client {
        let mut client = Client { secret: bearer(secret), session: String::new(), called: 0 };
        let info = json!({ "name": "Some Client", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
        let said = client.post(up, &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
        assert_eq!(said.status, 200, "{said:?}");
        client.session = said.header("mcp-session-id").unwrap().to_owned();
        client
    }

    /// The same session with another token.
    fn with(&self, secret: &str) -> Client {
        Client { secret: bearer(secret), session: self.session.clone(), called: self.called }
    }

    fn headers(&self) -> Vec<(&str, &str)> {
        let mut headers = vec![("Authorization", self.secret.as_str()), BOTH, ("Tenure-Checkout", "far:/repo")];
        if !self.session.is_empty() {
            headers.extend([("Mcp-Session-Id", self.session.as_str()), ("MCP-Protocol-Version", "2025-06-18")]);
        }
        headers
    }

    fn ask(&self, up: &Up, method: &str, body: Option<&Value>) -> Reply {
        up.ask(method, MCP, &self.headers(), body)
    }

    fn post(&self, up: &Up, body: &Value) -> Reply {
        self.ask(up, "POST", Some(body))
    }

    fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        self.called += 1;
        let params = json!({ "name": name, "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": self.called, "method": "tools/call", "params": params })
    }

    /// The answer of a tool.
    fn call(&mut self, up: &Up, name: &str, arguments: &Value) -> Value {
        let call = self.tool(name, arguments);
        let said = self.post(up, &call);
        assert_eq!(said.status, 200, "{said:?}");
        let answer = data(&text(&said.body)).unwrap_or_else(|| panic!("{said:?}"));
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&call["id"], &json!(false)), "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// A request whose answer is read as a stream.
    fn open(&self, up: &Up, method: &str, more: &str, body: Option<&Value>) -> BufReader<TcpStream> {
        let mut stream = up.connect();
        let mut head = format!("{method} {MCP} HTTP/1.1\r\nHost: {}\r\n{more}", up.address);
        for (name, value) in self.headers() {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let body = body.map_or(String::new(), Value::to_string);
        let length = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{length}{body}").as_bytes()).unwrap();
        BufReader::new(stream)
    }
}

/// The first message of a stream.
fn data(said: &str) -> Option<Value> {
    said.lines().find_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok())
}

/// Reads up to a line with this prefix, and returns the rest of it.
fn until(stream: &mut BufReader<TcpStream>, begins: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the stream ended before `{begins}`");
        if let Some(rest) = line.strip_prefix(begins) {
            return rest.trim().to_owned();
        }
    }
}

/// The holders, without duplicates.
fn holders(home: &Home) -> Vec<String> {
    let mut names: Vec<String> =
        home.ok(&["holds"])["items"].as_array().unwrap().iter().map(|hold| text(&hold["holder"])).collect();
    names.dedup();
    names
}

/// The agent that a brief addresses, which holds the task.
fn reader(resumed: &Value) -> String {
    let brief = text(&resumed["brief"]["text"]);
    let (_, name) = brief.split_once("You are ").unwrap_or_else(|| panic!("{brief}"));
    name.split_once(" and hold it").unwrap_or_else(|| panic!("{brief}")).0.to_owned()
}

/// A session that holds a task and a path, and its agent.
fn working(up: &Up, secret: &str) -> (Client, String) {
    let mut client = Client::connect(up, secret);
    let taken = client.call(up, "resume", &json!({}));
    client.call(up, "reserve", &json!({ "paths": ["src/a.rs"] }));
    (client, reader(&taken))
}

fn refused(home: &Home, client: &mut Client, up: &Up) {
    let call = client.tool("note", &json!({ "text": "not mine" }));
    for (method, body) in [("POST", Some(&call)), ("GET", None), ("DELETE", None)] {
        let said = client.ask(up, method, body);
        assert_eq!((said.status, &said.body["code"]), (404, &json!("unknown_session")), "{method} {said:?}");
    }
    assert!(!holders(home).is_empty(), "nothing was freed");
}

#[test]
fn inv_i2_a_session_goes_on_after_a_restart_as_the_agent_it_was() {
    for engine in Engine::ALL {
        let home = home(engine);
        let secret = token(&home, "person:bob", "worker", "web");
        let mut up = Up::start(&home, &["serve"]);
        let (mut client, agent) = working(&up, &secret);
        assert!(agent.starts_with("mcp-some-client-"), "{agent}");
        // A session that has only read has nothing to lose, and continues all the same.
        let mut looks = Client::connect(&up, &secret);
        for signal in [Signal::KILL, Signal::TERM] {
            let mut stream = looks.open(&up, "GET", "", None);
            until(&mut stream, "HTTP/1.1 200");
            up.signal(signal);
            up.child.wait().unwrap();
            if signal == Signal::TERM {
                let mut rest = String::new();
                stream.read_to_string(&mut rest).unwrap();
                assert!(
                    rest.ends_with("0\r\n\r\n"),
                    "{engine:?}: a stream ends with its server, and is not cut: {rest:?}"
                );
            }
            assert_eq!(holders(&home), [agent.as_str()], "{engine:?} {signal:?}: what it holds is its own");
            up = Up::start(&home, &["serve"]);
            client.call(&up, "note", &json!({ "text": "still here" }));
            looks.call(&up, "list", &json!({}));
        }
        assert_eq!(reader(&client.call(&up, "resume", &json!({}))), agent);
        assert_eq!(holders(&home), [agent.as_str()], "{engine:?}");
        assert_eq!(client.ask(&up, "DELETE", None).status, 204);
        assert!(holders(&home).is_empty(), "{engine:?}: free at once");
        drop(up);
        let up = Up::start(&home, &["serve"]);
        let call = client.tool("note", &json!({ "text": "over" }));
        let said = client.post(&up, &call);
        assert_eq!((said.status, &said.body["code"]), (404, &json!("unknown_session")), "{engine:?}: over is over");
    }
}

#[test]
fn inv_i2_a_session_is_one_agent_at_all_servers_of_a_store() {
    let home = home(Engine::Postgres);
    let secret = token(&home, "person:bob", "worker", "web");
    let servers = [Up::start(&home, &["serve"]), Up::start(&home, &["serve"])];
    let mut client = Client::connect(&servers[0], &secret);
    // All later requests may go to another server, and several at once.
    let known = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(client.post(&servers[1], &known).status, 202));
        }
    });
    let agent = reader(&client.call(&servers[1], "resume", &json!({})));
    for server in servers.iter().cycle().take(6) {
        client.call(server, "note", &json!({ "text": "here" }));
    }
    assert_eq!(holders(&home), [agent]);
    assert_eq!(client.ask(&servers[1], "DELETE", None).status, 204);
    assert!(holders(&home).is_empty());
    for server in &servers {
        let call = client.tool("note", &json!({ "text": "over" }));
        assert_eq!(client.post(server, &call).status, 404, "over at one is over at all");
    }
}

#[test]
fn inv_s3_the_id_of_a_session_opens_nothing_to_others() {
    for engine in Engine::ALL {
        let home = home(engine);
        home.ok(&["add", "other", "--project", "api"]);
        home.ok(&["member", "set", "person:bob", "--role", "worker", "--in", "api"]);
        let [bob, eve] = ["person:bob", "person:eve"].map(|name| token(&home, name, "worker", "web"));
        let up = Up::start(&home, &["serve"]);
        let (client, agent) = working(&up, &bob);
        // Also if it has done nothing yet that belongs to an agent.
        let looks = Client::connect(&up, &bob);
        for client in [&client, &looks] {
            refused(&home, &mut client.with(&eve), &up);
            let said = up.ask("GET", "/mcp?project=api", &client.headers(), None);
            assert_eq!((said.status, &said.body["code"]), (404, &json!("unknown_session")), "{said:?}");
        }
        for id in ["x", "00000000-0000-0000-0000-000000000000", &client.session[1..], &format!("{}0", client.session)] {
            refused(&home, &mut Client { session: id.to_owned(), ..client.with(&bob) }, &up);
        }
        // Also on a server that does not know the session.
        drop(up);
        let up = Up::start(&home, &["serve"]);
        refused(&home, &mut client.with(&eve), &up);
        assert_eq!(holders(&home), [agent], "{engine:?}");
    }
}

#[test]
fn inv_s4_a_session_goes_on_with_another_token_and_its_stream_ends_with_its_own() {
    for engine in Engine::ALL {
        let home = home(engine);
        home.ok(&["member", "set", "person:bob", "--role", "worker", "--in", "web"]);
        let [first, second] = [(); 2].map(|()| home.ok(&["token", "add", "--for", "person:bob"]));
        let secret = |token: &Value| text(&token["secret"]);
        let up = Up::start(&home, &["serve"]);
        let (mut client, agent) = working(&up, &secret(&first));
        let mut stream = client.open(&up, "GET", "Connection: close\r\n", None);
        until(&mut stream, "id:");
        home.ok(&["token", "revoke", &text(&first["id"])]);
        // An open stream sends a heartbeat every 15 seconds. The revoked stream ends before its second one.
        let signs = stream.lines().filter(|line| line.as_ref().unwrap().starts_with(':')).take(2).count();
        assert!(signs < 2, "{engine:?}: the stream stays");
        let call = client.tool("note", &json!({ "text": "revoked" }));
        assert_eq!(client.post(&up, &call).status, 401, "{engine:?}");
        let mut again = client.with(&secret(&second));
        again.call(&up, "note", &json!({ "text": "the same session" }));
        assert_eq!(holders(&home), [agent], "{engine:?}");
        // A call has the rights of its token, not those with which the session was opened.
        home.ok(&["member", "set", "person:bob", "--role", "viewer", "--in", "web"]);
        let call = again.tool("note", &json!({ "text": "only looks now" }));
        assert_eq!(data(&text(&again.post(&up, &call).body)).unwrap()["result"]["isError"], json!(true), "{engine:?}");
    }
}

#[test]
fn an_answer_that_was_cut_off_is_had_by_its_last_event() {
    for engine in Engine::ALL {
        let home = home(engine);
        let secret = token(&home, "person:bob", "worker", "web");
        let up = Up::start(&home, &["serve"]);
        let mut client = Client::connect(&up, &secret);
        let other = Client::connect(&up, &secret);
        let call = client.tool("resume", &json!({}));
        let mut stream = client.open(&up, "POST", "", Some(&call));
        let id = until(&mut stream, "id:");
        drop(stream);
        let last = format!("Last-Event-ID: {id}\r\nConnection: close\r\n");
        // Every time it is requested, whether it was delivered meanwhile or not.
        for _ in 0..3 {
            let mut stream = client.open(&up, "GET", &last, None);
            let mut said = String::new();
            stream.read_to_string(&mut said).unwrap();
            let answer = data(&said).unwrap_or_else(|| panic!("{said}"));
            assert_eq!((&answer["id"], &answer["result"]["isError"]), (&call["id"], &json!(false)), "{engine:?}");
            assert_eq!(said.matches("data: {").count() + said.matches("data:{").count(), 1, "{said}");
        }
        let lost = |client: &Client, up: &Up| {
            let mut said = String::new();
            client.open(up, "GET", &last, None).read_to_string(&mut said).unwrap();
            let answer = data(&said).unwrap_or_else(|| panic!("{said}"));
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&call["id"], &json!(-32_000)), "{answer}");
        };
        lost(&other, &up);
        // Another process does not have the answers of this one, and says so, so that the client does not wait for
        // ever.
        drop(up);
        lost(&client, &Up::start(&home, &["serve"]));
    }
}

/// The turn of an embedded store, held by another process, so that ops wait.
struct Turn(Child);

impl Turn {
    fn take(home: &Home) -> Turn {
        let lock = format!("{}-turn-b", home.database().display());
        let mut flock = Command::new("flock");
        flock.arg(lock).args(["sh", "-c", "echo held; read line"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut held = flock.spawn().expect("flock of util-linux is there");
        let mut line = String::new();
        BufReader::new(held.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Turn(held)
    }

    fn give_back(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

#[test]
fn a_call_that_is_cut_off_while_it_runs_is_carried_out_and_its_answer_is_had() {
    let home = home(Engine::File);
    let secret = token(&home, "person:bob", "worker", "web");
    let up = Up::start(&home, &["serve"]);
    let mut client = Client::connect(&up, &secret);
    let turn = Turn::take(&home);
    let call = client.tool("resume", &json!({}));
    let mut stream = client.open(&up, "POST", "", Some(&call));
    let last = format!("Last-Event-ID: {}\r\nConnection: close\r\n", until(&mut stream, "id:"));
    drop(stream);
    let mut again = client.open(&up, "GET", &last, None);
    until(&mut again, "HTTP/1.1 200");
    assert!(holders(&home).is_empty());
    turn.give_back();
    let mut said = String::new();
    again.read_to_string(&mut said).unwrap();
    assert_eq!(data(&said).unwrap_or_else(|| panic!("{said}"))["result"]["isError"], json!(false));
    assert_eq!(holders(&home).len(), 1);
}

#[test]
fn inv_l3_a_session_that_is_ended_while_a_call_runs_leaves_nothing_held() {
    let home = home(Engine::File);
    let secret = token(&home, "person:bob", "worker", "web");
    let up = Up::start(&home, &["serve"]);
    let mut client = Client::connect(&up, &secret);
    let turn = Turn::take(&home);
    let call = client.tool("resume", &json!({}));
    let mut running = client.open(&up, "POST", "Connection: close\r\n", Some(&call));
    until(&mut running, "id:");
    let mut ending = client.open(&up, "DELETE", "Connection: close\r\n", None);
    // The session has ended here, and the call still runs.
    running.read_to_string(&mut String::new()).unwrap();
    turn.give_back();
    until(&mut ending, "HTTP/1.1 204");
    let events = home.events();
    assert!(events.iter().any(|event| event.kind == "task.claimed"), "it was carried out: {events:?}");
    assert!(holders(&home).is_empty(), "{:?}", holders(&home));
}

#[test]
fn inv_s1_a_page_of_another_site_is_refused_and_that_is_written_down() {
    for engine in Engine::ALL {
        let home = home(engine);
        let secret = bearer(&token(&home, "person:bob", "worker", "web"));
        let up = Up::start(&home, &["serve"]);
        let here = format!("http://{}", up.address);
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        for (origin, refused) in [("http://evil.example", true), ("null", true), (&here, false)] {
            for method in ["POST", "GET", "DELETE"] {
                let headers = [("Authorization", secret.as_str()), BOTH, ("Origin", origin)];
                let said = up.ask(method, MCP, &headers, (method == "POST").then_some(&ping));
                assert_eq!(said.status == 403 && said.body["code"] == "other_origin", refused, "{origin} {said:?}");
            }
        }
        let log = home.ok(&["log", "--whole-store", "--kind", "access.denied"]);
        let told: Vec<&Value> = log["items"].as_array().unwrap().iter().map(|event| &event["data"]["code"]).collect();
        assert!(told.len() == 6 && told.iter().all(|code| **code == "other_origin"), "{engine:?} {log}");
    }
}

#[test]
fn inv_i2_two_clients_of_one_principal_are_two_agents_but_an_agent_is_itself() {
    for engine in Engine::ALL {
        let home = home(engine);
        home.add("second");
        let up = Up::start(&home, &["serve"]);
        for principal in ["person:bob", "service:ci"] {
            let secret = token(&home, principal, "worker", "web");
            let (mut one, mut other) = (Client::connect(&up, &secret), Client::connect(&up, &secret));
            let [first, second] = [&mut one, &mut other].map(|client| {
                client.call(&up, "add", &json!({ "title": "for one of two" }));
                reader(&client.call(&up, "resume", &json!({})))
            });
            assert!(first != second && first.starts_with("mcp-some-client-"), "{engine:?} {first} {second}");
        }
        let secret = token(&home, "robot", "worker", "web");
        for _ in 0..2 {
            let mut client = Client::connect(&up, &secret);
            client.call(&up, "add", &json!({ "title": "for a robot" }));
            assert_eq!(reader(&client.call(&up, "resume", &json!({}))), "robot", "{engine:?}");
        }
    }
}
