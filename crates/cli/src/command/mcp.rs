//! `tenure mcp`

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::sync::Arc;

use tenure_client::Connections;
use tenure_core::agent::Process;
use tenure_core::session::CommandOwner;
use tenure_core::{Result, Span};
use tenure_kernel::answer::Resumed;
use tenure_kernel::op::note::Artifact;
use tenure_kernel::op::resume;
use tenure_kernel::{Actor, Door, Op};
use tenure_server::mcp::{self, Ask, Host, HostDefaults, OnPaths, Thread, ToolCaller};
use tenure_store::table::project;
use tenure_store::{Entropy, OsEntropy};

use super::{Group, Spec};
use crate::env::Env;
use crate::globals::Globals;
use crate::output::Printer;
use crate::session::Session;
use crate::workspace::path_args;
use crate::workspace::process::{HostFacts, stat};
use crate::{failure, identity};

pub(super) const SPEC: Spec = Spec {
    name: "mcp",
    aliases: &[],
    group: Group::Hidden,
    about: "Speak MCP on standard input and output, for agent tools",
    examples: &["tenure mcp"],
    args: |command| command,
    run: |session, _| {
        if std::io::stdin().is_terminal() {
            session.out.aside("This speaks MCP: an agent tool starts it. End it with Ctrl-C or Ctrl-D.");
        }
        let host = ProjectHost {
            globals: session.globals.clone(),
            env: session.env.clone(),
            process: process(session.env),
            connections: Connections::default(),
        };
        // Standard output belongs to the protocol, so even with --json an error does not go there.
        Ok(match mcp::serve(Arc::new(host)) {
            Ok(()) => 0,
            Err(error) => {
                session.out.complain(&failure::text(&error));
                error.kind().exit()
            }
        })
    },
};

/// The project around the server. Each call looks anew where it is, as each command does: nothing of the store is kept open
/// between two calls, and what other processes changed meanwhile is seen.
struct ProjectHost {
    globals: Globals,
    env: Env,
    /// The process of the server.
    process: Option<Process>,
    /// To a server far away: they stay open, each call is another.
    connections: Connections,
}

impl ProjectHost {
    fn with<T>(
        &self,
        who: &ToolCaller,
        request_id: Option<&str>,
        act: impl FnOnce(&Session<'_>) -> Result<T>,
    ) -> Result<T> {
        let out = Printer::new(false, true, &self.env);
        let globals = Globals { request_id: request_id.map(str::to_owned), ..self.globals.clone() };
        let actor = Actor {
            name: who.name.clone().into(),
            tool: who.tool.clone(),
            // An agent that is this connection is gone when the server is, whatever becomes of the client: a second
            // server is another connection. Of any other agent its own process says nothing: its tool may start the
            // server again.
            process: self.process.clone().filter(|_| who.is_connection),
            door: Door::Mcp,
            principal: None,
        };
        act(&Session::new(globals, &self.env, &out).over(&self.connections).acting_as(actor))
    }
}

impl Host for ProjectHost {
    fn caller(&self, thread: Option<&Thread>) -> Result<Option<ToolCaller>> {
        let out = Printer::new(false, true, &self.env);
        let session = Session::new(self.globals.clone(), &self.env, &out).over(&self.connections);
        let caller = session.asker()?;
        let found = identity::through_mcp(caller, thread, |tools| {
            session.session_among(tools).unwrap_or(CommandOwner::Unknown)
        })?;
        Ok(found.map(|identity| ToolCaller {
            name: identity.name,
            tool: identity.tool.unwrap_or_default().to_owned(),
            is_connection: false,
        }))
    }

    fn run(&self, who: &ToolCaller, request_id: Option<&str>, op: &Op) -> Result<String> {
        self.with(who, request_id, |session| session.run(op)).map(|reply| reply.body)
    }

    fn run_on_paths(
        &self,
        who: &ToolCaller,
        request_id: Option<&str>,
        typed: &[String],
        op: &OnPaths<'_>,
    ) -> Result<String> {
        let typed: Vec<OsString> = typed.iter().map(OsString::from).collect();
        self.with(who, request_id, |session| {
            let found = path_args::read(session, &typed)?;
            session.run(&op(found.paths, found.fold_case)).map(|reply| reply.body)
        })
    }

    fn run_in_store(&self, who: &ToolCaller, request_id: Option<&str>, op: &Op) -> Result<String> {
        op.check()?;
        self.with(who, request_id, |session| session.run_in(project::whole_store(), op)).map(|reply| reply.body)
    }

    fn ask(&self, who: &ToolCaller, ask: &Ask<'_>) -> Result<()> {
        self.with(who, None, |session| session.ask_who_holds_with(|client, call| ask(client, call)))
    }

    fn peek(&self, who: &ToolCaller, request: &resume::Resume) -> Result<Resumed> {
        self.with(who, None, |session| super::resume::peek(session, request))
    }

    fn artifact(&self, path: &str) -> Result<Artifact> {
        let out = Printer::new(false, true, &self.env);
        super::note::artifact(
            &Session::new(self.globals.clone(), &self.env, &out).over(&self.connections),
            OsStr::new(path),
        )
    }

    fn defaults(&self) -> Result<HostDefaults> {
        let out = Printer::new(false, true, &self.env);
        let session = Session::new(self.globals.clone(), &self.env, &out).over(&self.connections);
        let config = &session.workspace()?.config;
        Ok(HostDefaults { labels: config.labels.clone(), task_ttl_s: config.task_ttl.map(Span::as_seconds) })
    }

    fn draw(&self, bytes: &mut [u8]) {
        OsEntropy.fill(bytes);
    }

    fn log(&self, line: &str) {
        if self.env.says_yes("TENURE_LOG") {
            let _ = writeln!(std::io::stderr(), "tenure: {line}");
        }
    }
}

/// The server's own process.
fn process(env: &Env) -> Option<Process> {
    let own = i64::from(std::process::id());
    Some(HostFacts::read(env).process(own, stat(own)?.started))
}
