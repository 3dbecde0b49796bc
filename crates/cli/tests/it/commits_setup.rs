//! `tenure setup git` in real repositories: existing hooks stay and run, and `--remove` leaves nothing behind.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::commits::{mode, script};
use crate::home::{Engine, Home, text};

impl Home {
    fn setup(&self, dir: &str, args: &[&str]) -> Value {
        let words = [&["setup", "git"], args].concat();
        self.call(&words).env("PATH", self.with_tenure()).cwd(self.path(dir)).json().run().data()
    }

    /// Everything in a repository that setup might touch: kind, mode and bytes.
    fn seen(&self, dir: &str) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let is_ours = |path: &PathBuf| {
            let text = path.display().to_string();
            !text.contains(".git/tenure") && !text.contains("/objects/")
        };
        let content = |path: &Path| match std::fs::read_link(path) {
            Ok(target) => target.display().to_string().into_bytes(),
            Err(_) => std::fs::read(path).unwrap_or_default(),
        };
        self.files(dir).into_iter().filter(is_ours).map(|path| (path.clone(), (mode(&path), content(&path)))).collect()
    }

    fn attempt(&self, agent: &str) -> i32 {
        self.write("repo/file", &format!("{:?}", std::time::Instant::now()));
        self.git_as("", "repo", &["add", "file"]).ok();
        self.git_as(agent, "repo", &["commit", "-q", "-m", "x"]).code
    }
}

#[test]
fn hooks_of_every_kind_stay_run_and_come_back_byte_for_byte() {
    let log = "printf '%s|' \"$0\" \"$@\" >> ../ran; cat >> ../ran";
    for (what, install) in [
        ("none", &(|_: &Path| {}) as &dyn Fn(&Path)),
        ("a script", &|hooks| {
            script(hooks.join("pre-commit"), &format!("#!/bin/sh\n{log}\n"));
            script(hooks.join("pre-push"), &format!("#!/usr/bin/env bash\nset -eu\n{log}"));
        }),
        ("another language", &|hooks| {
            script(
                hooks.join("pre-commit"),
                "#!/usr/bin/env -S awk -f\nBEGIN { printf \"pre-commit|\" >> \"../ran\" }\n",
            );
            script(
                hooks.join("pre-push"),
                "#!/usr/bin/awk -f\nBEGIN { while ((getline line < \"-\") > 0) print line >> \"../ran\" }\n",
            );
        }),
        ("a link", &|hooks| {
            script(hooks.join("../../../scripts/hook"), &format!("#!/bin/sh\n{log}\n"));
            for event in ["pre-commit", "pre-push"] {
                symlink("../../../scripts/hook", hooks.join(event)).unwrap();
            }
        }),
        ("one that is switched off", &|hooks| {
            std::fs::write(hooks.join("pre-commit"), "#!/bin/sh\nexit 1\n").unwrap();
            std::fs::write(hooks.join("pre-push"), "#!/bin/sh\nexit 1\n").unwrap();
        }),
        ("one that is no text", &|hooks| {
            std::fs::write(hooks.join("post-commit"), b"\x7fELF\xff\xfe").unwrap();
        }),
    ] {
        let home = Home::new(Engine::File);
        home.git("", &["init", "-q", "--bare", "remote.git"]);
        home.git("repo", &["remote", "add", "origin", "../remote.git"]);
        let hooks = home.repo().join(".git/hooks");
        install(&hooks);
        let before = home.seen("repo");
        home.setup("repo", &["--yes"]);
        assert_ne!(home.seen("repo"), before, "{what}");
        let again = home.setup("repo", &["--yes"]);
        assert!(again["files"].as_array().unwrap().iter().all(|file| file["action"] == "as it is"), "{what}: {again}");
        assert_eq!(home.attempt("a"), 0, "{what}");
        home.git_as("a", "repo", &["push", "-q", "origin", "main"]).ok();
        let ran = std::fs::read_to_string(home.path("ran")).unwrap_or_default();
        if ["a script", "another language", "a link"].contains(&what) {
            assert!(ran.contains("pre-commit"), "{what}: {ran}");
            assert!(ran.contains("refs/heads/main"), "{what}: what git says to a push reaches both: {ran}");
        }
        if what == "a script" || what == "a link" {
            assert!(ran.contains("origin|../remote.git|"), "{what}: {ran}");
        }
        home.ok_as("b", &["reserve", "file"]);
        assert_eq!(home.attempt("a"), 1, "{what}");
        home.ok_as("b", &["release", "file"]);
        home.setup("repo", &["--remove", "--yes"]);
        let after = home.seen("repo");
        let is_hook = |path: &&PathBuf| {
            path.starts_with(&hooks) || path.ends_with("config") || path.starts_with(home.path("scripts"))
        };
        let only = |seen: &BTreeMap<PathBuf, (u32, Vec<u8>)>| -> Vec<(PathBuf, (u32, Vec<u8>))> {
            seen.iter().filter(|(path, _)| is_hook(path)).map(|(path, what)| (path.clone(), what.clone())).collect()
        };
        assert_eq!(only(&after), only(&before), "{what}");
    }
}

#[test]
fn the_exit_status_of_a_hook_that_was_there_counts() {
    let home = Home::new(Engine::File);
    let hook = home.repo().join(".git/hooks/pre-commit");
    for text in ["#!/bin/sh\nexit 7\n", "#!/usr/bin/awk -f\nBEGIN { exit 7 }\n"] {
        script(&hook, text);
        home.setup("repo", &["--yes"]);
        assert_ne!(home.attempt("a"), 0, "{text}");
        home.setup("repo", &["--remove", "--yes"]);
        assert_eq!(std::fs::read_to_string(&hook).unwrap(), text);
    }
}

#[test]
fn core_hooks_path_is_honoured_inside_of_the_repository_and_left_alone_outside() {
    let home = Home::new(Engine::File);
    home.git("repo", &["worktree", "add", "-q", "../second"]);
    for (path, dir) in [(".githooks", "repo/.githooks"), ("nested/hooks", "repo/nested/hooks")] {
        home.git("repo", &["config", "core.hooksPath", path]);
        home.setup("repo", &["--yes"]);
        assert_eq!(mode(&home.path(dir).join("pre-commit")), 0o755);
        home.ok_as("b", &["reserve", "file"]);
        assert_eq!(home.attempt("a"), 1, "{path}");
        home.ok_as("b", &["release", "file"]);
        home.setup("repo", &["--remove", "--yes"]);
        assert!(!home.path(dir).exists(), "what setup made goes");
    }
    // Husky rewrites its own directory at every install, and runs the hooks of the directory above.
    script(home.path("repo/.husky/_/pre-commit"), "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"\n");
    let run =
        "n=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n[ ! -f \"$s\" ] && exit 0\nsh -e \"$s\" \"$@\"\n";
    home.write("repo/.husky/_/h", run);
    home.write("repo/.husky/pre-commit", "echo lint >> ../ran\n");
    home.git("repo", &["config", "core.hooksPath", ".husky/_"]);
    home.setup("repo", &["--yes"]);
    home.ok_as("b", &["reserve", "file"]);
    assert_eq!(home.attempt("a"), 1);
    home.ok_as("b", &["release", "file"]);
    assert_eq!(home.attempt("a"), 0);
    assert_eq!(std::fs::read_to_string(home.path("ran")).unwrap(), "lint\n");
    home.setup("repo", &["--remove", "--yes"]);
    assert_eq!(std::fs::read_to_string(home.path("repo/.husky/pre-commit")).unwrap(), "echo lint >> ../ran\n");
    assert!(!home.path("repo/.husky/pre-push").exists());
    // In a shared directory, the hooks belong to other repositories too.
    let shared = home.path("home/hooks");
    std::fs::create_dir(&shared).unwrap();
    home.git("repo", &["config", "core.hooksPath", shared.to_str().unwrap()]);
    for words in [&["setup", "git", "--yes"][..], &["setup", "git", "--check"]] {
        let said = home.call(words).env("PATH", home.with_tenure()).run();
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.stdout.contains("outside this repository"), "{said:?}");
        assert!(!said.stdout.contains("Already") && !said.stdout.contains("works"), "{said:?}");
        let said = home.call(words).env("PATH", home.with_tenure()).json().run();
        assert!(said.code == 1 && said.stdout.contains("outside this repository"), "{said:?}");
    }
    assert_eq!(home.files("home/hooks"), [""; 0].map(PathBuf::from));
}

#[test]
fn a_worktree_sets_up_what_all_of_them_share() {
    let home = Home::new(Engine::File);
    home.git("repo", &["worktree", "add", "-q", "../second"]);
    home.setup("second", &["--yes"]);
    assert!(home.repo().join(".git/hooks/pre-commit").is_file());
    home.ok_as("b", &["reserve", "file"]);
    assert_eq!(home.attempt("a"), 1);
}

#[test]
fn ten_at_once_write_one_hook() {
    let home = Home::new(Engine::File);
    script(home.repo().join(".git/hooks/pre-commit"), "#!/usr/bin/awk -f\nBEGIN { exit 0 }\n");
    home.add("switched on");
    home.with_tenure();
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..10)
            .map(|_| scope.spawn(|| home.call(&["setup", "git", "--yes"]).env("PATH", home.with_tenure()).run().code))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(codes, [0; 10]);
    let kept = std::fs::read_to_string(home.repo().join(".git/hooks/pre-commit.before-tenure")).unwrap();
    assert!(kept.contains("awk"), "{kept}");
    assert_eq!(home.attempt("a"), 0);
    home.setup("repo", &["--remove", "--yes"]);
    assert!(!home.repo().join(".git/hooks/pre-commit.before-tenure").exists());
}

#[test]
fn another_program_that_took_the_hook_over_runs_it() {
    let home = Home::new(Engine::File);
    let hooks = home.repo().join(".git/hooks");
    home.setup("repo", &["--yes"]);
    // As the program pre-commit does.
    std::fs::rename(hooks.join("pre-commit"), hooks.join("pre-commit.legacy")).unwrap();
    script(hooks.join("pre-commit"), "#!/usr/bin/env bash\n\"$(dirname \"$0\")/pre-commit.legacy\" \"$@\"\n");
    let said = home.setup("repo", &["--yes"]);
    assert!(said["files"].as_array().unwrap().iter().all(|file| file["action"] == "as it is"), "{said}");
    home.ok_as("b", &["reserve", "file"]);
    assert_eq!(home.attempt("a"), 1);
    home.setup("repo", &["--remove", "--yes"]);
    assert!(!hooks.join("pre-commit.legacy").exists() && hooks.join("pre-commit").exists());
}

#[test]
fn setup_shows_the_difference_checks_and_refuses_where_there_is_no_repository() {
    let home = Home::new(Engine::File);
    let asked = home.call(&["setup", "git"]).env("PATH", home.with_tenure()).run();
    assert_eq!(asked.code, 2);
    assert!(
        asked.stdout.contains("+tenure_hook \"$@\" || exit 1") && asked.stdout.contains(".git/hooks/pre-push"),
        "{}",
        asked.stdout
    );
    assert!(!home.repo().join(".git/hooks/pre-commit").exists());
    let check = |home: &Home| home.call(&["setup", "git", "--check"]).env("PATH", home.with_tenure()).json().run();
    assert_eq!(check(&home).code, 1);
    home.setup("repo", &["--yes"]);
    let found = check(&home);
    assert_eq!(found.code, 0, "{}", found.stdout);
    let hooks = found.data()["hooks"].as_array().unwrap().iter().map(|hook| text(&hook["event"])).collect::<Vec<_>>();
    assert_eq!(hooks, ["pre-commit", "post-commit", "pre-merge-commit", "post-merge", "pre-push"]);
    // Git does not run a file without the executable bit.
    std::fs::set_permissions(home.repo().join(".git/hooks/pre-push"), PermissionsExt::from_mode(0o644)).unwrap();
    let found = check(&home);
    assert_eq!(found.code, 1, "{}", found.stdout);
    assert!(found.stdout.contains("not executable"), "{}", found.stdout);
    home.setup("repo", &["--yes"]);
    assert_eq!(mode(&home.repo().join(".git/hooks/pre-push")) & 0o777, 0o755);
    assert_eq!(check(&home).code, 0);
    home.call(&["setup", "git", "--yes"]).cwd(home.path("home")).json().run().refusal().is("usage", "no_repository");
}

#[test]
fn a_git_that_reads_hooks_from_its_configuration_gets_them_there() {
    let home = Home::new(Engine::File);
    home.setup("repo", &["--yes"]);
    let config = home.repo().join(".git/config");
    let before = std::fs::read(&config).unwrap();
    // A git that answers like version 2.54 and later.
    let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|dir| dir.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    home.with_tenure();
    let stand_in = format!(
        "#!/bin/sh\ncase \"$*\" in *'hook list pre-commit') echo tenure-probe;; *) exec {} \"$@\";; esac\n",
        real.display()
    );
    script(home.path("bin/git"), &stand_in);
    home.setup("repo", &["--yes"]);
    assert!(!home.repo().join(".git/hooks/pre-commit").exists(), "what is in files goes: it would run twice");
    let value = |key: &str| {
        let mut git = home.clean(real.as_os_str());
        let output = git.args(["config", "--get", key]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(value("hook.tenure-pre-push.event"), "pre-push\n");
    home.ok_as("b", &["reserve", "file"]);
    home.write("repo/file", "x");
    home.git("repo", &["add", "file"]);
    // Runs the line as git does: by a shell, with the hook's arguments appended.
    for (agent, code) in [("a", 1), ("b", 0)] {
        let line = format!("{} \"$@\"", value("hook.tenure-pre-commit.command").trim_end());
        let mut shell = home.clean("sh".as_ref());
        shell.args(["-c", &line, "sh"]).env("PATH", home.with_tenure()).env("TENURE_AGENT", agent);
        assert_eq!(shell.output().unwrap().status.code(), Some(code), "{agent}");
    }
    home.setup("repo", &["--remove", "--yes"]);
    assert_eq!(std::fs::read(&config).unwrap(), before);
}
