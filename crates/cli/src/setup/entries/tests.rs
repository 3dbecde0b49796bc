use super::*;

fn hook(event: &str, command: &str) -> Hook {
    Hook { event: event.into(), matcher: String::new(), command: command.into(), timeout: 5 }
}

fn hooks(shape: Shape, hooks: Vec<Hook>) -> Part {
    Part::Hooks { shape, hooks, program: "/opt/tn".into() }
}

fn parts() -> Vec<Part> {
    vec![
        hooks(Shape::Grouped, vec![hook("Start", "tenure hook claude Start"), hook("End", "tenure hook claude End")]),
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
    let found = own_hooks(&parse(&after).unwrap(), &after, "tenure");
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
    let parts = [hooks(Shape::Flat, vec![hook("stop", "tenure hook cursor stop")]), Part::Version];
    let made = apply(None, &parts).unwrap().text.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&made).unwrap()["version"], 1);
    assert_eq!(apply(Some(&made), &parts).unwrap().text.as_deref(), Some(made.as_str()));
    assert_eq!(strip(&made, &parts, |_| true).unwrap().text, None);
    let theirs = "{\n  \"version\": 1\n}\n";
    let after = apply(Some(theirs), &parts).unwrap().text.unwrap();
    assert_eq!(strip(&after, &parts, |_| true).unwrap().text.as_deref(), Some(theirs));
}

#[test]
fn hooks_of_others_that_call_or_name_the_program_stay() {
    for command in [
        r#"logger -t agents \"before tenure hook runs\""#,
        "my-filter | tenure hook claude SessionStart | tee /tmp/log",
        "cd /x && tn hook claude Start",
    ] {
        let text = format!(r#"{{"hooks":{{"Start":[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]}}}}"#);
        let after = apply(Some(&text), &parts()[..1]).unwrap();
        assert_eq!(after.remarks.len(), 1, "{:?}", after.remarks);
        let after = after.text.unwrap();
        assert!(after.contains(command) && after.contains("tenure hook claude End"), "{after}");
        let left = strip(&after, &parts()[..1], |_| true).unwrap();
        assert_eq!((left.text.as_deref(), left.remarks.len()), (Some(text.as_str()), 1));
    }
}

#[test]
fn a_server_under_the_name_of_its_own_file_is_known() {
    let part = [Part::Mcp { at: "mcpServers", value: json!({ "command": "/new/tn", "args": ["mcp"] }) }];
    let text = r#"{"mcpServers":{"tenure":{"command":"/old/tn","args":["mcp"]}}}"#;
    let after = apply(Some(text), &part).unwrap().text.unwrap();
    assert!(after.contains("/new/tn") && !after.contains("/old/"), "{after}");
    assert!(!strip(&after, &part, |_| true).unwrap().text.unwrap().contains("tn"));
}
