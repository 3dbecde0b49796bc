//! A newcomer: an agent that has only the text at the start of its session and the list of tools.

use serde_json::{Value, json};

use crate::home::{Engine, Home, text};
use crate::mcp_client::Client;

/// What a client is told when it connects.
fn told(client: &mut Client) -> String {
    let hello = client.request(
        "initialize",
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "new", "version": "1" } }),
    );
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    text(&hello["result"]["instructions"])
}

/// The words in backticks.
fn named(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn a_newcomer_finishes_three_tasks_without_a_refusal() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let half = home.ok(&["add", "Read dates in ISO form", "--acceptance", "dates.rs parses 2030-01-31", "-p", "0"]);
        let half = text(&half["id"]);
        let (login, docs) = (home.add("Fix the login"), home.add("Describe the login"));

        // Another agent begins the first task, leaves it half done, and is gone.
        let mut other = Client::new(&home, "amber");
        assert_eq!(other.call("resume", json!({}))["focus"], json!(half));
        other.call("reserve", json!({ "paths": ["src/dates.rs"] }));
        std::fs::create_dir_all(home.repo().join("src")).unwrap();
        std::fs::write(home.repo().join("src/dates.rs"), "// half").unwrap();
        std::fs::write(home.repo().join("scratch.txt"), "of a person").unwrap();
        other.call("note", json!({ "text": "Years and months work. Days are missing." }));
        assert!(other.close().success());

        let mut client = Client::mute(home.call(&["mcp"]));
        let said = told(&mut client);
        assert!(said.chars().count() <= 600, "{said}");
        assert!(said.contains(&format!("3 tasks are ready, first {half} “Read dates in ISO form”.")), "{said}");
        let tools = client.request("tools/list", json!({}))["result"]["tools"].take();
        let tools: Vec<String> = tools.as_array().unwrap().iter().map(|tool| text(&tool["name"])).collect();
        let is_tool = |name: &&str| tools.iter().any(|tool| tool == name);
        for call in ["resume", "note", "done"] {
            assert!(named(&said).contains(&call), "{call} in {said}");
        }
        assert_eq!(named(&said).into_iter().find(|name| !is_tool(name)), None, "{said}");

        // `call` accepts no refusal.
        let first = client.call("resume", json!({}));
        let brief = text(&first["brief"]["text"]);
        for expected in ["dates.rs parses", "Days are missing.", "Left uncommitted in this checkout: “src/dates.rs”\n"]
        {
            assert!(brief.contains(expected), "{expected:?} in {brief}");
        }
        assert_eq!(named(&brief).into_iter().find(|name| !is_tool(name)), None, "{brief}");
        client.call("reserve", json!({ "paths": ["src/*.rs"], "reason": "days" }));
        client.call("note", json!({ "text": "Days work too." }));
        let done = client.call("done", json!({ "summary": "Dates are read in ISO form; tested." }));
        assert_eq!(done["id"], json!(half));
        let mut rest = Vec::new();
        loop {
            let next = client.call("resume", json!({}));
            let Some(task) = next["focus"].as_str() else { break };
            rest.push(task.to_owned());
            client.call("done", json!({ "summary": "It is as described." }));
        }
        assert_eq!(rest, [login, docs]);
        let overview = client.call("list", json!({ "overview": true }));
        assert_eq!((&overview["done"], &overview["ready"]), (&json!(3), &json!(0)));
        assert!(client.close().success());

        let shown = home.ok(&["show", &half]);
        let last = shown["notes"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["text"], "Dates are read in ISO form; tested.");
        let log: Vec<Value> = home.ok(&["log", "--kind", "task.done"])["items"].as_array().unwrap().clone();
        assert_eq!(log[0]["data"]["summary"], last["text"]);
        home.replayed();
    }
}

#[test]
fn the_first_text_says_who_is_at_work_and_what_mail_there_is() {
    let home = Home::new(Engine::File);
    let long = format!("{} {}", "“a”".repeat(20), "b".repeat(400));
    let tasks: Vec<String> = (0..3).map(|_| home.add(&long)).collect();
    for (task, agent) in tasks.iter().zip(["x".repeat(64), "y".repeat(64)]) {
        home.ok_as(&agent, &["claim", task]);
    }
    home.ok_as("newcomer", &["note", &tasks[0], "seen"]);
    home.ok(&["send", "newcomer", "hello"]);
    let mut client = Client::mute(home.call(&["mcp"]).agent("newcomer"));
    let said = told(&mut client);
    assert!(said.chars().count() <= 600, "{}: {said}", said.chars().count());
    for part in ["1 task is ready", "1 unread message.", "`resume`", "`note`", "`done`", &"x".repeat(64)] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert!(client.close().success());
}
