//! The projects of a store: listing, forgetting, and retention of their events.

use serde_json::json;

use crate::home::{Engine, Home, text};

/// A repository `shop` beside the first one, in the same store.
fn with_shop(engine: Engine) -> Home {
    let home = Home::new(engine);
    home.add("first");
    home.git_init("shop");
    home.call(&["add", "second"]).cwd(home.path("shop")).run();
    home
}

fn labels(home: &Home) -> Vec<String> {
    home.ok(&["project", "list"])["items"].as_array().unwrap().iter().map(|item| text(&item["label"])).collect()
}

fn forgetting(engine: Engine) {
    let home = with_shop(engine);
    let here = labels(&home).into_iter().find(|label| label != "shop").unwrap();
    assert_eq!(labels(&home).len(), 2);
    home.refused_as("a", &["project", "forget", "shop"]).is("denied", "people_only");
    home.refused(&["project", "forget", "nothing", "--yes"]).is("not_found", "unknown_project").names(&["nothing"]);
    home.refused(&["project", "forget"]).is("usage", "bad_arguments");
    home.refused(&["project", "forget", ""]).is("not_found", "unknown_project");
    home.refused(&["project", "forget", "shop", "--forse"]).is("usage", "bad_arguments").names(&["--forse"]);

    home.call(&["claim", "--agent", "a"]).cwd(home.path("shop")).run();
    let spare = home.path("spare.backup").display().to_string();
    let forgetting = ["project", "forget", "shop", "--safety", &spare];
    let forget = |more: &[&'static str]| [&forgetting[..], more].concat();
    let unasked = home.refused(&forget(&[]));
    unasked.is("usage", "confirmation_needed").names(&["nothing was forgotten"]);
    assert_eq!(unasked.detail("project")["label"], "shop");
    let refusal = home.refused(&forget(&["--yes"]));
    refusal.is("conflict", "project_in_use");
    assert!(!home.path("spare.backup").exists(), "no backup is left where nothing was removed");
    assert_eq!(refusal.detail("blockers")[0]["holder"], "a");
    assert!(!refusal.error.to_string().contains("project forget shop --force"), "no complete destructive command");
    // One project can forget another, regardless of its own holds.
    home.ok_as("a", &["claim"]);
    home.refused(&["project", "forget", "shop", "--yes", "--force", "--safety", "none/at.all"]);
    assert_eq!(labels(&home).len(), 2, "without its backup nothing is forgotten");
    let once = forget(&["--yes", "--force", "--request-id", "once"]);
    let gone = home.ok(&once);
    assert_eq!((text(&gone["label"]).as_str(), &gone["tasks"], &gone["overrode"]), ("shop", &json!(1), &json!(["a"])));
    assert_eq!(text(&gone["safety"]), spare);
    let again = home.ok(&["project", "forget", "shop", "--yes", "--force", "--request-id", "once", "--no-backup"]);
    assert_eq!((&again["key"], &again["safety"]), (&gone["key"], &json!(null)), "the same call is answered again");
    let copy = home.path("copy.db").display().to_string();
    let outside = |args: &[&str]| home.call(args).json().cwd(home.path("home")).run().data();
    outside(&["restore", &spare, "--store", &copy]);
    let kept = outside(&["project", "list", "--store", &copy]);
    assert!(kept["items"].as_array().unwrap().iter().any(|item| item["label"] == "shop"), "{kept}");
    home.refused(&["project", "forget", "shop", "--yes"]).is("not_found", "unknown_project");
    assert_eq!(labels(&home), [here]);
    let shop = |args: &[&str]| home.call(args).json().cwd(home.path("shop")).run().data();
    assert_eq!(shop(&["list"])["total"], 0);
    assert_eq!(shop(&["whoami"])["switched_on"], false);
    // The repository keeps its id and its pin: the next write starts anew.
    shop(&["add", "third"]);
    assert_eq!(labels(&home).len(), 2);
    assert!(home.replayed() > 0, "the project beside it is as it was");
}

#[test]
fn a_project_is_forgotten_by_people_and_by_name() {
    forgetting(Engine::File);
}

#[test]
fn a_project_is_forgotten_on_postgres() {
    forgetting(Engine::Postgres);
}

#[test]
fn a_list_of_projects_creates_nothing() {
    let home = Home::direct(Engine::File);
    assert_eq!(home.ok(&["project", "list"])["total"], 0);
    assert!(!home.database().exists());
    assert_eq!(home.run(&["project", "list"]).stdout, "No projects.\n");
    home.refused(&["project", "list", "--limit", "0"]).is("usage", "bad_limit");
}

#[test]
fn retention_belongs_to_the_project() {
    let home = Home::new(Engine::File);
    home.add("first");
    let user = home.path("home/.config/tenure");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join("config.toml"), "[retention]\nevents = \"1d\"\n").unwrap();
    let refusal = home.call(&["list"]).json().env("XDG_CONFIG_HOME", home.path("home/.config")).run().refusal();
    refusal.is("usage", "config_invalid").names(&["tenure.toml"]);
}

#[test]
fn retention_is_a_setting_and_a_wrong_one_is_refused() {
    let home = Home::new(Engine::File);
    home.add("first");
    for (value, ok) in [("30d", true), ("forever", true), ("1h", false), ("4000d", false), ("soon", false)] {
        std::fs::write(home.repo().join("tenure.toml"), format!("[retention]\nevents = \"{value}\"\n")).unwrap();
        if ok {
            home.ok(&["list"]);
        } else {
            home.refused(&["list"]).is("usage", "config_invalid").names(&["events", "line 2"]);
        }
    }
}
