//! What becomes of a guard that cannot look: the configured policy, and a remark once a session.

use std::path::Path;

use crate::guards::{TOOLS, begin, edit, send};
use crate::home::{Engine, Home, TENURE};
use crate::hooks::{context, refusal};
use crate::sandbox::sandboxed;

fn policy(home: &Home, fail: &str) {
    std::fs::write(home.repo().join("tenure.toml"), format!("[guard]\nfail = \"{fail}\"\n")).unwrap();
}

#[test]
fn inv_r11_an_edit_that_cannot_be_reserved_follows_the_policy() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1"]);
    // A session that is known, and one file that it holds.
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
    let told = context("claude", "PreToolUse", &ask("open", "s1", "new.rs"));
    assert!(told.contains("unchecked"), "{told}");
    assert_eq!(ask("open", "s1", "new.rs"), "", "once a session");
    let reason = refusal("claude", "PreToolUse", &ask("closed", "s1", "new.rs"));
    assert!(reason.contains("guard.fail"), "{reason}");
}

#[test]
fn inv_r11_a_store_that_is_busy_follows_the_policy_soon() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1"]);
    begin(&home, "gemini", &["s1"]);
    let beside = |end: &str| home.database().with_file_name(format!("tenure.db{end}"));
    // Whoever holds the turnstile makes others wait; a hook waits a quarter of a second.
    let locks: Vec<_> =
        std::fs::read_dir(beside("").parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let locks: Vec<_> = locks.into_iter().filter(|path| path.to_string_lossy().contains("-turn-")).collect();
    assert!(!locks.is_empty(), "the turnstile has its files beside the database");
    let held: Vec<std::fs::File> =
        locks.iter().map(|path| std::fs::OpenOptions::new().write(true).open(path).unwrap()).collect();
    held.iter().for_each(|file| file.lock().unwrap());
    for (fail, tool, event) in
        [("open", "gemini", "BeforeTool"), ("closed", "gemini", "BeforeTool"), ("closed", "claude", "PreToolUse")]
    {
        policy(&home, fail);
        let start = std::time::Instant::now();
        let printed = send(&home, tool, event, &edit(tool, "s1", &home.repo(), "a.rs")).stdout;
        assert!(start.elapsed().as_secs() < 5, "a hook does not wait long");
        match fail {
            "open" => assert_eq!(printed, ""),
            _ => _ = refusal(tool, event, &printed),
        }
    }
    drop(held);
    assert_eq!(send(&home, "claude", "PreToolUse", &edit("claude", "s1", &home.repo(), "a.rs")).stdout, "");
}

#[test]
fn inv_t5_the_guards_of_a_project_that_is_not_switched_on_write_nothing() {
    let home = Home::new(Engine::File);
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
