//! One project and one store from any directory, or a refusal that names both.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::home::{Call, Engine, Home, text};

/// Project, checkout and store as seen from a directory.
fn seen(call: Call) -> (Value, Value, Value) {
    let data = call.json().run().data();
    assert_eq!(data["switched_on"], true, "{data}");
    (data["project"].clone(), data["checkout"].clone(), data["store"].clone())
}

fn titles(home: &Home, dir: impl AsRef<Path>) -> Vec<String> {
    let data = home.call(&["list", "--all"]).json().cwd(dir).run().data();
    data["items"].as_array().unwrap().iter().map(|task| text(&task["title"])).collect()
}

#[test]
fn inv_i5_every_way_to_a_checkout_is_the_same_project_and_store() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("one");
        std::fs::create_dir_all(home.path("repo/deep/er")).unwrap();
        symlink(home.repo(), home.path("link")).unwrap();
        symlink(home.path("repo/deep"), home.path("deep-link")).unwrap();
        let here = seen(home.call(&["whoami"]));
        assert_eq!(here.1, home.repo().to_str().unwrap());
        let ways =
            ["repo/", "repo/deep", "repo/deep/er/", "link", "link/", "link/deep/er", "deep-link/er", "repo/../repo"];
        for way in ways {
            let dir = format!("{}/{way}", home.path("").display());
            assert_eq!(seen(home.call(&["whoami"]).cwd(&dir)), here, "{engine:?} {way}");
            assert_eq!(titles(&home, &dir), ["one"]);
        }
        home.call(&["add", "two"]).cwd(home.path("link/deep")).json().run().data();
        assert_eq!(titles(&home, home.repo()), ["one", "two"]);
        assert_eq!(home.replayed(), 4);
    }
}

#[test]
fn inv_i5_a_worktree_is_a_checkout_of_the_same_project() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        // The first write may come from any worktree.
        home.git("repo", &["worktree", "add", "-q", "../linked"]);
        home.git("repo", &["worktree", "add", "-q", "nested"]);
        home.call(&["add", "from the worktree"]).json().cwd(home.path("linked")).run().data();
        let (project, checkout, store) = seen(home.call(&["whoami"]));
        assert_eq!(checkout, home.repo().to_str().unwrap());
        for tree in ["linked", "repo/nested"] {
            let there = (project.clone(), Value::from(home.path(tree).to_str().unwrap()), store.clone());
            assert_eq!(seen(home.call(&["whoami"]).cwd(home.path(tree))), there);
            assert_eq!(titles(&home, home.path(tree)), ["from the worktree"]);
        }
        // The holder is visible in the other one.
        let claimed = home.call(&["claim"]).json().agent("a").cwd(home.path("linked")).run().data();
        let task = text(&claimed["task"]["id"]);
        let refusal = home.call(&["claim", &task]).json().agent("b").cwd(home.path("repo/nested")).run().refusal();
        refusal.is("conflict", "task_held").names(&["a"]);
    }
}

#[test]
fn inv_i5_the_environment_of_a_git_hook_changes_nothing() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.git_init("other");
        home.add("one");
        let here = seen(home.call(&["whoami"]));
        let in_hook = |call: Call, repository: &str| {
            call.env("GIT_DIR", home.path(&format!("{repository}/.git")))
                .env("GIT_WORK_TREE", home.path(repository))
                .env("GIT_INDEX_FILE", home.path(&format!("{repository}/.git/index")))
                .env("GIT_COMMON_DIR", home.path(&format!("{repository}/.git")))
                .env("GIT_PREFIX", "sub/")
        };
        for repository in ["repo", "other"] {
            assert_eq!(seen(in_hook(home.call(&["whoami"]), repository)), here, "{engine:?} {repository}");
        }
        assert_eq!(seen(home.call(&["whoami"]).env("GIT_DIR", ".git")), here);
        in_hook(home.call(&["add", "two"]).json(), "other").run().data();
        assert_eq!(titles(&home, home.repo()), ["one", "two"]);
    }
}

#[test]
fn inv_i5_a_real_hook_of_git_finds_the_project() {
    let home = Home::new(Engine::File);
    home.add("one");
    home.git("repo", &["worktree", "add", "-q", "../linked"]);
    let hook = home.path("repo/.git/hooks/pre-commit");
    let script = format!("#!/bin/sh\nexec {} add \"from the hook\" --quiet\n", crate::home::TENURE);
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for tree in ["repo", "linked"] {
        home.git(tree, &["commit", "-q", "--allow-empty", "-m", "second"]);
    }
    assert_eq!(titles(&home, home.repo()), ["one", "from the hook", "from the hook"]);
}

#[test]
fn inv_i5_two_repositories_are_two_projects() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.git_init("other");
        home.add("one");
        let task = home.call(&["add", "two"]).json().cwd(home.path("other")).run().data();
        assert_eq!(titles(&home, home.repo()), ["one"]);
        assert_eq!(titles(&home, home.path("other")), ["two"]);
        assert_eq!(task["number"], 1);
        home.refused(&["show", &text(&task["id"])]).is("not_found", "not_found");
        assert_ne!(seen(home.call(&["whoami"])).0, seen(home.call(&["whoami"]).cwd(home.path("other"))).0);
    }
}

#[test]
fn inv_i5_a_submodule_is_a_project_of_its_own() {
    let home = Home::new(Engine::File);
    home.git_init("library");
    let from = home.path("library");
    home.git("repo", &["submodule", "--quiet", "add", from.to_str().unwrap(), "vendor/library"]);
    home.add("outer");
    let inside = home.path("repo/vendor/library");
    assert_eq!(titles(&home, &inside), [""; 0]);
    home.call(&["add", "inner"]).json().cwd(&inside).run().data();
    assert_eq!(titles(&home, &inside), ["inner"]);
    assert_eq!(titles(&home, home.repo()), ["outer"]);
    assert_eq!(titles(&home, home.path("repo/vendor")), ["outer"]);
    assert_eq!(titles(&home, home.path("library")), [""; 0], "a clone is another project");
}

#[test]
fn inv_i5_a_bare_repository_and_its_worktrees_are_one_project() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.git("", &["clone", "-q", "--bare", "repo", "hub/bare.git"]);
        home.git("hub/bare.git", &["worktree", "add", "-q", "../a", "main"]);
        home.git("hub/bare.git", &["worktree", "add", "-q", "-b", "b", "../b"]);
        // On a shared store a clone is identified by its origin; here it must be identified by itself.
        home.git("hub/bare.git", &["remote", "remove", "origin"]);
        home.call(&["add", "one"]).json().cwd(home.path("hub/a")).run().data();
        for tree in ["hub/a", "hub/b", "hub/bare.git"] {
            assert_eq!(titles(&home, home.path(tree)), ["one"], "{engine:?} {tree}");
        }
        assert_eq!(titles(&home, home.repo()), [""; 0]);
    }
}

#[test]
fn inv_i5_clones_with_one_origin_share_a_project_on_a_shared_store() {
    let home = Home::new(Engine::Postgres);
    home.git_init("clone");
    home.git("repo", &["remote", "add", "origin", "git@example.com:org/shop.git"]);
    home.git("clone", &["remote", "add", "origin", "https://ann:secret@example.com/org/shop"]);
    home.add("one");
    assert_eq!(titles(&home, home.path("clone")), ["one"]);
    let project = seen(home.call(&["whoami"])).0;
    assert_eq!(project, "url:example.com/org/shop");
    // The key is pinned: a changed origin does not lose the work.
    home.git("repo", &["remote", "set-url", "origin", "git@example.com:org/renamed.git"]);
    assert_eq!(titles(&home, home.repo()), ["one"]);
}

#[test]
fn inv_i5_a_directory_without_git_is_known_by_its_path() {
    for engine in Engine::ALL {
        let home = Home::without_git(engine);
        std::fs::create_dir_all(home.path("repo/below")).unwrap();
        home.add("one");
        assert_eq!(titles(&home, home.repo()), ["one"]);
        // A subdirectory does not belong to it by default …
        assert_eq!(titles(&home, home.path("repo/below")), [""; 0], "{engine:?}");
        // … until a configuration file says so.
        std::fs::write(home.path("repo/tenure.toml"), "").unwrap();
        assert_eq!(titles(&home, home.path("repo/below")), ["one"], "{engine:?}");
    }
}

#[test]
fn inv_i5_a_name_makes_any_directories_one_project() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.git_init("other");
        std::fs::write(home.path("repo/tenure.toml"), "project = \"shop\"\n").unwrap();
        home.add("one");
        let named = home.call(&["list", "--project", "shop"]).json().cwd(home.path("tmp")).run().data();
        assert_eq!(named["total"], 1);
        home.call(&["add", "two"]).json().env("TENURE_PROJECT", "shop").cwd(home.path("other")).run().data();
        assert_eq!(titles(&home, home.repo()), ["one", "two"]);
        // On a shared store the first write pins the key it used; on an embedded one the repository's own id counts.
        let kept = if engine == Engine::Postgres || home.is_far() { vec!["one", "two"] } else { vec![] };
        assert_eq!(titles(&home, home.path("other")), kept, "{engine:?}");
    }
}

#[test]
fn a_store_in_the_main_checkout_serves_every_worktree() {
    let home = Home::direct(Engine::File);
    home.git("repo", &["worktree", "add", "-q", "../linked"]);
    std::fs::create_dir(home.path("repo/.tenure")).unwrap();
    // A `.tenure` directory in a worktree is not the project's.
    std::fs::create_dir(home.path("linked/.tenure")).unwrap();
    home.call(&["add", "one"]).json().cwd(home.path("linked")).run().data();
    assert_eq!(titles(&home, home.repo()), ["one"]);
    assert!(home.path("repo/.tenure/tenure.db").is_file());
    assert!(home.files("linked/.tenure").is_empty() && home.files("home").is_empty());

    // A directory without git may have one too.
    std::fs::create_dir_all(home.path("plain/.tenure")).unwrap();
    std::fs::create_dir_all(home.path("plain/below")).unwrap();
    home.call(&["add", "plain"]).json().cwd(home.path("plain/below")).run().data();
    assert_eq!(titles(&home, home.path("plain")), ["plain"]);
    assert!(home.path("plain/.tenure/tenure.db").is_file());
}

#[test]
fn inv_t5_a_query_where_no_store_exists_makes_nothing() {
    for engine in Engine::ALL {
        let home = Home::direct(engine);
        let before = (home.files("home"), home.files("repo"), home.files("tmp"));
        let empty = home.ok(&["list"]);
        assert_eq!(
            (&empty["items"], &empty["total"], &empty["more"]),
            (&Value::from(vec![0; 0]), &0.into(), &false.into())
        );
        assert_eq!(home.ok(&["status"])["ready"], 0);
        assert_eq!(home.ok(&["next"])["task"], Value::Null);
        assert_eq!(home.ok(&["whoami"])["switched_on"], false);
        assert_eq!(home.ok(&["log"])["items"], Value::from(vec![0; 0]));
        assert_eq!(home.ok(&["doctor"])["healthy"], true);
        for query in [&["holds"][..], &["agent", "list"], &["project", "show"]] {
            home.ok(query);
        }
        for query in [["show", "t-7k3fq"], ["why", "t-7k3fq"], ["show", "h-7k3fq"]] {
            home.refused(&query).is("not_found", "not_found");
        }
        home.refused(&["claim", "t-7k3fq"]).is("not_found", "not_found");
        assert_eq!((home.files("home"), home.files("repo"), home.files("tmp")), before, "{engine:?}");
        if engine == Engine::Postgres {
            let sql = format!("SELECT 1 FROM pg_namespace WHERE nspname = '{}'", home.schema());
            assert!(tenure_testkit::pg::server().query(&sql).is_empty(), "a query made the schema");
        }
    }
}
