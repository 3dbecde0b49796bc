//! The moment by which a caller must have its answer.

use std::time::{Duration, Instant};

/// The end of a call's time. It is made once, where the process begins, and handed down: everything that the call waits
/// for shares it.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

#[expect(clippy::disallowed_methods, reason = "a deadline is a duration of the process, not a time of the domain")]
impl Deadline {
    /// The moment that is this far away.
    pub fn after(time: Duration) -> Deadline {
        Deadline(Instant::now() + time)
    }

    /// How much time is left.
    pub fn remaining(&self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether there is none.
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
