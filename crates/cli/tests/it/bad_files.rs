//! Unusable stores and invalid configuration: exit 4, 3 or 2, nothing created, nothing overwritten.

use std::os::unix::fs::symlink;
use std::path::Path;

use tenure_testkit::pg;

use crate::home::{Engine, Home, Output, TENURE, text};

/// Ops and queries are both refused with this kind and code.
#[track_caller]
fn all_refused(home: &Home, store: &Path, kind: &str, code: &str) {
    for args in [&["add", "x"][..], &["claim"], &["list"], &["status"], &["log"]] {
        home.call(args).json().env("TENURE_STORE", store).run().refusal().is(kind, code);
    }
}

/// Ops are refused; queries see an empty store.
#[track_caller]
fn ops_refused(home: &Home, store: &str, code: &str) {
    for args in [["add", "x"], ["add", "--stdin"]] {
        let call = home.call(&args).json().env("TENURE_STORE", store).input(b"{\"title\":\"x\"}");
        call.run().refusal().is("storage", code);
    }
    assert_eq!(home.call(&["list"]).json().env("TENURE_STORE", store).run().data()["total"], 0, "{store}");
    assert!(!home.path("repo/.git/tenure").exists(), "a store that cannot be had leaves nothing in the repository");
}

#[test]
fn store_names_that_mean_nothing_are_usage() {
    let home = Home::direct(Engine::File);
    for (store, code) in [
        ("mysql://localhost/x", "unknown_store_scheme"),
        ("http://example.com", "unknown_store_scheme"),
        ("sqlite:", "bad_store"),
        ("postgres://h:port/x", "bad_store_url"),
        ("postgres://h/x?sslmode=maybe", "bad_store_url"),
        ("postgres://h/x?nonsense=1", "bad_store_url"),
        ("postgres://h/x?schema=DROP TABLE", "bad_store_url"),
    ] {
        for args in [["add", "x"], ["list", "--all"]] {
            home.call(&args).json().env("TENURE_STORE", store).run().refusal().is("usage", code);
            home.call(&[&args[..], &["--store", store]].concat()).json().run().refusal().is("usage", code);
        }
    }
    // A password is never shown.
    let secret = home.call(&["add", "x"]).json().env("TENURE_STORE", "postgres://u:hunter2@h:port/x").run();
    assert!(!secret.stdout.contains("hunter2"), "{secret:?}");
    assert!(home.files("home").is_empty() && !home.path("repo/.git/tenure").exists());
}

#[test]
fn an_unreachable_postgres_is_busy() {
    let home = Home::direct(Engine::File);
    let urls = [
        "postgres://u:hunter2@127.0.0.1:1/x".to_owned(),
        format!("postgres://u@/x?host={}&port=5432", home.path("tmp").display()),
    ];
    for url in urls {
        for args in [&["add", "x"][..], &["list"], &["claim"]] {
            let output = home.call(args).json().env("TENURE_STORE", &url).run();
            assert!(!output.stdout.contains("hunter2"), "{output:?}");
            let refusal = output.refusal();
            assert_eq!((refusal.exit, refusal.is("busy", "unreachable").detail("stage")), (3, &"open".into()));
        }
        assert_eq!(home.call(&["doctor"]).env("TENURE_STORE", &url).run().code, 1);
    }
    assert!(home.files("home").is_empty() && !home.path("repo/.git/tenure").exists());
}

#[test]
fn places_where_nothing_can_be_made_are_storage_errors() {
    let home = Home::direct(Engine::File);
    let file = home.path("tmp/file");
    std::fs::write(&file, "a file").unwrap();
    // A file in place of a directory; a path where not even root may write; a dangling link.
    for below in ["tenure.db", "deep/er/tenure.db"] {
        let below = file.join(below);
        home.call(&["add", "x"]).json().env("TENURE_STORE", &below).run().refusal().is("storage", "not_a_directory");
        home.call(&["list"]).json().env("TENURE_STORE", &below).run().refusal().is("storage", "unreadable");
    }
    ops_refused(&home, "/proc/tenure/tenure.db", "no_directory");
    symlink(home.path("tmp/nowhere"), home.path("tmp/dangling")).unwrap();
    ops_refused(&home, home.path("tmp/dangling/tenure.db").to_str().unwrap(), "io_failure");
    assert_eq!(std::fs::read(&file).unwrap(), b"a file");
    std::fs::create_dir(home.path("tmp/dir.db")).unwrap();
    std::fs::create_dir(home.path("tmp/dir.db/tenure.db")).unwrap();
    all_refused(&home, &home.path("tmp/dir.db"), "storage", "not_a_file");
}

#[test]
fn inv_c4_a_symlinked_database_is_refused() {
    let home = Home::direct(Engine::File);
    home.add("one");
    let real = home.path("tmp/real.db");
    std::fs::rename(home.whole_database(), &real).unwrap();
    symlink(&real, home.database()).unwrap();
    let before = std::fs::read(&real).unwrap();
    for args in [&["list"][..], &["add", "two"], &["claim"], &["status"]] {
        home.refused(args).is("storage", "symlinked_store").names(&[home.database().to_str().unwrap()]);
    }
    assert_eq!(std::fs::read(&real).unwrap(), before);
    // The file itself may be named.
    assert_eq!(home.call(&["list"]).json().env("TENURE_STORE", &real).run().data()["total"], 1);
}

#[test]
fn inv_c4_a_corrupt_file_is_an_error_and_is_left_as_it_is() {
    let sound = Home::direct(Engine::File);
    sound.add_many(2_000);
    let good = std::fs::read(sound.whole_database()).unwrap();
    let mut middle = good.clone();
    // Half of the file, so that reading a page of tasks or events must meet the damage.
    let quarter = middle.len() / 4;
    middle[quarter..3 * quarter].fill(0xA5);
    let mut header = good.clone();
    header[..16].copy_from_slice(b"not a database!\n");
    let damaged: [(&str, Vec<u8>); 5] = [
        ("garbage", b"this is not a database at all, ".repeat(200)),
        ("header", header),
        ("truncated", good[..good.len() / 2].to_vec()),
        ("cut inside the first page", good[..1_000].to_vec()),
        ("overwritten", middle),
    ];
    for (how, bytes) in damaged {
        std::fs::write(sound.database(), &bytes).unwrap();
        // Damage is found by the call that reads the page: every answer is either an error or correct.
        let mut met = 0;
        for args in
            [&["list", "--limit", "1000"][..], &["log", "--since", "0", "--limit", "1000"], &["add", "x"], &["claim"]]
        {
            let before = std::fs::read(sound.database()).unwrap();
            let output = sound.call(args).json().run();
            if output.code != 0 {
                met += 1;
                output.refusal().is("storage", "corrupt_store");
                assert!(std::fs::read(sound.database()).unwrap() == before, "{how}: {args:?} changed the file");
            }
        }
        assert!(met > 0, "{how}: nobody noticed");
        let doctor = sound.run(&["doctor"]);
        assert_eq!(doctor.code, 1, "{how}: {doctor:?}");
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", sound.database().display()));
        }
    }
    std::fs::write(sound.database(), &good).unwrap();
    assert_eq!(sound.ok(&["list"])["total"], 2_000);
}

#[test]
fn inv_c4_a_database_of_another_program_is_not_taken_over() {
    let home = Home::direct(Engine::File);
    let foreign = home.path("tmp/foreign.db");
    tenure_testkit::raw::tamper(&foreign, "CREATE TABLE t (a)");
    let before = std::fs::read(&foreign).unwrap();
    home.call(&["add", "x"])
        .json()
        .cwd(home.path("tmp"))
        .env("TENURE_STORE", &foreign)
        .run()
        .refusal()
        .is("storage", "corrupt_store");
    assert_eq!(std::fs::read(&foreign).unwrap(), before);
}

#[test]
fn inv_t11_a_newer_schema_is_read_and_not_written() {
    for engine in Engine::ALL {
        let home = Home::direct(engine);
        let task = home.add("one");
        let newer = || match engine {
            // The schema version is at byte 60 of the file.
            Engine::File => {
                let mut bytes = std::fs::read(home.whole_database()).unwrap();
                bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
                std::fs::write(home.database(), bytes).unwrap();
            }
            Engine::Postgres => {
                let schema = home.schema();
                pg::server().batch(&format!(
                    "UPDATE {schema}.store SET schema_version = 99; UPDATE {schema}.project SET schema_version = 99"
                ));
            }
        };
        newer();
        let before = home.run(&["log", "--json"]).stdout;
        for args in [&["add", "two"][..], &["claim"], &["done", &task], &["note", &task, "x"]] {
            let refusal = home.refused(args);
            assert_eq!(refusal.is("storage", "newer_schema").exit, 4);
            assert_eq!(
                (refusal.detail("found"), refusal.detail("known")),
                (&99.into(), &tenure_store::migrate::VERSION.into()),
                "{engine:?}"
            );
        }
        assert_eq!(home.ok(&["list"])["total"], 1, "{engine:?}: queries answer");
        assert_eq!(home.ok(&["show", &task])["title"], "one");
        assert_eq!(home.run(&["log", "--json"]).stdout, before);
        assert_eq!(home.run(&["doctor"]).code, 1);
    }
}

/// Runs a script in its own mount namespace, with a small file system at `$HOME/.local`. `$T` is tenure.
pub(crate) fn with_small_disk(home: &Home, script: &str) -> Output {
    std::fs::create_dir_all(home.path("home/.local")).unwrap();
    let mount = "mount -t tmpfs -o size=1m,mode=700 none \"$HOME/.local\" && echo mounted >&2 || exit 99\n";
    let mut seen = Vec::new();
    // As root, and as another user if the system allows user namespaces.
    for flags in ["-m", "-Urm"] {
        let mut unshare = home.clean("unshare".as_ref());
        unshare
            .arg(flags)
            .args(["sh", "-euc", &format!("{mount}{script}")])
            .env("T", TENURE)
            .env("TENURE_FORMAT", "json");
        let output = unshare.output().expect("unshare of util-linux is there");
        if output.stderr.starts_with(b"mounted") {
            return Output::of(&output);
        }
        seen.push(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    panic!("this test mounts a small file system, as root or in a user namespace, and may not: {seen:?}");
}

/// The JSON documents that a script printed, one per line, each followed by the exit code of the call.
pub(crate) fn answers(output: &Output) -> Vec<(serde_json::Value, i32)> {
    assert_eq!(output.code, 0, "{output:?}");
    let lines: Vec<&str> = output.stdout.lines().collect();
    lines.chunks(2).map(|pair| (serde_json::from_str(pair[0]).unwrap(), pair[1].parse().unwrap())).collect()
}

#[test]
fn inv_t10_a_full_disk_is_a_storage_error_and_queries_answer() {
    let home = Home::direct(Engine::File);
    let script = r#"
        "$T" add one; echo $?
        dd if=/dev/zero of="$HOME/.local/filler" bs=4k 2>/dev/null || true
        "$T" add two || echo $?
        "$T" claim || echo $?
        "$T" list; echo $?
        "$T" log; echo $?
        rm "$HOME/.local/filler"
        "$T" add three; echo $?
        "$T" list; echo $?
        "$T" doctor; echo $?"#;
    let output = with_small_disk(&home, script);
    let answers = answers(&output);
    for (document, exit) in &answers[1..3] {
        assert_eq!(
            (*exit, text(&document["error"]["kind"]), text(&document["error"]["code"])),
            (4, "storage".to_owned(), "disk_full".to_owned()),
            "{document}"
        );
    }
    assert_eq!(answers[3].0["data"]["total"], 1, "{output:?}");
    assert_eq!(answers[4].0["data"]["total"], 3);
    assert_eq!(answers[6].0["data"]["total"], 2);
    assert_eq!(answers[7].0["data"]["healthy"], true);
}

#[test]
fn inv_t10_a_disk_without_room_for_a_store_is_a_storage_error() {
    let home = Home::direct(Engine::File);
    let script = r#"
        dd if=/dev/zero of="$HOME/.local/filler" bs=4k 2>/dev/null || true
        "$T" add one || echo $?
        "$T" list; echo $?
        rm "$HOME/.local/filler"
        "$T" add two; echo $?"#;
    let output = with_small_disk(&home, script);
    let answers = answers(&output);
    assert_eq!((answers[0].1, &answers[0].0["error"]["code"]), (4, &"disk_full".into()), "{output:?}");
    assert_eq!(answers[1].0["data"]["total"], 0, "{output:?}");
    assert_eq!(answers[2].0["data"]["number"], 1, "{output:?}");
}

#[test]
fn inv_t10_a_read_only_disk_is_a_storage_error_and_queries_answer() {
    let home = Home::direct(Engine::File);
    let script = r#"
        "$T" add one; echo $?
        mount -o remount,bind,ro "$HOME/.local"
        "$T" add two || echo $?
        "$T" claim || echo $?
        "$T" list; echo $?
        "$T" doctor; echo $?
        mount -o remount,bind,rw "$HOME/.local"
        "$T" add three; echo $?"#;
    let output = with_small_disk(&home, script);
    let answers = answers(&output);
    for (document, exit) in &answers[1..3] {
        assert_eq!((*exit, &document["error"]["code"]), (4, &"not_writable".into()), "{document}");
    }
    assert_eq!(answers[3].0["data"]["total"], 1, "{output:?}");
    assert_eq!(answers[5].0["data"]["number"], 2);

    // The same without an existing store.
    let fresh = Home::direct(Engine::File);
    let script = r#"
        mount -o remount,bind,ro "$HOME/.local"
        "$T" add one || echo $?
        "$T" list; echo $?"#;
    let output = with_small_disk(&fresh, script);
    let pair = self::answers(&output);
    assert_eq!((pair[0].1, &pair[0].0["error"]["code"]), (4, &"not_writable".into()), "{output:?}");
    assert_eq!(pair[1].0["data"]["total"], 0);
    assert!(!fresh.path("repo/.git/tenure").exists());
}

#[test]
fn inv_c1_bad_configuration_is_refused_with_file_and_line() {
    let home = Home::direct(Engine::File);
    std::fs::create_dir_all(home.path("home/.config/tenure")).unwrap();
    let files = [home.path("repo/tenure.toml"), home.path("home/.config/tenure/config.toml")];
    let cases = [
        ("labels = [\"a\"]\ncolour = \"red\"\n", 2, "colour"),
        ("# fine\n\n[hold]\ntask_ttl = \"0s\"\n", 4, "task_ttl"),
        ("durability = \"maybe\"\n", 1, "durability"),
        ("store = \"mysql://x\"\n", 1, "store"),
        ("labels = \"a\"\n", 1, "labels"),
        ("labels = [\n  \"a\",\n", 2, ""),
        ("this is not toml\n", 1, ""),
    ];
    for file in &files {
        for (content, line, key) in cases {
            std::fs::write(file, content).unwrap();
            for args in [["add", "x"], ["list", "--all"]] {
                let refusal = home.refused(&args);
                refusal.is("usage", "config_invalid").names(&[file.to_str().unwrap(), &format!("line {line}"), key]);
                assert_eq!(refusal.detail("line"), line);
            }
        }
        std::fs::write(file, b"labels = [\"\xff\"]").unwrap();
        home.refused(&["list"]).is("usage", "config_invalid").names(&[file.to_str().unwrap()]);
        std::fs::remove_file(file).unwrap();
    }
    std::fs::write(&files[1], "project = \"everything\"\n").unwrap();
    home.refused(&["list"]).is("usage", "config_invalid").names(&["line 1", "project"]);
    assert!(!home.path("repo/.git/tenure").exists());
    std::fs::write(&files[1], "[hold]\ntask_ttl = \"5m\"\n").unwrap();
    home.add("one");
    assert_eq!(home.ok(&["claim"])["hold"]["ttl_s"], 300);
}
