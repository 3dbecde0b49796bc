//! Admission: the resources of a request while it is processed, a permit and the bytes of its body. A request returns
//! its permit while it waits for its body, so that a client that sends none blocks no other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::request;
use tenure_core::{Code, Error, Result, Stage};
use tokio::sync::Notify;

use super::{Permit, Server};
use crate::quota::{Bounds, QuotaPart, Shares};

/// How many bodies of unauthenticated callers may be awaited. One more evicts the oldest.
const AWAITED: Bounds = Bounds { all: 256, of_one: 32 };

/// The resources of one request.
#[derive(Clone, Default)]
pub(crate) struct Admission(Arc<Mutex<AdmissionState>>);

#[derive(Default)]
struct AdmissionState {
    permit: Option<Permit>,
    /// The principal of the request, as soon as it is known.
    principal: Option<String>,
    body: Option<QuotaPart>,
}

impl Admission {
    pub(super) fn new(permit: Option<Permit>) -> Admission {
        Admission(Arc::new(Mutex::new(AdmissionState { permit, ..AdmissionState::default() })))
    }

    /// Releases everything: the request is answered.
    pub(super) fn leave(&self) {
        *self.has() = AdmissionState::default();
    }

    fn has(&self) -> MutexGuard<'_, AdmissionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Waits for input from a client without the permit of its request, and takes a permit again afterwards.
    pub(super) async fn outside<T>(&self, parts: &request::Parts, wait: impl Future<Output = Result<T>>) -> Result<T> {
        let admission = parts.extensions.get::<Admission>();
        let had = admission.and_then(|admission| admission.has().permit.take());
        let is_inside = had.is_some();
        drop(had);
        let outcome = wait.await?;
        if let Some(admission) = admission.filter(|_| is_inside) {
            let mut permit = self.doors.enter()?;
            let mut has = admission.has();
            if let Some(principal) = &has.principal {
                self.doors.claim(&mut permit, principal)?;
            }
            has.permit = Some(permit);
        }
        Ok(outcome)
    }

    /// Assigns a request to its principal. From now on its permit counts towards the principal's limit.
    pub(super) fn belongs(&self, parts: &request::Parts, principal: &str) -> Result<()> {
        let Some(admission) = parts.extensions.get::<Admission>() else { return Ok(()) };
        let mut has = admission.has();
        has.principal = Some(principal.to_owned());
        has.permit.as_mut().map_or(Ok(()), |permit| self.doors.claim(permit, principal))
    }

    /// Returns the permit of a request for good, because the request becomes a long-lived listener and is counted as
    /// one.
    pub(super) fn stays(&self, parts: &request::Parts) {
        if let Some(admission) = parts.extensions.get::<Admission>() {
            admission.has().permit = None;
        }
    }

    /// Keeps the bytes of a body counted until its request is answered.
    pub(super) fn keep_counted(&self, parts: &request::Parts, part: QuotaPart) {
        if let Some(admission) = parts.extensions.get::<Admission>() {
            admission.has().body = Some(part);
        }
    }
}

/// Unauthenticated callers whose bodies are awaited.
pub(crate) struct Strangers(Mutex<StrangerQueue>);

struct StrangerQueue {
    turn: u64,
    waiting: Shares<Arc<Notify>>,
}

impl Default for Strangers {
    fn default() -> Strangers {
        Strangers(Mutex::new(StrangerQueue { turn: 0, waiting: Shares::new(AWAITED) }))
    }
}

impl Strangers {
    /// Waits for the body of an unauthenticated caller, until a newer one takes its place.
    pub(super) async fn wait<T>(&self, share: &str, body: impl Future<Output = Result<T>>) -> Result<T> {
        let leave = Arc::new(Notify::new());
        let turn = {
            let mut queue = self.queue();
            queue.turn += 1;
            let turn = queue.turn;
            if let Some((_, oldest)) = queue.waiting.push(turn, share, leave.clone()) {
                oldest.notify_one();
            }
            turn
        };
        let _seat = StrangerSlot { strangers: self, turn };
        tokio::select! {
            biased;
            outcome = body => outcome,
            () = leave.notified() => Err(gave_way()),
        }
    }

    fn queue(&self) -> MutexGuard<'_, StrangerQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct StrangerSlot<'a> {
    strangers: &'a Strangers,
    turn: u64,
}

impl Drop for StrangerSlot<'_> {
    fn drop(&mut self) {
        self.strangers.queue().waiting.remove(self.turn);
    }
}

fn gave_way() -> Error {
    Error::new(Code::Overloaded, "the body arrived too slowly, and newer requests took its place")
        .at(Stage::Arguments)
        .hint("Nothing was done. Send the body together with the headers.")
}
