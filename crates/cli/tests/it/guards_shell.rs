//! The guard of shell commands: a command that changes a whole working tree is refused while others hold paths there.

use serde_json::json;

use crate::guards::{begin, claude, held, send};
use crate::home::{Engine, Home};
use crate::hooks::refusal;

pub(crate) fn bash(home: &Home, session: &str, line: &str) -> Option<String> {
    let payload =
        json!({ "session_id": session, "cwd": home.repo(), "tool_name": "Bash", "tool_input": { "command": line } });
    let output = send(home, "claude", "PreToolUse", &payload);
    (!output.stdout.is_empty()).then(|| refusal("claude", "PreToolUse", &output.stdout))
}

#[test]
fn inv_r13_whole_tree_commands_are_refused_while_others_hold_paths_there() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("something");
        begin(&home, "claude", &["s1", "s2"]);
        begin(&home, "gemini", &["s9"]);
        home.git_init("elsewhere");
        std::fs::write(home.repo().join("README"), "").unwrap();
        home.git("repo", &["worktree", "add", "-q", "../side"]);
        home.git("repo", &["config", "alias.nuke", "reset --hard"]);
        std::fs::write(home.path("home/.gitconfig"), "[alias]\n\tzap = !git clean -fd\n").unwrap();
        let lines = [
            "git stash",
            "git reset --hard HEAD~1",
            "git checkout main",
            "git checkout .",
            "git switch main",
            "git restore :/",
            "git clean -fdx",
            "git rebase main",
            "git pull",
            "git merge x",
            "git add -A && git stash -u",
            "cd . && git stash",
            "bash -c 'git stash'",
            "git nuke",
            "git zap",
            "git -c x=y stash",
            "(git stash)",
            "sudo git stash",
            "git -C . stash pop",
            "cd .. && git -C repo stash",
        ];
        for line in lines {
            assert_eq!(bash(&home, "s2", line), None, "nobody holds anything: {line}");
        }
        assert_eq!(claude(&home, "s1", &home.repo(), "src/a.rs"), None);
        for line in lines {
            let reason = bash(&home, "s2", line).unwrap_or_else(|| panic!("{line} is let through"));
            assert!(
                reason.contains("claude-s1") && reason.contains("src/a.rs") && reason.contains("A person"),
                "{reason}"
            );
            assert_eq!(bash(&home, "s1", line), None, "only its own: {line}");
        }
        for line in [
            "git status",
            "git stash list",
            "git checkout -b mine",
            "git checkout README",
            "git checkout -- README",
            "git -C ../side stash",
            "cd ../side && git stash",
            "cd ../elsewhere && git reset --hard",
            "echo git stash",
            "cargo test",
            "git commit -m 'git reset --hard'",
        ] {
            assert_eq!(bash(&home, "s2", line), None, "{line}");
        }
        let at = |dir: &str| {
            let input = json!({ "command": "git stash", "directory": dir });
            let payload = json!({ "session_id": "s9", "cwd": home.repo(), "tool_name": "run_shell_command", "tool_input": input });
            send(&home, "gemini", "BeforeTool", &payload).stdout
        };
        assert_eq!(at("../side"), "");
        refusal("gemini", "BeforeTool", &at("."));
        let before = home.events().len();
        bash(&home, "s2", "git stash");
        assert_eq!(
            (home.events().len(), held(&home)),
            (before, vec!["claude-s1 src/a.rs".to_owned()]),
            "it reads only"
        );
    }
}

#[test]
fn inv_r13_a_command_of_a_session_that_nobody_began_is_refused_too() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1"]);
    assert_eq!(claude(&home, "s1", &home.repo(), "src/a.rs"), None);
    let input = json!({ "command": "git stash" });
    let payload =
        json!({ "session_id": "new", "cwd": home.repo(), "tool_name": "run_shell_command", "tool_input": input });
    let reason = refusal("gemini", "BeforeTool", &send(&home, "gemini", "BeforeTool", &payload).stdout);
    assert!(reason.contains("claude-s1") && reason.contains("src/a.rs"), "{reason}");
}

#[test]
fn inv_r13_a_command_is_refused_wherever_it_may_run_and_whatever_it_is_limited_to() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1", "s2"]);
    home.git("repo", &["worktree", "add", "-q", "../side"]);
    for file in ["src/f1", "src/f2", "own/x"] {
        std::fs::create_dir_all(home.repo().join(file).parent().unwrap()).unwrap();
        std::fs::write(home.repo().join(file), "").unwrap();
    }
    assert_eq!(claude(&home, "s1", &home.repo(), "src/f1"), None);
    let top = home.repo().display().to_string();
    let long = "x".repeat(100_000);
    let deep = "$(".repeat(60);
    let refused = [
        "cd /nonexist; git stash",
        "false && cd ../side; git stash",
        "if false; then cd ../side; fi; git stash",
        "cd ../side || git stash",
        "cd ../side & git stash",
        "cd ../side | git stash",
        "cd ../side; cd -; git stash",
        "pushd ../side; popd; git stash",
        "f() { cd ../side; }; git stash",
        "cd ../side && f() { git stash; }; cd ../repo && f",
        "git clean -fd src/",
        "git stash push -- src",
        "git checkout -- src/f1",
        "git checkout src/f1",
        "git restore src",
        "git checkout feature -- src",
        "git restore ../repo",
        &format!("git checkout -- {top}"),
        "git checkout -- \"$PWD\"",
        "git restore ':(glob)**'",
        "git restore --pathspec-from-file=list",
        "git rm -rf .",
        "cd src && git checkout .",
        &format!("cd ../side && git worktree remove --force {top}"),
        &format!(": {long}; git stash"),
        &format!("echo {deep} git stash"),
        "bash <<EOF\ngit stash\nEOF",
    ];
    for line in refused {
        let reason =
            bash(&home, "s2", line).unwrap_or_else(|| panic!("{} is let through", &line[..line.len().min(80)]));
        assert!(reason.contains("claude-s1") && reason.contains("src/f1"), "{reason}");
        assert_eq!(bash(&home, "s1", line), None, "only its own: {}", &line[..line.len().min(80)]);
    }
    for line in [
        "git restore --staged src/f1",
        "git checkout -b new",
        "git stash list",
        "git stash show",
        "git checkout -- own/x",
        "git checkout -- src/f2",
        "git restore own",
        "git clean -fd own",
        "git stash push -m src -- own/x",
        "cd own && git checkout .",
        "cd ../side && git stash",
        "cd ../side; git stash",
        "cd ../side || exit 1\ngit stash",
        "git worktree remove --force ../side",
        "cat > notes.md <<EOF\ngit stash\nEOF",
    ] {
        assert_eq!(bash(&home, "s2", line), None, "{line}");
    }
}
