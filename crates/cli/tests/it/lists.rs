//! Finding tasks by words, adding them from lists, waiting for one, and times as people type them.

use serde_json::json;

use crate::home::{Engine, Home};

fn titles(data: &serde_json::Value) -> Vec<&str> {
    data["items"].as_array().unwrap().iter().map(|task| task["title"].as_str().unwrap()).collect()
}

#[test]
fn tasks_are_found_by_words_wherever_they_stand() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.ok(&["add", "Fix the login page"]);
        home.ok(&["add", "Write the docs", "--description", "how to log in with readFile"]);
        let noted = home.ok(&["add", "Rotate keys", "--priority", "0"])["id"].as_str().unwrap().to_owned();
        home.ok_as("ann", &["note", &noted, "the login key is the old one"]);
        assert_eq!(titles(&home.ok(&["list", "login"])), ["Rotate keys", "Fix the login page"]);
        assert_eq!(titles(&home.ok(&["list", "LOG"])), ["Rotate keys", "Fix the login page", "Write the docs"]);
        assert_eq!(titles(&home.ok(&["search", "page", "login"])), ["Fix the login page"]);
        assert_eq!(titles(&home.ok(&["list", "--sort", "created", "log"]))[0], "Rotate keys");
        assert_eq!(titles(&home.ok(&["list", "--sort", "created", "-n", "1"])), ["Rotate keys"]);
        let found = home.ok(&["list", "old keys"]);
        assert_eq!(found["items"][0]["match"], json!(["title", "note"]));
        let first = home.ok(&["list", "log", "-n", "1"]);
        let next = home.ok(&["list", "log", "-n", "1", "--cursor", first["next"].as_str().unwrap()]);
        assert_eq!(titles(&next), ["Fix the login page"]);
        let shown = home.run(&["grep", "login"]).stdout;
        assert!(shown.contains("Rotate keys  (in note)") && shown.contains("Fix the login page\n"), "{shown}");
        home.refused(&["list", "the"]).is("usage", "bad_search");
        home.ok_as("ann", &["done", &noted]);
        assert_eq!(titles(&home.ok(&["list", "old"])), [""; 0]);
        assert_eq!(titles(&home.ok(&["list", "old", "--all"])), ["Rotate keys"]);
    }
}
