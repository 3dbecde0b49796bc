//! What one types by mistake or by habit, and what must not happen then.

use serde_json::{Value, json};

use crate::home::{Engine, Home, text};
use crate::mcp_client::Client;

fn subjects(held: &Value) -> Vec<String> {
    held["holds"].as_array().unwrap().iter().map(|hold| text(&hold["subject"])).collect()
}

#[test]
fn inv_r1_a_star_makes_a_glob_unless_there_is_a_file_of_that_name() {
    let home = Home::new(Engine::File);
    std::fs::create_dir_all(home.repo().join("src")).unwrap();
    std::fs::write(home.repo().join("src/star*.rs"), "").unwrap();
    for (typed, subject, is_glob) in [
        ("docs/*.md", "glob:docs/*.md", true),
        ("docs/v?/[ab].{md,txt}", "glob:docs/v?/[ab].{md,txt}", true),
        ("docs/[id].md", "docs/[id].md", false),
        ("docs/{a,b}.md", "docs/{a,b}.md", false),
        ("src/star*.rs", "src/star*.rs", false),
        ("glob:src/star*.rs", "glob:src/star*.rs", true),
        ("path:src/new*.rs", "src/new*.rs", false),
    ] {
        let globs = if is_glob { json!([subject]) } else { Value::Null };
        let held = home.ok_as("a", &["reserve", "--shared", typed]);
        assert_eq!((subjects(&held), &held["globs"]), (vec![subject.to_owned()], &globs), "{typed}");
        let checked = home.ok_as("b", &["check", "--shared", typed]);
        assert_eq!((&checked["free"], &checked["globs"]), (&json!(true), &globs), "{typed}");
        let page = home.ok_as("b", &["holds", typed]);
        assert_eq!((&page["items"][0]["subject"], &page["globs"]), (&json!(subject), &globs), "{typed}");
        let ended = home.ok_as("a", &["release", typed]);
        assert_eq!((subjects(&ended), &ended["globs"]), (vec![subject.to_owned()], &globs), "{typed}");
        // The tools mean the same.
        let mut client = Client::new(&home, "one");
        let held = client.call("reserve", json!({ "paths": [typed] }));
        assert_eq!((subjects(&held), &held["globs"]), (vec![subject.to_owned()], &globs), "{typed}");
        assert!(client.close().success());
    }
    let said = home.run(&["reserve", "docs/*.md", "--agent", "a"]);
    assert!(said.stdout.contains("docs/*.md is a glob: it means all files that match."), "{said:?}");
    let said = home.run(&["reserve", "docs/a.md", "--agent", "a"]);
    // The own hold that covers it is returned, and nothing is said about what was typed.
    assert!(!said.stdout.contains("is a glob"), "{said:?}");
    home.replayed();
}

#[test]
fn the_flag_that_names_the_caller_filters_where_the_caller_does_not_matter() {
    let home = Home::new(Engine::File);
    let (mine, hers, free) = (home.add("mine"), home.add("hers"), home.add("free"));
    home.ok_as("amber", &["claim", &mine]);
    home.ok_as("blue", &["reserve", "src/"]);
    home.ok(&["edit", &hers, "--for", "amber"]);
    let ids = |page: Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|item| text(&item["id"])).collect()
    };
    assert_eq!(ids(home.ok(&["list", "--agent", "amber"])), [mine.clone(), hers.clone()]);
    assert_eq!(ids(home.ok(&["--agent=amber", "list"])), [mine.clone(), hers.clone()]);
    assert_eq!(ids(home.ok(&["list", "--agent", "blue"])), [""; 0]);
    assert_eq!(ids(home.ok(&["list", "--agent", "blue", "--for", "amber"])), std::slice::from_ref(&hers));
    assert_eq!(ids(home.ok(&["list", "--agent", "amber", "--mine"])), std::slice::from_ref(&mine));
    assert_eq!(ids(home.ok_as("amber", &["list"])), [mine, hers, free], "the environment names the caller");
    home.ok_as("amber", &["done"]);
    let actors = home.ok(&["log", "--agent", "amber"])["items"].take();
    let actors = actors.as_array().unwrap();
    assert!(!actors.is_empty() && actors.iter().all(|event| event["actor"] == "amber"), "{actors:?}");
    assert_eq!(home.ok(&["log", "--agent", "amber", "--by", "blue"])["items"][0]["actor"], "blue");
    assert_eq!(home.ok(&["holds", "--agent", "blue"])["items"][0]["subject"], "src/");
    assert_eq!(home.ok(&["holds", "--agent", "amber"])["items"], json!([]));
}

#[test]
fn a_new_name_that_resembles_a_known_one_is_remarked_on() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("one");
        let first = home.ok_as("amber", &["note", &task, "x"]);
        assert_eq!(first.get("remarks"), None);
        let slip = home.ok_as("ambre", &["note", &task, "x"]);
        let remark = "ambre is a new agent and resembles amber: if they are one, use one name";
        assert_eq!(slip["remarks"], json!([remark]));
        assert_eq!(home.ok_as("ambre", &["note", &task, "x"]).get("remarks"), None, "once");
        let said = home.call(&["note", &task, "x"]).agent("am-ber").run();
        assert_eq!((said.code, said.stderr.contains("am-ber is a new agent and resembles amb")), (0, true), "{said:?}");
        for name in ["amber-2", "blue"] {
            assert_eq!(home.ok_as(name, &["note", &task, "x"]).get("remarks"), None, "{name}");
        }
        home.replayed();
    }
}

#[test]
fn a_summary_is_kept_where_the_work_is_shown() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("one");
        home.ok_as("a", &["claim", &task]);
        let done = home.ok_as("a", &["done", "-m", "the login works again"]);
        assert_eq!(done["state"], "done");
        assert_eq!(home.ok(&["show", &task])["notes"][0]["text"], "the login works again");
        for command in ["show", "why", "log"] {
            let said = home.run(&[command, &task]).stdout;
            assert!(said.contains("the login works again"), "{command}: {said}");
        }
        let event = home.events().pop().unwrap();
        assert_eq!((event.kind.as_str(), &event.data["summary"]), ("task.done", &json!("the login works again")));
        home.replayed();
    }
}

#[test]
fn the_files_and_the_data_of_a_note_are_shown() {
    let home = Home::new(Engine::File);
    let task = home.add("one");
    std::fs::write(home.repo().join("out.txt"), "x").unwrap();
    home.ok_as("a", &["note", &task, "measured", "--artifact", "out.txt", "--data", "{\"ms\":3}"]);
    let note = home.ok(&["show", &task])["notes"][0].clone();
    assert_eq!((&note["artifacts"][0]["path"], &note["artifacts"][0]["size"]), (&json!("out.txt"), &json!(1)));
    let said = home.run(&["show", &task]).stdout;
    assert!(
        said.contains("file out.txt (1 bytes, sha256 2d711642b726…)") && said.contains("data {\"ms\":3}"),
        "{said}"
    );
}
