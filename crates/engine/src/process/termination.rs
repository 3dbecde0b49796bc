//! Termination of a command and all its descendants: a signal first, a kill after the grace period, until none is left.

use std::collections::BTreeSet;
use std::time::Duration;

use super::clock::{LockTrust, since_boot};
use super::descendants::Descendants;
use super::end::{EndCause, Processes};
use super::system;

/// Processes that still live so long after they were killed are told of.
const TELL_AFTER: Duration = Duration::from_millis(500);
/// And told of again.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// An end that is under way.
#[derive(Debug)]
pub(super) struct Termination {
    pub(super) cause: EndCause,
    kill_at: Duration,
    /// How many kills in a row found nothing new.
    kills: u32,
    /// The processes that the last kill found.
    killed: BTreeSet<(i64, i64)>,
    tell_at: Duration,
}

impl Termination {
    /// Asks all to end. They are killed after the grace, or when trust is over.
    pub(super) fn begin(descendants: &Descendants, cause: EndCause, trust: LockTrust) -> Termination {
        system::raise_priority();
        descendants.terminate();
        let kill_at = trust.kill_at.min(since_boot() + trust.grace());
        Termination { cause, kill_at, kills: 0, killed: BTreeSet::new(), tell_at: kill_at + TELL_AFTER }
    }

    /// Kills what is left when it is time. Returns what survives, now and then.
    pub(super) fn go_on(&mut self, descendants: &Descendants) -> Option<Processes> {
        let now = since_boot();
        if now < self.kill_at {
            return None;
        }
        let found = descendants.kill();
        // Processes that start each other anew are pursued without a pause.
        self.kills = if found.is_subset(&self.killed) { self.kills + 1 } else { 1 };
        self.killed = found;
        if now < self.tell_at {
            return None;
        }
        self.tell_at = now + TELL_EVERY;
        Some(descendants.named())
    }

    /// How long to wait before the next look. The end of a process that is no child is not signalled, so that is short;
    /// what has survived many kills is waiting for a device or belongs to another user.
    pub(super) fn pause(&self) -> Duration {
        match self.kills {
            0 => self.kill_at.saturating_sub(since_boot()).min(Duration::from_millis(5)),
            1..50 => Duration::from_millis(2),
            50..100 => Duration::from_millis(50),
            _ => Duration::from_secs(1),
        }
    }
}
