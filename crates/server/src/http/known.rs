//! Deny by default: before any handler, every route but the public ones asks who it is that asks. A handler gets the caller
//! from here or not at all, so one that forgets to ask lets nobody in.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::HeaderValue;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tenure_core::{Error, Result, access};

use super::door::{Asked, CSRF, Caller};
use super::login::FORM;
use super::routes::{FORMS, PUBLIC};
use super::{Failure, Server, body_of_form};

/// Finds out who asks, and puts it where handlers take it from.
pub(super) async fn layer(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    // Where there is nothing, nothing is told, whoever asks.
    let Some(route) = request.extensions().get::<MatchedPath>() else { return next.run(request).await };
    if PUBLIC.contains(&route.as_str()) {
        return next.run(request).await;
    }
    let is_form = FORMS.contains(&route.as_str());
    let (mut parts, mut content) = request.into_parts();
    if is_form {
        content = match of_form(&mut parts, content).await {
            Ok(content) => content,
            Err(error) => return Failure(error).into_response(),
        };
    }
    let found = server.caller(&Asked::of(&parts)).await;
    match found {
        Ok(caller) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, content)).await
        }
        Err(error) => Failure(error).into_response(),
    }
}

/// Takes from a form what a page was given, which programs say in a header.
async fn of_form(parts: &mut Parts, content: Body) -> Result<Body> {
    let form = tokio::time::timeout(FORM, body_of_form(content)).await;
    let form = form.map_err(|_| Error::usage("bad_arguments", "the form did not arrive in time"))??;
    let said = form.split('&').find_map(|pair| pair.strip_prefix("csrf="));
    if let Some(said) = said.and_then(|said| HeaderValue::from_str(said).ok()) {
        parts.headers.entry(CSRF).or_insert(said);
    }
    Ok(Body::from(form))
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> std::result::Result<Caller, Failure> {
        parts.extensions.get::<Caller>().cloned().ok_or_else(|| Failure(access::not_known()))
    }
}
