//! What one caller, and all of them together, may ask of a server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_core::{Error, Kind, Result, Stage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The limits.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest body, in bytes.
    pub body: usize,
    /// How long a request may take.
    pub time: Duration,
    /// Requests at once.
    pub at_once: usize,
    /// Listeners to events at once: they stay, and are counted apart.
    pub listeners: usize,
    /// Requests a second for one principal, or one address that has not shown who it is.
    pub per_second: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 8 * 1024 * 1024,
            time: Duration::from_secs(30),
            at_once: 1_024,
            listeners: 4_096,
            per_second: 2_000,
        }
    }
}

/// How many callers are remembered. Beyond it those that have been quiet longest are forgotten.
const CALLERS: usize = 10_000;

/// Who is inside, and who came how often.
pub(crate) struct Turnstiles {
    limits: Limits,
    inside: Arc<Semaphore>,
    listening: Arc<Semaphore>,
    callers: Mutex<HashMap<String, Bucket>>,
}

/// A caller's allowance: refilled evenly, up to two seconds' worth.
struct Bucket {
    left: f64,
    at: Instant,
}

impl Turnstiles {
    pub(crate) fn new(limits: Limits) -> Turnstiles {
        Turnstiles {
            limits,
            inside: Arc::new(Semaphore::new(limits.at_once)),
            listening: Arc::new(Semaphore::new(limits.listeners)),
            callers: Mutex::default(),
        }
    }

    /// A place for one request, as long as it is kept.
    pub(crate) fn enter(&self) -> Result<OwnedSemaphorePermit> {
        self.inside.clone().try_acquire_owned().map_err(|_| full("requests"))
    }

    /// A place for one listener.
    pub(crate) fn listen(&self) -> Result<OwnedSemaphorePermit> {
        self.listening.clone().try_acquire_owned().map_err(|_| full("listeners"))
    }

    /// Listeners now.
    pub(crate) fn listeners(&self) -> usize {
        self.limits.listeners - self.listening.available_permits()
    }

    /// Requests now.
    pub(crate) fn requests(&self) -> usize {
        self.limits.at_once - self.inside.available_permits()
    }

    /// Counts one request of a caller at an instant. `cost` is 1 for an ordinary one.
    pub(crate) fn count(&self, caller: &str, cost: f64, now: Instant) -> Result<()> {
        let rate = f64::from(self.limits.per_second);
        let most = rate * 2.0;
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= CALLERS && !callers.contains_key(caller) {
            // Whoever has been quiet for two seconds has its full allowance again: nothing is lost by forgetting it.
            callers.retain(|_, bucket| now.saturating_duration_since(bucket.at) < Duration::from_secs(2));
            if callers.len() >= CALLERS {
                return Err(full("callers"));
            }
        }
        let bucket = callers.entry(caller.to_owned()).or_insert(Bucket { left: most, at: now });
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + passed * rate).min(most);
        bucket.at = now;
        if bucket.left < cost {
            return Err(Error::new(
                Kind::Busy,
                "too_many_requests",
                Stage::Arguments,
                format!("more than {} requests a second", self.limits.per_second),
            )
            .hint("Nothing was done. Ask again in a second, with the same request id."));
        }
        bucket.left -= cost;
        Ok(())
    }
}

fn full(what: &str) -> Error {
    Error::new(Kind::Busy, "overloaded", Stage::Lock, format!("the server has as many {what} as it takes"))
        .hint("Nothing was done. Ask again in a moment, with the same request id.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any instant to count from")]
    fn a_caller_that_asks_too_often_is_turned_away_and_others_are_not() {
        let doors = Turnstiles::new(Limits { per_second: 10, ..Limits::default() });
        let start = Instant::now();
        for _ in 0..20 {
            doors.count("a", 1.0, start).unwrap();
        }
        assert_eq!(doors.count("a", 1.0, start).unwrap_err().code(), "too_many_requests");
        doors.count("b", 1.0, start).unwrap();
        doors.count("a", 1.0, start + Duration::from_millis(150)).unwrap();
        assert!(doors.count("a", 1.0, start + Duration::from_millis(160)).is_err());
    }

    #[test]
    fn only_so_many_are_inside() {
        let doors = Turnstiles::new(Limits { at_once: 2, listeners: 1, ..Limits::default() });
        let (first, second) = (doors.enter().unwrap(), doors.enter().unwrap());
        assert_eq!(doors.enter().unwrap_err().code(), "overloaded");
        assert_eq!(doors.requests(), 2);
        drop(first);
        drop(doors.enter().unwrap());
        drop(second);
        let _listener = doors.listen().unwrap();
        assert!(doors.listen().is_err());
        assert_eq!(doors.listeners(), 1);
    }
}
