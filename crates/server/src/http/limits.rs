//! What one caller, and all of them together, may ask of a server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tenure_core::{Error, Kind, Result, Stage};

/// The limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    limits: RwLock<Limits>,
    inside: Arc<AtomicUsize>,
    listening: Arc<AtomicUsize>,
    /// By [`Line`].
    lines: [Mutex<HashMap<String, Bucket>>; 3],
}

/// Callers that are counted apart: what strangers do takes nothing from principals, nor from those who sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Those who have shown who they are, by name.
    Principals,
    /// Secrets that nobody knows, by address.
    Strangers,
    /// Tries to sign in, by address.
    SignIns,
}

/// The allowance of those for whom there is no room in a line any more.
const REST: &str = "";

/// A place inside, as long as it is kept.
#[derive(Debug)]
pub(crate) struct Place(Arc<AtomicUsize>);

impl Place {
    /// One of at most so many. Whoever is inside already stays, also where there are fewer places from now on.
    fn among(taken: &Arc<AtomicUsize>, most: usize) -> Option<Place> {
        let one_more = |count: usize| (count < most).then_some(count + 1);
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok().map(|_| Place(taken.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A caller's allowance: refilled evenly, up to two seconds' worth.
struct Bucket {
    left: f64,
    at: Instant,
}

impl Turnstiles {
    pub(crate) fn new(limits: Limits) -> Turnstiles {
        Turnstiles {
            limits: RwLock::new(limits),
            inside: Arc::default(),
            listening: Arc::default(),
            lines: Default::default(),
        }
    }

    /// The limits now.
    pub(crate) fn limits(&self) -> Limits {
        *self.limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Other limits from now on, all of them at once.
    pub(crate) fn follow(&self, limits: Limits) {
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// A place for one request.
    pub(crate) fn enter(&self) -> Result<Place> {
        Place::among(&self.inside, self.limits().at_once).ok_or_else(|| full("requests"))
    }

    /// A place for one listener.
    pub(crate) fn listen(&self) -> Result<Place> {
        Place::among(&self.listening, self.limits().listeners).ok_or_else(|| full("listeners"))
    }

    /// Listeners now.
    pub(crate) fn listeners(&self) -> usize {
        self.listening.load(Ordering::Relaxed)
    }

    /// Requests now.
    pub(crate) fn requests(&self) -> usize {
        self.inside.load(Ordering::Relaxed)
    }

    /// Counts one request of a caller at an instant. `cost` is 1 for an ordinary one.
    pub(crate) fn count(&self, line: Line, mut caller: &str, cost: f64, now: Instant) -> Result<()> {
        let per_second = self.limits().per_second;
        let rate = f64::from(per_second);
        let most = rate * 2.0;
        let mut callers = self.lines[line as usize].lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= CALLERS && !callers.contains_key(caller) {
            // Whoever has been quiet for two seconds has its full allowance again: nothing is lost by forgetting it.
            callers.retain(|_, bucket| now.saturating_duration_since(bucket.at) < Duration::from_secs(2));
            if callers.len() >= CALLERS {
                caller = REST;
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
                format!("more than {per_second} requests a second"),
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
            doors.count(Line::Strangers, "a", 1.0, start).unwrap();
        }
        let count =
            |caller: &str, ms: u64| doors.count(Line::Strangers, caller, 1.0, start + Duration::from_millis(ms));
        assert_eq!(count("a", 0).unwrap_err().code(), "too_many_requests");
        count("b", 0).unwrap();
        for line in [Line::Principals, Line::SignIns] {
            doors.count(line, "a", 1.0, start).unwrap();
        }
        count("a", 150).unwrap();
        assert!(count("a", 160).is_err());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any instant to count from")]
    fn inv_s1_more_addresses_than_are_remembered_turn_nobody_away_who_is_known() {
        let doors = Turnstiles::new(Limits { per_second: 10, ..Limits::default() });
        let start = Instant::now();
        for number in 0..CALLERS {
            doors.count(Line::Strangers, &number.to_string(), 1.0, start).unwrap();
        }
        // The rest has one allowance together.
        let more = |number: usize| doors.count(Line::Strangers, &format!("more {number}"), 1.0, start).is_ok();
        assert_eq!((0..100).filter(|number| more(*number)).count(), 20);
        doors.count(Line::Principals, "person:ann", 1.0, start).unwrap();
        doors.count(Line::SignIns, "more 1", 1.0, start).unwrap();
        doors.count(Line::Strangers, "7", 1.0, start).unwrap();
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

    #[test]
    fn inv_c1_other_limits_count_at_once_and_nobody_is_thrown_out() {
        let doors = Turnstiles::new(Limits { at_once: 2, ..Limits::default() });
        let (first, second) = (doors.enter().unwrap(), doors.enter().unwrap());
        doors.follow(Limits { at_once: 1, listeners: 0, ..Limits::default() });
        assert_eq!(doors.requests(), 2);
        drop(first);
        assert!(doors.enter().is_err() && doors.listen().is_err());
        drop(second);
        let _third = doors.enter().unwrap();
        doors.follow(Limits { at_once: 2, ..Limits::default() });
        let _fourth = doors.enter().unwrap();
    }
}
