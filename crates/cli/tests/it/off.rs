//! `tenure off`: for people, for a limited time, and always visible.

use serde_json::json;

use crate::home::{Engine, Home, text, wait_until};

#[test]
fn guards_that_are_off_are_seen_to_be_off() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("something");
        let start = json!({ "session_id": "s", "cwd": home.repo(), "source": "startup" }).to_string();
        let says = |words: &[&str]| home.run(words).stdout;
        // A hook without an answer within its one and a half seconds prints nothing, and then proves nothing.
        let told = |variable: &str| {
            let mut said = String::new();
            wait_until("the hook tells of the tasks", || {
                let call = home.call(&["hook", "claude", "SessionStart"]).env("TENURE_OFF", variable);
                said = call.input(start.as_bytes()).run().stdout;
                said.contains("something")
            });
            said
        };
        let seen = |expected: bool, variable: &str| {
            for words in [&["status"][..], &["whoami"], &["doctor"]] {
                let printed = home.call(words).env("TENURE_OFF", variable).run().stdout;
                assert_eq!(printed.contains("Guards are off"), expected, "{words:?}: {printed}");
            }
            for words in [&["status"][..], &["whoami"]] {
                let data = home.call(words).json().env("TENURE_OFF", variable).run().data();
                assert_eq!(data["guards"]["off"], expected, "{data}");
            }
            assert_eq!(told(variable).contains("Guards are off"), expected);
        };
        seen(false, "");
        assert!(says(&["off", "--for", "10m"]).contains("off until"));
        seen(true, "");
        assert!(says(&["log"]).contains("switched the guards off until"));
        assert_eq!(says(&["off", "--end"]), "Guards are on.\n");
        seen(false, "");
        seen(true, "1");
        seen(false, "0");
        home.refused_as("a", &["off"]).is("denied", "people_only");
        home.refused(&["off", "--for", "25h"]).is("usage", "bad_off");
        home.refused(&["off", "--for", "1h", "--end"]);
        assert_eq!(text(&home.ok(&["off"])["by"]), "person:ann");
    }
}
