//! The demo finishes every task and leaves nothing behind.

use crate::home::{Engine, Home};

#[test]
fn the_demo_finishes_every_task_once_and_leaves_nothing() {
    let home = Home::direct(Engine::File);
    let data = home.ok(&["demo", "--workers", "4", "--tasks", "40", "--kills", "2"]);
    assert_eq!(data["good"], true, "{data}");
    assert_eq!((&data["tasks"], &data["finished_once"]), (&40.into(), &40.into()));
    assert_eq!(data["killed"].as_array().unwrap().len(), 2);
    assert_eq!(data["stale_refused"], 2);
    assert!(data["take_overs"].as_i64() >= Some(2));
    assert_eq!(home.files("tmp"), [""; 0].map(std::path::PathBuf::from));
    // It does not touch the user's store.
    assert!(home.files("home").is_empty());
    assert!(!home.repo().join(".git/tenure").exists());
}

#[test]
fn a_demo_that_makes_no_sense_is_refused() {
    let home = Home::new(Engine::File);
    for bad in [["--workers", "1"], ["--kills", "8"], ["--tasks", "0"]] {
        home.refused(&["demo", bad[0], bad[1]]).is("usage", "bad_demo");
    }
    assert!(home.files("tmp").is_empty());
}
