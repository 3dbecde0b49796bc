//! MCP over streamable HTTP: the same ten tools for clients that have a token. A session of the protocol is a connection:
//! an agent of its own unless the client names one, and it ends with the session.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tenure_core::access::{self, Grants, Sort};
use tenure_core::{Error, Kind, Result, Stage};
use tenure_kernel::op::note::Artifact;
use tenure_kernel::op::resume;
use tenure_kernel::shape::Resumed;
use tenure_kernel::{Call, Kernel, Op, Reply, RequestId};
use tenure_store::table::project;
use tenure_store::{Entropy as _, OsEntropy};
use tokio::runtime::Handle;

use super::connection::Connection;
use super::desk::{Defaults, Desk, OnPaths, Query, Who};
use crate::http::{Caller, Proof, Server};
use crate::reach::{Far, Reach};
use crate::wire::{Asked, Hello, Request as Sent};

/// How long a session is kept that nobody uses. Its agent is over then; what it held lapses as it would have.
const QUIET: Duration = Duration::from_secs(30 * 60);
/// Most sessions at once, and most of one token.
const SESSIONS: usize = 2_000;
const SESSIONS_OF_ONE: usize = 200;
/// The header with the id of a session.
const SESSION: &str = "mcp-session-id";
/// The protocol in which there are no sessions.
const WITHOUT_SESSIONS: &str = "2026-07-28";

tokio::task_local! {
    /// Who makes the request that is being answered: a session that it begins is theirs.
    static VISITOR: Slot;
}

/// Who makes a request, and about what.
#[derive(Clone)]
pub(crate) struct Visitor {
    /// Who it is.
    pub(crate) caller: Caller,
    /// The call that its ops are made with.
    pub(crate) call: Call,
    /// Whether it named the agent itself.
    pub(crate) is_named: bool,
}

/// Who made the last request of a session: what it may is looked up with each.
#[derive(Clone)]
struct Slot(Arc<RwLock<Visitor>>);

impl Slot {
    fn of(visitor: Visitor) -> Slot {
        Slot(Arc::new(RwLock::new(visitor)))
    }

    fn visitor(&self) -> Visitor {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it belongs to whoever showed this.
    fn is_of(&self, proof: &Proof) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).caller.proof == *proof
    }

    /// Takes the newest visitor in, if it is who the session belongs to and about the same project.
    fn replace(&self, visitor: Visitor) -> bool {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // The same token: one that may less must not act through a session of one that may more.
        let same = held.caller.proof == visitor.caller.proof
            && held.caller.name == visitor.caller.name
            && held.call.project.key == visitor.call.project.key;
        if same {
            *held = visitor;
        }
        same
    }
}

/// The door.
pub(crate) struct Door {
    service: StreamableHttpService<Connection, LocalSessionManager>,
    /// Whose session is whose: an id alone opens nothing.
    owners: Mutex<HashMap<String, Slot>>,
    sessions: Arc<LocalSessionManager>,
}

impl Door {
    /// A door of a server. It must not be kept by the server itself, which it keeps.
    pub(crate) fn of(server: &Arc<Server>) -> Door {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(QUIET);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = config;
        let sessions = Arc::new(sessions);
        let server = server.clone();
        let begin = move || {
            let slot = VISITOR.try_with(Clone::clone).map_err(std::io::Error::other)?;
            let desk = HttpDesk { server: server.clone(), runtime: Handle::current(), slot };
            Ok(Connection::new(Arc::new(desk)))
        };
        // Which hosts it is called by is the proxy's business; what keeps other sites out is the token, which no browser
        // sends by itself.
        let config = StreamableHttpServerConfig::default().disable_allowed_hosts();
        let service = StreamableHttpService::new(begin, sessions.clone(), config);
        Door { service, owners: Mutex::default(), sessions }
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, visitor: Visitor, request: Request<Body>) -> Result<Response<Body>> {
        self.forget_ended().await;
        let slot = match session(request.headers()) {
            None => {
                let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
                let own = owners.values().filter(|slot| slot.is_of(&visitor.caller.proof)).count();
                if owners.len() >= SESSIONS || own >= SESSIONS_OF_ONE {
                    return Err(too_many());
                }
                drop(owners);
                Slot::of(visitor)
            }
            Some(session) => {
                let known = self.owners.lock().unwrap_or_else(PoisonError::into_inner).get(&session).cloned();
                known.filter(|slot| slot.replace(visitor)).ok_or_else(unknown_session)?
            }
        };
        let ends = *request.method() == Method::DELETE;
        let mut response = VISITOR.scope(slot.clone(), self.service.handle(request)).await;
        // What clients take for a session that is over.
        if ends && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        if let Some(session) = session(response.headers()) {
            self.owners.lock().unwrap_or_else(PoisonError::into_inner).entry(session).or_insert(slot);
        }
        Ok(response.map(Body::new))
    }

    /// Forgets whose the sessions were that are over.
    async fn forget_ended(&self) {
        let live: HashSet<String> = self.sessions.sessions.read().await.keys().map(|id| id.to_string()).collect();
        self.owners.lock().unwrap_or_else(PoisonError::into_inner).retain(|id, _| live.contains(id));
    }
}

fn too_many() -> Error {
    Error::new(Kind::Busy, "overloaded", Stage::Lock, "there are as many sessions as the server takes")
        .hint("End sessions that are no longer used; quiet ones end by themselves.")
}

/// As for a session that never was: the client begins a new one.
fn unknown_session() -> Error {
    Error::new(Kind::NotFound, "unknown_session", Stage::Resolve, "there is no such session")
        .hint("Begin a new one with `initialize`.")
}

fn session(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Whether a request is made in the protocol without sessions: the agent is then who the token says.
pub(crate) fn is_without_sessions(headers: &HeaderMap) -> bool {
    headers.get("mcp-protocol-version").is_some_and(|version| version == WITHOUT_SESSIONS)
}

/// What a session asks of the server around it.
struct HttpDesk {
    server: Arc<Server>,
    runtime: Handle,
    slot: Slot,
}

impl HttpDesk {
    fn visitor(&self) -> Visitor {
        self.slot.visitor()
    }

    fn call(&self, who: &Who, request_id: Option<&str>) -> Result<Call> {
        let mut call = self.visitor().call;
        call.actor.name = who.name.clone();
        call.actor.tool = who.tool.clone();
        call.request_id = match request_id {
            Some(given) => RequestId::given(given)?,
            None => RequestId::draw(&OsEntropy),
        };
        Ok(call)
    }

    /// Carries an op out in its turn. Calls of tools run on threads that may block.
    fn carry_out(&self, call: Call, op: &Op) -> Result<String> {
        let visitor = self.visitor();
        let run = self.server.run_as(&visitor.caller, call, op.clone());
        self.runtime.block_on(run).map(|reply| reply.body)
    }
}

impl Desk for HttpDesk {
    fn caller(&self, thread: Option<&str>) -> Result<Option<Who>> {
        let visitor = self.visitor();
        let principal = &visitor.caller.grants.principal;
        let itself = |name: &str| Who { name: name.to_owned(), tool: String::new(), is_connection: false };
        // Only a person has agents of its own; a service or an agent is itself, however often it connects.
        if visitor.is_named || Sort::of(principal) != Sort::Person {
            return Ok(Some(itself(&visitor.caller.name)));
        }
        match thread {
            Some(thread) => {
                let name = format!("mcp-{thread}").to_ascii_lowercase();
                tenure_core::name::check(&name)?;
                Ok(Some(itself(&name)))
            }
            None => Ok(None),
        }
    }

    fn run(&self, who: &Who, request_id: Option<&str>, op: &Op) -> Result<String> {
        self.carry_out(self.call(who, request_id)?, op)
    }

    fn run_on_paths(&self, who: &Who, request_id: Option<&str>, typed: &[String], op: &OnPaths<'_>) -> Result<String> {
        if self.visitor().call.checkout.is_none() {
            return Err(Error::usage("no_checkout", "paths belong to a working tree, and the session names none")
                .hint(
                    "Connect with the header `Tenure-Checkout: HOST:PATH`, or use `tenure mcp` in the working tree.",
                ));
        }
        self.carry_out(self.call(who, request_id)?, &op(typed.to_vec(), false))
    }

    fn run_in_store(&self, who: &Who, request_id: Option<&str>, op: &Op) -> Result<String> {
        let call = Call { project: project::whole_store(), checkout: None, ..self.call(who, request_id)? };
        self.carry_out(call, op)
    }

    fn ask(&self, who: &Who, query: &Query<'_>) -> Result<Value> {
        let call = self.call(who, None)?;
        let here = Here { kernel: self.server.kernel.clone(), grants: call.actor.principal.clone() };
        query(&Reach::Far(Box::new(here)), &call)
    }

    fn peek(&self, who: &Who, request: &resume::Request) -> Result<Resumed> {
        self.server.kernel.peek(&self.call(who, None)?, request)
    }

    fn artifact(&self, _path: &str) -> Result<Artifact> {
        Err(Error::usage("no_files", "the server does not see the files of your working tree")
            .hint("Note artifacts with `tenure note --artifact`, or with `tenure mcp`, where the files are."))
    }

    fn defaults(&self) -> Result<Defaults> {
        Ok(Defaults::default())
    }

    fn draw(&self, bytes: &mut [u8]) {
        OsEntropy.fill(bytes);
    }

    fn log(&self, line: &str) {
        self.server.log.line("info", &[("mcp", line)]);
    }
}

/// The kernel of this process, asked the way that a far one is.
struct Here {
    kernel: Arc<Kernel>,
    /// Whose calls they are: it does not travel, so it is put back here.
    grants: Option<Grants>,
}

impl Far for Here {
    fn hello(&self) -> Result<Hello> {
        Err(Error::bug("nobody greets its own kernel"))
    }

    fn send(&self, request: &Sent) -> Result<Result<Reply>> {
        let mut call = request.call.call.clone();
        call.actor.principal = self.grants.clone();
        Ok(match request.asked()? {
            Asked::Op(op) => self.kernel.run(&call, &op),
            Asked::Query(query) => self.kernel.answer(&call, &query).map(|body| Reply { body, replayed: false }),
        })
    }

    fn name(&self) -> String {
        "here".to_owned()
    }
}

/// The refusal of a project that a session cannot be about.
pub(crate) fn not_the_store() -> Error {
    access::unknown_project(access::WHOLE_STORE)
}
