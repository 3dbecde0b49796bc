//! A repository keeps its store and its id when it is moved, copied, or called with another store.

use std::path::Path;
use std::process::Command;

use crate::home::{Call, Engine, Home, text};

fn total(call: Call) -> i64 {
    call.json().run().data()["total"].as_i64().unwrap()
}

fn copy(home: &Home, from: &str, to: &str) {
    let status = Command::new("cp").arg("-a").arg(home.path(from)).arg(home.path(to)).status().unwrap();
    assert!(status.success());
}

#[test]
fn inv_i5_a_moved_repository_keeps_its_project() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.git("repo", &["worktree", "add", "-q", "../linked"]);
        home.add("one");
        total(home.call(&["list"]).cwd(home.path("linked")));
        std::fs::rename(home.repo(), home.path("moved")).unwrap();
        let there = |args: &[&str]| home.call(args).json().cwd(home.path("moved"));
        assert_eq!(total(there(&["list"])), 1, "{engine:?}: a query sees it");
        there(&["add", "two"]).run().data();
        assert_eq!(total(there(&["list"])), 2);
        home.git("moved", &["worktree", "repair", "../linked"]);
        assert_eq!(total(home.call(&["list"]).cwd(home.path("linked"))), 2);
        // A new repository at the old path is another project.
        home.git_init("repo");
        assert_eq!(total(home.call(&["list"])), 0);
    }
}

#[test]
fn inv_i5_a_copied_repository_is_refused_naming_both_until_a_person_says_what_it_is() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("one");
        copy(&home, "repo", "copy-1");
        copy(&home, "repo", "copy-2");
        let at = |copy: &str, args: &[&str]| home.call(args).json().cwd(home.path(copy));
        let original = home.path("repo/.git").display().to_string();
        for args in [&["list"][..], &["add", "two"], &["claim"], &["status"]] {
            let refusal = at("copy-1", args).run().refusal();
            let here = home.path("copy-1/.git").display().to_string();
            refusal.is("conflict", "copied_project").names(&[&here, &original]);
            assert_eq!((refusal.detail("here"), refusal.detail("other")), (&here.into(), &original.clone().into()));
        }
        assert_eq!(total(home.call(&["list"])), 1, "the original is not disturbed");

        // An agent may not decide it.
        for verb in ["new", "join", "pin"] {
            at("copy-1", &["project", verb]).agent("a").run().refusal().is("denied", "people_only");
            at("copy-1", &["project", verb])
                .env("CLAUDE_CODE_SESSION_ID", "x")
                .run()
                .refusal()
                .is("denied", "people_only");
        }
        at("copy-1", &["project", "new"]).run().data();
        assert_eq!(total(at("copy-1", &["list"])), 0);
        at("copy-1", &["add", "its own"]).run().data();
        assert_eq!(total(at("copy-1", &["list"])), 1);

        at("copy-2", &["project", "join"]).run().data();
        at("copy-2", &["add", "two"]).run().data();
        assert_eq!(total(home.call(&["list"])), 2, "{engine:?}: a joined copy is one more checkout");
        home.add("three");
        assert_eq!(total(at("copy-2", &["list"])), 3);
        assert!(home.events().iter().any(|event| event.kind == "checkout.joined"));
        home.replayed();
    }
}

#[test]
fn inv_i5_another_home_is_refused_naming_both_stores() {
    let home = Home::direct(Engine::File);
    home.add("one");
    std::fs::create_dir(home.path("other-home")).unwrap();
    let elsewhere = |args: &[&str]| home.call(args).json().env("HOME", home.path("other-home"));
    let (here, there) = (
        home.database().display().to_string(),
        home.path("other-home/.local/share/tenure/tenure.db").display().to_string(),
    );
    for args in [&["list"][..], &["add", "two"], &["claim"], &["status"], &["log"]] {
        let refusal = elsewhere(args).run().refusal();
        refusal.is("conflict", "pinned_elsewhere").names(&[&here, &there]);
    }
    assert!(home.files("other-home").is_empty(), "a refused call makes no store");

    // The same if that home already has a store.
    home.git_init("other");
    elsewhere(&["add", "theirs"]).cwd(home.path("other")).run().data();
    for args in [&["list"][..], &["add", "two"]] {
        elsewhere(args).run().refusal().is("conflict", "pinned_elsewhere").names(&[&here, &there]);
    }
    // A caller that names the right store may use any home.
    assert_eq!(total(elsewhere(&["list"]).env("TENURE_STORE", &here)), 1);
    assert_eq!(total(home.call(&["list"])), 1);
}

#[test]
fn inv_i5_another_home_on_a_shared_store_is_the_same_project() {
    let home = Home::new(Engine::Postgres);
    home.add("one");
    assert_eq!(total(home.call(&["list"]).env("HOME", home.path("tmp"))), 1);
}

#[test]
fn inv_i5_a_store_that_is_not_the_pinned_one_is_refused_until_a_person_pins_it() {
    let home = Home::direct(Engine::File);
    let shared = Home::direct(Engine::Postgres);
    let url = shared.environment().into_iter().find(|(key, _)| *key == "TENURE_STORE").unwrap().1;
    home.add("one");
    let (here, file) = (home.database().display().to_string(), home.path("tmp/other.db"));
    for store in [file.as_os_str(), url.as_os_str()] {
        for args in [&["list"][..], &["add", "two"], &["done", "t-7"]] {
            let refusal = home.call(args).json().env("TENURE_STORE", store).run().refusal();
            refusal.is("conflict", "pinned_elsewhere").names(&[&here]);
            assert_eq!(refusal.detail("pinned"), here.as_str());
            let resolved = text(refusal.detail("resolved"));
            assert!(refusal.message().contains(&resolved) && resolved != here, "{refusal:?}");
        }
        let flag = home.call(&["list", "--store"]).json();
        let mut command = flag.into_command();
        assert_eq!(command.arg(store).output().unwrap().status.code(), Some(1));
    }
    assert!(!file.exists(), "a refused call makes no store");

    // A person moves the project on purpose; the old one still exists and can be pinned again.
    home.call(&["project", "pin", "--store", file.to_str().unwrap()]).json().run().data();
    home.refused(&["list"]).is("conflict", "pinned_elsewhere");
    let other = |args: &[&str]| home.call(args).json().env("TENURE_STORE", &file);
    assert_eq!(total(other(&["list"])), 0);
    other(&["add", "over there"]).run().data();
    home.ok(&["project", "pin"]);
    assert_eq!(total(home.call(&["list"])), 1);
    other(&["list"]).run().refusal().is("conflict", "pinned_elsewhere");
}

#[test]
fn inv_i5_a_pinned_store_that_is_gone_is_not_made_anew() {
    let home = Home::direct(Engine::File);
    home.add("one");
    let pin = home.ok(&["project", "show"]);
    assert_eq!(pin["pin"]["location"], home.database().to_str().unwrap());
    let aside = home.path("tmp/aside.db");
    std::fs::rename(home.whole_database(), &aside).unwrap();
    for args in [&["list"][..], &["add", "two"], &["claim"], &["status"]] {
        let refusal = home.refused(args);
        refusal.is("storage", "pinned_store_gone").names(&[home.database().to_str().unwrap()]);
    }
    assert!(!home.database().exists());
    assert_eq!(home.run(&["doctor"]).code, 1);
    // An emptied file is not a store either.
    std::fs::write(home.database(), "").unwrap();
    for args in [&["list"][..], &["add", "two"]] {
        home.refused(args).is("storage", "pinned_store_gone");
    }
    assert_eq!(std::fs::metadata(home.database()).unwrap().len(), 0);
    // After it is put back, everything is there.
    std::fs::rename(&aside, home.database()).unwrap();
    assert_eq!(total(home.call(&["list"])), 1);
}

#[test]
fn inv_i5_a_store_restored_to_a_second_place_does_not_split_the_project() {
    let home = Home::direct(Engine::File);
    home.add("one");
    let (backup, second) = (home.path("tmp/b.backup"), home.path("tmp/second.db"));
    let [backup_name, second_name] = [&backup, &second].map(|path| path.to_str().unwrap());
    home.ok(&["backup", backup_name]);
    home.ok(&["restore", backup_name, "--store", second_name]);
    for args in [&["add", "in the second"][..], &["list"], &["claim"]] {
        let call = home.call(args).json().env("TENURE_STORE", &second);
        call.run()
            .refusal()
            .is("conflict", "pinned_elsewhere")
            .names(&[home.database().to_str().unwrap(), second_name]);
    }
    home.add("two");
    // When the first is lost, the second takes its place.
    std::fs::remove_file(home.database()).unwrap();
    home.call(&["add", "three"]).json().env("TENURE_STORE", &second).run().data();
}

#[test]
fn inv_i5_another_store_at_the_pinned_place_is_not_used() {
    let home = Home::direct(Engine::File);
    home.add("one");
    home.git_init("other");
    let fresh = home.path("tmp/fresh.db");
    home.call(&["add", "x"]).json().cwd(home.path("other")).env("TENURE_STORE", &fresh).run().data();
    // Both files are whole: the log of one is never mixed with the other.
    home.whole_database();
    tenure_testkit::raw::tamper(&fresh, "SELECT COUNT(*) FROM sqlite_schema");
    std::fs::rename(&fresh, home.database()).unwrap();
    for args in [&["list"][..], &["add", "two"]] {
        home.refused(args).is("conflict", "pinned_elsewhere").names(&[home.database().to_str().unwrap()]);
    }
}

#[test]
fn inv_c4_a_damaged_id_or_pin_is_an_error_and_never_replaced() {
    for (file, code) in [("id", "project_file_corrupt"), ("pin", "project_file_corrupt")] {
        let home = Home::direct(Engine::File);
        home.add("one");
        let path = home.path("repo/.git/tenure").join(file);
        let good = std::fs::read(&path).unwrap();
        for bad in [&b""[..], b"garbage", b"\xff\xfe", &good[..good.len() / 2]] {
            std::fs::write(&path, bad).unwrap();
            for args in [&["list"][..], &["add", "two"]] {
                home.refused(args).is("storage", code).names(&[path.to_str().unwrap()]);
            }
            assert_eq!(std::fs::read(&path).unwrap(), bad);
        }
        std::fs::write(&path, &good).unwrap();
        assert_eq!(total(home.call(&["list"])), 1);
        // The error's advice for a person without a backup works.
        std::fs::write(&path, "garbage").unwrap();
        home.ok(&["project", if file == "id" { "new" } else { "pin" }]);
        home.add("two");
        assert_eq!(total(home.call(&["list"])), if file == "id" { 1 } else { 2 });
    }
}

#[test]
fn inv_c4_what_tenure_makes_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::direct(Engine::File);
    home.add("one");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in home.files("home").iter().chain(&home.files("repo/.git/tenure")) {
        assert_eq!(mode(path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    // An existing directory is left unchanged, with a remark.
    let dir = home.database().parent().unwrap().to_owned();
    std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o777)).unwrap();
    home.add("two");
    assert_eq!(mode(&dir), 0o777);
    let report = home.ok(&["doctor"]);
    let permissions = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "permissions").unwrap();
    assert_eq!((&permissions["result"], &report["healthy"]), (&"remark".into(), &true.into()));
}
