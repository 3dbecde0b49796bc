//! Limits on recording denials. A denied caller chooses how often it is denied, and the log of the whole store is kept.
//! So identical denials are recorded only a few times a minute, the next one with the number left out before it, and
//! each caller has an upper limit.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_kernel::op::access_denied::AccessDenied;

/// The period that the limits apply to.
const EVERY: Duration = Duration::from_secs(60);
/// The maximum of events for identical denials in one period.
const OF_THE_SAME: usize = 20;
/// The maximum of events for one principal, or for one unauthenticated address, in one period.
const OF_ONE: usize = 120;
/// The maximum of events for all unauthenticated addresses together in one period, because addresses cost nothing.
const OF_STRANGERS: usize = 1_200;
/// The maximum number of principals and addresses remembered.
const WHO: usize = 10_000;

/// The denials recorded recently.
#[derive(Default)]
pub(crate) struct Denials(Mutex<All>);

#[derive(Default)]
struct All {
    /// By principal or address.
    who: HashMap<String, Lately>,
    /// Denials left out for principals and addresses that are no longer remembered, or never were.
    untold: i64,
}

/// The denials of one principal or address.
#[derive(Default)]
struct Lately {
    /// By what was denied.
    same: HashMap<[String; 4], RepeatedDenial>,
    /// Denials left out because there were too many different ones.
    beyond: i64,
}

/// One denial and its repetitions.
struct RepeatedDenial {
    /// When the first event of the period was written.
    at: Instant,
    /// The number of events written since.
    written: usize,
    left_out: i64,
    request: AccessDenied,
}

impl Lately {
    fn written(&self) -> usize {
        self.same.values().map(|same| same.written).sum()
    }
}

impl Denials {
    /// What to record of a denial now: the denial with the number left out before it, or nothing.
    pub(crate) fn admit(&self, mut request: AccessDenied, now: Instant) -> Option<AccessDenied> {
        let (who, what) = (who(&request), what(&request));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let strangers: usize = match request.principal.is_empty() {
            true => all.who.iter().filter(|(who, _)| who.starts_with('@')).map(|(_, lately)| lately.written()).sum(),
            false => 0,
        };
        // When too many callers are denied within one period, another caller is neither remembered nor recorded.
        if all.who.len() >= WHO && !all.who.contains_key(&who) {
            all.untold += 1;
            return None;
        }
        let All { who: of, untold } = &mut *all;
        let lately = of.entry(who).or_default();
        let is_full = lately.written() >= OF_ONE || strangers >= OF_STRANGERS;
        if let Some(same) = lately.same.get_mut(&what) {
            if now.saturating_duration_since(same.at) < EVERY {
                if is_full || same.written >= OF_THE_SAME {
                    same.left_out += 1;
                    return None;
                }
                same.written += 1;
                return Some(request);
            }
            request.left_out = std::mem::take(&mut same.left_out) + std::mem::take(&mut lately.beyond);
            (same.at, same.written) = (now, 1);
            return Some(request);
        }
        lately.same.retain(|_, same| same.left_out > 0 || now.saturating_duration_since(same.at) < EVERY);
        if lately.written() >= OF_ONE || strangers >= OF_STRANGERS {
            lately.beyond += 1;
            return None;
        }
        request.left_out = std::mem::take(&mut lately.beyond) + std::mem::take(untold);
        let first = AccessDenied { left_out: 0, ..request.clone() };
        lately.same.insert(what, RepeatedDenial { at: now, written: 1, left_out: 0, request: first });
        Some(request)
    }

    /// The denials left out that no denial of their kind has followed for one period: they are recorded now. Forgets
    /// entries that are over.
    pub(crate) fn due(&self, now: Instant) -> Vec<AccessDenied> {
        let mut due = Vec::new();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let All { who: of, untold } = &mut *all;
        of.retain(|_, lately| {
            let beyond = &mut lately.beyond;
            lately.same.retain(|_, same| {
                if now.saturating_duration_since(same.at) < EVERY {
                    return true;
                }
                let left_out = same.left_out + std::mem::take(beyond);
                if left_out == 0 {
                    return false;
                }
                // The event itself stands for one of them.
                due.push(AccessDenied { left_out: left_out - 1, ..same.request.clone() });
                (same.at, same.written, same.left_out) = (now, 1, 0);
                true
            });
            // Nothing of this caller was recorded, so no later event of it can carry the count. It is added to the next
            // event of any caller.
            if lately.same.is_empty() {
                *untold += std::mem::take(beyond);
            }
            !lately.same.is_empty()
        });
        due
    }
}

/// The key of the denied caller: a principal, or an address.
fn who(request: &AccessDenied) -> String {
    match request.principal.as_str() {
        "" => format!("@{}", request.from),
        principal => principal.to_owned(),
    }
}

fn what(request: &AccessDenied) -> [String; 4] {
    [request.agent.as_str(), &request.what, &request.project, &request.code].map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(principal: &str, what: &str, from: &str) -> AccessDenied {
        AccessDenied {
            principal: principal.into(),
            what: what.into(),
            code: "c".into(),
            from: from.into(),
            ..AccessDenied::default()
        }
    }

    #[expect(clippy::disallowed_methods, reason = "any instant to count from")]
    fn start() -> Instant {
        Instant::now()
    }

    #[test]
    fn inv_s1_of_the_same_denial_so_many_are_written_and_it_is_told_how_many_were_left_out() {
        let (denials, start) = (Denials::default(), start());
        let admit = |what: &str, second: u64| {
            let written = denials.admit(denied("person:ann", what, "a"), start + Duration::from_secs(second));
            written.map(|request| request.left_out)
        };
        assert_eq!(admit("done", 0), Some(0));
        for second in 1..60 {
            assert_eq!(admit("done", second), (second < 20).then_some(0));
        }
        // A different denial is recorded at once, whatever came before.
        assert_eq!(admit("cancel", 59), Some(0));
        assert_eq!(admit("done", 60), Some(40));
        for _ in 0..20 {
            admit("done", 61);
        }
        // A count that no further denial carries is recorded by itself, once.
        let due = |second: u64| denials.due(start + Duration::from_secs(second)).len();
        assert_eq!((due(62), due(130), due(131), due(300)), (0, 1, 0, 0));
        assert!(denials.0.lock().unwrap().who.is_empty(), "nothing is remembered that is over");
    }

    #[test]
    fn inv_s1_nobody_fills_the_log_with_denials() {
        let (denials, start) = (Denials::default(), start());
        let many = |who: &str, from: &str| {
            (0..1_000).filter_map(|number| denials.admit(denied(who, &number.to_string(), from), start)).count()
        };
        assert_eq!((many("person:ann", "a"), many("person:bob", "a"), many("", "a")), (OF_ONE, OF_ONE, OF_ONE));
        let addresses: usize = (0..100).map(|number| many("", &number.to_string())).sum();
        assert_eq!(addresses, OF_STRANGERS - OF_ONE);
        assert!(denials.admit(denied("person:eve", "x", "a"), start).is_some(), "others are written down all the same");
        let later = start + EVERY;
        assert_eq!(denials.admit(denied("person:ann", "0", "a"), later).unwrap().left_out, 880, "none is forgotten");
    }
}
