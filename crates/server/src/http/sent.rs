//! The bodies of requests.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, header};
use tenure_core::{Error, Result};

use super::Limits;

/// How much of a body that is too long is still read, so that its sender comes to hear so: most write all of it first.
const HEARD_OUT: usize = 64 * 1024 * 1024;

/// All of a body of somebody who has shown who it is, if it is not too long.
pub(super) async fn whole(mut body: Body, limits: Limits, headers: &HeaderMap) -> Result<Vec<u8>> {
    // Somebody who asks before it sends has sent nothing yet, and need not.
    if headers.contains_key(header::EXPECT) && body.size_hint().lower() > limits.body as u64 {
        return Err(too_long(limits.body));
    }
    let mut read = Read::default();
    // What remains of the time is for the answer.
    let in_time = limits.time / 10 * 9;
    let outcome = tokio::time::timeout(in_time, read.on(&mut body, limits.body, HEARD_OUT)).await;
    if read.length > limits.body {
        return Err(too_long(limits.body));
    }
    outcome.map_err(|_| super::around::too_long())??;
    Ok(read.kept)
}

/// All of a body of anybody; nothing beyond the limit is read.
pub(super) async fn short(mut body: Body, most: usize) -> Result<Vec<u8>> {
    let mut read = Read::default();
    read.on(&mut body, most, most).await?;
    if read.length <= most { Ok(read.kept) } else { Err(too_long(most)) }
}

/// What was read of a body.
#[derive(Default)]
struct Read {
    kept: Vec<u8>,
    length: usize,
}

impl Read {
    /// Reads on to the end, keeps what is not too long, and passes over the rest up to a length.
    async fn on(&mut self, body: &mut Body, most: usize, heard_out: usize) -> Result<()> {
        while let Some(frame) = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
            let frame = frame.map_err(|error| {
                Error::usage("body_broken", "the body is malformed, or broke off")
                    .hint("Send as much as Content-Length says, or chunks with their lengths.")
                    .cause(error)
            })?;
            let Ok(data) = frame.into_data() else { continue };
            self.length += data.len();
            if self.length <= most {
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

fn too_long(most: usize) -> Error {
    Error::usage("body_too_large", format!("the body is longer than {most} bytes")).hint("Send less at once.")
}
