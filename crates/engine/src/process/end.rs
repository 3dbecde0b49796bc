//! How a command ended.

use serde::{Deserialize, Serialize};

/// What the system said about the end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl ExitStatus {
    /// The exit code as a shell gives it.
    pub fn exit_code(self) -> u8 {
        let code = match self {
            ExitStatus::Code(code) => code,
            ExitStatus::Signal(signal) => 128 + signal,
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }

    /// The signal that ended it.
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
    /// What it ran under was lost, or was not renewed in time.
    Lost,
    /// The runner is gone.
    RunnerGone,
    /// The keeper is gone, or no longer answers.
    KeeperGone,
    /// A signal ended the command itself, or one to the runner asked for it.
    Signal,
}

/// A process of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandProcess {
    /// Its number.
    pub pid: i64,
    /// When it started, in clock ticks since boot: tells it from a later process of the same number.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub started: i64,
    /// The name of its program as the system shows it; any characters.
    pub name: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(started: &i64) -> bool {
    *started == 0
}

/// Processes, of which not all are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processes {
    /// The first of them.
    pub named: Vec<CommandProcess>,
    /// How many there are.
    pub count: usize,
}

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// `None` where nothing is left that knows it.
    pub status: Option<ExitStatus>,
    /// Why it was ended; `None` where it ended by itself.
    pub cause: Option<EndCause>,
    /// What it left running when it ended by itself.
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
