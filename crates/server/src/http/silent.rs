//! Connections on which nothing is asked. They cost whoever opens them nothing, so there are only so many: those that have
//! never asked anything give way to one more of their kind, the oldest first; those that were answered and are kept open
//! give way only where no room is left at all. One that asks, or is being answered, stays.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::Notify;

/// Most connections that have not yet asked anything.
const FRESH: usize = 1_024;

/// All connections on which nothing is asked now.
pub(super) struct Silent {
    lines: Mutex<Lines>,
    most: usize,
}

#[derive(Default)]
struct Lines {
    /// Rises, so that the oldest has the lowest.
    turn: u64,
    /// Those that have never asked.
    fresh: BTreeMap<u64, Arc<Told>>,
    /// Those that have been answered.
    answered: BTreeMap<u64, Arc<Told>>,
}

/// What is known of one connection; changed only under the lock of the lines.
struct Told {
    doing: Mutex<Doing>,
    leave: Notify,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Fresh(u64),
    Answered(u64),
    /// It asks, or is being answered.
    Asking,
    /// It is to be closed, unless it asks before that.
    Leaving,
}

impl Silent {
    /// Room for `all` connections, of which the smaller part may be such that have never asked.
    pub(super) fn among(all: usize) -> Arc<Silent> {
        Arc::new(Silent { lines: Mutex::default(), most: FRESH.min(all / 2).max(1) })
    }

    /// One more connection. Where there are too many that have never asked, the oldest of them leaves.
    pub(super) fn enter(self: &Arc<Silent>) -> Arc<Seat> {
        let mut lines = self.lines();
        let turn = lines.next();
        let told = Arc::new(Told { doing: Mutex::new(Doing::Fresh(turn)), leave: Notify::new() });
        lines.fresh.insert(turn, told.clone());
        if lines.fresh.len() > self.most {
            lines.oldest_fresh_leaves();
        }
        Arc::new(Seat { silent: self.clone(), told })
    }

    /// Makes room: the oldest that has never asked leaves, or else the one that was answered longest ago.
    pub(super) fn make_room(&self) {
        let mut lines = self.lines();
        if !lines.oldest_fresh_leaves()
            && let Some((_, told)) = lines.answered.pop_first()
        {
            told.leaves();
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    fn next(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    fn oldest_fresh_leaves(&mut self) -> bool {
        let oldest = self.fresh.pop_first();
        oldest.inspect(|(_, told)| told.leaves()).is_some()
    }

    fn take_out(&mut self, told: &Told, now: Doing) {
        match std::mem::replace(&mut *told.doing(), now) {
            Doing::Fresh(turn) => drop(self.fresh.remove(&turn)),
            Doing::Answered(turn) => drop(self.answered.remove(&turn)),
            Doing::Asking | Doing::Leaving => {}
        }
    }
}

impl Told {
    fn doing(&self) -> MutexGuard<'_, Doing> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leaves(&self) {
        *self.doing() = Doing::Leaving;
        self.leave.notify_one();
    }
}

/// The place of one connection.
pub(super) struct Seat {
    silent: Arc<Silent>,
    told: Arc<Told>,
}

impl Seat {
    /// Comes back when the connection is to be closed.
    pub(super) async fn must_leave(&self) {
        loop {
            self.told.leave.notified().await;
            // What was asked in the same moment is answered.
            if *self.told.doing() == Doing::Leaving {
                return;
            }
        }
    }

    /// A request has come, until what is returned is dropped.
    pub(super) fn asks(self: &Arc<Seat>) -> Asking {
        self.silent.lines().take_out(&self.told, Doing::Asking);
        Asking(self.clone())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.silent.lines().take_out(&self.told, Doing::Leaving);
    }
}

/// A request that is not yet answered.
pub(super) struct Asking(Arc<Seat>);

impl Drop for Asking {
    fn drop(&mut self) {
        let mut lines = self.0.silent.lines();
        let turn = lines.next();
        lines.take_out(&self.0.told, Doing::Answered(turn));
        lines.answered.insert(turn, self.0.told.clone());
    }
}

/// The body of an answer: the request goes on until it is sent.
pub(super) struct Answering {
    pub(super) body: Body,
    pub(super) _asking: Asking,
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(seat: &Seat) -> bool {
        *seat.told.doing() == Doing::Leaving
    }

    #[test]
    fn inv_s1_the_oldest_that_never_asked_gives_way_and_who_asks_stays() {
        let silent = Silent::among(4);
        let (first, second) = (silent.enter(), silent.enter());
        drop(first.asks());
        let (third, fourth) = (silent.enter(), silent.enter());
        assert!(leaves(&second) && !leaves(&first) && !leaves(&third) && !leaves(&fourth));
        // Without any room those that never asked go first, then those that were answered, and never who asks.
        let asking = third.asks();
        silent.make_room();
        assert!(leaves(&fourth) && !leaves(&first));
        silent.make_room();
        silent.make_room();
        assert!(leaves(&first) && !leaves(&third));
        drop(asking);
        silent.make_room();
        assert!(leaves(&third));
    }

    #[test]
    fn what_is_closed_is_forgotten() {
        let silent = Silent::among(8);
        let (first, second) = (silent.enter(), silent.enter());
        drop(second.asks());
        drop((first, second));
        let lines = silent.lines();
        assert!(lines.fresh.is_empty() && lines.answered.is_empty());
    }

    #[test]
    fn what_is_asked_in_the_moment_of_closing_is_answered() {
        let silent = Silent::among(2);
        let (first, _second) = (silent.enter(), silent.enter());
        assert!(leaves(&first));
        let _asking = first.asks();
        assert!(!leaves(&first));
    }
}
