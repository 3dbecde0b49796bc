//! The unix socket beside an embedded store: commands of this machine hand their ops to the server, which runs several
//! in one transaction.
//!
//! A client that may open the socket may open the store, so a call is believed as it is. A client that does not get its
//! answer in time closes the socket and uses the store itself. So the server checks that the client is still connected
//! before it starts an op, and again before it commits. The check looks at the connection itself, under the write lock,
//! and not at what a task has noticed so far: a server that was stopped meanwhile has noticed nothing.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use tenure_client::wire::{self, Asked, Hello, NOT_RUN};
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::Reply;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};

use crate::http::Server;
use crate::quota::QuotaPart;

/// The maximum number of connections. More wait in the operating system's backlog.
const CONNECTIONS: usize = 1_024;
/// How long an answer is useful to a client that does not say.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a client may read nothing of its answer.
const UNREAD: Duration = Duration::from_secs(30);
/// The size of one read.
const CHUNK: usize = 16 * 1024;

/// The right to serve an embedded store. It is released when the process ends, however it ends.
pub(crate) struct Served {
    _lock: File,
}

impl Served {
    /// Takes the right, if no other server has it. The lock file is beside the database and not beside the socket,
    /// which may be elsewhere or may not exist. Unlike the socket file, which a killed server leaves behind, the lock
    /// shows whether a server is running.
    pub(crate) fn take(database: &Path) -> Result<Served> {
        let failed = |error: std::io::Error| {
            Error::new(Code::NoSocket, "the server cannot lock its store")
                .at(Stage::Open)
                .entity(database.display().to_string())
                .cause(error)
        };
        let mut beside = std::fs::canonicalize(database).map_err(failed)?.into_os_string();
        beside.push("-sock-lock");
        let lock = lock(Path::new(&beside)).map_err(failed)?.ok_or_else(|| {
            Error::new(Code::AlreadyServed, "another server already serves this store")
                .at(Stage::Open)
                .entity(database.display().to_string())
                .hint("Use that server, or stop it first.")
        })?;
        Ok(Served { _lock: lock })
    }
}

/// A listening socket. Its file is removed when it is dropped.
pub(crate) struct SocketListener {
    listener: UnixListener,
    path: PathBuf,
}

impl SocketListener {
    /// Listens at a path. The caller must have the right to serve.
    pub(crate) fn at(path: PathBuf) -> Result<SocketListener> {
        let failed = |error: std::io::Error| {
            Error::new(Code::NoSocket, "the server cannot listen beside the store")
                .at(Stage::Open)
                .entity(path.display().to_string())
                .cause(error)
        };
        // The socket is created under another name of the same length, closed to other users, and only then renamed. At
        // no moment can another user connect.
        let draft = draft(&path);
        let _ = std::fs::remove_file(&draft);
        let listener = UnixListener::bind(&draft).map_err(failed)?;
        let closed = std::fs::set_permissions(&draft, std::os::unix::fs::PermissionsExt::from_mode(0o600));
        closed.and_then(|()| std::fs::rename(&draft, &path)).map_err(|error| {
            let _ = std::fs::remove_file(&draft);
            failed(error)
        })?;
        Ok(SocketListener { listener, path })
    }

    /// Serves until shutdown.
    pub(crate) async fn serve(self, server: Arc<Server>, hello: Hello, mut ends: watch::Receiver<bool>) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(place) = room.clone().acquire_owned().await else { break };
            let accepted = tokio::select! {
                _ = ends.wait_for(|over| *over) => break,
                accepted = self.listener.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // The open file changes when the database file is replaced.
            let hello = Hello { file: server.kernel.store().file_id().or(hello.file), ..hello.clone() };
            let (server, hello, ends) = (server.clone(), format!("{}\n", hello.to_line()), ends.clone());
            tokio::spawn(async move {
                // A client that disconnects is not an error.
                let _ = converse(&server, Arc::new(stream), &hello, ends).await;
                drop(place);
            });
        }
    }
}

/// A symbolic link in place of the lock file may be an attack.
const NOFOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;

/// The lock of the serving process. `None` if another process has it.
fn lock(path: &Path) -> std::io::Result<Option<File>> {
    #[expect(clippy::disallowed_methods, reason = "a lock file of its own, never the database")]
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).custom_flags(NOFOLLOW).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// A name beside another with the same length, because socket paths have a limit.
fn draft(path: &Path) -> PathBuf {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    if let Some(last) = bytes.last_mut() {
        *last = b'~';
    }
    PathBuf::from(OsString::from_vec(bytes))
}

impl Drop for SocketListener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn converse(
    server: &Server,
    stream: Arc<UnixStream>,
    hello: &str,
    mut ends: watch::Receiver<bool>,
) -> std::io::Result<()> {
    write(&stream, hello.as_bytes()).await?;
    let mut lines = SocketLines { stream: stream.clone(), read: Vec::new(), at: 0 };
    loop {
        let line = tokio::select! {
            _ = ends.wait_for(|over| *over) => return Ok(()),
            line = lines.next() => line?,
        };
        let Some(line) = line else { return Ok(()) };
        let answered = answered(server, &stream, &line).await;
        drop(line);
        let (mut answer, _part) = counted(server, answered);
        answer.push('\n');
        write(&stream, answer.as_bytes()).await?;
    }
}

/// The answer to a request, and whether it was a query.
async fn answered(server: &Server, stream: &Arc<UnixStream>, line: &[u8]) -> (Result<Reply>, bool) {
    match wire::WireRequest::read(line) {
        Ok(request) => {
            let is_question = request.query.is_some();
            (carried_out(server, stream, request).await, is_question)
        }
        Err(error) => (Err(error), false),
    }
}

async fn carried_out(server: &Server, stream: &Arc<UnixStream>, request: wire::WireRequest) -> Result<Reply> {
    let patience = request.call.deadline_ms.map_or(PATIENCE, Duration::from_millis);
    #[expect(clippy::disallowed_methods, reason = "a deadline is a duration of the process, not a time of the domain")]
    let deadline = Instant::now() + patience.min(PATIENCE * 6);
    match request.asked()? {
        Asked::Op(op) => {
            let peer = stream.clone();
            let answer = server.queue.run(request.call.call, op, Arc::new(move || is_there(&peer)), deadline).await;
            // A full queue is not a failure for the client: it uses the store itself.
            answer.map_err(|error| match error.code() {
                Code::Overloaded => not_run(),
                _ => error,
            })
        }
        Asked::Query(query) => {
            let call = request.call.call;
            let body = server.answer_to(call, query).await?;
            Ok(Reply { body, replayed: false })
        }
    }
}

/// An answer whose bytes are counted until they are sent. The answer to a query is withheld if too many bytes wait to
/// be read. The client then uses the store itself.
fn counted(server: &Server, answered: (Result<Reply>, bool)) -> (String, QuotaPart) {
    /// The owner of all answers over the socket: they belong to one user.
    const OWNER: &str = "";
    let (answered, is_question) = answered;
    let answer = wire::answer(answered);
    match server.unsent.take(OWNER, answer.len()) {
        Some(part) => (answer, part),
        None if is_question => {
            let answer = wire::answer(Err(not_run()));
            let part = server.unsent.take_anyway(OWNER, answer.len());
            (answer, part)
        }
        None => {
            let part = server.unsent.take_anyway(OWNER, answer.len());
            (answer, part)
        }
    }
}

fn not_run() -> Error {
    Error::new(NOT_RUN, "the server is overloaded").at(Stage::Lock)
}

/// Whether the client still has its end open.
fn is_there(stream: &UnixStream) -> bool {
    let mut asked = [PollFd::from_borrowed_fd(stream.as_fd(), hung_up())];
    match poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(0) => true,
        Ok(_) => !asked[0].revents().intersects(hung_up() | PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
        // If the state is unknown, the server does nothing for a client that may have left.
        Err(_) => false,
    }
}

#[cfg(target_os = "linux")]
fn hung_up() -> PollFlags {
    PollFlags::RDHUP
}

#[cfg(not(target_os = "linux"))]
fn hung_up() -> PollFlags {
    PollFlags::HUP
}

/// Lines from a stream that other code also polls.
struct SocketLines {
    stream: Arc<UnixStream>,
    read: Vec<u8>,
    /// The bytes before this index contain no newline.
    at: usize,
}

impl SocketLines {
    async fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(end) = self.read[self.at..].iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(self.at + end + 1);
                let mut line = std::mem::replace(&mut self.read, rest);
                line.pop();
                self.at = 0;
                return Ok(Some(line));
            }
            self.at = self.read.len();
            if self.read.len() > wire::REQUEST_MAX {
                return Err(std::io::Error::from(std::io::ErrorKind::InvalidData));
            }
            self.stream.readable().await?;
            self.read.reserve(CHUNK);
            match self.stream.try_read_buf(&mut self.read) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Writes everything. A client that reads nothing for too long is given up.
async fn write(stream: &UnixStream, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match stream.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                tokio::time::timeout(UNREAD, stream.writable()).await.map_err(|_| std::io::ErrorKind::TimedOut)??;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
