//! The kernel of an embedded store with a server beside it.
//!
//! The server is faster where many write, and never the authority: if anything goes wrong on the way to it, the op runs
//! here. Two things make that safe. The client closes the connection first, and the server drops what it has
//! not begun of a peer that has hung up; what it had carried out by then stands in the store under the request id, which
//! is the same here, so that it is answered from its record. It would stop being safe if a request were sent again under
//! another id, or if the connection were kept open while the op runs here.

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

/// The first line is written before anything is asked, so a server that does not write it at once is stopped or far too
/// busy. Every call of a client pays this while such a server is there.
const HELLO_PATIENCE: Duration = Duration::from_millis(500);

/// How long the work on one row of a large op may take at the server, generously: leaving while it works would only make it
/// take back what is nearly done, and leave no turn here.
const WORK_ON_ROW: Duration = Duration::from_millis(1);

/// A kernel with a server beside it.
pub struct Sidecar {
    kernel: Kernel,
    location: Location,
    options: Options,
    path: PathBuf,
    expected: Expected,
    /// Whether queries go to the server too: a caller that also writes need not open the store then.
    asks: bool,
    socket: OnceCell<Option<Socket>>,
    closed: Cell<bool>,
}

impl Sidecar {
    /// A kernel on a file, with the server whose socket is at `path`. Nothing is touched yet.
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

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Half of the patience is for the server, the other half for going direct.
    fn half(&self) -> Duration {
        self.options.turn() / 2
    }

    /// How long the answer to an op may take: half of the patience to begin, and the work of its rows.
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

    /// What the server answered; none where it did not, and the connection is closed.
    fn answered(&self, request: Result<WireRequest>, patience: Duration) -> Option<Result<Reply>> {
        let socket = self.socket()?;
        let answered = request.and_then(|request| socket.send_within(&request, patience));
        match answered {
            Ok(Err(error)) if error.code() == NOT_RUN => {}
            Ok(answer) => return Some(answer),
            Err(_) => {}
        }
        // Before anything is done here, whatever the reason was.
        socket.close();
        self.closed.set(true);
        None
    }

    pub(super) fn run(&self, call: &Call, op: &Op) -> Result<Reply> {
        if self.socket().is_none() {
            let answer = self.kernel.run(call, op);
            // Under an id that was given it may have been sent before, by another process.
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

    /// What is true of an op that the server was sent and that had no turn here. The server may have committed it and be
    /// stopped before its answer, or in the middle of the commit; otherwise it finds the connection closed.
    fn found_out(&self, call: &Call, op: &Op, answer: Result<Reply>) -> Result<Reply> {
        let busy = match answer {
            Err(error) if error.kind() == Kind::Busy => error,
            answer => return answer,
        };
        // In this order: what was decided before it is false has been committed, and is read after.
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
    Error::new(Code::Undecided, "the server stands still in the middle of a commit: this may yet be done")
        .at(Stage::Commit)
        .hint(format!("Ask again with --request-id {id}: it is done once, and you learn what became of it."))
        .with(&SentAs(id.to_owned()))
}
