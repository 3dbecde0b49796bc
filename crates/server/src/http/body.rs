//! Reading request bodies, within their limits of size and time.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody as _};
use axum::http::header;
use axum::http::request::Parts;
use tenure_core::{Code, Error, Result, Stage};

use super::{AuthenticatedCaller, Limits, Server};
use crate::quota::{Bounds, QuotaPart};

/// The maximum of body bytes in memory. A few bodies of maximum size always fit. Each body counts `AWAITED` bytes from
/// the start, so this also bounds how many are awaited.
pub(super) fn bounds(limits: Limits) -> Bounds {
    const MIB: usize = 1024 * 1024;
    let some = |number: usize| limits.body.saturating_add(AWAITED).saturating_mul(number);
    Bounds { all: some(8).max(512 * MIB), of_one: some(2).max(128 * MIB) }
}

/// What a body counts before its first byte arrives: one principal has at most 2,048 bodies that it does not send.
const AWAITED: usize = 64 * 1024;

/// How much of an oversized body is still read and discarded. Most clients write the whole body before they read the
/// answer.
const HEARD_OUT: usize = 64 * 1024 * 1024;

/// Reads the whole body of an authenticated caller, if it is not too long.
///
/// The request holds no permit meanwhile. The bytes of its body stay counted until the request is answered.
pub(super) async fn whole(server: &Server, parts: &Parts, mut body: Body) -> Result<Vec<u8>> {
    let limits = server.limits();
    // A client that sends `Expect: 100-continue` has not sent the body yet and need not.
    if parts.headers.contains_key(header::EXPECT) && body.size_hint().lower() > limits.body as u64 {
        return Err(too_long(limits.body));
    }
    let owner = parts.extensions.get::<AuthenticatedCaller>().map_or("", |caller| caller.grants.principal.as_str());
    let part = server.bodies.take(owner, AWAITED).ok_or_else(too_many)?;
    let mut read = Read { part: Some(part), ..Read::default() };
    let reading = async {
        // The remaining tenth of the time is for the answer.
        let in_time = limits.time / 10 * 9;
        let outcome = tokio::time::timeout(in_time, read.on(&mut body, limits.body, HEARD_OUT)).await;
        if read.length > limits.body {
            return Err(too_long(limits.body));
        }
        outcome.map_err(|_| super::middleware::too_long())?
    };
    server.outside(parts, reading).await?;
    if let Some(part) = read.part {
        server.keep_counted(parts, part);
    }
    Ok(read.kept)
}

/// Reads the whole body of any caller. Nothing beyond the limit is read.
pub(super) async fn short(mut body: Body, most: usize) -> Result<Vec<u8>> {
    let mut read = Read::default();
    read.on(&mut body, most, most).await?;
    if read.length <= most { Ok(read.kept) } else { Err(too_long(most)) }
}

/// The part of a body read so far.
#[derive(Default)]
struct Read {
    kept: Vec<u8>,
    length: usize,
    /// The quota that counts the kept bytes.
    part: Option<QuotaPart>,
}

impl Read {
    /// Reads to the end, keeps up to `most` bytes, and discards the rest up to `heard_out`.
    async fn on(&mut self, body: &mut Body, most: usize, heard_out: usize) -> Result<()> {
        while let Some(frame) = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
            let frame = frame.map_err(|error| {
                Error::usage(Code::BodyBroken, "the request body is malformed or truncated")
                    .hint("Send as many bytes as Content-Length says, or chunks with their lengths.")
                    .cause(error)
            })?;
            let Ok(data) = frame.into_data() else { continue };
            self.length += data.len();
            if self.length <= most {
                if self.part.as_mut().is_some_and(|part| !part.grow(data.len())) {
                    return Err(too_many());
                }
                self.kept.extend_from_slice(&data);
            } else {
                self.kept = Vec::new();
            }
            if self.length > heard_out {
                break;
            }
        }
        Ok(())
    }
}

fn too_many() -> Error {
    Error::new(Code::Overloaded, "the server has reached its limit of concurrent request bodies")
        .at(Stage::Arguments)
        .hint("Nothing was done. Retry in a moment with the same request id.")
}

fn too_long(most: usize) -> Error {
    Error::usage(Code::BodyTooLarge, format!("the request body is longer than {most} bytes")).hint(
        "Send less in one \
                                              request.",
    )
}
