//! Ends a command and all its descendants: SIGTERM first, SIGKILL after the grace period, repeated until no process is
//! left.

use std::collections::BTreeSet;
use std::time::Duration;

use super::clock::{LockTrust, since_boot};
use super::descendants::Descendants;
use super::end::{EndCause, Processes};
use super::system;

/// Processes that are still alive this long after SIGKILL are reported.
const TELL_AFTER: Duration = Duration::from_millis(500);
/// The interval between two reports.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// A termination in progress.
#[derive(Debug)]
pub(super) struct Termination {
    pub(super) cause: EndCause,
    kill_at: Duration,
    /// The number of consecutive kills that found no new process.
    kills: u32,
    /// The processes that the last kill found.
    killed: BTreeSet<(i64, i64)>,
    tell_at: Duration,
}

impl Termination {
    /// Sends SIGTERM to all processes. SIGKILL follows after the grace period, or when trust in the lock ends.
    pub(super) fn begin(descendants: &Descendants, cause: EndCause, trust: LockTrust) -> Termination {
        system::raise_priority();
        descendants.terminate();
        let kill_at = trust.kill_at.min(since_boot() + trust.grace());
        Termination { cause, kill_at, kills: 0, killed: BTreeSet::new(), tell_at: kill_at + TELL_AFTER }
    }

    /// Kills the remaining processes when the time has come. Returns the survivors each time a report is due.
    pub(super) fn go_on(&mut self, descendants: &Descendants) -> Option<Processes> {
        let now = since_boot();
        if now < self.kill_at {
            return None;
        }
        let found = descendants.kill();
        // Processes that restart each other are pursued without a pause.
        self.kills = if found.is_subset(&self.killed) { self.kills + 1 } else { 1 };
        self.killed = found;
        if now < self.tell_at {
            return None;
        }
        self.tell_at = now + TELL_EVERY;
        Some(descendants.named())
    }

    /// The time until the next check. It is short because the end of a process that is not a child is not signalled.
    /// Processes that survive many kills wait for a device or belong to another user.
    pub(super) fn pause(&self) -> Duration {
        match self.kills {
            0 => self.kill_at.saturating_sub(since_boot()).min(Duration::from_millis(5)),
            1..50 => Duration::from_millis(2),
            50..100 => Duration::from_millis(50),
            _ => Duration::from_secs(1),
        }
    }
}
