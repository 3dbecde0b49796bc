//! A real server: `tenure up` and `tenure serve`, used over HTTP and the socket, stopped and killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::{Reply, Up, bearer, home, token};
use crate::home::{Engine, text};

#[test]
fn inv_s1_whoever_shows_no_token_is_let_in_nowhere_but_at_the_public_addresses() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    for path in ["/livez", "/readyz", "/api/v1/hello"] {
        assert_eq!(up.ask("GET", path, &[], None).status, 200, "{path}");
    }
    let document = up.ask("GET", "/api/v1/openapi.json", &[], None);
    assert_eq!(document.status, 200, "what can be asked is no secret");
    assert_eq!(up.ask("GET", "/openapi.json", &[], None).body, document.body);
    let mut seen = 0;
    for (path, methods) in document.body["paths"].as_object().unwrap() {
        if ["/livez", "/readyz"].contains(&path.as_str()) {
            continue;
        }
        let path = path.replace("{project}", "web").replace("{id}", "t-00000");
        for method in methods.as_object().unwrap().keys() {
            let body = json!({});
            let method = method.to_uppercase();
            let body = (method == "POST").then_some(&body);
            for headers in [vec![], vec![("Authorization", "Bearer tenure_0000")], vec![("Cookie", "__Host-tenure=x")]]
            {
                let reply = up.ask(&method, &path, &headers, body);
                assert_eq!(reply.status, 401, "{method} {path} {headers:?}: {reply:?}");
                assert_eq!(reply.header("content-type"), Some("application/problem+json"));
            }
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
    for path in ["/metrics", "/mcp", "/api/v1/wait", "/api/v1/call"] {
        let method = if path.ends_with("call") { "POST" } else { "GET" };
        assert_eq!(up.ask(method, path, &[], None).status, 401, "{path}");
    }
    let audit = home.ok(&["log", "--whole-store", "--limit", "1000"]);
    let denials = audit["items"].as_array().unwrap().iter().filter(|event| event["kind"] == "access.denied").count();
    assert!(denials >= seen, "{denials} denials of {seen} are written down");
}

#[test]
fn inv_s4_twenty_identical_submits_make_one_task() {
    for engine in Engine::ALL {
        let home = home(engine);
        let up = Up::start(&home, &["serve"]);
        let secret = bearer(&token(&home, "person:bob", "worker", "web"));
        let replies: Vec<Reply> = std::thread::scope(|scope| {
            let ask = || {
                let headers = [("Authorization", secret.as_str()), ("Idempotency-Key", "submit-1")];
                up.ask("POST", "/api/v1/ops/add?project=web", &headers, Some(&json!({ "title": "once" })))
            };
            let asking: Vec<_> = (0..20).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(replies.iter().all(|reply| reply.status == 200), "{replies:?}");
        assert!(replies.iter().all(|reply| reply.body == replies[0].body));
        let first = replies.iter().filter(|reply| reply.header("idempotency-replayed").is_none()).count();
        assert_eq!(first, 1);
        assert_eq!(home.ok(&["list"])["total"], 2);
        let other = [("Authorization", secret.as_str()), ("Idempotency-Key", "submit-1")];
        let other = up.ask("POST", "/api/v1/ops/add?project=web", &other, Some(&json!({ "title": "twice" })));
        assert_eq!((other.status, &other.body["kind"]), (422, &json!("mismatch")));
    }
}

#[test]
fn inv_s2_a_project_of_others_is_as_one_that_does_not_exist() {
    let home = home(Engine::File);
    home.ok(&["--project", "secret", "add", "hidden"]);
    let up = Up::start(&home, &["up"]);
    let secret = bearer(&token(&home, "person:bob", "worker", "web"));
    let ask = |path: &str| up.ask("GET", path, &[("Authorization", &secret)], None);
    let plain = |reply: &Reply, name: &str| {
        let mut body = reply.body.clone();
        body["instance"] = json!("");
        (reply.status, body.to_string().replace(name, "NAME"))
    };
    let (hidden, missing) = (ask("/api/v1/projects/secret/tasks"), ask("/api/v1/projects/nothing/tasks"));
    assert_eq!(hidden.status, 404);
    assert_eq!(plain(&hidden, "secret"), plain(&missing, "nothing"));
    let listed = ask("/api/v1/projects");
    let names: Vec<_> = listed.body["items"].as_array().unwrap().iter().map(|project| text(&project["key"])).collect();
    assert_eq!(names, ["name:web"]);
    let streams = (ask("/api/v1/events?project=secret"), ask("/api/v1/events?project=nothing"));
    assert_eq!(plain(&streams.0, "secret"), plain(&streams.1, "nothing"));
}

#[test]
fn versions_pages_and_problems_over_http() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let secret = bearer(&token(&home, "person:bob", "worker", "web"));
    let auth = ("Authorization", secret.as_str());
    let post = |op: &str, body: &Value| up.ask("POST", &format!("/api/v1/ops/{op}"), &[auth], Some(body));
    let task = text(&post("add", &json!({ "title": "one" })).body["id"]);
    let path = format!("/api/v1/projects/web/tasks/{task}");
    let shown = up.ask("GET", &path, &[auth], None);
    let tag = shown.header("etag").unwrap().to_owned();
    assert_eq!((shown.status, &shown.body["title"]), (200, &json!("one")));
    assert_eq!(up.ask("GET", &path, &[auth, ("If-None-Match", &tag)], None).status, 304);
    let edit = |tag: &str, title: &str| {
        let body = json!({ "task": task, "title": title });
        up.ask("POST", "/api/v1/ops/edit", &[auth, ("If-Match", tag)], Some(&body))
    };
    assert_eq!(edit(&tag, "two").status, 200);
    let stale = edit(&tag, "three");
    assert_eq!((stale.status, &stale.body["kind"]), (412, &json!("stale")));
    for _ in 0..4 {
        post("add", &json!({ "title": "more" }));
    }
    let (mut cursor, mut seen) = (String::new(), 0);
    loop {
        let page = up.ask("GET", &format!("/api/v1/projects/web/tasks?limit=2{cursor}"), &[auth], None);
        seen += page.body["items"].as_array().unwrap().len();
        match page.body["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, 6);
    let bad = [
        (post("add", &json!({ "title": "" })), 400, "usage"),
        (post("add", &json!({ "titel": "x" })), 400, "usage"),
        (post("nothing", &json!({})), 404, "not_found"),
        (post("session_start", &json!({})), 404, "not_found"),
        (post("claim", &json!({ "task": "t-zzzzz" })), 404, "not_found"),
        (post("done", &json!({ "task": task, "force": true })), 403, "denied"),
        (up.ask("GET", "/api/v1/ops/add", &[auth], None), 405, "usage"),
        (up.ask("GET", "/nowhere", &[auth], None), 404, "not_found"),
        (up.ask("GET", "/api/v1/projects/web/tasks?x=1", &[auth], None), 400, "usage"),
        (up.ask("GET", "/api/v1/projects/web/tasks?limit=0", &[auth], None), 400, "usage"),
        (up.ask("GET", "/api/v1/projects/web/events?since=999999", &[auth], None), 412, "stale"),
        (up.ask("POST", "/api/v1/ops/add", &[auth, ("Content-Type", "text/plain")], Some(&json!({}))), 415, "usage"),
    ];
    for (reply, status, kind) in bad {
        assert_eq!((reply.status, &reply.body["kind"]), (status, &json!(kind)), "{reply:?}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{reply:?}");
        for field in ["type", "title", "status", "code", "message", "retryable", "details"] {
            assert!(reply.body.get(field).is_some(), "no {field} in {reply:?}");
        }
        assert!(reply.header("x-request-id").is_some());
    }
    let long = json!({ "title": "x".repeat(9 << 20) });
    let mut stream = up.connect();
    let head = format!("POST /api/v1/ops/add HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: {secret}\r\n");
    let body = long.to_string();
    let head = format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    // The server may answer before it has read the whole body.
    let _ = stream.write_all(body.as_bytes());
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    assert!(said.starts_with("HTTP/1.1 413"), "{said}");
}

/// A listener: the ids and numbers of the received events.
pub(crate) struct Listener {
    pub(crate) stream: BufReader<TcpStream>,
    /// The id that it starts after.
    began: String,
}

impl Listener {
    pub(crate) fn new(up: &Up, secret: &str, query: &str, last: Option<&str>) -> Listener {
        let mut stream = up.connect();
        let last = last.map_or(String::new(), |last| format!("Last-Event-ID: {last}\r\n"));
        let head = format!(
            "GET /api/v1/events?{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: text/event-stream\r\nAuthorization: {secret}\r\n{last}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        // The stream is open when its first event id has arrived.
        while !line.starts_with("id: ") {
            line.clear();
            stream.read_line(&mut line).unwrap();
        }
        Listener { stream, began: line["id: ".len()..].trim().to_owned() }
    }

    /// Whether the stream ends; skips everything before.
    pub(crate) fn is_over(&mut self) -> bool {
        let mut rest = String::new();
        self.stream.read_to_string(&mut rest).is_ok()
    }

    /// The next event: its id and its document.
    pub(crate) fn next(&mut self) -> (String, Value) {
        let (mut id, mut line) = (String::new(), String::new());
        loop {
            line.clear();
            assert_ne!(self.stream.read_line(&mut line).unwrap(), 0, "the stream is over");
            if let Some(found) = line.strip_prefix("id: ") {
                id = found.trim().to_owned();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return (id, serde_json::from_str(data).unwrap());
            }
        }
    }
}

#[test]
fn inv_t3_listeners_miss_nothing_and_get_nothing_twice() {
    for engine in Engine::ALL {
        let home = home(engine);
        home.ok(&["--project", "api", "add", "there"]);
        let up = Up::start(&home, &["serve"]);
        token(&home, "person:bob", "worker", "api");
        let secret = bearer(&token(&home, "person:bob", "worker", "web"));
        let both = "project=web&project=api";
        let mut listener = Listener::new(&up, &secret, &format!("{both}&since=0"), None);
        let (mut numbers, mut last): (Vec<(String, i64)>, String) = (Vec::new(), String::new());
        let mut hear = |listener: &mut Listener, count: usize, last: &mut String| {
            for _ in 0..count {
                let (id, event) = listener.next();
                numbers.push((text(&event["project"]), event["number"].as_i64().unwrap()));
                *last = id;
            }
            numbers.clone()
        };
        // The first task is two events, including the registration of its author.
        hear(&mut listener, 4, &mut last);
        drop(listener);
        // Events while there is no listener, in a project that was quiet and by a process beside the server.
        home.ok(&["--project", "api", "add", "meanwhile"]);
        home.add("meanwhile");
        let mut listener = Listener::new(&up, &secret, both, Some(&last));
        home.add("and now");
        let heard = hear(&mut listener, 3, &mut last);
        for project in ["name:web", "name:api"] {
            let mut own: Vec<i64> = heard.iter().filter(|(of, _)| of == project).map(|(_, number)| *number).collect();
            own.sort_unstable();
            assert_eq!(own, (1..=i64::try_from(own.len()).unwrap()).collect::<Vec<_>>(), "{engine:?} {heard:?}");
        }
        assert_eq!(heard.len(), 7);
    }
}

#[test]
fn a_browser_signs_in_once_with_a_link_and_must_say_what_only_our_pages_know() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    // Viewing the page does not consume the link.
    for _ in 0..3 {
        let page = up.ask("GET", &up.link, &[], None);
        assert_eq!(page.status, 200);
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    }
    let form = format!("link={}", up.link.rsplit('/').next().unwrap());
    let take = || {
        let mut stream = up.connect();
        let head = "POST /login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n";
        stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{form}", form.len()).as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        Reply::read(&said)
    };
    let replies: Vec<Reply> = std::thread::scope(|scope| {
        let taking: Vec<_> = (0..8).map(|_| scope.spawn(take)).collect();
        taking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let (taken, refused): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 303);
    assert_eq!(taken.len(), 1, "{replies:?}");
    assert!(refused.iter().all(|reply| reply.status == 403), "{refused:?}");
    let cookies = taken[0].cookies();
    let session = cookies.iter().find(|cookie| cookie.starts_with("__Host-tenure=")).unwrap();
    for word in ["HttpOnly", "Secure", "SameSite=Strict", "Path=/"] {
        assert!(session.contains(word), "{session}");
    }
    let csrf = cookies.iter().find_map(|cookie| cookie.strip_prefix("__Host-tenure-csrf=")).unwrap();
    let (session, csrf) = (session.split(';').next().unwrap(), csrf.split(';').next().unwrap());
    let read = up.ask("GET", "/api/v1/projects/web/tasks", &[("Cookie", session)], None);
    assert_eq!(read.status, 200);
    let add = |headers: &[(&str, &str)]| {
        up.ask("POST", "/api/v1/ops/add?project=web", headers, Some(&json!({ "title": "by a page" }))).status
    };
    assert_eq!(add(&[("Cookie", session)]), 403);
    assert_eq!(add(&[("Cookie", session), ("Tenure-CSRF", "guess")]), 403);
    assert_eq!(add(&[("Cookie", session), ("Tenure-CSRF", csrf)]), 200);
    let closed = up.ask("POST", "/logout", &[("Cookie", session), ("Tenure-CSRF", csrf)], Some(&json!({})));
    assert_eq!(closed.status, 303, "{closed:?}");
    assert_eq!(up.ask("GET", "/api/v1/projects/web/tasks", &[("Cookie", session)], None).status, 401);
}

#[test]
fn inv_s3_a_stream_ends_with_the_rights_of_its_listener_and_with_its_server() {
    for engine in Engine::ALL {
        let home = home(engine);
        let mut up = Up::start(&home, &["serve"]);
        let [bob, service] = ["person:bob", "service:ci"].map(|name| bearer(&token(&home, name, "viewer", "web")));
        let (mut one, mut other) = (Listener::new(&up, &bob, "", None), Listener::new(&up, &service, "", None));
        home.add("both hear this");
        assert_eq!(one.next().1["data"]["title"], "both hear this");
        assert_eq!(other.next().1["data"]["title"], "both hear this");
        home.ok(&["member", "disable", "person:bob"]);
        assert!(one.is_over(), "{engine:?}: nobody hears on who may not");
        home.add("one hears this");
        assert_eq!(other.next().1["data"]["title"], "one hears this");
        up.signal(Signal::TERM);
        assert!(other.is_over());
        assert_eq!(up.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn inv_t3_whoever_is_cut_off_before_the_first_event_goes_on_from_where_it_began() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let secret = bearer(&token(&home, "person:bob", "viewer", "web"));
    let listener = Listener::new(&up, &secret, "", None);
    let began = listener.began.clone();
    drop(listener);
    home.add("meanwhile");
    let mut again = Listener::new(&up, &secret, "", Some(&began));
    assert_eq!(again.next().1["data"]["title"], "meanwhile");
}

#[test]
fn inv_i3_what_was_offered_is_confirmed_by_the_next_request_of_whoever_got_it() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let [bob, carl] = ["person:bob", "person:carl"].map(|name| bearer(&token(&home, name, "worker", "web")));
    let inbox = |secret: &str, agent: &str, key: &str| {
        let headers = [("Authorization", secret), ("Tenure-Agent", agent), ("Idempotency-Key", key)];
        up.ask("POST", "/api/v1/ops/inbox", &headers, Some(&json!({})))
    };
    assert_eq!(inbox(&bob, "claude-1", "k0").status, 200);
    home.ok(&["send", "claude-1", "hello"]);
    let got = inbox(&bob, "claude-1", "k1");
    assert_eq!(got.body["items"].as_array().unwrap().len(), 1, "{got:?}");
    // Another principal with the same name confirms nothing, nor does a replay.
    assert_eq!(inbox(&carl, "claude-1", "k2").status, 403);
    assert_eq!(inbox(&bob, "claude-1", "k1").body, got.body);
    assert_eq!(home.ok_as("claude-1", &["inbox", "--peek"])["items"].as_array().unwrap().len(), 1);
    assert_eq!(inbox(&bob, "claude-1", "k3").body["items"], json!([]), "read already");
    assert_eq!(inbox(&bob, "claude-1", "k4").body["items"], json!([]));
}

#[test]
fn inv_m6_a_message_is_in_one_answer_over_http_and_again_only_where_that_was_lost() {
    for engine in Engine::ALL {
        let home = home(engine);
        let up = Up::start(&home, &["serve"]);
        let bob = bearer(&token(&home, "person:bob", "worker", "web"));
        let ask = |op: &str, key: Option<&str>| {
            let mut headers = vec![("Authorization", bob.as_str()), ("Tenure-Agent", "claude-1")];
            headers.extend(key.map(|key| ("Idempotency-Key", key)));
            up.ask("POST", &format!("/api/v1/ops/{op}"), &headers, Some(&json!({})))
        };
        let texts = |reply: &Reply| {
            let items = reply.body["items"].as_array().unwrap().iter();
            items.map(|item| (text(&item["text"]), item["again"] == true)).collect::<Vec<_>>()
        };
        let new = |said: &str| vec![(said.to_owned(), false)];
        assert_eq!(ask("inbox", None).status, 200);
        home.ok(&["send", "claude-1", "one"]);
        assert_eq!(texts(&ask("inbox", None)), new("one"), "{engine:?}");
        assert_eq!(texts(&ask("inbox", None)), [], "{engine:?}: shown, and asked again since");
        // A lost answer: a retry gets the same bytes, and confirms none of its content.
        home.ok(&["send", "claude-1", "two"]);
        let lost = ask("inbox", Some("k1"));
        assert_eq!(texts(&lost), new("two"));
        assert_eq!(ask("inbox", Some("k1")).body, lost.body);
        assert_eq!(home.ok_as("claude-1", &["inbox", "--peek"])["items"][0]["text"], "two", "{engine:?}");
        // So does a retry of an older request, whose answer may be the lost one.
        assert_eq!(ask("inbox", Some("k0")).status, 200);
        home.ok(&["send", "claude-1", "three"]);
        assert_eq!(texts(&ask("inbox", None)), new("three"));
        assert_eq!(ask("inbox", Some("k0")).header("idempotency-replayed"), Some("true"));
        assert_eq!(home.ok_as("claude-1", &["inbox", "--peek"])["items"][0]["text"], "three", "{engine:?}");
        assert_eq!(texts(&ask("inbox", None)), []);
    }
}

#[test]
fn what_a_far_program_says_of_itself_is_looked_at() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let everywhere = bearer(&token(&home, "person:bob", "worker", "*"));
    let call = |key: &str, label: &str, actor: &str| {
        let call = json!({
            "project": { "key": key, "label": label }, "actor": { "name": actor }, "request_id": { "value": "r1" },
        });
        let document = json!({ "call": call, "op": "add", "request": { "title": "far" } });
        up.ask("POST", "/api/v1/call", &[("Authorization", &everywhere)], Some(&document)).body
    };
    for key in ["", "web", "name:", "name:A", "name:a/b", "x:y", "*", "name:a\u{1b}"] {
        assert_eq!(call(key, "web", "claude-1")["error"]["kind"], "usage", "{key:?}");
    }
    assert_eq!(call("name:web", "a\nb", "claude-1")["error"]["code"], "bad_call");
    // The token identifies a person, regardless of the user name on the other machine.
    assert_eq!(call("name:web", "web", "person:root")["ok"], true);
    assert_eq!(home.ok(&["log", "--limit", "1"])["items"][0]["actor"], "person:bob");
    for path in ["/api/v1/projects/%00/tasks", "/api/v1/events?project=%00"] {
        let status = up.ask("GET", path, &[("Authorization", &everywhere)], None).status;
        assert!([400, 404].contains(&status), "{path}: {status}");
    }
    assert!(home.run(&["backup", "all.backup"]).code == 0);
}

#[test]
fn inv_i2_an_agent_belongs_to_whoever_acted_as_it_first() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let [ann, bob] = ["person:carl", "person:bob"].map(|name| bearer(&token(&home, name, "worker", "web")));
    let claim = |secret: &str, agent: &str| {
        let headers = [("Authorization", secret), ("Tenure-Agent", agent)];
        up.ask("POST", "/api/v1/ops/claim", &headers, Some(&json!({})))
    };
    assert_eq!(claim(&ann, "claude-1").status, 200);
    let refused = claim(&bob, "claude-1");
    assert_eq!((refused.status, &refused.body["code"]), (403, &json!("not_yours")));
    assert_eq!(claim(&bob, "person:carl").status, 403);
    assert_eq!(claim(&bob, "claude-2").status, 200);
}

#[test]
fn inv_s11_commands_go_on_when_their_server_is_killed_or_stopped() {
    let home = home(Engine::File);
    let mut up = Up::start(&home, &["up"]);
    let admin = bearer(&token(&home, "person:ann", "admin", "*"));
    let ops = |up: &Up| {
        let said = up.ask("GET", "/metrics", &[("Authorization", &admin)], None).body;
        let line =
            said.as_str().unwrap().lines().find(|line| line.starts_with("tenure_ops_total ")).unwrap().to_owned();
        line.split(' ').nth(1).unwrap().parse::<f64>().unwrap()
    };
    let before = ops(&up);
    home.add("through the server");
    assert!(ops(&up) > before, "the command used the socket");
    up.child.kill().unwrap();
    up.child.wait().unwrap();
    home.add("without it");
    // A stopped server does not answer; the command accesses the store directly, in time.
    let up = Up::start(&home, &["up"]);
    up.signal(Signal::STOP);
    home.add("past a stopped one");
    up.signal(Signal::CONT);
    let titles: Vec<_> =
        home.ok(&["list"])["items"].as_array().unwrap().iter().map(|task| text(&task["title"])).collect();
    assert_eq!(titles, ["first", "through the server", "without it", "past a stopped one"]);
    home.add("through it again");
    assert_eq!(home.ok(&["list"])["total"], 5);
    home.replayed();
}

#[test]
fn a_store_has_one_server_and_a_server_that_is_told_to_end_leaves_nothing() {
    let home = home(Engine::File);
    let mut up = Up::start(&home, &["up"]);
    let second = home.refused(&["up", "--listen", "127.0.0.1:0"]);
    assert_eq!((second.kind.as_str(), second.code.as_str()), ("conflict", "already_served"));
    assert!(home.refused(&["up", "--listen", "0.0.0.0:0"]).code == "not_this_machine");
    up.signal(Signal::TERM);
    assert_eq!(up.child.wait().unwrap().code(), Some(0));
    let left: Vec<_> =
        home.files("home").into_iter().filter(|path| path.to_string_lossy().ends_with("-sock")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_same_commands_through_a_server_far_away() {
    for engine in Engine::ALL {
        let home = home(engine);
        let up = Up::start(&home, &["serve"]);
        let secret = token(&home, "person:bob", "worker", "web");
        let far = |agent: &str, args: &[&str]| {
            let mut command: Command = home.call(args).into_command();
            command.env("TENURE_URL", format!("http://{}", up.address)).env("TENURE_TOKEN", &secret);
            command.env_remove("TENURE_STORE").env("TENURE_FORMAT", "json").env("USER", "bob");
            if !agent.is_empty() {
                command.env("TENURE_AGENT", agent);
            }
            let output = command.stdin(Stdio::null()).output().unwrap();
            serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {output:?}"))
        };
        // Another clone, on another machine: it is pinned to the server, not to the store beside it.
        let claimed = far("claude-7", &["claim"]);
        if claimed["ok"] == false {
            assert_eq!(claimed["error"]["code"], "pinned_elsewhere", "{engine:?} {claimed}");
            continue;
        }
        let task = text(&claimed["data"]["task"]["id"]);
        assert_eq!(far("claude-7", &["note", "half way"])["ok"], true);
        assert_eq!(home.ok(&["show", &task])["holder"]["agent"], "claude-7");
        assert_eq!(far("claude-7", &["done"])["ok"], true);
        assert_eq!(far("", &["status"])["data"]["ready"], 0);
    }
}
