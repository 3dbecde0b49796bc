//! Nested repositories: clones, submodules and worktrees below the top of another working tree.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::json;

use super::guards::{begin, edit, send};
use super::home::{Engine, Home, Output};

fn typed(home: &Home, agent: &str, dir: &Path, args: &[&str]) -> Output {
    home.call(args).agent(agent).cwd(dir).run()
}

fn reserve(home: &Home, agent: &str, dir: &Path, path: &str) -> Output {
    home.call(&["reserve", path]).json().agent(agent).cwd(dir).run()
}

/// A repository with a nested clone, submodule and worktree.
fn layout(home: &Home) {
    home.git("repo", &["commit", "-q", "--allow-empty", "-m", "one"]);
    home.git("", &["clone", "-q", "repo", "lib"]);
    home.git("repo", &["clone", "-q", "../lib", "nested/clone"]);
    home.git("repo", &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "vendor/sub"]);
    home.git("repo", &["worktree", "add", "-q", "trees/side"]);
}

#[test]
fn inv_r2_a_directory_covers_the_repositories_inside_it() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        layout(&home);
        let repo = home.repo();
        for inside in ["nested/clone", "vendor/sub", "trees/side"] {
            let dir = repo.join(inside);
            // The inner hold first.
            assert_eq!(reserve(&home, "a", &dir, "x.rs").code, 0, "{inside}");
            for wide in [".", &format!("{inside}/.."), "glob:**/*.rs"] {
                let refused = reserve(&home, "b", &repo, wide);
                assert_eq!(refused.code, 1, "{wide} over {inside}: {}", refused.stdout);
                let blocker = refused.refusal().detail("blockers")[0].clone();
                assert_eq!((&blocker["holder"], &blocker["pattern"]), (&json!("a"), &json!("x.rs")));
                assert_eq!(blocker["checkout"], json!(dir), "{wide} over {inside}");
            }
            let told = typed(&home, "b", &repo, &["reserve", "."]).stderr;
            assert!(told.contains(&format!("in {}", dir.display())), "{told}");
            let holds = typed(&home, "b", &repo, &["holds", "."]).stdout;
            assert!(holds.contains("x.rs") && holds.contains(inside.rsplit('/').next().unwrap()), "{holds}");
            assert_eq!(typed(&home, "b", &repo, &["check", "."]).code, 1);
            // Paths beside it are free.
            assert_eq!(reserve(&home, "b", &repo, "src/").code, 0);
            assert_eq!(typed(&home, "b", &repo, &["release", "src/"]).code, 0);
            assert_eq!(typed(&home, "a", &dir, &["release", "x.rs"]).code, 0);
            // The outer hold first, with the inner path named from either place.
            assert_eq!(reserve(&home, "b", &repo, &format!("{inside}/..")).code, 0);
            assert_eq!(reserve(&home, "a", &dir, "x.rs").code, 1);
            assert_eq!(reserve(&home, "a", &repo, &format!("{inside}/x.rs")).code, 1);
            assert_eq!(typed(&home, "b", &repo, &["release", &format!("{inside}/..")]).code, 0);
        }
        // The commit recorded for a submodule is a path of its own.
        assert_eq!(reserve(&home, "a", &repo.join("vendor/sub"), "./").code, 0);
        assert_eq!(reserve(&home, "b", &repo, "vendor/sub").code, 0);
    }
}

#[test]
fn a_refusal_names_the_other_repository_and_proposes_no_id_that_is_unknown_here() {
    let home = Home::new(Engine::File);
    layout(&home);
    let (repo, clone) = (home.repo(), home.repo().join("nested/clone"));
    typed(&home, "z", &clone, &["add", "something"]);
    home.add("something");
    begin(&home, "claude", &["s1"]);
    assert_eq!(reserve(&home, "other", &repo, "nested/").code, 0);
    fs::write(clone.join("x.rs"), "x").unwrap();
    home.git("repo/nested/clone", &["add", "x.rs"]);
    let commit = typed(&home, "b", &clone, &["hook", "git", "pre-commit"]);
    assert_eq!(commit.code, 1, "{}", commit.stderr);
    let typed_reserve = typed(&home, "b", &clone, &["reserve", "x.rs"]);
    let edited = send(&home, "claude", "PreToolUse", &edit("claude", "s1", &clone, "x.rs"));
    for said in [&commit.stderr, &typed_reserve.stderr, &edited.stdout] {
        assert!(said.contains(&format!("in {}, the repository of", repo.display())), "{said}");
        assert!(said.contains("A person can end the hold in that repository"), "{said}");
        assert!(!said.contains("why h-") && !said.contains("--about h-") && !said.contains("about h-"), "{said}");
    }
    let checked = typed(&home, "b", &clone, &["check", "x.rs"]).stdout;
    assert!(checked.contains("CHECKOUT") && checked.contains(&repo.display().to_string()), "{checked}");
}

#[test]
fn inv_r10_the_edit_guard_sees_what_is_held_around_a_repository() {
    let home = Home::new(Engine::File);
    layout(&home);
    let (repo, clone) = (home.repo(), home.repo().join("nested/clone"));
    typed(&home, "z", &clone, &["add", "something"]);
    home.add("something");
    begin(&home, "claude", &["s1", "s2"]);
    assert_eq!(reserve(&home, "other", &repo, "nested/").code, 0);
    let denied = send(&home, "claude", "PreToolUse", &edit("claude", "s1", &clone, "x.rs"));
    assert!(denied.stdout.contains("deny") && denied.stdout.contains("other"), "{}", denied.stdout);
    assert_eq!(typed(&home, "other", &repo, &["release", "nested/"]).code, 0);
    assert_eq!(send(&home, "claude", "PreToolUse", &edit("claude", "s1", &clone, "x.rs")).stdout, "");
    assert_eq!(reserve(&home, "other", &repo, "nested/").code, 1);
}

#[test]
fn inv_r7_who_waits_for_another_repository_is_served() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        layout(&home);
        let (repo, clone) = (home.repo(), home.repo().join("nested/clone"));
        assert_eq!(reserve(&home, "a", &clone, "x.rs").code, 0);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| typed(&home, "b", &repo, &["reserve", "nested/", "--wait=60s"]));
            super::home::wait_until("it waits", || typed(&home, "c", &repo, &["holds"]).stdout.contains("nested/"));
            assert_eq!(typed(&home, "a", &clone, &["release", "x.rs"]).code, 0);
            let served = waiter.join().unwrap();
            assert_eq!(served.code, 0, "{} {}", served.stdout, served.stderr);
        });
    }
}

#[test]
fn inv_r1_a_name_that_is_not_utf8_is_not_the_one_that_is_spelled_like_it() {
    let home = Home::new(Engine::File);
    let repo = home.repo();
    fs::write(repo.join(OsStr::from_bytes(b"\xff\xfe")), "").unwrap();
    fs::write(repo.join("%FF%FE"), "").unwrap();
    let raw = || home.call(&[OsStr::new("reserve"), OsStr::from_bytes(b"\xff\xfe")]).json().agent("a").cwd(&repo).run();
    assert_eq!(raw().data()["holds"][0]["subject"], "%FF%FE");
    let literal = reserve(&home, "b", &repo, "%FF%FE");
    assert_eq!(literal.data()["holds"][0]["subject"], "%25FF%25FE");
}

#[test]
fn inv_r6_a_refused_request_says_what_is_free_as_it_was_typed() {
    let home = Home::new(Engine::File);
    let repo = home.repo();
    fs::create_dir_all(repo.join("src")).unwrap();
    assert_eq!(reserve(&home, "a", &repo, "src/x.rs").code, 0);
    let refused = typed(&home, "b", &repo.join("src"), &["reserve", "x.rs", "y.rs", "../docs/"]).stderr;
    assert!(refused.contains("Free of these: src/y.rs, docs/."), "{refused}");
    assert!(refused.contains("tenure reserve y.rs ../docs/\n"), "{refused}");
    assert!(refused.contains("tenure reserve --wait x.rs y.rs ../docs/"), "{refused}");
}
