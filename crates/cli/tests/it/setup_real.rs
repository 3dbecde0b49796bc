//! The installed hooks with the real program: `--check` finds every event working, and shows which have fired.

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::home::{Call, Engine, Home, TENURE, text};
use crate::setup::setup;

const TOOLS: [&str; 5] = ["claude", "codex", "gemini", "cursor", "opencode"];
/// The events of all tools.
const EVENTS: usize = 7 + 6 + 6 + 6 + 6;

/// A PATH that starts with a directory containing the program.
fn on_path(home: &Home) -> String {
    std::fs::create_dir_all(home.path("bin")).unwrap();
    let _ = symlink(TENURE, home.path("bin/tenure"));
    format!("{}:/usr/bin:/bin", home.path("bin").display())
}

fn install(home: &Home, scope: &str, path: &str) {
    let words: Vec<&str> = TOOLS.iter().copied().chain(["--scope", scope, "--yes"]).collect();
    setup(home, &words).env("PATH", path).json().run().data();
    trust(home, scope);
}

/// As Codex does after a person trusts the hooks.
fn trust(home: &Home, scope: &str) {
    let hooks = home.path(if scope == "user" { "home" } else { "repo" }).join(".codex/hooks.json");
    let config = home.path("home/.codex/config.toml");
    let mut text = std::fs::read_to_string(&config).unwrap_or_default();
    for event in ["session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "pre_compact", "session_end"]
    {
        text += &format!("\n[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"sha256:0\"\n", hooks.display());
    }
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(config, text).unwrap();
}

fn check(home: &Home, path: &str) -> Call {
    setup(home, &["--check"]).env("PATH", path).json()
}

/// The command lines in the files of a scope, with tool and event.
fn installed(home: &Home, scope: &str, program: &str) -> Vec<(&'static str, String, String)> {
    let below = home.path(if scope == "user" { "home" } else { "repo" });
    let mut found = Vec::new();
    for (tool, path) in [
        ("claude", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json"),
        ("cursor", ".cursor/hooks.json"),
    ] {
        let value: Value = serde_json::from_str(&std::fs::read_to_string(below.join(path)).unwrap()).unwrap();
        for (event, groups) in value["hooks"].as_object().unwrap() {
            for group in groups.as_array().unwrap() {
                let flat = group.get("command").map(text);
                let nested = group["hooks"].as_array().into_iter().flatten().map(|hook| text(&hook["command"]));
                found.extend(flat.into_iter().chain(nested).map(|line| (tool, event.clone(), line)));
            }
        }
    }
    for event in [
        "session.created",
        "chat.message",
        "tool.execute.before",
        "tool.execute.after",
        "session.compacting",
        "session.deleted",
    ] {
        found.push(("opencode", event.to_owned(), format!("'{program}' hook opencode {event}")));
    }
    assert_eq!(found.len(), EVENTS);
    found
}

fn fire(home: &Home, path: &str, line: &str, event: &str) {
    let payload = json!({
        "session_id": "S", "conversation_id": "S", "cwd": home.repo(), "workspace_roots": [home.repo()],
        "hook_event_name": event, "source": "startup", "reason": "other", "prompt": "", "trigger": "auto",
        "tool_name": "none", "tool_input": {},
    });
    std::fs::write(home.path("event.json"), payload.to_string()).unwrap();
    let mut sh = Command::new("sh");
    sh.args(["-c", line]).env_clear().current_dir(home.repo());
    sh.envs(home.environment()).env("PATH", path);
    sh.stdin(std::fs::File::open(home.path("event.json")).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = sh.output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{line}");
}

#[test]
fn every_event_that_setup_installs_works() {
    for (scope, by_name) in [("user", true), ("user", false), ("project", true), ("project", false)] {
        let home = Home::new(Engine::File);
        let path = if by_name { on_path(&home) } else { "/usr/bin:/bin".to_owned() };
        install(&home, scope, &path);
        let before = home.events().len();
        let checked = check(&home, &path).run();
        if (scope, by_name) == ("project", false) {
            // Committed hooks find the program by its name alone.
            assert_eq!(checked.code, 1);
            let data = &checked.json.unwrap()["data"];
            let hooks = data["hooks"].as_array().unwrap();
            assert!(hooks.len() == EVENTS && hooks.iter().all(|hook| hook["state"] == "fails"), "{data}");
            continue;
        }
        let data = checked.data();
        assert_eq!(data["healthy"], true, "{scope} {by_name}: {data}");
        let hooks = data["hooks"].as_array().unwrap();
        assert_eq!(hooks.len(), EVENTS);
        for hook in hooks {
            assert_eq!((&hook["state"], &hook["last_fired"]), (&json!("works"), &Value::Null), "{scope}: {hook}");
        }
        assert_eq!(home.events().len(), before, "nothing real was touched");
    }
}

#[test]
fn hooks_that_fired_are_shown_by_check_and_doctor() {
    for (engine, scope) in [(Engine::File, "user"), (Engine::Postgres, "project")] {
        let home = Home::new(engine);
        let path = on_path(&home);
        install(&home, scope, &path);
        let doctor = || {
            let report = home.call(&["doctor"]).env("PATH", &path).json().run().data();
            let checks = report["checks"].as_array().unwrap().clone();
            text(&checks.iter().find(|check| check["name"] == "hooks").unwrap()["text"])
        };
        assert!(doctor().ends_with("none has fired in this project"), "{}", doctor());
        for (_, event, line) in installed(&home, scope, home.path("bin/tenure").to_str().unwrap()) {
            fire(&home, &path, &line, &event);
        }
        let log = home.files("home").into_iter().find(|file| file.ends_with("hook.log"));
        assert_eq!(log.map(|log| std::fs::read_to_string(log).unwrap()), None);
        let data = check(&home, &path).run().data();
        assert_eq!(data["healthy"], true, "{data}");
        for hook in data["hooks"].as_array().unwrap() {
            assert!(hook["last_fired"].is_string() && hook["last_fired_s"].is_i64(), "{hook}");
        }
        assert!(doctor().contains(" fired ") && !doctor().contains("none has"), "{}", doctor());
    }
}

#[test]
fn a_hook_that_was_changed_by_hand_is_found_by_check() {
    let home = Home::new(Engine::File);
    let path = on_path(&home);
    install(&home, "project", &path);
    // A command line that sends unreadable input: the exit code is 0 and the output is empty, as required.
    let settings = home.path("repo/.claude/settings.json");
    let file = std::fs::read_to_string(&settings).unwrap();
    let broken = file.replace("&& tenure hook claude PreCompact", "&& echo x | tenure hook claude PreCompact");
    assert_ne!(broken, file);
    std::fs::write(&settings, broken).unwrap();
    let checked = check(&home, &path).run();
    assert_eq!(checked.code, 1);
    let data = &checked.json.unwrap()["data"];
    let fails: Vec<&Value> = data["hooks"].as_array().unwrap().iter().filter(|hook| hook["state"] != "works").collect();
    assert_eq!(fails.len(), 1, "{data}");
    assert_eq!(text(&fails[0]["state"]), "changed", "what somebody changed by hand is not run: {data}");
}
