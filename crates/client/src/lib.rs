//! The ways to a kernel: in this process, through the server beside an embedded store, or on a remote server. A caller
//! does not know which one it uses: the same requests get the same answers and the same errors.

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

/// How often a client polls its place in the waiting line when the server cannot long-poll.
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

/// A server that accepts requests.
pub trait Remote {
    /// The identity of the server's store.
    fn hello(&self) -> Result<Hello>;

    /// Sends a request and returns its answer. An outer error means that no answer arrived. The caller then does not
    /// know whether the request ran; sending it again under the same request id finds out. An implementation may send a
    /// request more than once.
    fn send(&self, request: &WireRequest) -> Result<Result<Reply>>;

    /// The principal of the token, if the server can name it.
    fn principal(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Waits until a place in the waiting line changes, or until `most` has passed. Returns false if the server cannot
    /// wait.
    fn wait(&self, _call: &Call, _place: &str, _most: Duration) -> bool {
        false
    }

    /// The name shown to people.
    fn name(&self) -> String;

    /// For how many milliseconds the answer is still useful.
    fn deadline_ms(&self) -> Option<u64> {
        None
    }
}

impl Client {
    /// Runs an op of a known type: all or nothing, once per request id.
    pub fn run<O: Operation>(&self, call: &Call, op: &O) -> Result<Answered<O::Answer>> {
        match self {
            Client::Local(kernel) => kernel.execute(call, op),
            Client::Sidecar(_) | Client::Remote(_) => self.run_any(call, &Op::new(op.clone())).map(Answered::from),
        }
    }

    /// Runs an op of any type, like [`Client::run`].
    pub fn run_any(&self, call: &Call, op: &Op) -> Result<Reply> {
        match self {
            Client::Local(kernel) => kernel.run(call, op),
            Client::Sidecar(sidecar) => sidecar.run(call, op),
            Client::Remote(remote) => remote.send(&WireRequest::op(call, op, remote.deadline_ms())?)?,
        }
    }

    /// Asks a query. It is serialised only if it goes to a server.
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

    /// Exports all tasks and notes of a project, and its log on request. A server sends them as one document.
    pub fn export(&self, call: &Call, with_log: bool, sink: &mut dyn ExportSink) -> Result<ExportEnd> {
        if let Some(kernel) = self.local() {
            return kernel.export(call, with_log, sink);
        }
        let exported = self.ask(call, &Export { with_log })?;
        sink.begin()?;
        exported.lines.split_terminator('\n').try_for_each(|line| sink.line(line))?;
        Ok(exported.end)
    }

    /// The server, if the kernel is remote.
    pub fn remote(&self) -> Option<&dyn Remote> {
        match self {
            Client::Local(_) | Client::Sidecar(_) => None,
            Client::Remote(remote) => Some(remote.as_ref()),
        }
    }

    /// Waits until something may have changed at a place in the waiting line, or until `most` has passed. It may return
    /// early.
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

/// Deserialises the answer to a query.
fn read<T: DeserializeOwned>(reply: &Reply) -> Result<T> {
    serde_json::from_str(&reply.body).map_err(|error| {
        Error::new(Code::BadAnswer, format!("the server's answer cannot be read: {error}"))
            .at(Stage::Reply)
            .hint("Client and server may be of different versions: use the same.")
    })
}

#[cfg(test)]
mod tests;
