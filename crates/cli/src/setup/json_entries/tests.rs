use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn hook(event: &str, command: &str) -> HookEntry {
    HookEntry { event: event.into(), matcher: String::new(), command: command.into(), timeout: 5 }
}

fn hooks(shape: HookLayout, hooks: Vec<HookEntry>) -> JsonPart {
    JsonPart::Hooks { shape, hooks, program: "/opt/tn".into() }
}

/// Rights that are all on record, or none of them.
fn known(granted: bool) -> RecordedFile<'static> {
    let granted: &dyn Fn(&str) -> bool = if granted { &|_| true } else { &|_| false };
    RecordedFile { granted, container: &|_| None }
}

fn parts() -> Vec<JsonPart> {
    vec![
        hooks(
            HookLayout::Grouped,
            vec![hook("Start", "tenure hook claude Start"), hook("End", "tenure hook claude End")],
        ),
        JsonPart::Mcp { at: "mcpServers", value: json!({ "command": "tenure", "args": ["mcp"] }) },
        JsonPart::Grant { at: &["sandbox", "filesystem", "allowWrite"], dir: "/store".into() },
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
        let stripped = strip(&after, &parts(), &known(true)).unwrap();
        assert_eq!(stripped.text.as_deref(), Some(text), "{after}");
        let left = strip(&after, &parts(), &known(false)).unwrap();
        assert_eq!(left.remarks.len(), 1);
        assert!(left.text.unwrap().contains("/store"));
    }
    let made = apply(None, &parts()).unwrap().text.unwrap();
    assert_eq!(strip(&made, &parts(), &known(true)).unwrap().text, None, "{made}");
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
    assert_eq!(strip(text, &parts()[1..2], &known(true)).unwrap().text.as_deref(), Some(text));
}

#[test]
fn a_version_comes_with_a_file_that_is_made_and_goes_with_it() {
    let parts = [hooks(HookLayout::Flat, vec![hook("stop", "tenure hook cursor stop")]), JsonPart::Version];
    let made = apply(None, &parts).unwrap().text.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&made).unwrap()["version"], 1);
    assert_eq!(apply(Some(&made), &parts).unwrap().text.as_deref(), Some(made.as_str()));
    assert_eq!(strip(&made, &parts, &known(true)).unwrap().text, None);
    let theirs = "{\n  \"version\": 1\n}\n";
    let after = apply(Some(theirs), &parts).unwrap().text.unwrap();
    assert_eq!(strip(&after, &parts, &known(true)).unwrap().text.as_deref(), Some(theirs));
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
        let left = strip(&after, &parts()[..1], &known(true)).unwrap();
        assert_eq!((left.text.as_deref(), left.remarks.len()), (Some(text.as_str()), 1));
    }
}

#[test]
fn a_server_under_the_name_of_its_own_file_is_known() {
    let part = [JsonPart::Mcp { at: "mcpServers", value: json!({ "command": "/new/tn", "args": ["mcp"] }) }];
    let text = r#"{"mcpServers":{"tenure":{"command":"/old/tn","args":["mcp"]}}}"#;
    let after = apply(Some(text), &part).unwrap().text.unwrap();
    assert!(after.contains("/new/tn") && !after.contains("/old/"), "{after}");
    assert!(!strip(&after, &part, &known(true)).unwrap().text.unwrap().contains("tn"));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), "[ -~ä]{0,6}".prop_map(Value::from)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Entries of others where ours belong, or empty containers for them, or none.
fn settings() -> impl Strategy<Value = Value> {
    let group = "[a-z]{1,4}".prop_map(|command| json!({ "matcher": "x", "hooks": [{ "command": command }] }));
    let events = prop::collection::btree_map("Start|End|Other", prop::collection::vec(group, 0..3), 0..3);
    let servers = prop::collection::btree_map("[a-s]{1,4}", value(), 0..3);
    let rights = prop::option::of(prop::collection::vec("/[a-z]{1,3}", 0..3));
    let more = prop::collection::btree_map("[a-d]{1,3}", value(), 0..3);
    (prop::option::of(events), prop::option::of(servers), prop::option::of(prop::option::of(rights)), more).prop_map(
        |(events, servers, sandbox, more)| {
            let mut all: serde_json::Map<String, Value> = more.into_iter().collect();
            all.extend(events.map(|events| ("hooks".to_owned(), json!(events))));
            all.extend(servers.map(|servers| ("mcpServers".to_owned(), json!(servers))));
            all.extend(sandbox.map(|below| {
                let rights =
                    |rights: Option<Vec<String>>| rights.map_or(json!({}), |rights| json!({ "allowWrite": rights }));
                ("sandbox".to_owned(), below.map_or(json!({}), |below| json!({ "filesystem": rights(below) })))
            }));
            Value::Object(all)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_an_owner_rewrote_is_as_before_once_our_entries_are_out(
        before in prop::option::of(settings()), pretty: bool, rewrite in 0..4_u8, doubled: bool,
    ) {
        let text = before.as_ref().map(|value| {
            if pretty { serde_json::to_string_pretty(value).unwrap() } else { value.to_string() }
        });
        let after = apply(text.as_deref(), &parts()).unwrap().text.unwrap();
        prop_assert_eq!(apply(Some(&after), &parts()).unwrap().text, Some(after.clone()), "twice is once");
        let had: Option<BTreeSet<Vec<String>>> = text.as_deref().map(|text| containers(text, &parts()).into_iter().collect());
        let mut made: BTreeSet<Vec<String>> = containers(&after, &parts()).into_iter().collect();
        match &had {
            Some(had) => made.retain(|names| !had.contains(names)),
            None => _ = made.insert(Vec::new()),
        }
        let container = |names: &[&str]| {
            names.iter().all(|name| !name.is_empty()).then(|| made.iter().any(|own| own.iter().eq(names.iter())))
        };
        let record = RecordedFile { granted: &|_| true, container: &container };
        prop_assert_eq!(strip(&after, &parts(), &record).unwrap().text, text, "to the byte: {}", after);

        let mut value: Value = serde_json::from_str(&after).unwrap();
        if doubled {
            let groups = value["hooks"]["Start"].as_array_mut().unwrap();
            groups.extend(groups.last().cloned());
        }
        let indented = |indent: &[u8]| {
            let mut out = Vec::new();
            let format = serde_json::ser::PrettyFormatter::with_indent(indent);
            serde::Serialize::serialize(&value, &mut serde_json::Serializer::with_formatter(&mut out, format)).unwrap();
            String::from_utf8(out).unwrap()
        };
        let rewritten = match rewrite {
            0 => value.to_string(),
            1 => indented(b"  "),
            2 => format!("\u{feff}{}\n", indented(b"\t").replace('\n', "\r\n")),
            _ => indented(b""),
        };
        let renewed = apply(Some(&rewritten), &parts()).unwrap().text.unwrap();
        if !doubled {
            prop_assert_eq!(&renewed, &rewritten, "what is there is left as it is written");
        }
        prop_assert_eq!(own_hooks(&parse(&renewed).unwrap(), &renewed, "tenure").len(), 2);
        let left = strip(&renewed, &parts(), &record).unwrap().text;
        let left: Option<Value> = left.map(|left| serde_json::from_str(left.trim_start_matches('\u{feff}')).unwrap());
        prop_assert_eq!(left, before, "{}", renewed);
    }
}

#[test]
fn names_that_are_there_twice_are_emptied_both() {
    let server = r#""mcpServers":{"tenure":{"command":"/x/tenure","args":["mcp"]},"o":{}}"#;
    let hooks = r#""hooks":{"Start":[{"hooks":[{"command":"tenure hook claude Start"},{"command":"tenure hook claude Start"}]}]}"#;
    let text = format!("{{{server},{hooks},{server},{hooks}}}");
    let left = strip(&text, &parts(), &known(true)).unwrap().text.unwrap();
    assert!(!left.contains("tenure") && left.matches("\"o\":{}").count() == 2, "{left}");
}
