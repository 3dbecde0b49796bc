//! Deny by default: every route except the public ones requires an authenticated caller before its handler runs. A
//! handler gets the caller only from here, so a handler that forgets to check admits no caller.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::HeaderValue;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tenure_core::{Result, access};

use super::authentication::{AuthenticatedCaller, CSRF, Credentials};
use super::backpressure::AnswerOwner;
use super::login::form;
use super::routes::{FORMS, PUBLIC};
use super::{Failure, Server};

/// Authenticates the caller and adds it to the request for the handlers.
pub(super) async fn layer(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    // An unknown route gives the same answer to every caller.
    let Some(route) = request.extensions().get::<MatchedPath>() else { return next.run(request).await };
    if PUBLIC.contains(&route.as_str()) {
        return next.run(request).await;
    }
    let is_form = FORMS.contains(&route.as_str());
    let (mut parts, content) = request.into_parts();
    match found(&server, &mut parts, content, is_form).await {
        Ok((caller, content)) => {
            let owner = AnswerOwner(caller.grants.principal.to_string());
            parts.extensions.insert(caller);
            let mut response = next.run(Request::from_parts(parts, content)).await;
            response.extensions_mut().insert(owner);
            response
        }
        Err(error) => Failure(error).into_response(),
    }
}

/// The caller. A form is read only from a caller with a valid credential, so no other body is awaited.
async fn found(
    server: &Server,
    parts: &mut Parts,
    mut content: Body,
    is_form: bool,
) -> Result<(AuthenticatedCaller, Body)> {
    if is_form && server.is_known(&Credentials::of(parts)).await? {
        content = of_form(server, parts, content).await?;
    }
    let caller = server.caller(&Credentials::of(parts)).await?;
    server.belongs(parts, &caller.grants.principal)?;
    Ok((caller, content))
}

/// Takes the CSRF token from a form. Programs send it in a header.
async fn of_form(server: &Server, parts: &mut Parts, content: Body) -> Result<Body> {
    let form = server.outside(parts, form(content)).await?;
    let said = form.split('&').find_map(|pair| pair.strip_prefix("csrf="));
    if let Some(said) = said.and_then(|said| HeaderValue::from_str(said).ok()) {
        parts.headers.entry(CSRF).or_insert(said);
    }
    Ok(Body::from(form))
}

impl<S: Send + Sync> FromRequestParts<S> for AuthenticatedCaller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> std::result::Result<AuthenticatedCaller, Failure> {
        parts.extensions.get::<AuthenticatedCaller>().cloned().ok_or_else(|| Failure(access::not_known()))
    }
}
