//! `tenure export` and `tenure import`: files, pipes, and a round trip of a project to another store.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::home::{Engine, Home, TENURE, keys, text, words};

const IMPORTED: &str = "tasks notes unchanged unchanged_notes events_left_out agents dry_run";

/// Adds tasks in several states, with notes.
fn furnish(home: &Home) -> Vec<String> {
    let first = text(&home.ok(&["add", "first \u{1f980}", "-p", "0", "-l", "b", "-l", "a", "-d", "two\nlines"])["id"]);
    let second = text(&home.ok(&["add", "second", "--after", &first])["id"]);
    let third = home.add("third");
    home.ok_as("claude-1", &["claim", &first]);
    home.ok_as("claude-1", &["note", "half done", "--data", "{\"n\":1.50}"]);
    home.ok(&["block", &third, "--reason", "waits", "--on", &first]);
    let fourth = text(&home.ok(&["add", "fourth", "--for", "claude-1"])["id"]);
    let fifth = home.add("fifth");
    home.ok(&["done", &fifth]);
    vec![first, second, third, fourth, fifth]
}

/// All lines but the first, which contains the project and the time.
fn content(export: &str) -> &str {
    export.split_once('\n').unwrap().1
}

#[test]
fn a_project_goes_to_another_store_and_back_without_a_difference() {
    for (from, to) in [(Engine::File, Engine::Postgres), (Engine::Postgres, Engine::File)] {
        let home = Home::direct(from);
        let ids = furnish(&home);
        let first = home.run(&["export"]);
        assert_eq!((first.code, first.stderr.as_str()), (0, ""));
        let header: Value = serde_json::from_str(first.stdout.lines().next().unwrap()).unwrap();
        assert_eq!(keys(&header), words("tenure format project exported_at"));

        let other = Home::direct(to);
        std::fs::write(other.path("tmp/x.jsonl"), &first.stdout).unwrap();
        let file = other.path("tmp/x.jsonl").display().to_string();
        let planned = other.ok(&["import", &file, "--dry-run"]);
        assert_eq!(keys(&planned), words(IMPORTED));
        assert_eq!((&planned["tasks"], &planned["notes"], &planned["dry_run"]), (&json!(5), &json!(1), &json!(true)));
        assert!(!other.path("repo/.git/tenure").exists() && !other.database().exists(), "a dry run makes nothing");
        let imported = other.ok(&["import", &file]);
        assert_eq!(keys(&imported), words(IMPORTED));
        assert_eq!((&imported["tasks"], &imported["agents"]), (&json!(5), &json!(1)));
        let again = other.call(&["import", "-"]).json().input(first.stdout.as_bytes()).run().data();
        assert_eq!((&again["tasks"], &again["unchanged"]), (&json!(0), &json!(5)));
        assert_eq!(content(&other.run(&["export"]).stdout), content(&first.stdout), "{from:?} to {to:?}");
        assert_eq!(other.ok(&["show", &ids[0]])["lapsed_from"], "claude-1");
        assert_eq!(other.ok_as("codex-2", &["claim"])["task"]["id"], ids[0].as_str());
        assert_eq!(other.ok_as("codex-2", &["done"])["unlocked"], json!([ids[1]]));
        assert!(other.replayed() > 5);
        assert_eq!(other.ok(&["doctor"])["healthy"], true);
        // Agents may do both.
        let alone = Home::direct(to);
        let imported = alone.call(&["import", "-"]).json().agent("codex-2").input(first.stdout.as_bytes()).run().data();
        assert_eq!(imported["tasks"], 5);
        assert_eq!(alone.call(&["export"]).agent("codex-2").run().code, 0);
    }
}

#[test]
fn a_file_is_made_at_once_and_for_its_owner_alone() {
    let home = Home::new(Engine::File);
    furnish(&home);
    let path = home.path("tmp/x.jsonl");
    let file = path.display().to_string();
    let made = home.ok(&["export", &file, "--log"]);
    let bytes = std::fs::metadata(&path).unwrap().len();
    let events = home.events().len();
    assert_eq!(made, json!({ "file": file, "tasks": 5, "notes": 1, "events": events, "bytes": bytes }));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(home.files("tmp"), std::slice::from_ref(&path), "nothing else is left");
    let before = std::fs::read_to_string(&path).unwrap();
    let printed = home.run(&["export", "--log", "-"]).stdout;
    assert_eq!(content(&printed), content(&before));
    home.refused(&["export", &file]).is("conflict", "file_exists").names(&[&file]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    assert_eq!(home.ok(&["export", &file, "--force"])["events"], 0);
    assert!(std::fs::read_to_string(&path).unwrap().len() < before.len());
    // The log is in the file and is not imported.
    std::fs::write(&path, &before).unwrap();
    let again = home.ok(&["import", &file]);
    assert_eq!((&again["unchanged"], &again["events_left_out"]), (&json!(5), &json!(events)));
    // A relative name in the working directory.
    assert_eq!(home.run(&["export", "here.jsonl"]).code, 0);
    assert!(home.path("repo/here.jsonl").exists());
}

#[test]
fn what_is_exported_is_not_changed_for_a_terminal_nor_by_flags() {
    let home = Home::new(Engine::File);
    furnish(&home);
    let plain = home.run(&["export"]).stdout;
    for args in [&["export", "--json"][..], &["export", "--quiet"], &["export", "-"], &["dump"]] {
        assert_eq!(content(&home.run(args).stdout), content(&plain), "{args:?}");
    }
    // Without a writable temporary directory, the export is buffered in memory.
    let output = home.call(&["export"]).env("TMPDIR", "/nowhere/at/all").run();
    assert_eq!(content(&output.stdout), content(&plain));
    assert!(home.files("tmp").is_empty());
}

#[test]
fn a_reader_of_an_export_that_hangs_up_is_not_an_error() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add_many(2_000);
        let mut command = home.call(&["export"]).into_command();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{engine:?}");
    }
    let home = Home::new(Engine::File);
    home.add("one");
    let full = std::fs::File::create("/dev/full").unwrap();
    let status = home.call(&["export"]).into_command().stdout(full).status().unwrap();
    assert_eq!(status.code(), Some(4));
}

#[test]
fn an_export_of_nothing_makes_nothing() {
    let home = Home::new(Engine::File);
    let before = (home.files("home"), home.files("repo"));
    let export = home.run(&["export"]);
    assert_eq!(content(&export.stdout), "{\"end\":true,\"tasks\":0,\"notes\":0,\"events\":0}\n");
    assert_eq!((home.files("home"), home.files("repo")), before);
}

#[test]
fn inv_t6_an_import_under_a_request_id_is_carried_out_once() {
    let home = Home::new(Engine::File);
    furnish(&home);
    let export = home.run(&["export"]).stdout;
    for engine in Engine::ALL {
        let other = Home::new(engine);
        let import = || other.call(&["import", "-", "--request-id", "r-1"]).json().input(export.as_bytes()).run();
        let first = import();
        let events = other.events().len();
        assert_eq!(import().stdout, first.stdout, "the same bytes");
        assert_eq!(other.events().len(), events);
    }
}

#[test]
fn a_pipe_is_as_good_as_a_file() {
    let home = Home::new(Engine::File);
    furnish(&home);
    let other = Home::new(Engine::File);
    let script = format!("cat > tmp.jsonl; {TENURE} import /dev/stdin --json < tmp.jsonl");
    let mut shell = other.clean("sh".as_ref());
    let mut child = shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let export = home.run(&["export"]).stdout;
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), export.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["data"]["tasks"], 5);
}
