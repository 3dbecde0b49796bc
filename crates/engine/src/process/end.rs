//! How a command ended.

use serde::{Deserialize, Serialize};

/// The exit status that the system reported for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl ExitStatus {
    /// The exit code as a shell reports it: 128 + the signal for a command that was ended by one.
    pub fn exit_code(self) -> u8 {
        let code = match self {
            ExitStatus::Code(code) => code,
            ExitStatus::Signal(signal) => 128 + signal,
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }

    pub fn signal(self) -> Option<i32> {
        match self {
            ExitStatus::Code(_) => None,
            ExitStatus::Signal(signal) => Some(signal),
        }
    }
}

/// Why a command was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// The lock was lost, or was not renewed in time.
    Lost,
    /// The runner has exited or closed its socket.
    RunnerGone,
    /// The keeper has exited, or no longer answers.
    KeeperGone,
    /// The command was ended by a signal, or a signal to the runner requested its end.
    Signal,
}

/// A process of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandProcess {
    pub pid: i64,
    /// The start time in clock ticks since boot, which distinguishes it from a later process with the same pid.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub started: i64,
    /// The name of the program as the system shows it. It can contain any characters.
    pub name: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(started: &i64) -> bool {
    *started == 0
}

/// A list of processes that names only the first few.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processes {
    pub named: Vec<CommandProcess>,
    /// The total number, including those that are not named.
    pub count: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// `None` if neither the keeper nor the system reported it.
    pub status: Option<ExitStatus>,
    /// `None` if the command ended by itself.
    pub cause: Option<EndCause>,
    /// The processes left running by a command that ended by itself.
    pub leftovers: Processes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_is_that_of_a_shell() {
        assert_eq!(ExitStatus::Code(7).exit_code(), 7);
        assert_eq!(ExitStatus::Signal(9).exit_code(), 137);
        assert_eq!(ExitStatus::Code(300).exit_code(), 255);
        assert_eq!((ExitStatus::Code(1).signal(), ExitStatus::Signal(15).signal()), (None, Some(15)));
    }
}
