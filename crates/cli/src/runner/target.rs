//! The processes of a command, as far as signals reach them.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tenure_server::signals::Passed;

use super::watch::Blow;

/// A command that runs. Its runner does not take note of its end before everything is over, so its number stays its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) pid: Pid,
    /// Whether it has a group of its own, with everything that it starts. One that may read from a terminal has not: a
    /// terminal stops who reads from the background.
    pub(super) own_group: bool,
}

impl Target {
    pub(super) fn send(self, signal: Signal) {
        // It may be over.
        let _ = if self.own_group { kill_process_group(self.pid, signal) } else { kill_process(self.pid, signal) };
    }

    pub(super) fn strike(self, blow: Blow) {
        match blow {
            Blow::Term => {
                self.send(Signal::TERM);
                // One that is stopped would not hear it.
                self.send(Signal::CONT);
            }
            Blow::Kill => self.send(Signal::KILL),
        }
    }

    /// Passes a signal of the runner on. Those of the keyboard have reached a command in the same group already.
    pub(super) fn pass(self, passed: Passed) {
        match passed {
            Passed::Interrupt if self.own_group => self.send(Signal::INT),
            Passed::Quit if self.own_group => self.send(Signal::QUIT),
            Passed::Interrupt | Passed::Quit => {}
            Passed::Terminate => self.send(Signal::TERM),
            Passed::HangUp => self.send(Signal::HUP),
        }
    }

    pub(super) fn line(self) -> String {
        format!("{} {}\n", if self.own_group { "group" } else { "process" }, self.pid.as_raw_nonzero())
    }

    pub(super) fn read(line: &str) -> Option<Target> {
        let (what, pid) = line.trim_end().split_once(' ')?;
        let pid = pid.parse().ok().filter(|pid| *pid > 1).and_then(Pid::from_raw)?;
        Some(Target { pid, own_group: what == "group" })
    }
}
