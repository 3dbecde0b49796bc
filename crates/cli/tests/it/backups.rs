//! `tenure backup` and `tenure restore` as processes: files, pipes, kills, and their errors.

use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tenure_testkit::pg;

use crate::home::{Engine, Home, Output, keys, text, wait_until, words};

const TAKEN: &str = "path store size sha256 projects events taken_at remarks";

fn backup(home: &Home, name: &str) -> PathBuf {
    let path = home.path(name);
    home.ok(&["backup", path.to_str().unwrap()]);
    path
}

/// `--replace`, with the path of the safety backup that PostgreSQL requires.
fn replace(home: &Home, path: &Path, safety: &str) -> Output {
    let safety = home.path(safety);
    home.call(&["restore", path.to_str().unwrap(), "--replace", "--safety", safety.to_str().unwrap()]).json().run()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn sha256(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().expect("sha256sum is there");
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

#[test]
fn a_backup_goes_to_a_file_and_comes_back() {
    for engine in Engine::ALL {
        let home = Home::direct(engine);
        let task = home.add("one");
        let fence = home.ok_as("a", &["claim"])["hold"]["fence"].to_string();
        let cursor = text(&home.ok(&["log"])["cursor"]);
        let path = home.path("tmp/b.db");
        // An agent may take a backup: it is a query.
        let taken = home.ok_as("a", &["backup", path.to_str().unwrap()]);
        assert_eq!(keys(&taken), words(TAKEN));
        assert_eq!((&taken["projects"], &taken["events"]), (&1.into(), &5.into()));
        assert_eq!(taken["size"], std::fs::metadata(&path).unwrap().len());
        assert_eq!((text(&taken["sha256"]), mode(&path)), (sha256(&path), 0o600));
        // The same over a pipe, byte for byte, with the report on standard error.
        let mut piped = home.call(&["backup", "-"]).json().into_command();
        let piped = piped.stdin(Stdio::null()).output().unwrap();
        assert!(piped.status.success() && piped.stdout == std::fs::read(&path).unwrap());
        let report: Value = serde_json::from_slice(&piped.stderr).unwrap();
        assert_eq!((&report["data"]["sha256"], &report["data"]["path"]), (&taken["sha256"], &"-".into()));

        let lost = home.add("after the backup");
        let refusal = home.refused(&["restore", path.to_str().unwrap()]);
        refusal.is("conflict", "store_not_empty");
        assert!(!text(&refusal.error["hint"]).is_empty());
        home.refused_as("a", &["restore", path.to_str().unwrap(), "--replace"]).is("denied", "people_only");
        let restored = replace(&home, &path, "tmp/safety.db").data();
        assert_eq!(
            keys(&restored),
            words("store location incarnation projects events ended_holds safety remarks"),
            "{engine:?}"
        );
        assert_eq!(keys(&restored["safety"]), words(TAKEN));
        assert_eq!((&restored["ended_holds"], &restored["safety"]["events"]), (&1.into(), &6.into()));
        home.refused(&["show", &lost]).is("not_found", "not_found");
        home.refused_as("a", &["done", &task]).is("stale", "stale_fence");
        home.refused_as("a", &["done", &task, "--fence", &fence]).is("stale", "stale_fence");
        home.refused(&["log", "--cursor", &cursor]).is("stale", "stale_cursor");
        home.ok_as("b", &["claim", &task]);
        home.replayed();
        // Also from standard input, and over the store that the safety backup was taken from.
        let safety = home.path("tmp/safety.db");
        let bytes = std::fs::read(&safety).unwrap();
        let again = home.path("tmp/safety-2.db");
        let call = home.call(&["restore", "-", "--replace", "--safety", again.to_str().unwrap()]).json().input(&bytes);
        assert_eq!(call.run().data()["projects"], 1);
        assert_eq!(home.ok(&["show", &lost])["title"], "after the backup");
        home.replayed();
        assert_eq!(home.ok(&["doctor"])["healthy"], true);
        assert!(
            home.files("tmp").iter().all(|file| file.extension().is_some_and(|end| end == "db")),
            "nothing is left"
        );
    }
}

#[test]
fn backups_cross_from_engine_to_engine() {
    let (file, postgres) = (Home::direct(Engine::File), Home::direct(Engine::Postgres));
    let ids = file.add_many(50);
    file.ok_as("a", &["claim"]);
    let path = backup(&file, "tmp/b.db");
    // A separate location is used, because the other home's repository belongs to no store yet.
    assert_eq!(postgres.ok(&["restore", path.to_str().unwrap()])["events"], 54);
    let project = text(&file.ok(&["project", "show"])["key"]);
    let schema = postgres.schema();
    let rows = pg::server().query(&format!("SELECT key, events FROM {schema}.project"));
    assert_eq!(rows, [[Some(project), Some("56".to_owned())]]);
    let back = backup(&postgres, "tmp/back.db");
    replace(&file, &back, "tmp/safety.db").data();
    assert_eq!(file.ok(&["list", "--all", "--limit", "1000"])["total"], ids.len());
    file.replayed();
}

#[test]
fn a_lost_store_that_a_repository_is_pinned_to_is_put_back() {
    let home = Home::direct(Engine::File);
    let task = home.add("one");
    let path = backup(&home, "tmp/b.db");
    for file in home.files("home/.local/share/tenure") {
        std::fs::remove_file(file).unwrap();
    }
    home.refused(&["list"]).is("storage", "pinned_store_gone");
    home.refused(&["backup", home.path("tmp/c.db").to_str().unwrap()]).is("storage", "pinned_store_gone");
    let restored = home.ok(&["restore", path.to_str().unwrap()]);
    assert_eq!((&restored["safety"], &restored["remarks"]), (&Value::Null, &serde_json::json!([])));
    assert_eq!(home.ok(&["show", &task])["title"], "one");
    assert_eq!((mode(&home.database()), home.ok(&["doctor"])["healthy"].clone()), (0o600, true.into()));
    // A backup of a store other than the pinned one is restored where requested, with a warning.
    let other = Home::direct(Engine::File);
    other.add("of another");
    let foreign = backup(&other, "tmp/f.db");
    let place = home.path("tmp/look.db");
    let looked = home.ok(&["restore", foreign.to_str().unwrap(), "--store", place.to_str().unwrap()]);
    assert_eq!(looked["remarks"].as_array().unwrap().len(), 1);
    home.refused(&["restore", foreign.to_str().unwrap(), "--replace"]).is("conflict", "restore_other_store");
    home.replayed();
}

#[test]
fn destinations_that_cannot_be_are_refused_and_left_alone() {
    let home = Home::direct(Engine::File);
    home.add("one");
    // The empty log of a query that closed last may stay.
    let files = || {
        home.files("home")
            .into_iter()
            .filter(|path| !path.to_str().unwrap().ends_with("-wal") && !path.to_str().unwrap().ends_with("-shm"))
            .collect::<Vec<_>>()
    };
    let before = files();
    let database = home.database();
    let backup = |path: &Path, force: bool| {
        let mut args = vec!["backup".into(), path.as_os_str().to_owned()];
        args.extend(force.then(|| "--force".into()));
        home.call(&args).json().run()
    };
    let file = home.path("tmp/file");
    std::fs::write(&file, "precious").unwrap();
    backup(&file, false).refusal().is("conflict", "file_exists").names(&["tmp/file"]);
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    symlink(&file, home.path("tmp/link")).unwrap();
    symlink(home.path("tmp/nowhere"), home.path("tmp/dangling")).unwrap();
    symlink(database.parent().unwrap(), home.path("tmp/way")).unwrap();
    std::fs::hard_link(&database, home.path("tmp/alias.db")).unwrap();
    assert!(Command::new("mkfifo").arg(home.path("tmp/pipe")).status().unwrap().success());
    for force in [false, true] {
        for link in ["tmp/link", "tmp/dangling"] {
            backup(&home.path(link), force).refusal().is("storage", "symlinked_backup");
        }
        for other in ["tmp", "tmp/", "tmp/pipe", "tmp/new/"] {
            backup(&home.path(other), force).refusal().is("storage", "not_a_file");
        }
        for suffix in ["", "-wal", "-shm", "-turn-a", "-turn-b", "-journal"] {
            let own = PathBuf::from(format!("{}{suffix}", database.display()));
            backup(&own, force).refusal().is("usage", "own_store");
            backup(&home.path("tmp/way").join(own.file_name().unwrap()), force).refusal().is("usage", "own_store");
        }
        backup(&home.path("tmp/alias.db"), force).refusal().is("usage", "own_store");
        for place in ["tmp/no/such/file", "tmp/file/below"] {
            backup(&home.path(place), force).refusal().is("storage", "backup_unwritable");
        }
        backup(Path::new("/proc/tenure.db"), force).refusal().is("storage", "backup_unwritable");
    }
    backup(&file, true).data();
    assert_eq!((mode(&file), files()), (0o600, before));
    // File names with arbitrary bytes.
    let odd = home.path("tmp").join(std::ffi::OsString::from_vec(b"-\xff\x1b[31m \n.db".to_vec()));
    backup(&odd, false).data();
    assert!(odd.exists());
    // Without a name: a new file in the working directory.
    home.ok(&["backup"]);
    assert_eq!(home.files("repo").iter().filter(|path| path.extension().is_some_and(|end| end == "backup")).count(), 1);
    assert!(!home.files("tmp").iter().any(|path| path.extension().is_some_and(|end| end == "tmp")));
}

#[test]
fn bad_arguments_are_usage() {
    let home = Home::direct(Engine::File);
    home.add("one");
    for args in [
        &["backup", "a", "b"][..],
        &["backup", "--frce"],
        &["backup", "-", "--force"],
        &["restore"],
        &["restore", "a", "b"],
        &["restore", "a", "--safety", "b"],
        &["restore", "a", "--relace"],
    ] {
        home.refused(args).is("usage", "bad_arguments");
    }
    assert!(text(&home.refused(&["restore", "a", "--relace"]).error["hint"]).contains("--replace"));
    let postgres = Home::direct(Engine::Postgres);
    postgres.refused(&["restore", "a", "--replace"]).is("usage", "safety_needed");
    // There is nothing to back up, and nothing is created.
    let empty = Home::direct(Engine::File);
    let to = empty.path("tmp/b.db");
    empty.refused(&["backup", to.to_str().unwrap()]).is("storage", "no_store");
    assert!(empty.files("tmp").is_empty() && empty.files("home").is_empty());
}

#[test]
fn inv_c4_what_is_no_backup_is_refused_and_nothing_changes() {
    for engine in Engine::ALL {
        let home = Home::direct(engine);
        home.add_many(200);
        let path = backup(&home, "tmp/b.db");
        let good = std::fs::read(&path).unwrap();
        let before = home.run(&["log", "--json"]).stdout;
        let bad = home.path("tmp/bad.db");
        let mut damaged = good.clone();
        let half = damaged.len() / 2;
        damaged[half..half + 8_192].fill(0xA5);
        let contents: [&[u8]; 6] = [b"", b"x", b"SQLite format 3\0", &good[..good.len() - 1], &good[..5_000], &damaged];
        for content in contents {
            std::fs::write(&bad, content).unwrap();
            replace(&home, &bad, "tmp/safety.db").refusal().is("storage", "bad_backup");
            let piped = home.call(&["restore", "-", "--replace", "--safety", home.path("tmp/s").to_str().unwrap()]);
            piped.json().input(content).run().refusal().is("storage", "bad_backup");
        }
        replace(&home, &home.path("tmp"), "tmp/safety.db").refusal().is("storage", "not_a_file");
        replace(&home, &home.path("tmp/none"), "tmp/safety.db").refusal().is("not_found", "no_backup");
        if engine == Engine::File {
            replace(&home, &home.database(), "tmp/safety.db").refusal().is("usage", "own_store");
            // A store in use is incomplete without its log.
            std::fs::write(home.path("tmp/b.db-wal"), "x").unwrap();
            replace(&home, &path, "tmp/safety.db").refusal().is("storage", "bad_backup").names(&["-wal"]);
        }
        assert_eq!(home.run(&["log", "--json"]).stdout, before);
        assert!(!home.path("tmp/safety.db").exists() && !home.path("tmp/s").exists());
    }
}

#[test]
fn a_backup_cut_short_is_a_failure() {
    let home = Home::direct(Engine::File);
    home.add_many(2_000);
    // The reader closes the pipe.
    let mut child = home.call(&["backup", "-"]).into_command();
    let mut child = child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = Output::of(&child.wait_with_output().unwrap());
    assert_eq!(output.code, 4, "{output:?}");
    assert!(output.stderr.contains("cut short"), "{output:?}");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = home.call(&["backup", "-"]).into_command();
    let status = child.stdin(Stdio::null()).stdout(full).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(4));
    assert!(home.files("tmp").is_empty(), "nothing is left behind");
    // A backup is not written to a terminal.
    let script = format!("'{}' backup -", crate::home::TENURE);
    let mut terminal = home.clean("script".as_ref());
    let output =
        terminal.args(["-qec", &script, "/dev/null"]).stdin(Stdio::null()).output().expect("script of util-linux");
    assert!(String::from_utf8_lossy(&output.stdout).contains("cannot be written to a terminal"), "{output:?}");
    assert_eq!(output.status.code(), Some(2));
}

/// Kills a restore in the middle; the store is the old one or the new one, and a later restore works.
#[test]
fn inv_t10_a_restore_that_is_killed_leaves_the_old_or_the_new() {
    for engine in Engine::ALL {
        let home = Home::direct(engine);
        let description = "d".repeat(2_000);
        let lines: String =
            (0..3_000).map(|n| format!("{{\"title\":\"task {n}\",\"description\":\"{description}\"}}\n")).collect();
        home.call(&["add", "--stdin", "--json"]).input(lines.as_bytes()).run().data();
        let path = backup(&home, "tmp/b.db");
        let marker = home.add("after the backup");
        let wal = PathBuf::from(format!("{}-wal", home.database().display()));
        let size = || std::fs::metadata(&wal).map_or(0, |meta| meta.len());
        let rows_locked = || {
            let sql = format!(
                "SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = \
                 c.relnamespace WHERE n.nspname = '{}' AND c.relname = 'project' AND l.mode = 'ExclusiveLock'",
                home.schema()
            );
            !pg::server().query(&sql).is_empty()
        };
        let (mut old, mut new) = (0, 0);
        for round in 0..6_u64 {
            let safety = home.path(&format!("tmp/safety-{round}.db"));
            let mut child = home
                .call(&["restore", path.to_str().unwrap(), "--replace", "--safety", safety.to_str().unwrap()])
                .into_command();
            let mut child = child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let over = |child: &mut std::process::Child| child.try_wait().unwrap().is_some();
            wait_until("the restore is under way", || {
                over(&mut child)
                    || match engine {
                        Engine::File => size() > 200_000 * (1 + 4 * round),
                        Engine::Postgres => rows_locked() && (round < 3 || safety.exists()),
                    }
            });
            child.kill().unwrap();
            child.wait().unwrap();
            // The server notices the disconnect at its next communication with the client.
            if engine == Engine::Postgres {
                wait_until("the lock is free", || !rows_locked());
            }
            let total = home.ok(&["list", "--limit", "1"])["total"].as_i64().unwrap();
            let there = home.call(&["show", &marker]).json().run().code == 0;
            assert_eq!(total, 3_000 + i64::from(there), "{engine:?} round {round}: a half");
            if there {
                old += 1;
            } else {
                new += 1;
            }
            if !there {
                break;
            }
            assert_eq!(home.ok(&["doctor"])["healthy"], true);
        }
        assert!(old > 0, "{engine:?}: {old} old, {new} new: none was killed in the middle");
        replace(&home, &path, "tmp/last.db").data();
        assert_eq!(home.ok(&["list", "--limit", "1"])["total"], 3_000);
        home.replayed();
        assert_eq!(home.ok(&["doctor"])["healthy"], true);
    }
}

/// Runs a script with a small file system at `$HOME/.local` and with `$HOME/full` full.
#[test]
fn inv_t10_full_and_read_only_disks_are_storage_errors_and_nothing_changes() {
    let home = Home::direct(Engine::File);
    std::fs::create_dir_all(home.path("home/full")).unwrap();
    let script = r#"
        "$T" add one; echo $?
        "$T" backup "$HOME/b.db"; echo $?
        "$T" add two; echo $?
        mount -t tmpfs -o size=64k none "$HOME/full"
        "$T" backup "$HOME/full/b.db" || echo $?
        "$T" restore "$HOME/b.db" --replace --safety "$HOME/full/s.db" || echo $?
        TMPDIR="$HOME/full" "$T" backup - || echo $?
        TMPDIR="$HOME/full" "$T" restore "$HOME/b.db" --replace || echo $?
        dd if=/dev/zero of="$HOME/.local/filler" bs=4k 2>/dev/null || true
        "$T" restore "$HOME/b.db" --replace --safety "$HOME/s.db" || echo $?
        "$T" backup "$HOME/c.db"; echo $?
        rm "$HOME/.local/filler"
        mount -o remount,bind,ro "$HOME/.local"
        "$T" restore "$HOME/b.db" --replace --safety "$HOME/s2.db" || echo $?
        "$T" backup "$HOME/d.db"; echo $?
        "$T" backup "$HOME/.local/e.db" || echo $?
        mount -o remount,bind,rw "$HOME/.local"
        "$T" list; echo $?
        "$T" restore "$HOME/d.db" --replace --safety "$HOME/s3.db"; echo $?
        "$T" list; echo $?"#;
    let output = crate::bad_files::with_small_disk(&home, script);
    let answers = crate::bad_files::answers(&output);
    let code = |at: usize| (answers[at].1, answers[at].0["error"]["code"].as_str().unwrap_or("ok"));
    let codes: Vec<_> = (0..answers.len()).map(code).collect();
    assert_eq!(
        codes,
        [
            (0, "ok"),
            (0, "ok"),
            (0, "ok"),
            (4, "disk_full"),
            (4, "disk_full"),
            (4, "disk_full"),
            (4, "no_scratch"),
            (4, "disk_full"),
            (0, "ok"),
            (4, "not_writable"),
            (0, "ok"),
            (4, "backup_unwritable"),
            (0, "ok"),
            (0, "ok"),
            (0, "ok"),
        ]
    );
    assert_eq!((&answers[12].0["data"]["total"], &answers[14].0["data"]["total"]), (&2.into(), &2.into()));
    assert!(!home.files("home").iter().any(|path| path.extension().is_some_and(|end| end == "tmp")));
}
