//! One session is one agent through hooks and commands: real processes, both engines.

use serde_json::{Value, json};

use crate::home::{Engine, Home, text};
use crate::session::Tool;

fn claude<'a>(home: &'a Home, session: &str) -> Tool<'a> {
    Tool::new(home, "claude", &format!("CLAUDECODE=1 CLAUDE_CODE_SESSION_ID={session}"))
}

fn is(agent: &str, source: &str) -> (Option<String>, String) {
    (Some(agent.to_owned()), source.to_owned())
}

#[test]
fn inv_i1_after_clear_and_compaction_hooks_and_commands_are_one_agent() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("go on with this");
        let mut tool = claude(&home, "A");
        assert!(tool.start("A", "startup").contains(&task), "what is ready is shown");
        assert_eq!(tool.whoami(), is("claude-a", "CLAUDE_CODE_SESSION_ID"));
        assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
        assert!(tool.start("A", "compact").contains("you hold"));
        tool.hook("SessionEnd", "A", &json!({ "reason": "clear" }));
        let told = tool.start("B", "clear");
        assert!(told.contains("you hold") && told.contains(&task) && told.contains("go on with this"), "{told}");
        for variables in
            ["CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=B", "CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=A", "CLAUDECODE=1"]
        {
            tool.now(variables);
            assert_eq!(tool.whoami().0.as_deref(), Some("claude-a"), "{variables}");
        }
        assert_eq!(tool.whoami().1, "hook");
        assert_eq!(tool.run("done")["ok"], true);
        assert_eq!(home.events().last().unwrap().actor, "claude-a");
    }
}

#[test]
fn inv_i1_a_second_terminal_is_another_agent_and_is_told() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let (first, second) = (home.add("first"), home.add("second"));
        let mut one = claude(&home, "A");
        let mut two = claude(&home, "A");
        assert!(!one.start("A", "startup").contains("another process"));
        let told = two.start("A", "resume");
        assert!(told.contains("also runs in another process as claude-a") && told.contains("claude-a.2"), "{told}");
        assert_eq!((one.whoami().0, two.whoami()), (Some("claude-a".into()), is("claude-a.2", "hook")));
        assert_eq!(one.run(&format!("claim {first}"))["ok"], true);
        assert_eq!(two.run(&format!("claim {first}"))["error"]["kind"], "conflict");
        assert_eq!(two.run(&format!("claim {second}"))["ok"], true);
        // A process that dies takes nothing along, and the session goes on as itself in a third terminal.
        one.kill();
        let mut three = claude(&home, "A");
        assert!(three.start("A", "resume").contains(&first));
        assert_eq!(three.whoami().0.as_deref(), Some("claude-a"));
        assert_eq!(three.run("done")["ok"], true);
        assert_eq!(text(&home.ok(&["show", &second])["holder"]["agent"]), "claude-a.2");
    }
}

#[test]
fn inv_i4_what_a_dead_session_held_is_free_at_once() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("held");
        let mut tool = claude(&home, "A");
        tool.start("A", "startup");
        assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
        assert_eq!(home.refused_as("b", &["claim", &task]).kind, "conflict", "it lives");
        tool.kill();
        let claimed = home.ok_as("b", &["claim", &task]);
        assert_eq!(claimed["task"]["attempt"], 2);
        let expired = home.events().into_iter().find(|event| event.kind == "hold.expired").unwrap();
        assert_eq!(expired.data["proven_dead"], true);
        home.replayed();
    }
}

#[test]
fn inv_l3_a_session_that_says_goodbye_leaves_its_task_to_others() {
    let home = Home::new(Engine::File);
    let task = home.add("held");
    let mut tool = claude(&home, "A");
    tool.start("A", "startup");
    assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
    assert_eq!(tool.hook("SessionEnd", "A", &json!({ "reason": "logout" })), "");
    assert_eq!(home.ok_as("b", &["claim", &task])["task"]["attempt"], 2);
    // It comes back and is told in one sentence, once.
    assert!(!tool.start("A", "resume").contains("you hold"));
    let told = tool.hook("UserPromptSubmit", "A", &json!({ "prompt": "go on" }));
    let told: Value = serde_json::from_str(&told).unwrap();
    let told = text(&told["hookSpecificOutput"]["additionalContext"]);
    assert!(told.contains(&task) && told.contains("b took it") && told.chars().count() <= 300, "{told}");
    assert_eq!(tool.hook("UserPromptSubmit", "A", &json!({ "prompt": "go on" })), "");
    home.replayed();
}

#[test]
fn inv_i1_a_sub_agent_is_a_label_and_never_a_holder() {
    let home = Home::new(Engine::File);
    home.add("held");
    let mut tool = claude(&home, "A");
    tool.start("A", "startup");
    let before = home.ok(&["agent", "list"])["items"].as_array().unwrap().len();
    assert_eq!(tool.hook("SessionStart", "A", &json!({ "source": "startup", "agent_id": "sub" })), "");
    let failed = json!({
        "agent_id": "sub", "tool_name": "Bash", "tool_input": { "command": "cargo test SECRET" }, "error": "Exit code 101",
    });
    assert_eq!(tool.hook("PostToolUseFailure", "A", &failed), "");
    tool.hook("SessionEnd", "A", &json!({ "reason": "other", "agent_id": "sub" }));
    let agents = home.ok(&["agent", "list"])["items"].as_array().unwrap().clone();
    assert_eq!(agents.len(), before);
    let event = home.events().pop().unwrap();
    assert_eq!((event.kind.as_str(), event.actor.as_str()), ("tool.failed", "claude-a"));
    assert_eq!(
        event.data,
        json!({ "tool": "Bash", "kind": "shell", "program": "cargo test", "exit_status": 101, "sub_agent": "sub" })
    );
    assert_eq!(tool.whoami().0.as_deref(), Some("claude-a"), "its session goes on");
}

#[test]
fn inv_i1_a_tool_without_a_session_variable_is_known_by_its_process() {
    let home = Home::new(Engine::File);
    let task = home.add("held");
    let mut tool = Tool::new(&home, "gemini", "GEMINI_CLI=1");
    assert_eq!(tool.whoami(), (None, "gemini without a session".into()));
    assert_eq!(tool.run("claim")["error"]["code"], "identity_missing");
    tool.start("G1", "startup");
    assert_eq!(tool.whoami(), is("gemini-g1", "hook"));
    assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
    // Another process of the same tool is not it.
    let mut other = Tool::new(&home, "gemini", "GEMINI_CLI=1");
    assert_eq!(other.whoami().0, None);
    // A person in a terminal below the tool stays a person.
    tool.now("");
    assert_eq!(tool.whoami(), is("person:ann", "user"));
    // A given name wins.
    tool.now("GEMINI_CLI=1 TENURE_AGENT=named");
    assert_eq!(tool.whoami(), is("named", "TENURE_AGENT"));
}

#[test]
fn inv_i1_a_session_is_registered_by_whatever_hook_comes_first() {
    let home = Home::new(Engine::File);
    home.add("something");
    let mut one = claude(&home, "A");
    let mut two = claude(&home, "A");
    let edit =
        json!({ "tool_name": "Edit", "tool_input": { "file_path": home.repo().join("a.rs") }, "tool_response": {} });
    assert_eq!(one.hook("PostToolUse", "A", &edit), "");
    assert_eq!(two.hook("PostToolUse", "A", &edit), "");
    assert_eq!((one.whoami().0, two.whoami().0), (Some("claude-a".into()), Some("claude-a.2".into())));
    // Without an id there is nobody to speak for.
    assert_eq!(one.hook("SessionStart", "", &json!({ "source": "startup" })), "");
    assert_eq!(home.ok(&["agent", "list"])["items"].as_array().unwrap().len(), 3);
}

#[test]
fn a_worker_takes_a_task_when_its_session_begins_and_nobody_else_does() {
    let home = Home::new(Engine::File);
    let task = home.add("to be done");
    let mut tool = claude(&home, "A");
    tool.start("A", "startup");
    assert_eq!(home.ok(&["show", &task])["holder"], Value::Null);
    tool.line("export TENURE_WORKER=1");
    let told = tool.start("A", "resume");
    assert!(told.contains("you hold") && told.contains(&task), "{told}");
    assert_eq!(text(&home.ok(&["show", &task])["holder"]["agent"]), "claude-a");
}
