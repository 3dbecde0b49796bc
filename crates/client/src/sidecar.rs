//! The kernel of an embedded store with a server beside it.
//!
//! The server is faster when there are many writers, but it is never the authority: if anything goes wrong on the way
//! to it, the op runs in this process. Two facts make that safe. First, the client closes the connection before it runs
//! the op itself, and the server drops requests it has not started once their peer has hung up. Second, a request that
//! the server has already executed is in the store under its request id. The fallback uses the same id and is answered
//! from that record. This would stop being safe if the request were sent again under another id, or if the connection
//! stayed open while the op runs in this process.

use std::cell::{Cell, OnceCell};
use std::path::PathBuf;
use std::time::Duration;

use tenure_core::error::detail::SentAs;
use tenure_core::{Code, Error, Kind, Result, Stage};
use tenure_kernel::{Call, Kernel, Op, Query, Reply};
use tenure_store::{Location, Options};

use super::socket::{Expected, Socket};
use super::{read, socket_path};
use crate::wire::{NOT_RUN, WireRequest};

/// The timeout for the server's first line. The server writes it before it reads anything, so a server that does not
/// write it at once is stopped or overloaded. While such a server exists, every call of a client pays this time.
const HELLO_PATIENCE: Duration = Duration::from_millis(500);

/// A generous bound for the server's work on one row of a large op. A client that leaves earlier only makes the server
/// roll back work that is nearly done, and gets no turn itself.
const WORK_ON_ROW: Duration = Duration::from_millis(1);

/// A kernel with a server beside it.
pub struct Sidecar {
    kernel: Kernel,
    location: Location,
    options: Options,
    path: PathBuf,
    expected: Expected,
    /// Whether queries go to the server too. A caller that also writes then need not open the store.
    asks: bool,
    socket: OnceCell<Option<Socket>>,
    closed: Cell<bool>,
}

impl Sidecar {
    /// A kernel on a file, with the server whose socket is at `path`. Nothing is opened yet.
    pub fn new(
        database: PathBuf,
        options: Options,
        path: PathBuf,
        store: Option<String>,
        asks: bool,
    ) -> Result<Sidecar> {
        let expected = Expected { store, file: socket_path::file_identity(&database) };
        let location = Location::File(database);
        let kernel = Kernel::new(location.clone(), options.clone(), crate::phrasing::of)?;
        let (socket, closed) = (OnceCell::new(), Cell::new(false));
        Ok(Sidecar { kernel, location, options, path, expected, asks, socket, closed })
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Half of the patience is for the server, the other half for the fallback.
    fn half(&self) -> Duration {
        self.options.turn() / 2
    }

    /// How long the answer to an op may take: half of the patience to start it, plus the work on its rows.
    fn patience_for(&self, op: &Op) -> Duration {
        let work = match op.items() {
            1 => Duration::ZERO,
            rows => WORK_ON_ROW.saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX)),
        };
        let patience = self.half().saturating_add(work);
        self.options.deadline.map_or(patience, |deadline| patience.min(deadline.remaining() / 2))
    }

    fn socket(&self) -> Option<&Socket> {
        if self.closed.get() {
            return None;
        }
        let connect = || Socket::connect(&self.path, &self.expected, HELLO_PATIENCE.min(self.half()));
        self.socket.get_or_init(connect).as_ref()
    }

    /// The server's answer. `None` means that there was none and that the connection is closed.
    fn answered(&self, request: Result<WireRequest>, patience: Duration) -> Option<Result<Reply>> {
        let socket = self.socket()?;
        let answered = request.and_then(|request| socket.send_within(&request, patience));
        match answered {
            Ok(Err(error)) if error.code() == NOT_RUN => {}
            Ok(answer) => return Some(answer),
            Err(_) => {}
        }
        // The connection is closed before this process does anything itself, whatever the failure was.
        socket.close();
        self.closed.set(true);
        None
    }

    pub(super) fn run(&self, call: &Call, op: &Op) -> Result<Reply> {
        if self.socket().is_none() {
            let answer = self.kernel.run(call, op);
            // Another process may have sent a request with a given id before.
            return if call.request_id.is_given() { self.found_out(call, op, answer) } else { answer };
        }
        let milliseconds = u64::try_from(self.half().as_millis()).ok();
        match self.answered(WireRequest::op(call, op, milliseconds), self.patience_for(op)) {
            Some(answer) => answer,
            None => {
                let options = Options { patience: self.half(), ..self.options.clone() };
                let answer = Kernel::new(self.location.clone(), options, crate::phrasing::of)?.run(call, op);
                self.found_out(call, op, answer)
            }
        }
    }

    /// Resolves the outcome of an op that was sent to the server and got no turn in this process. The server may have
    /// committed it and be stopped before its answer, or be in the middle of the commit. Otherwise it finds the
    /// connection closed.
    fn found_out(&self, call: &Call, op: &Op, answer: Result<Reply>) -> Result<Reply> {
        let busy = match answer {
            Err(error) if error.kind() == Kind::Busy => error,
            answer => return answer,
        };
        // The order matters: whatever was being decided before `is_deciding` returned false is committed, so the read
        // after it finds the record.
        let is_deciding = self.kernel.store().is_deciding();
        match self.kernel.kept(call, op) {
            Ok(Some(reply)) => Ok(reply),
            _ if is_deciding => Err(undecided(call).cause(busy)),
            _ => Err(busy),
        }
    }

    pub(super) fn ask<Q: Query>(&self, call: &Call, query: &Q) -> Result<Q::Answer> {
        if !self.asks || self.socket().is_none() {
            return self.kernel.ask(call, query);
        }
        let milliseconds = u64::try_from(self.half().as_millis()).ok();
        match self.answered(WireRequest::query(call, query, milliseconds), self.half()) {
            Some(answer) => read(&answer?),
            None => self.kernel.ask(call, query),
        }
    }
}

fn undecided(call: &Call) -> Error {
    let id = call.request_id.as_str();
    Error::new(Code::Undecided, "the server stopped in the middle of a commit: the request may still be executed")
        .at(Stage::Commit)
        .hint(format!("Repeat the call with --request-id {id}: it is executed once, and you get the result."))
        .with(&SentAs(id.to_owned()))
}
