//! The HTTP server: ops and queries for authenticated callers.

mod admission;
mod authentication;
mod backpressure;
mod body;
mod client;
mod denials;
mod etag;
mod events;
mod health;
mod home;
mod idle;
mod limits;
mod listen;
mod login;
mod malformed;
mod mcp;
mod middleware;
pub mod openapi;
mod ops;
mod page;
mod param_schema;
mod problem;
mod proxy;
mod require_caller;
mod resources;
pub(crate) mod revocation;
mod routes;
mod rpc;
mod segments;
#[cfg(test)]
mod tests;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Response, StatusCode, header, request};
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::query::export::Export;
use tenure_kernel::{AnyQuery, Call, Kernel, Op, Reply};
use tokio::sync::{Semaphore, watch};

pub(crate) use self::authentication::AuthenticatedCaller;
pub use self::limits::Limits;
pub(crate) use self::limits::Permit;
use self::limits::RateLimiter;
pub(crate) use self::listen::serve;
pub use self::proxy::Proxies;
pub use self::routes::PUBLIC;
pub(crate) use self::routes::router;
use crate::delivery::Pending;
use crate::event_feed::EventFeed;
use crate::log::ServerLog;
use crate::metrics::Metrics;
use crate::op_queue::OpQueue;
use crate::quota::Budget;
use crate::serve::ServerConfig;

/// The maximum number of concurrent exports.
const EXPORTS: usize = 2;

/// The state shared by all doors of one server.
pub struct Server {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) queue: OpQueue,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) metrics: Metrics,
    pub(crate) doors: RateLimiter,
    /// The revision of the current configuration.
    pub(crate) revision: RwLock<Arc<str>>,
    /// How often the configuration was reloaded, and how often a reload was refused.
    pub(crate) reloads: [AtomicU64; 2],
    pub(crate) log: ServerLog,
    offers: Mutex<Pending<ops::OfferRecipient>>,
    /// The bytes of request bodies that are being read or processed.
    pub(crate) bodies: Budget,
    /// The bytes of answers that authenticated callers have not read.
    pub(crate) unsent: Budget,
    /// The bytes of answers that unauthenticated callers have not read.
    pub(crate) unsent_to_strangers: Budget,
    /// Limited, because each export is in memory as a whole, more than once.
    exports: Semaphore,
    pub(crate) strangers: admission::Strangers,
    /// The peers whose forwarding headers are trusted.
    proxies: RwLock<Arc<Proxies>>,
    pub(crate) denials: denials::Denials,
    /// Whether shutdown has begun. Long-lived requests end on it.
    pub(crate) ending: watch::Sender<bool>,
}

impl Server {
    /// A server for a kernel.
    pub fn new(kernel: Arc<Kernel>, snapshot: &ServerConfig, log: ServerLog) -> Result<Server> {
        let queue = OpQueue::before(kernel.clone())?;
        let feed = Arc::new(EventFeed::new(kernel.clone(), queue.rounds()));
        Ok(Server {
            kernel,
            queue,
            feed,
            metrics: Metrics::default(),
            doors: RateLimiter::new(snapshot.limits),
            revision: RwLock::new(snapshot.revision.as_str().into()),
            reloads: Default::default(),
            log,
            offers: Mutex::new(Pending::new(ops::OFFERS)),
            bodies: Budget::new(body::bounds(snapshot.limits)),
            unsent: Budget::new(backpressure::UNSENT),
            unsent_to_strangers: Budget::new(backpressure::TO_STRANGERS),
            exports: Semaphore::new(EXPORTS),
            strangers: admission::Strangers::default(),
            proxies: RwLock::new(Arc::new(snapshot.proxies.clone())),
            denials: denials::Denials::default(),
            ending: watch::Sender::new(false),
        })
    }

    /// The current limits.
    pub(crate) fn limits(&self) -> Limits {
        self.doors.limits()
    }

    /// The trusted proxies.
    pub(crate) fn proxies(&self) -> Arc<Proxies> {
        self.proxies.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn offers(&self) -> MutexGuard<'_, Pending<ops::OfferRecipient>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision of the current configuration.
    pub(crate) fn revision(&self) -> Arc<str> {
        self.revision.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Applies another configuration.
    pub(crate) fn follow(&self, snapshot: &ServerConfig) {
        self.doors.follow(snapshot.limits);
        self.bodies.follow(body::bounds(snapshot.limits));
        *self.proxies.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot.proxies.clone());
        *self.revision.write().unwrap_or_else(PoisonError::into_inner) = snapshot.revision.as_str().into();
    }

    /// Runs an op in its turn. Dropping the future abandons the op: it does not run if it has not started.
    pub(crate) async fn run(&self, call: Call, op: Op) -> Result<Reply> {
        self.queue.run(call, op, Arc::new(|| true), self.deadline()).await
    }

    /// Runs an op for a caller, if its role allows it.
    pub(crate) async fn run_as(&self, caller: &AuthenticatedCaller, call: Call, op: Op) -> Result<Reply> {
        let (what, project) = (op.name(), call.project.key.clone());
        let caller = &*caller.acting_as(&call.actor.name);
        self.allow(caller, &project, what, op.needs(&project)).await?;
        let outcome = self.run(call, op).await;
        self.noted(caller, what, &project, outcome).await
    }

    /// Asks a query for a caller. The kernel checks the caller's role. A denial is recorded.
    pub(crate) async fn ask_as(&self, caller: &AuthenticatedCaller, call: Call, query: AnyQuery) -> Result<String> {
        let (what, project) = (query.name(), call.project.key.clone());
        let caller = &*caller.acting_as(&call.actor.name);
        let outcome = self.answer_to(call, query).await;
        self.noted(caller, what, &project, outcome).await
    }

    /// The answer to a query.
    pub(crate) async fn answer_to(&self, call: Call, query: AnyQuery) -> Result<String> {
        let _turn = match query.get::<Export>() {
            Some(_) => self.exports.acquire().await.ok(),
            None => None,
        };
        self.blocking(move |kernel| query.ask(kernel, &call)).await
    }

    /// The deadline of a request that arrives now.
    #[expect(clippy::disallowed_methods, reason = "a deadline is a duration of the process, not a time of the domain")]
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.limits().time
    }

    /// Calls the kernel on a thread that may block.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Kernel) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let kernel = self.kernel.clone();
        let asked = tokio::task::spawn_blocking(move || ask(&kernel)).await;
        asked.unwrap_or_else(|error| {
            // A panic is logged for the operator, whatever door the query came through.
            self.log.line("error", &[("message", "a query panicked"), ("code", Code::Internal.as_str())]);
            Err(Error::bug(format!("a query panicked: {error}")))
        })
    }
}

/// The state passed to handlers.
pub(crate) type ServerState = State<Arc<Server>>;

/// The result of a handler.
pub(crate) type HandlerResult = std::result::Result<Response<Body>, Failure>;

/// An error of a handler. The outermost middleware writes it, with the id of the request.
pub(crate) struct Failure(pub(crate) Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure(error)
    }
}

/// An error inside a response, until the outermost middleware has seen it.
#[derive(Clone)]
pub(crate) struct Carried(pub(crate) Arc<Error>);

/// An error that was reported inside a document, for the log.
#[derive(Clone)]
pub(crate) struct EmbeddedError(pub(crate) Arc<Error>);

impl axum::response::IntoResponse for Failure {
    fn into_response(self) -> axum::response::Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = problem::status(&self.0);
        response.extensions_mut().insert(Carried(Arc::new(self.0)));
        response
    }
}

/// A JSON document as a response.
pub(crate) fn json(body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The whole body of a request, if it is JSON and not too long.
pub(crate) async fn body(server: &Server, parts: &request::Parts, body: Body) -> Result<String> {
    let media = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case("application/json") {
        return Err(Error::usage(Code::UnsupportedMediaType, "the Content-Type of the request is not JSON")
            .hint("Send it with Content-Type: application/json."));
    }
    let bytes = body::whole(server, parts, body).await?;
    String::from_utf8(bytes).map_err(|_| Error::usage(Code::BadArguments, "the body is not UTF-8"))
}

/// The body of a small form, from any caller.
pub(crate) async fn body_of_form(body: Body) -> Result<String> {
    let bytes = body::short(body, 4_096).await?;
    String::from_utf8(bytes).map_err(|_| Error::usage(Code::BadArguments, "the form is not UTF-8"))
}

fn no_such_address() -> Error {
    Error::new(Code::UnknownAddress, "there is nothing at this address")
        .at(Stage::Arguments)
        .hint("The addresses are in /api/v1/openapi.json.")
}

fn no_such_method() -> Error {
    Error::usage(Code::UnknownMethod, "this address does not support the method")
        .hint("The methods are in /api/v1/openapi.json.")
}

/// How long a listener may be silent before it gets a heartbeat.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
