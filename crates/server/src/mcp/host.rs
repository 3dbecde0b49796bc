//! The host: what the MCP server needs of the program around it.

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

/// The op on some patterns of one checkout, and on whether its file system does not tell `A` from `a`.
pub type OnPaths<'a> = dyn Fn(Vec<String>, bool) -> Op + 'a;

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCaller {
    /// The agent.
    pub name: String,
    /// Its tool, empty if unknown.
    pub tool: String,
    /// Whether the agent is the connection itself, and ends with it.
    pub is_connection: bool,
}

/// The conversation that a call belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The agent tool whose session it is, where the call says so. Without it the client names its threads by the
    /// protocol.
    pub tool: Option<String>,
    /// Its id.
    pub id: String,
}

/// What the project's configuration says where a call does not.
#[derive(Clone, Debug, Default)]
pub struct HostDefaults {
    /// The label filter.
    pub labels: Vec<String>,
    /// How long the hold on a task lives.
    pub task_ttl_s: Option<i64>,
}

/// The project that the server was started in, as whoever calls may use it.
///
/// Every method may block, and is called off the runtime's thread; calls of one connection come one after the other.
/// Nothing may be assumed to stay as it was between two calls: another process may have made the project, moved it or
/// changed its configuration.
pub trait Host: Send + Sync + 'static {
    /// The host of one request, where requests of one connection may be of different callers. `None`: this one.
    fn of_request(&self, _extensions: &Extensions) -> Option<Arc<dyn Host>> {
        None
    }

    /// The agent that the surroundings name, or the conversation that a call belongs to (given with each call). `None`:
    /// neither, so the connection is an agent of its own.
    fn caller(&self, thread: Option<&Thread>) -> Result<Option<ToolCaller>>;

    /// Runs an op as somebody, and returns its answer as JSON. With a request id the same op is carried out once;
    /// without one an id is drawn. The project is made if need be.
    fn run(&self, who: &ToolCaller, request_id: Option<&str>, op: &Op) -> Result<String>;

    /// The same with paths, as they were typed: relative to the directory the server was started in, and in the checkout
    /// that they are in, which may be another one than the server's. All of them must be in one.
    fn run_on_paths(
        &self,
        who: &ToolCaller,
        request_id: Option<&str>,
        typed: &[String],
        op: &OnPaths<'_>,
    ) -> Result<String>;

    /// The same in what belongs to the whole store instead of the project.
    fn run_in_store(&self, who: &ToolCaller, request_id: Option<&str>, op: &Op) -> Result<String>;

    /// Asks a query as an agent. Nothing is created or changed.
    fn ask(&self, who: &ToolCaller, ask: &Ask<'_>) -> Result<()>;

    /// What `resume` would answer somebody now. Nothing is taken, offered or confirmed.
    fn peek(&self, who: &ToolCaller, request: &resume::Resume) -> Result<Resumed>;

    /// A file of the checkout as it is now: where it is, its sum and its size.
    fn artifact(&self, path: &str) -> Result<Artifact>;

    /// The configuration of the project.
    fn defaults(&self) -> Result<HostDefaults>;

    /// Fills with random bytes.
    fn draw(&self, bytes: &mut [u8]);

    /// Writes a line for whoever looks for the cause of a problem. It must not reach standard output.
    fn log(&self, line: &str);
}
