//! What was offered to each agent of a connection and not confirmed yet.
//!
//! A client that sends its next call has read the answer to the last one; a call that was already on its way when the
//! answer was given has not, and one that was cancelled before it was answered offers nothing. Neither confirms.

pub(crate) use crate::delivery::Offered;
use crate::delivery::Pending;
use crate::shares::Bounds;

/// Most offers that wait in one connection: a client may name as many agents as it likes.
const OFFERS: Bounds = Bounds { all: 1_000, of_one: 1_000 };

/// Offers that wait, and how many calls were answered so far.
#[derive(Debug)]
pub(crate) struct Delivery(Pending<String, ()>);

impl Default for Delivery {
    fn default() -> Delivery {
        Delivery(Pending::new(OFFERS))
    }
}

impl Delivery {
    /// How far the conversation is. A call asks when it comes in, and shows it when its turn has come.
    pub(crate) fn progress(&self) -> u64 {
        self.0.progress()
    }

    /// The answer to a call is given.
    pub(crate) fn answered(&mut self, agent: &str, offered: Offered) {
        self.0.answered((), agent.to_owned(), "", offered);
    }

    /// What an agent has seen, as a call shows that came in at some point of the conversation.
    pub(crate) fn seen(&self, agent: &str, progress: u64) -> Option<Offered> {
        self.0.seen(&agent.to_owned(), progress, None)
    }

    /// What an agent has seen is written down.
    pub(crate) fn confirmed(&mut self, agent: &str, progress: u64) {
        self.0.confirmed(&agent.to_owned(), progress, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(number: i64) -> Offered {
        Offered { events: Some(number), mail: None }
    }

    #[test]
    fn inv_m1_the_next_call_of_the_same_agent_confirms() {
        let mut delivery = Delivery::default();
        delivery.answered("a", events(7));
        delivery.answered("a", Offered { events: Some(5), mail: Some(9) });
        let next = delivery.progress();
        assert_eq!(delivery.seen("b", next), None, "another agent has seen nothing");
        assert_eq!(delivery.seen("a", next), Some(Offered { events: Some(7), mail: Some(9) }));
        delivery.confirmed("a", next);
        assert_eq!(delivery.seen("a", delivery.progress()), None);
    }

    #[test]
    fn inv_m1_a_call_that_was_on_its_way_already_has_seen_nothing() {
        let mut delivery = Delivery::default();
        let early = delivery.progress();
        delivery.answered("a", events(7));
        assert_eq!(delivery.seen("a", early), None);
        delivery.confirmed("a", early);
        assert_eq!(delivery.seen("a", delivery.progress()), Some(events(7)), "it still waits");
    }
}
