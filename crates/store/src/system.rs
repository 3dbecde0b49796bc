//! The system interfaces of a store: clock, randomness and injected faults. All are inputs; tests and the simulator
//! supply their own.

use tenure_core::number::Point;
use tenure_core::{Result, Time};

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

/// The machine's record, outside every store, of where the numbers of a store continued. It tells what the store itself has
/// lost when the clock was set back since.
pub trait Continued: Send + Sync {
    /// Where the numbers last continued. Nothing where there is no record, or none that can be read.
    fn earlier(&self, store: &str) -> Option<Point>;

    /// Records where they continue now. Called before the commit; a record that cannot be written is no failure.
    fn record(&self, store: &str, point: Point);
}

/// A moment of a write at which it may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the lock is taken.
    Lock,
    /// Before a statement of the body.
    Statement,
    /// Before the commit.
    Commit,
    /// After the commit, before its acknowledgement.
    Committed,
}

/// Failures that are made on purpose. In the real world there are none but those of the engines.
pub trait Faults: Send + Sync {
    /// Asked at each moment of a write, in order and alike on all engines. An error is what the caller of the write
    /// gets: everything is rolled back, except at [`Moment::Committed`], when everything is committed. A body that ends
    /// without a commit is not asked about one. Whoever asks must not assume to be asked again after an error.
    fn strike(&self, at: Moment) -> Result<()>;
}
