//! The commit guard in real repositories with real git: which commits are refused or allowed, and which holds end with
//! a commit.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::home::{Engine, Home, TENURE, text};

/// The result of a git command.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) said: String,
}

impl Done {
    #[track_caller]
    pub(crate) fn ok(self) -> Done {
        assert_eq!(self.code, 0, "{}", self.said);
        self
    }

    /// The commit succeeded without a message from tenure.
    #[track_caller]
    pub(crate) fn silent(self) {
        assert_eq!(self.code, 0, "{}", self.said);
        assert!(!self.said.contains("tenure"), "{}", self.said);
    }

    #[track_caller]
    pub(crate) fn refused(self, parts: &[&str]) -> String {
        assert_eq!(self.code, 1, "{}", self.said);
        for part in parts {
            assert!(self.said.contains(part), "{part}: {}", self.said);
        }
        self.said
    }
}

impl Home {
    /// A PATH that includes `tenure`.
    pub(crate) fn with_tenure(&self) -> std::ffi::OsString {
        let bin = self.path("bin");
        if !bin.exists() {
            std::fs::create_dir(&bin).unwrap();
            std::os::unix::fs::symlink(TENURE, bin.join("tenure")).unwrap();
        }
        let mut path = bin.into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        path
    }

    /// Git in a directory, as an agent or, without a name, as the person ann.
    pub(crate) fn git_as(&self, agent: &str, dir: &str, args: &[&str]) -> Done {
        self.git_with(agent, dir, args, &[])
    }

    pub(crate) fn git_with(&self, agent: &str, dir: &str, args: &[&str], more: &[(&str, &str)]) -> Done {
        let mut git = self.clean(OsStr::new("git"));
        for key in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{key}_NAME"), "ann").env(format!("GIT_{key}_EMAIL"), "ann@example.com");
        }
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("PATH", self.with_tenure()).args(["-c", "protocol.file.allow=always"]);
        if !agent.is_empty() {
            git.env("TENURE_AGENT", agent);
        }
        git.envs(more.iter().copied()).args(args).stdin(Stdio::null());
        let output = git.current_dir(self.path(dir)).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        Done { code: output.status.code().unwrap_or(-1), said }
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Writes files of the repository and stages them.
    fn stage(&self, files: &[&str]) {
        for file in files {
            self.write(&format!("repo/{file}"), &format!("{file} {}", nanos()));
        }
        let files: Vec<&str> = files.to_vec();
        self.git_as("", "repo", &[&["--literal-pathspecs", "add", "--"], files.as_slice()].concat()).ok();
    }

    fn commit(&self, agent: &str) -> Done {
        self.git_as(agent, "repo", &["commit", "-m", "x"])
    }

    pub(crate) fn setup_git(&self, dir: &str) {
        self.call(&["setup", "git", "--yes"]).env("PATH", self.with_tenure()).cwd(self.path(dir)).json().run().data();
    }

    fn guarded(engine: Engine) -> Home {
        let home = Home::new(engine);
        home.setup_git("repo");
        home
    }

    fn subjects(&self, agent: &str) -> Vec<String> {
        let mine = self.ok_as(agent, &["holds", "--mine", "--kind", "path"]);
        let mut subjects: Vec<String> =
            mine["items"].as_array().unwrap().iter().map(|hold| text(&hold["subject"])).collect();
        subjects.sort();
        subjects
    }
}

/// Unique content for a file.
fn nanos() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
}

#[test]
fn inv_r12_staged_paths_of_another_are_refused_with_the_narrower_commit() {
    for engine in Engine::ALL {
        let home = Home::guarded(engine);
        home.stage(&["src/a.rs", "src/b c.rs"]);
        home.commit("a").silent();
        home.ok_as("b", &["reserve", "src/a.rs", "--reason", "new index"]);
        home.stage(&["src/a.rs", "src/b c.rs", "d.rs"]);
        let said = home.commit("a").refused(&[
            "tenure: the commit is refused: src/a.rs is held by b",
            "b is alive (last seen",
            "has held src/a.rs (exclusive) for",
            "and keeps it for",
            "for “new index”",
            "tenure why h-",
            "tenure send --about h-",
            "A person can end the hold",
        ]);
        let last = said.trim_end().lines().last().unwrap().trim();
        assert_eq!(last, "git commit --only -- d.rs 'src/b c.rs'", "{said}");
        // The suggested command works as stated.
        home.git_as("a", "repo", &["commit", "-m", "x", "--only", "--", "d.rs", "src/b c.rs"]).silent();
        home.commit("b").silent();
        assert_eq!(home.subjects("b"), [""; 0], "committed and clean");
        home.replayed();
    }
}

#[test]
fn inv_r12_people_are_told_in_one_line_and_let_through_unless_set_otherwise() {
    let home = Home::guarded(Engine::File);
    home.ok_as("b", &["reserve", "a", "c"]);
    home.stage(&["a", "c"]);
    let said = home.commit("").ok().said;
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("tenure")).collect();
    assert!(lines.len() == 1 && lines[0].contains("a: b is alive") && lines[0].contains("1 more"), "{said}");
    home.write("repo/tenure.toml", "[guard]\npeople = \"refuse\"\n");
    home.stage(&["a"]);
    home.commit("").refused(&["a is held by b"]);
    // An agent tool that does not identify its session has no holds of its own.
    home.write("repo/tenure.toml", "");
    home.git_with("", "repo", &["commit", "-m", "x"], &[("GEMINI_CLI", "1")])
        .refused(&["a is held by b", "set TENURE_AGENT"]);
    home.git_with("", "repo", &["commit", "-m", "x"], &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "s1")])
        .refused(&["a is held by b"]);
}

#[test]
fn inv_r12_renames_deletions_and_every_way_to_commit_are_covered() {
    let home = Home::guarded(Engine::File);
    home.stage(&["old", "gone", "changed", "free"]);
    home.commit("").silent();
    home.ok_as("b", &["reserve", "old", "gone", "changed", "new"]);
    home.git_as("", "repo", &["mv", "old", "moved"]).ok();
    home.commit("a").refused(&["old is held by b"]);
    home.git_as("", "repo", &["mv", "moved", "old"]).ok();
    home.git_as("", "repo", &["mv", "free", "new"]).ok();
    home.commit("a").refused(&["new is held by b"]);
    home.git_as("", "repo", &["mv", "new", "free"]).ok();
    home.git_as("", "repo", &["rm", "-q", "gone"]).ok();
    home.commit("a").refused(&["gone is held by b", "Nothing else is staged."]);
    home.git_as("", "repo", &["reset", "-q", "--hard"]).ok();
    home.write("repo/changed", "more");
    home.write("repo/free", "more");
    home.git_as("a", "repo", &["commit", "-a", "-m", "x"]).refused(&["changed is held by b"]);
    home.git_as("a", "repo", &["commit", "-m", "x", "changed"]).refused(&["changed is held by b"]);
    home.git_as("a", "repo", &["commit", "-m", "x", "--only", "free"]).silent();
    home.git_as("", "repo", &["add", "-A"]).ok();
    home.git_as("a", "repo", &["commit", "-q", "--amend", "--no-edit"]).refused(&["changed is held by b"]);
    home.git_as("b", "repo", &["commit", "-q", "--amend", "--no-edit"]).silent();
    home.git_as("a", "repo", &["commit", "--allow-empty", "-m", "x"]).silent();
    // From a subdirectory, the suggested command still names the right files.
    home.write("repo/sub/x", "x");
    home.write("repo/changed", "again");
    home.git_as("", "repo", &["add", "-A"]).ok();
    home.ok_as("b", &["reserve", "changed"]);
    let said = home.git_as("a", "repo/sub", &["commit", "-m", "x"]).refused(&["changed is held by b"]);
    assert!(said.trim_end().ends_with(&format!("git -C {} commit --only -- sub/x", home.repo().display())), "{said}");
}

#[test]
fn inv_r12_an_unborn_branch_and_a_merge_are_guarded_too() {
    let home = Home::without_git(Engine::File);
    home.git("repo", &["init", "-q", "-b", "main"]);
    home.setup_git("repo");
    home.ok_as("b", &["reserve", "first"]);
    home.stage(&["first"]);
    home.commit("a").refused(&["first is held by b"]);
    home.commit("b").silent();
    // A merge with a conflict is committed by hand, with all its files.
    home.git_as("", "repo", &["checkout", "-q", "-b", "side"]).ok();
    home.stage(&["first", "brought"]);
    home.commit("").silent();
    home.git_as("", "repo", &["checkout", "-q", "main"]).ok();
    home.stage(&["first"]);
    home.commit("").silent();
    assert_eq!(home.git_as("a", "repo", &["merge", "-q", "side"]).code, 1);
    home.write("repo/first", "resolved");
    home.git_as("", "repo", &["add", "first"]).ok();
    home.ok_as("b", &["reserve", "brought"]);
    home.commit("a").refused(&["brought is held by b", "only with the whole merge"]);
    home.commit("b").silent();
}

#[test]
fn inv_r12_a_rename_is_committed_whole_or_not_at_all() {
    let home = Home::guarded(Engine::File);
    home.write("repo/long", &"a line of some length\n".repeat(20));
    home.stage(&["free"]);
    home.git_as("", "repo", &["add", "-A"]).ok();
    home.commit("").silent();
    home.ok_as("b", &["reserve", "src/target"]);
    std::fs::create_dir_all(home.path("repo/src")).unwrap();
    home.git_as("", "repo", &["mv", "long", "src/target"]).ok();
    let said = home.commit("a").refused(&["src/target is held by b", "part of the same rename"]);
    assert!(!said.contains("git commit"), "{said}");
    home.stage(&["free"]);
    let said = home.commit("a").refused(&["src/target is held by b"]);
    assert!(said.trim_end().ends_with("git commit --only -- free"), "{said}");
    // A command that would name only some of the files is not suggested.
    let many: Vec<String> = (0..40).map(|n| format!("many/{n}")).collect();
    home.stage(&many.iter().map(String::as_str).collect::<Vec<_>>());
    let said = home.commit("a").refused(&["41 other staged files are free", "by name"]);
    assert!(!said.contains("git commit"), "{said}");
}

#[test]
fn inv_r12_a_merge_that_makes_its_commit_itself_is_guarded_and_recorded() {
    let home = Home::guarded(Engine::File);
    home.git_as("", "repo", &["checkout", "-q", "-b", "side"]).ok();
    home.stage(&["brought", "besides"]);
    home.commit("").silent();
    home.git_as("", "repo", &["checkout", "-q", "main"]).ok();
    home.stage(&["other"]);
    home.commit("").silent();
    home.ok_as("b", &["reserve", "brought"]);
    home.git_as("a", "repo", &["merge", "-q", "--no-edit", "side"])
        .refused(&["brought is held by b", "only with the whole merge"]);
    home.git_as("a", "repo", &["merge", "--abort"]).ok();
    assert_eq!(home.subjects("b"), ["brought"]);
    home.git_as("b", "repo", &["merge", "-q", "--no-edit", "side"]).silent();
    assert_eq!(home.subjects("b"), [""; 0], "what came with the merge and is clean is given back");
    // A fast-forward contains commits of others.
    home.git_as("", "repo", &["checkout", "-q", "-b", "ahead"]).ok();
    home.stage(&["next"]);
    home.commit("").silent();
    home.git_as("", "repo", &["checkout", "-q", "main"]).ok();
    let before = home.events().len();
    home.git_as("a", "repo", &["merge", "-q", "ahead"]).silent();
    assert_eq!(home.events().len(), before);
}

#[test]
fn inv_r2_two_worktrees_commit_the_same_file_and_are_told() {
    for engine in Engine::ALL {
        let home = Home::guarded(engine);
        home.stage(&["x", "y"]);
        home.commit("").silent();
        home.git_as("", "repo", &["worktree", "add", "-q", "../second"]).ok();
        let reserve =
            |agent: &str, dir: &str, args: &[&str]| home.call(args).json().agent(agent).cwd(home.path(dir)).run();
        reserve("a", "repo", &["reserve", "x"]).data();
        reserve("b", "second", &["reserve", "x"]).data();
        reserve("c", "second", &["reserve", "y", "--all-checkouts"]).data();
        home.write("second/x", "b was here");
        home.git_as("a", "second", &["commit", "-q", "-a", "-m", "x"]).refused(&["x is held by b"]);
        home.git_as("b", "second", &["commit", "-q", "-a", "-m", "x"]).silent();
        assert_eq!((home.subjects("a"), home.subjects("b")), (vec!["x".to_owned()], Vec::new()));
        let mail = home.ok_as("a", &["inbox"]);
        let note = &mail["items"][0];
        assert_eq!((&note["notice"], mail["items"].as_array().unwrap().len()), (&json!(true), 1));
        let said = text(&note["text"]);
        assert!(said.starts_with("b committed x as ") && said.ends_with("in another checkout."), "{said}");
        for other in ["b", "c"] {
            assert_eq!(home.ok_as(other, &["inbox"])["items"], json!([]), "{other}");
        }
        // A hold for all checkouts applies here too.
        home.stage(&["y"]);
        home.commit("a").refused(&["y is held by c", "in all checkouts"]);
        home.replayed();
    }
}

#[test]
fn inv_r12_an_own_hold_that_was_lost_is_named_with_whoever_had_it_since() {
    let home = Home::guarded(Engine::File);
    home.ok_as("a", &["reserve", "x", "--ttl", "1s"]);
    home.stage(&["x"]);
    // The end of a second can only be polled.
    while home.call(&["check", "x"]).agent("b").run().code != 0 {}
    home.ok_as("b", &["reserve", "x"]);
    home.ok_as("b", &["release", "x"]);
    let said = home.commit("a").refused(&["your hold on x was lost", "expired", "b took it", "tenure reserve ./x"]);
    assert!(said.trim_end().ends_with("Nothing else is staged."), "{said}");
    home.commit("c").silent();
    home.stage(&["x"]);
    home.ok_as("a", &["reserve", "x"]);
    home.commit("a").silent();
}

#[test]
fn inv_l12_what_is_committed_and_clean_is_given_back() {
    let home = Home::guarded(Engine::File);
    let task = home.add("one");
    home.ok_as("a", &["claim", &task]);
    home.ok_as("a", &["reserve", "clean", "dirty", "later", "src/", "untracked"]);
    home.stage(&["clean", "dirty", "src/x", "untracked"]);
    home.commit("").ok();
    home.stage(&["clean", "dirty", "src/x"]);
    home.git_as("", "repo", &["rm", "-q", "--cached", "untracked"]).ok();
    home.write("repo/dirty", "more to come");
    home.git_as("a", "repo", &["commit", "-q", "-m", "x"]).silent();
    assert_eq!(home.subjects("a"), ["dirty", "later", "src/", "untracked"]);
    let events = home.events();
    let committed = events.iter().rfind(|event| event.kind == "path.committed" && event.actor == "a").unwrap();
    assert_eq!(committed.data["paths"], json!(["clean", "dirty", "src/x", "untracked"]));
    assert_eq!(committed.data["task"], json!(task));
    let why = home.run(&["log", "--limit", "5"]).stdout;
    assert!(why.contains("was released by the commit"), "{why}");
    home.replayed();
}

#[test]
fn inv_r10_hostile_names_and_reasons_change_nothing_and_run_nothing() {
    let home = Home::guarded(Engine::File);
    let names = [
        "$(touch pwned)",
        "`touch pwned`",
        "-x",
        "--exec=touch pwned",
        "new\nline",
        "sep\u{2028}arator",
        "quote'\"s",
        ":(top)magic",
        "star*[a]?",
        "; touch pwned #",
        " lead and trail ",
        "glob:x",
        "esc\u{1b}[2J",
    ];
    let reason = "$(touch pwned) `touch pwned`\n\t\"'; touch pwned #";
    for name in names {
        home.call(&["reserve", "--reason", reason, "--", &format!("path:{name}")]).agent("b").json().run().data();
    }
    home.stage(&names);
    home.stage(&["fine $(touch pwned)", "fine"]);
    let said = home
        .commit("a")
        .refused(&["staged files are held by other agents", "git commit --only -- fine 'fine $(touch pwned)'"]);
    assert!(!said.contains('\u{1b}') && !said.contains('\u{2028}'), "{said:?}");
    for name in names {
        home.git_as("", "repo", &["reset", "-q"]).ok();
        home.git_as("", "repo", &["--literal-pathspecs", "add", "--", name]).ok();
        home.commit("a").refused(&["is held by b"]);
    }
    home.git_as("", "repo", &["reset", "-q"]).ok();
    home.git_as("", "repo", &["add", "-A"]).ok();
    home.commit("b").silent();
    assert_eq!(home.subjects("b"), [""; 0]);
    assert!(!home.files("").iter().any(|file| file.ends_with("pwned")));
}

#[test]
fn inv_r1_names_that_are_no_text_are_held_and_guarded() {
    let home = Home::guarded(Engine::File);
    let name = OsStr::from_bytes(b"bad\xff.rs");
    home.call(&[OsStr::new("reserve"), name]).agent("b").run();
    std::fs::write(home.repo().join(name), "x").unwrap();
    home.write("repo/fine", "x");
    home.git_as("", "repo", &["add", "-A"]).ok();
    home.commit("a").refused(&["bad%FF.rs is held by b"]);
    home.commit("b").silent();
    assert_eq!(home.subjects("b"), [""; 0]);
}

#[test]
fn inv_r12_a_submodule_is_a_path_of_its_checkout() {
    let home = Home::guarded(Engine::File);
    home.git_init("lib");
    home.git_as("", "repo", &["submodule", "--quiet", "add", "../lib", "vendor/lib"]).ok();
    home.commit("").silent();
    home.ok_as("b", &["reserve", "glob:vendor/*"]);
    home.git_as("", "repo/vendor/lib", &["commit", "-q", "--allow-empty", "-m", "inside"]).ok();
    home.git_as("", "repo", &["add", "vendor/lib"]).ok();
    home.commit("a").refused(&["vendor/lib is held by b"]);
    home.commit("b").silent();
}

#[test]
fn inv_r2_a_submodule_typed_by_its_name_is_the_path_that_commits_change() {
    let home = Home::guarded(Engine::File);
    home.git_init("lib");
    home.git_as("", "repo", &["submodule", "--quiet", "add", "../lib", "vendor/lib"]).ok();
    home.commit("").silent();
    let held = home.ok_as("b", &["reserve", "vendor/lib"]);
    assert_eq!(held["holds"][0]["subject"], "vendor/lib");
    home.refused_as("a", &["reserve", "vendor/lib"]).is("conflict", "path_held");
    // Together with other paths of the outer checkout, in one call.
    home.ok_as("b", &["reserve", "vendor/lib", "README"]);
    home.ok_as("b", &["release", "README"]);
    home.git_as("", "repo/vendor/lib", &["commit", "-q", "--allow-empty", "-m", "inside"]).ok();
    home.git_as("", "repo", &["add", "vendor/lib"]).ok();
    home.commit("a").refused(&["vendor/lib is held by b"]);
    home.commit("b").silent();
    assert_eq!(home.subjects("b"), [""; 0], "committed, so given back");
    // Paths below it belong to another checkout and project.
    home.ok_as("a", &["reserve", "vendor/lib"]);
    for inside in ["vendor/lib/x", "vendor/lib/"] {
        home.ok_as("b", &["reserve", inside]);
    }
    home.refused_as("b", &["reserve", "vendor/lib", "vendor/lib/x"]).is("usage", "several_checkouts");
    let there = home.call(&["holds"]).cwd(home.path("repo/vendor/lib")).json().run().data();
    assert_eq!(there["items"].as_array().unwrap().len(), 2, "{there}");
    assert_eq!(home.ok(&["holds"])["items"].as_array().unwrap().len(), 1);
    // A submodule that is not checked out is the same path; a nested worktree is not a submodule.
    home.ok_as("a", &["release", "vendor/lib"]);
    home.git_as("", "repo", &["submodule", "--quiet", "deinit", "-f", "vendor/lib"]).ok();
    assert_eq!(home.ok_as("a", &["reserve", "vendor/lib"])["holds"][0]["subject"], "vendor/lib");
    home.git_as("", "repo", &["worktree", "add", "-q", "nested"]).ok();
    assert_eq!(home.ok_as("a", &["reserve", "nested"])["holds"][0]["subject"], "./");
}

#[test]
fn inv_r11_a_name_that_is_none_follows_the_policy_and_is_told() {
    let home = Home::guarded(Engine::File);
    home.ok_as("b", &["reserve", "x"]);
    for (policy, code) in [("open", 0), ("closed", 1)] {
        home.write("repo/tenure.toml", &format!("[guard]\nfail = \"{policy}\"\n"));
        home.stage(&["x"]);
        let done = home.commit("No Name");
        assert_eq!(done.code, code, "{policy}: {}", done.said);
        let told = done.said.lines().filter(|line| line.contains("TENURE_AGENT is not the name of an agent")).count();
        assert_eq!(told, 1, "{policy}: {}", done.said);
    }
}

#[test]
fn inv_r11_a_store_that_cannot_be_reached_follows_the_policy() {
    let home = Home::direct(Engine::File);
    home.setup_git("repo");
    home.ok_as("b", &["reserve", "x"]);
    let store = home.whole_database();
    let kept = home.path("kept.db");
    for broken in ["gone", "damaged"] {
        match broken {
            // Moved, not copied: a store in a different file continues as after a restore.
            "gone" => std::fs::rename(&store, &kept).unwrap(),
            _ => std::fs::write(&store, "no database").unwrap(),
        }
        for (policy, code) in [("open", 0), ("closed", 1)] {
            home.write("repo/tenure.toml", &format!("[guard]\nfail = \"{policy}\"\n"));
            home.stage(&["x"]);
            let done = home.commit("a");
            assert_eq!(done.code, code, "{broken} {policy}: {}", done.said);
            let lines = done.said.lines().filter(|line| line.contains("tenure: could not check")).count();
            assert_eq!(lines, 1, "{broken} {policy}: {}", done.said);
        }
    }
    std::fs::rename(&kept, &store).unwrap();
    home.commit("a").refused(&["x is held by b"]);
    // A read-only store is sufficient for the check, and a commit never fails for what follows it.
    home.ok_as("b", &["release", "x"]);
    home.write("repo/tenure.toml", "[guard]\nfail = \"closed\"\n");
    std::fs::set_permissions(&store, PermissionsExt::from_mode(0o444)).unwrap();
    home.commit("a").ok();
    std::fs::set_permissions(&store, PermissionsExt::from_mode(0o600)).unwrap();
}

#[test]
fn guards_are_silenced_visibly_and_say_nothing_where_nothing_is_switched_on() {
    let home = Home::guarded(Engine::File);
    home.ok_as("b", &["reserve", "x"]);
    home.stage(&["x"]);
    let off = home.git_with("a", "repo", &["commit", "-m", "x"], &[("TENURE_OFF", "1")]).ok();
    assert_eq!(
        off.said.lines().filter(|line| line.contains("Guards are off here because TENURE_OFF is set")).count(),
        1,
        "{}",
        off.said
    );
    home.stage(&["x"]);
    home.ok(&["off", "--for", "1h"]);
    let off = home.commit("a").ok();
    assert_eq!(off.said.lines().filter(|line| line.contains("Guards are off until")).count(), 1, "{}", off.said);
    home.ok(&["off", "--end"]);
    // A relaxed file, which many agents change a little, blocks no commit.
    home.ok_as("b", &["reserve", "Cargo.lock", "sub/CHANGELOG.md"]);
    home.stage(&["Cargo.lock", "sub/CHANGELOG.md"]);
    home.commit("a").silent();
    // A project without events.
    home.git_init("other");
    std::fs::copy(home.repo().join(".git/hooks/pre-commit"), home.path("other/.git/hooks/pre-commit")).unwrap();
    home.write("other/x", "x");
    home.git_as("a", "other", &["add", "x"]).ok();
    home.git_as("a", "other", &["commit", "-m", "x"]).silent();
    assert!(!home.path("other/.git/tenure").exists());
    // Outside of any repository, and with unknown events.
    for args in [
        &["hook", "git", "pre-commit"][..],
        &["hook", "git", "nonsense"],
        &["hook", "git"],
        &["hook", "git", "pre-push", "o", "-x"],
    ] {
        let done = home.call(args).cwd(home.path("home")).run();
        assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (0, "", ""), "{args:?}");
    }
    // Without `tenure` on PATH the hooks do nothing.
    home.stage(&["x"]);
    home.git("repo", &["commit", "-q", "-m", "x"]);
}

#[test]
fn inv_r12_commits_past_the_guard_are_not_pushed() {
    let home = Home::guarded(Engine::File);
    home.git("", &["init", "-q", "--bare", "remote.git"]);
    home.git("repo", &["remote", "add", "origin", "../remote.git"]);
    home.stage(&["x"]);
    home.commit("a").silent();
    home.ok_as("b", &["reserve", "x"]);
    let push = |agent: &str, args: &[&str]| home.git_as(agent, "repo", &[&["push", "-q", "origin"], args].concat());
    push("a", &["main"]).silent();
    home.stage(&["x"]);
    home.git_as("a", "repo", &["commit", "-q", "--no-verify", "-m", "past"]).ok();
    let said = push("a", &["main"]).refused(&["the push is refused", "x in ", "b is alive", "tenure why h-"]);
    assert!(!said.contains("push --force"), "{said}");
    push("c", &["main:refs/heads/new"]).refused(&["the push is refused"]);
    push("a", &["main~1:refs/heads/before"]).silent();
    push("a", &[":refs/heads/before"]).silent();
    home.git("repo", &["tag", "v1", "main~1"]);
    push("a", &["v1"]).silent();
    let told = push("", &["main"]).ok().said;
    assert!(told.contains("warning, the push continues"), "{told}");
    push("b", &["--force", "main~1:main"]).silent();
}

#[test]
fn a_merge_of_thousands_of_files_is_quick_and_bounded() {
    let home = Home::guarded(Engine::File);
    home.git_as("", "repo", &["checkout", "-q", "-b", "side"]).ok();
    for n in 0..5_000 {
        home.write(&format!("repo/d{}/f{n}", n % 50), "x");
    }
    home.git_as("", "repo", &["add", "-A"]).ok();
    home.ok_as("b", &["reserve", "d7/", "glob:d8/f*8"]);
    home.commit("a").refused(&["staged files are held by other agents", "and "]);
    home.commit("b").silent();
    let data = |home: &Home| home.events().into_iter().rfind(|event| event.kind == "path.committed").unwrap().data;
    assert_eq!((data(&home)["paths"].as_array().unwrap().len(), &data(&home)["more"]), (200, &Value::from(4_800)));
}

pub(crate) fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

pub(crate) fn script(path: impl AsRef<Path>, text: &str) {
    std::fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
    std::fs::write(path.as_ref(), text).unwrap();
    std::fs::set_permissions(path.as_ref(), PermissionsExt::from_mode(0o755)).unwrap();
}
