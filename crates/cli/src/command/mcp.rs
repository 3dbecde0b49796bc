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
use tenure_store::{Entropy, OsEntropy};

use super::{Group, Run, Spec};
use crate::env::Env;
use crate::output::{ColourChoice, Printer};
use crate::session::{RunOptions, Session, Sight, StoreUse, caller};
use crate::settings::{Globals, Settings};
use crate::workspace::process::{HostFacts, stat};
use crate::workspace::{self, Workspace, path_args};
use crate::{failure, identity};

pub(super) const SPEC: Spec = Spec {
    name: "mcp",
    aliases: &[],
    group: Group::Hidden,
    about: "Run the MCP server on standard input and output",
    examples: &["tenure mcp"],
    args: |command| command,
    run: Run::Plain(|settings, out, _| {
        if std::io::stdin().is_terminal() {
            out.aside("This is an MCP server, which an agent tool starts. End it with Ctrl-C or Ctrl-D.");
        }
        let host = ProjectHost {
            globals: settings.globals.clone(),
            env: settings.env.clone(),
            process: process(settings.env),
            connections: settings.connections.clone(),
        };
        // Standard output belongs to the protocol, so even with --json an error does not go there.
        Ok(match mcp::serve(Arc::new(host)) {
            Ok(()) => 0,
            Err(error) => {
                out.complain(&failure::text(out, &error));
                error.kind().exit()
            }
        })
    }),
};

/// The project around the server. Each call opens a session of its own, as each command does: nothing of the store is kept
/// open between two calls, and each sees what other processes have changed.
struct ProjectHost {
    globals: Globals,
    env: Env,
    /// The process of the server.
    process: Option<Process>,
    /// Connections to a remote server, which all calls share.
    connections: Connections,
}

impl ProjectHost {
    fn settings(&self, request_id: Option<&str>) -> Settings<'_> {
        let globals = Globals { request_id: request_id.map(str::to_owned), ..self.globals.clone() };
        Settings { globals, env: &self.env, connections: self.connections.clone() }
    }

    fn workspace(&self) -> Result<Workspace> {
        workspace::resolve(&self.globals, &self.env)
    }

    /// Runs an op of a caller in a workspace.
    fn run_in(&self, workspace: Workspace, call: &ToolRequest<'_>, op: &Op, with: RunOptions) -> Result<String> {
        let out = Printer::new(false, true, ColourChoice::Auto, &self.env);
        let settings = self.settings(call.request_id);
        let session = Session::at(workspace, &settings, &out, StoreUse::Write).acting_as(self.actor(call.who));
        session.run_any(op, with).map(|reply| reply.body)
    }

    /// Asks queries of a caller.
    fn read<T>(&self, who: &ToolCaller, ask: impl FnOnce(&Session<'_>) -> Result<T>) -> Result<T> {
        let out = Printer::new(false, true, ColourChoice::Auto, &self.env);
        let settings = self.settings(None);
        ask(&Session::open(&settings, &out, StoreUse::Read)?.acting_as(self.actor(who)))
    }

    fn actor(&self, who: &ToolCaller) -> Actor {
        Actor {
            name: who.name.clone().into(),
            tool: who.tool.clone(),
            // An agent that is this connection is gone when the server is, whatever becomes of the client: a second
            // server is another connection. The process says nothing of any other agent: its tool may start the server
            // again.
            process: self.process.clone().filter(|_| who.is_connection),
            door: Door::Mcp,
            principal: None,
        }
    }
}

/// A request of a tool call.
struct ToolRequest<'a> {
    who: &'a ToolCaller,
    request_id: Option<&'a str>,
}

impl Host for ProjectHost {
    fn caller(&self, thread: Option<&Thread>) -> Result<Option<ToolCaller>> {
        let out = Printer::new(false, true, ColourChoice::Auto, &self.env);
        let settings = Settings { globals: self.globals.clone(), ..self.settings(None) };
        // Where the project cannot be found the environment still names the caller, and the call itself is refused.
        let session = Session::open(&settings, &out, StoreUse::Read).ok();
        let caller = match &session {
            Some(session) => caller::resolved(session)?,
            None => identity::resolve(&self.globals, &self.env)?,
        };
        let found = identity::through_mcp(caller, thread, |tools| {
            let registered = session.as_ref().and_then(|session| caller::registered_among(session, tools).ok());
            registered.unwrap_or(CommandOwner::Unknown)
        })?;
        Ok(found.map(|identity| ToolCaller {
            name: identity.name,
            tool: identity.tool.unwrap_or_default().to_owned(),
            is_connection: false,
        }))
    }

    fn run(&self, who: &ToolCaller, request_id: Option<&str>, op: &Op) -> Result<String> {
        self.run_in(self.workspace()?, &ToolRequest { who, request_id }, op, RunOptions::default())
    }

    fn run_on_paths(
        &self,
        who: &ToolCaller,
        request_id: Option<&str>,
        typed: &[String],
        op: &OnPaths<'_>,
    ) -> Result<String> {
        let typed: Vec<OsString> = typed.iter().map(OsString::from).collect();
        let (workspace, found) = path_args::locate(&self.settings(None), &typed)?;
        let op = op(found.paths, found.fold_case);
        self.run_in(workspace, &ToolRequest { who, request_id }, &op, RunOptions::default())
    }

    fn run_in_store(&self, who: &ToolCaller, request_id: Option<&str>, op: &Op) -> Result<String> {
        self.run_in(self.workspace()?, &ToolRequest { who, request_id }, op, RunOptions::in_store())
    }

    fn ask(&self, who: &ToolCaller, ask: &Ask<'_>) -> Result<()> {
        self.read(who, |session| session.ask_with(Sight::Processes, |client, call| ask(client, call)))
    }

    fn peek(&self, who: &ToolCaller, request: &resume::Resume) -> Result<Resumed> {
        self.read(who, |session| super::resume::peek(session, request))
    }

    fn artifact(&self, path: &str) -> Result<Artifact> {
        super::note::artifact(&self.workspace()?, OsStr::new(path))
    }

    fn defaults(&self) -> Result<HostDefaults> {
        let config = self.workspace()?.config;
        Ok(HostDefaults { labels: config.labels, task_ttl_s: config.task_ttl.map(Span::as_seconds) })
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
