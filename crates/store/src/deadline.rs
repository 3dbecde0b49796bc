//! The deadline of a call.

use std::time::{Duration, Instant};

/// The end of a call's time. It is created once, where the process begins, and passed down: everything that the call
/// waits for shares it.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

#[expect(clippy::disallowed_methods, reason = "a deadline is a duration of the process, not a time of the domain")]
impl Deadline {
    /// The deadline this far in the future.
    pub fn after(time: Duration) -> Deadline {
        Deadline(Instant::now() + time)
    }

    /// The remaining time.
    pub fn remaining(&self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether no time remains.
    pub fn is_over(&self) -> bool {
        self.remaining().is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_that_is_over_leaves_nothing() {
        let over = Deadline::after(Duration::ZERO);
        assert!(over.is_over() && over.remaining() == Duration::ZERO);
        let long = Deadline::after(Duration::from_secs(60));
        assert!(!long.is_over() && long.remaining() <= Duration::from_secs(60));
    }
}
