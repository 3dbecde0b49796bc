//! Messages between runner, keeper and launcher: one JSON document per line over a socket pair. The first order carries
//! the standard input of the command as a descriptor, because the keeper's own standard input is the socket.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::clock::LockTrust;
use super::end::{CommandEnd, EndCause, ExitStatus, Processes};
use super::signals::Passed;

/// Orders from the runner to the keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeeperOrder {
    /// Starts the command. The first order; carries the command's standard input.
    Start {
        trust: LockTrust,
        /// The process group that the command joins. `None` gives the command its own group.
        group: Option<i32>,
        /// The name of the cgroup to create, if the command is to have one.
        cgroup: Option<String>,
        mark: String,
        /// The record of the run, removed when the run is over.
        record: Option<PathBuf>,
    },
    /// Sets a new deadline. Answered by `Heard`.
    Trust { number: u64, trust: LockTrust },
    /// The lock is lost: end the command now. Answered by `Heard`.
    Lost { number: u64 },
    /// The runner received a signal.
    Signal(Passed),
}

/// Reports from the keeper to the runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeeperReport {
    /// The command is about to execute. Nothing of it has run before this report.
    Starting { pid: i64 },
    /// The launcher is about to be moved into this cgroup.
    Cgroup { dir: PathBuf },
    /// The command was not started, and no process of it is left.
    NotStarted(Refusal),
    /// The keeper has carried out this order and all earlier ones.
    Heard { number: u64 },
    /// The command has ended. Its descendants may still run.
    Exited { status: ExitStatus, cause: Option<EndCause> },
    /// These processes were killed and are still alive.
    Surviving(Processes),
    /// The run is over: all processes are gone, or were left on purpose.
    Over(CommandEnd),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Refusal {
    /// The system refused, with this error number.
    System(i32),
    /// Its deadline has already passed.
    Late,
}

/// The keeper tells the launcher to execute the command. Carries the command's standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Go;

/// One end of a connection. Descriptors received with a message are kept until they are taken.
#[derive(Debug)]
pub(super) struct Channel {
    socket: UnixStream,
    read: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard<T> {
    Message(T),
    /// No complete message has arrived yet.
    Nothing,
    /// The other end is closed.
    Closed,
}

/// The maximum length of a message. A peer that sends more is not this program.
const LONGEST: usize = 1 << 20;

impl Channel {
    pub(super) fn new(socket: UnixStream) -> Channel {
        Channel { socket, read: Vec::new(), descriptors: Vec::new() }
    }

    /// The socket that this process was started with as its standard input.
    pub(super) fn inherited() -> io::Result<Channel> {
        Ok(Channel::new(rustix::stdio::stdin().try_clone_to_owned()?.into()))
    }

    /// Sends a message without blocking: a peer that does not read counts as gone.
    pub(super) fn say(&self, message: &impl Serialize, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
        say(&self.socket, message, descriptor)
    }

    pub(super) fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Returns the next message, and waits for it if `wait` is set.
    pub(super) fn hear<T: DeserializeOwned>(&mut self, wait: bool) -> Heard<T> {
        loop {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                // A line that cannot be parsed ends the connection: both ends are the same program.
                return serde_json::from_slice(&line).map_or(Heard::Closed, Heard::Message);
            }
            match self.receive(wait) {
                Ok(0) => return Heard::Closed,
                Ok(_) if self.read.len() > LONGEST => return Heard::Closed,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Heard::Nothing,
                Err(_) => return Heard::Closed,
            }
        }
    }

    fn receive(&mut self, wait: bool) -> rustix::io::Result<usize> {
        let mut bytes = [0; 4096];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        #[cfg(target_os = "linux")]
        let flags = RecvFlags::CMSG_CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = RecvFlags::empty();
        let flags = if wait { flags } else { flags | RecvFlags::DONTWAIT };
        let mut parts = [io::IoSliceMut::new(&mut bytes)];
        let count = recvmsg(&self.socket, &mut parts, &mut control, flags)?.bytes;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                for descriptor in received {
                    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC)?;
                    self.descriptors.push(descriptor);
                }
            }
        }
        self.read.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    /// Takes a descriptor that was received with a message.
    pub(super) fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop()
    }
}

/// Sends a message over a socket.
pub(super) fn say(socket: &UnixStream, message: &impl Serialize, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let sent = sendmsg(socket.as_fd(), &[io::IoSlice::new(&line)], &mut control, SendFlags::DONTWAIT)?;
    if sent == line.len() { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::time::Duration;

    use super::*;

    fn pair() -> (Channel, Channel) {
        let (a, b) = UnixStream::pair().unwrap();
        (Channel::new(a), Channel::new(b))
    }

    #[test]
    fn messages_arrive_as_they_were_sent_and_the_end_is_told() {
        let (a, mut b) = pair();
        let trust = LockTrust {
            term_at: Duration::from_nanos(7),
            kill_at: Duration::from_secs(9),
            ends_at: Duration::from_secs(11),
        };
        let orders = [
            KeeperOrder::Start { trust, group: Some(7), cgroup: Some("x".into()), mark: "m".into(), record: None },
            KeeperOrder::Trust { number: 3, trust },
            KeeperOrder::Lost { number: 4 },
            KeeperOrder::Signal(Passed::HangUp),
        ];
        assert_eq!(b.hear::<KeeperOrder>(false), Heard::Nothing);
        orders.iter().for_each(|order| a.say(order, None).unwrap());
        for order in orders {
            assert_eq!(b.hear::<KeeperOrder>(true), Heard::Message(order));
        }
        drop(a);
        assert_eq!(b.hear::<KeeperOrder>(false), Heard::Closed);
    }

    #[test]
    fn a_descriptor_travels_with_its_message_and_no_further() {
        let (a, mut b) = pair();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        a.say(&Go, Some(theirs.as_fd())).unwrap();
        drop(theirs);
        assert_eq!(b.hear::<Go>(true), Heard::Message(Go));
        let got = b.take_descriptor().unwrap();
        assert!(rustix::io::fcntl_getfd(&got).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        UnixStream::from(got).write_all(b"here").unwrap();
        let mut read = String::new();
        ours.read_to_string(&mut read).unwrap();
        assert_eq!(read, "here");
        assert!(b.take_descriptor().is_none());
    }

    #[test]
    fn what_cannot_be_read_ends_the_conversation() {
        let (mut a, b) = UnixStream::pair().unwrap();
        a.write_all(b"{\"unknown\":1}\n").unwrap();
        assert_eq!(Channel::new(b).hear::<KeeperOrder>(true), Heard::Closed);
    }
}
