//! The guards from outside: allowed and refused edits, in each tool's own format.

use std::path::Path;

use serde_json::{Value, json};
use tenure_testkit::evidence::amount;

use crate::guards_shell::bash;
use crate::home::{Engine, Home, Output};
use crate::hooks::{context, quiet, refusal};

/// Each tool with its event before a tool call.
pub(crate) const TOOLS: [(&str, &str); 5] = [
    ("claude", "PreToolUse"),
    ("codex", "PreToolUse"),
    ("gemini", "BeforeTool"),
    ("cursor", "preToolUse"),
    ("opencode", "tool.execute.before"),
];

/// The event of an edit of one file, as a tool sends it.
pub(crate) fn edit(tool: &str, session: &str, cwd: &Path, file: &str) -> Value {
    match tool {
        "claude" => json!({ "session_id": session, "cwd": cwd, "tool_name": "Edit",
            "tool_input": { "file_path": cwd.join(file), "old_string": "a", "new_string": "b" } }),
        "codex" => {
            patch(session, cwd, &format!("*** Begin Patch\n*** Update File: {file}\n@@\n-a\n+b\n*** End Patch\n"))
        }
        "gemini" => json!({ "session_id": session, "cwd": cwd, "tool_name": "write_file",
            "tool_input": { "file_path": file, "content": "x" } }),
        "cursor" => json!({ "conversation_id": session, "workspace_roots": [cwd], "tool_name": "Write",
            "tool_input": { "file_path": cwd.join(file) } }),
        _ => {
            json!({ "session_id": session, "cwd": cwd, "tool_name": "edit", "tool_input": { "filePath": cwd.join(file) } })
        }
    }
}

fn patch(session: &str, cwd: &Path, text: &str) -> Value {
    json!({ "session_id": session, "cwd": cwd, "tool_name": "apply_patch", "tool_input": { "command": text } })
}

pub(crate) fn send(home: &Home, tool: &str, event: &str, payload: &Value) -> Output {
    let output = home.call(&["hook", tool, event]).input(payload.to_string().as_bytes()).run();
    quiet(tool, event, &output);
    output
}

/// Starts sessions. Here all of them run in one process, where an unknown session would continue another one.
pub(crate) fn begin(home: &Home, tool: &str, sessions: &[&str]) {
    let event = match tool {
        "cursor" => "sessionStart",
        "opencode" => "session.created",
        _ => "SessionStart",
    };
    for session in sessions {
        let payload = json!({ "session_id": session, "cwd": home.repo(), "source": "startup" });
        send(home, tool, event, &payload);
    }
}

/// An edit of Claude Code; returns the refusal, if any.
pub(crate) fn claude(home: &Home, session: &str, cwd: &Path, file: &str) -> Option<String> {
    let output = send(home, "claude", "PreToolUse", &edit("claude", session, cwd, file));
    (!output.stdout.is_empty()).then(|| refusal("claude", "PreToolUse", &output.stdout))
}

/// The path holds, as `HOLDER PATTERN`.
pub(crate) fn held(home: &Home) -> Vec<String> {
    let items = home.ok(&["holds", "--kind", "path", "--limit", "100"])["items"].take();
    let show = |hold: &Value| format!("{} {}", hold["holder"].as_str().unwrap(), hold["subject"].as_str().unwrap());
    let mut held: Vec<String> = items.as_array().unwrap().iter().map(show).collect();
    held.sort();
    held
}

#[test]
fn inv_r10_one_is_let_through_in_silence_and_the_other_refused_in_its_tools_own_words() {
    for engine in Engine::ALL {
        for (tool, event) in TOOLS {
            let home = Home::new(engine);
            home.add("something");
            begin(&home, tool, &["s1", "s2"]);
            let go =
                |session: &str, file: &str| send(&home, tool, event, &edit(tool, session, &home.repo(), file)).stdout;
            assert_eq!(go("s1", "src/a.rs"), "", "{tool}");
            assert_eq!(held(&home), [format!("{tool}-s1 src/a.rs")]);
            let reason = refusal(tool, event, &go("s2", "src/a.rs"));
            let hold = home.ok(&["holds"])["items"][0]["id"].take();
            for part in [
                "src/a.rs is held by",
                &format!("{tool}-s1 is alive"),
                "tenure reserve --wait -- src/a.rs",
                &format!("tenure send --about {}", hold.as_str().unwrap()),
                "A person can",
            ] {
                assert!(reason.contains(part), "{tool}: {part}: {reason}");
            }
            assert!(reason.chars().count() < 1_700);
            assert_eq!((go("s1", "src/a.rs"), go("s2", "src/b.rs")), (String::new(), String::new()), "{tool}");
            assert_eq!(held(&home), [format!("{tool}-s1 src/a.rs"), format!("{tool}-s2 src/b.rs")]);
            home.replayed();
        }
    }
}

#[test]
fn inv_r10_all_files_of_a_patch_or_none() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("something");
        begin(&home, "claude", &["s1"]);
        begin(&home, "codex", &["s2", "s3"]);
        let repo = home.repo();
        let text = "*** Begin Patch\n*** Update File: src/lib.rs\n@@\n-a\n+b\n*** Add File: src/new file.rs\n+x\n\
                    *** Delete File: old.rs\n*** Update File: mv.rs\n*** Move to: moved.rs\n*** End Patch\n";
        for file in ["old.rs", "moved.rs", "src/new file.rs"] {
            assert_eq!(claude(&home, "s1", &repo, file), None);
            let output = send(&home, "codex", "PreToolUse", &patch("s2", &repo, text));
            let reason = refusal("codex", "PreToolUse", &output.stdout);
            assert!(reason.contains("claude-s1"), "{reason}");
            assert_eq!(held(&home), [format!("claude-s1 {file}")], "nothing was taken");
            home.ok_as("claude-s1", &["release", &format!("./{file}")]);
        }
        assert_eq!(send(&home, "codex", "PreToolUse", &patch("s2", &repo, text)).stdout, "");
        let files = ["moved.rs", "mv.rs", "old.rs", "src/lib.rs", "src/new file.rs"];
        assert_eq!(held(&home), files.map(|file| format!("codex-s2 {file}")));
        // The same through the shell.
        let shell = json!({ "session_id": "s3", "cwd": repo, "tool_name": "shell",
            "tool_input": { "command": ["bash", "-lc", format!("apply_patch <<'EOF'\n{text}EOF")] } });
        refusal("codex", "PreToolUse", &send(&home, "codex", "PreToolUse", &shell).stdout);
    }
}

#[test]
fn inv_r10_a_file_that_is_held_already_costs_a_look_and_nothing_is_written() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1", "s2"]);
    let repo = home.repo();
    for _ in 0..3 {
        assert_eq!(claude(&home, "s1", &repo, "a.rs"), None);
    }
    let bytes = || {
        let beside =
            |end: &str| std::fs::read(home.database().with_file_name(format!("tenure.db{end}"))).unwrap_or_default();
        (beside(""), beside("-wal"))
    };
    let before = (bytes(), home.events().len());
    for _ in 0..5 {
        assert_eq!(claude(&home, "s1", &repo, "a.rs"), None);
    }
    assert!(bytes() == before.0, "the store is as it was");
    assert_eq!(home.events().len(), before.1);
    assert_eq!(held(&home).len(), 1);
}

#[test]
fn inv_r10_what_git_ignores_is_relaxed_or_lies_outside_is_nobodys() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1", "s2"]);
    let repo = home.repo();
    std::fs::write(repo.join(".gitignore"), "target/\n*.log\n").unwrap();
    std::fs::write(repo.join(".git/info/exclude"), "private\n").unwrap();
    std::fs::create_dir_all(home.path("home/.config/git")).unwrap();
    std::fs::write(home.path("home/.config/git/ignore"), "*.swp\n").unwrap();
    let free = [
        "target/x.o",
        "a.log",
        "private",
        "x.swp",
        ".git/config",
        "Cargo.lock",
        "web/package-lock.json",
        "CHANGELOG.md",
        "docs/CHANGELOG",
        "../outside.rs",
        "/etc/nothing",
        "",
    ];
    for file in free {
        for session in ["s1", "s2"] {
            assert_eq!(claude(&home, session, &repo, file), None, "{file}");
        }
    }
    assert_eq!(held(&home), [""; 0]);
    // The project's setting replaces the default; another agent's explicit hold does not block either.
    std::fs::write(repo.join("tenure.toml"), "[guard]\nrelaxed = [\"*.gen\", \"api/\", \"/top\"]\n").unwrap();
    home.ok_as("x", &["reserve", "a.gen", "api/", "top"]);
    for file in ["a.gen", "deep/b.gen", "api/x/y.rs", "top"] {
        assert_eq!(claude(&home, "s1", &repo, file), None, "{file}");
    }
    assert_eq!(claude(&home, "s1", &repo, "Cargo.lock"), None);
    assert!(claude(&home, "s2", &repo, "Cargo.lock").is_some(), "the usual ones are not set");
}

#[test]
fn inv_r10_a_file_is_guarded_where_it_is_whatever_the_directory_of_the_session() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("something");
        begin(&home, "claude", &["s1", "s2"]);
        home.git_init("other");
        std::fs::create_dir_all(home.path("plain")).unwrap();
        let file = home.repo().join("src/a.rs");
        std::fs::create_dir_all(home.repo().join("src")).unwrap();
        std::os::unix::fs::symlink("a.rs", home.repo().join("src/link.rs")).unwrap();
        std::os::unix::fs::symlink(home.repo(), home.path("way")).unwrap();
        assert_eq!(claude(&home, "s1", &home.repo(), "src/a.rs"), None);
        for (cwd, name) in [
            (home.path("plain"), file.to_str().unwrap().to_owned()),
            (home.path("other"), file.to_str().unwrap().to_owned()),
            (home.path("other"), "../repo/src/a.rs".to_owned()),
            (home.path("plain"), "../way/src/a.rs".to_owned()),
            (home.repo().join("src"), "a.rs".to_owned()),
            (home.repo().join("src"), "link.rs".to_owned()),
        ] {
            assert!(claude(&home, "s2", &cwd, &name).is_some(), "{name} from {}", cwd.display());
        }
        assert_eq!(claude(&home, "s2", &home.path("other"), "x.rs"), None, "not switched on");
        assert_eq!(held(&home), ["claude-s1 src/a.rs"]);
    }
}

#[test]
fn inv_r2_two_worktrees_and_one_file_both_pass_and_both_are_told() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("something");
        begin(&home, "claude", &["s1", "s2"]);
        begin(&home, "gemini", &["s3", "s4"]);
        home.git("repo", &["worktree", "add", "-q", "../side"]);
        let side = home.path("side");
        assert_eq!(claude(&home, "s1", &home.repo(), "a.rs"), None);
        let output = send(&home, "claude", "PreToolUse", &edit("claude", "s2", &side, "a.rs"));
        let told = context("claude", "PreToolUse", &output.stdout);
        assert!(told.contains("claude-s1") && told.contains("a.rs") && told.chars().count() <= 300, "{told}");
        assert_eq!(claude(&home, "s2", &side, "a.rs"), None, "told once");
        let prompt = |tool: &str, event: &str, session: &str, cwd: &Path| {
            send(&home, tool, event, &json!({ "session_id": session, "cwd": cwd, "prompt": "x" })).stdout
        };
        let told = context("claude", "UserPromptSubmit", &prompt("claude", "UserPromptSubmit", "s1", &home.repo()));
        assert!(told.contains("claude-s2") && told.contains("a.rs"), "{told}");
        assert_eq!(prompt("claude", "UserPromptSubmit", "s1", &home.repo()), "");
        // A tool that gets no context before an edit gets it with the next prompt.
        assert_eq!(send(&home, "gemini", "BeforeTool", &edit("gemini", "s3", &side, "b.rs")).stdout, "");
        assert_eq!(send(&home, "gemini", "BeforeTool", &edit("gemini", "s4", &home.repo(), "b.rs")).stdout, "");
        for (session, cwd) in [("s3", &side), ("s4", &home.repo())] {
            let told = context("gemini", "BeforeAgent", &prompt("gemini", "BeforeAgent", session, cwd));
            assert!(told.contains("b.rs") && told.contains("another checkout"), "{told}");
        }
        assert_eq!(held(&home).len(), 4);
    }
}

#[test]
fn inv_r10_files_of_several_checkouts_are_taken_together_or_given_back() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1"]);
    begin(&home, "codex", &["s2"]);
    home.git("repo", &["worktree", "add", "-q", "../side"]);
    let side = home.path("side");
    assert_eq!(claude(&home, "s1", &side, "b.rs"), None);
    let text = "*** Begin Patch\n*** Update File: a.rs\n@@\n-a\n+b\n*** Update File: ../side/b.rs\n@@\n-a\n+b\n*** End Patch\n";
    let output = send(&home, "codex", "PreToolUse", &patch("s2", &home.repo(), text));
    refusal("codex", "PreToolUse", &output.stdout);
    assert_eq!(held(&home), ["claude-s1 b.rs"]);
    home.call(&["release", "./b.rs"]).agent("claude-s1").cwd(&side).run();
    assert_eq!(send(&home, "codex", "PreToolUse", &patch("s2", &home.repo(), text)).stdout, "");
    assert_eq!(held(&home), ["codex-s2 a.rs", "codex-s2 b.rs"]);
}

#[test]
fn inv_i1_what_a_sub_agent_edits_its_session_holds() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1"]);
    let mut sub = edit("claude", "s1", &home.repo(), "a.rs");
    sub["agent_id"] = json!("helper");
    assert_eq!(send(&home, "claude", "PreToolUse", &sub).stdout, "");
    assert_eq!(claude(&home, "s1", &home.repo(), "a.rs"), None);
    assert_eq!(held(&home), ["claude-s1 a.rs"]);
    let reserved = home.events().into_iter().find(|event| event.kind == "path.reserved").unwrap();
    assert_eq!(reserved.data["sub_agent"], "helper");
}

#[test]
fn inv_r10_no_name_or_reason_changes_a_decision_or_is_run() {
    let home = Home::new(Engine::File);
    home.add("$(touch pwned) `touch pwned` \"; touch pwned; ' \\");
    TOOLS.into_iter().for_each(|(tool, _)| begin(&home, tool, &["s1", "s2"]));
    home.ok_as("claude-s1", &["claim"]);
    let names = [
        "$(touch pwned)",
        "`touch pwned`",
        "a; touch pwned",
        "a' || touch pwned '",
        "a\" && touch pwned \"",
        "-x",
        "--hard",
        "a\nb",
        "a\u{2028}b",
        "[id].tsx",
        "glob:*",
        "%41",
        "\\",
        "{\"permissionDecision\":\"allow\"}",
        "a\u{202e}b",
        "é",
        "a b",
        "*",
        "~",
        "#",
    ];
    for name in names {
        for (tool, event) in TOOLS.into_iter().filter(|(tool, _)| *tool != "codex" || !name.contains('\n')) {
            let own = send(&home, tool, event, &edit(tool, "s1", &home.repo(), &format!("{tool}/{name}")));
            assert_eq!(own.stdout, "", "{tool} {name:?}");
            let other = send(&home, tool, event, &edit(tool, "s2", &home.repo(), &format!("{tool}/{name}")));
            let reason = refusal(tool, event, &other.stdout);
            assert!(!reason.contains(['\n', '\0', '\u{2028}', '\u{202e}']), "{reason:?}");
        }
    }
    // No file can have such a name: the hook reports that it could not check, and allows it.
    let odd = send(&home, "claude", "PreToolUse", &edit("claude", "s2", &home.repo(), "a\0b"));
    assert!(!odd.stdout.contains("permissionDecision") && odd.stdout.contains("additionalContext"), "{}", odd.stdout);
    assert!(home.files("repo").iter().all(|file| !file.ends_with("pwned")));
}

#[test]
fn inv_r10_of_two_guards_that_race_one_is_let_through() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("something");
        begin(&home, "claude", &["s1", "s2"]);
        for session in ["s1", "s2"] {
            claude(&home, session, &home.repo(), &format!("warm-{session}"));
        }
        let rounds = amount(10, 40);
        for round in 0..rounds {
            let file = format!("f{round}");
            let refused: Vec<bool> = std::thread::scope(|scope| {
                let go = |session: &'static str| {
                    let (home, file) = (&home, &file);
                    scope.spawn(move || claude(home, session, &home.repo(), file).is_some())
                };
                let both = [go("s1"), go("s2")];
                both.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_ne!(refused[0], refused[1], "{engine:?} {file}");
        }
        assert_eq!(held(&home).len(), rounds + 2);
        home.replayed();
    }
}

#[test]
fn inv_r10_a_tracked_file_is_guarded_although_a_pattern_ignores_it() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1", "s2"]);
    let repo = home.repo();
    std::fs::write(repo.join("kept.log"), "").unwrap();
    std::fs::write(repo.join(".gitignore"), "*.log\n").unwrap();
    home.git("repo", &["add", "-f", "kept.log"]);
    home.git("repo", &["worktree", "add", "-q", "../side"]);
    assert_eq!(claude(&home, "s1", &repo, "kept.log"), None);
    assert!(claude(&home, "s2", &repo, "kept.log").is_some());
    assert_eq!((claude(&home, "s1", &repo, "a.log"), claude(&home, "s2", &repo, "a.log")), (None, None));
    assert_eq!(held(&home), ["claude-s1 kept.log"]);
    // Each worktree has its own index.
    let side = home.path("side");
    std::fs::write(side.join(".gitignore"), "*.log\n").unwrap();
    assert_eq!((claude(&home, "s1", &side, "kept.log"), claude(&home, "s2", &side, "kept.log")), (None, None));
    std::fs::write(repo.join(".git/index"), "no index").unwrap();
    assert_eq!(claude(&home, "s1", &repo, "a.log"), None);
    assert!(claude(&home, "s2", &repo, "a.log").is_some(), "what cannot be read is guarded");
}

#[test]
fn guards_that_are_off_let_everything_through() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1", "s2"]);
    let repo = home.repo();
    assert_eq!(claude(&home, "s1", &repo, "a.rs"), None);
    assert!(claude(&home, "s2", &repo, "a.rs").is_some() && bash(&home, "s2", "git stash").is_some());
    home.ok(&["off", "--for", "5m"]);
    assert_eq!((claude(&home, "s2", &repo, "a.rs"), bash(&home, "s2", "git stash")), (None, None));
    home.ok(&["off", "--end"]);
    assert!(claude(&home, "s2", &repo, "a.rs").is_some() && bash(&home, "s2", "git stash").is_some());
    for payload in [
        edit("claude", "s2", &repo, "a.rs"),
        json!({ "session_id": "s2", "cwd": repo, "tool_name": "Bash", "tool_input": { "command": "git stash" } }),
    ] {
        let call = home.call(&["hook", "claude", "PreToolUse"]).env("TENURE_OFF", "1");
        assert_eq!(call.input(payload.to_string().as_bytes()).run().stdout, "");
    }
    assert_eq!(held(&home), ["claude-s1 a.rs"]);
}

#[test]
fn inv_r10_a_holder_that_is_gone_stands_in_nobodys_way() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s2"]);
    let mut tool = crate::session::Tool::new(&home, "claude", "CLAUDECODE=1");
    tool.start("s1", "startup");
    let file = json!({ "tool_name": "Edit", "tool_input": { "file_path": home.repo().join("a.rs") } });
    assert_eq!(tool.hook("PreToolUse", "s1", &file), "");
    assert!(claude(&home, "s2", &home.repo(), "a.rs").is_some());
    tool.kill();
    assert_eq!(claude(&home, "s2", &home.repo(), "a.rs"), None);
    assert_eq!(held(&home), ["claude-s2 a.rs"]);
}

/// 32 processes race for one path: one gets it, the others are told its name.
fn one_has_the_path(engine: Engine, rounds: usize) {
    let home = Home::new(engine);
    home.add("something");
    for round in 0..rounds {
        let path = format!("src/f{round}.rs");
        let call = |number: usize| home.call(&["reserve", &path]).json().agent(&format!("racer-{number}"));
        let outputs = crate::race::Line::of_calls((0..32).map(call).collect()).go().finish();
        let winners: Vec<usize> = (0..32).filter(|number| outputs[*number].code == 0).collect();
        assert_eq!(winners.len(), 1, "{path}: {winners:?}");
        for (number, output) in outputs.into_iter().enumerate().filter(|(number, _)| *number != winners[0]) {
            let refused = output.refusal();
            refused.is("conflict", "path_held");
            assert_eq!(refused.detail("blockers")[0]["holder"], format!("racer-{}", winners[0]), "{number}");
        }
    }
    assert_eq!(home.events().iter().filter(|event| event.kind == "path.reserved").count(), rounds);
    home.replayed();
}

#[test]
fn inv_l1_one_of_32_processes_wins_a_path_on_sqlite() {
    one_has_the_path(Engine::File, amount(10, 30));
}

#[test]
fn inv_l1_one_of_32_processes_wins_a_path_on_postgres() {
    one_has_the_path(Engine::Postgres, amount(10, 15));
}
