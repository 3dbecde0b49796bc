//! One session is one agent through hooks and commands: real processes, both engines.

use serde_json::{Value, json};

use crate::home::{Engine, Home, TENURE, text};
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
        let mut tool = claude(&home, "a");
        assert!(tool.start("a", "startup").contains(&task), "what is ready is shown");
        assert_eq!(tool.whoami(), is("claude-a", "CLAUDE_CODE_SESSION_ID"));
        assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
        assert!(tool.start("a", "compact").contains("and hold it"));
        tool.hook("SessionEnd", "a", &json!({ "reason": "clear" }));
        let told = tool.start("b", "clear");
        assert!(told.contains("and hold it") && told.contains(&task) && told.contains("go on with this"), "{told}");
        for variables in
            ["CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=b", "CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=a", "CLAUDECODE=1"]
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
        let mut one = claude(&home, "a");
        let mut two = claude(&home, "a");
        assert!(!one.start("a", "startup").contains("another process"));
        let told = two.start("a", "resume");
        assert!(told.contains("also runs in another process as claude-a") && told.contains("claude-a.2"), "{told}");
        assert_eq!((one.whoami().0, two.whoami()), (Some("claude-a".into()), is("claude-a.2", "hook")));
        assert_eq!(one.run(&format!("claim {first}"))["ok"], true);
        assert_eq!(two.run(&format!("claim {first}"))["error"]["kind"], "conflict");
        assert_eq!(two.run(&format!("claim {second}"))["ok"], true);
        // A process that dies loses nothing, and the session continues under its name in a third terminal.
        one.kill();
        let mut three = claude(&home, "a");
        assert!(three.start("a", "resume").contains(&first));
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
        let mut tool = claude(&home, "a");
        tool.start("a", "startup");
        assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
        assert_eq!(home.refused_as("b", &["claim", &task]).kind, "conflict", "it lives");
        let states = |args: &[&str]| {
            let listed = home.ok_as("b", args);
            let first = listed.get("items").map_or(&listed["task"], |items| &items[0]).clone();
            (text(&first["state"]), first["lapsed_from"].as_str().map(str::to_owned))
        };
        assert_eq!(states(&["list"]), ("held".to_owned(), None));
        tool.hook("PostToolUse", "a", &json!({ "tool_name": "Bash", "tool_input": { "command": "tenure claim" } }));
        tool.kill();
        // All queries show it before any agent takes it.
        for args in [&["list"][..], &["next"], &["resume", "--peek"]] {
            assert_eq!(states(args), ("ready".to_owned(), Some("claude-a".to_owned())), "{args:?}");
        }
        assert_eq!(home.ok_as("b", &["show", &task])["lapsed_from"], "claude-a");
        assert_eq!(home.ok_as("b", &["holds"])["total"], 0);
        let status = home.ok_as("b", &["status"]);
        assert_eq!((&status["ready"], &status["started"], &status["held"]), (&json!(1), &json!(0), &json!(0)));
        assert_eq!(home.ok_as("b", &["agent", "list"])["items"][0]["liveness"], "gone");
        assert!(claude(&home, "B").start("B", "startup").contains(&task), "a session that begins is told");
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
    let mut tool = claude(&home, "a");
    tool.start("a", "startup");
    assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
    assert_eq!(tool.hook("SessionEnd", "a", &json!({ "reason": "logout" })), "");
    assert_eq!(home.ok_as("b", &["claim", &task])["task"]["attempt"], 2);
    // It returns and is told in one sentence, once.
    assert!(!tool.start("a", "resume").contains("and hold it"));
    let told = tool.hook("UserPromptSubmit", "a", &json!({ "prompt": "go on" }));
    let told: Value = serde_json::from_str(&told).unwrap();
    let told = text(&told["hookSpecificOutput"]["additionalContext"]);
    assert!(told.contains(&task) && told.contains("b took it") && told.chars().count() <= 300, "{told}");
    assert_eq!(tool.hook("UserPromptSubmit", "a", &json!({ "prompt": "go on" })), "");
    home.replayed();
}

#[test]
fn inv_i1_a_sub_agent_is_a_label_and_never_a_holder() {
    let home = Home::new(Engine::File);
    home.add("held");
    let mut tool = claude(&home, "a");
    tool.start("a", "startup");
    let before = home.ok(&["agent", "list"])["items"].as_array().unwrap().len();
    assert_eq!(tool.hook("SessionStart", "a", &json!({ "source": "startup", "agent_id": "sub" })), "");
    let failed = json!({
        "agent_id": "sub", "tool_name": "Bash", "tool_input": { "command": "cargo test SECRET" }, "error": "Exit code 101",
    });
    assert_eq!(tool.hook("PostToolUseFailure", "a", &failed), "");
    tool.hook("SessionEnd", "a", &json!({ "reason": "other", "agent_id": "sub" }));
    let agents = home.ok(&["agent", "list"])["items"].as_array().unwrap().clone();
    assert_eq!(agents.len(), before);
    let mut event = home.events().pop().unwrap();
    assert_eq!((event.kind.as_str(), event.actor.as_str()), ("tool.failed", "claude-a"));
    // The principal behind it, through a server.
    let principal = event.data.as_object_mut().unwrap().remove("principal");
    assert_eq!(principal.is_some(), home.is_far());
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
    tool.start("g1", "startup");
    assert_eq!(tool.whoami(), is("gemini-g1", "hook"));
    assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
    // Another process of the same tool is a different session.
    let mut other = Tool::new(&home, "gemini", "GEMINI_CLI=1");
    assert_eq!(other.whoami().0, None);
    // A person in a terminal below the tool stays a person.
    tool.now("");
    assert_eq!(tool.whoami(), is("person:ann", if home.is_far() { "token" } else { "user" }));
    // A given name takes precedence.
    tool.now("GEMINI_CLI=1 TENURE_AGENT=named");
    assert_eq!(tool.whoami(), is("named", "TENURE_AGENT"));
}

#[test]
fn inv_i1_a_session_is_registered_by_whatever_hook_comes_first() {
    let home = Home::new(Engine::File);
    home.add("something");
    let mut one = claude(&home, "a");
    let mut two = claude(&home, "a");
    let edit =
        json!({ "tool_name": "Edit", "tool_input": { "file_path": home.repo().join("a.rs") }, "tool_response": {} });
    assert_eq!(one.hook("PostToolUse", "a", &edit), "");
    assert_eq!(two.hook("PostToolUse", "a", &edit), "");
    assert_eq!((one.whoami().0, two.whoami().0), (Some("claude-a".into()), Some("claude-a.2".into())));
    // Without an id there is no agent to act for.
    assert_eq!(one.hook("SessionStart", "", &json!({ "source": "startup" })), "");
    assert_eq!(home.ok(&["agent", "list"])["items"].as_array().unwrap().len(), 3);
}

#[test]
fn a_worker_takes_a_task_when_its_session_begins_and_nobody_else_does() {
    let home = Home::new(Engine::File);
    let task = home.add("to be done");
    let mut tool = claude(&home, "a");
    tool.start("a", "startup");
    assert_eq!(home.ok(&["show", &task])["holder"], Value::Null);
    tool.line("export TENURE_WORKER=1");
    let told = tool.start("a", "resume");
    assert!(told.contains("and hold it") && told.contains(&task), "{told}");
    assert_eq!(text(&home.ok(&["show", &task])["holder"]["agent"]), "claude-a");
}

#[test]
fn inv_i4_however_a_hook_is_run_a_live_session_keeps_its_task() {
    let home = Home::new(Engine::File);
    let dir = home.path("my tools");
    std::fs::create_dir(&dir).unwrap();
    std::os::unix::fs::symlink(TENURE, dir.join("tenure")).unwrap();
    let blank = dir.join("tenure").display().to_string();
    let script = home.path("hook.sh");
    std::fs::write(&script, format!("'{TENURE}' hook claude \"$1\"\nexit 0\n")).unwrap();
    let captured = home.path("captured.sh");
    std::fs::write(&captured, format!("event=$(cat)\nprintf %s \"$event\" | '{TENURE}' hook claude \"$1\"\nexit 0\n"))
        .unwrap();
    let (script, captured) = (script.display().to_string(), captured.display().to_string());
    for (n, line) in [
        format!("sh -c \"[ -x '{blank}' ] && '{blank}' hook claude EVENT || exit 0\""),
        format!("sh -c 'cd . && {TENURE} hook claude EVENT || exit 0'"),
        format!("sh -c 'cat | {TENURE} hook claude EVENT'"),
        format!("sh -c '({TENURE} hook claude EVENT) || exit 0'"),
        format!("sh '{script}' EVENT"),
        format!("sh '{captured}' EVENT"),
        format!("timeout 60 sh '{captured}' EVENT"),
    ]
    .into_iter()
    .enumerate()
    {
        let task = home.add("held");
        let (id, event) = (format!("s{n}"), home.path("event.json"));
        let mut tool = claude(&home, &id);
        let payload = json!({ "session_id": id, "cwd": home.repo(), "source": "startup", "tool_name": "Bash" });
        std::fs::write(&event, payload.to_string()).unwrap();
        let send = |tool: &mut Tool<'_>, name: &str| {
            let line = line.replace("EVENT", name);
            assert_eq!(tool.line(&format!("{line} < '{}'", event.display())).0, 0, "{line}");
        };
        send(&mut tool, "SessionStart");
        assert_eq!(tool.run(&format!("claim {task}"))["ok"], true, "{line}");
        for name in ["PreToolUse", "PostToolUse"] {
            send(&mut tool, name);
            assert_eq!(home.refused_as("thief", &["claim", &task]).kind, "conflict", "{line}");
        }
        assert_eq!(tool.whoami().0, Some(format!("claude-s{n}")), "{line}");
    }
    home.replayed();
}

#[test]
fn inv_i1_a_session_that_is_several_agents_may_ask_but_not_act_where_nothing_tells_them_apart() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("held");
        let (mut one, mut two) = (claude(&home, "a"), claude(&home, "a"));
        one.start("a", "startup");
        two.start("a", "resume");
        assert_eq!(one.run(&format!("claim {task}"))["ok"], true);
        // Neither process is an ancestor of this one.
        let mut none = claude(&home, "a");
        assert_eq!(none.whoami(), (None, "claude, with a session that several agents use".into()));
        for op in ["done", "release", "claim"] {
            assert_eq!(none.run(op)["error"]["code"], "identity_missing", "{op}");
        }
        assert_eq!(none.run("list")["ok"], true);
        // The second session ends and its process lives on: it is still not the first.
        two.hook("SessionEnd", "a", &json!({ "reason": "other" }));
        assert_eq!(two.whoami().0.as_deref(), Some("claude-a.2"));
        assert_eq!(two.run("release")["ok"], false);
        assert_eq!(text(&home.ok(&["show", &task])["holder"]["agent"]), "claude-a");
    }
}

#[test]
fn inv_i1_a_sub_session_never_holds() {
    let home = Home::new(Engine::File);
    home.add("ready");
    let mut tool = Tool::new(&home, "opencode", "OPENCODE=1");
    assert!(!tool.hook("session.created", "ses_p", &json!({})).is_empty());
    let sub = json!({ "parent_session_id": "ses_p" });
    for event in ["session.created", "chat.message", "tool.execute.after", "session.deleted"] {
        assert_eq!(tool.hook(event, "ses_c", &sub), "", "{event}");
    }
    let agents = home.ok(&["agent", "list"])["items"].clone();
    let names: Vec<String> = agents.as_array().unwrap().iter().map(|agent| text(&agent["name"])).collect();
    assert!(
        names.contains(&"opencode-ses_p".to_owned()) && names.iter().all(|name| !name.contains("ses_c")),
        "{names:?}"
    );
    assert_eq!(tool.whoami().0.as_deref(), Some("opencode-ses_p"), "the parent goes on");
}
