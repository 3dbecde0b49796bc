//! `tenure doctor`: each fault is found, named and given a next step, and the check changes nothing.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tenure_testkit::{pg, raw};

use crate::home::{Engine, Home, text};

/// The result and text of one check.
fn finding(home: &Home, name: &str) -> (String, String, Value) {
    let report = home.call(&["doctor"]).json().run();
    let data = report.json.clone().unwrap()["data"].take();
    let check = data["checks"].as_array().unwrap().iter().find(|check| check["name"] == name);
    let check = check.unwrap_or_else(|| panic!("nothing about {name}: {report:?}")).clone();
    let any_fault = data["checks"].as_array().unwrap().iter().any(|check| check["result"] == "fault");
    assert_eq!((report.code, &data["healthy"]), (i32::from(any_fault), &(!any_fault).into()), "{report:?}");
    (text(&check["result"]), text(&check["text"]), check["step"].clone())
}

#[track_caller]
fn finds(home: &Home, name: &str, result: &str, words: &[&str]) {
    let (found, text, step) = finding(home, name);
    assert_eq!(found, result, "{name}: {text}");
    for word in words {
        assert!(text.contains(word), "{name}: {text:?} does not name {word:?}");
    }
    if result == "fault" {
        assert!(step.is_string(), "{name}: a fault without a step");
    }
}

fn beside(home: &Home, suffix: &str) -> PathBuf {
    format!("{}{suffix}", home.database().display()).into()
}

#[test]
fn a_sound_store_has_nothing_wrong_on_both_engines() {
    for engine in Engine::ALL {
        let home = Home::direct(engine);
        home.add("one");
        finds(&home, "integrity", "ok", &[]);
        finds(&home, "size", "ok", &["event 3", "task 1"]);
        finds(&home, "clock", "ok", &[]);
        finds(&home, "retention", "ok", &["3 events", "oldest is 1", "none is removed"]);
        finds(&home, "hooks", "ok", &[]);
        finds(&home, "counters", "ok", &[]);
        if engine == Engine::File {
            finds(&home, "turnstile", "ok", &["get their turn"]);
        }
    }
    let none = Home::direct(Engine::File);
    finds(&none, "store", "remark", &["does not exist yet"]);
    assert!(none.files("home").is_empty());
}

#[test]
fn a_lock_file_that_is_none_is_a_fault() {
    for suffix in ["-turn-a", "-turn-b"] {
        let home = Home::direct(Engine::File);
        home.add("one");
        let lock = beside(&home, suffix);
        std::fs::remove_file(&lock).unwrap();
        symlink(home.path("tmp/elsewhere"), &lock).unwrap();
        finds(&home, "turnstile", "fault", &["symbolic link", suffix]);
        std::fs::remove_file(&lock).unwrap();
        std::fs::create_dir(&lock).unwrap();
        finds(&home, "turnstile", "fault", &["not a regular file", suffix]);
        std::fs::remove_dir(&lock).unwrap();
        // Opening a pipe would block for ever.
        assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success());
        finds(&home, "turnstile", "fault", &["not a regular file", suffix]);
        std::fs::remove_file(&lock).unwrap();
        finds(&home, "turnstile", "ok", &[]);
        assert!(!lock.exists(), "a look makes nothing");
    }
}

#[test]
fn a_stuck_holder_of_the_turnstile_is_named() {
    let home = Home::direct(Engine::File);
    home.add("one");
    let lock = beside(&home, "-turn-b");
    let mut holder = Command::new("flock")
        .arg(&lock)
        .args(["sh", "-c", "echo held; read line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("flock of util-linux is there");
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(holder.stdout.take().unwrap()), &mut line).unwrap();
    finds(&home, "turnstile", "fault", &["-turn-b", "locked by process", "(flock)", &holder.id().to_string()]);
    drop(holder.stdin.take());
    holder.wait().unwrap();
    finds(&home, "turnstile", "ok", &[]);
}

#[test]
fn permissions_and_a_large_log_are_remarked() {
    let home = Home::direct(Engine::File);
    home.add("one");
    let lock = beside(&home, "-turn-a");
    std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o666)).unwrap();
    finds(&home, "permissions", "remark", &["-turn-a", "0666"]);
    std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o600)).unwrap();
    // A log without a valid frame: large, and with nothing to read.
    home.whole_database();
    std::fs::File::create(beside(&home, "-wal")).unwrap().set_len(100 * 1024 * 1024).unwrap();
    finds(&home, "wal", "remark", &["100 MiB"]);
}

#[test]
fn wrong_rows_are_faults() {
    for engine in Engine::ALL {
        let home = Home::direct(engine);
        home.add("one");
        let change = |sql: &str| match engine {
            Engine::File => raw::tamper(&home.database(), sql),
            Engine::Postgres => pg::server().batch(&sql.replace("project", &format!("{}.project", home.schema()))),
        };
        change("UPDATE project SET tasks_ready = tasks_ready + 1");
        finds(&home, "counters", "fault", &["1 counters differ"]);
        change("UPDATE project SET tasks_ready = tasks_ready - 1, events = events + 1");
        finds(&home, "retention", "fault", &[]);
        change("UPDATE project SET events = events - 1, last_time = last_time + 7200000000");
        finds(&home, "clock", "remark", &["behind the last event"]);
    }
}

#[test]
fn a_damaged_page_is_a_fault() {
    let home = Home::direct(Engine::File);
    home.add_many(2_000);
    let mut bytes = std::fs::read(home.whole_database()).unwrap();
    let quarter = bytes.len() / 4;
    bytes[quarter..2 * quarter].fill(0xA5);
    std::fs::write(home.database(), bytes).unwrap();
    finds(&home, "integrity", "fault", &[]);
}
