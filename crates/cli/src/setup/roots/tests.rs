use super::*;

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
        assert_eq!(
            strip(&after, "tenure", Some(DIR), |root| root == DIR).unwrap().text.as_deref(),
            Some(before),
            "{after}"
        );
    }
    let made = apply(None, "tenure", Some(DIR)).unwrap().text.unwrap();
    assert_eq!(strip(&made, "tenure", Some(DIR), |root| root == DIR).unwrap().text, None);
}

#[test]
fn what_is_there_already_is_left() {
    let own = "[mcp_servers.tenure]\ncommand = \"/opt/tenure\"\nargs = [\"mcp\"]\n\n[sandbox_workspace_write]\nwritable_roots = [\"/home/ann\"]\n";
    assert_eq!(apply(Some(own), "tenure", Some(DIR)).unwrap().text.as_deref(), Some(own));
    let theirs = format!("[sandbox_workspace_write]\nwritable_roots = [\"{DIR}\"]\n");
    let after = apply(Some(&theirs), "tenure", Some(DIR)).unwrap().text.unwrap();
    let left = strip(&after, "tenure", Some(DIR), |_| false).unwrap();
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
        assert_eq!(
            strip(&after, "tenure", Some(DIR), |root| root == DIR).unwrap().text.as_deref(),
            Some(text),
            "{after}"
        );
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
    let left = strip(&added, "/a/tenure", Some(DIR), |root| root == DIR).unwrap().text.unwrap();
    assert_eq!(left, format!("model = \"o\"\n\n{project}"));

    for (key, kept) in [
        ("[sandbox_workspace_write]\nnetwork_access = true", "[sandbox_workspace_write]\nnetwork_access = true\n"),
        ("# why\n[sandbox_workspace_write]", "# why\n"),
    ] {
        let edited = fresh.replace("[sandbox_workspace_write]", key);
        assert_eq!(apply(Some(&edited), "/a/tenure", Some(DIR)).unwrap().text.as_deref(), Some(edited.as_str()));
        let left = strip(&edited, "/a/tenure", Some(DIR), |root| root == DIR).unwrap().text.unwrap();
        assert_eq!(left, format!("model = \"o\"\n\n{kept}"));
    }
    let roots = fresh.replace(&format!("[\"{DIR}\"]"), &format!("[\"{DIR}\", \"/mine\"]"));
    assert_eq!(apply(Some(&roots), "/a/tenure", Some(DIR)).unwrap().text.as_deref(), Some(roots.as_str()));
    let left = strip(&roots, "/a/tenure", Some(DIR), |_| false).unwrap().text.unwrap();
    assert!(left.ends_with("\n[sandbox_workspace_write]\nwritable_roots = [\"/mine\"]\n"), "{left}");
    assert!(!left.contains("tenure"), "{left}");
}

#[test]
fn a_mark_in_a_text_is_none_and_half_a_pair_is_refused() {
    let text = "x = \"\"\"\n# tenure setup: begin\nhello\n# tenure setup: end\n\"\"\"\n";
    let after = apply(Some(text), "tenure", Some(DIR)).unwrap().text.unwrap();
    assert!(after.starts_with(text) && after.len() > text.len());
    assert_eq!(strip(&after, "tenure", Some(DIR), |root| root == DIR).unwrap().text.as_deref(), Some(text));
    assert_eq!(strip(text, "tenure", Some(DIR), |root| root == DIR).unwrap().text.as_deref(), Some(text));
    for half in ["# tenure setup: begin\nx = 1\n", "x = 1\n# tenure setup: end\n"] {
        assert!(matches!(apply(Some(half), "tenure", None), Err(Problem::Malformed { .. })));
        assert!(matches!(strip(half, "tenure", None, |root| root == DIR), Err(Problem::Malformed { .. })));
    }
    // A line of a person that ends as ours do, with a directory that is not ours.
    let theirs = "[sandbox_workspace_write] # tenure setup\nwritable_roots = [\"/q\"] # tenure setup\n";
    assert_eq!(strip(theirs, "tenure", Some(DIR), |_| false).unwrap().text.as_deref(), Some(theirs));
}
