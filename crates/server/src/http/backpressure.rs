//! Backpressure: answers that their clients have not read yet. A client chooses how slowly it reads, so the unsent
//! bytes are counted and bounded, per client and in total.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Response;
use hyper::body::{Frame, SizeHint};
use tenure_core::{Code, Error, Result, Stage};

use super::Server;
use super::client::ClientAddress;
use crate::quota::{Bounds, QuotaPart};

/// The maximum of unsent bytes to authenticated callers.
pub(crate) const UNSENT: Bounds = Bounds { all: 256 * 1024 * 1024, of_one: 64 * 1024 * 1024 };
/// The maximum of unsent bytes to unauthenticated callers. Answers that they do not read take nothing from others.
pub(crate) const TO_STRANGERS: Bounds = Bounds { all: 32 * 1024 * 1024, of_one: 4 * 1024 * 1024 };
/// Answers up to this size are not counted: even on all connections together they stay below [`UNSENT`].
const SMALL: u64 = 16 * 1024;
/// The size of one piece. A piece that was handed over waits in the buffers of the connection and is not counted.
const CHUNK: usize = 32 * 1024;

/// The principal that the answer belongs to.
#[derive(Clone)]
pub(super) struct AnswerOwner(pub(super) String);

/// Marks the answer to a query: withholding it changes no state.
#[derive(Clone, Copy)]
pub(super) struct Withholdable;

impl Server {
    /// Counts the bytes of an answer until they are sent. An answer that may be withheld is refused if the limit is
    /// reached.
    pub(super) fn counted(
        &self,
        client: ClientAddress,
        may_refuse: bool,
        response: Response<Body>,
    ) -> Result<Response<Body>> {
        // Streams are produced while they are read, and have their own limits.
        let Some(size) = response.body().size_hint().exact().filter(|size| *size > SMALL) else { return Ok(response) };
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let (budget, owner) = match response.extensions().get::<AnswerOwner>() {
            Some(AnswerOwner(principal)) => (&self.unsent, principal.clone()),
            None => (&self.unsent_to_strangers, client.share()),
        };
        let part = match budget.take(&owner, size) {
            Some(part) => part,
            None if may_refuse => return Err(too_many()),
            None => budget.take_anyway(&owner, size),
        };
        Ok(response.map(|body| Body::new(CountedBody { body, rest: Bytes::new(), _part: part })))
    }
}

fn too_many() -> Error {
    Error::new(Code::Overloaded, "too many answers of this server are unread")
        .at(Stage::Reply)
        .hint("Read the pending answers, or retry in a moment.")
}

/// The body of an answer, handed over in pieces. The connection asks for the next piece once it has sent the last.
struct CountedBody {
    body: Body,
    rest: Bytes,
    _part: QuotaPart,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, axum::Error>>> {
        while self.rest.is_empty() {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                other => return other,
            }
        }
        let length = self.rest.len().min(CHUNK);
        // Copied, so that the last piece in a buffer does not keep the whole answer alive.
        let piece = Bytes::copy_from_slice(&self.rest.split_to(length));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.body.size_hint().exact().map(|more| more + self.rest.len() as u64);
        left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
