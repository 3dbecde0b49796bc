//! What was offered to callers and not confirmed yet.
//!
//! A caller that sends its next request has read the answer to the last one; a request that was already on its way when
//! the answer was given has not, and one that is made again never got its answer. Neither confirms. What is forgotten here
//! is only offered again later, marked: so there is a bound, and the oldest offer gives way first.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

pub(crate) use tenure_kernel::op::Offered;

use crate::shares::{Bounds, Shares, remove};

/// Offers that wait, by caller, and how many requests were answered so far.
#[derive(Debug)]
pub(crate) struct Pending<K, R> {
    answered: u64,
    /// By how many requests had been answered when they were made.
    offers: Shares<Offer<K, R>>,
    /// The offers of each caller.
    callers: HashMap<K, BTreeSet<u64>>,
}

#[derive(Debug)]
struct Offer<K, R> {
    caller: K,
    request: R,
    offered: Offered,
}

impl<K: Clone + Eq + Hash, R: PartialEq> Pending<K, R> {
    pub(crate) fn new(bounds: Bounds) -> Pending<K, R> {
        Pending { answered: 0, offers: Shares::new(bounds), callers: HashMap::new() }
    }

    /// How far the conversation is. A request asks when it comes in, and shows it when its turn has come.
    pub(crate) fn progress(&self) -> u64 {
        self.answered
    }

    /// The answer to a request is given. `owner` is who has a share of the bounds.
    pub(crate) fn answered(&mut self, request: R, caller: K, owner: &str, offered: Offered) {
        self.answered += 1;
        if offered == Offered::default() {
            return;
        }
        self.callers.entry(caller.clone()).or_default().insert(self.answered);
        if let Some((number, offer)) = self.offers.push(self.answered, owner, Offer { caller, request, offered }) {
            remove(&mut self.callers, &offer.caller, number);
        }
    }

    /// What a caller has seen, as a request shows that came in at some point of the conversation and is not the one that
    /// was answered made again.
    pub(crate) fn seen(&self, caller: &K, progress: u64, request: Option<&R>) -> Option<Offered> {
        let own = self.callers.get(caller)?.range(..=progress).filter_map(|number| self.offers.get(*number));
        own.filter(|offer| Some(&offer.request) != request)
            .map(|offer| offer.offered)
            .reduce(|a, b| Offered { events: a.events.max(b.events), mail: a.mail.max(b.mail) })
    }

    /// What a caller has [`seen`](Pending::seen) is written down.
    pub(crate) fn confirmed(&mut self, caller: &K, progress: u64, request: Option<&R>) {
        let own = self.callers.get(caller).into_iter().flat_map(|numbers| numbers.range(..=progress));
        let is_other = |number: &u64| self.offers.get(*number).is_some_and(|offer| Some(&offer.request) != request);
        let seen = own.copied().filter(is_other).collect();
        self.forget(seen);
    }

    fn forget(&mut self, numbers: Vec<u64>) {
        for number in numbers {
            if let Some(offer) = self.offers.remove(number) {
                remove(&mut self.callers, &offer.caller, number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(number: i64) -> Offered {
        Offered { events: None, mail: Some(number) }
    }

    fn pending(all: usize, of_one: usize) -> Pending<&'static str, u32> {
        Pending::new(Bounds { all, of_one })
    }

    #[test]
    fn inv_m6_the_next_request_of_the_same_caller_confirms_and_a_retry_does_not() {
        let mut pending = pending(10, 10);
        let early = pending.progress();
        pending.answered(1, "a", "o", mail(7));
        pending.answered(2, "b", "o", Offered::default());
        let next = pending.progress();
        assert_eq!(pending.seen(&"a", early, Some(&9)), None, "it was on its way already");
        assert_eq!(pending.seen(&"a", next, Some(&1)), None, "its answer was lost");
        assert_eq!(pending.seen(&"b", next, Some(&3)), None);
        assert_eq!(pending.seen(&"a", next, Some(&3)), Some(mail(7)));
        pending.confirmed(&"a", early, None);
        pending.confirmed(&"a", next, Some(&1));
        assert_eq!(pending.seen(&"a", next, None), Some(mail(7)));
        pending.confirmed(&"a", next, Some(&3));
        assert_eq!(pending.seen(&"a", pending.progress(), None), None);
        assert!(pending.callers.is_empty() && pending.offers.len() == 0);
    }

    #[test]
    fn inv_s8_one_owner_with_many_offers_takes_nothing_from_others() {
        let names: Vec<String> = (0..50_000).map(|number| format!("a{number}")).collect();
        let mut pending: Pending<&str, u32> = Pending::new(Bounds { all: 1_000, of_one: 100 });
        pending.answered(0, "victim", "bob", mail(1));
        for name in &names {
            pending.answered(1, name, "carl", mail(2));
        }
        let now = pending.progress();
        assert_eq!(pending.seen(&"victim", now, None), Some(mail(1)));
        assert_eq!((pending.offers.len(), pending.callers.len()), (101, 101));
        assert_eq!(pending.seen(&names[0].as_str(), now, None), None, "the oldest of its own gave way");
        assert_eq!(pending.seen(&names[49_999].as_str(), now, None), Some(mail(2)));
    }

    #[test]
    fn inv_s8_among_all_owners_the_oldest_offer_gives_way() {
        let mut pending = pending(3, 2);
        for (at, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
            pending.answered(1, name, name, mail(at as i64));
        }
        assert_eq!(pending.seen(&"a", 9, None), None);
        assert_eq!(pending.seen(&"b", 9, None), Some(mail(1)));
        // One that is offered more comes later in the line.
        pending.answered(1, "b", "b", mail(9));
        pending.answered(1, "e", "e", mail(9));
        assert_eq!(pending.seen(&"b", 9, None), Some(mail(9)));
        assert_eq!(pending.seen(&"c", 9, None), None);
    }
}
