//! The client of the unix socket: one connection, one line per request and one line per answer.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::Reply;
use tenure_store::migrate;

use super::{Remote, socket_path};
use crate::wire::{self, HELLO_MAX, Hello, VERSION, WireRequest};

/// The properties a server must have before a client talks to it.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The store's id, if known.
    pub store: Option<String>,
    /// Device and inode of the store's file.
    pub file: Option<(u64, u64)>,
}

impl Expected {
    /// Whether a server has the same version and serves the same store. A server that does not report its file must at
    /// least report the expected store id.
    fn fits(&self, hello: &Hello) -> bool {
        let same = hello.tenure == VERSION && hello.schema == migrate::VERSION;
        let is_store = self.store.as_ref().is_none_or(|store| *store == hello.store);
        let is_file = match (&self.file, &hello.file) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => self.store.is_some(),
        };
        same && is_store && is_file
    }
}

/// A connection to a server beside the store.
pub struct Socket {
    path: PathBuf,
    hello: Hello,
    patience: Duration,
    /// `None` after any failure: later lines on the connection would belong to an earlier request.
    lines: RefCell<Option<DeadlineLines>>,
}

impl Socket {
    /// Connects and reads the first line. Returns `None` if no server listens or the server does not fit. The client
    /// then uses the store itself, at the cost of one connect.
    pub fn connect(path: &Path, expected: &Expected, patience: Duration) -> Option<Socket> {
        if !socket_path::is_own_socket(path) {
            return None;
        }
        let stream = UnixStream::connect(path).ok()?;
        let mut lines = DeadlineLines { stream, read: Vec::new() };
        let line = lines.next(HELLO_MAX, after(patience)).ok()?;
        let hello: Hello = wire::read(&line).ok()?;
        let fits = expected.fits(&hello);
        fits.then(|| Socket { path: path.to_owned(), hello, patience, lines: RefCell::new(Some(lines)) })
    }

    /// Sends a request with a timeout for its answer. After any failure the connection is closed when this returns, so
    /// the server drops the request if it has not started it.
    pub fn send_within(&self, request: &WireRequest, patience: Duration) -> Result<Result<Reply>> {
        let mut line = request.to_line()?;
        line.push('\n');
        let Some(mut lines) = self.lines.take() else { return Err(self.lost(ErrorKind::NotConnected.into())) };
        let deadline = after(patience);
        let answered = lines.send(line.as_bytes(), deadline).and_then(|()| lines.next(wire::ANSWER_MAX, deadline));
        match answered {
            Ok(answer) => {
                let answer = wire::read_answer(&answer)?;
                self.lines.replace(Some(lines));
                Ok(answer)
            }
            Err(error) => {
                drop(lines);
                Err(self.lost(error))
            }
        }
    }

    pub(super) fn close(&self) {
        drop(self.lines.take());
    }

    fn lost(&self, error: io::Error) -> Error {
        let path = self.path.display();
        Error::new(Code::Unreachable, format!("the server at {path} does not answer"))
            .at(Stage::Reply)
            .entity(path.to_string())
            .cause(error)
    }
}

impl Remote for Socket {
    fn hello(&self) -> Result<Hello> {
        Ok(self.hello.clone())
    }

    fn send(&self, request: &WireRequest) -> Result<Result<Reply>> {
        self.send_within(request, self.patience)
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

#[expect(clippy::disallowed_methods, reason = "the deadline of an answer is a time of the process")]
fn after(patience: Duration) -> Instant {
    Instant::now() + patience
}

/// Lines over a stream, each with a deadline.
struct DeadlineLines {
    stream: UnixStream,
    /// Bytes read that do not yet form a complete line.
    read: Vec<u8>,
}

impl DeadlineLines {
    fn left(deadline: Instant) -> io::Result<Duration> {
        let left = deadline.saturating_duration_since(after(Duration::ZERO));
        // A zero timeout would mean no timeout.
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    fn send(&mut self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(Self::left(deadline)?))?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn next(&mut self, most: usize, deadline: Instant) -> io::Result<Vec<u8>> {
        let mut seen = 0;
        let mut piece = vec![0; 16 * 1024];
        loop {
            if let Some(end) = self.read[seen..].iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(seen + end + 1);
                let mut line = std::mem::replace(&mut self.read, rest);
                line.pop();
                return Ok(line);
            }
            seen = self.read.len();
            if seen > most {
                return Err(io::Error::new(ErrorKind::InvalidData, "the line is too long"));
            }
            self.stream.set_read_timeout(Some(Self::left(deadline)?))?;
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.read.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
