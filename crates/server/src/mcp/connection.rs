//! One MCP client, from `initialize` to the end of its input.
//!
//! Calls run one at a time, in order of arrival: a client that sends `note` and `done` at once means them in that
//! order. They run on their own threads, so that pings and cancellations are answered while a store is slow.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation,
    InitializeRequestParams, InitializeResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, RequestMetaObject, Resource, ResourceContents,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use tenure_core::{Code, Error, Result};
use tenure_kernel::Op;
use tenure_kernel::op::{confirm, resume, session_end};
use tenure_kernel::query::beginning::{Beginning, SessionOpening};

use super::answer::{self, ToolAnswer};
use super::guess;
use super::host::{Host, Thread, ToolCaller};
use super::tool::{self, Tool, ToolCall};
use super::{BRIEF, anonymous_agent};
use crate::delivery::Pending;
use crate::quota::Bounds;
use tenure_client::phrasing::Commands;

/// The metadata key of the request id that a retry of a call repeats.
const REQUEST_ID: &str = "tenure/requestId";
/// The metadata key of the conversation of a call, for clients with several on one connection.
const THREAD_ID: &str = "threadId";
/// The argument with the session of a call. Plugins of some tools can change only the arguments of a call, so they pass
/// it here. No schema names it, because it is not for models.
const SESSION: &str = "tenure/session";
const MARKDOWN: &str = "text/markdown";
/// The maximum number of unconfirmed offers in one connection: a client may name any number of agents.
const OFFERS: Bounds = Bounds { all: 1_000, of_one: 1_000 };

/// A connection. Its clones share one state.
#[derive(Clone)]
pub(crate) struct Connection(Arc<ConnectionState>);

struct ConnectionState {
    host: Arc<dyn Host>,
    /// The agent of the connection, for calls that name no other.
    own: OnceLock<ToolCaller>,
    /// Whether that agent has run an op, so that its end must be recorded.
    acted: AtomicBool,
    delivery: Mutex<Pending<String>>,
    turn: tokio::sync::Mutex<()>,
}

/// Records that an agent's session has ended.
fn end(own: &ToolCaller, host: &dyn Host) {
    let over = session_end::SessionEnd {
        tool: if own.tool.is_empty() { "mcp".to_owned() } else { own.tool.clone() },
        session: own.name.clone(),
        reason: "other".to_owned(),
        event: String::new(),
    };
    let ended = host.run(own, None, &Op::new(over));
    host.log(&match ended {
        Ok(_) => format!("{} is over", own.name),
        Err(error) => format!("{} is over, but recording this failed: {error}", own.name),
    });
}

/// The origin of a request.
struct Origin {
    /// The host that handles it.
    host: Arc<dyn Host>,
    thread: Option<Thread>,
    client: String,
    request_id: Option<String>,
    /// The position in the conversation when it arrived.
    progress: u64,
}

impl Connection {
    pub(crate) fn new(host: Arc<dyn Host>) -> Connection {
        Connection(Arc::new(ConnectionState {
            host,
            own: OnceLock::new(),
            acted: AtomicBool::new(false),
            delivery: Mutex::new(Pending::new(OFFERS)),
            turn: tokio::sync::Mutex::new(()),
        }))
    }

    /// Ends the connection, and its own agent with it.
    pub(crate) fn hang_up(&self) {
        // Recorded once: a clone dropped later finds the flag cleared.
        if let Some(own) = self.0.own.get().filter(|_| self.0.acted.swap(false, Ordering::AcqRel)) {
            end(own, &*self.0.host);
        }
    }

    fn delivery(&self) -> MutexGuard<'_, Pending<String>> {
        self.0.delivery.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn origin(&self, context: &RequestContext<RoleServer>, own: Option<&RequestMetaObject>) -> Origin {
        let text = |key: &str| {
            let found = context.meta.get(key).or_else(|| own?.get(key))?;
            found.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Origin {
            host: self.0.host.of_request(&context.extensions).unwrap_or_else(|| self.0.host.clone()),
            thread: text(THREAD_ID).map(|id| Thread { tool: None, id }),
            client: context.client_info().map(|client| client.name).unwrap_or_default(),
            request_id: text(REQUEST_ID),
            progress: self.delivery().progress(),
        }
    }

    fn who(&self, origin: &Origin) -> Result<ToolCaller> {
        let named = origin.host.caller(origin.thread.as_ref())?;
        Ok(named.unwrap_or_else(|| {
            self.0.own.get_or_init(|| anonymous_agent::named(&origin.client, &*origin.host)).clone()
        }))
    }

    /// Waits for its turn, then runs `act` as the caller on its own thread. `None` if the request was cancelled before.
    async fn in_turn<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        origin: Origin,
        act: impl FnOnce(&Connection, &ToolCaller, &Origin) -> Result<T> + Send + 'static,
    ) -> Option<(Option<ToolCaller>, Result<T>)> {
        let _turn = tokio::select! {
            biased;
            () = context.ct.cancelled() => return None,
            turn = self.0.turn.lock() => turn,
        };
        let this = self.clone();
        let job = tokio::task::spawn_blocking(move || match this.who(&origin) {
            Ok(who) => {
                let outcome = act(&this, &who, &origin);
                (Some(who), outcome)
            }
            Err(error) => (None, Err(error)),
        });
        Some(job.await.unwrap_or_else(|error| (None, Err(Error::bug(format!("a call panicked: {error}"))))))
    }

    fn tool_call(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        who: &ToolCaller,
        origin: &Origin,
    ) -> Result<ToolAnswer> {
        self.confirm(who, origin);
        let tool_call = ToolCall::new(&*origin.host, who, origin.request_id.as_deref());
        let outcome = tool.run(&tool_call, arguments);
        if tool_call.has_acted() && who.is_connection {
            self.0.acted.store(true, Ordering::Release);
        }
        let how = outcome.as_ref().map_or_else(|error| error.code().as_str(), |_| "ok");
        origin.host.log(&format!("{} by {}: {how}", tool.name, who.name));
        outcome
    }

    /// Confirms the answers given before this call arrived: the caller has read them.
    fn confirm(&self, who: &ToolCaller, origin: &Origin) {
        let Some(seen) = self.delivery().seen(&who.name, origin.progress, None) else { return };
        let op = Op::new(confirm::Confirm { events: seen.events, mail: seen.mail });
        match origin.host.run(who, None, &op) {
            Ok(_) => self.delivery().confirmed(&who.name, origin.progress, None),
            // The next call tries again. At worst the same offer is made twice, marked.
            Err(error) => origin.host.log(&format!("confirm by {}: {}", who.name, error.code())),
        }
    }

    async fn call(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
        origin: Origin,
    ) -> std::result::Result<rmcp::model::CallToolResult, ErrorData> {
        let act =
            move |this: &Connection, who: &ToolCaller, origin: &Origin| this.tool_call(tool, arguments, who, origin);
        let Some((who, outcome)) = self.in_turn(context, origin, act).await else {
            // The client does not see this: the answer to a cancelled request is dropped.
            return Err(ErrorData::internal_error("cancelled", None));
        };
        // A call that was cancelled meanwhile is not answered, so its offer was not seen. A later cancellation changes
        // nothing: some clients send one after each answer that they have read.
        if let Some(who) = who.filter(|_| !context.ct.is_cancelled()) {
            let offered = outcome.as_ref().map(|answer| answer.offered).unwrap_or_default();
            self.delivery().answered(None, who.name, "", offered);
        }
        Ok(answer::result(&outcome))
    }
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_server_info(Implementation::new("tenure", env!("CARGO_PKG_VERSION")))
            .with_instructions(super::instructions(None))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut info = self.negotiate_initialize(&request)?;
        let host = self.0.host.of_request(&context.extensions).unwrap_or_else(|| self.0.host.clone());
        let opening = tokio::task::spawn_blocking(move || opening(&*host)).await.ok().flatten();
        info.instructions = Some(super::instructions(opening.as_ref()));
        Ok(info)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tool::ALL.iter().map(Tool::shown).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let mut origin = self.origin(&context, request.meta.as_ref());
        let tool = tool::named(&request.name).ok_or_else(|| unknown(&request.name))?;
        let mut arguments = request.arguments.unwrap_or_default();
        match session(&mut arguments) {
            Ok(None) => {}
            Ok(thread) => origin.thread = thread,
            Err(refusal) => return Ok(answer::result(&Err(refusal)).into()),
        }
        Ok(self.call(tool, arguments, &context, origin).await?.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<ListResourcesResult, ErrorData> {
        let brief = Resource::new(BRIEF, "brief")
            .with_title("Brief")
            .with_description("What `resume` would answer now; reading it claims no task")
            .with_mime_type(MARKDOWN);
        Ok(ListResourcesResult::with_all_items(vec![brief]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<ReadResourceResponse, ErrorData> {
        if request.uri != BRIEF {
            let uri = tenure_core::text::excerpt(&request.uri);
            return Err(ErrorData::resource_not_found(format!("unknown resource: {uri}"), None));
        }
        let origin = self.origin(&context, request.meta.as_ref());
        let look = |_: &Connection, who: &ToolCaller, origin: &Origin| {
            let host = &origin.host;
            let labels = host.defaults()?.labels;
            host.peek(who, &resume::Resume { labels, ..resume::Resume::default() })
        };
        match self.in_turn(&context, origin, look).await {
            Some((_, Ok(seen))) => {
                let contents = ResourceContents::text(seen.brief.text, BRIEF).with_mime_type(MARKDOWN);
                Ok(ReadResourceResult::new(vec![contents]).into())
            }
            Some((_, Err(error))) => {
                Err(ErrorData::internal_error(error.message().to_owned(), Some(error.to_json(&Commands))))
            }
            None => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    /// A call whose arguments are not an object does not reach `call_tool`. It is a usage error like any other.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        if method != "tools/call" {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        }
        let params = params.unwrap_or_default();
        let Some(name) = params["name"].as_str() else {
            return Err(ErrorData::invalid_params("`name`, the tool to call, is missing", None));
        };
        tool::named(name).ok_or_else(|| unknown(name))?;
        let refusal = Error::usage(Code::BadArguments, "`arguments` is not an object").entity("arguments");
        serde_json::to_value(answer::result(&Err(refusal)))
            .map(CustomResult::new)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

/// What there is to do for the agent that connects. A connection that is its own agent is not named yet, and has no mail.
/// A project that cannot be read must not keep a client from connecting.
fn opening(host: &dyn Host) -> Option<SessionOpening> {
    let nameless = || ToolCaller { name: "nobody".to_owned(), tool: String::new(), is_connection: false };
    let who = host.caller(None).ok()?.unwrap_or_else(nameless);
    let labels = host.defaults().ok()?.labels;
    let query = Beginning { request: resume::Resume { labels, ..resume::Resume::default() }, ready: 1 };
    let found = Mutex::new(None);
    let asked = host.ask(&who, &|client, call| {
        *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(client.ask(call, &query)?);
        Ok(())
    });
    asked.ok()?;
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the session of a call out of its arguments.
fn session(arguments: &mut Map<String, Value>) -> Result<Option<Thread>> {
    let Some(said) = arguments.remove(SESSION).filter(|said| !said.is_null()) else { return Ok(None) };
    let tool = said["tool"].as_str().filter(|tool| (1..=16).contains(&tool.len()) && is_word(tool));
    let id = said["id"].as_str().filter(|id| tenure_core::session::id(id).is_ok());
    match (tool, id, said.as_object().map(Map::len)) {
        (Some(tool), Some(id), Some(2)) => Ok(Some(Thread { tool: Some(tool.to_owned()), id: id.to_owned() })),
        _ => Err(Error::usage(Code::BadArguments, format!("`{SESSION}` must be a tool and an id")).entity(SESSION)),
    }
}

/// Whether a text is all lowercase letters. A name that starts with such a word is never that of a person.
fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The error for an unknown tool. Models guess the names of tools from other trackers, so it names the right one.
fn unknown(tool: &str) -> ErrorData {
    let named = tenure_core::text::excerpt(tool);
    match guess::meant(tool) {
        Some((right, with)) => ErrorData::invalid_params(
            format!("unknown tool: {named}. Call `{right}`{with}."),
            Some(json!({ "tool": right })),
        ),
        None => {
            let all = tool::names().join(", ");
            ErrorData::invalid_params(format!("unknown tool: {named}. The tools are {all}."), None)
        }
    }
}

#[cfg(test)]
mod tests;
