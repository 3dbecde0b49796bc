//! Liveness, readiness and metrics endpoints.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use serde_json::json as value;
use tenure_core::access::EVERY_PROJECT;
use tenure_core::{Code, Error, Stage};

use super::authentication::AuthenticatedCaller;
use super::{HandlerResult, ServerState, json};
use crate::metrics::Figure;

/// How long the store may take to answer before it counts as unreachable.
const PATIENCE: Duration = Duration::from_secs(2);

/// `GET /livez`: the process answers. It says nothing about the store, because restarting the server does not repair a
/// store.
pub(super) async fn live() -> HandlerResult {
    Ok(json(value!({ "live": true }).to_string()))
}

/// `GET /readyz`: the store answers a query.
pub(super) async fn ready(State(server): ServerState) -> HandlerResult {
    let asked = server.blocking(|kernel| kernel.store().identity());
    let found = tokio::time::timeout(PATIENCE, asked)
        .await
        .unwrap_or_else(|_| Err(Error::new(Code::StoreSilent, "the store does not answer").at(Stage::Read)));
    Ok(match found {
        Ok(_) => json(value!({ "ready": true }).to_string()),
        Err(error) => {
            let mut response = json(value!({ "ready": false, "code": error.code() }).to_string());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response
        }
    })
}

/// `GET /metrics`: for principals with a role in all projects.
pub(super) async fn metrics(State(server): ServerState, caller: AuthenticatedCaller) -> HandlerResult {
    // The key is not a project's name. It stands for a role in every project.
    let everywhere = caller.grants.members.contains_key(EVERY_PROJECT) && caller.grants.scope.projects.is_none();
    if !everywhere {
        let error = super::no_such_address();
        server.audit(&error, Some(&caller.grants.principal), &caller.name, "read the metrics", "", &caller.from).await;
        return Err(error.into());
    }
    let counts = server.queue.counts();
    let count = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed) as f64;
    let unsent = server.unsent.taken() + server.unsent_to_strangers.taken();
    let figure = |name, help, sort, value| Figure { name, help, sort, value };
    let figures = [
        figure("ops_total", "Answered ops.", "counter", count(&counts.ops)),
        figure("batches_total", "Transactions shared by ops.", "counter", count(&counts.batches)),
        figure("ops_not_run_total", "Ops whose client had disconnected.", "counter", count(&counts.unwanted)),
        figure(
            "ops_turned_away_total",
            "Ops refused because the queue was full.",
            "counter",
            count(&counts.turned_away),
        ),
        figure(
            "configuration_reloads_total",
            "Successful reloads of the configuration.",
            "counter",
            count(&server.reloads[0]),
        ),
        figure(
            "configuration_refusals_total",
            "Failed reloads of the configuration.",
            "counter",
            count(&server.reloads[1]),
        ),
        figure("line", "Queued ops.", "gauge", server.queue.len() as f64),
        figure("http_requests", "Requests in progress.", "gauge", server.doors.requests() as f64),
        figure("http_unsent_bytes", "Bytes of unread answers.", "gauge", unsent as f64),
        figure("http_listeners", "Event listeners.", "gauge", server.doors.listeners() as f64),
    ];
    let mut response = json(server.metrics.text(&server.revision(), &figures));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
