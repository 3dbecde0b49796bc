//! A session of an agent tool is killed in the middle of its work, and another continues at once, all through hooks.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::json;

use crate::home::{Engine, Home, TENURE, text};
use crate::session::Tool;

/// A tool as a script: a process that runs hooks and commands, prints `ready`, and waits.
fn tool(home: &Home, edits: &[&str]) -> Child {
    let event = |name: &str, payload: serde_json::Value| {
        let file = home.path(name);
        std::fs::write(&file, payload.to_string()).unwrap();
        file.display().to_string()
    };
    let start = event("start.json", json!({ "session_id": "A", "cwd": home.repo(), "source": "startup" }));
    let mut script = format!(
        "set -e\nexport CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=A\n\
         sh -c '{TENURE} hook claude SessionStart' < '{start}' > /dev/null\n{TENURE} resume > /dev/null\n"
    );
    for (n, path) in edits.iter().enumerate() {
        let payload = json!({
            "session_id": "A", "cwd": home.repo(), "tool_name": "Edit", "tool_response": {},
            "tool_input": { "file_path": home.repo().join(path) },
        });
        let file = event(&format!("edit-{n}.json"), payload);
        script += &format!("echo half > '{path}'\nsh -c '{TENURE} hook claude PostToolUse' < '{file}'\n");
    }
    script += &format!("{TENURE} note 'lexer done, parser half' > /dev/null\necho ready\nread -r end\n");
    std::fs::write(home.path("tool.sh"), script).unwrap();
    let mut sh = home.clean("sh".as_ref());
    sh.arg(home.path("tool.sh")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = sh.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "ready\n");
    child
}

#[test]
fn inv_i4_a_killed_session_is_taken_over_at_once_and_told_when_it_comes_back() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = text(&home.ok(&["add", "port the parser", "--acceptance", "all tests pass"])["id"]);
        let mut first = tool(&home, &["lexer.rs", "name with blanks.rs"]);
        assert_eq!(text(&home.ok(&["show", &task])["holder"]["agent"]), "claude-a");
        let mut second = Tool::new(&home, "claude", "CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=B");
        second.start("B", "startup");
        assert_eq!(second.run("resume")["data"]["rule"], "none", "the first lives, and nothing else is there");
        first.kill().unwrap();
        first.wait().unwrap();

        // No waiting: the process is proven dead.
        let resumed = second.run("resume")["data"].take();
        assert_eq!(
            (text(&resumed["focus"]), resumed["task"]["attempt"].as_i64()),
            (task.clone(), Some(2)),
            "{resumed}"
        );
        let brief = text(&resumed["brief"]["text"]);
        for expected in [
            "> all tests pass",
            "Taken 2 times so far: the hold of claude-a on",
            "> lexer done, parser half",
            "Files changed for it so far: “name with blanks.rs”, “lexer.rs”",
        ] {
            assert!(brief.contains(expected), "{expected:?} in {brief}");
        }
        let expired = home.events().into_iter().find(|event| event.kind == "hold.expired").unwrap();
        assert_eq!((&expired.data["proven_dead"], expired.actor.as_str()), (&json!(true), "claude-b"));

        // The first session returns: the same id in a new process, the same agent, and one sentence.
        let mut back = Tool::new(&home, "claude", "CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=A");
        let told = back.start("A", "resume");
        assert!(told.contains(&task) && told.contains("claude-b took it over") && !told.contains('\n'), "{told}");
        assert_eq!(back.whoami().0.as_deref(), Some("claude-a"));
        assert_eq!(back.run(&format!("done {task}"))["error"]["kind"], "stale");
        assert_eq!(second.run("done")["ok"], true);
        home.replayed();
    }
}

#[test]
fn inv_i1_a_session_that_starts_anew_where_another_ended_is_another_agent() {
    let home = Home::new(Engine::File);
    let task = home.add("held");
    let mut tool = Tool::new(&home, "claude", "CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=A");
    tool.start("A", "startup");
    assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
    tool.hook("SessionEnd", "A", &json!({ "reason": "logout" }));
    assert!(!tool.start("B", "startup").contains("and hold it"));
    tool.now("CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=B");
    assert_eq!(tool.whoami().0.as_deref(), Some("claude-b"));
    assert_eq!(tool.run(&format!("claim {task}"))["data"]["task"]["attempt"], 2);
}
