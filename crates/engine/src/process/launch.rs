//! The launcher: this program in the place of the command, until its keeper has noted it and says go.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Signal, getpid, kill_process};

use super::protocol::{Channel, Go, Heard, Refusal};
use super::system;

/// What this program is called with.
pub(super) const ROLE: &str = "keeper-launch";

/// Becomes the command. Returns only where that fails: the error is told to the keeper.
pub(super) fn run(words: &[OsString]) -> ExitCode {
    let Ok(mut keeper) = Channel::inherited() else {
        // An exit code would count as that of the command.
        let _ = kill_process(getpid(), Signal::KILL);
        return ExitCode::FAILURE;
    };
    system::die_with_parent();
    // A keeper that ended before this was set has closed its end.
    let Heard::Message(Go) = keeper.hear::<Go>(true) else { return ExitCode::FAILURE };
    let error = match (words.split_first(), keeper.take_descriptor()) {
        // The socket is closed by `exec`, which tells the keeper that the command runs.
        (Some((program, rest)), Some(input)) => Command::new(program).args(rest).stdin(input).exec().raw_os_error(),
        _ => None,
    };
    let _ = keeper.say(&Refusal::System(error.unwrap_or(0)), None);
    ExitCode::FAILURE
}
