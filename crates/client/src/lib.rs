//! The ways to a kernel: in this process, through the server beside an embedded store, or on a server elsewhere. Callers do
//! not know which one they use: the same requests have the same answers and the same errors.

mod http;
mod local;
pub mod phrasing;
mod sidecar;
mod socket;
pub mod socket_path;
pub mod wire;

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::answer::export::ExportEnd;
use tenure_kernel::op::Domain;
use tenure_kernel::query::export::{Export, ExportSink};
use tenure_kernel::{Answered, Call, Kernel, Op, Operation, Query, Reply};
use tenure_store::WakeListener;

pub use self::http::{Address, Connections, Http, token};
pub use self::local::needs_store;
pub use self::sidecar::Sidecar;
pub use self::socket::{Expected, Socket};
use self::wire::{Hello, WireRequest};

/// How often a client asks again about a place in the waiting line, where the server cannot wait for it.
const REMOTE_POLL: Duration = Duration::from_millis(500);

/// A way to a kernel.
pub enum Client {
    /// The kernel is in this process.
    Local(Arc<Kernel>),
    /// The kernel is in this process, and a server beside the store runs ops faster.
    Sidecar(Box<Sidecar>),
    /// The kernel is on a server.
    Remote(Box<dyn Remote>),
}

/// A server that requests are sent to.
pub trait Remote {
    /// Which store the server has.
    fn hello(&self) -> Result<Hello>;

    /// Sends a request and returns its answer. The outer error means that there was no answer: whether the request was run
    /// is not known then, and the same request id finds out. It may be sent more than once.
    fn send(&self, request: &WireRequest) -> Result<Result<Reply>>;

    /// The principal of the token, where the server can name it.
    fn principal(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Waits until a place in the waiting line has changed, at most for a time. False: the server cannot wait.
    fn wait(&self, _call: &Call, _place: &str, _most: Duration) -> bool {
        false
    }

    /// What people call it.
    fn name(&self) -> String;

    /// For how many milliseconds an answer is of use.
    fn deadline_ms(&self) -> Option<u64> {
        None
    }
}

impl Client {
    /// Runs an op of a known type: all of it or nothing, once for each request id.
    pub fn run<O: Operation>(&self, call: &Call, op: &O) -> Result<Answered<O::Answer>> {
        match self {
            Client::Local(kernel) => kernel.execute(call, op),
            Client::Sidecar(_) | Client::Remote(_) => self.run_any(call, &Op::new(op.clone())).map(Answered::from),
        }
    }

    /// The same for an op of any type.
    pub fn run_any(&self, call: &Call, op: &Op) -> Result<Reply> {
        match self {
            Client::Local(kernel) => kernel.run(call, op),
            Client::Sidecar(sidecar) => sidecar.run(call, op),
            Client::Remote(remote) => remote.send(&WireRequest::op(call, op, remote.deadline_ms())?)?,
        }
    }

    /// Asks a query. It becomes JSON only where it is sent to a server.
    pub fn ask<Q: Query>(&self, call: &Call, query: &Q) -> Result<Q::Answer> {
        if Q::DOMAIN == Domain::Store {
            return self.ask_as_is(&call.about_store(), query);
        }
        self.ask_as_is(call, query)
    }

    fn ask_as_is<Q: Query>(&self, call: &Call, query: &Q) -> Result<Q::Answer> {
        match self {
            Client::Local(kernel) => kernel.ask(call, query),
            Client::Sidecar(sidecar) => sidecar.ask(call, query),
            Client::Remote(remote) => read(&remote.send(&WireRequest::query(call, query, remote.deadline_ms())?)??),
        }
    }

    /// Writes all tasks and notes of a project, and its log if that is wanted. A server sends them in one piece.
    pub fn export(&self, call: &Call, with_log: bool, sink: &mut dyn ExportSink) -> Result<ExportEnd> {
        if let Some(kernel) = self.local() {
            return kernel.export(call, with_log, sink);
        }
        let exported = self.ask(call, &Export { with_log })?;
        sink.begin()?;
        exported.lines.split_terminator('\n').try_for_each(|line| sink.line(line))?;
        Ok(exported.end)
    }

    /// The server, if the kernel is there.
    pub fn remote(&self) -> Option<&dyn Remote> {
        match self {
            Client::Local(_) | Client::Sidecar(_) => None,
            Client::Remote(remote) => Some(remote.as_ref()),
        }
    }

    /// Waits until something may have changed at a place in the waiting line, at most for a time. It may return at any
    /// moment.
    #[expect(clippy::disallowed_methods, reason = "the pause between two questions")]
    pub fn pause(&self, call: &Call, place: &str, bell: &mut WakeListener, most: Duration) {
        match self {
            Client::Remote(remote) if remote.wait(call, place, most) => {}
            Client::Remote(_) => std::thread::sleep(REMOTE_POLL.min(most)),
            Client::Local(_) | Client::Sidecar(_) => {
                let Some(kernel) = self.local() else { return };
                kernel.store().listen(bell, kernel.store().poll().min(most));
            }
        }
    }
}

/// Reads the answer to a query.
fn read<T: DeserializeOwned>(reply: &Reply) -> Result<T> {
    serde_json::from_str(&reply.body).map_err(|error| {
        Error::new(Code::BadAnswer, format!("the server's answer cannot be read: {error}"))
            .at(Stage::Reply)
            .hint("Client and server may be of different versions: use the same.")
    })
}

#[cfg(test)]
mod tests;
