//! Invalid input of `export` and `import`: a clear error, the right exit code, and no change.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::bad_files::{answers, with_small_disk};
use crate::bad_input::{home_with_tasks, refused, refused_with};
use crate::home::{Engine, Home, Refusal, text};

const HEADER: &str = r#"{"tenure":"export","format":1,"project":{"key":"k","label":"l"},"exported_at":"x"}"#;
const OWN: &str = r#""created_by":"a","created_at":"2030-01-01T00:00:00Z","updated_at":"2030-01-01T00:00:00Z""#;

/// A complete export with these lines.
fn file(lines: &[&[u8]], tasks: usize, notes: usize) -> Vec<u8> {
    let end = format!("{{\"end\":true,\"tasks\":{tasks},\"notes\":{notes},\"events\":0}}\n");
    let mut all = vec![HEADER.as_bytes()];
    all.extend(lines);
    all.push(end.as_bytes());
    all.join(&b'\n')
}

fn task(id: &str, more: &str) -> Vec<u8> {
    format!("{{\"task\":{{\"id\":\"{id}\",\"title\":\"x\",{OWN}{more}}}}}").into_bytes()
}

#[test]
fn words_that_make_no_sense_are_refused() {
    let home = home_with_tasks(1);
    refused(&home, &["import"]).is("usage", "bad_arguments").names(&["FILE"]);
    refused(&home, &["import", "a", "b"]).is("usage", "bad_arguments");
    refused(&home, &["export", "a", "b"]).is("usage", "bad_arguments");
    let hint = |refusal: Refusal| text(&refusal.error["hint"]);
    assert!(hint(refused(&home, &["import", "-", "--dry-runn"])).contains("--dry-run"));
    assert!(hint(refused(&home, &["export", "--logg"])).contains("--log"));
    refused(&home, &["import", "-", "--force"]).is("usage", "bad_arguments").names(&["--force"]);
    assert!(hint(refused(&home, &["exprot"])).contains("`export`"));
    assert!(hint(refused(&home, &["imprt"])).contains("`import`"));
}

#[test]
fn files_that_cannot_be_read_or_made_are_refused() {
    let home = Home::direct(Engine::File);
    home.add_many(1);
    refused(&home, &["import", "none.jsonl"]).is("usage", "unreadable_input").names(&["none.jsonl"]);
    refused(&home, &["import", "."]).is("usage", "unreadable_input");
    refused(&home, &["import", ""]).is("usage", "bad_arguments");
    refused(&home, &["export", "."]).is("storage", "not_a_file");
    refused(&home, &["export", "..", "--force"]).is("storage", "not_a_file");
    refused(&home, &["export", "none/x.jsonl"]).is("storage", "not_writable").names(&["none/x.jsonl"]);
    refused(&home, &["export", ""]).is("usage", "bad_arguments");
    refused(&home, &["export", "/dev/null"]).is("conflict", "file_exists");
    // Only plain files are replaced: a device is not one, and the store's files are never replaced.
    refused(&home, &["export", "/dev/null", "--force"]).is("storage", "not_a_file");
    let store = home.database().display().to_string();
    refused(&home, &["export", &store, "--force"]).is("usage", "own_store").names(&["of the store"]);
    symlink(&store, home.path("repo/link")).unwrap();
    refused(&home, &["export", "link", "--force"]).is("usage", "own_store");
    std::fs::hard_link(&store, home.path("repo/hard")).unwrap();
    refused(&home, &["export", "hard", "--force"]).is("usage", "own_store");
    assert_eq!(home.ok(&["list"])["total"], 1);
    // To a reader, the store is a file like any other.
    refused(&home, &["import", &store]).is("usage", "bad_export");
    assert_eq!(home.ok(&["doctor"])["healthy"], true);
    assert!(home.files("repo").iter().all(|path| path.extension().is_none_or(|end| end != "tmp")));
    // File names that are not UTF-8 are valid.
    let odd = OsString::from_vec(b"odd\xff.jsonl".to_vec());
    let call = |first: &str| home.run(&[OsString::from(first), odd.clone()]);
    assert_eq!((call("export").code, call("import").code), (0, 0));
}

#[test]
fn what_is_no_export_is_refused() {
    let home = home_with_tasks(1);
    let import = |input: &[u8]| refused_with(&home, &["import", "-"], input);
    for (input, code) in [
        (&b""[..], "bad_export"),
        (b"\n\n", "bad_export"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0", "bad_export"),
        (b"[]", "bad_export"),
        (b"\xff\xfe", "bad_export"),
        (b"{\"tenure\":\"export\",\"format\":\"1\"}", "bad_export"),
        (b"{\"tenure\":\"export\",\"format\":99,\"and\":\"more\"}", "newer_export"),
        (HEADER.as_bytes(), "export_truncated"),
    ] {
        import(input).is("usage", code);
    }
    let whole = file(&[&task("t-00000", "")], 1, 0);
    for cut in [whole.len() - 2, whole.len() - 20, whole.len() - 60, HEADER.len() + 1, HEADER.len() + 9] {
        import(&whole[..cut]).is("usage", "export_truncated");
    }
    import(&file(&[&task("t-00000", "")], 2, 0)).is("usage", "export_truncated").names(&["2 tasks", "1 tasks"]);
    import(&[&whole[..], b"{}\n"].concat()).is("usage", "bad_line").names(&["line 4"]);
}

#[test]
fn bad_lines_are_named_and_nothing_is_imported() {
    let home = home_with_tasks(1);
    let import = |lines: &[&[u8]]| {
        let notes = lines.iter().filter(|line| line.starts_with(b"{\"note\"")).count();
        refused_with(&home, &["import", "-"], &file(lines, lines.len() - notes, notes))
    };
    let line = |refusal: &Refusal| refusal.detail("line").as_i64();
    let good = task("t-00000", "");
    for (bad, kind, code) in [
        (&b"not json"[..], "usage", "bad_line"),
        (b"[]", "usage", "bad_line"),
        (b"{}", "usage", "bad_line"),
        (b"{\"task\":{}}", "usage", "bad_line"),
        (b"{\"task\":{\"id\":\"\xff\"}}", "usage", "bad_line"),
        (b"{\"task\":{\"id\":\"t-00001\0\"}}", "usage", "bad_line"),
        (&task("t-00001", ",\"colour\":\"red\""), "usage", "bad_line"),
        (&task("t-00001", ",\"state\":\"ready\""), "usage", "bad_line"),
        (&task("t-00001", ",\"status\":\"sleeping\""), "usage", "bad_line"),
        (&task("t-00001", ",\"priority\":\"high\""), "usage", "bad_line"),
        (&task("t-00001", ",\"priority\":7"), "usage", "bad_priority"),
        (&task("t-00001", ",\"status\":\"started\""), "usage", "bad_task"),
        (&task("t-00001", ",\"description\":\"a\\u0000b\""), "usage", "control_character"),
        (&task("t-00001", ",\"description\":\"a\\u202eb\""), "usage", "control_character"),
        (&task("t-00001", ",\"attempt\":9223372036854775807"), "usage", "bad_count"),
        (&task("t-00001", ",\"attempt\":1e3"), "usage", "bad_line"),
        (&task("x", ""), "usage", "bad_id"),
        (&task("t-00001\\u0000", ""), "usage", "bad_id"),
        (&task("t-00000", ""), "usage", "duplicate_id"),
        (&task("t-00001", ",\"after\":[\"t-00002\"]"), "not_found", "not_found"),
        (&task("t-00001", ",\"after\":[\"'; DROP TABLE task; --\"]"), "not_found", "not_found"),
        (&task("t-00001", ",\"after\":[\"t-00001\"]"), "conflict", "cycle"),
    ] {
        let refusal = import(&[&good, bad]);
        assert_eq!(line(refusal.is(kind, code)), Some(3), "{}", String::from_utf8_lossy(bad));
        assert!(refusal.message().len() < 400 && text(&refusal.error["hint"]).contains("Nothing was imported"));
    }
    // Line numbers are those of the file, including carriage returns and blank lines.
    let crlf = [&good[..], b"", b"nonsense"].join(&b"\r\n"[..]);
    assert_eq!(line(import(&[&crlf]).is("usage", "bad_line")), Some(4));
    let mut huge = b"{\"task\":{\"id\":\"".to_vec();
    huge.extend(vec![b'x'; 5 << 20]);
    assert_eq!(line(import(&[&good, &huge, b"{}"]).is("usage", "bad_line")), Some(3));
    let deep = [b"{\"note\":{\"data\":".to_vec(), vec![b'['; 100_000]].concat();
    assert_eq!(line(import(&[&good, &deep, b"{}"]).is("usage", "bad_line")), Some(3));
    // A long cycle.
    let ring: Vec<Vec<u8>> =
        (0..2_000).map(|n| task(&format!("t-{n:05}"), &format!(",\"after\":[\"t-{:05}\"]", (n + 1) % 2_000))).collect();
    let ring: Vec<&[u8]> = ring.iter().map(Vec::as_slice).collect();
    import(&ring).is("conflict", "cycle");
    assert_eq!(home.ok(&["list"])["total"], 1);
}

#[test]
fn what_is_here_with_other_content_is_named() {
    for engine in Engine::ALL {
        let home = Home::direct(engine);
        let task = home.add("one");
        let export = home.run(&["export"]).stdout;
        home.ok(&["edit", &task, "--title", "uno"]);
        let refusal = refused_with(&home, &["import", "-"], export.as_bytes());
        refusal.is("conflict", "import_differs").names(&[&task, "title", "version"]);
        let named = json!([{ "id": task, "line": 2, "fields": ["title", "updated_at", "version"] }]);
        assert_eq!((refusal.detail("differing"), refusal.detail("total")), (&named, &json!(1)));
        refused_with(&home, &["import", "-", "--dry-run"], export.as_bytes()).is("conflict", "import_differs");
    }
}

#[test]
fn inv_t15_a_refused_import_leaves_a_fresh_home_as_it_was() {
    let home = Home::direct(Engine::File);
    let before = (home.files("home"), home.files("repo"));
    for input in [&b""[..], HEADER.as_bytes(), &file(&[&task("x", "")], 1, 0)] {
        assert_eq!(home.call(&["import", "-"]).json().input(input).run().refusal().exit, 2);
    }
    assert_eq!((home.files("home"), home.files("repo")), before);
}

#[test]
fn stores_that_cannot_be_used_are_storage_errors() {
    let home = Home::direct(Engine::File);
    home.add_many(2);
    let export = home.run(&["export"]).stdout;
    let damaged = home.path("tmp/damaged.db");
    std::fs::write(&damaged, vec![b'x'; 8_192]).unwrap();
    for args in [&["export"][..], &["export", "x.jsonl"], &["import", "-"], &["import", "-", "--dry-run"]] {
        // In a directory that is not pinned to another store.
        let there = home.call(args).json().cwd(home.path("tmp"));
        let call = there.env("TENURE_STORE", &damaged).input(export.as_bytes());
        call.run().refusal().is("storage", "corrupt_store");
        let there = home.call(args).json().cwd(home.path("tmp"));
        let call = there.env("TENURE_STORE", "postgres://u@127.0.0.1:1/x").input(export.as_bytes());
        call.run().refusal().is("busy", "unreachable");
    }
    assert!(!home.path("tmp/x.jsonl").exists());
    assert!(home.files("tmp").iter().all(|path| path.extension().is_none_or(|end| end != "tmp")));
}

#[test]
fn inv_t10_full_and_read_only_disks_are_storage_errors_and_an_export_answers() {
    let home = Home::direct(Engine::File);
    let other = home_with_tasks(400);
    std::fs::write(home.path("tmp/x.jsonl"), other.run(&["export"]).stdout).unwrap();
    let script = r#"
        "$T" add one; echo $?
        "$T" import "$TMPDIR/x.jsonl" --dry-run; echo $?
        dd if=/dev/zero of="$HOME/.local/filler" bs=4k 2>/dev/null || true
        "$T" import "$TMPDIR/x.jsonl" || echo $?
        "$T" export "$HOME/.local/out.jsonl" || echo $?
        test ! -e "$HOME/.local/out.jsonl"
        "$T" export "$TMPDIR/out.jsonl"; echo $?
        rm "$HOME/.local/filler"
        mount -o remount,bind,ro "$HOME/.local"
        "$T" import "$TMPDIR/x.jsonl" || echo $?
        "$T" export "$HOME/.local/out.jsonl" || echo $?
        "$T" export "$TMPDIR/out.jsonl" --force; echo $?
        mount -o remount,bind,rw "$HOME/.local"
        "$T" import "$TMPDIR/x.jsonl"; echo $?"#;
    let output = with_small_disk(&home, script);
    let answers = answers(&output);
    let code = |at: usize| (answers[at].1, answers[at].0["error"]["code"].as_str().unwrap_or_default().to_owned());
    assert_eq!(answers[1].0["data"]["tasks"], 400, "{output:?}");
    assert_eq!((code(2), code(3)), ((4, "disk_full".into()), (4, "disk_full".into())), "{output:?}");
    assert_eq!(answers[4].0["data"]["tasks"], 1, "{output:?}");
    assert_eq!((code(5), code(6)), ((4, "not_writable".into()), (4, "not_writable".into())), "{output:?}");
    assert_eq!(answers[7].0["data"]["tasks"], 1, "{output:?}");
    assert_eq!(answers[8].0["data"]["tasks"], 400, "{output:?}");
}
