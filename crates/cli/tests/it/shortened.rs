//! After a compaction, a session is shown its task again, once.

use serde_json::{Value, json};

use crate::home::{Engine, Home};
use crate::session::Tool;

/// The context that a document adds, within the size of a short brief.
fn context(printed: &str) -> String {
    let document: Value = serde_json::from_str(printed).unwrap_or_else(|error| panic!("{error}: {printed:?}"));
    let specific = &document["hookSpecificOutput"]["additionalContext"];
    let text = specific.as_str().or(document["context"].as_str()).or(document["additional_context"].as_str());
    let text = text.unwrap().to_owned();
    assert!(text.len() <= 2_048, "{} bytes", text.len());
    text
}

fn at_the_next_prompt(engine: Engine) {
    let home = Home::new(engine);
    let task = home.add("go on with this");
    let mut tool = Tool::new(&home, "gemini", "GEMINI_CLI=1");
    tool.start("G1", "startup");
    assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
    let prompt = |tool: &mut Tool<'_>| tool.hook("BeforeAgent", "G1", &json!({ "prompt": "go on" }));
    let shorten = |tool: &mut Tool<'_>| assert_eq!(tool.hook("PreCompress", "G1", &json!({ "trigger": "auto" })), "");
    assert_eq!(prompt(&mut tool), "");
    shorten(&mut tool);
    let printed = prompt(&mut tool);
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap()["hookSpecificOutput"]["hookEventName"], "BeforeAgent");
    let told = context(&printed);
    assert!(told.contains(&task) && told.contains("go on with this") && told.contains("tenure done"), "{told}");
    assert_eq!(prompt(&mut tool), "", "once");
    // A sub-agent has its own context, and a session that starts anew is shown its task anyway.
    tool.hook("PreCompress", "G1", &json!({ "trigger": "auto", "agent_id": "sub" }));
    assert_eq!(prompt(&mut tool), "");
    shorten(&mut tool);
    assert!(tool.start("G1", "resume").contains("and hold it"));
    assert_eq!(prompt(&mut tool), "");
    // A session without a hold is shown nothing, then or later.
    shorten(&mut tool);
    assert_eq!(tool.run("release")["ok"], true);
    assert_eq!(prompt(&mut tool), "");
    assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
    assert_eq!(prompt(&mut tool), "");
    home.replayed();
}

#[test]
fn a_session_of_gemini_is_shown_its_task_with_the_prompt_after_a_compression() {
    for engine in Engine::ALL {
        at_the_next_prompt(engine);
    }
}

#[test]
fn each_tool_is_shown_its_task_where_it_hears_it() {
    // OpenCode's compaction accepts context; Claude Code and Codex start the session anew.
    for (name, begin, compact, prompt, now) in [
        ("opencode", "session.created", "session.compacting", "chat.message", true),
        ("claude", "SessionStart", "PreCompact", "UserPromptSubmit", false),
        ("codex", "SessionStart", "PreCompact", "UserPromptSubmit", false),
    ] {
        let home = Home::new(Engine::File);
        let task = home.add("go on with this");
        let mut tool = Tool::new(&home, name, &format!("TENURE_AGENT={name}-s"));
        tool.hook(begin, "S", &json!({ "source": "startup" }));
        assert_eq!(tool.hook(compact, "S", &json!({})), "", "{name} holds nothing");
        assert_eq!(tool.run(&format!("claim {task}"))["ok"], true);
        let printed = tool.hook(compact, "S", &json!({ "trigger": "auto" }));
        if now {
            assert!(context(&printed).contains("go on with this"), "{name}: {printed}");
        } else {
            assert_eq!(printed, "", "{name}");
        }
        assert_eq!(tool.hook(prompt, "S", &json!({ "prompt": "go on" })), "", "{name}");
    }
}
