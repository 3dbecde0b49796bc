//! Commands that are kept: started by a keeper, ended with all of their descendants, their exit status never guessed.
//!
//! Three processes take part. The *runner* is the caller ([`KeptCommand`]): it knows until when the command may run,
//! and says so again and again. The *keeper* ([`keeper`]) is the parent of the command and the subreaper of everything
//! below it: it ends the command at the deadline or when the runner is gone, and reports the exit status. The *command*
//! is started through a launcher ([`launch`]), so that the keeper knows it before it executes. `docs/processes.md` has
//! the protocol and the failure modes.

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

/// A command to be kept.
#[derive(Clone, Debug)]
pub struct LaunchSpec {
    /// The program of the command and its arguments.
    pub words: Vec<OsString>,
    /// What is added to the environment of the command.
    pub environment: Vec<(&'static str, OsString)>,
    /// The value of [`MARKER`] in the environment of this process.
    pub marker: Option<OsString>,
    /// Whether the command has a process group of its own. A command that reads from a terminal has none: a terminal
    /// stops a process that reads from the background.
    pub own_group: bool,
    /// Whether a cgroup is used where one can be made.
    pub cgroup: bool,
    /// Where the run is recorded until it is over.
    pub records: Option<RunRecords>,
    /// Until when the command may run, unless that is said anew.
    pub trust: LockTrust,
    /// How long the keeper may leave an order unanswered before the runner takes over.
    pub patience: std::time::Duration,
}

/// The variable that marks every process of a kept command: the marks of all commands around it, separated by colons.
pub const MARKER: &str = "TENURE_KEEPER";

/// Does what this program was started for by a runner or a keeper. `None` for the words of any other call.
pub fn inner_role(words: &[OsString]) -> Option<ExitCode> {
    let (role, rest) = words.split_first()?;
    match role.to_str()? {
        keeper::ROLE => Some(keeper::run(rest)),
        launch::ROLE => Some(launch::run(rest)),
        _ => None,
    }
}
