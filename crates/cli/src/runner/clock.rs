//! Time as a runner counts it: a clock that nobody sets, and that goes on while the machine sleeps.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_core::{Span, lock};

/// The time since the machine was started, asleep or not.
pub(super) fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let time = clock_gettime(CLOCK);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Until when a lock is trusted after a request for it: nothing that the store has granted ends before its time to live
/// has passed since the request was *sent*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trust {
    /// From then on the command is asked to end.
    pub(super) term_at: Duration,
    /// From then on it is killed.
    pub(super) kill_at: Duration,
}

impl Trust {
    pub(super) fn from(sent: Duration, ttl: Span) -> Trust {
        let (ends, margin) = (sent + duration(ttl), duration(lock::margin(ttl)));
        Trust { term_at: ends - margin, kill_at: ends - margin / 2 }
    }

    /// The time between asking and killing.
    pub(super) fn grace(self) -> Duration {
        self.kill_at.saturating_sub(self.term_at)
    }
}

pub(super) fn duration(span: Span) -> Duration {
    Duration::from_micros(u64::try_from(span.0).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_r14_trust_counts_from_the_instant_before_the_request_was_sent() {
        let trust = Trust::from(Duration::from_secs(100), Span::seconds(60));
        assert_eq!((trust.term_at, trust.kill_at), (Duration::from_secs(150), Duration::from_secs(155)));
        assert_eq!(trust.grace(), Duration::from_secs(5));
        assert!(since_boot() > Duration::ZERO);
    }
}
