//! Kept commands: a keeper starts them, ends them with all of their descendants, and reports their exit status, which
//! is never guessed.
//!
//! Three processes take part. The *runner* is the caller ([`KeptCommand`]): it knows how long the command may run, and
//! sends a new deadline after each renewal. The *keeper* ([`keeper`]) is the parent of the command and the subreaper of
//! all its descendants: it ends the command at the deadline or when the runner is gone, and reports the exit status.
//! The *command* is started through a launcher ([`launch`]), so that the keeper knows its pid before it executes.
//! `docs/processes.md` describes the protocol and the failure modes.

mod cgroup;
mod clock;
mod command;
mod descendants;
mod end;
mod keeper;
mod launch;
mod listing;
mod protocol;
mod run_record;
mod stat;
mod system;
mod takeover;
mod termination;
mod unfinished;

pub mod signals;

use std::ffi::OsString;
use std::process::ExitCode;

pub use cgroup::holds as cgroup_holds;
pub use clock::{LockTrust, duration, since_boot};
pub use command::{KeeperEvent, KeptCommand, NotStarted};
pub use end::{CommandEnd, CommandProcess, EndCause, ExitStatus, Processes};
pub use run_record::RunRecords;
pub use stat::{Stat, stat};
pub use unfinished::end_unfinished;

/// A command to start under a keeper.
#[derive(Clone, Debug)]
pub struct LaunchSpec {
    pub words: Vec<OsString>,
    /// Variables added to the environment of the command.
    pub environment: Vec<(&'static str, OsString)>,
    /// The value of [`MARKER`] in the environment of this process.
    pub marker: Option<OsString>,
    /// Whether the command gets its own process group. A command that reads from a terminal does not: a terminal stops
    /// a background process that reads from it.
    pub own_group: bool,
    /// Whether to create a cgroup if possible.
    pub cgroup: bool,
    /// Where the run is recorded until it is over.
    pub records: Option<RunRecords>,
    /// How long the command may run, unless the runner sends a new deadline.
    pub trust: LockTrust,
    /// How long the keeper may leave an order unanswered before the runner takes over.
    pub patience: std::time::Duration,
}

/// The variable that marks every process of a kept command. It lists the marks of all enclosing commands, separated by
/// colons.
pub const MARKER: &str = "TENURE_KEEPER";

/// Runs the keeper or the launcher if the arguments select one of them. Returns `None` for any other call.
pub fn inner_role(words: &[OsString]) -> Option<ExitCode> {
    let (role, rest) = words.split_first()?;
    match role.to_str()? {
        keeper::ROLE => Some(keeper::run(rest)),
        launch::ROLE => Some(launch::run(rest)),
        _ => None,
    }
}
