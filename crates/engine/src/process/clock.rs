//! The clock for deadlines: it cannot be set, and it continues while the machine sleeps.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tenure_core::{Span, lock};

/// The time since boot, including the time asleep.
pub fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let time = clock_gettime(CLOCK);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// How long a lock is trusted after a request for it. A granted lock does not end before its time to live has passed
/// since the request was *sent*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockTrust {
    /// When the command gets SIGTERM.
    pub term_at: Duration,
    /// When the keeper sends SIGKILL.
    pub kill_at: Duration,
    /// When another caller may take the lock.
    pub ends_at: Duration,
}

impl LockTrust {
    /// The trust that a request sent at `sent` gives.
    pub fn from(sent: Duration, ttl: Span) -> LockTrust {
        let (ends, margin) = (sent + duration(ttl), duration(lock::margin(ttl)));
        LockTrust { term_at: ends - margin, kill_at: ends - margin / 2, ends_at: ends }
    }

    /// The time between SIGTERM and SIGKILL.
    pub fn grace(self) -> Duration {
        self.kill_at.saturating_sub(self.term_at)
    }

    /// When the runner kills instead of the keeper: late enough for a keeper that does its work, and early enough to
    /// leave three quarters of the remaining time.
    pub(super) fn strike_at(self) -> Duration {
        self.kill_at + self.ends_at.saturating_sub(self.kill_at) / 4
    }
}

/// Converts a span to a duration.
pub fn duration(span: Span) -> Duration {
    Duration::from_micros(u64::try_from(span.0).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_r14_trust_counts_from_the_instant_before_the_request_was_sent() {
        let trust = LockTrust::from(Duration::from_secs(100), Span::seconds(60));
        assert_eq!((trust.term_at, trust.kill_at), (Duration::from_secs(150), Duration::from_secs(155)));
        assert_eq!((trust.grace(), trust.ends_at), (Duration::from_secs(5), Duration::from_secs(160)));
        assert!(trust.kill_at < trust.strike_at() && trust.strike_at() < trust.ends_at);
        assert!(since_boot() > Duration::ZERO);
    }
}
