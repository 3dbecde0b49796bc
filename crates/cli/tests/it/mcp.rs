//! `tenure mcp`, tested over its pipes.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_kernel::op;

use crate::home::{Engine, Home, text};
use crate::mcp_client::Client;

/// A token is four bytes.
const TOKENS: usize = 2_000;

fn holder(home: &Home, task: &str) -> String {
    text(&home.ok(&["show", task])["holder"]["agent"])
}

#[test]
fn the_list_of_tools_is_small_and_complete() {
    let home = Home::direct(Engine::File);
    let mut client = Client::mute(home.call(&["mcp"]));
    let hello = client.request(
        "initialize",
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } }),
    );
    assert!(text(&hello["result"]["instructions"]).chars().count() <= 600);
    let listed = client.request("tools/list", json!({}))["result"]["tools"].take();
    let tools = listed.as_array().unwrap();
    assert!(tools.len() <= 10);
    let cost: usize = tools
        .iter()
        .map(|tool| {
            text(&tool["name"]).len() + text(&tool["description"]).len() + tool["inputSchema"].to_string().len()
        })
        .sum();
    assert!(cost.div_ceil(4) <= TOKENS, "{} tokens", cost.div_ceil(4));
    let read: Vec<Value> = tools
        .iter()
        .map(|tool| {
            assert_eq!(tool["outputSchema"]["type"], "object");
            json!({ "name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"],
                    "annotations": tool["annotations"] })
        })
        .collect();
    insta::assert_json_snapshot!("mcp_tools", json!({ "tokens": cost.div_ceil(4), "tools": read }));
    assert!(client.close().success());
    assert!(home.files("home").is_empty(), "asking makes nothing: {:?}", home.files("home"));
}

fn day(engine: Engine) {
    let home = Home::new(engine);
    let mut client = Client::new(&home, "Test Client");
    assert_eq!(client.call("list", json!({}))["total"], 0);
    let first = text(&client.call("add", json!({ "title": "first", "priority": 0, "labels": ["x"] }))["id"]);
    let second = text(&client.call("add", json!({ "title": "second" }))["id"]);
    let third = client.call("add", json!({ "title": "third", "after": [first[..6]] }));
    assert_eq!((&third["after"], &third["state"]), (&json!([first]), &json!("waiting")));
    client.call("note", json!({ "task": first, "text": "seen", "data": { "n": 1 } }));
    client.call("resume", json!({ "task": second }));
    let blocked = client.call("block", json!({ "reason": "API first", "on": first }));
    assert_eq!(
        (&blocked["id"], &blocked["state"], &blocked["blocked_on"]),
        (&json!(second), &json!("blocked"), &json!(first))
    );

    let shown = client.call("list", json!({ "id": first }));
    assert_eq!((&shown["notes"][0]["text"], &shown["notes"][0]["data"]["n"]), (&json!("seen"), &json!(1)));
    let ids =
        |page: Value| -> Vec<String> { page["items"].as_array().unwrap().iter().map(|i| text(&i["id"])).collect() };
    assert_eq!(ids(client.call("list", json!({ "states": ["ready"], "labels": ["x"] }))), [first.as_str()]);
    assert_eq!(ids(client.call("list", json!({ "mine": true }))), [""; 0]);
    let page = client.call("list", json!({ "limit": 1 }));
    assert_eq!(page["more"], true);
    assert_eq!(ids(client.call("list", json!({ "limit": 1, "cursor": page["next"] }))), [second.as_str()]);

    let said = client.call("memory", json!({ "action": "remember", "text": "mind the gap", "scope": "project" }));
    let memory = text(&said["items"][0]["id"]);
    assert_eq!(client.call("memory", json!({ "action": "recall", "text": "gap" }))["items"][0]["id"], json!(memory));
    client.call("memory", json!({ "action": "remember", "text": "for all", "scope": "global", "kind": "directive" }));
    assert_eq!(client.call("memory", json!({ "action": "list" }))["total"], 2);
    assert_eq!(client.call("memory", json!({ "action": "list", "scope": "global" }))["items"][0]["kind"], "directive");
    assert_eq!(client.call("memory", json!({ "action": "forget", "id": memory }))["id"], json!(memory));

    let taken = client.result("resume", json!({ "budget": 800 }));
    let resumed = &taken["structuredContent"];
    assert_eq!((&resumed["focus"], &resumed["rule"]), (&json!(first), &json!("ready")));
    assert_eq!(taken["content"][0]["text"], resumed["brief"]["text"], "models that take text get the brief");
    assert!(text(&resumed["brief"]["text"]).contains("tool `done`"), "{resumed}");
    std::fs::write(home.repo().join("out.txt"), "x").unwrap();
    let whole =
        json!({ "text": "half", "files": ["out.txt"], "memories": [{ "text": "the port is 80", "kind": "fact" }] });
    let noted = client.call("note", whole);
    assert_eq!((&noted["task"], &noted["artifacts"]), (&json!(first), &json!(1)));
    let outside = client.refused("note", json!({ "text": "x", "files": ["/etc/passwd"] }));
    assert_eq!(outside["code"], "path_outside", "{outside}");
    assert_eq!(client.call("list", json!({ "mine": true }))["items"][0]["id"], json!(first));
    let held = client.call("reserve", json!({ "paths": ["src/a.rs", "docs/"], "reason": "index" }))["holds"].clone();
    assert_eq!(
        (&held[0]["subject"], &held[0]["task"], &held[1]["mode"]),
        (&json!("src/a.rs"), &json!(first), &json!("exclusive"))
    );
    assert_eq!(client.call("release", json!({ "paths": ["src/"] }))["holds"][0]["id"], held[0]["id"]);
    assert_eq!(client.call("release", json!({ "hold": text(&held[1]["id"])[..6] }))["holds"][0]["state"], "released");
    assert_eq!(client.call("release", json!({ "reason": "break" }))["state"], "ready");
    assert_eq!(client.call("resume", json!({ "task": first[..6] }))["rule"], "focus");
    client.call("reserve", json!({ "paths": ["src/b.rs"] }));
    home.ok_as("person:ann", &["note", &first, "here"]);
    let handed = client.call("release", json!({ "paths": ["src/b.rs"], "to": "person:ann" }));
    assert_eq!(
        (&handed["holds"][0]["holder"], &handed["holds"][0]["subject"]),
        (&json!("person:ann"), &json!("src/b.rs"))
    );

    let agent = text(&client.call("list", json!({ "id": first }))["holder"]["agent"]);
    home.ok(&["send", &agent, "how far is it?", "--request"]);
    let message = client.call("mail", json!({ "action": "read" }))["items"][0].clone();
    assert_eq!((&message["text"], &message["again"]), (&json!("how far is it?"), &json!(false)));
    assert_eq!(client.call("mail", json!({ "action": "read", "ack": [message["id"]] }))["items"], json!([]));
    let id = text(&message["id"]);
    let answer = client.call("mail", json!({ "action": "send", "reply": id[..6], "text": "half" }));
    assert_eq!((&answer["to"][0]["agent"], &answer["thread"]), (&json!("person:ann"), &message["id"]));
    assert_eq!(home.ok(&["inbox"])["items"][1]["text"], "half", "after the end of the request");
    let done = client.call("done", json!({}));
    assert_eq!((&done["state"], &done["late"]), (&json!("done"), &json!(false)));
    let unblocked = client.call("resume", json!({}));
    assert_eq!((&unblocked["rule"], &unblocked["focus"]), (&json!("unblocked"), &json!(second)));

    // Every op that declares this door is reached through it, and no other.
    let ours = home.events().into_iter().filter(|event| event.actor.starts_with("mcp-"));
    let reached: BTreeSet<String> = ours.map(|event| event.op).collect();
    let declared = op::OPS.iter().filter(|entry| entry.doors.contains(&op::Door::Mcp));
    assert_eq!(reached, declared.map(|entry| entry.name.to_owned()).collect());

    // All of them by one agent, named after its client, through this door.
    let mut actors: BTreeSet<String> = home.events().into_iter().map(|event| event.actor).map(String::from).collect();
    assert!(actors.remove("person:ann"));
    let [actor] = actors.into_iter().collect::<Vec<_>>().try_into().unwrap();
    assert!(actor.starts_with("mcp-test-client-") && actor.len() == "mcp-test-client-".len() + 6, "{actor}");
    assert!(client.close().success());
    home.replayed();
}

#[test]
fn an_agent_needs_nothing_but_the_tools() {
    day(Engine::File);
}

#[test]
fn an_agent_needs_nothing_but_the_tools_on_postgres() {
    day(Engine::Postgres);
}

#[test]
fn inv_i1_two_connections_are_two_agents() {
    let home = Home::new(Engine::File);
    let (task, other) = (home.add("one"), home.add("two"));
    let (mut a, mut b) = (Client::new(&home, "same"), Client::new(&home, "same"));
    a.call("resume", json!({ "task": task }));
    b.call("resume", json!({ "task": other }));
    assert_ne!(holder(&home, &task), holder(&home, &other));
    let refused = b.refused("done", json!({ "task": task }));
    assert_eq!((&refused["kind"], &refused["code"]), (&json!("conflict"), &json!("task_held")));
    assert_eq!(refused["details"]["blockers"][0]["holder"], json!(holder(&home, &task)));
    assert_eq!(a.call("done", json!({}))["id"], json!(task), "without an id each means its own");
    assert_eq!(b.call("done", json!({}))["id"], json!(other));
}

#[test]
fn inv_i1_threads_of_one_connection_are_agents_of_their_own() {
    let home = Home::new(Engine::File);
    let (task, other) = (home.add("one"), home.add("two"));
    let mut client = Client::new(&home, "codex-mcp-client");
    let thread = |id: &str| json!({ "threadId": id });
    client.call_with("resume", json!({ "task": task }), thread("A"));
    client.call_with("resume", json!({ "task": other }), thread("B"));
    assert_eq!((holder(&home, &task), holder(&home, &other)), ("codex-a".into(), "codex-b".into()));
    assert_eq!(client.call_with("done", json!({}), thread("A"))["id"], json!(task));
    assert_eq!(client.call_with("done", json!({}), thread("B"))["id"], json!(other));
    let nobody = client.refused("done", json!({}));
    assert_eq!(nobody["code"], "no_focus", "without a thread it is the connection");
    // One session is one agent through every door.
    let shell = home.call(&["note", &task, "x"]).json().env("CODEX_THREAD_ID", "A").run();
    assert_eq!((shell.code, home.events().pop().unwrap().actor), (0, "codex-a".into()));
}

#[test]
fn inv_i1_the_environment_names_the_agent() {
    let home = Home::new(Engine::File);
    let acts = |call: crate::home::Call| {
        let mut client = Client::of(call, "claude-code");
        client.call("add", json!({ "title": "x" }));
        client.close();
        home.events().pop().unwrap().actor
    };
    let session = |args: &[&str]| home.call(args).env("CLAUDE_CODE_SESSION_ID", "s1").env("CLAUDECODE", "1");
    assert_eq!(acts(session(&["mcp"])), "claude-s1");
    assert_eq!(acts(session(&["mcp"]).agent("by-variable")), "by-variable");
    assert_eq!(acts(session(&["mcp", "--agent", "by-flag"])), "by-flag");
    // A tool without a session is not refused here as it is at the command line, because the connection identifies it.
    assert!(acts(home.call(&["mcp"]).env("GEMINI_CLI", "1")).starts_with("mcp-claude-code-"));
    let mut person = Client::of(home.call(&["mcp"]).agent("person:ann"), "x");
    assert_eq!(person.refused("add", json!({ "title": "x" }))["code"], "people_only");
}

#[test]
fn errors_are_results_that_say_what_helps() {
    let home = Home::new(Engine::File);
    let task = home.add("held");
    home.ok_as("other", &["claim", &task]);
    let mut client = Client::new(&home, "x");
    for (tool, arguments, kind, code, entity) in [
        ("add", json!({}), "usage", "bad_arguments", json!("title")),
        ("add", json!({ "title": 7 }), "usage", "bad_arguments", json!("title")),
        ("add", json!({ "title": "x", "labels": ["a", 1] }), "usage", "bad_arguments", json!("labels[1]")),
        ("add", json!({ "title": "x", "colour": "red" }), "usage", "bad_arguments", json!("colour")),
        ("add", json!({ "title": "x", "after": ["t-zzzzz"] }), "not_found", "not_found", json!("t-zzzzz")),
        ("add", json!({ "title": "x", "priority": 9 }), "usage", "bad_priority", Value::Null),
        ("note", json!({ "text": "x" }), "usage", "no_focus", Value::Null),
        ("note", json!({ "task": task, "text": "x", "fence": 1 }), "usage", "bad_arguments", json!("fence")),
        ("done", json!({ "task": task }), "conflict", "task_held", json!(task)),
        ("done", json!({ "task": task, "force": true }), "usage", "bad_arguments", json!("force")),
        ("block", json!({ "task": task }), "usage", "bad_arguments", json!("reason")),
        ("release", json!({ "task": task }), "conflict", "task_held", json!(task)),
        ("list", json!({ "states": ["lost"] }), "usage", "bad_arguments", json!("states[0]")),
        ("list", json!({ "limit": 0 }), "usage", "bad_limit", Value::Null),
        ("list", json!({ "id": "t-zzzzz" }), "not_found", "not_found", json!("t-zzzzz")),
        ("list", json!({ "cursor": "x" }), "usage", "bad_cursor", Value::Null),
        ("memory", json!({ "action": "pin" }), "usage", "bad_arguments", json!("action")),
        ("memory", json!({ "action": "recall" }), "usage", "bad_arguments", json!("text")),
        ("memory", json!({ "action": "forget" }), "usage", "bad_arguments", json!("id")),
        ("memory", json!({ "action": "forget", "id": "m-zzzzz" }), "not_found", "not_found", json!("m-zzzzz")),
        ("mail", json!({ "action": "send", "text": "x" }), "usage", "no_recipient", Value::Null),
        ("mail", json!({ "action": "send", "to": ["other"] }), "usage", "bad_arguments", json!("text")),
        (
            "mail",
            json!({ "action": "send", "to": ["stranger"], "text": "x" }),
            "not_found",
            "unknown_agent",
            json!("stranger"),
        ),
        ("resume", json!({ "task": task }), "conflict", "task_held", json!(task)),
    ] {
        let error = client.refused(tool, arguments.clone());
        let found = (&error["kind"], &error["code"], &error["details"]["entity"]);
        assert_eq!(found, (&json!(kind), &json!(code), &entity), "{tool} {arguments}: {error}");
        assert_eq!(error["retryable"], false);
        if code == "bad_arguments" {
            assert!(text(&error["message"]).contains(entity.as_str().unwrap()), "{error}");
        }
    }
    let events = home.events();
    assert!(events.iter().all(|event| !event.actor.starts_with("mcp-")), "a refused first op leaves nobody behind");
}

#[test]
fn what_is_no_call_is_an_error_of_the_protocol_and_the_next_call_works() {
    let home = Home::new(Engine::File);
    let mut client = Client::new(&home, "x");
    client.line("this is not JSON");
    client.line("");
    client.line("{\"jsonrpc\":\"2.0\",\"id\":");
    let unknown = client.request("tools/call", json!({ "name": "nope", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(text(&unknown["error"]["message"]).contains("nope"));
    let guessed = client.request("tools/call", json!({ "name": "claim_task", "arguments": {} }));
    assert_eq!(guessed["error"]["data"]["tool"], "resume", "{guessed}");
    assert!(text(&guessed["error"]["message"]).contains("Call `resume`"), "{guessed}");
    assert_eq!(client.request("tools/call", json!({ "arguments": {} }))["error"]["code"], -32602);
    assert_eq!(client.request("no/such/method", json!({}))["error"]["code"], -32601);
    let listed = client.request("tools/call", json!({ "name": "add", "arguments": ["x"] }));
    assert_eq!(listed["result"]["structuredContent"]["details"]["entity"], "arguments");
    // An invalid request has no id to answer to.
    client.send(&json!({ "jsonrpc": "2.0", "id": true, "method": "tools/list" }));
    assert_eq!(client.next()["error"]["code"], -32600);
    assert_eq!(client.call("add", json!({ "title": "still there" }))["number"], 1);
    assert!(client.close().success());
}

#[test]
fn five_megabytes_are_refused_in_words() {
    let home = Home::new(Engine::File);
    let task = home.add("one");
    let mut client = Client::new(&home, "x");
    let huge = "x".repeat(5 << 20);
    let error = client.refused("note", json!({ "task": task, "text": huge }));
    assert_eq!((&error["kind"], &error["code"]), (&json!("usage"), &json!("text_too_long")));
    assert!(error.to_string().len() < 2_000, "it does not come back");
    let error = client.refused("add", json!({ "title": "x", huge: 1 }));
    assert_eq!(error["code"], "bad_arguments");
    assert!(error.to_string().len() < 2_000, "nor does the name of a field");
    client.call("note", json!({ "task": task, "text": "small" }));
    assert!(client.close().success());
}

#[test]
fn inv_t6_a_call_that_is_repeated_under_its_id_is_carried_out_once() {
    let home = Home::new(Engine::File);
    let mut client = Client::of(home.call(&["mcp"]).agent("a"), "x");
    let meta = json!({ "tenure/requestId": "call-7" });
    let first = client.call_with("add", json!({ "title": "one" }), meta.clone());
    assert_eq!(client.call_with("add", json!({ "title": "one" }), meta.clone()), first);
    let other = client.result_with("add", json!({ "title": "two" }), meta.clone());
    assert_eq!(other["structuredContent"]["kind"], "mismatch");
    client.close();
    let mut later = Client::of(home.call(&["mcp"]).agent("a"), "x");
    assert_eq!(later.call_with("add", json!({ "title": "one" }), meta), first);
    // Without an id each call is a new request.
    later.call("add", json!({ "title": "one" }));
    assert_eq!(home.ok(&["list"])["total"], 2);
}

#[test]
fn calls_that_come_at_once_are_carried_out_in_order() {
    let home = Home::new(Engine::File);
    let mut client = Client::new(&home, "x");
    let titles: Vec<String> = (0..40).map(|n| format!("task {n}")).collect();
    let sent: Vec<i64> = titles
        .iter()
        .map(|title| client.ask("tools/call", json!({ "name": "add", "arguments": { "title": title } })))
        .collect();
    let ping = client.ask("ping", json!({}));
    let answers: Vec<Value> = (0..=sent.len()).map(|_| client.next()).collect();
    assert!(answers.iter().any(|answer| answer["id"] == ping));
    let listed = home.ok(&["list"]);
    let found: Vec<String> = listed["items"].as_array().unwrap().iter().map(|task| text(&task["title"])).collect();
    assert_eq!(found, titles);
}

#[test]
fn it_ends_when_its_client_does_and_when_it_is_told_to() {
    let home = Home::new(Engine::File);
    assert!(Client::mute(home.call(&["mcp"])).close().success(), "before a word was said");
    assert!(Client::new(&home, "x").close().success());
    for signal in ["-TERM", "-INT", "-HUP"] {
        let mut client = Client::new(&home, "x");
        client.call("add", json!({ "title": signal }));
        assert_eq!(client.signal(signal).code(), Some(0), "{signal}");
    }
}

#[test]
fn standard_output_is_the_protocols() {
    let home = Home::new(Engine::File);
    let mut client = Client::mute(home.call(&["mcp", "--json"]).env("TENURE_LOG", "1"));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let (status, said) = client.complaint();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("did not send `initialize`"), "{said}");
    let mut client = Client::of(home.call(&["mcp"]).env("TENURE_LOG", "1"), "x");
    client.call("add", json!({ "title": "x" }));
    let (status, said) = client.complaint();
    assert!(status.success() && said.contains("add by mcp-x-"), "{said}");
}

#[test]
fn inv_l3_a_connection_that_ends_leaves_its_task_to_others_at_once() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("one");
        let mut client = Client::new(&home, "x");
        client.call("resume", json!({ "task": task }));
        home.refused_as("b", &["claim", &task]).is("conflict", "task_held");
        client.signal("-TERM");
        crate::home::wait_until("the connection has ended", || home.ok(&["show", &task])["state"] == "ready");
        let taken = home.ok_as("b", &["claim", &task]);
        assert_eq!(taken["task"]["attempt"], 2);
        home.replayed();
    }
}

/// The events in a brief: whether it is the note, and whether it is repeated.
fn told(client: &mut Client, meta: &Value) -> Vec<(bool, bool)> {
    let resumed = client.call_with("resume", json!({}), meta.clone());
    let brief = text(&resumed["brief"]["text"]);
    let events = brief.split_once("## Last events\n").map_or("", |(_, events)| events);
    events.lines().map(|line| (line.contains("from outside"), line.ends_with("(again)"))).collect()
}

#[test]
fn inv_m1_what_was_offered_is_confirmed_by_the_next_call_of_the_same_agent_on_the_same_connection() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("one");
        let mut client = Client::new(&home, "x");
        let (a, b) = (json!({ "threadId": "a" }), json!({ "threadId": "b" }));
        assert_eq!(told(&mut client, &a), [], "who was not there has missed nothing");
        told(&mut client, &b);
        home.ok(&["note", &task, "from outside"]);
        let (new, again) = ([(true, false)], [(true, true)]);
        assert_eq!(told(&mut client, &a), new);
        // Neither the next call of another agent nor a read confirms it.
        assert_eq!(told(&mut client, &b), new);
        client.request("resources/read", json!({ "uri": "tenure://brief", "_meta": a }));
        client.close();
        let mut client = Client::new(&home, "x");
        assert_eq!(told(&mut client, &a), again, "the connection ended before the next call");
        client.call_with("list", json!({}), a.clone());
        assert_eq!(told(&mut client, &a), [], "and this time it did not");
        assert_eq!(told(&mut client, &b), again);
        assert_eq!(told(&mut client, &b), [], "resume itself is a call too");
    }
}

#[test]
fn the_brief_is_a_resource_and_reading_it_takes_nothing() {
    let home = Home::new(Engine::File);
    let task = home.add("one");
    let before = home.events().len();
    let mut client = Client::new(&home, "x");
    let listed = client.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 1);
    let uri = listed["result"]["resources"][0]["uri"].clone();
    let read = client.request("resources/read", json!({ "uri": uri }));
    let contents = &read["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "text/markdown");
    assert!(text(&contents["text"]).contains(&task), "{contents}");
    let unknown = client.request("resources/read", json!({ "uri": "tenure://nothing" }));
    assert_eq!(unknown["error"]["code"], -32002);
    assert_eq!(home.events().len(), before);
}

/// A client gives its model the text, or the structured answer, or both (Claude Code 2.1.325 and Codex 0.166.0 the
/// second, Gemini CLI 0.61.0 and OpenCode 1.18.33 the first; observed 2026-11-16).
#[test]
fn inv_m2_what_resume_gives_a_model_is_within_its_budget_in_both_forms() {
    let home = Home::new(Engine::File);
    let mut client = Client::new(&home, "x");
    let hostile = "\"\\\n".repeat(1_000);
    let task = text(&client.call("add", json!({ "title": "large", "description": hostile }))["id"]);
    for n in 0..30 {
        client.call("note", json!({ "task": task, "text": format!("{n} {}", "\"word\" ".repeat(40)) }));
        client.call(
            "memory",
            json!({ "action": "remember", "text": format!("large {n} \"{}\"", "x".repeat(100)), "scope": "project" }),
        );
    }
    for budget in [250_usize, 400, 1_500, 5_000] {
        let result = client.result("resume", json!({ "budget": budget }));
        let (brief, structured) = (text(&result["content"][0]["text"]), &result["structuredContent"]);
        assert_eq!(structured["brief"]["text"], json!(brief));
        for (form, bytes) in [("text", brief.len()), ("structured", structured.to_string().len())] {
            assert!(bytes <= budget * 4, "{form} of {budget} tokens has {bytes} bytes");
        }
        assert!(budget > 1_500 || structured.to_string().len() > budget * 3, "and uses it");
        for section in ["## Task", "## Do next", "## Where it stopped"] {
            assert!(brief.contains(section), "{brief}");
        }
    }
    // A small answer costs little more than its text.
    let mut other = Client::new(&home, "y");
    let small = text(&other.call("add", json!({ "title": "small" }))["id"]);
    let result = other.result("resume", json!({ "task": small, "budget": 150 }));
    let (brief, structured) = (text(&result["content"][0]["text"]), result["structuredContent"].to_string());
    assert!(structured.len() <= brief.len() + 120, "{} {structured}", brief.len());
}
