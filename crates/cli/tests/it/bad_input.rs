//! Invalid input: a clear error, the right exit code, JSON on request, and no change.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::home::{Engine, Home, Refusal, text};

/// Makes a call that must be refused, with JSON in both ways and as text, and checks that nothing changed.
#[track_caller]
pub(crate) fn refused(home: &Home, args: &[&str]) -> Refusal {
    refused_with(home, args, b"")
}

#[track_caller]
pub(crate) fn refused_with(home: &Home, args: &[&str], input: &[u8]) -> Refusal {
    let before = home.run(&["log", "--since", "0", "--limit", "1000", "--json"]).stdout;
    let by_variable = home.call(args).json().input(input).run();
    let mut flagged = vec!["--json"];
    flagged.extend(args);
    let by_flag = home.call(&flagged).input(input).run();
    assert_eq!(by_variable.stdout, by_flag.stdout);
    let told = home.call(args).input(input).run();
    assert_eq!((told.code, told.stdout.as_str()), (by_flag.code, ""), "people are told on standard error");
    let refusal = by_flag.refusal();
    assert!(told.stderr.starts_with(&format!("tenure: {}", refusal.message())), "{told:?} for {refusal:?}");
    assert_eq!(home.run(&["log", "--since", "0", "--limit", "1000", "--json"]).stdout, before, "something changed");
    refusal
}

pub(crate) fn home_with_tasks(count: usize) -> Home {
    let home = Home::new(Engine::File);
    home.add_many(count);
    home
}

#[test]
fn unknown_flags_and_commands_are_refused_and_the_nearest_is_named() {
    let home = home_with_tasks(1);
    refused(&home, &["list", "--nope"]).is("usage", "bad_arguments").names(&["--nope"]);
    refused(&home, &["--nope", "list"]).is("usage", "bad_arguments").names(&["--nope"]);
    refused(&home, &["add", "x", "--prioriti", "1"]).is("usage", "bad_arguments").names(&["--prioriti"]);
    let hint = |refusal: Refusal| text(&refusal.error["hint"]);
    assert!(hint(refused(&home, &["add", "x", "--prioriti", "1"])).contains("--priority"));
    for (typed, meant) in [("clam", "claim"), ("lst", "list"), ("finsh", "done"), ("shwo", "show")] {
        let refusal = refused(&home, &[typed]);
        refusal.is("usage", "unknown_command").names(&[typed]);
        assert!(hint(refusal).contains(&format!("`{meant}`")), "{typed}");
    }
    refused(&home, &["zzzzzz"]).is("usage", "unknown_command");
    refused(&home, &["show"]).is("usage", "bad_arguments");
    // A person who omits the subcommand is shown the subcommands; a program gets an error.
    home.refused(&["project"]).is("usage", "bad_arguments");
    assert!(home.run(&["project"]).stdout.contains("join"));
    refused(&home, &["claim", "a", "b"]).is("usage", "bad_arguments");
    refused(&home, &["list", "--state", "sleeping"]).is("usage", "bad_arguments").names(&["sleeping"]);
    refused(&home, &["edit", "t-", "--priority", "x"]).is("usage", "bad_arguments");
    refused(&home, &["list", "--json=yes"]).is("usage", "bad_arguments");
}

#[test]
fn titles_and_texts_have_limits() {
    let home = Home::new(Engine::File);
    let task = home.add_many(1).remove(0);
    for empty in ["", " ", "\t \n"] {
        refused(&home, &["add", empty]).is("usage", "title_empty");
        refused(&home, &["edit", &task, "--title", empty]).is("usage", "title_empty");
    }
    refused(&home, &["add"]).is("usage", "title_empty");
    // The limit counts characters, not bytes.
    let long = "ü".repeat(501);
    refused(&home, &["add", &long]).is("usage", "title_too_long").names(&["501", "500"]);
    assert_eq!(home.ok(&["add", &long[2..]])["title"], &long[2..]);
    for control in ["a\nb", "a\u{1}b", "a\u{7f}b", "a\u{85}b", "a\u{1b}[31mb", "a\u{2028}b", "a\tb"] {
        refused(&home, &["add", control]).is("usage", "control_character");
    }
    refused(&home, &["add", "x", "--description", "a\u{0}b".replace('\0', "\u{8}").as_str()])
        .is("usage", "control_character");
    // Invisible characters are refused too: tags, a zero-width space, a variation selector after an ASCII letter.
    for (hidden, named) in [("a\u{e0041}", "U+E0041"), ("a\u{200b}b", "U+200B"), ("a\u{fe0f}b", "U+FE0F")] {
        for args in [
            &["add", hidden][..],
            &["add", "x", "--label", hidden],
            &["add", "x", "--description", hidden],
            &["edit", &task, "--title", hidden],
            &["note", &task, hidden],
            &["block", &task, "--reason", hidden],
            &["reserve", "f", "--reason", hidden],
            &["remember", hidden],
        ] {
            refused(&home, args).is("usage", "control_character").names(&[named, "byte 1"]);
        }
        refused(&home, &["lock", hidden]).is("usage", "bad_lock_name").names(&[named]);
    }
    let family = "família 👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}";
    assert_eq!(home.ok(&["add", family])["title"], family);
    // A path is the actual name of the file; it is shown escaped.
    home.ok_as("a", &["reserve", "f\u{e0041}"]);
    let shown = home.call(&["holds"]).run().stdout;
    assert!(shown.contains("f\\u{e0041}") && !shown.contains('\u{e0041}'), "{shown}");
    let text_of = |bytes: usize| "y".repeat(bytes);
    refused(&home, &["add", "x", "--description", &text_of(65_537)]).is("usage", "text_too_long");
    assert_eq!(home.ok(&["add", "x", "--description", &text_of(65_536)])["number"], 4);
    let both = home.ok(&["add", "x", "--description", "two\r\nlines\tand a tab"]);
    assert_eq!(both["description"], "two\nlines\tand a tab");
    refused(&home, &["note", &text(&both["id"]), " "]).is("usage", "text_empty");
    refused(&home, &["block", &text(&both["id"]), "--reason", ""]).is("usage", "text_empty");
    refused(&home, &["add", "x", "--label", ""]).is("usage", "bad_label");
    refused(&home, &["add", "x", "--label", &text_of(65)]).is("usage", "bad_label");
    let labels: Vec<String> = (0..21).flat_map(|n| ["--label".to_owned(), format!("l{n}")]).collect();
    let many: Vec<&str> = ["add", "x"].into_iter().chain(labels.iter().map(String::as_str)).collect();
    refused(&home, &many).is("usage", "too_many_labels");
    for priority in ["5", "-1", "99999999999"] {
        refused(&home, &["add", "x", "--priority", priority]).is("usage", "bad_priority");
    }
}

#[test]
fn bulk_input_is_refused_with_its_line_and_adds_nothing() {
    let home = home_with_tasks(1);
    let bulk = |input: &[u8]| refused_with(&home, &["add", "--stdin"], input);
    let line = |refusal: &Refusal| refusal.detail("line").as_i64();

    let mut huge = b"{\"title\":\"fine\"}\n{\"title\":\"".to_vec();
    huge.extend(vec![b'x'; 1 << 20]);
    let refusal = bulk(&[&huge[..], b"\"}\n"].concat());
    assert_eq!(line(refusal.is("usage", "title_too_long")), Some(2));
    // A line of a megabyte with an unterminated string, and one of garbage.
    assert_eq!(line(bulk(&huge).is("usage", "bad_line")), Some(2));
    assert_eq!(line(bulk(&vec![b'x'; 1 << 20]).is("usage", "bad_line")), Some(1));

    assert_eq!(line(bulk(b"{\"title\":\"a\"}\n{\"title\":\"a\0b\"}\n").is("usage", "bad_line")), Some(2));
    assert_eq!(line(bulk(b"{\"title\":\"a\\u0000b\"}\n").is("usage", "control_character")), Some(1));
    assert_eq!(line(bulk(b"{\"title\":\"a\"}\n\n{\"title\":\"\xff\"}").is("usage", "bad_line")), Some(3));
    assert_eq!(line(bulk(b"{\"title\":\"a\",\"colour\":\"red\"}").names(&["colour"])), Some(1));
    assert_eq!(line(bulk(b"{\"title\":\"\"}").is("usage", "title_empty")), Some(1));
    assert_eq!(line(bulk(b"{\"title\":\"a\",\"priority\":7}").is("usage", "bad_priority")), Some(1));
    assert_eq!(line(bulk(b"{\"title\":\"a\",\"after\":[\"t-nope\"]}").is("not_found", "not_found")), Some(1));
    for (input, code) in [
        (&b"{\"title\":\"a\",\"key\":\"k\"}\n{\"title\":\"b\",\"key\":\"k\"}"[..], "duplicate_key"),
        (b"[]", "bad_line"),
        (b"{\"description\":\"no title\"}", "bad_line"),
        (b"", "nothing_to_add"),
        (b"\n \n", "nothing_to_add"),
    ] {
        bulk(input).is("usage", code);
    }
    // The lines around an invalid one are not added either.
    let around: Vec<u8> = (0..500).flat_map(|n| format!("{{\"title\":\"{n}\"}}\n").into_bytes()).collect();
    bulk(&[&around[..], b"{\"title\":\"\"}\n", &around[..]].concat()).is("usage", "title_empty").names(&["line 501"]);
    refused(&home, &["add", "--stdin", "a title"]).is("usage", "bad_arguments");
}

#[test]
fn inv_l8_cycles_are_refused_and_shown() {
    let home = home_with_tasks(1);
    let bulk = |input: &str| refused_with(&home, &["add", "--stdin"], input.as_bytes());
    let refusal = bulk(
        "{\"title\":\"a\",\"key\":\"a\",\"after\":[\"c\"]}\n{\"title\":\"b\",\"key\":\"b\",\"after\":[\"a\"]}\n\
         {\"title\":\"c\",\"key\":\"c\",\"after\":[\"b\"]}\n",
    );
    assert!(refusal.is("conflict", "cycle").detail("cycle").as_array().unwrap().len() >= 3);
    bulk("{\"title\":\"a\",\"key\":\"a\",\"after\":[\"a\"]}").is("conflict", "cycle");
    // A long cycle.
    let chain: String = (0..2_000)
        .map(|n| format!("{{\"title\":\"{n}\",\"key\":\"k{n}\",\"after\":[\"k{}\"]}}\n", (n + 1) % 2_000))
        .collect();
    bulk(&chain).is("conflict", "cycle");

    let first = home.add("first");
    let second = text(&home.ok(&["add", "second", "--after", &first])["id"]);
    let third = text(&home.ok(&["add", "third", "--after", &second])["id"]);
    for (task, after) in [(&first, &third), (&first, &second), (&second, &third), (&first, &first)] {
        let refusal = refused(&home, &["edit", task, "--after", after]);
        refusal.is("conflict", "cycle").names(&[task, after]);
    }
    home.refused_as("agent", &["edit", &third, "--after", &first]).is("denied", "people_only");
    assert_eq!(home.ok(&["show", &first])["after"], serde_json::json!([]));
}

#[test]
fn invalid_utf_8_is_refused_wherever_it_stands() {
    let home = home_with_tasks(1);
    let bad = || OsString::from_vec(b"bad\xff".to_vec());
    let words = |args: &[&str]| args.iter().map(OsString::from).collect::<Vec<_>>();
    for at in 0..3 {
        let mut args = words(&["add", "--agent", "x", "--json", "title"]);
        args[[0, 2, 4][at]] = bad();
        assert_eq!(home.run(&args).refusal().exit, 2, "{args:?}");
    }
    // An argument that may be a path accepts any bytes.
    for (command, kind) in [("show", "not_found"), ("claim", "usage"), ("why", "not_found")] {
        let args = [words(&[command]), vec![bad(), "--json".into()]].concat();
        assert_eq!(home.run(&args).refusal().kind, kind);
    }
    for variable in ["TENURE_AGENT", "TENURE_STORE", "TENURE_PROJECT"] {
        let refusal = home.call(&["add", "x"]).json().env(variable, bad()).run().refusal();
        refusal.is("usage", "bad_variable").names(&[variable]);
    }
    // The name of a person is discovered, not given, so it is adapted. On a server, the token decides.
    let person = if home.is_far() { "person:ann" } else { "person:bad-" };
    assert_eq!(home.call(&["whoami"]).json().env("USER", bad()).run().data()["agent"], person);
    assert_eq!(home.ok(&["list"])["total"], 1);
}

#[test]
fn ids_that_name_nothing_or_too_much() {
    let home = home_with_tasks(500);
    let long = "a".repeat(5_000);
    for unknown in
        ["t-00000zz", "t-!!", "../../etc", "ü", "t-\u{1b}[31m", "%", "'; DROP TABLE task; --", "T-0", " ", "", &long]
    {
        for command in ["show", "claim", "why", "done", "edit"] {
            let mut args = vec![command, "--", unknown];
            if command == "edit" {
                args.splice(1..1, ["--priority", "0"]);
            }
            let refusal = refused(&home, &args);
            refusal.is("not_found", "not_found");
            assert!(refusal.message().len() < 200 && !refusal.message().contains('\u{1b}'), "{refusal:?}");
        }
    }
    refused(&home, &["show", "h-0"]).is("not_found", "not_found");
    refused(&home, &["add", "x", "--after", "t-00000zz"]).is("not_found", "not_found");

    // Of 500 tasks, more than ten share a first character; ten of them are named.
    let listed = home.ok(&["list", "--limit", "1000"]);
    let ids: Vec<String> = listed["items"].as_array().unwrap().iter().map(|task| text(&task["id"])).collect();
    let alike = |head: &str| ids.iter().filter(|id| id.starts_with(head)).count();
    let head = ids.iter().map(|id| &id[..3]).max_by_key(|head| alike(head)).unwrap();
    assert!(alike(head) > 10, "500 ids over 32 characters");
    for typed in [head, &head[2..]] {
        let refusal = refused(&home, &["claim", typed]);
        let candidates = refusal.is("usage", "ambiguous_id").detail("candidates").as_array().unwrap();
        assert_eq!(candidates.len(), 10);
        for candidate in candidates {
            assert!(text(candidate).starts_with(head) && refusal.message().contains(&text(candidate)));
        }
    }
    // Any unique prefix is sufficient, with or without the letter.
    let id = &ids[0];
    let enough = (3..=id.len()).find(|n| ids.iter().filter(|other| other.starts_with(&id[..*n])).count() == 1).unwrap();
    assert_eq!(home.ok(&["show", &id[..enough]])["id"], id.as_str());
    assert_eq!(home.ok(&["show", &id[2..]])["id"], id.as_str());
}

#[test]
fn inv_l2_times_to_live_have_limits() {
    let home = home_with_tasks(2);
    for ttl in ["0s", "-5s", "0h", "25h", "86401s", "2d", "-1d"] {
        refused(&home, &["claim", "--ttl", ttl]).is("usage", "bad_ttl");
    }
    for ttl in
        ["", "5", "s", "1.5h", "+5s", "5 m", "1h30m", "5S", "five", "99999999999999999999s", "9999999999999d", "٣s"]
    {
        refused(&home, &["claim", &format!("--ttl={ttl}")]).is("usage", "bad_duration");
    }
    assert_eq!(home.ok_as("a", &["claim", "--ttl", "24h"])["hold"]["ttl_s"], 86_400);
    assert_eq!(home.ok_as("b", &["claim", "--ttl", "1s"])["hold"]["ttl_s"], 1);
}

#[test]
fn pages_cursors_times_and_ids_of_requests_are_checked() {
    let home = home_with_tasks(3);
    for limit in ["0", "-3", "1001", "x", "", "1.5", "99999999999999999999"] {
        for command in [&["list"][..], &["log"], &["holds"], &["agent", "list"]] {
            let mut args = command.to_vec();
            let flag = format!("--limit={limit}");
            args.push(&flag);
            assert_eq!(refused(&home, &args).kind, "usage", "{args:?}");
        }
    }
    let (least, most) = (home.ok(&["list", "--limit", "1"]), home.ok(&["list", "--limit", "1000"]));
    assert_eq!((least["items"].as_array().unwrap().len(), most["items"].as_array().unwrap().len()), (1, 3));
    for cursor in ["zzz", "", "9", "a.b.c", "\u{2028}", "'"] {
        refused(&home, &["list", "--cursor", cursor]).is("usage", "bad_cursor");
        refused(&home, &["log", "--cursor", cursor]).is("usage", "bad_cursor");
    }
    for since in ["tomorrow", "2030-02-30", "25:00", "1 hour"] {
        refused(&home, &["log", "--since", since]).is("usage", "bad_time");
    }
    // T14: beyond the end, before the start, of another store: stale, with the oldest available cursor.
    for since in ["999", "-1", "s-00000000000000000000000000.0"] {
        let refusal = refused(&home, &["log", "--since", since]);
        let oldest = text(refusal.is("stale", "stale_cursor").detail("oldest_cursor"));
        assert_eq!(home.ok(&["log", "--cursor", &oldest])["items"][0]["number"], 1);
    }
    let long = "r".repeat(129);
    for id in ["", "a b", "ü", "a\nb", &long] {
        refused(&home, &["add", "x", "--request-id", id]).is("usage", "bad_request_id");
    }
    assert_eq!(home.ok(&["add", "x", "--request-id", &long[..128]])["number"], 4);
    refused(&home, &["log", "--by", "A B"]).is("usage", "bad_name");
    refused(&home, &["list", "--for", "A B"]).is("usage", "bad_name");
    refused(&home, &["note", "t-00000", "x", "--data", "{not json"]).is("usage", "bad_data");
    refused(&home, &["edit", "t-", "--expect-version", "x"]).is("usage", "bad_arguments");
}

#[test]
fn inv_t15_refused_ops_leave_a_fresh_home_as_it_was() {
    let home = Home::new(Engine::File);
    let before = (home.files("home"), home.files("repo"));
    for args in [&["add", ""][..], &["add", "x", "--priority", "9"], &["claim", "--ttl", "0s"], &["add", "--stdin"]] {
        assert_eq!(home.refused(args).exit, 2, "{args:?}");
    }
    home.refused(&["done", "t-00000"]).is("not_found", "not_found");
    assert_eq!((home.files("home"), home.files("repo")), before);
}
