//! A kept command, as its runner sees it.

use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, getpgrp, waitid};

use super::clock::{Trust, since_boot};
use super::end::{End, Processes};
use super::protocol::{Line, Order, say};
use super::stat::stat;
use super::takeover::Watch;
use super::{MARKER, Spec, cgroup, keeper, signals, system};

/// What happens to a kept command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It did not start; nothing of it has run.
    NotStarted(NotStarted),
    /// These were killed and still live. Said again while that is so.
    Surviving(Processes),
    /// It is over. The last event.
    Over(End),
}

/// Why a command was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// The system refused, with this error number.
    System(i32),
    /// Its deadline had passed already.
    Late,
    /// Its keeper ended before it could start it.
    NoKeeper,
}

/// A command under a keeper. Where this is dropped, the keeper ends the command.
#[derive(Debug)]
pub struct Kept {
    orders: Arc<Orders>,
    events: Receiver<Event>,
}

/// The way to the keeper, and what the keeper was told last.
#[derive(Debug)]
pub(super) struct Orders {
    socket: UnixStream,
    state: Mutex<State>,
}

/// What the keeper was told last.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) trust: Trust,
    /// The number of the last order that is answered.
    number: u64,
    /// When the first order without an answer was given.
    pub(super) unheard: Option<Duration>,
}

impl Kept {
    /// Starts a keeper for a command. Whether the command starts is an event.
    pub fn start(spec: &Spec) -> io::Result<Kept> {
        // A subreaper inherits every orphan below it. Where this process has children already, it could not tell theirs.
        let alone = waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
        let is_reaper = matches!(alone, Err(Errno::CHILD)) && system::become_subreaper();
        let mark = mark();
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(keeper::program()?);
        command.arg0("tenure").arg(keeper::ROLE).args(&spec.words);
        command.envs(spec.environment.iter().map(|(name, value)| (name, value)));
        let marks = spec.marker.as_ref().filter(|outer| !outer.is_empty()).map_or_else(
            || mark.clone().into(),
            |outer| {
                let mut marks = outer.clone();
                marks.push(":");
                marks.push(&mark);
                marks
            },
        );
        // A group of its own: what ends the runner from a terminal does not reach the keeper.
        command.env(MARKER, marks).stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs))).process_group(0);
        let keeper = command.spawn()?;
        drop(command);
        let state = State { trust: spec.trust, number: 0, unheard: Some(since_boot()) };
        let orders = Arc::new(Orders { socket: ours.try_clone()?, state: Mutex::new(state) });
        let start = Order::Start {
            trust: spec.trust,
            group: (!spec.own_group).then(|| getpgrp().as_raw_nonzero().get()),
            cgroup: spec.cgroup.then(|| format!("{}{mark}", cgroup::PREFIX)),
            mark: mark.clone(),
        };
        say(&ours, &start, Some(rustix::stdio::stdin()))?;
        let (tell, events): (Sender<Event>, _) = channel();
        let watch = Watch {
            line: Line::new(ours),
            keeper,
            orders: Arc::clone(&orders),
            own_group: spec.own_group,
            mark,
            is_reaper,
            patience: spec.patience,
            command: None,
            cgroup: None,
            exited: None,
            tell,
        };
        let passing = Arc::clone(&orders);
        signals::listen(move |passed| passing.give(|_, _| Order::Signal(passed)))?;
        std::thread::Builder::new().name("keeper".into()).spawn(move || watch.run())?;
        Ok(Kept { orders, events })
    }

    /// The command may run until later.
    pub fn trust(&self, trust: Trust) {
        self.orders.state().trust = trust;
        self.orders.repeat();
    }

    /// What the command runs under is lost: it ends now.
    pub fn lose(&self) {
        self.orders.give(|number, _| Order::Lost { number });
    }

    /// The next event, waited for at most so long.
    pub fn next(&self, wait: Duration) -> Option<Event> {
        match self.events.recv_timeout(wait) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            // The watch ended without a word, which it does only by a defect: nothing is known of the command.
            Err(RecvTimeoutError::Disconnected) => {
                Some(Event::Over(End { status: None, cause: None, leftovers: Processes::default() }))
            }
        }
    }
}

impl Orders {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the keeper its deadline, new or not. A keeper that is stopped does not answer.
    pub(super) fn repeat(&self) {
        self.give(|number, trust| Order::Trust { number, trust });
    }

    fn give(&self, order: impl FnOnce(u64, Trust) -> Order) {
        let mut state = self.state();
        let order = order(state.number + 1, state.trust);
        if !matches!(order, Order::Signal(_)) {
            state.number += 1;
            state.unheard = state.unheard.or(Some(since_boot()));
        }
        // A keeper that cannot be told is one that does not answer.
        let _ = say(&self.socket, &order, None);
    }

    pub(super) fn heard(&self, number: u64) {
        let mut state = self.state();
        if number == state.number {
            state.unheard = None;
        }
    }
}

/// A name for this run that no other has: by this process, and by now.
fn mark() -> String {
    let me = std::process::id();
    let started = stat(i64::from(me)).map_or(0, |stat| stat.started);
    format!("{me}-{started}-{}", since_boot().as_nanos())
}
