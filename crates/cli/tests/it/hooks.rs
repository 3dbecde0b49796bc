//! Hooks from outside: for any input, the exit code is 0 and the output is empty or a document in the tool's format.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::home::{Engine, Home, Output};

/// Every recorded event: tool, event, payload for a directory.
fn fixtures(cwd: &Path) -> Vec<(String, String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hooks");
    let mut found = Vec::new();
    for tool in ["claude", "codex", "gemini", "cursor", "opencode"] {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(root.join(tool)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(files.len() >= 8, "{tool}");
        for file in files {
            let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
            let event = match tool {
                "opencode" => stem,
                _ => stem.split('.').next().unwrap().to_owned(),
            };
            let text = std::fs::read_to_string(&file).unwrap().replace("$CWD", cwd.to_str().unwrap());
            found.push((tool.to_owned(), event, text));
        }
    }
    found
}

fn send(home: &Home, tool: &str, event: &str, payload: &[u8]) -> Output {
    home.call(&["hook", tool, event]).input(payload).run()
}

/// The field names of an object, in order.
fn fields(value: &Value) -> Vec<&str> {
    value.as_object().map(|fields| fields.keys().map(String::as_str).collect()).unwrap_or_default()
}

/// Checks a document that adds context against the tool's published format, and returns the text.
pub(crate) fn context(tool: &str, event: &str, printed: &str) -> String {
    let document: Value =
        serde_json::from_str(printed).unwrap_or_else(|error| panic!("{tool} {event}: {error}: {printed}"));
    let text = match tool {
        "claude" | "codex" | "gemini" => {
            assert_eq!(fields(&document), ["hookSpecificOutput"]);
            let specific = &document["hookSpecificOutput"];
            let mut named = fields(specific);
            named.sort_unstable();
            assert_eq!(named, ["additionalContext", "hookEventName"]);
            assert_eq!(specific["hookEventName"], event);
            &specific["additionalContext"]
        }
        "cursor" => &document["additional_context"],
        _ => &document["context"],
    };
    let text = text.as_str().unwrap().to_owned();
    assert!(!text.is_empty() && text.len() <= 8 * 1024);
    text
}

/// Checks a document that refuses a tool call, and returns the reason.
pub(crate) fn refusal(tool: &str, event: &str, printed: &str) -> String {
    let document: Value =
        serde_json::from_str(printed).unwrap_or_else(|error| panic!("{tool} {event}: {error}: {printed}"));
    let reason = match tool {
        "claude" | "codex" => {
            assert_eq!(fields(&document), ["hookSpecificOutput"]);
            let specific = &document["hookSpecificOutput"];
            let mut named = fields(specific);
            named.sort_unstable();
            assert_eq!(named, ["hookEventName", "permissionDecision", "permissionDecisionReason"]);
            assert_eq!((&specific["hookEventName"], &specific["permissionDecision"]), (&json!(event), &json!("deny")));
            &specific["permissionDecisionReason"]
        }
        "gemini" => {
            assert_eq!(document["decision"], "deny");
            &document["reason"]
        }
        "cursor" => {
            assert_eq!(document["permission"], "deny");
            &document["agent_message"]
        }
        _ => &document["deny"],
    };
    let reason = reason.as_str().unwrap().to_owned();
    assert!(!reason.trim().is_empty());
    reason
}

pub(crate) fn quiet(tool: &str, event: &str, output: &Output) {
    assert_eq!(output.code, 0, "{tool} {event}: {output:?}");
    assert_eq!(output.stderr, "", "{tool} {event}");
    for word in ["allow", "approve"] {
        assert!(!output.stdout.contains(&format!("\"{word}\"")), "{tool} {event}: {}", output.stdout);
    }
}

#[test]
fn inv_r10_every_recorded_event_ends_in_nothing_or_a_document_of_its_tool() {
    for engine in Engine::ALL {
        let mut home = Home::new(engine);
        let mut task = home.add("ready to be taken");
        let mut at = "claude".to_owned();
        for (tool, event, payload) in fixtures(Path::new("$CWD")) {
            // Two tools that edit the same file would conflict.
            if tool != at {
                home = Home::new(engine);
                task = home.add("ready to be taken");
                at.clone_from(&tool);
            }
            let payload = payload.replace("$CWD", home.repo().to_str().unwrap());
            let output = send(&home, &tool, &event, payload.as_bytes());
            quiet(&tool, &event, &output);
            let starts =
                ["SessionStart", "sessionStart", "session.created", "session.compacted"].contains(&event.as_str());
            if starts {
                let told = context(&tool, &event, &output.stdout);
                assert!(told.contains(&task) && told.contains("tenure resume"), "{told}");
            } else {
                assert_eq!(output.stdout, "", "{tool} {event}");
            }
        }
        assert_eq!(
            home.files("home").iter().filter(|file| file.ends_with("hook.log")).count(),
            0,
            "nothing went wrong"
        );
        home.replayed();
    }
}

#[test]
fn inv_m5_prompts_command_lines_and_output_are_not_stored() {
    let home = Home::new(Engine::File);
    home.add("something");
    for (tool, event, payload) in fixtures(&home.repo()) {
        send(&home, &tool, &event, payload.as_bytes());
    }
    let failed = home.events().into_iter().filter(|event| event.kind == "tool.failed").count();
    assert!(failed >= 4, "failures of several tools were told: {failed}");
    let stored = |marker: &str| {
        let files = home.files("home").into_iter().filter(|path| path.is_file());
        files
            .filter(|path| {
                let bytes = std::fs::read(path).unwrap();
                bytes.windows(marker.len()).any(|part| part == marker.as_bytes())
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(stored("MARKER"), Vec::<PathBuf>::new());
    assert!(!stored("cargo test").is_empty(), "the program is");
    // With `capture`, the start of a failure is kept, without secrets.
    std::fs::write(home.repo().join("tenure.toml"), "capture = \"errors\"\n").unwrap();
    let payload = json!({
        "session_id": "S", "cwd": home.repo(), "tool_name": "Bash", "tool_input": { "command": "deploy now" },
        "error": format!("Exit code 1\nDB_PASSWORD=hunter2 could not log in{}", "x".repeat(5_000)),
    });
    send(&home, "claude", "PostToolUseFailure", payload.to_string().as_bytes());
    let event = home.events().pop().unwrap();
    let output = event.data["output"].as_str().unwrap();
    assert!(output.contains("could not log in") && output.len() <= 400, "{output}");
    assert_eq!(stored("hunter2"), Vec::<PathBuf>::new());
}

#[test]
fn inv_r11_what_cannot_be_read_is_let_through_or_refused_as_configured() {
    let home = Home::new(Engine::File);
    home.add("something");
    let big = json!({
        "session_id": "S", "cwd": home.repo(), "tool_name": "Write",
        "tool_input": { "file_path": home.repo().join("big.rs"), "content": "x".repeat(5 * 1024 * 1024) },
    })
    .to_string();
    let bad: [&[u8]; 7] =
        [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{\"session_id\":5}", &vec![b' '; 17 * 1024 * 1024]];
    for fail in [
        "",
        "[guard]\nfail = \"open\"\n",
        "[guard]\nfail = \"closed\"\n",
        "what is = this\n[guard]\nfail = \"closed\"\n",
    ] {
        std::fs::write(home.repo().join("tenure.toml"), fail).unwrap();
        for (tool, event) in [
            ("claude", "PreToolUse"),
            ("codex", "PreToolUse"),
            ("gemini", "BeforeTool"),
            ("cursor", "preToolUse"),
            ("opencode", "tool.execute.before"),
        ] {
            for payload in bad.iter().take(if tool == "claude" { 7 } else { 3 }) {
                let output = send(&home, tool, event, payload);
                quiet(tool, event, &output);
                if fail.contains("closed") {
                    refusal(tool, event, &output.stdout);
                } else if tool == "claude" {
                    // The session of the edit is unknown, and so is whether it was told before.
                    assert!(context(tool, event, &output.stdout).contains("unchecked"), "{}", output.stdout);
                } else {
                    assert_eq!(output.stdout, "", "{tool}");
                }
            }
        }
        for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "SessionEnd", "PreCompact", "Nonsense", ""] {
            let output = send(&home, "claude", event, b"{");
            quiet("claude", event, &output);
            assert_eq!(output.stdout, "", "{event} is no guard event");
        }
        // Large input is valid; an unreadable configuration is an error.
        if fail.starts_with("what") {
            let output = send(&home, "claude", "PreToolUse", big.as_bytes());
            quiet("claude", "PreToolUse", &output);
            refusal("claude", "PreToolUse", &output.stdout);
        } else {
            let output = send(&home, "claude", "PreToolUse", big.as_bytes());
            quiet("claude", "PreToolUse", &output);
            assert_eq!(output.stdout, "");
            send(&home, "claude", "PostToolUse", big.as_bytes());
        }
    }
    for odd in
        [&["hook"][..], &["hook", "nobody", "Start"], &["hook", "claude"], &["hook", "--nonsense", "claude", "Stop"]]
    {
        let output = home.call(odd).input(b"{}").run();
        quiet("", &odd.join(" "), &output);
        assert_eq!(output.stdout, "");
    }
    // An edit without a session cannot be checked.
    for (fail, refused) in [("open", false), ("closed", true)] {
        std::fs::write(home.repo().join("tenure.toml"), format!("guard.fail = \"{fail}\"\n")).unwrap();
        let nobody = json!({ "cwd": home.repo(), "tool_name": "Write" }).to_string();
        let output = send(&home, "claude", "PreToolUse", nobody.as_bytes());
        quiet("claude", "PreToolUse", &output);
        assert_eq!(output.stdout.contains("deny"), refused, "{fail}");
    }
    let wrong = json!({ "session_id": "MARKER\n", "cwd": home.repo() }).to_string();
    send(&home, "claude", "SessionStart", wrong.as_bytes());
    let log = std::fs::read_to_string(home.path("home/.local/state/tenure/hook.log")).unwrap();
    assert!(log.contains("bad_session") && !log.contains("MARKER"), "{log}");
    assert!(log.contains("bad_event") && log.contains("input_too_long") && log.contains("config_invalid"), "{log}");
}

#[test]
fn inv_r11_a_store_that_cannot_be_reached_is_a_failure_like_any_other() {
    let home = Home::direct(Engine::File);
    home.add("something");
    let start = json!({ "session_id": "S", "cwd": home.repo(), "source": "startup", "tool_name": "Write" }).to_string();
    let breakages: [(&str, &dyn Fn()); 2] = [
        ("corrupt", &|| std::fs::write(home.whole_database(), vec![b'x'; 8192]).unwrap()),
        ("gone", &|| std::fs::remove_file(home.database()).unwrap()),
    ];
    for (name, break_it) in breakages {
        break_it();
        for fail in ["open", "closed"] {
            std::fs::write(home.repo().join("tenure.toml"), format!("[guard]\nfail = \"{fail}\"\n")).unwrap();
            for event in ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SessionEnd"] {
                let output = send(&home, "claude", event, start.as_bytes());
                quiet("claude", event, &output);
                if event == "PreToolUse" && fail == "closed" {
                    refusal("claude", event, &output.stdout);
                } else if (name, event) == ("corrupt", "PreToolUse") {
                    assert!(context("claude", event, &output.stdout).contains("unchecked"), "{}", output.stdout);
                    let again = send(&home, "claude", event, start.as_bytes());
                    assert_eq!(again.stdout, "", "once a session");
                } else {
                    assert_eq!(output.stdout, "", "{name} {event}");
                }
            }
        }
    }
    assert!(!home.database().exists(), "no hook makes a store");
}

#[test]
fn inv_r11_a_session_hears_once_that_its_edits_go_on_unchecked() {
    for (tool, guard, prompt) in [
        ("claude", "PreToolUse", "UserPromptSubmit"),
        ("codex", "PreToolUse", "UserPromptSubmit"),
        ("gemini", "BeforeTool", "BeforeAgent"),
        ("cursor", "preToolUse", "beforeSubmitPrompt"),
        ("opencode", "tool.execute.before", "chat.message"),
    ] {
        let home = Home::direct(Engine::File);
        home.add("something");
        let whole = std::fs::read(home.whole_database()).unwrap();
        let payload = |session: &str| {
            let mut payload = crate::guards::edit(tool, session, &home.repo(), "a.rs");
            payload["prompt"] = json!("SECRET");
            payload.to_string()
        };
        let says = |event: &str, session: &str| {
            let output = send(&home, tool, event, payload(session).as_bytes());
            quiet(tool, event, &output);
            if output.stdout.is_empty() { None } else { Some(context(tool, event, &output.stdout)) }
        };
        std::fs::write(home.database(), vec![b'x'; 8192]).unwrap();
        // Before an unchecked edit there is no notice. After one, there is exactly one notice: with the edit or with
        // the prompt.
        assert_eq!(says(prompt, "S"), None, "{tool}");
        let told: Vec<String> =
            [guard, guard, prompt, prompt, guard].iter().filter_map(|event| says(event, "S")).collect();
        assert_eq!(told.len(), 1, "{tool}: {told:?}");
        assert!(told[0].contains("unchecked") && told[0].contains("tenure doctor"), "{}", told[0]);
        // Another session gets its own notice, even if the store works again by then.
        says(guard, "T");
        std::fs::write(home.database(), whole).unwrap();
        assert_eq!(says(prompt, "T").is_some(), tool != "claude", "{tool}");
        assert_eq!((says(prompt, "T"), says(guard, "T"), says(prompt, "S")), (None, None, None), "{tool}");
    }
}

#[test]
fn inv_i1_a_hook_is_never_a_person() {
    let home = Home::new(Engine::File);
    home.add("something");
    let start = json!({ "session_id": "s", "cwd": home.repo(), "source": "startup" }).to_string();
    let call =
        home.call(&["hook", "claude", "SessionStart"]).env("TENURE_AGENT", "person:bob").env("TENURE_WORKER", "1");
    let output = call.input(start.as_bytes()).run();
    quiet("claude", "SessionStart", &output);
    assert_eq!(output.stdout, "");
    assert_eq!(home.ok(&["holds"])["items"], json!([]));
    assert_eq!(home.ok(&["agent", "list"])["items"].as_array().unwrap().len(), 1);
    let log = std::fs::read_to_string(home.path("home/.local/state/tenure/hook.log")).unwrap();
    assert!(log.contains("people_only"), "{log}");
}

#[test]
fn inv_t5_where_nothing_is_switched_on_hooks_write_and_print_nothing() {
    // No store at all.
    let home = Home::new(Engine::File);
    std::fs::create_dir(home.path("plain")).unwrap();
    let before = (home.files("home"), home.files("repo"));
    for cwd in [home.repo(), home.path("plain")] {
        for (tool, event, payload) in fixtures(&cwd) {
            let output = home.call(&["hook", &tool, &event]).cwd(&cwd).input(payload.as_bytes()).run();
            quiet(&tool, &event, &output);
            assert_eq!(output.stdout, "", "{tool} {event}");
        }
    }
    assert_eq!((home.files("home"), home.files("repo")), before);
    // A store used by another project, and a directory without git.
    home.git_init("other");
    home.call(&["add", "x"]).cwd(home.path("other")).run();
    let bytes = || {
        let wal = std::fs::read(home.database().with_extension("db-wal")).unwrap_or_default();
        (std::fs::read(home.database()).unwrap(), wal)
    };
    let before = bytes();
    for cwd in [home.repo(), home.path("plain")] {
        for (tool, event, payload) in fixtures(&cwd) {
            let output = home.call(&["hook", &tool, &event]).cwd(&cwd).input(payload.as_bytes()).run();
            quiet(&tool, &event, &output);
            assert_eq!(output.stdout, "", "{tool} {event}");
        }
    }
    assert!(bytes() == before, "the store is byte for byte what it was");
    assert_eq!(home.files("plain"), Vec::<PathBuf>::new());
}

#[test]
fn inv_l6_twenty_session_starts_over_twenty_ready_tasks_take_nothing() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add_many(20);
        let seen = || (home.ok(&["list", "--limit", "1000"]), home.ok(&["holds"]));
        let before = seen();
        for n in 0..20 {
            let start = json!({ "session_id": format!("S{n}"), "cwd": home.repo(), "source": "startup" });
            let output = send(&home, "claude", "SessionStart", start.to_string().as_bytes());
            let told = context("claude", "SessionStart", &output.stdout);
            assert!(told.contains("20 tasks are ready, first t-") && told.chars().count() <= 600, "{told}");
        }
        assert_eq!(seen(), before);
        assert_eq!(home.ok(&["agent", "list", "--limit", "1000"])["items"].as_array().unwrap().len(), 21);
    }
}

#[test]
fn a_hook_that_has_nothing_new_to_say_writes_nothing() {
    let home = Home::new(Engine::File);
    home.add("something");
    let start = json!({ "session_id": "S", "cwd": home.repo(), "source": "startup" }).to_string();
    send(&home, "claude", "SessionStart", start.as_bytes());
    let edit = json!({
        "session_id": "S", "cwd": home.repo(), "tool_name": "Edit", "tool_response": {},
        "tool_input": { "file_path": home.repo().join("a.rs") },
    })
    .to_string();
    send(&home, "claude", "PostToolUse", edit.as_bytes());
    let bytes = || std::fs::read(home.database()).unwrap();
    let wal = || std::fs::read(home.database().with_extension("db-wal")).unwrap_or_default();
    let before = (bytes(), wal());
    for _ in 0..5 {
        send(&home, "claude", "PostToolUse", edit.as_bytes());
    }
    assert!((bytes(), wal()) == before);
}

/// A hook may use its own modules and those of the workspace, except the one that asks git for changes.
#[test]
fn no_process_is_started_on_the_way_of_a_hook() {
    // From outside: git, which commands ask where something is staged, is not called, whether a task is held or taken.
    let home = Home::new(Engine::File);
    let task = home.add("held");
    std::fs::write(home.path("repo/staged"), "").unwrap();
    home.git("repo", &["add", "staged"]);
    std::fs::create_dir(home.path("bin")).unwrap();
    let git = home.path("bin/git");
    std::fs::write(&git, format!("#!/bin/sh\n: > {}\n", home.path("called").display())).unwrap();
    std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    for (event, worker) in [("SessionStart", ""), ("SessionStart", "1"), ("PreCompact", ""), ("SessionEnd", "")] {
        let payload = json!({ "session_id": "S", "cwd": home.repo(), "source": "startup" }).to_string();
        let call = home.call(&["hook", "claude", event]).env("PATH", &path).env("TENURE_WORKER", worker);
        quiet("claude", event, &call.input(payload.as_bytes()).run());
        assert!(!home.path("called").exists(), "{event} {worker}");
    }
    home.call(&["resume"]).env("PATH", &path).agent("b").run();
    assert!(home.path("called").exists() && home.ok(&["show", &task])["holder"]["agent"] == "b", "a command does");
    // From inside: no code on this path can call it.
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut looked_at = 0;
    for dir in ["hook", "workspace"] {
        for file in std::fs::read_dir(sources.join(dir)).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "rs")
                || path.ends_with("tests.rs")
                || path.ends_with("fixture.rs")
            {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let own = text.split("#[cfg(test)]").next().unwrap();
            for word in ["Command", "fork(", "spawn("] {
                assert!(!own.contains(word), "{word} in {}", path.display());
            }
            // Git inspects the working tree in `git_status`.
            assert!(!(dir == "hook" && own.contains("git_status::")), "{}", path.display());
            looked_at += 1;
        }
    }
    assert!(looked_at >= 20, "{looked_at}");
}

/// The same from outside: programs that leave a trace take the place of the real ones.
#[test]
fn no_program_is_found_to_have_run_after_a_hook() {
    use std::os::unix::fs::PermissionsExt;
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("held by a session");
        home.add("taken by a worker");
        let (bin, trace) = (home.path("bin"), home.path("trace"));
        std::fs::create_dir(&bin).unwrap();
        for program in ["git", "sh", "ps", "hostname", "uname"] {
            let script = format!("#!/bin/sh\necho \"$0 $@\" >> '{}'\n", trace.display());
            std::fs::write(bin.join(program), script).unwrap();
            std::fs::set_permissions(bin.join(program), PermissionsExt::from_mode(0o755)).unwrap();
        }
        home.call(&["resume"]).agent("holder").run();
        for (tool, event, payload) in fixtures(&home.repo()) {
            for vars in [&[][..], &[("TENURE_AGENT", "holder")], &[("TENURE_WORKER", "1")]] {
                let call = home.call(&["hook", &tool, &event]).env("PATH", &bin).input(payload.as_bytes());
                let output = vars.iter().fold(call, |call, (name, value)| call.env(name, value)).run();
                quiet(&tool, &event, &output);
                assert!(!trace.exists(), "{tool} {event}: {:?}", std::fs::read_to_string(&trace));
            }
        }
        // Something is staged: only git can say what differs.
        std::fs::write(home.path("repo/staged"), "").unwrap();
        home.git("repo", &["add", "staged"]);
        home.call(&["resume", "--peek"]).agent("holder").env("PATH", &bin).run();
        assert!(trace.exists(), "a command that does ask git is seen");
    }
}
