//! Guards that cannot check: the configured policy applies, with one notice per session.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::guards::{TOOLS, begin, edit, send};
use crate::home::{Engine, Home, TENURE};
use crate::hooks::{context, refusal};
use crate::sandbox::sandboxed;

fn policy(home: &Home, fail: &str) {
    std::fs::write(home.repo().join("tenure.toml"), format!("[guard]\nfail = \"{fail}\"\n")).unwrap();
}

#[test]
fn inv_r11_an_edit_that_cannot_be_reserved_follows_the_policy() {
    let home = Home::direct(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1", "s2"]);
    // A known session, and one file that it holds.
    for _ in 0..2 {
        assert_eq!(send(&home, "claude", "PreToolUse", &edit("claude", "s1", &home.repo(), "held.rs")).stdout, "");
    }
    let ask = |fail: &str, session: &str, file: &str| {
        policy(&home, fail);
        let event = home.path("event.json");
        std::fs::write(&event, edit("claude", session, &home.repo(), file).to_string()).unwrap();
        let store = home.database().parent().unwrap().display().to_string();
        let mounts = format!("mount --bind '{store}' '{store}' && mount -o remount,bind,ro '{store}'");
        let script = format!("\"$T\" hook claude PreToolUse < '{}'; exit 0", event.display());
        sandboxed(&home, &mounts, &script).stdout
    };
    assert_eq!(ask("open", "s1", "held.rs"), "", "what is held already needs no write");
    for session in ["s2", "s3-that-nobody-knows"] {
        let reason = refusal("claude", "PreToolUse", &ask("open", session, "held.rs"));
        for part in ["held.rs is held by claude-s1", "claude-s1 is alive", "tenure send --about", "A person can"] {
            assert!(reason.contains(part), "what others hold can be seen: {reason}");
        }
    }
    let told = context("claude", "PreToolUse", &ask("open", "s1", "new.rs"));
    assert!(told.contains("unchecked"), "{told}");
    assert_eq!(ask("open", "s1", "new.rs"), "", "once a session");
    let reason = refusal("claude", "PreToolUse", &ask("closed", "s1", "new.rs"));
    assert!(reason.contains("guard.fail"), "{reason}");
}

#[test]
fn inv_r11_a_store_that_is_busy_follows_the_policy_soon() {
    let home = Home::direct(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1"]);
    begin(&home, "gemini", &["s1", "s2"]);
    for _ in 0..2 {
        assert_eq!(send(&home, "claude", "PreToolUse", &edit("claude", "s1", &home.repo(), "held.rs")).stdout, "");
    }
    let beside = |end: &str| home.database().with_file_name(format!("tenure.db{end}"));
    // A held turnstile makes others wait; an edit waits for one and a half seconds.
    let locks: Vec<_> =
        std::fs::read_dir(beside("").parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let locks: Vec<_> = locks.into_iter().filter(|path| path.to_string_lossy().contains("-turn-")).collect();
    assert!(!locks.is_empty(), "the turnstile has its files beside the database");
    let held: Vec<std::fs::File> =
        locks.iter().map(|path| std::fs::OpenOptions::new().write(true).open(path).unwrap()).collect();
    held.iter().for_each(|file| file.lock().unwrap());
    // A waiting hook uses its whole timeout, so all hooks of one policy run at once.
    for fail in ["open", "closed"] {
        policy(&home, fail);
        let beside = |tool: &'static str, event: &'static str| {
            let start = std::time::Instant::now();
            let printed = send(&home, tool, event, &edit(tool, "s1", &home.repo(), "a.rs")).stdout;
            assert!(start.elapsed().as_secs() < 5, "a hook does not wait long");
            match (fail, tool) {
                ("open", "gemini") => assert_eq!(printed, ""),
                ("open", _) => assert!(context(tool, event, &printed).contains("unchecked"), "{printed}"),
                _ => _ = refusal(tool, event, &printed),
            }
        };
        let taken = || {
            let printed = send(&home, "gemini", "BeforeTool", &edit("gemini", "s2", &home.repo(), "held.rs")).stdout;
            let reason = refusal("gemini", "BeforeTool", &printed);
            assert!(reason.contains("held.rs is held by claude-s1"), "what others hold can be seen: {reason}");
        };
        std::thread::scope(|scope| {
            scope.spawn(|| beside("gemini", "BeforeTool"));
            scope.spawn(|| beside("claude", "PreToolUse"));
            scope.spawn(taken);
        });
        assert_eq!(send(&home, "claude", "PreToolUse", &edit("claude", "s1", &home.repo(), "held.rs")).stdout, "");
        // A call that cannot be refused does not wait.
        home.write("repo/.gitignore", "out/\n");
        let ignored = edit("claude", "s1", &home.repo(), "out/x");
        let looks = json!({ "session_id": "s1", "cwd": home.repo(), "tool_name": "Read", "tool_input": {} });
        for payload in [ignored, looks] {
            assert_eq!(send(&home, "claude", "PreToolUse", &payload).stdout, "", "{fail}: {payload}");
        }
    }
    drop(held);
    assert_eq!(send(&home, "claude", "PreToolUse", &edit("claude", "s1", &home.repo(), "a.rs")).stdout, "");
}

#[test]
fn inv_t5_the_guards_of_a_project_that_is_not_switched_on_write_nothing() {
    let home = Home::direct(Engine::File);
    home.git_init("other");
    home.call(&["add", "x"]).cwd(home.path("other")).run();
    let bytes = || (std::fs::read(home.database()).unwrap(), home.files("home"), home.files("repo"));
    let before = bytes();
    for (tool, event) in TOOLS {
        assert_eq!(send(&home, tool, event, &edit(tool, "s1", &home.repo(), "a.rs")).stdout, "", "{tool}");
    }
    assert!(bytes() == before, "byte for byte");
    assert!(Path::new(TENURE).exists());
}

fn patch(session: &str, cwd: &Path, names: &[String]) -> Value {
    let files: String = names.iter().map(|name| format!("*** Add File: {name}\n+x\n")).collect();
    let text = format!("*** Begin Patch\n{files}*** End Patch\n");
    json!({ "session_id": session, "cwd": cwd, "tool_name": "apply_patch", "tool_input": { "command": text } })
}

#[test]
fn inv_r10_a_large_patch_is_taken_whole_and_one_too_large_refused_under_any_policy() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("something");
        begin(&home, "codex", &["s1", "s2"]);
        let names = |count: usize| (0..count).map(|n| format!("gen/{n}.rs")).collect::<Vec<_>>();
        let go = |session: &str, names: &[String]| {
            send(&home, "codex", "PreToolUse", &patch(session, &home.repo(), names)).stdout
        };
        assert_eq!(go("s1", &["gen/700.rs".to_owned()]), "");
        let reason = refusal("codex", "PreToolUse", &go("s2", &names(900)));
        assert!(reason.contains("claude-s1") || reason.contains("codex-s1"), "{reason}");
        let reserved = || home.events().iter().filter(|event| event.kind == "path.reserved").count();
        assert_eq!(reserved(), 1, "all or none");
        assert_eq!(go("s2", &names(700)), "");
        assert_eq!(reserved(), 701);
        assert_eq!(go("s2", &names(700)), "");
        let reason = refusal("codex", "PreToolUse", &go("s1", &["gen/699.rs".to_owned()]));
        assert!(reason.contains("held by codex-s2"), "{reason}");
        for fail in ["open", "closed"] {
            policy(&home, fail);
            let reason = refusal("codex", "PreToolUse", &go("s2", &names(2_049)));
            assert!(reason.contains("2049 files") && reason.contains("at most 2048"), "{reason}");
        }
        assert_eq!(reserved(), 701);
        let outside: Vec<String> = names(3_000).iter().map(|name| home.path(name).display().to_string()).collect();
        assert_eq!(go("s2", &outside), "", "nobody guards those");
    }
}

#[test]
fn inv_r10_of_64_sessions_at_once_one_is_let_through() {
    let home = Home::new(Engine::File);
    home.add("something");
    let sessions: Vec<String> = (0..64).map(|n| format!("s{n}")).collect();
    begin(&home, "claude", &sessions.iter().map(String::as_str).collect::<Vec<_>>());
    for round in 0..3 {
        let file = format!("race/{round}.rs");
        let go =
            |session: &str| send(&home, "claude", "PreToolUse", &edit("claude", session, &home.repo(), &file)).stdout;
        let printed: Vec<String> = std::thread::scope(|scope| {
            let all: Vec<_> = sessions.iter().map(|session| scope.spawn(|| go(session))).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let (free, refused): (Vec<_>, Vec<_>) = printed.iter().partition(|printed| printed.is_empty());
        assert_eq!((free.len(), refused.len()), (1, 63), "{round}");
        for printed in refused {
            assert!(refusal("claude", "PreToolUse", printed).contains("is held by claude-s"), "{printed}");
        }
    }
}

/// A shell command of Claude Code.
fn bash(cwd: &Path, line: &str) -> Value {
    json!({ "session_id": "s1", "cwd": cwd, "tool_name": "Bash", "tool_input": { "command": line } })
}

#[test]
fn inv_r11_a_broken_configuration_refuses_nothing_that_it_was_not_told_to() {
    let home = Home::new(Engine::File);
    home.add("something");
    home.git_init("other");
    begin(&home, "claude", &["s1"]);
    home.write("repo/.gitignore", "out/\n");
    let (repo, other) = (home.repo(), home.path("other"));
    let ask = |payload: &Value| send(&home, "claude", "PreToolUse", payload).stdout;
    let outside = home.path("tmp/x");
    let harmless = [
        bash(&repo, "ls -l"),
        bash(&repo, "git status && git log"),
        json!({ "session_id": "s1", "cwd": repo, "tool_name": "Read", "tool_input": { "file_path": repo.join("a") } }),
        edit("claude", "s1", &repo, outside.to_str().unwrap()),
        edit("claude", "s1", &repo, "out/x"),
        edit("claude", "s1", &other, "a.rs"),
        bash(&other, "git reset --hard"),
    ];
    let broken = "labels = []\nnonsense [[\n";
    let closed = "[guard]\nfail = \"closed\"\nnonsense [[\n";
    for (dir, text, refused) in [
        ("repo/tenure.toml", broken, false),
        ("home/.config/tenure/config.toml", broken, false),
        ("repo/tenure.toml", closed, true),
        ("home/.config/tenure/config.toml", closed, true),
    ] {
        home.write(dir, text);
        for payload in &harmless {
            assert_eq!(ask(payload), "", "{dir} {text}: {payload}");
        }
        for (n, mut payload) in
            [edit("claude", "", &repo, "a.rs"), bash(&repo, "git reset --hard")].into_iter().enumerate()
        {
            payload["session_id"] = json!(format!("{n} {dir}"));
            let printed = ask(&payload);
            match refused {
                true => _ = refusal("claude", "PreToolUse", &printed),
                false => {
                    let told = context("claude", "PreToolUse", &printed);
                    let named = format!("{} line 2 is wrong", home.path(dir).display());
                    assert!(told.contains(&named) && told.contains("unchecked"), "{told}");
                    assert_eq!(ask(&payload), "", "once a session");
                }
            }
            let off = home.call(&["hook", "claude", "PreToolUse"]).env("TENURE_OFF", "1");
            assert_eq!(off.input(payload.to_string().as_bytes()).run().stdout, "", "{dir} {text}");
        }
        std::fs::remove_file(home.path(dir)).unwrap();
    }
}

#[test]
fn inv_r11_an_edit_of_nobody_knows_which_file_follows_the_policy() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1"]);
    for (fail, refused) in [("open", false), ("closed", true)] {
        policy(&home, fail);
        for (n, input) in
            [json!({ "file_path": "a\0b" }), json!({ "file_path": 7 }), json!({}), Value::Null].into_iter().enumerate()
        {
            let session = format!("s{n}");
            let event = json!({ "session_id": session, "cwd": home.repo(), "tool_name": "Edit", "tool_input": input });
            let printed = send(&home, "claude", "PreToolUse", &event).stdout;
            match refused {
                true => _ = refusal("claude", "PreToolUse", &printed),
                false => assert!(context("claude", "PreToolUse", &printed).contains("unchecked"), "{printed}"),
            }
        }
    }
    home.ok(&["off"]);
    let event = json!({ "session_id": "s1", "cwd": home.repo(), "tool_name": "Edit", "tool_input": {} });
    assert_eq!(send(&home, "claude", "PreToolUse", &event).stdout, "", "the guards are off");
}

#[test]
fn inv_r11_a_hook_whose_input_stays_open_ends_by_itself_and_follows_the_policy() {
    let home = Home::direct(Engine::File);
    home.add("something");
    let mut command = home.call(&["hook", "claude", "PreToolUse"]).into_command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let open = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(open);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("unchecked") && !said.contains("allow"), "{said}");
}
