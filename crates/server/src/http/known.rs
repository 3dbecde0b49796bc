//! Deny by default: before any handler, every route but the public ones asks who it is that asks. A handler gets the caller
//! from here or not at all, so one that forgets to ask lets nobody in.

use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tenure_core::access;

use super::door::{Asked, Caller};
use super::routes::PUBLIC;
use super::{Failure, Server};

/// Finds out who asks, and puts it where handlers take it from.
pub(super) async fn layer(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    // Where there is nothing, nothing is told, whoever asks.
    let Some(route) = request.extensions().get::<MatchedPath>() else { return next.run(request).await };
    if PUBLIC.contains(&route.as_str()) {
        return next.run(request).await;
    }
    let (mut parts, content) = request.into_parts();
    let found = server.caller(&Asked::of(&parts)).await;
    match found {
        Ok(caller) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, content)).await
        }
        Err(error) => Failure(error).into_response(),
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, Failure> {
        parts.extensions.get::<Caller>().cloned().ok_or_else(|| Failure(access::not_known()))
    }
}
