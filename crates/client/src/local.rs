//! Access to the store itself, for commands that need more than the answers of its kernel.

use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::Kernel;
use tenure_store::StoreIdentity;

use super::Client;

impl Client {
    /// The kernel, for commands that work on the store itself.
    pub fn kernel(&self, what: &str) -> Result<&Kernel> {
        match self {
            Client::Local(kernel) => Ok(kernel),
            Client::Sidecar(sidecar) => Ok(sidecar.kernel()),
            Client::Remote(remote) => Err(needs_store(what, &remote.name())),
        }
    }

    /// The kernel, if it is in this process.
    pub fn local(&self) -> Option<&Kernel> {
        match self {
            Client::Local(kernel) => Some(kernel),
            Client::Sidecar(sidecar) => Some(sidecar.kernel()),
            Client::Remote(_) => None,
        }
    }

    /// The identity of the store. A local store is created if it does not exist.
    pub fn create(&self) -> Result<StoreIdentity> {
        match self {
            Client::Local(kernel) => kernel.store().create(),
            Client::Sidecar(sidecar) => sidecar.kernel().store().create(),
            Client::Remote(remote) => remote
                .hello()
                .map(|hello| StoreIdentity { id: hello.store.into(), incarnation: hello.incarnation.into() }),
        }
    }
}

/// The refusal of a command that needs the store itself in a project that is on a server.
pub fn needs_store(what: &str, server: &str) -> Error {
    let message = format!("{what} works on the store itself, but this project is on the server {server}");
    Error::new(Code::NeedsStore, message)
        .at(Stage::Resolve)
        .hint("Run it on the machine of the server, on the store that the server uses.")
}
