//! Idle connections. They cost a client nothing, so their number is bounded: connections without a request yet are
//! closed first, the oldest first; kept-alive connections are closed only if no room is left. A connection with a
//! request in progress is never closed.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::Notify;

/// The maximum number of connections without a request yet.
const FRESH: usize = 1_024;

/// All connections without a request in progress.
pub(super) struct IdleConnections {
    queues: Mutex<IdleQueues>,
    most: usize,
}

#[derive(Default)]
struct IdleQueues {
    /// A rising counter: the oldest connection has the lowest number.
    turn: u64,
    /// Connections without a request yet.
    fresh: BTreeMap<u64, Arc<TrackedConnection>>,
    /// Kept-alive connections that have been answered.
    answered: BTreeMap<u64, Arc<TrackedConnection>>,
}

/// The state of one connection. It changes only under the lock of the queues.
struct TrackedConnection {
    phase: Mutex<ConnectionPhase>,
    leave: Notify,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionPhase {
    Fresh(u64),
    Answered(u64),
    /// A request is in progress.
    Asking,
    /// The connection is to be closed, unless a request arrives first.
    Leaving,
}

impl IdleConnections {
    /// Room for `all` connections. At most half of them may be connections without a request yet.
    pub(super) fn among(all: usize) -> Arc<IdleConnections> {
        Arc::new(IdleConnections { queues: Mutex::default(), most: FRESH.min(all / 2).max(1) })
    }

    /// Adds a connection. If there are too many without a request yet, the oldest of them is closed.
    pub(super) fn enter(self: &Arc<IdleConnections>) -> Arc<ConnectionSlot> {
        let mut queues = self.queues();
        let turn = queues.next();
        let connection =
            Arc::new(TrackedConnection { phase: Mutex::new(ConnectionPhase::Fresh(turn)), leave: Notify::new() });
        queues.fresh.insert(turn, connection.clone());
        if queues.fresh.len() > self.most {
            queues.oldest_fresh_leaves();
        }
        Arc::new(ConnectionSlot { idle: self.clone(), connection })
    }

    /// Makes room: closes the oldest connection without a request yet, or else the one that was answered longest ago.
    pub(super) fn make_room(&self) {
        let mut queues = self.queues();
        if !queues.oldest_fresh_leaves()
            && let Some((_, connection)) = queues.answered.pop_first()
        {
            connection.leaves();
        }
    }

    fn queues(&self) -> MutexGuard<'_, IdleQueues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdleQueues {
    fn next(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    fn oldest_fresh_leaves(&mut self) -> bool {
        let oldest = self.fresh.pop_first();
        oldest.inspect(|(_, connection)| connection.leaves()).is_some()
    }

    fn take_out(&mut self, connection: &TrackedConnection, now: ConnectionPhase) {
        match std::mem::replace(&mut *connection.phase(), now) {
            ConnectionPhase::Fresh(turn) => drop(self.fresh.remove(&turn)),
            ConnectionPhase::Answered(turn) => drop(self.answered.remove(&turn)),
            ConnectionPhase::Asking | ConnectionPhase::Leaving => {}
        }
    }
}

impl TrackedConnection {
    fn phase(&self) -> MutexGuard<'_, ConnectionPhase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leaves(&self) {
        *self.phase() = ConnectionPhase::Leaving;
        self.leave.notify_one();
    }
}

/// The slot of one connection.
pub(super) struct ConnectionSlot {
    idle: Arc<IdleConnections>,
    connection: Arc<TrackedConnection>,
}

impl ConnectionSlot {
    /// Returns when the connection is to be closed.
    pub(super) async fn must_leave(&self) {
        loop {
            self.connection.leave.notified().await;
            // A request that arrived at the same moment is still answered.
            if *self.connection.phase() == ConnectionPhase::Leaving {
                return;
            }
        }
    }

    /// Marks a request as in progress until the returned value is dropped.
    pub(super) fn asks(self: &Arc<ConnectionSlot>) -> ActiveRequest {
        self.idle.queues().take_out(&self.connection, ConnectionPhase::Asking);
        ActiveRequest(self.clone())
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.idle.queues().take_out(&self.connection, ConnectionPhase::Leaving);
    }
}

/// A request that is not yet answered.
pub(super) struct ActiveRequest(Arc<ConnectionSlot>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut queues = self.0.idle.queues();
        let turn = queues.next();
        queues.take_out(&self.0.connection, ConnectionPhase::Answered(turn));
        queues.answered.insert(turn, self.0.connection.clone());
    }
}

/// The body of an answer. The request is in progress until it is sent.
pub(super) struct ActiveBody {
    pub(super) body: Body,
    pub(super) _asking: ActiveRequest,
}

impl HttpBody for ActiveBody {
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

    fn leaves(seat: &ConnectionSlot) -> bool {
        *seat.connection.phase() == ConnectionPhase::Leaving
    }

    #[test]
    fn inv_s1_the_oldest_that_never_asked_gives_way_and_who_asks_stays() {
        let idle = IdleConnections::among(4);
        let (first, second) = (idle.enter(), idle.enter());
        drop(first.asks());
        let (third, fourth) = (idle.enter(), idle.enter());
        assert!(leaves(&second) && !leaves(&first) && !leaves(&third) && !leaves(&fourth));
        // Without room, connections without a request go first, then answered ones, and never one with a request in
        // progress.
        let asking = third.asks();
        idle.make_room();
        assert!(leaves(&fourth) && !leaves(&first));
        idle.make_room();
        idle.make_room();
        assert!(leaves(&first) && !leaves(&third));
        drop(asking);
        idle.make_room();
        assert!(leaves(&third));
    }

    #[test]
    fn what_is_closed_is_forgotten() {
        let idle = IdleConnections::among(8);
        let (first, second) = (idle.enter(), idle.enter());
        drop(second.asks());
        drop((first, second));
        let queues = idle.queues();
        assert!(queues.fresh.is_empty() && queues.answered.is_empty());
    }

    #[test]
    fn what_is_asked_in_the_moment_of_closing_is_answered() {
        let idle = IdleConnections::among(2);
        let (first, _second) = (idle.enter(), idle.enter());
        assert!(leaves(&first));
        let _asking = first.asks();
        assert!(!leaves(&first));
    }
}
