//! Malformed HTTP gets the same error format as every other refusal. The HTTP library answers it with a status and an
//! empty body; such an answer is recognised by the absence of the header that all our answers have.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::StatusCode;
use tenure_core::{Code, Error};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::{middleware, problem};

/// A connection that replaces empty error answers with problem documents.
///
/// A connection whose client does not read is closed: a write that takes too long fails, and the connection with it.
pub(super) struct Worded {
    stream: TcpStream,
    /// The time in which a client must read [`READ`] bytes.
    patience: Duration,
    /// Set while writes have to wait: the deadline, and the number of bytes written since.
    stalled: Option<(Pin<Box<Sleep>>, usize)>,
    /// The replacement for an empty answer, how much of it is written, and the length of the original.
    instead: Option<(Vec<u8>, usize, usize)>,
}

impl Worded {
    pub(super) fn new(stream: TcpStream, patience: Duration) -> Worded {
        Worded { stream, patience, stalled: None, instead: None }
    }

    /// Writes to the stream, and fails if the client has read too little for too long.
    fn write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Ready(Ok(written)) => {
                let enough = match &mut self.stalled {
                    Some((_, since)) => {
                        *since += written;
                        written == bytes.len() || *since >= READ
                    }
                    None => false,
                };
                if enough {
                    self.stalled = None;
                }
                Poll::Ready(Ok(written))
            }
            Poll::Pending => {
                let patience = self.patience;
                let (ends, _) = self.stalled.get_or_insert_with(|| (Box::pin(tokio::time::sleep(patience)), 0));
                ends.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
            failed => failed,
        }
    }
}

/// The minimum number of bytes that a client must read within its time.
const READ: usize = 64 * 1024;

impl AsyncRead for Worded {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Worded {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.instead.is_none() {
            self.instead = bare(bytes).map(|status| (words(status), 0, bytes.len()));
        }
        let Some((words, mut written, length)) = self.instead.take() else { return self.write(context, bytes) };
        while written < words.len() {
            match self.write(context, &words[written..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(more)) => written += more,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.instead = Some((words, written, length));
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(length))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The status of an answer without a document. No document of ours has a line that ends in a carriage return, so
/// nothing inside one matches.
fn bare(bytes: &[u8]) -> Option<StatusCode> {
    let head = bytes.strip_prefix(b"HTTP/1.1 ").filter(|rest| rest.starts_with(b"4") && rest.ends_with(b"\r\n\r\n"))?;
    let is_ours =
        head.windows(middleware::REQUEST.as_str().len()).any(|part| part == middleware::REQUEST.as_str().as_bytes());
    StatusCode::from_bytes(head.get(..3)?).ok().filter(|_| !is_ours)
}

fn words(status: StatusCode) -> Vec<u8> {
    let error =
        Error::usage(Code::NotHttp, "the request cannot be read: its first line or a header is malformed or too long")
            .hint("Send HTTP/1.1.");
    let id = middleware::drawn();
    let body = problem::document(&error, status, &id).to_string();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {}\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\n\
         {}: {id}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        problem::TYPE,
        middleware::REQUEST,
        body.len(),
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_without_a_word_is_bare() {
        assert_eq!(bare(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"), Some(StatusCode::BAD_REQUEST));
        for other in [
            b"HTTP/1.1 400 Bad Request\r\nx-request-id: a\r\n\r\n".as_slice(),
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 400 in a text\n\n",
            b"{}",
            b"",
        ] {
            assert_eq!(bare(other), None);
        }
    }
}
