//! MCP: over standard input and output, one connection for the life of its process; over HTTP, many.

mod anonymous_agent;
mod answer;
mod connection;
mod guess;
mod host;
pub(crate) mod http;
mod schema;
mod tool;

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;
use tenure_core::opening::Opening;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::query::beginning::SessionOpening;
use tokio::signal::unix::{Signal, SignalKind, signal};

use connection::Connection;
pub use host::{Ask, Host, HostDefaults, OnPaths, Thread, ToolCaller};

/// The calls, in the server's instructions for clients.
const CALLS: &str = "Start with `resume`: it gives you a task and its context. `note` progress for the next agent; \
                     end with `done` and a summary, or `block` with a reason. `reserve` files before you edit \
                     them; `add` tasks that you discover; `list` tells who works on what. Without an id, calls mean your \
                     task.";

/// The server's instructions for clients: what there is to do, if the project can be read, and the calls.
pub fn instructions(opening: Option<&SessionOpening>) -> String {
    match opening {
        Some(SessionOpening::Free { lost, ready, ready_total, unread, others }) => {
            let first = ready.first().map(|task| (task.id.as_str(), task.title.as_str()));
            Opening { lost: lost.as_deref(), ready: *ready_total, first, unread: *unread, others }.text(CALLS)
        }
        Some(SessionOpening::Brief(_)) => {
            format!("Tenure coordinates the agents in this repository. You hold a task.\n{CALLS}")
        }
        None => format!("Tenure coordinates the agents in this repository.\n{CALLS}"),
    }
}

/// The URI of the only resource.
pub const BRIEF: &str = "tenure://brief";

/// Serves one client on standard input and output until it hangs up or the process gets a signal to stop.
///
/// The runtime exists only for this call, so no other command pays for it.
pub fn serve(host: Arc<dyn Host>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let connection = Connection::new(host);
    let outcome = runtime.block_on(converse(connection.clone()));
    // A thread may still wait for the next line of a client that keeps the pipe open. The process exits without it.
    runtime.shutdown_background();
    connection.hang_up();
    outcome
}

async fn converse(connection: Connection) -> Result<()> {
    let mut ends = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()]
        .into_iter()
        .map(signal)
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(failed)?;
    let running = tokio::select! {
        running = connection.serve(stdio_pipes()) => running,
        () = told_to_end(&mut ends) => return Ok(()),
    };
    let running = match running {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            return Err(Error::new(Code::BadHandshake, "the client did not send `initialize`")
                .at(Stage::Arguments)
                .hint("An MCP client starts this command and sends `initialize` first.")
                .cause(error));
        }
    };
    let stop = running.cancellation_token();
    let mut over = std::pin::pin!(running.waiting());
    tokio::select! {
        _ = &mut over => {}
        () = told_to_end(&mut ends) => {
            stop.cancel();
            let _ = over.await;
        }
    }
    Ok(())
}

async fn told_to_end(signals: &mut [Signal]) {
    std::future::poll_fn(|context| {
        if signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
            return std::task::Poll::Ready(());
        }
        std::task::Poll::Pending
    })
    .await;
}

fn failed(error: std::io::Error) -> Error {
    Error::new(Code::Internal, "the server cannot be started").at(Stage::Open).cause(error)
}

/// The tools for the reference page, in the form of `tools/list`.
pub fn tools() -> serde_json::Value {
    serde_json::Value::Array(tool::ALL.iter().map(|tool| serde_json::json!(tool.shown())).collect())
}

/// The names of the tools.
pub fn names() -> Vec<&'static str> {
    tool::names()
}

/// The names of the ops that the tools run.
pub fn ops() -> Vec<&'static str> {
    let mut ops: Vec<&str> = tool::ALL.iter().flat_map(|tool| tool.ops).copied().collect();
    ops.sort_unstable();
    ops.dedup();
    ops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_name_the_calls_and_fit() {
        assert!(CALLS.chars().count() <= 330, "{}", CALLS.chars().count());
        for call in ["`resume`", "`note`", "`done`"] {
            assert!(instructions(None).contains(call));
        }
    }
}
