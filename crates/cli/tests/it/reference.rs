//! The reference pages are made from the program, and say what it says.

use std::process::Command;

#[test]
fn the_reference_pages_are_up_to_date() {
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
    let output =
        Command::new(env!("CARGO_BIN_EXE_tenure")).args(["reference", "--check", "--dir", pages]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
