//! Delivery of events and mail: offers made in answers that callers have not confirmed yet. HTTP and MCP both use it.
//!
//! A caller that sends its next request has read the answer to the last one. Two kinds of requests confirm nothing: one
//! that was already on its way when the answer was given, and a retry, whose answer may have been lost. An offer
//! forgotten here is only made again later, marked as repeated. So the number of offers is bounded, and the oldest is
//! dropped first.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use tenure_kernel::answer::Resumed;
pub(crate) use tenure_kernel::op::Offered;

use crate::quota::{Bounds, Shares, remove};

/// What `resume` offers a client that sees only the text of its brief. If no event is new, no events are offered.
pub(crate) fn offered_in_brief(resumed: &Resumed) -> Offered {
    let new = !resumed.events.items.is_empty() || resumed.events.more;
    Offered { events: resumed.brief.events.filter(|_| new), mail: resumed.brief.mail }
}

/// The offers that wait for confirmation, by caller.
#[derive(Debug)]
pub(crate) struct Pending<K> {
    /// The number of requests answered so far.
    answered: u64,
    /// Keyed by the value of `answered` when the offer was made.
    offers: Shares<Offer<K>>,
    /// The keys of each caller's offers.
    callers: HashMap<K, BTreeSet<u64>>,
}

#[derive(Debug)]
struct Offer<K> {
    caller: K,
    /// The request id, if a retry can be recognised by it.
    request: Option<String>,
    offered: Offered,
}

impl<K> Offer<K> {
    /// Whether a request is a retry of the one that was answered with this offer.
    fn is_retry(&self, request: Option<&str>) -> bool {
        request.is_some() && self.request.as_deref() == request
    }
}

impl<K: Clone + Eq + Hash> Pending<K> {
    pub(crate) fn new(bounds: Bounds) -> Pending<K> {
        Pending { answered: 0, offers: Shares::new(bounds), callers: HashMap::new() }
    }

    /// The current position in the conversation. A request reads it on arrival and passes it on when it is processed.
    pub(crate) fn progress(&self) -> u64 {
        self.answered
    }

    /// Records that a request was answered. The offer counts towards the share of `owner`.
    pub(crate) fn answered(&mut self, request: Option<String>, caller: K, owner: &str, offered: Offered) {
        self.answered += 1;
        if offered == Offered::default() {
            return;
        }
        self.callers.entry(caller.clone()).or_default().insert(self.answered);
        if let Some((number, offer)) = self.offers.push(self.answered, owner, Offer { caller, request, offered }) {
            remove(&mut self.callers, &offer.caller, number);
        }
    }

    /// What a caller has seen, as implied by a request that arrived when the conversation was at `progress`.
    pub(crate) fn seen(&self, caller: &K, progress: u64, request: Option<&str>) -> Option<Offered> {
        let own = self.callers.get(caller)?.range(..=progress).filter_map(|number| self.offers.get(*number));
        own.filter(|offer| !offer.is_retry(request))
            .map(|offer| offer.offered)
            .reduce(|a, b| Offered { events: a.events.max(b.events), mail: a.mail.max(b.mail) })
    }

    /// Forgets the offers that a caller has [`seen`](Pending::seen), once that is stored.
    pub(crate) fn confirmed(&mut self, caller: &K, progress: u64, request: Option<&str>) {
        let own = self.callers.get(caller).into_iter().flat_map(|numbers| numbers.range(..=progress));
        let is_other = |number: &u64| self.offers.get(*number).is_some_and(|offer| !offer.is_retry(request));
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
    use tenure_core::number::EventNumber;

    use super::*;

    fn offered(events: impl Into<Option<i64>>, mail: impl Into<Option<i64>>) -> Offered {
        Offered { events: events.into().map(EventNumber::new), mail: mail.into().map(EventNumber::new) }
    }

    fn mail(number: i64) -> Offered {
        offered(None, number)
    }

    fn pending(all: usize, of_one: usize) -> Pending<&'static str> {
        Pending::new(Bounds { all, of_one })
    }

    #[test]
    fn inv_m6_the_next_request_of_the_same_caller_confirms_and_a_retry_does_not() {
        let mut pending = pending(10, 10);
        let early = pending.progress();
        pending.answered(Some("1".into()), "a", "o", mail(7));
        pending.answered(Some("2".into()), "b", "o", Offered::default());
        let next = pending.progress();
        assert_eq!(pending.seen(&"a", early, Some("9")), None, "it was on its way already");
        assert_eq!(pending.seen(&"a", next, Some("1")), None, "its answer was lost");
        assert_eq!(pending.seen(&"b", next, Some("3")), None);
        assert_eq!(pending.seen(&"a", next, Some("3")), Some(mail(7)));
        pending.confirmed(&"a", early, None);
        pending.confirmed(&"a", next, Some("1"));
        assert_eq!(pending.seen(&"a", next, None), Some(mail(7)));
        pending.confirmed(&"a", next, Some("3"));
        assert_eq!(pending.seen(&"a", pending.progress(), None), None);
        assert!(pending.callers.is_empty() && pending.offers.len() == 0);
    }

    #[test]
    fn inv_s8_one_owner_with_many_offers_takes_nothing_from_others() {
        let names: Vec<String> = (0..50_000).map(|number| format!("a{number}")).collect();
        let mut pending: Pending<&str> = Pending::new(Bounds { all: 1_000, of_one: 100 });
        pending.answered(Some("0".into()), "victim", "bob", mail(1));
        for name in &names {
            pending.answered(Some("1".into()), name, "carl", mail(2));
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
            pending.answered(Some("1".into()), name, name, mail(at as i64));
        }
        assert_eq!(pending.seen(&"a", 9, None), None);
        assert_eq!(pending.seen(&"b", 9, None), Some(mail(1)));
        // A caller that gets another offer moves back in the queue.
        pending.answered(Some("1".into()), "b", "b", mail(9));
        pending.answered(Some("1".into()), "e", "e", mail(9));
        assert_eq!(pending.seen(&"b", 9, None), Some(mail(9)));
        assert_eq!(pending.seen(&"c", 9, None), None);
    }

    #[test]
    fn inv_m1_all_offers_of_a_caller_are_seen_at_once_and_without_request_ids() {
        let mut pending = pending(10, 10);
        let early = pending.progress();
        pending.answered(None, "a", "", offered(7, None));
        pending.answered(None, "a", "", offered(5, 9));
        let next = pending.progress();
        assert_eq!(pending.seen(&"b", next, None), None, "another agent has seen nothing");
        assert_eq!(pending.seen(&"a", next, None), Some(offered(7, 9)));
        pending.confirmed(&"a", early, None);
        assert!(pending.seen(&"a", next, None).is_some(), "a call that was on its way already has seen nothing");
        pending.confirmed(&"a", next, None);
        assert_eq!(pending.seen(&"a", pending.progress(), None), None);
    }
}
