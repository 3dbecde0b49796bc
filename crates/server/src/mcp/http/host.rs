//! The host of requests over HTTP. Each request acts as its own caller: a session may be used with several tokens of
//! its principal, and no request acts with the rights of another.

use std::sync::Arc;

use rmcp::model::Extensions;
use tenure_client::Client;
use tenure_core::pattern::of_typed;
use tenure_core::session::agent_name;
use tenure_core::{Code, Error, Result};
use tenure_kernel::answer::Resumed;
use tenure_kernel::op::note::Artifact;
use tenure_kernel::op::resume;
use tenure_kernel::query::peek::Peek;
use tenure_kernel::{Call, Op, RequestId};
use tenure_store::{Entropy as _, OsEntropy};
use tokio::runtime::Handle;

use super::Visitor;
use crate::http::Server;
use crate::mcp::host::{Ask, Host, HostDefaults, OnPaths, Thread, ToolCaller};

/// The host of a session, or of one request of it.
pub(super) struct HttpHost {
    pub(super) server: Arc<Server>,
    pub(super) runtime: Handle,
    /// The caller of the request. `None` for the host of the session itself.
    pub(super) visitor: Option<Visitor>,
}

impl HttpHost {
    fn visitor(&self) -> Result<&Visitor> {
        self.visitor.as_ref().ok_or_else(|| Error::bug("a session without a request asks for something"))
    }

    fn call(&self, who: &ToolCaller, request_id: Option<&str>) -> Result<Call> {
        let mut call = self.visitor()?.call.clone();
        call.actor.name = who.name.clone().into();
        call.actor.tool = who.tool.clone();
        call.request_id = match request_id {
            Some(given) => RequestId::given(given)?,
            None => RequestId::draw(&OsEntropy),
        };
        Ok(call)
    }

    /// Runs an op in its turn. Tool calls run on threads that may block.
    fn carry_out(&self, call: Call, op: &Op) -> Result<String> {
        let run = self.server.run_as(&self.visitor()?.caller, call, op.clone());
        self.runtime.block_on(run).map(|reply| reply.body)
    }
}

impl Host for HttpHost {
    fn of_request(&self, extensions: &Extensions) -> Option<Arc<dyn Host>> {
        let parts = extensions.get::<axum::http::request::Parts>()?;
        let visitor = parts.extensions.get::<Visitor>()?.clone();
        let (server, runtime) = (self.server.clone(), self.runtime.clone());
        Some(Arc::new(HttpHost { server, runtime, visitor: Some(visitor) }))
    }

    fn caller(&self, thread: Option<&Thread>) -> Result<Option<ToolCaller>> {
        let visitor = self.visitor()?;
        let itself = |name: &str| ToolCaller { name: name.to_owned(), tool: String::new(), is_connection: false };
        let Some(session) = visitor.session.as_ref().filter(|_| visitor.is_connection()) else {
            return Ok(Some(itself(&visitor.caller.name)));
        };
        match thread {
            Some(thread) => {
                let name = match &thread.tool {
                    // The same agent as in the hooks of that session.
                    Some(tool) => agent_name(tool, &thread.id),
                    None => format!("mcp-{}", thread.id).to_ascii_lowercase(),
                };
                tenure_core::name::check(&name)?;
                Ok(Some(itself(&name)))
            }
            // The next server continues the session, so the agent does not end with this process's state of it.
            None => Ok(Some(ToolCaller { tool: session.client.clone(), ..itself(&session.agent) })),
        }
    }

    fn run(&self, who: &ToolCaller, request_id: Option<&str>, op: &Op) -> Result<String> {
        self.carry_out(self.call(who, request_id)?, op)
    }

    fn run_on_paths(
        &self,
        who: &ToolCaller,
        request_id: Option<&str>,
        typed: &[String],
        op: &OnPaths<'_>,
    ) -> Result<String> {
        if self.visitor()?.call.checkout.is_none() {
            return Err(Error::usage(Code::NoCheckout, "paths belong to a working tree, but the session names none")
                .hint(
                    "Connect with the header `Tenure-Checkout: HOST:PATH`, or use `tenure mcp` in the working tree.",
                ));
        }
        // The server does not see the working tree, so no file of that name decides against a glob.
        let patterns = typed.iter().map(|typed| of_typed(typed).into_owned()).collect();
        self.carry_out(self.call(who, request_id)?, &op(patterns, false))
    }

    fn run_in_store(&self, who: &ToolCaller, request_id: Option<&str>, op: &Op) -> Result<String> {
        self.carry_out(self.call(who, request_id)?.about_store(), op)
    }

    fn ask(&self, who: &ToolCaller, ask: &Ask<'_>) -> Result<()> {
        ask(&Client::Local(self.server.kernel.clone()), &self.call(who, None)?)
    }

    fn peek(&self, who: &ToolCaller, request: &resume::Resume) -> Result<Resumed> {
        self.server.kernel.ask(&self.call(who, None)?, &Peek(request.clone()))
    }

    fn artifact(&self, _path: &str) -> Result<Artifact> {
        Err(Error::usage(Code::NoFiles, "the server cannot read the files of your working tree")
            .hint("Note artifacts with `tenure note --artifact` or `tenure mcp` on the machine that has the files."))
    }

    fn defaults(&self) -> Result<HostDefaults> {
        Ok(HostDefaults::default())
    }

    fn draw(&self, bytes: &mut [u8]) {
        OsEntropy.fill(bytes);
    }

    fn log(&self, line: &str) {
        self.server.log.line("info", &[("mcp", line)]);
    }
}
