//! Ends streams and waits when their caller loses access, and at shutdown.
//!
//! Access is checked in parallel to sending, on a separate timer. Neither traffic nor a client that does not read
//! delays the check.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use futures_core::Stream;
use tenure_core::name::ProjectKey;
use tenure_core::{Error, access};
use tokio::sync::{oneshot, watch};
use tokio::time::{Interval, MissedTickBehavior};

use super::{AuthenticatedCaller, Permit, Server};
use crate::event_feed::Rights;

/// How long a loss of access may go unnoticed when no event announces it: tokens and sessions expire.
const LOOK: Duration = Duration::from_secs(15);

/// Why a long-lived request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The server is shutting down.
    Ending,
    /// The caller has lost access.
    Revoked,
}

/// Signals when to check the access of a caller.
pub(crate) struct Looks {
    rights: Rights,
    every: Interval,
    ending: watch::Receiver<bool>,
}

impl Looks {
    pub(crate) async fn of(server: &Server) -> Looks {
        let mut every = tokio::time::interval(LOOK);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Looks { rights: server.feed.access().await, every, ending: server.ending.subscribe() }
    }

    /// Returns when a check is due: at once the first time, then after every change of access rights, and every
    /// [`LOOK`].
    pub(crate) async fn next(&mut self) -> Result<(), StreamEnd> {
        tokio::select! {
            // The result is a read guard and must not be kept.
            ended = self.ending.wait_for(|over| *over) => { drop(ended); Err(StreamEnd::Ending) }
            () = self.rights.changed() => Ok(()),
            _ = self.every.tick() => Ok(()),
        }
    }
}

/// Returns when a caller no longer has a role in all of these projects, or the server is shutting down.
pub(crate) async fn over(server: &Server, caller: &AuthenticatedCaller, projects: &[ProjectKey]) -> StreamEnd {
    let mut looks = Looks::of(server).await;
    loop {
        if let Err(over) = looks.next().await {
            return over;
        }
        if !may_stay(server, caller, projects).await {
            return StreamEnd::Revoked;
        }
    }
}

impl Server {
    /// The error for a caller that had access when its request began and has lost it since.
    pub(super) async fn refusal_now(&self, caller: &AuthenticatedCaller, project: &str) -> Error {
        match self.still(caller).await {
            Ok(Some(_)) => access::unknown_project(project),
            _ => access::not_known(),
        }
    }
}

/// Whether a caller still has a role in all of these projects. An unknown state counts as no, except for an unreachable
/// store: it delivers nothing to any caller.
pub(crate) async fn may_stay(server: &Server, caller: &AuthenticatedCaller, projects: &[ProjectKey]) -> bool {
    match server.still(caller).await {
        Ok(Some(grants)) => projects.iter().all(|key| grants.role(key).is_some()),
        Ok(None) => false,
        Err(error) => error.retryable(),
    }
}

/// A stream that is cut off when access ends, whatever remains to be sent.
struct Revocable {
    body: BodyDataStream,
    /// Closed when the stream must end.
    over: oneshot::Receiver<()>,
    /// The stream is long-lived and counted as a listener.
    _place: Permit,
}

impl Stream for Revocable {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if Pin::new(&mut self.over).poll(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_next(context)
    }
}

/// A body that ends when `over` resolves. A separate task waits for that and ends with the body.
pub(crate) fn until(over: impl Future<Output = ()> + Send + 'static, body: Body, place: Permit) -> Body {
    let (mut open, closed) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            () = open.closed() => {}
            () = over => {}
        }
    });
    Body::from_stream(Revocable { body: body.into_data_stream(), over: closed, _place: place })
}

/// The same for an event stream of some projects.
pub(super) fn until_revoked(
    server: &Arc<Server>,
    caller: AuthenticatedCaller,
    projects: Vec<ProjectKey>,
    body: Body,
    place: Permit,
) -> Body {
    let server = server.clone();
    let over = async move {
        over(&server, &caller, &projects).await;
    };
    until(over, body, place)
}
