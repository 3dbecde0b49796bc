//! The machine's record of restores: fences rise even if the store is lost and the clock is set back.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::home::{Engine, Home, text};

/// A backup of a store, and the machine's record of its restores.
fn backed_up(home: &Home) -> (PathBuf, PathBuf) {
    home.add("one");
    let path = home.path("tmp/b.db");
    let store = text(&home.ok(&["backup", path.to_str().unwrap()])["store"]);
    (path, home.path(&format!("home/.local/state/tenure/restores/{store}.json")))
}

fn recorded(record: &Path) -> Value {
    serde_json::from_slice(&fs::read(record).unwrap()).unwrap()
}

/// Restores a backup after the store was lost. Returns the answer and the number of `project.restored`.
fn restore(home: &Home, backup: &Path) -> (Value, i64) {
    for file in home.files("home/.local/share/tenure") {
        fs::remove_file(file).unwrap();
    }
    let answer = home.ok(&["restore", backup.to_str().unwrap()]);
    (answer, restored_number(home))
}

fn restored_number(home: &Home) -> i64 {
    home.events().iter().rfind(|event| event.kind == "project.restored").unwrap().number.get()
}

#[test]
fn inv_l1_the_record_keeps_fences_rising_when_the_clock_was_set_back() {
    let home = Home::direct(Engine::File);
    let (backup, record) = backed_up(&home);
    let (answer, first) = restore(&home, &backup);
    assert_eq!((&answer["remarks"], &recorded(&record)["number"]), (&json!([]), &json!(first - 1)));
    let (_, second) = restore(&home, &backup);
    assert!(second > first);
    // The record that a clock one day ahead has left.
    let day = 86_400_000_000;
    fs::write(&record, json!({ "number": second + day, "at": second + day }).to_string()).unwrap();
    let (_, third) = restore(&home, &backup);
    assert_eq!(third, second + day + (1 << 32) + 1);
    assert_eq!(recorded(&record)["number"], third - 1);
}

#[test]
fn a_restore_without_a_record_is_carried_out_and_says_so() {
    let home = Home::direct(Engine::File);
    let (backup, record) = backed_up(&home);
    fs::create_dir_all(record.parent().unwrap()).unwrap();
    fs::write(&record, "no record").unwrap();
    let (answer, _) = restore(&home, &backup);
    let remarks = answer["remarks"].as_array().unwrap();
    assert!(remarks.len() == 1 && text(&remarks[0]).contains("is not a record of a restore"), "{remarks:?}");
    // It has been replaced by a valid one. Now a directory that cannot be created:
    let state = record.parent().unwrap();
    fs::remove_dir_all(state).unwrap();
    fs::write(state, "a file").unwrap();
    let (answer, _) = restore(&home, &backup);
    let remarks = answer["remarks"].as_array().unwrap();
    assert!(remarks.iter().any(|remark| text(remark).contains("could not record this restore")), "{remarks:?}");
}

#[test]
fn inv_l1_a_restore_to_postgres_is_recorded_on_the_machine_that_restores() {
    let home = Home::direct(Engine::Postgres);
    let (backup, record) = backed_up(&home);
    let safety = home.path("tmp/safety.db");
    home.ok(&["restore", backup.to_str().unwrap(), "--replace", "--safety", safety.to_str().unwrap()]);
    assert_eq!(recorded(&record)["number"], restored_number(&home) - 1);
}
