//! The two things of the world that a store needs: a clock and random bytes. Both are inputs, so that tests and the
//! simulator give their own.

use tenure_core::Time;

/// A clock.
pub trait Clock: Send + Sync {
    /// The time now. May stand still, jump and go back: callers must not assume otherwise.
    fn now(&self) -> Time;
}

/// The clock of the machine.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> Time {
        let now = std::time::SystemTime::now();
        // A clock before 1970 reads as 1970: the step rule of the kernel takes it from there.
        let since = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Time(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer. Must not fail: ids and request ids depend on it.
    fn fill(&self, buffer: &mut [u8]);
}

/// The random source of the operating system.
#[derive(Debug, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    #[expect(clippy::disallowed_methods, clippy::expect_used, reason = "the one place that draws random bytes")]
    fn fill(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).expect("the operating system gives random bytes");
    }
}
