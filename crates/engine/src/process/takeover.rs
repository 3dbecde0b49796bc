//! The runner's watch over the keeper. A keeper that is killed, stopped or hangs is replaced by the runner itself, which is
//! a subreaper too: it inherits the command and everything below it, and ends it.

use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::Pid;

use super::cgroup::Cgroup;
use super::clock::since_boot;
use super::descendants::{Descendants, raw, rest, wait_for};
use super::end::{Cause, End, Processes, Status};
use super::ending::Ending;
use super::kept::{Event, NotStarted, Orders};
use super::protocol::{Heard, Line, Refusal, Report};

/// No wait is longer: a timer does not count the time that the machine was asleep, and trust may be renewed meanwhile.
const SLICE: Duration = Duration::from_millis(250);

/// What the runner knows of the keeper and its command.
pub(super) struct Watch {
    pub(super) line: Line,
    pub(super) keeper: Child,
    pub(super) orders: Arc<Orders>,
    pub(super) own_group: bool,
    pub(super) mark: String,
    pub(super) is_reaper: bool,
    pub(super) patience: Duration,
    /// The command, once the keeper has named it.
    pub(super) command: Option<Pid>,
    /// Its cgroup, once it has one.
    pub(super) cgroup: Option<Cgroup>,
    /// How the command ended, and whether it was ended.
    pub(super) exited: Option<(Status, Option<Cause>)>,
    pub(super) tell: Sender<Event>,
}

/// What to do about the keeper.
enum Verdict {
    /// It does its work.
    Fine,
    /// It has said how it all ended.
    Over(Event),
    /// It does not answer or is late.
    Failed(Cause),
    /// It is gone.
    Gone,
}

impl Watch {
    pub(super) fn run(mut self) {
        // The caller gives orders only while what it runs under is renewed. A stopped keeper has to be found all the same.
        let every = self.patience / 2;
        let mut ask_at = since_boot() + every;
        let last = loop {
            match self.judge() {
                Verdict::Fine => {}
                Verdict::Over(event) => {
                    self.bury_keeper();
                    break event;
                }
                Verdict::Failed(cause) => break self.take_over(cause),
                Verdict::Gone => break self.take_over(Cause::KeeperGone),
            }
            if since_boot() >= ask_at {
                self.orders.repeat();
                ask_at = since_boot() + every;
            }
            let next = self.orders.state().trust.strike_at().min(ask_at);
            let wait = next.saturating_sub(since_boot()).clamp(Duration::from_millis(1), SLICE);
            wait_for(&mut [PollFd::new(self.line.socket(), PollFlags::IN)], wait);
        };
        let _ = self.tell.send(last);
    }

    /// Hears the keeper first, so that what it said while this process was stopped counts.
    fn judge(&mut self) -> Verdict {
        if let Some(verdict) = self.hear() {
            return verdict;
        }
        let (now, state) = (since_boot(), *self.orders.state());
        if now >= state.trust.strike_at() {
            return Verdict::Failed(Cause::Lost);
        }
        match state.unheard {
            Some(since) if now >= since + self.patience => Verdict::Failed(Cause::KeeperGone),
            _ => Verdict::Fine,
        }
    }

    fn hear(&mut self) -> Option<Verdict> {
        loop {
            match self.line.hear::<Report>(false) {
                Heard::Nothing => return None,
                Heard::Closed => return Some(Verdict::Gone),
                Heard::Message(Report::Starting { pid }) => {
                    self.command = raw(pid);
                    self.orders.heard(0);
                }
                Heard::Message(Report::Cgroup { dir }) => self.cgroup = Some(Cgroup::at(dir)),
                Heard::Message(Report::Heard { number }) => self.orders.heard(number),
                Heard::Message(Report::Exited { status, cause }) => self.exited = Some((status, cause)),
                Heard::Message(Report::Surviving(surviving)) => _ = self.tell.send(Event::Surviving(surviving)),
                Heard::Message(Report::NotStarted(refusal)) => {
                    return Some(Verdict::Over(Event::NotStarted(match refusal {
                        Refusal::System(number) => NotStarted::System(number),
                        Refusal::Late => NotStarted::Late,
                    })));
                }
                Heard::Message(Report::Over(end)) => return Some(Verdict::Over(Event::Over(end))),
            }
        }
    }

    /// Ends the keeper, which has nothing left to do or does not do it.
    fn bury_keeper(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }

    /// Does what the keeper would have done.
    fn take_over(&mut self, cause: Cause) -> Event {
        self.bury_keeper();
        if let Some(Verdict::Over(event)) = self.hear() {
            return event;
        }
        let Some(command) = self.command else {
            // The launcher ends with its keeper, and has not executed anything.
            if let Some(cgroup) = self.cgroup.take() {
                cgroup.clear();
            }
            return Event::NotStarted(NotStarted::NoKeeper);
        };
        let mut descendants = Descendants {
            command,
            own_group: self.own_group,
            cgroup: self.cgroup.take(),
            mark: self.mark.clone(),
            is_reaper: self.is_reaper,
            status: self.exited.map(|(status, _)| status),
        };
        descendants.reap();
        let cause = match (self.exited, descendants.status) {
            (Some((_, Some(cause))), _) => Some(cause),
            (_, Some(Status::Code(_))) if cause == Cause::KeeperGone => None,
            // The end of the keeper kills the command, if it still runs then: that status proves nothing.
            (_, Some(Status::Signal(signal))) if cause == Cause::KeeperGone && signal != 9 => Some(Cause::Signal),
            _ => Some(cause),
        };
        let end = match cause {
            None => {
                descendants.reap();
                End { status: descendants.status, cause, leftovers: descendants.named() }
            }
            Some(why) => {
                let mut ending = Ending::begin(&descendants, why, self.orders.state().trust);
                while !descendants.are_gone() {
                    if let Some(surviving) = ending.go_on(&descendants) {
                        let _ = self.tell.send(Event::Surviving(surviving));
                    }
                    rest(ending.pause());
                }
                End { status: descendants.status, cause, leftovers: Processes::default() }
            }
        };
        descendants.leave_cgroup();
        Event::Over(end)
    }
}
