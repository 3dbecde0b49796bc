use super::*;

fn hook(event: &str, command: &str) -> Hook {
    Hook { event: event.into(), matcher: String::new(), command: command.into(), timeout: 5 }
}

fn parts() -> Vec<Part> {
    vec![
        Part::Hooks(
            Shape::Grouped,
            vec![hook("Start", "tenure hook claude Start"), hook("End", "tenure hook claude End")],
        ),
        Part::Mcp { at: "mcpServers", value: json!({ "command": "tenure", "args": ["mcp"] }) },
        Part::Grant { at: &["sandbox", "filesystem", "allowWrite"], dir: "/store".into() },
    ]
}

fn applied(text: &str) -> String {
    apply(Some(text), &parts()).unwrap().text.unwrap()
}

#[test]
fn own_entries_come_once_and_go_without_a_trace() {
    for text in [
        "{}",
        "{\n}\n",
        "{\n  \"model\": \"x\"\n}\n",
        "{\"hooks\":{\"Start\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]}]},\"mcpServers\":{\"a\":{}}}",
        "{\n  \"sandbox\": { \"enabled\": true, \"filesystem\": { \"allowWrite\": [\"/tmp\"], }, },\n}\n",
    ] {
        let after = applied(text);
        assert_eq!(applied(&after), after, "{text}");
        let stripped = strip(&after, &parts(), |_| true).unwrap();
        assert_eq!(stripped.text.as_deref(), Some(text), "{after}");
        let left = strip(&after, &parts(), |_| false).unwrap();
        assert_eq!(left.remarks.len(), 1);
        assert!(left.text.unwrap().contains("/store"));
    }
    let made = apply(None, &parts()).unwrap().text.unwrap();
    assert_eq!(strip(&made, &parts(), |_| true).unwrap().text, None, "{made}");
}

#[test]
fn an_older_entry_is_replaced_and_a_foreign_neighbour_stays() {
    let old = r#"{"hooks":{"Start":[{"matcher":"x","hooks":[{"command":"/old/tenure hook claude Start"},{"command":"mine"}]}],
        "Gone":[{"hooks":[{"command":"'/a b/tenure' hook claude Gone"}]}]},"mcpServers":{"tenure":{"command":"/old/tenure","args":["mcp"],"env":{}}}}"#;
    let after = applied(old);
    let found = own_hooks(&parse(&after).unwrap(), &after);
    assert_eq!(found, [hook("Start", "tenure hook claude Start"), hook("End", "tenure hook claude End")]);
    assert!(after.contains(r#"{"matcher":"x","hooks":[{"command":"mine"}]}"#), "{after}");
    assert!(!after.contains("/old/") && !after.contains("/a b/"), "{after}");
}

#[test]
fn what_another_program_has_under_the_name_is_left() {
    let text = r#"{"mcpServers":{"tenure":{"command":"other","args":["mcp"]}}}"#;
    let outcome = apply(Some(text), &parts()[1..2]).unwrap();
    assert_eq!((outcome.text.as_deref(), outcome.remarks.len()), (Some(text), 1));
    assert_eq!(strip(text, &parts()[1..2], |_| true).unwrap().text.as_deref(), Some(text));
}

#[test]
fn a_version_comes_with_a_file_that_is_made_and_goes_with_it() {
    let parts = [Part::Hooks(Shape::Flat, vec![hook("stop", "tenure hook cursor stop")]), Part::Version];
    let made = apply(None, &parts).unwrap().text.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&made).unwrap()["version"], 1);
    assert_eq!(apply(Some(&made), &parts).unwrap().text.as_deref(), Some(made.as_str()));
    assert_eq!(strip(&made, &parts, |_| true).unwrap().text, None);
    let theirs = "{\n  \"version\": 1\n}\n";
    let after = apply(Some(theirs), &parts).unwrap().text.unwrap();
    assert_eq!(strip(&after, &parts, |_| true).unwrap().text.as_deref(), Some(theirs));
}

#[test]
fn own_command_lines_are_known_whatever_leads_to_the_program() {
    for own in ["tenure hook a B", "/x/tenure hook a B || exit 0", "[ -x '/a b/tenure' ] && '/a b/tenure' hook a B"] {
        assert!(is_own_hook(own), "{own}");
    }
    for foreign in ["my-tenure hook a B", "tenure-hook a B", "tenure list", "hook tenure"] {
        assert!(!is_own_hook(foreign), "{foreign}");
    }
}
