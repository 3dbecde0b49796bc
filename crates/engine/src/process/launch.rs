//! The launcher: runs in the process of the command until the keeper has recorded its pid, and then executes the
//! command.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Signal, getpid, kill_process};

use super::protocol::{Channel, Go, Heard, Refusal};
use super::system;

/// The first argument that selects this role.
pub(super) const ROLE: &str = "keeper-launch";

/// Executes the command. Returns only if that fails, after it has reported the error to the keeper.
pub(super) fn run(words: &[OsString]) -> ExitCode {
    let Ok(mut keeper) = Channel::inherited() else {
        // An exit code would be taken for that of the command.
        let _ = kill_process(getpid(), Signal::KILL);
        return ExitCode::FAILURE;
    };
    system::die_with_parent();
    // If the keeper ended before this call, its socket is closed.
    let Heard::Message(Go) = keeper.hear::<Go>(true) else { return ExitCode::FAILURE };
    let error = match (words.split_first(), keeper.take_descriptor()) {
        // `exec` closes the socket, which tells the keeper that the command runs.
        (Some((program, rest)), Some(input)) => Command::new(program).args(rest).stdin(input).exec().raw_os_error(),
        _ => None,
    };
    let _ = keeper.say(&Refusal::System(error.unwrap_or(0)), None);
    ExitCode::FAILURE
}
