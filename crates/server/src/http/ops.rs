//! Ops over HTTP: `POST /api/v1/ops/{name}`.

use std::sync::Arc;

use axum::extract::{RawQuery, Request, State};
use axum::http::HeaderValue;
use tenure_core::{Code, Error, Result};
use tenure_kernel::op::confirm;
use tenure_kernel::{Call, Door, Op, RequestId};
use tenure_store::OsEntropy;

use super::authentication::{AuthenticatedCaller, Credentials, IDEMPOTENCY, PROJECT};
use super::etag::{if_match, tagged};
use super::resources::Given;
use super::segments::Segments;
use super::{HandlerResult, Server, ServerState, body};
use crate::delivery::Offered;
use crate::quota::Bounds;

/// The maximum number of answers with unconfirmed offers, for all principals and for one.
pub(super) const OFFERS: Bounds = Bounds { all: 10_000, of_one: 1_000 };

/// The recipient of an offer: a principal, as one of its agents, in a project.
pub(super) type OfferRecipient = (String, String, String);

/// `POST /api/v1/ops/{name}`
pub(super) async fn run(
    State(server): ServerState,
    Segments(name): Segments<String>,
    caller: AuthenticatedCaller,
    query: RawQuery,
    request: Request,
) -> HandlerResult {
    // The client that makes this request has read every answer given before it arrived.
    let progress = server.offers().progress();
    let (parts, content) = request.into_parts();
    let asked = Credentials::of(&parts);
    let given = Given::read(query.0.as_deref(), &["project"])?;
    let content = body(&server, &parts, content).await?;
    let op = Op::read_at(Door::Http, &name, &if_match(&asked, &name, content)?)?;
    let named = project_named(&asked, &given, &caller)?;
    let project = server.project(&caller, &named, true).await?;
    let call = server.call(&caller, project, Some(&asked))?;
    let offered = op.entry().offered;
    let is_retryable = asked.header(IDEMPOTENCY)?.is_some();
    server.confirm(&caller, &call, &op, progress, is_retryable).await;
    let reply = server.run_as(&caller, call.clone(), op).await?;
    if let Some(offered) = offered.filter(|_| !reply.replayed) {
        let offered = offered(&reply.body)?;
        if offered != Offered::default() {
            let request = Some(call.request_id.as_str().to_owned());
            server.offers().answered(request, recipient(&caller, &call), &caller.grants.principal, offered);
        }
    }
    let mut response = tagged(reply.body);
    if reply.replayed {
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// The project that a request names. A caller with a role in only one project need not name it.
pub(super) fn project_named(asked: &Credentials<'_>, given: &Given, caller: &AuthenticatedCaller) -> Result<String> {
    if let Some(named) = given.text("project") {
        return Ok(named.to_owned());
    }
    if let Some(named) = asked.header(PROJECT)? {
        return Ok(named.to_owned());
    }
    let mut own = caller.grants.members.keys();
    match (own.next(), own.next()) {
        (Some(only), None) if only != tenure_core::access::EVERY_PROJECT => Ok(only.to_string()),
        _ => Err(Error::usage(Code::ProjectMissing, "the request names no project")
            .hint(format!("Add ?project=NAME to the address, or the header `{PROJECT}`."))),
    }
}

fn recipient(caller: &AuthenticatedCaller, call: &Call) -> OfferRecipient {
    (caller.grants.principal.to_string(), call.actor.name.to_string(), call.project.key.to_string())
}

impl Server {
    /// Confirms what the caller was offered before this request, so that the request sees only what is new. A retry
    /// confirms nothing, because the lost answer may be the one with the offer. At worst the same offer is made twice,
    /// marked.
    async fn confirm(&self, caller: &AuthenticatedCaller, call: &Call, op: &Op, progress: u64, is_retryable: bool) {
        let recipient = recipient(caller, call);
        let request = Some(call.request_id.as_str());
        let Some(seen) = self.offers().seen(&recipient, progress, request) else { return };
        if is_retryable {
            let (call, op) = (call.clone(), op.clone());
            let kept = self.blocking(move |kernel| kernel.kept(&call, &op)).await;
            if !matches!(kept, Ok(None)) {
                return;
            }
        }
        let call = Call { request_id: RequestId::draw(&OsEntropy), ..call.clone() };
        let op = Op::new(confirm::Confirm { events: seen.events, mail: seen.mail });
        // If this fails, the next request tries again.
        if self.queue.run(call, op, Arc::new(|| true), self.deadline()).await.is_ok() {
            self.offers().confirmed(&recipient, progress, request);
        }
    }
}
