//! Worker processes that a test starts and kills: the test's own program, started again in a role.

use std::path::PathBuf;
use std::process::Command;

const PART: &str = "TENURE_TESTKIT_PART";

/// Runs the role that this process was started for and exits; returns in any other process. A program with such tests
/// calls it first.
pub fn play_if_asked() {
    let Ok(part) = std::env::var(PART) else { return };
    let code = match part.as_str() {
        "crash" => crate::crash::part(),
        "fleet" => crate::fleet::part(),
        "history" => crate::history::part(),
        "race" => crate::race::part(),
        other => panic!("no part is called {other}"),
    };
    std::process::exit(code);
}

/// This program, to be started in a role. Arguments travel in the environment or on standard input.
pub fn command(part: &str) -> Command {
    let this: PathBuf = std::env::current_exe().unwrap();
    let mut command = Command::new(this);
    command.env(PART, part);
    command
}
