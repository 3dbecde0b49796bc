//! Paths from outside: real repositories and worktrees, resolution of typed paths, exit codes, shapes and messages.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::home::{Engine, Home, keys, text, words};

const HOLD: &str = "id kind subject holder fence mode reason granted_at expires_at expires_in_s ttl_s state liveness checkout checkout_id \
     checkout_name";

#[test]
fn inv_r6_reserve_check_and_release_answer_in_their_shapes() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let held = home.ok_as("a", &["reserve", "src/lib.rs", "docs/", "--reason", "index"]);
        assert_eq!(keys(&held), "holds");
        assert_eq!(keys(&held["holds"][0]), words(HOLD));
        assert_eq!(
            (&held["holds"][0]["subject"], &held["holds"][1]["subject"]),
            (&json!("src/lib.rs"), &json!("docs/"))
        );
        assert_eq!(held["holds"][0]["checkout"], json!(home.repo()));

        let free = home.call(&["check", "src/other.rs"]).json().agent("b").run();
        assert_eq!((free.code, &free.json.unwrap()["data"]), (0, &json!({ "free": true, "blockers": [], "total": 0 })));
        let taken = home.call(&["check", "glob:**/*.rs"]).json().agent("b").run();
        assert_eq!(taken.code, 1, "a check that is not free is an answer");
        let taken = taken.json.unwrap();
        assert_eq!((&taken["ok"], &taken["data"]["free"]), (&json!(true), &json!(false)));
        let blocker = "id state holder pattern mode reason age_s expires_in_s last_seen_s liveness place";
        assert_eq!(keys(&taken["data"]["blockers"][0]), words(blocker));

        let refused = home.refused_as("b", &["reserve", "free.rs", "src/"]);
        refused.is("conflict", "path_held").names(&["held by a"]);
        assert_eq!(keys(&refused.detail("blockers")[0]), words(blocker));
        assert_eq!(refused.detail("total"), 1);
        home.refused_as("b", &["release", "src/lib.rs"]).is("conflict", "path_held");
        home.refused_as("a", &["release", "other"]).is("conflict", "not_held");

        let ended = home.ok_as("a", &["release", "src/lib.rs"]);
        assert_eq!(ended["holds"][0]["state"], "released");
        let by_id = text(&held["holds"][1]["id"]);
        home.refused_as("b", &["release", &by_id]).is("conflict", "path_held");
        home.ok(&["release", &by_id, "--force"]);
        home.ok_as("b", &["reserve", "src/", "docs/x"]);
        home.replayed();
    }
}

#[test]
fn inv_r2_a_link_is_held_with_what_it_leads_to() {
    let home = Home::new(Engine::File);
    std::fs::create_dir_all(home.repo().join("real/dir")).unwrap();
    std::fs::write(home.repo().join("real/f"), "").unwrap();
    for (target, link) in [("real/f", "lf"), ("real/dir", "ld"), ("/etc/hostname", "out")] {
        symlink(target, home.repo().join(link)).unwrap();
    }
    home.ok_as("a", &["reserve", "real/f", "real/dir/x"]);
    assert_eq!(home.call(&["check", "lf"]).json().agent("b").run().code, 1);
    home.refused_as("b", &["reserve", "lf"]).is("conflict", "path_held");
    home.refused_as("b", &["reserve", "ld"]).is("conflict", "path_held");
    home.ok_as("a", &["release", "real/f"]);
    let held = home.ok_as("b", &["reserve", "lf", "out"]);
    let subjects: Vec<String> = held["holds"].as_array().unwrap().iter().map(|hold| text(&hold["subject"])).collect();
    assert_eq!(subjects, ["lf", "out", "real/f"]);
    // A message about a path or a lock goes to its holder.
    home.ok_as("a", &["lock", "deploy"]);
    assert_eq!(home.ok_as("a", &["send", "--about", "real/f", "soon?"])["to"][0]["agent"], "b");
    assert_eq!(home.ok_as("b", &["send", "--about", "deploy", "soon?"])["to"][0]["agent"], "a");
    home.refused_as("a", &["send", "--about", "./nothing", "soon?"]).is("not_found", "not_held");
}

#[test]
fn inv_r1_a_path_belongs_to_its_checkout_wherever_it_is_typed() {
    let home = Home::new(Engine::File);
    std::fs::create_dir_all(home.repo().join("src/deep")).unwrap();
    symlink(home.repo().join("src"), home.repo().join("link")).unwrap();
    let subject = |typed: &OsStr, dir: &str| {
        let call = home.call(&[OsStr::new("reserve"), OsStr::new("--shared"), OsStr::new("--"), typed]);
        let held = call.json().agent("a").cwd(home.path(dir)).run().data();
        text(&held["holds"][0]["subject"])
    };
    for (typed, dir, expected) in [
        ("a.rs", "repo/src", "src/a.rs"),
        ("../b.rs", "repo/src", "b.rs"),
        ("deep", "repo/src", "src/deep/"),
        ("../link/c.rs", "repo/src", "src/c.rs"),
        ("repo/d.rs", "", "d.rs"),
        ("-x", "repo", "-x"),
        ("[id] $(x).tsx", "repo/src", "src/[id] $(x).tsx"),
        ("glob:*.{rs,toml}", "repo/src", "glob:src/*.{rs,toml}"),
        ("new\nline", "repo", "new\nline"),
    ] {
        assert_eq!(subject(OsStr::new(typed), dir), expected, "{typed} in {dir}");
    }
    let absolute = home.repo().join("e.rs");
    assert_eq!(subject(absolute.as_os_str(), "home"), "e.rs");
    assert_eq!(subject(OsStr::from_bytes(b"bad\xff.rs"), "repo"), "bad%FF.rs");
    home.refused_as("a", &["reserve", "../home/x"]).is("usage", "path_outside");
    home.refused_as("a", &["reserve", "glob:a**"]).is("usage", "bad_pattern");
    home.refused_as("a", &["reserve"]).is("usage", "bad_arguments");
}

#[test]
fn inv_r2_two_worktrees_are_two_places() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.git("repo", &["worktree", "add", "-q", "../second"]);
        let reserve =
            |agent: &str, dir: &str, args: &[&str]| home.call(args).json().agent(agent).cwd(home.path(dir)).run();
        reserve("a", "repo", &["reserve", "src/a.rs"]).data();
        reserve("b", "second", &["reserve", "src/a.rs"]).data();
        reserve("c", "second", &["reserve", "src/a.rs"]).refusal().is("conflict", "path_held").names(&["held by b"]);
        // A typed path belongs to the checkout that contains it.
        reserve("c", "second", &["reserve", "../repo/src/a.rs"]).refusal().names(&["held by a"]);
        reserve("c", "second", &["reserve", "x", "../repo/y"]).refusal().is("usage", "several_checkouts");
        reserve("c", "repo", &["reserve", "src/a.rs", "--all-checkouts"]).refusal().is("conflict", "path_held");
        let holds = home.ok(&["holds", "--kind", "path"]);
        let mut places: Vec<String> =
            holds["items"].as_array().unwrap().iter().map(|hold| text(&hold["checkout"])).collect();
        places.sort();
        assert_eq!(places, [home.repo(), home.path("second")].map(|path| path.display().to_string()));
        let here = home.ok(&["holds", "src/"]);
        assert_eq!(here["items"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn inv_l12_paths_go_with_the_task_in_focus() {
    let home = Home::new(Engine::File);
    let task = home.add("one");
    home.ok_as("a", &["claim", &task]);
    let held = home.ok_as("a", &["reserve", "src/"]);
    assert_eq!(held["holds"][0]["task"], json!(task));
    home.ok_as("a", &["done"]);
    home.ok_as("b", &["reserve", "src/"]);
    // A file named like a task is not the task.
    home.ok_as("b", &["reserve", &format!("./{task}")]);
    home.ok_as("b", &["release", &format!("./{task}")]);
    home.replayed();
}

#[test]
fn people_read_who_has_what() {
    let home = Home::new(Engine::File);
    let run = |agent: &str, args: &[&str]| home.call(args).agent(agent).run().stdout;
    let taken = run("a", &["reserve", "src/lib.rs", "--reason", "new index"]);
    assert!(taken.contains("src/lib.rs") && taken.contains("exclusive") && taken.contains("new index"), "{taken}");
    let not_free = run("b", &["check", "src/"]);
    assert!(not_free.starts_with("Not free.\n") && not_free.contains("new index"), "{not_free}");
    assert_eq!(run("b", &["check", "docs/"]), "Free.\n");
    let refused = home.call(&["reserve", "src/"]).agent("b").run();
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    for part in ["src/ is held by a", "a is alive", "Try:", "tenure why h-", "A person can end the hold"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    // A name cannot send control sequences to the terminal.
    run("a", &["reserve", "bad\u{1b}[2Jname\nsecond line"]);
    let holds = run("b", &["holds"]);
    assert!(!holds.contains('\u{1b}') && holds.contains("bad [2Jname second line"), "{holds:?}");
    assert_eq!(run("a", &["release", "src/lib.rs"]), "Released src/lib.rs\n");
}
