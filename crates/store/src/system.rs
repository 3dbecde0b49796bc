//! The system interfaces of a store: clock, randomness and injected faults. All are inputs; tests and the simulator
//! supply their own.

use std::path::Path;

use tenure_core::number::{EventNumber, Point};
use tenure_core::{Result, Time};

pub trait Clock: Send + Sync {
    /// The current time. It may stand still, jump and go back: callers must not assume otherwise.
    fn now(&self) -> Time;
}

/// The clock of the machine.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> Time {
        let now = std::time::SystemTime::now();
        // A clock before 1970 reads as 1970: the kernel's rule for clock steps handles it.
        let since = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Time(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer. It must not fail: ids and request ids depend on it.
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

/// The machine's record, outside every store, of where the numbers of a store continued. It replaces what the store
/// itself has lost, if the clock was set back since or an older file was moved back.
pub trait Continued: Send + Sync {
    /// Where the numbers last continued; `None` without a readable record.
    fn earlier(&self, store: &str) -> Option<Point>;

    /// The number that the store continued after in the file at this path; `None` if it last continued in another file.
    fn continued_at(&self, store: &str, file: &Path) -> Option<EventNumber>;

    /// Records where the numbers continue now, and in which file. Called before the commit; failing to write the record is
    /// not an error.
    fn record(&self, store: &str, point: Point, file: Option<&Path>);
}

/// A moment of a write at which a fault can be injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the lock is acquired.
    Lock,
    /// Before a statement of the body.
    Statement,
    /// Before the commit.
    Commit,
    /// After the commit, before its acknowledgement.
    Committed,
}

/// Injected faults. In production there are none.
pub trait Faults: Send + Sync {
    /// Called at each moment of a write, in order and identically on all engines. The caller of the write gets the
    /// error: everything is rolled back, except at [`Moment::Committed`], when everything is committed. A body that
    /// ends without a commit does not reach the moments of one. Implementations must not assume another call after an
    /// error.
    fn strike(&self, at: Moment) -> Result<()>;
}
