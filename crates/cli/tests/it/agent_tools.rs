//! Behaviour of the agent tools as observed on 2026-11-16: Claude Code 2.1.325, Codex CLI 0.166.0, Gemini CLI 0.61.0
//! and OpenCode 1.18.33.

use serde_json::{Value, json};

use crate::home::{Engine, Home, text};
use crate::mcp_client::Client;
use crate::session::Tool;

fn context(printed: &str) -> String {
    let document: Value = serde_json::from_str(printed).unwrap_or_else(|error| panic!("{error}: {printed:?}"));
    text(&document["hookSpecificOutput"]["additionalContext"])
}

// One OpenCode process has many sessions (`/new`, `serve`) and one MCP server; its plugin names the session of a call.
#[test]
fn inv_i1_two_sessions_of_one_opencode_are_two_agents_through_every_door() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let (first, second) = (home.add("first"), home.add("second"));
        let mut tool = Tool::new(&home, "opencode", "OPENCODE=1");
        let mut mcp = Client::new(&home, "opencode");
        let session = |id: &str, mut arguments: Value| {
            arguments["tenure/session"] = json!({ "tool": "opencode", "id": id });
            arguments
        };
        for id in ["ses_A", "ses_b"] {
            tool.hook("session.created", id, &json!({}));
        }
        assert_eq!(mcp.call("resume", session("ses_A", json!({})))["focus"], json!(first));
        assert_eq!(mcp.call("resume", session("ses_b", json!({})))["focus"], json!(second));
        mcp.call("reserve", session("ses_b", json!({ "paths": ["src/c.rs"] })));
        let holder = |task: &str| text(&home.ok(&["show", task])["holder"]["agent"]);
        assert_eq!((holder(&first), holder(&second)), ("opencode-ses_a".to_owned(), "opencode-ses_b".to_owned()));
        // Its own edit is allowed, that of the other session is refused, and its shell is the same agent.
        let edit = json!({ "tool_name": "edit", "tool_input": { "filePath": "src/c.rs" } });
        assert_eq!(tool.hook("tool.execute.before", "ses_b", &edit), "");
        assert!(tool.hook("tool.execute.before", "ses_A", &edit).contains("held by opencode-ses_b"));
        tool.now("OPENCODE=1 OPENCODE_SESSION_ID=ses_b");
        assert_eq!(tool.whoami().0.as_deref(), Some("opencode-ses_b"));
        assert_eq!(tool.run("done")["ok"], true);
        assert_eq!(text(&home.ok(&["show", &second])["state"]), "done");
        assert_eq!(mcp.refused("note", session("ses_b", json!({ "text": "x" })))["code"], "no_focus");
        let unknown = json!({ "text": "x", "tenure/session": { "tool": "nothing", "id": "s" } });
        assert_eq!(mcp.refused("note", unknown)["code"], "bad_arguments");
    }
}

// `claude -p`, then `claude --resume`: the conversation continues, and its holds ended with the first process. An
// unchanged text is not shown to the model again.
#[test]
fn a_session_that_comes_back_is_told_what_ended_with_its_last_process() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("held");
        let run = |source: &str, commands: &[&str]| {
            let mut tool = Tool::new(&home, "claude", "CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=a");
            let told = tool.start("a", source);
            commands.iter().for_each(|command| assert_eq!(tool.run(command)["ok"], true, "{command}"));
            assert_eq!(tool.hook("SessionEnd", "a", &json!({ "reason": "other" })), "");
            told
        };
        let first = run("startup", &[&format!("claim {task}"), "reserve src/a.rs src/b.rs", "release src/b.rs"]);
        assert!(!first.contains("your holds ended"), "{first}");
        let second = run("resume", &[]);
        assert!(second.contains("your holds ended with the last process of this session, at "), "{second}");
        assert!(second.contains(&format!("You no longer hold {task}: `tenure resume`")), "{second}");
        assert!(second.contains("Released: “src/a.rs”.") && !second.contains("b.rs"), "{second}");
        let third = run("resume", &["resume"]);
        assert!(!third.contains("your holds ended"), "it held nothing since: {third}");
        // A takeover by another agent is reported as usual.
        home.ok_as("b", &["claim", &task]);
        let fourth = run("resume", &[]);
        assert!(fourth.contains("b took it over") && !fourth.contains("You no longer hold"), "{fourth}");
        home.replayed();
    }
}

// Gemini CLI does not pass the output of SessionStart to the model after `/clear`.
#[test]
fn a_session_of_gemini_that_was_cleared_is_told_with_its_next_prompt() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("go on with this");
        let mut tool = Tool::new(&home, "gemini", "GEMINI_CLI=1");
        let prompt = |tool: &mut Tool<'_>, id: &str| tool.hook("BeforeAgent", id, &json!({ "prompt": "go on" }));
        let clear = |tool: &mut Tool<'_>, old: &str, new: &str| {
            tool.hook("SessionEnd", old, &json!({ "reason": "clear" }));
            tool.start(new, "clear");
        };
        tool.start("G1", "startup");
        assert_eq!(prompt(&mut tool, "G1"), "");
        clear(&mut tool, "G1", "G2");
        let told = context(&prompt(&mut tool, "G2"));
        assert!(told.contains(&task) && told.contains("You hold no task"), "{told}");
        assert_eq!(prompt(&mut tool, "G2"), "", "once");
        assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
        clear(&mut tool, "G2", "G3");
        let told = context(&prompt(&mut tool, "G3"));
        assert!(told.contains(&task) && told.contains("and hold it"), "{told}");
        assert_eq!(prompt(&mut tool, "G3"), "", "once");
    }
}

// Codex sends no event when a thread is left for a new one (`/new`).
#[test]
fn inv_l3_a_new_thread_of_codex_frees_what_the_one_before_it_held() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("held");
        let began = |tool: &mut Tool<'_>| {
            tool.start("t1", "startup");
            tool.now("CODEX_THREAD_ID=t1");
            assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
            assert_eq!(tool.run("reserve src/a.rs")["ok"], true);
        };
        // A process that serves other programs has many threads at once.
        let mut server = Tool::started_as(&home, "codex", "", &["app-server"]);
        began(&mut server);
        server.start("t2", "startup");
        assert_eq!(text(&home.ok(&["show", &task])["holder"]["agent"]), "codex-t1");
        server.kill();

        let mut terminal = Tool::new(&home, "codex", "");
        began(&mut terminal);
        // A sub-agent is not a new thread, and neither is the same thread after a compaction.
        terminal.hook("SessionStart", "t1", &json!({ "source": "startup", "agent_id": "sub" }));
        terminal.start("t1", "compact");
        assert_eq!(text(&home.ok(&["show", &task])["holder"]["agent"]), "codex-t1");
        terminal.start("t2", "startup");
        assert_eq!(text(&home.ok(&["show", &task])["state"]), "ready");
        assert_eq!(home.ok(&["holds"])["items"], json!([]));
        home.replayed();
    }
}

#[test]
fn inv_i4_a_death_that_was_proven_outside_is_known_where_nothing_can_be_looked_at() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("held");
        let mut dead = Tool::new(&home, "claude", "CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=a");
        dead.start("a", "startup");
        assert_eq!(dead.run(&format!("claim {task}"))["ok"], true);
        assert_eq!(dead.run("reserve src/a.rs")["ok"], true);
        dead.hook("PostToolUse", "a", &json!({ "tool_name": "Bash", "tool_input": { "command": "ls" } }));
        dead.kill();
        let before = home.events().len();
        let mut other = Tool::new(&home, "codex", "CODEX_THREAD_ID=t1");
        let told = other.start("t1", "startup");
        assert!(!told.contains("claude-a holds"), "{told}");
        // It is in the log, so that a reader in a sandbox need not check any process.
        let ended: Vec<String> = home.events().into_iter().skip(before).map(|event| event.kind).collect();
        assert_eq!(ended.iter().filter(|kind| *kind == "hold.expired").count(), 2, "{ended:?}");
        home.replayed();
    }
}

#[test]
fn a_brief_names_the_holds_that_holds_shows() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("mine");
        let mut dead = Tool::new(&home, "claude", "CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=a");
        dead.start("a", "startup");
        assert_eq!(dead.run("reserve src/a.rs")["ok"], true);
        dead.hook("PostToolUse", "a", &json!({ "tool_name": "Bash", "tool_input": { "command": "ls" } }));
        let near = || text(&home.ok_as("b", &["resume", "--peek"])["brief"]["text"]);
        assert!(near().contains("claude-a holds"), "it lives: {}", near());
        dead.kill();
        assert_eq!(home.ok(&["holds"])["items"], json!([]));
        assert!(!near().contains("claude-a holds"), "{}", near());
        let taken = text(&home.ok_as("b", &["resume"])["brief"]["text"]);
        assert!(!taken.contains("claude-a holds"), "{taken}");
    }
}
