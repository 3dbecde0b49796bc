//! The host: what the MCP server needs from the surrounding program.

use std::sync::Arc;

use rmcp::model::Extensions;
use tenure_client::Client;
use tenure_core::Result;
use tenure_kernel::answer::Resumed;
use tenure_kernel::op::note::Artifact;
use tenure_kernel::op::resume;
use tenure_kernel::{Call, Op};

/// Asks a query and keeps its answer. It may be called twice.
pub type Ask<'a> = dyn Fn(&Client, &Call) -> Result<()> + 'a;

/// Builds the op for some patterns of one checkout. The flag says whether its file system is case-insensitive.
pub type OnPaths<'a> = dyn Fn(Vec<String>, bool) -> Op + 'a;

/// The caller of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCaller {
    pub name: String,
    /// Its tool; empty if unknown.
    pub tool: String,
    /// Whether the agent is the connection itself and ends with it.
    pub is_connection: bool,
}

/// The conversation of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The agent tool of the session, if the call names it. Otherwise the id is the client's own thread id.
    pub tool: Option<String>,
    pub id: String,
}

/// Defaults from the project's configuration for values that a call omits.
#[derive(Clone, Debug, Default)]
pub struct HostDefaults {
    /// The label filter.
    pub labels: Vec<String>,
    /// The TTL of the hold on a task.
    pub task_ttl_s: Option<i64>,
}

/// The project that the server was started in, as its callers may use it.
///
/// Every method may block and is called off the runtime's thread. The calls of one connection come one after the other.
/// An implementation must not assume that anything stays the same between two calls: another process may have created
/// the project, moved it or changed its configuration.
pub trait Host: Send + Sync + 'static {
    /// The host of one request, if requests of one connection may have different callers. `None` means this host.
    fn of_request(&self, _extensions: &Extensions) -> Option<Arc<dyn Host>> {
        None
    }

    /// The agent that the environment names, or that belongs to the conversation of the call. `None` if there is
    /// neither: the connection is then its own agent.
    fn caller(&self, thread: Option<&Thread>) -> Result<Option<ToolCaller>>;

    /// Runs an op as a caller and returns its answer as JSON. An op with a request id runs once; without one, a random
    /// id is used. The project is created if it does not exist.
    fn run(&self, who: &ToolCaller, request_id: Option<&str>, op: &Op) -> Result<String>;

    /// Runs an op on paths as they were typed: relative to the directory the server was started in. The op runs in the
    /// checkout that contains the paths, which may differ from the server's. All paths must be in one checkout.
    fn run_on_paths(
        &self,
        who: &ToolCaller,
        request_id: Option<&str>,
        typed: &[String],
        op: &OnPaths<'_>,
    ) -> Result<String>;

    /// Runs an op on the whole store instead of the project.
    fn run_in_store(&self, who: &ToolCaller, request_id: Option<&str>, op: &Op) -> Result<String>;

    /// Asks a query as an agent. Nothing is created or changed.
    fn ask(&self, who: &ToolCaller, ask: &Ask<'_>) -> Result<()>;

    /// What `resume` would answer. Nothing is claimed, offered or confirmed.
    fn peek(&self, who: &ToolCaller, request: &resume::Resume) -> Result<Resumed>;

    /// A file of the checkout in its current state: its location, checksum and size.
    fn artifact(&self, path: &str) -> Result<Artifact>;

    /// The configuration of the project.
    fn defaults(&self) -> Result<HostDefaults>;

    /// Fills with random bytes.
    fn draw(&self, bytes: &mut [u8]);

    /// Writes a line to the log, for the operator. It must not reach standard output.
    fn log(&self, line: &str);
}
