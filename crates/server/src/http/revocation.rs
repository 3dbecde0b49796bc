//! The end of what stays open: a stream or a wait ends when its caller may no longer have it, and with the server.
//!
//! The looks at the caller's rights run beside what is sent, on a clock of their own: neither traffic nor a client that does
//! not read puts them off.

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

/// How long rights may be gone before that is seen where no event says so: tokens and sessions expire.
const LOOK: Duration = Duration::from_secs(15);

/// Why something that stays open ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The server is about to end.
    Ending,
    /// The caller may no longer have it.
    Revoked,
}

/// When to look at the rights of a caller.
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

    /// Returns when it is time to look: at once the first time, then whenever rights were changed, and every [`LOOK`].
    pub(crate) async fn next(&mut self) -> Result<(), StreamEnd> {
        tokio::select! {
            // What it answers is a lock, which must not be kept.
            ended = self.ending.wait_for(|over| *over) => { drop(ended); Err(StreamEnd::Ending) }
            () = self.rights.changed() => Ok(()),
            _ = self.every.tick() => Ok(()),
        }
    }
}

/// Returns when a caller may no longer hear of all of these projects, or the server is about to end.
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
    /// What a caller is told that could ask about a project when its request began, and cannot any more.
    pub(super) async fn refusal_now(&self, caller: &AuthenticatedCaller, project: &str) -> Error {
        match self.still(caller).await {
            Ok(Some(_)) => access::unknown_project(project),
            _ => access::not_known(),
        }
    }
}

/// Whether a caller may still hear of all of these projects. Not knowing is no, but for a store that is away: it tells
/// nobody anything.
pub(crate) async fn may_stay(server: &Server, caller: &AuthenticatedCaller, projects: &[ProjectKey]) -> bool {
    match server.still(caller).await {
        Ok(Some(grants)) => projects.iter().all(|key| grants.role(key).is_some()),
        Ok(None) => false,
        Err(error) => error.retryable(),
    }
}

/// A stream that is cut off when something is over, whatever of it is still to be sent.
struct Revocable {
    body: BodyDataStream,
    /// Closed when it is over.
    over: oneshot::Receiver<()>,
    /// It stays, as listeners do, and is counted among them.
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

/// A body that ends when `over` does. That is waited for in a task of its own, which ends with the body.
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

/// The same for a stream of events of some projects.
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
