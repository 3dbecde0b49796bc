//! Limits of the HTTP server: rates and concurrency, per caller and in total.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tenure_core::{Code, Error, Result, Stage};

use crate::quota::{Bounds, Budget, QuotaPart};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a request body in bytes.
    pub body: usize,
    /// The timeout of a request.
    pub time: Duration,
    /// The maximum number of concurrent requests.
    pub at_once: usize,
    /// The maximum number of concurrent event listeners. They are long-lived and counted separately.
    pub listeners: usize,
    /// Requests a second for one principal, or for one unauthenticated address.
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

/// How many callers are remembered. Above it, callers with a full allowance are forgotten.
const CALLERS: usize = 10_000;

/// Concurrency and request rates of the callers.
pub(crate) struct RateLimiter {
    limits: RwLock<Limits>,
    inside: Arc<AtomicUsize>,
    listening: Arc<AtomicUsize>,
    /// The requests in progress of each principal.
    asking: Budget,
    /// The listeners of each principal.
    hearing: Budget,
    /// By [`RateClass`].
    classes: [Mutex<HashMap<String, Bucket>>; 3],
}

/// Callers that are counted separately: unauthenticated traffic takes nothing from principals or from sign-ins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateClass {
    /// Authenticated callers, by name.
    Principals,
    /// Unknown credentials, by address.
    Strangers,
    /// Sign-in attempts, by address.
    SignIns,
}

/// The shared allowance of callers for which the table has no room.
const REST: &str = "";

/// How many of all permits one principal may have: at most half, rounded up.
fn of_one(all: usize) -> Bounds {
    Bounds { all: usize::MAX, of_one: all.div_ceil(2) }
}

/// A permit, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    taken: Arc<AtomicUsize>,
    /// Its part of the principal's limit, once the principal is known.
    share: Option<QuotaPart>,
}

impl Permit {
    /// One of at most `most` permits. Permits already granted stay valid when the limit is lowered.
    fn among(taken: &Arc<AtomicUsize>, most: usize) -> Option<Permit> {
        let one_more = |count: usize| (count < most).then_some(count + 1);
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(Permit { taken: taken.clone(), share: None })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A caller's allowance. It refills evenly, up to two seconds' worth or the cost of one request, whichever is more.
struct Bucket {
    left: f64,
    at: Instant,
}

impl RateLimiter {
    pub(crate) fn new(limits: Limits) -> RateLimiter {
        RateLimiter {
            limits: RwLock::new(limits),
            inside: Arc::default(),
            listening: Arc::default(),
            asking: Budget::new(of_one(limits.at_once)),
            hearing: Budget::new(of_one(limits.listeners)),
            classes: Default::default(),
        }
    }

    /// The current limits.
    pub(crate) fn limits(&self) -> Limits {
        *self.limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces all limits at once.
    pub(crate) fn follow(&self, limits: Limits) {
        self.asking.follow(of_one(limits.at_once));
        self.hearing.follow(of_one(limits.listeners));
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// A permit for one request.
    pub(crate) fn enter(&self) -> Result<Permit> {
        Permit::among(&self.inside, self.limits().at_once).ok_or_else(|| full("requests"))
    }

    /// Counts a permit towards the limit of its principal.
    pub(crate) fn claim(&self, permit: &mut Permit, principal: &str) -> Result<()> {
        permit.share = Some(self.asking.take(principal, 1).ok_or_else(|| full("requests of one principal"))?);
        Ok(())
    }

    /// A permit for one listener of a principal.
    pub(crate) fn listen(&self, principal: &str) -> Result<Permit> {
        let mut permit = Permit::among(&self.listening, self.limits().listeners).ok_or_else(|| full("listeners"))?;
        permit.share = Some(self.hearing.take(principal, 1).ok_or_else(|| full("listeners of one principal"))?);
        Ok(permit)
    }

    /// The current number of listeners.
    pub(crate) fn listeners(&self) -> usize {
        self.listening.load(Ordering::Relaxed)
    }

    /// The current number of requests.
    pub(crate) fn requests(&self) -> usize {
        self.inside.load(Ordering::Relaxed)
    }

    /// Counts one request of a caller at an instant. `cost` is 1 for an ordinary request.
    pub(crate) fn count(&self, class: RateClass, mut caller: &str, cost: f64, now: Instant) -> Result<()> {
        let per_second = self.limits().per_second;
        let rate = f64::from(per_second);
        // One request is allowed at any rate, whatever its cost.
        let most = (rate * 2.0).max(cost);
        let mut callers = self.classes[class as usize].lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= CALLERS && !callers.contains_key(caller) {
            // Forgetting a caller whose allowance is full again loses nothing.
            let since = |bucket: &Bucket| now.saturating_duration_since(bucket.at).as_secs_f64();
            callers.retain(|_, bucket| bucket.left + since(bucket) * rate < most);
            if callers.len() >= CALLERS {
                caller = REST;
            }
        }
        let bucket = callers.entry(caller.to_owned()).or_insert(Bucket { left: most, at: now });
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + passed * rate).min(most);
        bucket.at = now;
        if bucket.left < cost {
            return Err(Error::new(Code::TooManyRequests, format!("more than {per_second} requests per second"))
                .at(Stage::Arguments)
                .hint("Nothing was done. Retry in a second with the same request id."));
        }
        bucket.left -= cost;
        Ok(())
    }
}

fn full(what: &str) -> Error {
    Error::new(Code::Overloaded, format!("the server has reached its limit of {what}"))
        .at(Stage::Lock)
        .hint("Nothing was done. Retry in a moment with the same request id.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any instant to count from")]
    fn a_caller_that_asks_too_often_is_turned_away_and_others_are_not() {
        let doors = RateLimiter::new(Limits { per_second: 10, ..Limits::default() });
        let start = Instant::now();
        for _ in 0..20 {
            doors.count(RateClass::Strangers, "a", 1.0, start).unwrap();
        }
        let count =
            |caller: &str, ms: u64| doors.count(RateClass::Strangers, caller, 1.0, start + Duration::from_millis(ms));
        assert_eq!(count("a", 0).unwrap_err().code(), "too_many_requests");
        count("b", 0).unwrap();
        for class in [RateClass::Principals, RateClass::SignIns] {
            doors.count(class, "a", 1.0, start).unwrap();
        }
        count("a", 150).unwrap();
        assert!(count("a", 160).is_err());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any instant to count from")]
    fn inv_s1_more_addresses_than_are_remembered_turn_nobody_away_who_is_known() {
        let doors = RateLimiter::new(Limits { per_second: 10, ..Limits::default() });
        let start = Instant::now();
        for number in 0..CALLERS {
            doors.count(RateClass::Strangers, &number.to_string(), 1.0, start).unwrap();
        }
        // The remaining callers share one allowance.
        let more = |number: usize| doors.count(RateClass::Strangers, &format!("more {number}"), 1.0, start).is_ok();
        assert_eq!((0..100).filter(|number| more(*number)).count(), 20);
        doors.count(RateClass::Principals, "person:ann", 1.0, start).unwrap();
        doors.count(RateClass::SignIns, "more 1", 1.0, start).unwrap();
        doors.count(RateClass::Strangers, "7", 1.0, start).unwrap();
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any instant to count from")]
    fn inv_s1_the_first_request_counts_however_low_the_rate_is() {
        let doors = RateLimiter::new(Limits { per_second: 1, ..Limits::default() });
        let start = Instant::now();
        let count = |s: u64| doors.count(RateClass::Strangers, "a", 20.0, start + Duration::from_secs(s));
        count(0).unwrap();
        assert_eq!(count(19).unwrap_err().code(), "too_many_requests");
        count(20).unwrap();
    }

    #[test]
    fn inv_s8_one_principal_has_half_of_the_places() {
        let doors = RateLimiter::new(Limits { at_once: 4, listeners: 3, ..Limits::default() });
        let claim = |principal: &str| {
            let mut permit = doors.enter()?;
            doors.claim(&mut permit, principal).map(|()| permit)
        };
        let own = [claim("a").unwrap(), claim("a").unwrap()];
        assert_eq!(claim("a").unwrap_err().code(), "overloaded");
        let other = claim("b").unwrap();
        drop(own);
        drop((claim("a").unwrap(), claim("a").unwrap(), other));
        assert_eq!(doors.requests(), 0);
        let own = [doors.listen("a").unwrap(), doors.listen("a").unwrap()];
        assert_eq!(doors.listen("a").unwrap_err().code(), "overloaded");
        assert_eq!(doors.listeners(), own.len(), "one that is turned away takes no place");
        doors.listen("b").unwrap();
    }

    #[test]
    fn only_so_many_are_inside() {
        let doors = RateLimiter::new(Limits { at_once: 2, listeners: 1, ..Limits::default() });
        let (first, second) = (doors.enter().unwrap(), doors.enter().unwrap());
        assert_eq!(doors.enter().unwrap_err().code(), "overloaded");
        assert_eq!(doors.requests(), 2);
        drop(first);
        drop(doors.enter().unwrap());
        drop(second);
        let _listener = doors.listen("a").unwrap();
        assert!(doors.listen("b").is_err());
        assert_eq!(doors.listeners(), 1);
    }

    #[test]
    fn inv_c1_other_limits_count_at_once_and_nobody_is_thrown_out() {
        let doors = RateLimiter::new(Limits { at_once: 2, ..Limits::default() });
        let (first, second) = (doors.enter().unwrap(), doors.enter().unwrap());
        doors.follow(Limits { at_once: 1, listeners: 0, ..Limits::default() });
        assert_eq!(doors.requests(), 2);
        drop(first);
        assert!(doors.enter().is_err() && doors.listen("a").is_err());
        drop(second);
        let _third = doors.enter().unwrap();
        doors.follow(Limits { at_once: 2, ..Limits::default() });
        let _fourth = doors.enter().unwrap();
    }
}
