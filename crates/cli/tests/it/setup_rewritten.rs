//! `tenure setup` on rewritten files: entries are recognised by their content, and an error with one tool does not
//! affect the others.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::home::{Engine, Home, text};
use crate::setup::{lay, plain, setup};

fn toml_of(path: &Path) -> toml::Table {
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

/// The file after `codex mcp add` of 0.166.0: tables sorted by kind, the comment before a table of servers removed, the
/// one after the last table kept.
fn as_codex_adds(text: &str) -> String {
    let begin = text.find("# tenure setup: begin").expect("a mark");
    let end = text.find("# tenure setup: end").expect("a mark");
    let own = text[begin..end].strip_prefix("# tenure setup: begin\n").unwrap();
    let front = text[..begin].trim_end();
    let (head, tail) = front.split_at(front.find("[projects").unwrap_or(front.len()));
    format!("{head}{own}\n[mcp_servers.foo]\ncommand = \"/bin/true\"\n\n{tail}\n# tenure setup: end\n")
}

#[test]
fn what_codex_rewrote_is_set_up_checked_and_removed() {
    let home = Home::direct(Engine::File);
    lay(&home.path("home"), plain);
    let config = home.path("home/.codex/config.toml");
    let before = toml_of(&config);
    setup(&home, &["--yes"]).json().run().data();
    let rewritten = as_codex_adds(&std::fs::read_to_string(&config).unwrap());
    std::fs::write(&config, &rewritten).unwrap();

    let again = setup(&home, &["--yes"]).run();
    assert_eq!(again.code, 0, "{again:?}");
    let table = toml_of(&config);
    assert_eq!(table["mcp_servers"]["tenure"]["args"][0].as_str(), Some("mcp"));
    assert!(
        !std::fs::read_to_string(&config).unwrap().contains("tenure setup: end"),
        "a mark without its other half goes"
    );

    std::fs::write(&config, &rewritten).unwrap();
    let removed = setup(&home, &["--remove", "--yes"]).run();
    assert_eq!(removed.code, 0, "{removed:?}");
    let mut left = toml_of(&config);
    let foo = left["mcp_servers"].as_table_mut().unwrap().remove("foo");
    assert!(foo.is_some(), "what Codex added stays");
    assert_eq!(left, before);
    assert!(!std::fs::read_to_string(home.path("home/.claude/settings.json")).unwrap().contains("tenure hook"));
}

/// The files of one tool after each kind of rewriting by a serializer: exactly the original content is left.
#[test]
fn files_that_were_serialised_anew_lose_nothing_but_our_entries() {
    let json = |text: &str, pretty: bool| -> Option<String> {
        let value: Value = serde_json::from_str(text).ok()?;
        Some(if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() })
    };
    for pretty in [true, false] {
        for made in [true, false] {
            let home = Home::direct(Engine::File);
            let files: [(&str, &str); 6] = [
                (
                    ".claude/settings.json",
                    "{\"permissions\":{\"allow\":[\"x\"]},\"sandbox\":{\"filesystem\":{\"allowWrite\":[]}}}",
                ),
                (".claude.json", "{\"mcpServers\":{},\"n\":1}"),
                (".gemini/settings.json", "{\"hooks\":{\"BeforeTool\":[]},\"x\":null}"),
                (".cursor/hooks.json", "{\"version\":1,\"hooks\":{\"stop\":[{\"command\":\"mine\"}]}}"),
                (".cursor/mcp.json", "{\"mcpServers\":{\"a\":{\"command\":\"b\"}}}"),
                (".config/opencode/opencode.json", "{\"theme\":\"t\"}"),
            ];
            for (path, content) in files {
                home.write(&format!("home/{path}"), if made { "{}" } else { content });
            }
            let value = |path: &str| -> Option<Value> {
                let text = std::fs::read_to_string(home.path("home").join(path)).ok()?;
                Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}")))
            };
            let before: Vec<Option<Value>> = files.iter().map(|(path, _)| value(path)).collect();
            let tools = ["claude", "gemini", "cursor", "opencode", "codex", "--yes"];
            setup(&home, &tools).json().run().data();
            let rewrite = || {
                for (path, _) in files.iter().chain(&[(".codex/hooks.json", "")]) {
                    let path = home.path("home").join(path);
                    let text = std::fs::read_to_string(&path).unwrap();
                    std::fs::write(&path, json(&text, pretty).unwrap_or_else(|| panic!("{}: {text}", path.display())))
                        .unwrap();
                }
                let config = home.path("home/.codex/config.toml");
                let table = toml_of(&config);
                std::fs::write(
                    &config,
                    if pretty { toml::to_string_pretty(&table) } else { toml::to_string(&table) }.unwrap(),
                )
                .unwrap();
            };
            rewrite();
            let again = setup(&home, &tools).json().run().data();
            for file in again["files"].as_array().unwrap() {
                assert_eq!(file["action"], "as it is", "{pretty} {made}: {again}");
            }
            setup(&home, &["--remove", "--yes"]).json().run().data();
            for ((path, _), before) in files.iter().zip(&before) {
                assert_eq!(&value(path), before, "{path} {pretty} {made}");
            }
            for made in [".codex/hooks.json", ".codex/config.toml", ".codex"] {
                assert!(!home.path("home").join(made).exists(), "{made}: setup made it");
            }
        }
    }
}

#[test]
fn trouble_with_one_tool_stays_with_that_tool() {
    let home = Home::direct(Engine::File);
    lay(&home.path("home"), plain);
    let gemini = home.path("home/.gemini/settings.json");
    let sound = std::fs::read(&gemini).unwrap();
    std::fs::write(&gemini, "{\n  \"a\": 1\n  \"b\": 2\n}").unwrap();
    let read = |path: &str| std::fs::read_to_string(home.path("home").join(path)).unwrap();

    let done = setup(&home, &["--yes"]).run();
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stdout.contains("gemini") && done.stdout.contains("line 3"), "{done:?}");
    for (path, mark) in [(".claude/settings.json", "hook claude"), (".cursor/hooks.json", "hook cursor")] {
        assert!(read(path).contains(mark), "{path}");
    }
    let json = setup(&home, &["--yes"]).json().run();
    assert_eq!(json.code, 1, "{json:?}");
    let data = &json.json.unwrap()["data"];
    assert_eq!(
        (&data["failed"][0]["tool"], &data["failed"][0]["code"]),
        (&"gemini".into(), &"tool_config_invalid".into())
    );
    assert_eq!(data["failed"].as_array().unwrap().len(), 1, "{data}");

    let checked = setup(&home, &["--check"]).json().run();
    assert_eq!(checked.code, 1, "{checked:?}");
    let data = &checked.json.unwrap()["data"];
    let of = |tool: &str| data["hooks"].as_array().unwrap().iter().filter(|hook| hook["tool"] == tool).count();
    assert_eq!((of("claude"), of("gemini"), data["healthy"].as_bool()), (7, 0, Some(false)), "{data}");
    assert!(data["findings"].as_array().unwrap().iter().any(|finding| finding["tool"] == "gemini"), "{data}");

    let doctor = home.call(&["doctor"]).json().run();
    let report = &doctor.json.unwrap()["data"];
    let said = report.to_string();
    assert!(said.contains(".gemini/settings.json") && said.contains("claude (7)"), "{report}");

    // A file that cannot be written does not stop the other tools either.
    let removed = setup(&home, &["--remove", "--yes"]).run();
    assert_eq!(removed.code, 1, "{removed:?}");
    assert!(
        !read(".claude/settings.json").contains("tenure hook") && !read(".cursor/hooks.json").contains("tenure hook")
    );
    std::fs::write(&gemini, sound).unwrap();
    assert_eq!(setup(&home, &["--remove", "--yes"]).run().code, 0);
    // For a single tool, the refusal itself is returned.
    std::fs::write(&gemini, "[]").unwrap();
    setup(&home, &["gemini", "--yes"]).json().run().refusal().is("usage", "tool_config_invalid");
}

/// The git hooks in its configuration, after git and other programs wrote the file.
#[test]
fn one_broken_hook_of_git_stays_with_git() {
    let home = Home::direct(Engine::File);
    lay(&home.path("home"), plain);
    let hook = home.repo().join(".git/hooks/pre-commit");
    crate::commits::script(&hook, "#!/bin/sh\n# tenure setup: begin\nexit 0\n");
    let done = setup(&home, &["--yes"]).json().run();
    assert_eq!(done.code, 1);
    let data = &done.json.unwrap()["data"];
    assert_eq!(text(&data["failed"][0]["tool"]), "git", "{data}");
    assert!(home.path("home/.claude/settings.json").exists());
    let is_git = |path: &PathBuf| path.starts_with(home.repo().join(".git/hooks")) && path.extension().is_none();
    assert_eq!(
        home.files("repo").iter().filter(|path| path.is_file()).filter(|path| is_git(path)).count(),
        1,
        "all or none of a tool"
    );
}

/// Codex reads hooks from `config.toml` too: a line of setup copied there would run twice.
#[test]
fn a_hook_that_was_copied_into_the_configuration_of_codex_is_taken_out() {
    let home = Home::direct(Engine::File);
    let config = home.path("home/.codex/config.toml");
    setup(&home, &["codex", "--yes"]).json().run().data();
    let installed = std::fs::read_to_string(&config).unwrap();
    let hooks: Value =
        serde_json::from_str(&std::fs::read_to_string(home.path("home/.codex/hooks.json")).unwrap()).unwrap();
    let line = text(&hooks["hooks"]["PreToolUse"][0]["hooks"][0]["command"]);
    let copied = format!(
        "{installed}\n[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = {}\n[[hooks.PreToolUse.hooks]]\ncommand = \"mine\"\n",
        serde_json::json!(line)
    );
    std::fs::write(&config, &copied).unwrap();
    let checked = setup(&home, &["codex", "--check"]).run();
    assert!(checked.code == 1 && checked.stdout.contains("more than once"), "{checked:?}");
    setup(&home, &["codex", "--yes"]).json().run().data();
    let left = std::fs::read_to_string(&config).unwrap();
    assert!(!left.contains("hook codex") && left.contains("\"mine\"") && left.starts_with(&installed), "{left}");
    std::fs::write(&config, &copied).unwrap();
    setup(&home, &["--remove", "--yes"]).json().run().data();
    let left = toml_of(&config);
    assert_eq!(left["hooks"]["PreToolUse"][0]["hooks"].as_array().unwrap().len(), 1, "{left}");
    assert!(!left.contains_key("mcp_servers"), "{left}");
}
