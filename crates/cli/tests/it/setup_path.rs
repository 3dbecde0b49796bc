//! Installed hooks when `tenure` is not on PATH: the guard works or reports that it does not, and `setup`, `setup
//! --check` and `doctor` agree.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::commits::{Done, script};
use crate::home::{Engine, Home, Output, copy_program, text};

/// A PATH without `tenure`.
const BARE: &str = "/usr/bin:/bin";

/// A copy of the program that can be removed, in a directory whose name needs shell quoting.
fn program(home: &Home, dir: &str) -> PathBuf {
    let path = home.path(dir).join("tenure");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    copy_program(&path);
    path
}

fn run(home: &Home, program: &Path, args: &[&str], more: &[(&str, &str)]) -> Output {
    let mut command = home.clean(program.as_os_str());
    command.args(args).env("PATH", BARE).envs(more.iter().copied());
    Output::of(&command.output().unwrap())
}

fn commit(home: &Home, agent: &str, more: &[(&str, &str)]) -> Done {
    home.write("repo/file", &format!("{:?}", std::time::Instant::now()));
    home.git_with("", "repo", &["add", "file"], &[("PATH", BARE)]);
    home.git_with(agent, "repo", &["commit", "-q", "-m", "x"], &[&[("PATH", BARE)], more].concat())
}

#[test]
fn inv_r12_the_commit_guard_works_without_the_program_on_path() {
    for dir in ["opt/bin", "opt/it's a \"place\" $HOME `x`"] {
        let home = Home::direct(Engine::File);
        let program = program(&home, dir);
        let done = run(&home, &program, &["setup", "git", "--yes"], &[]);
        assert_eq!(done.code, 0, "{done:?}");
        home.ok_as("b", &["reserve", "file"]);
        let refused = commit(&home, "a", &[]);
        assert_eq!(refused.code, 1, "{}", refused.said);
        assert!(refused.said.contains("file is held by b"), "{}", refused.said);
        let check = run(&home, &program, &["setup", "git", "--check"], &[]);
        assert_eq!(check.code, 0, "{check:?}");
        home.ok_as("b", &["release", "file"]);
        assert_eq!(commit(&home, "a", &[]).code, 0);
    }
}

#[test]
fn inv_r11_a_guard_that_cannot_be_started_says_so_and_follows_the_policy() {
    let home = Home::direct(Engine::File);
    let program = program(&home, "opt/bin");
    run(&home, &program, &["setup", "git", "--yes"], &[]);
    home.git("", &["init", "-q", "--bare", "remote.git"]);
    home.git("repo", &["remote", "add", "origin", "../remote.git"]);
    let push = |home: &Home| {
        commit(home, "a", &[("TENURE_OFF", "1")]);
        home.git_with("a", "repo", &["push", "-q", "origin", "HEAD:main"], &[("PATH", BARE)])
    };
    // Gone, not executable, and one that cannot be run.
    for (what, spoil) in [
        ("is gone", &(|path: &Path| std::fs::remove_file(path).unwrap()) as &dyn Fn(&Path)),
        ("ended with", &|path| script(path, "#!/nowhere/at/all\n")),
        ("ended with 9", &|path| script(path, "#!/bin/sh\nexit 9\n")),
    ] {
        spoil(&program);
        std::fs::remove_file(home.repo().join("tenure.toml")).ok();
        let open = commit(&home, "a", &[]);
        assert_eq!(open.code, 0, "{what}: {}", open.said);
        let lines: Vec<&str> = open.said.lines().filter(|line| line.starts_with("tenure: ")).collect();
        assert_eq!(lines.len(), 1, "{what}: {}", open.said);
        assert!(lines[0].contains(what) && lines[0].contains("unchecked"), "{what}: {}", open.said);
        assert!(push(&home).said.contains("The push goes on unchecked"), "{what}");

        for closed in
            ["[guard]\nfail = \"closed\" # why\n", "guard.fail = 'closed'\n", "guard = { fail = \"closed\" }\n"]
        {
            home.write("repo/tenure.toml", closed);
            let refused = commit(&home, "a", &[]);
            assert_ne!(refused.code, 0, "{what}: {}", refused.said);
            assert!(refused.said.contains("closed") && refused.said.contains(what), "{what}: {}", refused.said);
        }
        assert_ne!(push(&home).code, 0);
        // A person's override, as everywhere.
        assert_eq!(commit(&home, "a", &[("TENURE_OFF", "1")]).code, 0, "{what}");
        home.write("repo/tenure.toml", "[guard]\nfail = \"open\" # not closed\n");
        assert_eq!(commit(&home, "a", &[]).code, 0, "{what}");
        home.write("repo/tenure.toml", "# fail = \"closed\"\n");
        home.write("home/.config/tenure/config.toml", "[guard]\nfail = \"closed\"\n");
        assert_ne!(commit(&home, "a", &[]).code, 0, "{what}: the user's own configuration");
        std::fs::remove_file(home.path("home/.config/tenure/config.toml")).unwrap();
        script(&program, "#!/bin/sh\nexit 0\n");
    }
    // Found on PATH after the file is gone.
    std::fs::remove_file(&program).unwrap();
    std::fs::remove_file(home.repo().join("tenure.toml")).unwrap();
    home.ok_as("b", &["reserve", "file"]);
    home.write("repo/file", "other");
    home.git("repo", &["add", "file"]);
    let refused = home.git_as("a", "repo", &["commit", "-q", "-m", "x"]);
    assert!(refused.code == 1 && refused.said.contains("held by b"), "{}", refused.said);
}

/// The reports of the three commands about the hooks of git.
fn three(home: &Home, program: &Path) -> [(i32, String); 3] {
    let of = |args: &[&str]| {
        let output = run(home, program, args, &[("TENURE_FORMAT", "json")]);
        (output.code, output.json.map(|json| json["data"].to_string()).unwrap_or(output.stdout))
    };
    [of(&["setup", "git", "--yes"]), of(&["setup", "git", "--check"]), of(&["doctor"])]
}

#[test]
fn setup_check_and_doctor_agree_about_the_path() {
    let home = Home::direct(Engine::File);
    let program = program(&home, "opt/bin");
    let on_path = "`tenure` is not on PATH";
    for (code, said) in three(&home, &program) {
        assert_eq!(code, 0, "{said}");
        assert!(said.contains(on_path) && said.contains("ln -s"), "{said}");
    }
    let with = format!("{}:{BARE}", program.parent().unwrap().display());
    for args in [&["setup", "git", "--yes"][..], &["setup", "git", "--check"], &["doctor"]] {
        let said = run(&home, &program, args, &[("TENURE_FORMAT", "json"), ("PATH", &with)]);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(!said.stdout.contains(on_path), "{args:?}: {said:?}");
    }
}

#[test]
fn a_program_that_moved_is_noticed_and_repaired() {
    let home = Home::direct(Engine::File);
    let old = program(&home, "old/bin");
    run(&home, &old, &["setup", "git", "claude", "opencode", "--yes"], &[]);
    let new = program(&home, "new/bin");
    std::fs::remove_file(&old).unwrap();
    for args in [&["setup", "git", "claude", "opencode", "--check"][..], &["doctor"]] {
        let said = run(&home, &new, args, &[("TENURE_FORMAT", "json")]);
        assert_eq!(said.code, 1, "{args:?}: {said:?}");
        for word in [old.to_str().unwrap(), "does not exist", "git", "claude", "opencode"] {
            assert!(said.stdout.contains(word), "{args:?} {word}: {said:?}");
        }
    }
    let done = run(&home, &new, &["setup", "git", "claude", "opencode", "--yes"], &[]);
    assert_eq!(done.code, 0, "{done:?}");
    let hook = std::fs::read_to_string(home.repo().join(".git/hooks/pre-commit")).unwrap();
    assert!(hook.contains(new.to_str().unwrap()) && !hook.contains(old.to_str().unwrap()), "{hook}");
    home.ok_as("b", &["reserve", "file"]);
    assert_eq!(commit(&home, "a", &[]).code, 1);
    for args in [&["setup", "git", "claude", "opencode", "--check"][..], &["doctor"]] {
        assert_eq!(run(&home, &new, args, &[]).code, 0, "{args:?}");
    }
    let removed = run(&home, &new, &["setup", "--remove", "--yes"], &[]);
    assert_eq!(removed.code, 0);
    assert!(!home.repo().join(".git/hooks/pre-commit").exists());
}

/// Hooks of a version that did not record the program's path.
#[test]
fn hooks_of_an_earlier_version_are_renewed_and_removed() {
    let earlier = "#!/bin/sh\n# tenure setup: begin\nif command -v tenure >/dev/null 2>&1; then\n\
                   tenure hook git pre-commit \"$@\" || [ $? -ne 1 ] || exit 1\nfi\n# tenure setup: end\nexit 0\n";
    for remove in [true, false] {
        let home = Home::direct(Engine::File);
        let program = program(&home, "opt/bin");
        let hook = home.repo().join(".git/hooks/pre-commit");
        script(&hook, earlier);
        if remove {
            assert_eq!(run(&home, &program, &["setup", "git", "--remove", "--yes"], &[]).code, 0);
        } else {
            assert_eq!(run(&home, &program, &["setup", "git", "--check"], &[]).code, 1);
            assert_eq!(run(&home, &program, &["setup", "git", "--yes"], &[]).code, 0);
            assert!(std::fs::read_to_string(&hook).unwrap().contains(program.to_str().unwrap()));
            assert_eq!(run(&home, &program, &["setup", "git", "--remove", "--yes"], &[]).code, 0);
        }
        assert_eq!(std::fs::read_to_string(&hook).unwrap(), "#!/bin/sh\nexit 0\n");
    }
}

/// Hooks that are files of the repository contain no machine path.
#[test]
fn hooks_that_are_committed_name_no_place() {
    let home = Home::direct(Engine::File);
    let program = program(&home, "opt/bin");
    home.git("repo", &["config", "core.hooksPath", ".githooks"]);
    run(&home, &program, &["setup", "git", "--yes"], &[]);
    let hook = std::fs::read_to_string(home.repo().join(".githooks/pre-commit")).unwrap();
    assert!(hook.contains("tenure hook git") || hook.contains("hook git pre-commit"), "{hook}");
    assert!(!hook.contains(home.path("").to_str().unwrap()), "{hook}");
    let said = commit(&home, "a", &[]);
    assert!(said.code == 0 && said.said.contains("not on PATH"), "{}", said.said);
    let checked = run(&home, &program, &["setup", "git", "--check"], &[]);
    assert!(checked.code == 1 && checked.stdout.contains("not on PATH"), "{checked:?}");
}

#[test]
fn a_program_in_a_build_or_temporary_directory_gets_a_remark() {
    let home = Home::direct(Engine::File);
    let built = home.path("project/target/debug");
    std::fs::create_dir_all(&built).unwrap();
    std::fs::write(home.path("project/target/CACHEDIR.TAG"), "").unwrap();
    copy_program(&built.join("tenure"));
    for (dir, word) in [("project/target/debug", "build directory"), ("tmp/x", "temporary directory")] {
        let program = if dir.starts_with("tmp") { program(&home, dir) } else { built.join("tenure") };
        for (code, said) in three(&home, &program) {
            assert_eq!(code, 0, "{said}");
            assert!(said.contains(word), "{said}");
        }
    }
}

fn fire(home: &Home, program: &Path, path: &str, event: &str, more: &Value) -> String {
    let mut payload = json!({ "session_id": "S", "cwd": home.repo(), "hook_event_name": event, "source": "startup" });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    std::fs::write(home.path("event.json"), payload.to_string()).unwrap();
    let mut hook = home.clean(program.as_os_str());
    hook.args(["hook", "claude", event]).env("PATH", path);
    hook.stdin(std::fs::File::open(home.path("event.json")).unwrap());
    let output = hook.output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn hooks_name_a_command_that_works() {
    let home = Home::direct(Engine::File);
    let program = program(&home, "opt/a b");
    home.add("one");
    home.ok_as("b", &["reserve", "file"]);
    let word = format!("'{}' ", program.display());
    let edit = json!({ "tool_name": "Write", "tool_input": { "file_path": home.repo().join("file"), "content": "" } });
    for (event, more, command) in [("SessionStart", json!({}), "resume"), ("PreToolUse", edit, "reserve --wait")] {
        let bare = fire(&home, &program, BARE, event, &more);
        let document: Value = serde_json::from_str(&bare).unwrap();
        let told = document["hookSpecificOutput"]["additionalContext"]
            .as_str()
            .or(document["hookSpecificOutput"]["permissionDecisionReason"].as_str())
            .unwrap_or_else(|| panic!("{event}: {bare}"));
        assert!(told.contains(&format!("`{word}{command}")), "{event}: {told}");
        assert!(!told.contains("`tenure "), "{event}: {told}");
        let with = format!("{}:{BARE}", program.parent().unwrap().display());
        assert!(fire(&home, &program, &with, event, &more).contains(&format!("`tenure {command}")), "{event}");
    }
    let brief = run(&home, &program, &["resume"], &[("TENURE_AGENT", "a")]).stdout;
    assert!(brief.contains(&format!("`{word}done`")) && !brief.contains("`tenure "), "{brief}");
    run(&home, &program, &["setup", "git", "--yes"], &[]);
    let refused = commit(&home, "a", &[]);
    assert!(refused.said.contains(&format!("  {word}why h-")), "{}", refused.said);
    assert!(refused.said.contains("tenure: the commit is refused"), "{}", refused.said);
}

#[test]
fn a_refusal_of_a_hook_of_git_counts_as_fired() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.setup_git("repo");
        let last = |home: &Home, event: &str| {
            let check = home.call(&["setup", "git", "--check"]).env("PATH", home.with_tenure()).json().run().data();
            let hooks = check["hooks"].as_array().unwrap().clone();
            hooks.into_iter().find(|hook| hook["event"] == event).unwrap()["last_fired"].clone()
        };
        assert_eq!(last(&home, "pre-commit"), Value::Null);
        home.ok_as("b", &["reserve", "file"]);
        home.write("repo/file", "x");
        home.git_as("", "repo", &["add", "file"]);
        assert_eq!(home.git_as("a", "repo", &["commit", "-q", "-m", "x"]).code, 1);
        text(&last(&home, "pre-commit"));
        assert_eq!(last(&home, "post-commit"), Value::Null);
        let doctor = home.call(&["doctor"]).env("PATH", home.with_tenure()).json().run().data().to_string();
        assert!(doctor.contains("git pre-commit fired"), "{doctor}");
    }
}

#[test]
fn hooks_that_codex_does_not_trust_are_not_said_to_work() {
    let home = Home::direct(Engine::File);
    let path = home.with_tenure();
    let call = |args: &[&str]| home.call(args).env("PATH", &path).json().run();
    call(&["setup", "codex", "--yes"]).data();
    let config = home.path("home/.codex/config.toml");
    let installed = std::fs::read_to_string(&config).unwrap();
    let hooks = home.path("home/.codex/hooks.json");
    let states = |checked: &Output| -> Vec<String> {
        let data = checked.json.as_ref().unwrap()["data"].clone();
        data["hooks"].as_array().unwrap().iter().map(|hook| text(&hook["state"])).collect()
    };
    let entry = |event: &str, more: &str| {
        format!("\n[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"sha256:00\"\n{more}", hooks.display())
    };
    let all: String =
        ["session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "pre_compact", "session_end"]
            .map(|event| entry(event, ""))
            .concat();

    let untrusted = call(&["setup", "codex", "--check"]);
    assert_eq!((untrusted.code, states(&untrusted)), (1, vec!["untrusted".to_owned(); 6]));
    assert!(untrusted.stdout.contains("not trusted yet"), "{untrusted:?}");
    assert!(call(&["setup", "codex", "--yes"]).stdout.contains("not trusted yet"));
    assert!(call(&["doctor"]).stdout.contains("not trusted yet"));

    std::fs::write(&config, format!("{installed}{all}")).unwrap();
    let trusted = call(&["setup", "codex", "--check"]);
    assert_eq!((trusted.code, states(&trusted)), (0, vec!["works".to_owned(); 6]), "{trusted:?}");
    assert!(!call(&["doctor"]).stdout.contains("not trusted"));

    // A hook without an entry, one that is disabled, and one whose entry is for another file.
    for (spoiled, word) in [
        (all.replace(&entry("pre_tool_use", ""), ""), "not trusted yet"),
        (all.replace(&entry("pre_tool_use", ""), &entry("pre_tool_use", "enabled = false\n")), "switched off"),
        (
            all.replace(
                &entry("pre_tool_use", ""),
                "\n[hooks.state.\"/other/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"x\"\n",
            ),
            "not trusted yet",
        ),
    ] {
        std::fs::write(&config, format!("{installed}{spoiled}")).unwrap();
        let checked = call(&["setup", "codex", "--check"]);
        assert_eq!(checked.code, 1, "{checked:?}");
        assert_eq!(states(&checked).iter().filter(|state| *state == "untrusted").count(), 1, "{checked:?}");
        assert!(checked.stdout.contains(word), "{checked:?}");
    }
}

/// Codex runs commands with a login shell, which may have another PATH.
#[test]
fn a_login_shell_without_the_program_is_named_where_codex_is_set_up() {
    let home = Home::direct(Engine::File);
    let path = home.with_tenure();
    let said = |tool: &str| {
        let setup = home.call(&["setup", tool, "--yes"]).env("PATH", &path).json().run();
        let check = home.call(&["setup", tool, "--check"]).env("PATH", &path).json().run();
        let doctor = home.call(&["doctor"]).env("PATH", &path).json().run();
        [setup, check, doctor].map(|output| output.stdout.contains("login shell"))
    };
    home.write("home/.profile", "PATH=/usr/bin:/bin\n");
    assert_eq!(said("claude"), [false; 3]);
    assert_eq!(said("codex"), [true; 3]);
    home.write("home/.profile", &format!("PATH={}\n", path.to_str().unwrap()));
    assert_eq!(said("codex"), [false; 3]);
}
