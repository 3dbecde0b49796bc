//! The installed hooks, run as tools run them; `setup --check` and the check of `doctor`.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tenure_testkit::raw;

use crate::home::{Call, Engine, Home, TENURE, text};
use crate::setup::setup;

/// A fake `tenure` that runs a script.
fn fake(home: &Home, script: &str) {
    std::fs::create_dir_all(home.path("bin")).unwrap();
    let path = home.path("bin/tenure");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn with_fake(home: &Home, call: Call) -> Call {
    call.env("PATH", format!("{}:/usr/bin:/bin", home.path("bin").display()))
}

/// Every command line in the committed files.
fn committed(home: &Home) -> Vec<String> {
    let mut lines = Vec::new();
    for path in [".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json", ".cursor/hooks.json"] {
        let file = std::fs::read_to_string(home.repo().join(path)).unwrap();
        let value: Value = serde_json::from_str(&file).unwrap();
        for groups in value["hooks"].as_object().unwrap().values() {
            for group in groups.as_array().unwrap() {
                let flat = group.get("command").map(text);
                let nested = group["hooks"].as_array().into_iter().flatten().map(|hook| text(&hook["command"]));
                lines.extend(flat.into_iter().chain(nested));
            }
        }
    }
    lines
}

fn shell(home: &Home, line: &str, path: &str) -> Output {
    Command::new("sh")
        .args(["-c", line])
        .env_clear()
        .env("PATH", path)
        .current_dir(home.repo())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn committed_files_name_no_place_and_do_nothing_without_the_program() {
    let home = Home::new(Engine::File);
    let tools = ["claude", "codex", "gemini", "cursor", "opencode", "--scope", "project", "--yes"];
    setup(&home, &tools).json().run().data();
    let root = home.path("").display().to_string();
    for path in home.files("repo").iter().filter(|path| path.is_file() && !path.to_str().unwrap().contains("/.git/")) {
        let file = std::fs::read_to_string(path).unwrap();
        assert!(!file.contains(root.trim_end_matches('/')) && !file.contains("\"/"), "{}: {file}", path.display());
    }
    let lines = committed(&home);
    assert_eq!(lines.len(), 7 + 6 + 6 + 6);
    fake(&home, "echo \"tenure: no such command\" >&2; exit 2");
    let with = format!("{}:/usr/bin:/bin", home.path("bin").display());
    for line in &lines {
        let without = shell(&home, line, "/usr/bin:/bin");
        assert_eq!(
            (without.status.code(), &*without.stdout, &*without.stderr),
            (Some(0), &b""[..], &b""[..]),
            "{line}"
        );
        // Even an old program without hooks, which exits with the blocking code, blocks nothing.
        let old = shell(&home, line, &with);
        assert_eq!((old.status.code(), &*old.stdout), (Some(0), &b""[..]), "{line}");
    }
    fake(&home, "cat > /dev/null; echo \"$*\"");
    let called: Vec<String> =
        lines.iter().map(|line| String::from_utf8(shell(&home, line, &with).stdout).unwrap()).collect();
    assert!(called.contains(&"hook claude SessionStart\n".to_owned()), "{called:?}");
    assert!(called.iter().all(|words| words.starts_with("hook ") && words.split_whitespace().count() == 3));
}

#[test]
fn check_runs_what_is_installed_and_touches_nothing_real() {
    let home = Home::new(Engine::File);
    let nothing = setup(&home, &["--check"]).run();
    assert_eq!((nothing.code, nothing.stdout.as_str()), (1, "Nothing is set up. Run `tenure setup`.\n"));
    setup(&home, &["claude", "cursor", "--scope", "project", "--yes"]).json().run().data();
    let check = || with_fake(&home, setup(&home, &["--check"]));

    // The event arrives complete, in an environment without access to real data.
    let seen = home.path("tmp/seen");
    fake(&home, &format!("cat >> {0}; echo \" $3 $TENURE_STORE $HOME\" >> {0}", seen.display()));
    let sound = check().json().run().data();
    assert_eq!(sound["healthy"], true, "{sound}");
    insta::assert_snapshot!("setup_check", check().run().stdout.replace(TENURE, "/project/target/debug/tenure"));
    assert_eq!(sound["hooks"].as_array().unwrap().len(), 13);
    assert_eq!((&sound["hooks"][0]["state"], &sound["hooks"][0]["last_fired"]), (&"works".into(), &Value::Null));
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.contains("\"hook_event_name\":\"PreToolUse\"") && seen.contains("\"conversation_id\""), "{seen}");
    assert!(!seen.contains(home.database().to_str().unwrap()) && !seen.contains("/home "), "{seen}");

    for (script, words) in [
        ("echo 'tenure: it broke' >&2; exit 4", "tenure: it broke"),
        ("echo not json", "cannot read"),
        ("kill -9 $$", "Killed"),
    ] {
        fake(&home, script);
        let broken = check().run();
        assert_eq!(broken.code, 1, "{broken:?}");
        assert!(broken.stdout.contains(words) && broken.stdout.contains("FAILS"), "{script}: {}", broken.stdout);
    }
    let gone = setup(&home, &["--check"]).run();
    assert!(gone.code == 1 && gone.stdout.contains("not on PATH"), "{gone:?}");

    fake(&home, "cat > /dev/null");
    let settings = home.path("repo/.claude/settings.json");
    let file = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, file.replace("tenure hook claude PreCompact", "true")).unwrap();
    let missing = check().run();
    assert!(missing.code == 1 && missing.stdout.contains("PreCompact          MISSING"), "{}", missing.stdout);
}

#[test]
fn a_check_runs_nothing_but_what_setup_writes() {
    let home = Home::new(Engine::File);
    fake(&home, "cat > /dev/null");
    let ran = home.path("tmp/ran");
    let settings = home.path("repo/.claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let evil = home.path("repo/tenure");
    std::fs::write(&evil, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    let evil = evil.display();
    for line in [
        format!("touch {}; tenure hook claude SessionStart", ran.display()),
        format!("[ -x {evil} ] && {evil} hook claude SessionStart || exit 0"),
        format!("{evil} hook claude SessionStart"),
    ] {
        let hooks =
            serde_json::json!({ "hooks": { "SessionStart": [{ "hooks": [{ "type": "command", "command": line }] }] } });
        std::fs::write(&settings, hooks.to_string()).unwrap();
        for args in [&["--check"][..], &["--check", "claude"], &["--check", "--scope", "project"]] {
            let check = with_fake(&home, setup(&home, args)).run();
            assert_eq!(check.code, 1, "{check:?}");
            assert!(check.stdout.contains("changed by hand, not run"), "{}", check.stdout);
        }
        home.call(&["doctor"]).run();
        assert!(!ran.exists(), "{line}");
    }
    std::fs::remove_file(&settings).unwrap();
    setup(&home, &["opencode", "--scope", "project", "--yes"]).json().run().data();
    let plugin = home.path("repo/.opencode/plugins/tenure.js");
    let file = std::fs::read_to_string(&plugin).unwrap();
    let works = with_fake(&home, setup(&home, &["--check"])).json().run().data();
    assert_eq!(works["healthy"], true, "{works}");
    std::fs::write(&plugin, file.replace("const PROGRAM = \"tenure\"", &format!("const PROGRAM = \"{evil}\"")))
        .unwrap();
    let check = with_fake(&home, setup(&home, &["--check"])).run();
    assert_eq!((check.code, check.stdout.matches("changed by hand, not run").count()), (1, 6), "{check:?}");
    assert!(!ran.exists());
}

#[test]
fn when_a_hook_last_fired_is_shown() {
    let home = Home::new(Engine::File);
    setup(&home, &["claude", "--scope", "project", "--yes"]).json().run().data();
    fake(&home, "cat > /dev/null");
    let doctor = |of: &Home| {
        let report = with_fake(&home, of.call(&["doctor"])).json().run().data();
        let checks = report["checks"].as_array().unwrap().clone();
        text(&checks.iter().find(|check| check["name"] == "hooks").unwrap()["text"])
    };
    assert_eq!(doctor(&home), "claude (7); none has fired in this project");
    raw::tamper(
        &home.database(),
        "INSERT INTO fired (project, tool, event, at) SELECT id, 'claude', 'SessionStart', last_time - 180000000 FROM project",
    );
    let shown = with_fake(&home, setup(&home, &["--check"])).run().stdout;
    let line = shown.lines().find(|line| line.contains("SessionStart")).unwrap();
    assert!(line.contains("installed, works, last fired 3m"), "{shown}");
    assert!(shown.contains("never fired here"), "{shown}");
    assert!(doctor(&home).starts_with("claude (7); claude SessionStart fired 3m"), "{}", doctor(&home));
    let none = Home::new(Engine::File);
    none.add("one");
    assert_eq!(doctor(&none), "none: `tenure setup` installs them");
}
