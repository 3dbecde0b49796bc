use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// The directory that is on record, or none.
fn known(granted: bool) -> RecordedFile<'static> {
    let granted: &dyn Fn(&str) -> bool = if granted { &|root| root == DIR } else { &|_| false };
    RecordedFile { granted, container: &|_| None }
}

const DIR: &str = "/home/ann/.local/share/tenure";

#[test]
fn what_was_put_in_is_taken_out_without_a_trace() {
    let cases = [
        "",
        "model = \"o\"\n",
        "model = \"o\"",
        "# a comment\r\nmodel = \"o\"\r\n\r\n[mcp_servers.other]\r\ncommand = \"x\"\r\n",
        "[sandbox_workspace_write]\nnetwork_access = true # why\n",
        "[sandbox_workspace_write]",
        "[ sandbox_workspace_write ] # head\n\n[tui]\nx = 1\n",
        "[sandbox_workspace_write]\nwritable_roots = []\n",
        "[sandbox_workspace_write]\nwritable_roots = [\n  \"/a\",\n  '/b', # b\n]\nnetwork_access = true\n",
        "[sandbox_workspace_write]\nwritable_roots = [\"/a\"]\n[mcp_servers.x]\ncommand = \"y\"",
        "sandbox_workspace_write = { writable_roots = [ \"/a\" ] }\n",
        "[\"sandbox_workspace_write\"]\nnetwork_access = true\n",
        "sandbox_workspace_write.network_access = true\n\n[tui]\nx = 1\n",
        "[sandbox_workspace_write.more]\na = nan\n",
        "x = \"\"\"\n[sandbox_workspace_write]\n\"\"\"\n[sandbox_workspace_write]\nnetwork_access = true\n",
    ];
    for before in cases {
        let after = apply(Some(before), "tenure", Some(DIR)).unwrap().text.unwrap();
        let table = parse(&after).unwrap();
        assert!(roots(&table).1.iter().any(|(root, _)| root == DIR), "{after}");
        assert!(is_set_up(&after, "tenure"), "{after}");
        assert_eq!(apply(Some(&after), "tenure", Some(DIR)).unwrap().text.as_deref(), Some(after.as_str()));
        assert_eq!(strip(&after, "tenure", Some(DIR), &known(true)).unwrap().text.as_deref(), Some(before), "{after}");
    }
    let made = apply(None, "tenure", Some(DIR)).unwrap().text.unwrap();
    assert_eq!(strip(&made, "tenure", Some(DIR), &known(true)).unwrap().text, None);
}

#[test]
fn what_is_there_already_is_left() {
    let own = "[mcp_servers.tenure]\ncommand = \"/opt/tenure\"\nargs = [\"mcp\"]\n\n[sandbox_workspace_write]\nwritable_roots = [\"/home/ann\"]\n";
    assert_eq!(apply(Some(own), "/opt/tenure", Some(DIR)).unwrap().text.as_deref(), Some(own));
    let moved = apply(Some(own), "/new/tenure", Some(DIR)).unwrap().text.unwrap();
    assert_eq!(moved, own.replace("/opt/", "/new/"), "a server is known by what it says, wherever it stands");
    let theirs = format!("[sandbox_workspace_write]\nwritable_roots = [\"{DIR}\"]\n");
    let after = apply(Some(&theirs), "tenure", Some(DIR)).unwrap().text.unwrap();
    let left = strip(&after, "tenure", Some(DIR), &known(false)).unwrap();
    assert_eq!((left.text.as_deref(), left.remarks.len()), (Some(theirs.as_str()), 1));
}

#[test]
fn what_leaves_no_room_is_left_out_and_the_rest_is_set_up() {
    for (text, server, granted) in [
        ("mcp_servers = { a = { command = \"x\" } }\n", false, true),
        ("[sandbox_workspace_write]\nwritable_roots = 7\n", true, false),
        ("sandbox_workspace_write = { network_access = true }\n", true, false),
        ("\"sandbox_workspace_write\".network_access = true\n", true, false),
    ] {
        let done = apply(Some(text), "tenure", Some(DIR)).unwrap();
        let after = done.text.unwrap();
        assert_eq!((is_set_up(&after, "tenure"), is_granted(&after, DIR)), (server, granted), "{after}");
        assert_eq!(done.remarks.len(), 1, "{:?}", done.remarks);
        assert_eq!(apply(Some(&after), "tenure", Some(DIR)).unwrap().text.as_deref(), Some(after.as_str()));
        assert_eq!(strip(&after, "tenure", Some(DIR), &known(true)).unwrap().text.as_deref(), Some(text), "{after}");
    }
    assert!(matches!(apply(Some("a = 1\nb = \n"), "tenure", None), Err(Problem::Malformed { line: 2, .. })));
}

/// What a program that keeps comments does when it adds a table at the end, and what a person adds to ours.
#[test]
fn what_others_wrote_between_the_marks_stays() {
    let fresh = apply(Some("model = \"o\"\n"), "/a/tenure", Some(DIR)).unwrap().text.unwrap();
    let project = "[projects.\"/home/me/work\"]\ntrust_level = \"trusted\"\n";
    let added = fresh.replace(TOML.end, &format!("\n{project}{}", TOML.end));
    assert_eq!(apply(Some(&added), "/a/tenure", Some(DIR)).unwrap().text.as_deref(), Some(added.as_str()));
    let moved = apply(Some(&added), "/b/tenure", Some(DIR)).unwrap().text.unwrap();
    assert_eq!(moved, added.replace("/a/tenure", "/b/tenure"));
    let left = strip(&added, "/a/tenure", Some(DIR), &known(true)).unwrap().text.unwrap();
    assert_eq!(left, format!("model = \"o\"\n\n{project}"));

    for (key, kept) in [
        ("[sandbox_workspace_write]\nnetwork_access = true", "[sandbox_workspace_write]\nnetwork_access = true\n"),
        ("# why\n[sandbox_workspace_write]", "# why\n"),
    ] {
        let edited = fresh.replace("[sandbox_workspace_write]", key);
        assert_eq!(apply(Some(&edited), "/a/tenure", Some(DIR)).unwrap().text.as_deref(), Some(edited.as_str()));
        let left = strip(&edited, "/a/tenure", Some(DIR), &known(true)).unwrap().text.unwrap();
        assert_eq!(left, format!("model = \"o\"\n\n{kept}"));
    }
    let roots = fresh.replace(&format!("[\"{DIR}\"]"), &format!("[\"{DIR}\", \"/mine\"]"));
    assert_eq!(apply(Some(&roots), "/a/tenure", Some(DIR)).unwrap().text.as_deref(), Some(roots.as_str()));
    let left = strip(&roots, "/a/tenure", Some(DIR), &known(false)).unwrap().text.unwrap();
    assert!(left.ends_with("\n[sandbox_workspace_write]\nwritable_roots = [\"/mine\"]\n"), "{left}");
    assert!(!left.contains("tenure"), "{left}");
}

#[test]
fn a_mark_in_a_text_is_none_and_half_a_pair_goes() {
    let text = "x = \"\"\"\n# tenure setup: begin\nhello\n# tenure setup: end\n\"\"\"\n";
    let after = apply(Some(text), "tenure", Some(DIR)).unwrap().text.unwrap();
    assert!(after.starts_with(text) && after.len() > text.len());
    assert_eq!(strip(&after, "tenure", Some(DIR), &known(true)).unwrap().text.as_deref(), Some(text));
    assert_eq!(strip(text, "tenure", Some(DIR), &known(true)).unwrap().text.as_deref(), Some(text));
    for half in ["# tenure setup: begin\nx = 1\n", "x = 1\n# tenure setup: end\n"] {
        let after = apply(Some(half), "tenure", None).unwrap().text.unwrap();
        assert!(span(&after).is_some() && after.starts_with("x = 1\n"), "{after}");
        assert_eq!(strip(half, "tenure", None, &known(true)).unwrap().text.as_deref(), Some("x = 1\n"));
    }
    // A line of a person that ends as ours do, with a directory that is not ours.
    let theirs = "[sandbox_workspace_write] # tenure setup\nwritable_roots = [\"/q\"] # tenure setup\n";
    assert_eq!(strip(theirs, "tenure", Some(DIR), &known(false)).unwrap().text.as_deref(), Some(theirs));
}

/// A value as people keep it in such a file.
fn value() -> impl Strategy<Value = toml::Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(toml::Value::from),
        any::<bool>().prop_map(toml::Value::from),
        "[ -~äß#\n]{0,8}".prop_map(toml::Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(toml::Value::from),
            prop::collection::btree_map("[a-z.]{1,4}", inner, 0..3)
                .prop_map(|map| toml::Value::Table(map.into_iter().collect())),
        ]
    })
}

prop_compose! {
    /// A configuration with servers and rights of others, or empty tables for them.
    fn config()(
        mut table in prop::collection::btree_map("[a-z]{1,5}", value(), 0..4),
        servers in prop::option::of(prop::collection::btree_map("[a-s]{1,4}", value(), 0..3)),
        sandbox in prop::option::of((any::<bool>(), prop::option::of(prop::collection::vec("/[a-z]{1,3}", 0..3)))),
    ) -> toml::Table {
        if let Some(servers) = servers {
            table.insert(SERVERS.to_owned(), toml::Value::Table(servers.into_iter().collect()));
        }
        if let Some((network, roots)) = sandbox {
            let mut sandbox = toml::Table::new();
            if network {
                sandbox.insert("network_access".to_owned(), true.into());
            }
            if let Some(roots) = roots {
                sandbox.insert(LIST.to_owned(), toml::Value::from(roots));
            }
            table.insert(TABLE.to_owned(), toml::Value::Table(sandbox));
        }
        table.into_iter().collect()
    }
}

/// How an owner may write a file anew.
fn rewritten(text: &str, how: u8) -> String {
    let table: toml::Table = text.parse().unwrap();
    let no_marks =
        |text: &str| -> String { text.split_inclusive('\n').filter(|line| !line.contains("tenure setup: ")).collect() };
    match how % 6 {
        0 => toml::to_string(&table).unwrap(),
        1 => toml::to_string_pretty(&table).unwrap(),
        2 => text.replacen("# tenure setup: begin\n", "", 1),
        3 => text.replacen("# tenure setup: end\n", "", 1),
        4 => no_marks(text),
        // Every table in one line.
        _ => table.iter().map(|(key, value)| format!("{} = {value}\n", json!(key))).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_an_owner_rewrote_is_as_before_once_our_entries_are_out(
        table in config(), pretty: bool, how: u8, again: u8, moved: bool,
    ) {
        let before = if pretty { toml::to_string_pretty(&table) } else { toml::to_string(&table) }.unwrap();
        let done = apply(Some(&before), "/a b/tenure", Some(DIR)).unwrap();
        prop_assert!(done.remarks.is_empty(), "{before}: {:?}", done.remarks);
        let after = done.text.unwrap();
        prop_assert_eq!(apply(Some(&after), "/a b/tenure", Some(DIR)).unwrap().text, Some(after.clone()), "twice is once");
        // What was made is what setup keeps a record of.
        let had: BTreeSet<Vec<String>> = containers(&before).into_iter().collect();
        let made: BTreeSet<Vec<String>> = containers(&after).into_iter().filter(|names| !had.contains(names)).collect();
        let granted = |root: &str| root == DIR;
        let container = |names: &[&str]| Some(made.iter().any(|own| own.iter().eq(names.iter())));
        let record = RecordedFile { granted: &granted, container: &container };
        prop_assert_eq!(strip(&after, "/a b/tenure", Some(DIR), &record).unwrap().text, Some(before), "to the byte");

        let mut text = rewritten(&rewritten(&after, how), again);
        prop_assert!(is_set_up(&text, "/a b/tenure"), "{text}");
        let program = if moved { "/b/tenure" } else { "/a b/tenure" };
        let renewed = apply(Some(&text), program, Some(DIR)).unwrap();
        prop_assert!(renewed.remarks.is_empty(), "{text}: {:?}", renewed.remarks);
        text = renewed.text.unwrap();
        prop_assert_eq!(apply(Some(&text), program, Some(DIR)).unwrap().text, Some(text.clone()), "twice is once");
        let parsed: toml::Table = text.parse().unwrap();
        prop_assert_eq!(parsed[SERVERS][SERVER]["command"].as_str(), Some(program));
        let left = strip(&text, program, Some(DIR), &record).unwrap();
        prop_assert!(left.remarks.is_empty(), "{:?}", left.remarks);
        let left = left.text.unwrap();
        prop_assert!(!left.contains("tenure"), "{left}");
        prop_assert_eq!(left.parse::<toml::Table>().unwrap(), table, "{}", text);
    }
}
