//! A stream that ends when whoever reads it may no longer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::Response;
use futures_core::Stream;
use tenure_core::Result;

use super::Visitor;
use crate::http::{HEARTBEAT, Place, Server};

/// The body of a stream, as long as its reader may have it.
struct Watched {
    body: BodyDataStream,
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// It stays, as listeners do, and is counted among them.
    _place: Place,
}

impl Stream for Watched {
    type Item = std::result::Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_next(context)
    }
}

/// Ends a response when its reader may no longer have it, and with the server.
pub(super) fn watched(server: &Arc<Server>, visitor: Visitor, response: Response<Body>) -> Result<Response<Body>> {
    let place = server.doors.listen()?;
    let over = Box::pin(over(server.clone(), visitor));
    Ok(response.map(|body| Body::from_stream(Watched { body: body.into_data_stream(), over, _place: place })))
}

async fn over(server: Arc<Server>, visitor: Visitor) {
    let mut rights = server.feed.access().await;
    let mut ending = server.ending.subscribe();
    loop {
        // Before the first word as well: rights may have been changed since they were looked at.
        if !may_stay(&server, &visitor).await {
            return;
        }
        tokio::select! {
            // What it answers is a lock, which must not be kept.
            ended = ending.wait_for(|over| *over) => { drop(ended); return }
            () = rights.changed() => {}
            () = tokio::time::sleep(HEARTBEAT) => {}
        }
    }
}

/// Whether somebody may still listen. Not knowing is no, but for a store that is away: that tells nobody anything.
async fn may_stay(server: &Arc<Server>, visitor: &Visitor) -> bool {
    match server.still(&visitor.caller).await {
        Ok(Some(grants)) if grants.role(&visitor.call.project.key).is_some() => {}
        Ok(_) => return false,
        Err(error) => return error.retryable(),
    }
    match visitor.standing(server).await {
        Ok(over) => over != Some(true),
        Err(error) => error.retryable(),
    }
}
