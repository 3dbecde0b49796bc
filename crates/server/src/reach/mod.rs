//! The ways to a kernel: in this process, through the server beside an embedded store, or on a server far away. What
//! stands above does not know which: the same methods, the same answers, the same errors.

mod http;
mod near;
pub mod place;
mod queries;
mod socket;

use std::time::Duration;

use serde::de::DeserializeOwned;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::{Call, Kernel, Op, Query, Reply};
use tenure_store::{Bell, Identity};

pub use self::http::{Address, Connections, Http, token};
pub use self::near::Near;
pub use self::socket::{Expected, Socket};
use crate::wire::{Hello, Request};

/// How often one looks again who waits for something that a server far away knows, where the server cannot tell.
const FAR_POLL: Duration = Duration::from_millis(500);

/// A way to a kernel.
pub enum Reach {
    /// The kernel is in this process.
    Direct(Box<Kernel>),
    /// The kernel is in this process, and a server beside the store carries out ops quicker.
    Near(Box<Near>),
    /// The kernel is elsewhere.
    Far(Box<dyn Far>),
}

/// A server that requests are sent to.
pub trait Far {
    /// Which store is there.
    fn hello(&self) -> Result<Hello>;

    /// Sends a request and returns its answer. The outer error says that there was none: whether the request was carried
    /// out is not known then, and the same request id finds out. It may be sent more than once.
    fn send(&self, request: &Request) -> Result<Result<Reply>>;

    /// Whom the token makes its bearer, where the server can say so.
    fn principal(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Waits until a place in the waiting line has changed, at most for a time. False: it cannot wait there.
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

impl Reach {
    /// Runs an op: all of it or nothing, once for each request id.
    pub fn run(&self, call: &Call, op: &Op) -> Result<Reply> {
        match self {
            Reach::Direct(kernel) => kernel.run(call, op),
            Reach::Near(near) => near.run(call, op),
            Reach::Far(far) => far.send(&Request::op(call, op, far.deadline_ms())?)?,
        }
    }

    /// Asks a query: typed where the kernel is here, as a value where it is not.
    fn ask<T: DeserializeOwned>(
        &self,
        call: &Call,
        direct: impl FnOnce(&Kernel) -> Result<T>,
        query: impl FnOnce() -> Query,
    ) -> Result<T> {
        match self {
            Reach::Direct(kernel) => direct(kernel),
            Reach::Near(near) => near.ask(call, direct, query),
            Reach::Far(far) => read(&far.send(&Request::query(call, &query(), far.deadline_ms())?)??),
        }
    }

    /// The kernel, for what needs the store itself.
    pub fn kernel(&self, what: &str) -> Result<&Kernel> {
        match self {
            Reach::Direct(kernel) => Ok(kernel),
            Reach::Near(near) => Ok(near.kernel()),
            Reach::Far(far) => Err(needs_store(what, &far.name())),
        }
    }

    /// The kernel, if it is in this process.
    pub fn local(&self) -> Option<&Kernel> {
        match self {
            Reach::Direct(kernel) => Some(kernel),
            Reach::Near(near) => Some(near.kernel()),
            Reach::Far(_) => None,
        }
    }

    /// The server, if the kernel is there.
    pub fn server(&self) -> Option<&dyn Far> {
        match self {
            Reach::Direct(_) | Reach::Near(_) => None,
            Reach::Far(far) => Some(far.as_ref()),
        }
    }

    /// Which store this is; one of this machine is made if need be.
    pub fn create(&self) -> Result<Identity> {
        match (self.local(), self.server()) {
            (_, Some(far)) => far.hello().map(|hello| Identity { id: hello.store, incarnation: hello.incarnation }),
            (Some(kernel), None) => kernel.store().create(),
            (None, None) => Err(Error::bug("a kernel that is nowhere")),
        }
    }

    /// Waits until something may have changed at a place in the waiting line, at most for a time. It may return at any
    /// moment.
    #[expect(clippy::disallowed_methods, reason = "the pause between two questions")]
    pub fn pause(&self, call: &Call, place: &str, bell: &mut Bell, most: Duration) {
        match self {
            Reach::Far(far) if far.wait(call, place, most) => {}
            Reach::Far(_) => std::thread::sleep(FAR_POLL.min(most)),
            Reach::Direct(_) | Reach::Near(_) => {
                let Some(kernel) = self.local() else { return };
                kernel.store().listen(bell, kernel.store().poll().min(most));
            }
        }
    }
}

/// The refusal of what cannot be done from far away.
pub fn needs_store(what: &str, server: &str) -> Error {
    let message = format!("{what} works on the store itself, and this project is on the server {server}");
    Error::new(Code::NeedsStore, message)
        .at(Stage::Resolve)
        .hint("Run it on the machine of the server, with the store that the server uses.")
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
