//! Middleware of every request: id, permit, deadline, log line, metrics, security headers. A handler that panics
//! answers 500 and affects no other request.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, Response, header};
use axum::middleware::Next;
use tenure_core::{Code, Error, Kind, Stage};
use tenure_store::{Entropy as _, OsEntropy};

use super::admission::Admission as Has;
use super::backpressure::Withholdable;
use super::client::ClientAddress;
use super::{Carried, EmbeddedError, Server, problem};

/// The header with the id of the request in the log.
pub(super) const REQUEST: HeaderName = HeaderName::from_static("x-request-id");

/// Pages may load only resources of this server, and no site may frame them.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[expect(clippy::disallowed_methods, reason = "how long a request took is measured by this process's clock")]
pub(super) async fn around(State(server): State<Arc<Server>>, mut request: Request, next: Next) -> Response<Body> {
    let began = Instant::now();
    let id = request_id(&request);
    let route = request.extensions().get::<MatchedPath>().map_or("unknown", |path| path.as_str()).to_owned();
    let (method, reads) = (request.method().to_string(), matches!(*request.method(), Method::GET | Method::HEAD));
    let client = ClientAddress::of(&server, &request);
    request.extensions_mut().insert(client);
    // Liveness is answered however many requests are waiting.
    let permit = if route == "/livez" || route == "/readyz" { Ok(None) } else { server.doors.enter().map(Some) };
    let mut response = match permit {
        Err(error) => problem::response(&error, &id),
        Ok(permit) => {
            let has = Has::new(permit);
            request.extensions_mut().insert(has.clone());
            // Listeners are long-lived; they have a limit and an end of their own.
            let answer = Caught(Box::pin(next.run(request)));
            let response = match tokio::time::timeout(server.limits().time, answer).await {
                Ok(Ok(response)) => response,
                Ok(Err(())) => problem::response(&Error::bug("a request could not be answered"), &id),
                Err(_) => problem::response(&too_long(), &id),
            };
            // Code that still keeps the request keeps none of its resources.
            has.leave();
            response
        }
    };
    if let Some(Carried(error)) = response.extensions().get::<Carried>().cloned() {
        // A refusal for another method names the allowed methods.
        let allow = response.headers_mut().remove(header::ALLOW);
        response = problem::response(&error, &id);
        response.headers_mut().extend(allow.map(|allow| (header::ALLOW, allow)));
        log_cause(&server, &id, &error);
    } else if let Some(EmbeddedError(error)) = response.extensions().get::<EmbeddedError>() {
        log_cause(&server, &id, error);
    }
    let may_refuse = reads || response.extensions().get::<Withholdable>().is_some();
    response = server.counted(client, may_refuse, response).unwrap_or_else(|error| problem::response(&error, &id));
    let headers = response.headers_mut();
    headers.insert(REQUEST, HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("-")));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.entry(header::REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    let (status, took) = (response.status().as_u16(), began.elapsed());
    server.metrics.request(&route, status, took);
    let (status, took) = (status.to_string(), format!("{:.1}", took.as_secs_f64() * 1_000.0));
    server
        .log
        .line("info", &[("request", &id), ("method", &method), ("route", &route), ("status", &status), ("ms", &took)]);
    response
}

/// Logs the details that the caller is not told, for the operator.
fn log_cause(server: &Server, id: &str, error: &Error) {
    if matches!(error.kind(), Kind::Storage | Kind::Internal) || error.code() == Code::Unreachable {
        let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
        let fields =
            [("request", id), ("code", error.code().as_str()), ("message", error.message()), ("cause", &cause)];
        server.log.line("error", &fields);
    }
}

/// The id of a request: the caller's if it is valid, else a random one.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(REQUEST).and_then(|value| value.to_str().ok());
    let fits = |id: &&str| {
        (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    given.filter(fits).map_or_else(drawn, str::to_owned)
}

/// A random id for a request without one.
pub(super) fn drawn() -> String {
    let mut bytes = [0; 12];
    OsEntropy.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn too_long() -> Error {
    Error::new(Code::TookTooLong, "the request was not answered in time")
        .at(Stage::Lock)
        .hint("It may have been executed. Repeat it with the same request id to find out.")
}

/// A future that turns a panic into an error.
struct Caught<F>(Pin<Box<F>>);

impl<F: Future> Future for Caught<F> {
    type Output = Result<F::Output, ()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(answer)) => Poll::Ready(Ok(answer)),
            Err(_) => Poll::Ready(Err(())),
        }
    }
}
