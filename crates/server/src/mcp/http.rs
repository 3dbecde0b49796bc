//! MCP over streamable HTTP: the same ten tools for clients with a token. A session of the protocol is its own agent
//! unless the client names one. Any server of the store can continue it, and only its client ends it.

mod host;
mod resumed_client;
mod revocable_stream;
mod session;
mod streams;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, header, request};
use rmcp::transport::streamable_http_server::session::local::SessionConfig;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tenure_core::access::{self, PrincipalKind};
use tenure_core::{Code, Error, Kind, Result, Stage};
use tenure_kernel::op::session_end;
use tenure_kernel::{Call, Op, RequestId};
use tenure_store::OsEntropy;
use tokio::runtime::Handle;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use self::host::HttpHost;
use self::resumed_client::{ResumedClient, SPOKEN, spoken};
use self::session::{McpSession, SessionOwner};
use self::streams::{BEGUN, Sessions};
use super::connection::Connection;
use crate::http::{AuthenticatedCaller, Server};

/// How long this process keeps an unused session in memory. A client can still continue it later.
const QUIET: Duration = Duration::from_secs(30 * 60);
/// The maximum number of sessions in total, and of one principal.
const SESSIONS: usize = 2_000;
const SESSIONS_OF_ONE: usize = 200;
/// How many ended sessions are remembered.
const ENDED: usize = 10_000;
/// How often a new session is drawn to find an agent name that is not in use.
const DRAWS: usize = 8;
/// The header with the id of a session.
const SESSION: &str = "mcp-session-id";
/// The header with the version of the protocol.
const VERSION: &str = "mcp-protocol-version";
/// The protocol version without sessions.
const WITHOUT_SESSIONS: &str = "2026-07-28";

/// The caller of a request and the call it makes.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) caller: AuthenticatedCaller,
    /// The call that its ops use.
    pub(crate) call: Call,
    /// Whether the client named the agent itself.
    pub(crate) is_named: bool,
    /// The session of the request.
    session: Option<McpSession>,
    /// Held until the request has run, even if its client no longer waits.
    at_work: Option<Arc<OwnedRwLockReadGuard<()>>>,
}

impl Visitor {
    pub(crate) fn new(caller: AuthenticatedCaller, call: Call, is_named: bool) -> Visitor {
        Visitor { caller, call, is_named, session: None, at_work: None }
    }

    fn whose(&self) -> SessionOwner<'_> {
        SessionOwner { principal: &self.caller.grants.principal, project: &self.call.project.key }
    }

    /// Whether its session is its own agent. A principal that is an agent stays itself, however often it connects.
    fn is_connection(&self) -> bool {
        !self.is_named && PrincipalKind::of(&self.caller.grants.principal) != PrincipalKind::Agent
    }

    /// A call by the agent of the session. `None` if the session is not its own agent.
    fn own_call(&self) -> Option<Call> {
        let session = self.session.as_ref().filter(|_| self.is_connection())?;
        let mut call = self.call.clone();
        call.actor.name = session.agent.clone().into();
        call.actor.tool = session.client.clone();
        call.request_id = RequestId::draw(&OsEntropy);
        Some(call)
    }

    /// Whether the agent of its session has ended. `None` if it has done nothing yet.
    async fn standing(&self, server: &Server) -> Result<Option<bool>> {
        let Some(call) = self.own_call() else { return Ok(None) };
        server.blocking(move |kernel| kernel.said_good_bye(&call)).await
    }
}

/// A session that this process has loaded.
struct ReadySession {
    principal: String,
    /// Shared by the requests in progress.
    work: Arc<RwLock<()>>,
}

/// The MCP endpoint of a server.
pub(crate) struct McpEndpoint {
    server: Arc<Server>,
    service: StreamableHttpService<Connection, Sessions>,
    sessions: Arc<Sessions>,
    /// The sessions that this process has loaded.
    ready: Mutex<HashMap<String, ReadySession>>,
    /// Sessions are loaded one at a time. Requests for a session wait meanwhile.
    making: tokio::sync::Mutex<()>,
    /// The sessions that were ended here, oldest first. If their agents did anything, the store has their end too.
    ended: Mutex<(HashSet<String>, VecDeque<String>)>,
}

impl McpEndpoint {
    /// The endpoint of a server. The server itself must not own it, because it owns the server.
    pub(crate) fn of(server: &Arc<Server>) -> McpEndpoint {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(QUIET);
        let sessions = Arc::new(Sessions::new(config, server.unsent.clone()));
        let around = server.clone();
        let begin = move || {
            let host = HttpHost { server: around.clone(), runtime: Handle::current(), visitor: None };
            Ok(Connection::new(Arc::new(host)))
        };
        // The proxy decides which host names are served. The origin of a page is checked before.
        let mut config = StreamableHttpServerConfig::default().disable_allowed_hosts();
        config.max_request_body_bytes = usize::MAX;
        config.session_store = Some(Arc::new(ResumedClient));
        let service = StreamableHttpService::new(begin, sessions.clone(), config);
        McpEndpoint {
            server: server.clone(),
            service,
            sessions,
            ready: Mutex::default(),
            making: tokio::sync::Mutex::default(),
            ended: Mutex::default(),
        }
    }

    /// Answers a request.
    pub(crate) async fn answer(
        &self,
        visitor: Visitor,
        parts: request::Parts,
        content: Bytes,
    ) -> Result<Response<Body>> {
        let live = self.sessions.live().await;
        self.ready().retain(|id, _| live.contains(id));
        if is_without_sessions(&parts.headers) {
            return self.pass(&visitor, parts, content).await;
        }
        match parts.headers.get(SESSION).map(|id| id.to_str().map(str::to_owned)) {
            None => self.begin(visitor, parts, content).await,
            Some(id) => self.go_on(visitor, &id.unwrap_or_default(), parts, content).await,
        }
    }

    /// Answers a request without a session. It may start one.
    async fn begin(&self, visitor: Visitor, parts: request::Parts, content: Bytes) -> Result<Response<Body>> {
        let said: Value = serde_json::from_slice(&content).unwrap_or_default();
        if said["method"] != "initialize" {
            return self.pass(&visitor, parts, content).await;
        }
        self.has_room(&visitor)?;
        let client = said["params"]["clientInfo"]["name"].as_str().unwrap_or_default();
        let mut new = visitor.clone();
        for _ in 0..DRAWS {
            new.session = Some(McpSession::draw(client, visitor.whose(), &OsEntropy));
            // The name is short, so another agent may have had it.
            if matches!(new.standing(&self.server).await, Ok(None)) {
                break;
            }
        }
        let id = new.session.as_ref().map(|session| session.id.clone()).unwrap_or_default();
        let response = BEGUN.scope(id.as_str().into(), self.pass(&new, parts, content)).await?;
        if response.headers().contains_key(SESSION) {
            self.is_ready(&id, &visitor);
        }
        Ok(response)
    }

    /// Answers a request in a session, whichever server started it.
    async fn go_on(
        &self,
        mut visitor: Visitor,
        id: &str,
        parts: request::Parts,
        content: Bytes,
    ) -> Result<Response<Body>> {
        let session = McpSession::read(id, visitor.whose()).filter(|_| !self.ended().0.contains(id));
        visitor.session = Some(session.ok_or_else(unknown_session)?);
        match visitor.standing(&self.server).await {
            Ok(Some(true)) => return Err(unknown_session()),
            // The agent belongs to another principal by now, so the session cannot be continued.
            Err(error) if error.kind() == Kind::Denied => return Err(unknown_session()),
            standing => {
                standing?;
            }
        }
        if parts.method == Method::DELETE {
            return self.end(&visitor, id, parts, content).await;
        }
        self.make_ready(&visitor, id, &parts).await?;
        if parts.method == Method::GET {
            let response = self.pass(&visitor, parts, content).await?;
            return match response.status() {
                StatusCode::OK => revocable_stream::watched(&self.server, visitor, response),
                _ => Ok(response),
            };
        }
        let work = self.ready().get(id).map(|ready| ready.work.clone());
        if let Some(work) = work {
            visitor.at_work = Some(Arc::new(work.read_owned().await));
        }
        self.pass(&visitor, parts, content).await
    }

    /// Passes a request to the protocol library, with its caller.
    async fn pass(&self, visitor: &Visitor, mut parts: request::Parts, content: Bytes) -> Result<Response<Body>> {
        parts.extensions.insert(visitor.clone());
        let request = Request::from_parts(parts, Body::from(content));
        Ok(self.service.handle(request).await.map(Body::new))
    }

    /// Loads a session that another server started, or that this process has dropped from memory.
    async fn make_ready(&self, visitor: &Visitor, id: &str, parts: &request::Parts) -> Result<()> {
        if self.ready().contains_key(id) {
            return Ok(());
        }
        let _one = self.making.lock().await;
        if self.ready().contains_key(id) {
            return Ok(());
        }
        self.has_room(visitor)?;
        let mut greeting =
            Request::new(Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
        *greeting.method_mut() = Method::POST;
        *greeting.uri_mut() = parts.uri.clone();
        let headers = greeting.headers_mut();
        for name in ["host", SESSION] {
            headers.extend(parts.headers.get(name).map(|value| (header::HeaderName::from_static(name), value.clone())));
        }
        let both = header::HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, both);
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        let (greeting, content) = greeting.into_parts();
        let answer = SPOKEN.scope(spoken(&parts.headers), self.pass(visitor, greeting, content)).await?;
        if !answer.status().is_success() {
            return Err(Error::bug(format!("a session cannot be continued: {}", answer.status())));
        }
        self.is_ready(id, visitor);
        Ok(())
    }

    /// Ends a session after its requests in progress: a hold that an agent takes after its end would stay its own.
    async fn end(&self, visitor: &Visitor, id: &str, parts: request::Parts, content: Bytes) -> Result<Response<Body>> {
        let work = self.ready().get(id).map(|ready| ready.work.clone());
        let mut response = self.pass(visitor, parts, content).await?;
        if response.status() != StatusCode::ACCEPTED {
            return Ok(response);
        }
        self.remember_ended(id);
        let patience = self.server.limits().time / 2;
        if let Some(work) = work {
            // A request that takes longer than the limit has been given up or does not run any more.
            let _ = tokio::time::timeout(patience, work.write()).await;
        }
        if let Err(error) = self.free(visitor).await {
            // The session has not ended, so the client may retry.
            self.ended().0.remove(id);
            return Err(error);
        }
        // The status that clients expect for an ended session.
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    }

    /// Records that the agent of a session has ended, which frees its holds at once.
    async fn free(&self, visitor: &Visitor) -> Result<()> {
        let Some(call) = visitor.own_call() else { return Ok(()) };
        if visitor.standing(&self.server).await? != Some(false) {
            return Ok(());
        }
        let agent = call.actor.name.clone();
        let over = session_end::SessionEnd {
            tool: call.actor.tool.clone(),
            session: agent.to_string(),
            reason: "other".to_owned(),
            event: String::new(),
        };
        self.server.run_as(&visitor.caller, call, Op::new(over)).await?;
        self.server.log.line("info", &[("mcp", &format!("{agent} is over"))]);
        Ok(())
    }

    fn is_ready(&self, id: &str, visitor: &Visitor) {
        let principal = visitor.caller.grants.principal.clone();
        self.ready().insert(id.to_owned(), ReadySession { principal: principal.into(), work: Arc::default() });
    }

    fn has_room(&self, visitor: &Visitor) -> Result<()> {
        let ready = self.ready();
        let own = ready.values().filter(|ready| ready.principal == visitor.caller.grants.principal).count();
        if ready.len() >= SESSIONS || own >= SESSIONS_OF_ONE { Err(too_many()) } else { Ok(()) }
    }

    fn remember_ended(&self, id: &str) {
        let mut ended = self.ended();
        let (known, order) = &mut *ended;
        if known.insert(id.to_owned()) {
            order.push_back(id.to_owned());
        }
        if order.len() > ENDED
            && let Some(oldest) = order.pop_front()
        {
            known.remove(&oldest);
        }
    }

    fn ready(&self) -> MutexGuard<'_, HashMap<String, ReadySession>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> MutexGuard<'_, (HashSet<String>, VecDeque<String>)> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_many() -> Error {
    Error::new(Code::Overloaded, "the server has reached its limit of sessions")
        .at(Stage::Lock)
        .hint("End unused sessions; idle sessions expire.")
}

/// The same error as for a session that never existed: the client starts a new one.
fn unknown_session() -> Error {
    Error::new(Code::UnknownSession, "the session does not exist")
        .at(Stage::Resolve)
        .hint("Begin a new session with `initialize`.")
}

/// Whether a request uses the protocol without sessions. The token then names the agent.
pub(crate) fn is_without_sessions(headers: &HeaderMap) -> bool {
    headers.get(VERSION).is_some_and(|version| version == WITHOUT_SESSIONS)
}

/// The refusal of the whole store as the project of a session.
pub(crate) fn not_the_store() -> Error {
    access::unknown_project(access::WHOLE_STORE)
}
