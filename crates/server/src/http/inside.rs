//! What a request has of the server while it is answered: a place among those at once, and the bytes of its body. It gives
//! the place back while its body is awaited, so that a client which sends none keeps nobody out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::request;
use tenure_core::{Code, Error, Result, Stage};
use tokio::sync::Notify;

use super::{Place, Server};
use crate::shares::{Bounds, Part, Shares};

/// Bodies of callers that have not shown who they are: how many may be awaited. The oldest gives way to one more.
const AWAITED: Bounds = Bounds { all: 256, of_one: 32 };

/// What one request has.
#[derive(Clone, Default)]
pub(crate) struct Inside(Arc<Mutex<Has>>);

#[derive(Default)]
struct Has {
    place: Option<Place>,
    /// Whose request it is, as soon as that is known.
    principal: Option<String>,
    body: Option<Part>,
}

impl Inside {
    pub(super) fn new(place: Option<Place>) -> Inside {
        Inside(Arc::new(Mutex::new(Has { place, ..Has::default() })))
    }

    /// The request is answered.
    pub(super) fn leave(&self) {
        *self.has() = Has::default();
    }

    fn has(&self) -> MutexGuard<'_, Has> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Waits for something of a client without the place of its request; takes one again for what follows.
    pub(super) async fn outside<T>(&self, parts: &request::Parts, wait: impl Future<Output = Result<T>>) -> Result<T> {
        let inside = parts.extensions.get::<Inside>();
        let had = inside.and_then(|inside| inside.has().place.take());
        let is_inside = had.is_some();
        drop(had);
        let outcome = wait.await?;
        if let Some(inside) = inside.filter(|_| is_inside) {
            let mut place = self.doors.enter()?;
            let mut has = inside.has();
            if let Some(principal) = &has.principal {
                self.doors.claim(&mut place, principal)?;
            }
            has.place = Some(place);
        }
        Ok(outcome)
    }

    /// It is known whose request it is: from now on its place is one of those that one principal may have.
    pub(super) fn belongs(&self, parts: &request::Parts, principal: &str) -> Result<()> {
        let Some(inside) = parts.extensions.get::<Inside>() else { return Ok(()) };
        let mut has = inside.has();
        has.principal = Some(principal.to_owned());
        has.place.as_mut().map_or(Ok(()), |place| self.doors.claim(place, principal))
    }

    /// Gives the place of a request back for good, because it stays as listeners do and is counted among them.
    pub(super) fn stays(&self, parts: &request::Parts) {
        if let Some(inside) = parts.extensions.get::<Inside>() {
            inside.has().place = None;
        }
    }

    /// Keeps the bytes of a body counted as long as its request is answered.
    pub(super) fn keep_counted(&self, parts: &request::Parts, part: Part) {
        if let Some(inside) = parts.extensions.get::<Inside>() {
            inside.has().body = Some(part);
        }
    }
}

/// The callers that have not shown who they are and whose bodies are awaited.
pub(crate) struct Strangers(Mutex<Line>);

struct Line {
    turn: u64,
    waiting: Shares<Arc<Notify>>,
}

impl Default for Strangers {
    fn default() -> Strangers {
        Strangers(Mutex::new(Line { turn: 0, waiting: Shares::new(AWAITED) }))
    }
}

impl Strangers {
    /// Waits for the body of a stranger, until a newer one takes its place.
    pub(super) async fn wait<T>(&self, share: &str, body: impl Future<Output = Result<T>>) -> Result<T> {
        let leave = Arc::new(Notify::new());
        let turn = {
            let mut line = self.line();
            line.turn += 1;
            let turn = line.turn;
            if let Some((_, oldest)) = line.waiting.push(turn, share, leave.clone()) {
                oldest.notify_one();
            }
            turn
        };
        let _seat = Seat { strangers: self, turn };
        tokio::select! {
            biased;
            outcome = body => outcome,
            () = leave.notified() => Err(gave_way()),
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Seat<'a> {
    strangers: &'a Strangers,
    turn: u64,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.strangers.line().waiting.remove(self.turn);
    }
}

fn gave_way() -> Error {
    Error::new(Code::Overloaded, "the body did not arrive before newer requests needed its place")
        .at(Stage::Arguments)
        .hint("Nothing was done. Send the body together with the head.")
}
