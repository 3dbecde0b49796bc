//! A store inside a checkout: git ignores it from the first write on, and it is refused once git tracks it.

use std::os::unix::fs::symlink;

use serde_json::Value;
use tenure_testkit::raw;

use crate::home::{Call, Engine, Home, text};

fn own(home: &Home) {
    std::fs::create_dir(home.path("repo/.tenure")).unwrap();
}

fn at(home: &Home, dir: &str, args: &[&str]) -> Call {
    home.call(args).json().cwd(home.path(dir))
}

fn total(home: &Home) -> Value {
    home.ok(&["list"])["total"].clone()
}

#[test]
fn inv_l4_git_does_not_take_back_what_was_acknowledged() {
    let home = Home::direct(Engine::File);
    own(&home);
    let first = home.add("one");
    home.ok_as("a", &["claim", &first]);
    assert_eq!(std::fs::read_to_string(home.path("repo/.tenure/.gitignore")).unwrap(), "*\n");
    std::fs::write(home.path("repo/file"), "x").unwrap();
    home.git("repo", &["add", "-A"]);
    home.git("repo", &["commit", "-q", "-m", "all there is"]);
    home.add("two");
    let fence = home.ok_as("b", &["claim"])["hold"]["fence"].clone();
    home.git("repo", &["reset", "-q", "--hard"]);
    home.git("repo", &["clean", "-q", "-f", "-d"]);
    assert_eq!(total(&home), 2, "acknowledged tasks are there");
    let third = home.add("three");
    let later = home.ok_as("c", &["claim", &third])["hold"]["fence"].clone();
    assert!(later.as_i64() > fence.as_i64(), "no fence is issued twice: {fence} {later}");
    home.replayed();
    assert!(home.run(&["doctor"]).stdout.contains("git ignores it"));
}

#[test]
fn inv_l4_a_store_that_git_tracks_is_refused_by_name_before_git_can_put_an_old_one_in_its_place() {
    let home = Home::direct(Engine::File);
    own(&home);
    home.add("one");
    // An ignored file can be added by force; tracking the log alone is sufficient.
    for file in [".tenure/tenure.db", ".tenure/tenure.db-wal", ".tenure/tenure.db-shm", ".tenure/tenure.db-turn-a"] {
        if !home.path("repo").join(file).exists() {
            std::fs::write(home.path("repo").join(file), "").unwrap();
        }
        home.git("repo", &["add", "-f", file]);
        for args in [&["add", "two"][..], &["claim"], &["list"], &["status"]] {
            let refusal = home.refused(args);
            refusal.is("conflict", "tracked_store").names(&[file]);
            let said = refusal.error.to_string();
            assert!(said.contains("--cached") && !said.contains(&format!("rm --cached {file}")), "{said}");
        }
        let doctor = home.run(&["doctor"]);
        assert!(doctor.code == 1 && doctor.stdout.contains(file), "{}", doctor.stdout);
        home.git("repo", &["rm", "-q", "--cached", file]);
        assert_eq!(total(&home), 1, "{file}");
        let path = home.path("repo").join(file);
        if std::fs::metadata(&path).unwrap().len() == 0 {
            std::fs::remove_file(path).unwrap();
        }
    }
    // From a linked worktree it is the same store.
    home.git("repo", &["worktree", "add", "-q", "../linked"]);
    home.git("repo", &["add", "-f", ".tenure/tenure.db"]);
    at(&home, "linked", &["add", "two"]).run().refusal().is("conflict", "tracked_store");
    home.git("repo", &["commit", "-q", "-m", "the store"]);
    at(&home, "linked", &["add", "two"]).run().refusal().is("conflict", "tracked_store");
    // Removed from the index, but still in the commit: a reset would restore it, and doctor reports that.
    home.git("repo", &["rm", "-q", "--cached", ".tenure/tenure.db"]);
    home.add("two");
    let doctor = home.run(&["doctor"]);
    assert!(doctor.stdout.contains("the last commit contains"), "{}", doctor.stdout);
    home.git("repo", &["commit", "-q", "-m", "no store"]);
    assert!(!home.run(&["doctor"]).stdout.contains("the last commit contains"));
    assert_eq!(total(&home), 2);
}

#[test]
fn inv_l1_a_store_that_git_brought_back_issues_no_fence_twice_and_doctor_says_it() {
    let home = Home::direct(Engine::File);
    own(&home);
    let first = home.add("one");
    let whole = || raw::tamper(&home.path("repo/.tenure/tenure.db"), "SELECT COUNT(*) FROM sqlite_schema");
    whole();
    home.git("repo", &["add", "-f", ".tenure/tenure.db"]);
    home.git("repo", &["commit", "-q", "-m", "the store, by force"]);
    home.git("repo", &["rm", "-q", "--cached", ".tenure/tenure.db"]);
    home.git("repo", &["commit", "-q", "-m", "without it"]);
    let fence = |agent: &str| home.ok_as(agent, &["claim", &first])["hold"]["fence"].as_i64().unwrap();
    let lost = fence("a");
    assert!(!home.run(&["doctor"]).stdout.contains("older version"));
    home.git("repo", &["reset", "-q", "--hard", "HEAD~1"]);
    home.git("repo", &["rm", "-q", "--cached", ".tenure/tenure.db"]);
    home.git("repo", &["commit", "-q", "-m", "without it again"]);
    // The log of the former file is not mixed with this one.
    for args in [&["list"][..], &["add", "two"]] {
        home.refused(args).is("storage", "store_moved").names(&["tenure.db-wal"]);
    }
    for suffix in ["-wal", "-shm"] {
        std::fs::remove_file(home.path(&format!("repo/.tenure/tenure.db{suffix}"))).unwrap();
    }
    let doctor = home.run(&["doctor"]);
    assert!(doctor.code == 1 && doctor.stdout.contains("older version"), "{}", doctor.stdout);
    assert_eq!(total(&home), 1, "a query answers");
    let issued = fence("b");
    assert!(issued > lost, "{issued} after {lost}");
    let doctor = home.run(&["doctor"]);
    assert!(doctor.code == 0 && doctor.stdout.contains("continued as after a restore"), "{}", doctor.stdout);
    home.replayed();
}

#[test]
fn a_store_named_inside_a_checkout_is_kept_from_git_too() {
    let home = Home::direct(Engine::File);
    std::fs::create_dir(home.path("repo/data")).unwrap();
    std::fs::write(home.path("repo/data/mine"), "x").unwrap();
    let store = home.path("repo/data/work.db");
    let run = |args: &[&str]| home.call(args).json().env("TENURE_STORE", &store).run();
    run(&["add", "one"]).data();
    home.git("repo", &["add", "-A"]);
    home.git("repo", &["commit", "-q", "-m", "all"]);
    run(&["add", "two"]).data();
    home.git("repo", &["reset", "-q", "--hard"]);
    assert_eq!(run(&["list"]).data()["total"], 2);
    let tracked = home.clean("git".as_ref()).args(["ls-files"]).output().unwrap();
    let tracked = String::from_utf8(tracked.stdout).unwrap();
    assert!(tracked.contains("data/mine") && !tracked.contains("work.db"), "{tracked}");
    home.git("repo", &["add", "-f", "data/work.db"]);
    run(&["add", "three"]).refusal().is("conflict", "tracked_store").names(&["data/work.db"]);
    run(&["list"]).refusal().is("conflict", "tracked_store");
}

#[test]
fn what_a_person_wrote_into_gitignore_is_kept() {
    let home = Home::direct(Engine::File);
    own(&home);
    let file = home.path("repo/.tenure/.gitignore");
    std::fs::write(&file, "# mine\n!notes").unwrap();
    home.add("one");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\n!notes\n/tenure.db*\n");
    home.add("two");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\n!notes\n/tenure.db*\n");
    // Already ignored by another file: nothing is written.
    home.git_init("other");
    std::fs::create_dir(home.path("other/.tenure")).unwrap();
    std::fs::write(home.path("other/.gitignore"), ".tenure/\n").unwrap();
    at(&home, "other", &["add", "one"]).run().data();
    assert!(!home.path("other/.tenure/.gitignore").exists());
    // A link belongs to a person; it is neither followed nor replaced.
    home.git_init("third");
    std::fs::create_dir(home.path("third/.tenure")).unwrap();
    symlink("/dev/zero", home.path("third/.tenure/.gitignore")).unwrap();
    let added = at(&home, "third", &["add", "one"]).run().data();
    assert!(text(&added["id"]).starts_with("t-"));
    assert!(home.path("third/.tenure/.gitignore").is_symlink());
    // A query creates nothing.
    home.git_init("fourth");
    std::fs::create_dir(home.path("fourth/.tenure")).unwrap();
    at(&home, "fourth", &["list"]).run().data();
    assert!(home.files("fourth/.tenure").is_empty());
}
