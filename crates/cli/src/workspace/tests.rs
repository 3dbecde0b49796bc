use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use tenure_client::phrasing::Commands;
use tenure_core::Kind;

use super::fixture::{Area, git};
use super::project::KeyKind;
use super::*;

fn env(area: &Area, cwd: &Path) -> Env {
    Env::of(cwd, [("HOME", area.path("home").to_str().unwrap())])
}

fn place(area: &Area, cwd: &str) -> Workspace {
    resolve(&Globals::default(), &env(area, &area.path(cwd))).unwrap()
}

fn fill(bytes: &mut [u8]) {
    bytes.fill(7);
}

fn on_postgres(env: Env) -> Workspace {
    resolve(&Globals::default(), &env.with("TENURE_STORE", "postgres://u:pw@h/d")).unwrap()
}

#[test]
fn inv_i5_every_way_into_a_repository_is_one_project_and_store() {
    let area = Area::new();
    let repo = area.repo("repo");
    git(&repo, &["worktree", "add", "-q", "../side"]);
    fs::create_dir_all(repo.join("src/deep")).unwrap();
    symlink(&repo, area.path("link")).unwrap();
    let first = place(&area, "repo");
    assert_eq!((first.project.key.as_deref(), first.project.kind), (None, KeyKind::Id));
    assert_eq!(first.project.label, "repo");
    assert!(!repo.join(".git/tenure").exists(), "resolving writes nothing");
    let key = first.ensure_key(&mut fill).unwrap();
    assert_eq!(key, format!("id:{}", "7".repeat(26)));
    assert_eq!(first.ensure_key(&mut |_| unreachable!("the id is there")).unwrap(), key);

    let ways = ["repo", "repo/", "repo/src/deep", "link/src", "side", "side/", "repo/.git"];
    for own_store in [false, true] {
        if own_store {
            fs::create_dir(repo.join(".tenure")).unwrap();
        }
        let store = place(&area, "repo").store;
        for way in ways {
            let place = place(&area, way);
            assert_eq!((place.project.key.as_ref(), &place.store), (Some(&key), &store), "{way}");
            assert_eq!(place.project.label, "repo");
        }
        let expected = if own_store { "repo/.tenure/tenure.db" } else { "home/.local/share/tenure/tenure.db" };
        assert_eq!(store, StoreLocation::Sqlite(area.path(expected)));
    }
    assert_eq!(place(&area, "side").dir, area.path("side"));
}

#[test]
fn inv_i5_variables_that_git_sets_in_hooks_change_nothing() {
    let area = Area::new();
    let (repo, other) = (area.repo("repo"), area.repo("other"));
    place(&area, "repo").ensure_key(&mut fill).unwrap();
    let other_git = other.join(".git");
    let env = ["GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CEILING_DIRECTORIES"]
        .iter()
        .fold(env(&area, &repo), |env, name| env.with(name, &other_git));
    let found = resolve(&Globals::default(), &env).unwrap();
    assert_eq!((found.project, found.store), (place(&area, "repo").project, place(&area, "repo").store));
}

#[test]
fn inv_i5_another_home_or_store_is_refused_naming_both() {
    let area = Area::new();
    let repo = area.repo("repo");
    let here = place(&area, "repo");
    let key = here.ensure_key(&mut fill).unwrap();
    here.check_pin("s-1").unwrap();
    here.check_no_pin().unwrap();
    here.ensure_pin("s-1", &key).unwrap();
    here.ensure_pin("s-1", &key).unwrap();
    here.check_pin("s-1").unwrap();

    let elsewhere = resolve(&Globals::default(), &Env::of(&repo, [("HOME", "/elsewhere")])).unwrap();
    for error in [
        elsewhere.check_pin("s-2").unwrap_err(),
        elsewhere.ensure_pin("s-2", &key).unwrap_err(),
        elsewhere.check_no_pin().unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Conflict, "pinned_elsewhere"));
        let home = area.path("home/.local/share/tenure/tenure.db").display().to_string();
        assert!(error.message().contains(&home), "{error}");
        assert!(error.message().contains("/elsewhere/.local/share/tenure/tenure.db"), "{error}");
        assert!(error.override_by_person().unwrap().say(&Commands).contains("`tenure project pin`"));
    }
    assert_eq!(here.check_no_pin().unwrap_err().code(), "pinned_store_gone");
    let replaced = here.check_pin("s-9").unwrap_err();
    assert!(replaced.message().contains("is not the one"), "{replaced}");
}

#[test]
fn inv_i5_a_moved_repository_keeps_its_project_and_a_copy_is_seen() {
    let area = Area::new();
    let repo = area.repo("repo");
    let before = place(&area, "repo");
    let key = before.ensure_key(&mut fill).unwrap();
    let recorded = before.common_identity().unwrap();
    fs::rename(&repo, area.path("moved")).unwrap();
    let moved = place(&area, "moved");
    assert_eq!(moved.project.key.as_ref(), Some(&key));
    assert!(!moved.is_copy_of(&recorded, &key).unwrap());

    fs::create_dir_all(repo.join(".git/tenure")).unwrap();
    fs::write(repo.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::copy(area.path("moved/.git/tenure/id"), repo.join(".git/tenure/id")).unwrap();
    assert!(moved.is_copy_of(&recorded, &key).unwrap());
}

#[test]
fn inv_i5_a_submodule_and_a_second_clone_are_projects_of_their_own() {
    let area = Area::new();
    let (repo, lib) = (area.repo("repo"), area.repo("lib"));
    git(&repo, &["submodule", "--quiet", "add", lib.to_str().unwrap(), "vendor"]);
    git(&repo, &["clone", "-q", ".", "../clone"]);
    place(&area, "repo").ensure_key(&mut fill).unwrap();
    for other in ["repo/vendor", "clone", "lib"] {
        assert_eq!(place(&area, other).project.key, None, "{other}");
    }
    assert_eq!(place(&area, "repo/vendor").project.label, "vendor");
}

#[test]
fn names_come_from_the_flag_the_variable_or_the_file() {
    let area = Area::new();
    let repo = area.repo("repo");
    fs::write(repo.join("tenure.toml"), "project = \"file\"\n").unwrap();
    let side = area.path("side");
    git(&repo, &["worktree", "add", "-q", side.to_str().unwrap()]);
    let globals = Globals { project: Some("flag".into()), ..Globals::default() };
    let name = |globals: &Globals, env: &Env| resolve(globals, env).unwrap().project.key.unwrap();
    let plain = env(&area, &repo);
    let variable = env(&area, &repo).with("TENURE_PROJECT", "variable");
    assert_eq!(name(&globals, &variable), "name:flag");
    assert_eq!(name(&Globals::default(), &variable), "name:variable");
    assert_eq!(name(&Globals::default(), &plain), "name:file");
    assert_eq!(name(&Globals::default(), &env(&area, &side)), "name:file", "the main checkout's file counts");
    let bad = resolve(&Globals { project: Some("No Name".into()), ..Globals::default() }, &plain).unwrap_err();
    assert_eq!((bad.kind(), bad.code().as_str()), (Kind::Usage, "bad_project_name"));
}

#[test]
fn the_store_comes_from_the_nearest_that_names_one() {
    let area = Area::new();
    let repo = area.repo("repo");
    let config = area.path("home/.config/tenure");
    fs::create_dir_all(&config).unwrap();
    let found = |globals: &Globals, env: &Env| {
        let place = resolve(globals, env).unwrap();
        (place.store, place.store_from)
    };
    let at = |path: &str, from| (StoreLocation::Sqlite(area.path(path)), from);
    let none = Globals::default();
    let plain = env(&area, &repo);
    fs::write(config.join("config.toml"), "store = \"mine.db\"\n").unwrap();
    assert_eq!(found(&none, &plain), at("home/.config/tenure/mine.db", StoreFrom::UserConfig));
    fs::create_dir(repo.join(".tenure")).unwrap();
    assert_eq!(found(&none, &plain), at("repo/.tenure/tenure.db", StoreFrom::ProjectDirectory));
    fs::write(repo.join("tenure.toml"), "store = \"own/x.db\"\n").unwrap();
    assert_eq!(found(&none, &plain), at("repo/own/x.db", StoreFrom::ProjectConfig));
    let variable = env(&area, &repo).with("TENURE_STORE", "v.db");
    assert_eq!(found(&none, &variable), at("repo/v.db", StoreFrom::Variable));
    let flag = Globals { store: Some("../f.db".into()), ..Globals::default() };
    assert_eq!(found(&flag, &variable).1, StoreFrom::Flag);
}

#[test]
fn inv_i5_a_committed_relative_store_is_one_store_for_all_worktrees() {
    let area = Area::new();
    let repo = area.repo("repo");
    fs::write(repo.join("tenure.toml"), "store = \"data/\"\n").unwrap();
    git(&repo, &["add", "."]);
    git(&repo, &["commit", "-q", "-m", "configuration"]);
    git(&repo, &["worktree", "add", "-q", "../side"]);
    assert!(area.path("side/tenure.toml").exists());
    assert_eq!(place(&area, "side").store, StoreLocation::Sqlite(repo.join("data/tenure.db")));
    assert_eq!(place(&area, "repo").store, place(&area, "side").store);
}

#[test]
fn inv_i5_without_git_subdirectories_of_a_marked_directory_are_one_project() {
    let area = Area::new();
    fs::create_dir_all(area.path("plain/sub")).unwrap();
    let key = |cwd: &str| place(&area, cwd).project.key.unwrap();
    let dir = |below: &str| format!("dir:{}", area.path(below).display());
    assert_eq!(key("plain"), dir("plain"));
    assert_eq!(key("plain/sub/"), dir("plain/sub"));
    fs::create_dir(area.path("plain/.tenure")).unwrap();
    assert_eq!(key("plain/sub"), dir("plain"));
    assert_eq!(place(&area, "plain/sub").store, StoreLocation::Sqlite(area.path("plain/.tenure/tenure.db")));
    assert_eq!(place(&area, "plain/sub").dir, area.path("plain"));
    assert!(place(&area, "plain").common_identity().is_none());
    place(&area, "plain").ensure_pin("s-1", "dir:x").unwrap();
    fs::remove_dir(area.path("plain/.tenure")).unwrap();
    fs::write(area.path("plain/tenure.toml"), "project = \"shop\"\n").unwrap();
    assert_eq!(key("plain/sub"), "name:shop");
}

#[test]
fn other_bytes_in_a_path_are_kept_apart_in_the_key() {
    let area = Area::new();
    let odd = area.path(".").join(OsStr::from_bytes(b"a\xff"));
    fs::create_dir(&odd).unwrap();
    let found = resolve(&Globals::default(), &env(&area, &odd)).unwrap();
    assert_eq!(found.project.key.unwrap(), format!("dir:{}/a%FF", area.path(".").display()));
    assert_eq!(found.project.label, "a\u{fffd}");
    git(&odd, &["init", "-q"]);
    let found = resolve(&Globals::default(), &env(&area, &odd)).unwrap();
    assert_eq!((found.project.label.as_str(), found.project.kind), ("a\u{fffd}", KeyKind::Id));
    assert!(found.common_identity().unwrap().path.ends_with("/a%FF/.git"));
}

#[test]
fn inv_i5_on_a_shared_store_clones_meet_by_url_and_keep_the_pinned_key() {
    let area = Area::new();
    let repo = area.repo("repo");
    let here = || on_postgres(env(&area, &repo));
    assert_eq!((here().project.key, here().project.kind), (None, KeyKind::Id));
    git(&repo, &["remote", "add", "origin", "git@Host:org/repo.git"]);
    let url = here();
    assert_eq!((url.project.key.as_deref(), url.project.label.as_str()), (Some("url:host/org/repo"), "host/org/repo"));
    assert_eq!(place(&area, "repo").project.kind, KeyKind::Id, "an embedded store does not ask for the URL");

    url.ensure_pin("s-1", "url:host/org/repo").unwrap();
    let text = fs::read_to_string(repo.join(".git/tenure/pin")).unwrap();
    assert!(text.contains("postgres://u:***@h/d") && !text.contains("pw"), "{text}");
    git(&repo, &["remote", "set-url", "origin", "git@host:org/renamed.git"]);
    assert_eq!(here().project.key.as_deref(), Some("url:host/org/repo"));
    let named = on_postgres(env(&area, &repo).with("TENURE_PROJECT", "shop"));
    assert_eq!(named.project.key.as_deref(), Some("name:shop"));
    let error = place(&area, "repo").check_pin("s-2").unwrap_err();
    assert!(error.message().contains("postgres://u:***@h/d"), "{error}");

    fs::write(repo.join(".git/tenure/pin"), r#"{"store":"s-1","location":"x","key":"odd"}"#).unwrap();
    let env = env(&area, &repo).with("TENURE_STORE", "postgres://h/d");
    assert_eq!(resolve(&Globals::default(), &env).unwrap_err().code(), "project_file_corrupt");
    let plain = on_postgres(Env::of(&area.path("."), [("HOME", "/h")]));
    let host = Env::capture().hostname();
    assert_eq!(plain.project.key.unwrap(), format!("dir:{host}:{}", area.path(".").display()));
}
