//! The runner's interface to a command under a keeper.

use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, getpgrp, waitid};

use super::clock::{LockTrust, since_boot};
use super::end::{CommandEnd, Processes};
use super::protocol::{Channel, KeeperOrder, say};
use super::run_record::RunRecord;
use super::signals::Passed;
use super::stat::stat;
use super::takeover::Watch;
use super::{LaunchSpec, MARKER, cgroup, keeper, signals, system};

/// An event in the life of a kept command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeeperEvent {
    /// The command was not started, and nothing of it has run.
    NotStarted(NotStarted),
    /// These processes were killed and are still alive. Repeated while that is so.
    Surviving(Processes),
    /// The run is over. The last event.
    Over(CommandEnd),
    /// The watch failed because of a defect, and the command may still run. The last event. The keeper ends the command
    /// when this process exits.
    Unwatched,
}

/// Why a command was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// The system refused with this error number.
    System(i32),
    /// Its deadline had already passed.
    Late,
    /// The keeper ended before it could start the command.
    NoKeeper,
}

/// A command under a keeper. The keeper ends the command when this value is dropped.
#[derive(Debug)]
pub struct KeptCommand {
    orders: Arc<Orders>,
    events: Receiver<KeeperEvent>,
}

/// The connection to the keeper, and its state.
#[derive(Debug)]
pub(super) struct Orders {
    pub(super) socket: UnixStream,
    pub(super) state: Mutex<KeeperState>,
}

/// The last order to the keeper, and the orders that it has not answered yet.
#[derive(Clone, Debug)]
pub(super) struct KeeperState {
    pub(super) trust: LockTrust,
    /// Whether the keeper was told to end the command.
    pub(super) is_lost: bool,
    /// The number of the last order that the keeper has to answer.
    number: u64,
    /// The unanswered orders, oldest first: number and time of each.
    unheard: VecDeque<(u64, Duration)>,
}

impl KeeperState {
    /// The state of a keeper that has just received its first order.
    pub(super) fn new(trust: LockTrust) -> KeeperState {
        KeeperState { trust, is_lost: false, number: 0, unheard: VecDeque::from([(0, since_boot())]) }
    }

    /// Since when the keeper has owed an answer. An answer acknowledges its order and all earlier ones, so a keeper
    /// that answers late does not count as silent because of later orders.
    pub(super) fn unheard_since(&self) -> Option<Duration> {
        self.unheard.front().map(|(_, given)| *given)
    }

    fn given(&mut self, at: Duration) -> u64 {
        self.number += 1;
        self.unheard.push_back((self.number, at));
        self.number
    }

    pub(super) fn heard(&mut self, number: u64) {
        while self.unheard.front().is_some_and(|(given, _)| *given <= number) {
            self.unheard.pop_front();
        }
    }
}

impl KeptCommand {
    /// Starts a keeper for a command. Whether the command itself starts is reported as an event.
    pub fn start(spec: &LaunchSpec) -> io::Result<KeptCommand> {
        // A subreaper inherits every orphan below it. If this process already has children, it cannot tell their
        // orphans from those of the command.
        let alone = waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
        let is_reaper = matches!(alone, Err(Errno::CHILD)) && system::become_subreaper();
        let mark = mark();
        let record = spec.records.as_ref().and_then(|records| records.add(&mark));
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
        // A separate process group, so that a signal from the terminal that ends the runner does not reach the keeper.
        command.env(MARKER, marks).stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs))).process_group(0);
        let keeper = command.spawn().inspect_err(|_| record.iter().for_each(RunRecord::remove))?;
        drop(command);
        let orders = Arc::new(Orders { socket: ours.try_clone()?, state: Mutex::new(KeeperState::new(spec.trust)) });
        let start = KeeperOrder::Start {
            trust: spec.trust,
            group: (!spec.own_group).then(|| getpgrp().as_raw_nonzero().get()),
            cgroup: spec.cgroup.then(|| format!("{}{mark}", cgroup::PREFIX)),
            mark: mark.clone(),
            // A path that is not UTF-8 cannot be sent. Only the runner removes such a file.
            record: record.as_ref().and_then(|record| record.file.to_str()).map(Into::into),
        };
        say(&ours, &start, Some(rustix::stdio::stdin()))?;
        let (tell, events): (Sender<KeeperEvent>, _) = channel();
        let watch = Watch {
            line: Channel::new(ours),
            keeper,
            orders: Arc::clone(&orders),
            own_group: spec.own_group,
            mark,
            is_reaper,
            patience: spec.patience,
            command: None,
            cgroup: None,
            exited: None,
            record,
            tell,
        };
        let passing = Arc::clone(&orders);
        signals::listen(move |passed| passing.pass(passed))?;
        std::thread::Builder::new().name("keeper".into()).spawn(move || watch.run())?;
        Ok(KeptCommand { orders, events })
    }

    /// Extends the deadline of the command.
    pub fn trust(&self, trust: LockTrust) {
        self.orders.state().trust = trust;
        self.orders.repeat();
    }

    /// Ends the command now, because the lock is lost.
    pub fn lose(&self) {
        self.orders.state().is_lost = true;
        self.orders.give(|number, _| KeeperOrder::Lost { number });
    }

    /// Waits for the next event for at most `wait`.
    pub fn next(&self, wait: Duration) -> Option<KeeperEvent> {
        match self.events.recv_timeout(wait) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            // The watch sends a last event unless it has panicked.
            Err(RecvTimeoutError::Disconnected) => Some(KeeperEvent::Unwatched),
        }
    }
}

impl Orders {
    pub(super) fn state(&self) -> MutexGuard<'_, KeeperState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the current deadline to the keeper, new or not. A stopped keeper does not answer.
    pub(super) fn repeat(&self) {
        self.give(|number, trust| KeeperOrder::Trust { number, trust });
    }

    /// Forwards a signal. The keeper does not answer this order.
    fn pass(&self, passed: Passed) {
        let _ = say(&self.socket, &KeeperOrder::Signal(passed), None);
    }

    fn give(&self, order: impl FnOnce(u64, LockTrust) -> KeeperOrder) {
        let mut state = self.state();
        let number = state.given(since_boot());
        // A failed send shows as a missing answer. The mutex stays locked, so that orders are sent in the order of
        // their numbers.
        let _ = say(&self.socket, &order(number, state.trust), None);
    }

    pub(super) fn heard(&self, number: u64) {
        self.state().heard(number);
    }
}

/// A name for this run that is unique: pid, start time and current time.
fn mark() -> String {
    let me = std::process::id();
    let started = stat(i64::from(me)).map_or(0, |stat| stat.started);
    format!("{me}-{started}-{}", since_boot().as_nanos())
}

#[cfg(test)]
mod tests {
    use tenure_core::Span;

    use super::*;

    #[test]
    fn a_keeper_that_answers_late_owes_only_what_it_has_not_answered() {
        let at = Duration::from_secs;
        let mut state = KeeperState::new(LockTrust::from(at(0), Span::seconds(4)));
        assert!(state.unheard_since().is_some(), "the start");
        state.heard(0);
        assert_eq!(state.unheard_since(), None);
        // Each answer arrives after the next order was sent.
        assert_eq!(state.given(at(10)), 1);
        for second in 11..20 {
            let last = state.given(at(second)) - 1;
            assert_eq!(state.unheard_since(), Some(at(second - 1)));
            state.heard(last);
            assert_eq!(state.unheard_since(), Some(at(second)));
        }
        state.heard(10);
        assert_eq!(state.unheard_since(), None);
    }

    #[test]
    fn inv_r14_a_watch_that_panics_proves_nothing() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let state = Mutex::new(KeeperState::new(LockTrust::from(since_boot(), Span::seconds(4))));
        let (tell, events) = channel();
        drop(tell);
        let kept = KeptCommand { orders: Arc::new(Orders { socket: ours, state }), events };
        assert_eq!(kept.next(Duration::ZERO), Some(KeeperEvent::Unwatched));
    }
}
