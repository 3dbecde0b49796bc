//! Files of backups, stores and exports: none is mistaken for another, overwritten, or left behind.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use crate::home::{Engine, Home, TENURE, text, wait_until};

fn backup(home: &Home, name: &str) -> PathBuf {
    let path = home.path(name);
    home.ok(&["backup", path.to_str().unwrap()]);
    path
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", path.display()))
}

/// A backup is not used as a store, and a store's file is not restored: without its log it may lack acknowledged rows.
#[test]
fn inv_c4_neither_a_backup_nor_a_store_is_taken_for_the_other() {
    let home = Home::direct(Engine::File);
    home.add("one");
    let path = backup(&home, "tmp/b.db");
    let before = fs::read(&path).unwrap();
    let name = path.to_str().unwrap();
    for args in [&["list"][..], &["add", "two"], &["log"], &["export"], &["backup", "c.db"], &["project", "list"]] {
        // In a directory that is not pinned to another store.
        let refusal = home.call(args).json().cwd(home.path("tmp")).env("TENURE_STORE", name).run().refusal();
        assert!(text(&refusal.is("storage", "is_backup").error["hint"]).contains("tenure restore"), "{args:?}");
    }
    let other = backup(&home, "tmp/other.db");
    let onto = home.call(&["restore", other.to_str().unwrap(), "--replace", "--store", name]).json().run();
    onto.refusal().is("storage", "is_backup");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(home.files("tmp"), [path.clone(), other], "nothing beside it");
    let (copy, place) = (home.path("tmp/copy.db"), home.path("tmp/new.db"));
    fs::copy(home.whole_database(), &copy).unwrap();
    let restore = |file: &Path| home.call(&["restore", file.to_str().unwrap(), "--store", place.to_str().unwrap()]);
    for refusal in [
        restore(&copy).json().run().refusal(),
        restore(&home.database()).json().run().refusal(),
        restore(Path::new("-")).json().input(&fs::read(&copy).unwrap()).run().refusal(),
    ] {
        assert!(text(&refusal.is("storage", "bad_backup").error["hint"]).contains("tenure backup"));
    }
    assert!(!place.exists());
    restore(&path).json().run().data();
}

/// A database and its companion files are never replaced by a backup, a safety backup or an export.
#[test]
fn inv_c4_files_of_any_store_are_not_written_over() {
    for engine in Engine::ALL {
        let (home, other) = (Home::direct(engine), Home::new(Engine::File));
        home.add("one");
        other.add("of another");
        let backup_file = backup(&home, "tmp/b.db");
        let store = other.database();
        let foreign = home.path("tmp/foreign.db");
        fs::write(&foreign, [&b"SQLite format 3\0"[..], &[0; 4_080]].concat()).unwrap();
        // A log whose database was moved away still contains acknowledged rows.
        let stray = home.path("tmp/stray");
        fs::write(&stray, b"\x37\x7f\x06\x82 and more").unwrap();
        let mut targets = vec![store.clone(), foreign, stray];
        for end in ["-wal", "-shm", "-journal", "-turn-a", "-turn-b"] {
            targets.push(with_end(&store, end));
            // A new file or a text to which such a file would seem to belong, and one whose store is gone.
            let taken = home.path(&format!("tmp/taken{end}.x"));
            fs::write(with_end(&taken, end), "").unwrap();
            targets.push(taken);
            let gone = home.path(&format!("tmp/gone{end}.x"));
            fs::write(with_end(&gone, "-turn-a"), "").unwrap();
            fs::write(with_end(&gone, "-turn-b"), "").unwrap();
            targets.push(with_end(&gone, end));
        }
        let content = |path: &PathBuf| fs::read(path).ok();
        let before: Vec<_> = targets.iter().map(content).collect();
        for target in &targets {
            let target = target.to_str().unwrap();
            let restore = ["restore", backup_file.to_str().unwrap(), "--replace", "--safety", target];
            let calls = [
                &["backup", target][..],
                &["backup", target, "--force"],
                &["export", target],
                &["export", target, "--force"],
                &restore,
            ];
            for args in calls {
                home.refused(args).is("conflict", "store_file").names(&[target]);
            }
        }
        assert_eq!(targets.iter().map(content).collect::<Vec<_>>(), before);
        assert_eq!(other.ok(&["doctor"])["healthy"], true);
        // A backup and a text are replaced, and a file name alone proves nothing.
        fs::write(home.path("tmp/text"), "text").unwrap();
        for name in ["b.db", "text", "day-journal"] {
            let target = home.path(&format!("tmp/{name}"));
            home.ok(&["backup", target.to_str().unwrap(), "--force"]);
            home.ok(&["export", target.to_str().unwrap(), "--force"]);
        }
    }
}

#[test]
fn an_export_leaves_the_files_of_its_own_store_alone() {
    let home = Home::direct(Engine::File);
    home.add("one");
    for end in ["", "-wal", "-shm", "-journal", "-turn-a", "-turn-b"] {
        let own = with_end(&home.database(), end);
        for force in [&[][..], &["--force"]] {
            let args = [&["export", own.to_str().unwrap()], force].concat();
            home.refused(&args).is("usage", "own_store");
        }
    }
    assert_eq!(home.ok(&["doctor"])["healthy"], true);
}

/// A file that is not a backup is recognised by its header: it is neither copied nor read to its end.
#[test]
fn what_is_no_backup_is_not_copied_first() {
    let home = Home::direct(Engine::File);
    home.add("one");
    let good = fs::read(backup(&home, "tmp/b.db")).unwrap();
    let huge = home.path("tmp/huge.db");
    for head in [&b"no database"[..], &good[..100], b""] {
        let mut file = File::create(&huge).unwrap();
        file.write_all(head).unwrap();
        file.set_len(1 << 42).unwrap();
        // With an unusable TMPDIR, a copy before the check would fail with another error.
        let call = home.call(&["restore", huge.to_str().unwrap(), "--replace"]).json();
        call.env("TMPDIR", "/nowhere/at/all").run().refusal().is("storage", "bad_backup");
    }
    for (head, tail) in [(&[b'x'; 100][..], &b""[..]), (&good, b"more")] {
        let mut child = home.call(&["restore", "-", "--replace"]).into_command();
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Standard input stays open: a reader that waits for its end would hang.
        let mut input = child.stdin.take().unwrap();
        input.write_all(head).unwrap();
        input.write_all(tail).unwrap();
        let mut status = None;
        wait_until("it is refused", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().code(), Some(4));
    }
    assert_eq!(home.ok(&["list"])["total"], 1);
}

#[test]
fn what_killed_processes_left_goes_after_a_day() {
    let home = Home::direct(Engine::File);
    home.add("one");
    let now = SystemTime::now();
    let age = |path: &Path, hours: u64| {
        let time = now - Duration::from_secs(hours * 3_600);
        File::open(path).unwrap().set_modified(time).unwrap();
    };
    let file = |name: &str, hours: u64| {
        let path = home.path(&format!("tmp/{name}"));
        fs::write(&path, "left").unwrap();
        age(&path, hours);
    };
    let scratch = |name: &str, hours: u64| {
        let path = home.path(&format!("tmp/{name}"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("backup.db"), "left").unwrap();
        age(&path, hours);
    };
    let names = || -> Vec<String> {
        let entries = fs::read_dir(home.path("tmp")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| text(&entry.unwrap().file_name().to_str().into())).collect();
        names.sort();
        names
    };
    let fill = || {
        file(".tenure-0123456789abcdef.tmp", 25);
        scratch("tenure-0123456789abcdef.scratch", 25);
    };
    file(".tenure-0000000000000000.tmp", 23);
    scratch("tenure-0000000000000000.scratch", 23);
    for foreign in [".tenure-notes.tmp", "tenure-0123456789abcdef", ".tenure-0123456789abcdef.tmp~"] {
        file(foreign, 100);
    }
    let kept = names();
    for args in [&["backup", "-"][..], &["export"], &["restore", "-", "--replace"]] {
        fill();
        let mut child = home.call(args).into_command();
        let path = home.path("backup.db");
        if args[0] == "restore" {
            home.ok(&["backup", path.to_str().unwrap(), "--force"]);
            child.stdin(File::open(&path).unwrap());
        }
        assert!(child.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap().status.success());
        let left: Vec<_> = names().into_iter().filter(|name| !kept.contains(name)).collect();
        // An export creates files there and no directories; both are removed by either command.
        assert_eq!(left, [""; 0], "{args:?}");
    }
}

#[test]
fn a_closed_standard_output_takes_nothing() {
    for engine in Engine::ALL {
        let home = Home::direct(engine);
        home.add("one");
        for (command, code, said) in [
            ("backup - >&-", 4, "closed"),
            ("export >&-", 4, "closed"),
            ("export - >&-", 4, "closed"),
            ("backup - >/dev/null", 0, "Backed up"),
            ("export >/dev/null", 0, ""),
        ] {
            let script = format!("exec '{TENURE}' {command}");
            let output = home.clean("sh".as_ref()).args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!((output.status.code(), stderr.contains(said)), (Some(code), true), "{command}: {stderr}");
        }
        assert!(home.files("tmp").is_empty());
    }
}

#[test]
fn names_may_be_as_long_as_the_file_system_allows() {
    let home = Home::direct(Engine::File);
    home.add("one");
    for length in [245, 255] {
        for command in ["backup", "export"] {
            let target = home.path("tmp").join(command[..1].repeat(length));
            home.ok(&[command, target.to_str().unwrap()]);
        }
    }
    assert_eq!(home.files("tmp").len(), 4);
}
