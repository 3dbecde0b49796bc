//! Several worktrees and clones of one project: notices, names, and the holds of a worktree that is linked, nested,
//! moved or removed.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use super::guards::{begin, edit, send};
use super::home::{Engine, Home, text};
use super::hooks::context;

fn typed(home: &Home, agent: &str, dir: &Path, args: &[&str]) -> super::home::Output {
    home.call(args).agent(agent).cwd(dir).run()
}

#[test]
fn inv_r2_reserve_and_holds_say_who_has_the_same_elsewhere() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.git("repo", &["worktree", "add", "-q", "../side"]);
        let (repo, side) = (home.repo(), home.path("side"));
        assert!(!typed(&home, "a", &repo, &["reserve", "src/"]).stdout.contains("another checkout"));
        let alone = typed(&home, "a", &repo, &["holds"]).stdout;
        assert!(!alone.contains("CHECKOUT"), "{alone}");
        let met = typed(&home, "b", &side, &["reserve", "src/a.rs"]);
        let line = met.stdout.lines().find(|line| line.contains("another checkout")).unwrap();
        assert!(line.starts_with("a holds src/ in another checkout, repo (h-") && met.code == 0, "{}", met.stdout);
        assert!(!met.stdout.contains("PATH"), "{}", met.stdout);
        let data = home.call(&["reserve", "src/a.rs"]).json().agent("b").cwd(&side).run().data();
        assert_eq!((&data["elsewhere"][0]["holder"], &data["elsewhere"][0]["pattern"]), (&json!("a"), &json!("src/")));
        let free = typed(&home, "c", &side, &["check", "src/b.rs"]);
        assert!(
            free.code == 0 && free.stdout.starts_with("Free.\na holds src/ in another checkout"),
            "{}",
            free.stdout
        );
        for dir in [&repo, &side] {
            let holds = typed(&home, "c", dir, &["holds"]).stdout;
            assert!(holds.contains("CHECKOUT") && holds.contains("  repo  ") && holds.contains("  side  "), "{holds}");
            assert!(!holds.contains("c-"), "no id of a checkout: {holds}");
        }
        let why = typed(&home, "c", &repo, &["why", "src/a.rs"]).stdout;
        assert!(why.contains("(in another checkout, side)"), "{why}");
    }
}

#[test]
fn inv_r2_everything_that_met_since_the_last_remark_is_told_in_one() {
    let home = Home::new(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1", "s2"]);
    home.git("repo", &["worktree", "add", "-q", "../side"]);
    let (repo, side) = (home.repo(), home.path("side"));
    for file in ["a.rs", "b.rs", "c.rs"] {
        assert_eq!(send(&home, "claude", "PreToolUse", &edit("claude", "s1", &repo, file)).stdout, "");
    }
    // A wider hold overlaps them as the same files do.
    typed(&home, "other", &side, &["reserve", "glob:[ab].rs"]);
    send(&home, "claude", "PreToolUse", &edit("claude", "s2", &side, "c.rs"));
    let prompt = json!({ "session_id": "s1", "cwd": repo, "prompt": "x" });
    let told = context("claude", "UserPromptSubmit", &send(&home, "claude", "UserPromptSubmit", &prompt).stdout);
    for part in ["“c.rs” by claude-s2 (“side”)", "“glob:[ab].rs” by other (“side”)"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(told.chars().count() <= 300, "{told}");
    assert_eq!(send(&home, "claude", "UserPromptSubmit", &prompt).stdout, "", "told once");
}

#[test]
fn inv_r10_a_refusal_says_the_command_with_the_path_as_it_was_typed() {
    let home = Home::new(Engine::File);
    let below = home.path("repo/sub dir");
    std::fs::create_dir_all(&below).unwrap();
    typed(&home, "a", &below, &["reserve", "it's $(x).rs", "b.rs"]);
    let refused = typed(&home, "b", &below, &["reserve", "it's $(x).rs"]);
    assert!(refused.stderr.contains("tenure reserve --wait -- 'it'\\''s $(x).rs'"), "{}", refused.stderr);
    let refused = typed(&home, "b", &below, &["reserve", "b.rs"]);
    assert!(refused.stderr.contains("tenure reserve --wait b.rs"), "{}", refused.stderr);
    let asked = ["reserve", "b.rs", "--shared", "--all-checkouts", "--ttl", "2m"];
    let refused = typed(&home, "b", &below, &asked);
    let same = "tenure reserve --wait --all-checkouts --shared --ttl 120s b.rs";
    assert!(refused.stderr.contains(same), "{}", refused.stderr);
    let refused = typed(&home, "b", &home.repo(), &["reserve", "sub dir/b.rs", "x\ny"]);
    assert!(refused.code == 1 && !refused.stderr.contains("PATH"), "{}", refused.stderr);
}

#[test]
fn inv_r9_a_word_that_is_an_own_lock_and_an_own_path_is_refused_naming_both() {
    let home = Home::new(Engine::File);
    home.ok_as("a", &["lock", "deploy"]);
    home.ok_as("a", &["reserve", "deploy"]);
    let refused = home.refused_as("a", &["release", "deploy"]);
    refused.is("usage", "release_which").names(&["the lock deploy", "the path deploy"]);
    assert_eq!(home.ok_as("a", &["release", "./deploy"])["holds"][0]["kind"], "path");
    home.ok_as("a", &["reserve", "deploy"]);
    assert_eq!(home.ok_as("a", &["release", "--lock=deploy"])["holds"][0]["kind"], "name");
    assert_eq!(home.ok_as("a", &["release", "deploy"])["holds"][0]["kind"], "path", "only one of them is held");
    // A wider hold is not meant by the word.
    home.ok_as("a", &["lock", "other"]);
    home.ok_as("a", &["reserve", "./"]);
    assert_eq!(home.ok_as("a", &["release", "other"])["holds"][0]["kind"], "name");
    home.ok_as("a", &["release", "./"]);
    home.ok_as("b", &["lock", "deploy"]);
    home.ok_as("a", &["reserve", "deploy"]);
    assert_eq!(home.ok_as("a", &["release", "deploy"])["holds"][0]["kind"], "path", "the lock is another's");
    home.replayed();
}

#[test]
fn every_id_in_an_answer_is_understood_by_show_and_why() {
    let home = Home::new(Engine::File);
    let task = home.add("one");
    home.ok_as("a", &["claim", &task]);
    let note = text(&home.ok_as("a", &["note", "so far"])["id"]);
    let hold = home.ok_as("a", &["reserve", "x.rs"])["holds"][0].clone();
    let waits = home.call(&["reserve", "x.rs", "--wait=1s"]).json().agent("b").run().refusal();
    let place = text(waits.detail("id"));
    let message = text(&home.ok_as("b", &["send", "--to", "a", "hello"])["id"]);
    let ids = [task, note, text(&hold["id"]), text(&hold["checkout_id"]), place, message];
    for id in &ids {
        let shown = home.ok_as("b", &["show", id]);
        assert_eq!(&text(&shown["id"]), id);
        assert!(!home.ok_as("b", &["why", id])["story"].as_array().unwrap().is_empty(), "{id}");
        for command in ["show", "why"] {
            let output = typed(&home, "b", &home.repo(), &[command, id]);
            assert!(output.code == 0 && !output.stdout.is_empty(), "{command} {id}: {}", output.stderr);
        }
    }
    for unknown in ["w-zzzzz", "n-zzzzz", "g-zzzzz", "c-zzzzz"] {
        home.refused_as("b", &["show", unknown]).is("not_found", "not_found");
    }
}

#[test]
fn inv_r2_i5_a_worktree_by_another_name_is_the_same_place() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.git("repo", &["worktree", "add", "-q", "../side"]);
        home.git("repo", &["worktree", "add", "-q", "--detach", "in/side"]);
        symlink(home.path("side"), home.path("link")).unwrap();
        symlink(home.path("repo/in"), home.path("into")).unwrap();
        let reserve = |agent: &str, dir: &str, path: &str| {
            home.call(&["reserve", path]).json().agent(agent).cwd(home.path(dir)).run()
        };
        let real = reserve("a", "side", "x.rs").data();
        reserve("b", "link", "x.rs").refusal().is("conflict", "path_held").names(&["held by a"]);
        reserve("b", "repo", "../link/x.rs").refusal().is("conflict", "path_held");
        // A nested worktree is a separate checkout, by any path to it.
        let nested = reserve("b", "repo", "in/side/x.rs").data();
        assert_eq!((&nested["holds"][0]["subject"], &nested["elsewhere"][0]["holder"]), (&json!("x.rs"), &json!("a")));
        reserve("c", "into/side", "x.rs").refusal().is("conflict", "path_held").names(&["held by b"]);
        reserve("c", "", "into/side/x.rs").refusal().is("conflict", "path_held").names(&["held by b"]);
        // Both are called `side`, and get distinct names.
        assert_ne!(nested["holds"][0]["checkout_name"], real["holds"][0]["checkout_name"]);
        let name = text(&nested["elsewhere"][0]["checkout_name"]);
        assert!(name.ends_with("/side") && name != "in/side", "{name}");
    }
}

#[test]
fn inv_r9_what_was_held_in_a_worktree_that_is_gone_is_found_and_given_back() {
    let home = Home::new(Engine::File);
    home.git("repo", &["worktree", "add", "-q", "../side"]);
    let held = home.call(&["reserve", "x.rs"]).json().agent("a").cwd(home.path("side")).run().data();
    let hold = text(&held["holds"][0]["id"]);
    home.git("repo", &["worktree", "remove", "--force", "../side"]);
    let holds = typed(&home, "a", &home.repo(), &["holds", "--mine"]).stdout;
    assert!(holds.contains("CHECKOUT") && holds.contains("side"), "{holds}");
    let refused = typed(&home, "a", &home.repo(), &["release", "x.rs"]);
    assert!(refused.stderr.contains(&format!("tenure release {hold}")), "{}", refused.stderr);
    // Recreated at the same path, it is the same checkout.
    home.git("repo", &["worktree", "add", "-q", "--detach", "../side"]);
    home.call(&["reserve", "x.rs"])
        .json()
        .agent("b")
        .cwd(home.path("side"))
        .run()
        .refusal()
        .is("conflict", "path_held");
    home.ok_as("a", &["release", &hold]);
    home.call(&["reserve", "x.rs"]).json().agent("b").cwd(home.path("side")).run().data();
    home.replayed();
}
