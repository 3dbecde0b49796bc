//! The runner's watch over the keeper. The runner is a subreaper too: if the keeper is killed, stopped or hangs, the
//! runner inherits the command and all its descendants, and ends them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::Pid;

use super::cgroup::Cgroup;
use super::clock::{LockTrust, since_boot};
use super::command::{KeeperEvent, KeeperState, NotStarted, Orders};
use super::descendants::{Descendants, raw, rest, wait_for};
use super::end::{CommandEnd, EndCause, ExitStatus, Processes};
use super::protocol::{Channel, Heard, KeeperReport, Refusal};
use super::run_record::RunRecord;
use super::termination::Termination;

/// The longest wait. Timers do not count the time that the machine was asleep, and the lock may be renewed during the
/// wait.
const SLICE: Duration = Duration::from_millis(250);

/// The runner's knowledge of the keeper and its command.
pub(super) struct Watch {
    pub(super) line: Channel,
    pub(super) keeper: Child,
    pub(super) orders: Arc<Orders>,
    pub(super) own_group: bool,
    pub(super) mark: String,
    pub(super) is_reaper: bool,
    pub(super) patience: Duration,
    /// The command, once the keeper has reported its pid.
    pub(super) command: Option<Pid>,
    /// The cgroup of the command, once the keeper has reported it.
    pub(super) cgroup: Option<Cgroup>,
    /// The status of the command, and why it was ended, if it was.
    pub(super) exited: Option<(ExitStatus, Option<EndCause>)>,
    /// The record of the run, removed when the run is over.
    pub(super) record: Option<RunRecord>,
    pub(super) tell: Sender<KeeperEvent>,
}

/// The result of a check on the keeper.
enum KeeperVerdict {
    /// The keeper does its work.
    Fine,
    /// The keeper has reported the last event.
    Over(KeeperEvent),
    /// The keeper does not answer, or has not ended the command in time.
    Failed(EndCause),
    /// The keeper has exited.
    Gone,
}

impl Watch {
    pub(super) fn run(self) {
        self.run_by(Watch::watch);
    }

    /// If the watch panics, the runner takes over as if the keeper were lost, which ends the command and proves it. If
    /// that panics too, the closed channel tells the caller that nothing is proved.
    fn run_by(mut self, watch: impl FnOnce(&mut Watch) -> KeeperEvent) {
        let watched = catch_unwind(AssertUnwindSafe(|| watch(&mut self)));
        let last = watched.unwrap_or_else(|_| self.take_over(EndCause::KeeperGone));
        // This precedes the release of the lock: otherwise the next runner would end this run as an unfinished one.
        self.record.iter().for_each(RunRecord::remove);
        let _ = self.tell.send(last);
    }

    /// Watches the keeper until the last event.
    fn watch(&mut self) -> KeeperEvent {
        // The caller sends orders only when it renews the lock. These extra orders detect a stopped keeper between
        // renewals.
        let every = self.patience / 2;
        let mut asked = since_boot();
        loop {
            match self.judge() {
                KeeperVerdict::Fine => {}
                KeeperVerdict::Over(event) => {
                    self.bury_keeper();
                    return event;
                }
                KeeperVerdict::Failed(cause) => return self.take_over(cause),
                KeeperVerdict::Gone => return self.take_over(EndCause::KeeperGone),
            }
            let trust = self.orders.state().trust;
            if since_boot() >= ask_at(asked, every, trust) {
                asked = since_boot();
                self.orders.repeat();
            }
            let next = trust.strike_at().min(ask_at(asked, every, trust));
            let wait = next.saturating_sub(since_boot()).clamp(Duration::from_millis(1), SLICE);
            wait_for(&mut [PollFd::new(self.line.socket(), PollFlags::IN)], wait);
        }
    }

    /// Reads the reports of the keeper first, so that those sent while this process was stopped count.
    fn judge(&mut self) -> KeeperVerdict {
        if let Some(verdict) = self.hear() {
            return verdict;
        }
        failing(&self.orders.state(), self.patience, since_boot()).map_or(KeeperVerdict::Fine, KeeperVerdict::Failed)
    }

    fn hear(&mut self) -> Option<KeeperVerdict> {
        loop {
            match self.line.hear::<KeeperReport>(false) {
                Heard::Nothing => return None,
                Heard::Closed => return Some(KeeperVerdict::Gone),
                Heard::Message(KeeperReport::Starting { pid }) => {
                    self.command = raw(pid);
                    self.orders.heard(0);
                }
                Heard::Message(KeeperReport::Cgroup { dir }) => self.cgroup = Some(Cgroup::at(dir)),
                Heard::Message(KeeperReport::Heard { number }) => self.orders.heard(number),
                Heard::Message(KeeperReport::Exited { status, cause }) => self.exited = Some((status, cause)),
                Heard::Message(KeeperReport::Surviving(surviving)) => {
                    _ = self.tell.send(KeeperEvent::Surviving(surviving));
                }
                Heard::Message(KeeperReport::NotStarted(refusal)) => {
                    return Some(KeeperVerdict::Over(KeeperEvent::NotStarted(match refusal {
                        Refusal::System(number) => NotStarted::System(number),
                        Refusal::Late => NotStarted::Late,
                    })));
                }
                Heard::Message(KeeperReport::Over(end)) => return Some(KeeperVerdict::Over(KeeperEvent::Over(end))),
            }
        }
    }

    /// Kills and reaps the keeper, which is done or has failed.
    fn bury_keeper(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }

    /// Does the work of the keeper in its place.
    fn take_over(&mut self, cause: EndCause) -> KeeperEvent {
        self.bury_keeper();
        if let Some(KeeperVerdict::Over(event)) = self.hear() {
            return event;
        }
        let Some(command) = self.command else {
            // The launcher ends with its keeper, and has not executed the command.
            if let Some(cgroup) = self.cgroup.take() {
                cgroup.clear();
            }
            return KeeperEvent::NotStarted(NotStarted::NoKeeper);
        };
        let mut descendants = Descendants {
            command: Some(command),
            own_group: self.own_group,
            cgroup: self.cgroup.take(),
            mark: self.mark.clone(),
            is_reaper: self.is_reaper,
            status: self.exited.map(|(status, _)| status),
        };
        descendants.reap();
        let (trust, is_lost) = {
            let state = self.orders.state();
            (state.trust, state.is_lost || since_boot() >= state.trust.term_at)
        };
        let cause = match self.exited {
            // The keeper has reported whether it had asked the command to end.
            Some((_, cause)) => cause,
            None => why(cause, descendants.status, is_lost),
        };
        let end = match cause {
            None => {
                descendants.reap();
                CommandEnd { status: descendants.status, cause, leftovers: descendants.named() }
            }
            Some(why) => {
                let mut ending = Termination::begin(&descendants, why, trust);
                while !descendants.are_gone() {
                    if let Some(surviving) = ending.go_on(&descendants) {
                        let _ = self.tell.send(KeeperEvent::Surviving(surviving));
                    }
                    rest(ending.pause());
                }
                CommandEnd { status: descendants.status, cause, leftovers: Processes::default() }
            }
        };
        descendants.leave_cgroup();
        KeeperEvent::Over(end)
    }
}

/// When to ask the keeper for the next answer: at a fixed interval, and when SIGTERM is due. A stopped keeper is thus
/// known before the runner has to kill in its place.
fn ask_at(asked: Duration, every: Duration, trust: LockTrust) -> Duration {
    if asked < trust.term_at { trust.term_at.min(asked + every) } else { asked + every }
}

/// Why the keeper has to be replaced at `now`, if it has to. If the lock was not renewed in time, a keeper that answers
/// has done what it could. A keeper that has owed an answer since before SIGKILL was due counts as lost as well.
fn failing(state: &KeeperState, patience: Duration, now: Duration) -> Option<EndCause> {
    let (trust, since) = (state.trust, state.unheard_since());
    let is_silent = since.is_some_and(|since| {
        // Once SIGTERM is due, little time is left to do the work of a stopped keeper.
        now >= since + patience || now >= since.max(trust.term_at) + trust.grace() / 2
    });
    match now >= trust.strike_at() {
        true if since.is_some_and(|since| since < trust.kill_at) => Some(EndCause::KeeperGone),
        true => Some(EndCause::Lost),
        false => is_silent.then_some(EndCause::KeeperGone),
    }
}

/// Why a command was ended if its keeper has not reported its end. `is_lost`: the keeper had to ask the command to end,
/// and may have done so.
fn why(cause: EndCause, status: Option<ExitStatus>, is_lost: bool) -> Option<EndCause> {
    match status {
        // The end of the keeper kills a command that still runs, so this status proves nothing.
        None | Some(ExitStatus::Signal(9)) => Some(cause),
        Some(_) if is_lost => Some(EndCause::Lost),
        Some(ExitStatus::Code(_)) if cause == EndCause::KeeperGone => None,
        Some(ExitStatus::Signal(_)) if cause == EndCause::KeeperGone => Some(EndCause::Signal),
        Some(_) => Some(cause),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use tenure_core::Span;

    use super::*;
    use crate::process::MARKER;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn inv_r14_a_silent_keeper_is_lost_after_its_patience_and_a_lock_before_it_can_end() {
        let begin = since_boot();
        let trust = LockTrust::from(begin, Span::seconds(4));
        let mut state = KeeperState::new(trust);
        let since = state.unheard_since().unwrap();
        assert_eq!(failing(&state, 2 * SECOND, since + SECOND), None);
        assert_eq!(failing(&state, 2 * SECOND, since + 2 * SECOND), Some(EndCause::KeeperGone));
        assert_eq!(failing(&state, 8 * SECOND, trust.term_at), None, "the keeper may still end it");
        let relieved = trust.term_at + trust.grace() / 2;
        assert_eq!(
            failing(&state, 8 * SECOND, relieved),
            Some(EndCause::KeeperGone),
            "in time for a kill when it is due"
        );
        assert_eq!(failing(&state, 8 * SECOND, trust.strike_at()), Some(EndCause::KeeperGone));
        state.heard(0);
        assert_eq!(failing(&state, 8 * SECOND, trust.strike_at()), Some(EndCause::Lost), "the keeper answers");
    }

    #[test]
    fn inv_r14_a_keeper_is_asked_for_an_answer_when_it_has_to_end_the_command() {
        let trust = LockTrust::from(10 * SECOND, Span::seconds(4));
        assert_eq!(ask_at(10 * SECOND, SECOND, trust), 11 * SECOND);
        assert_eq!(ask_at(trust.term_at - SECOND / 2, SECOND, trust), trust.term_at);
        assert_eq!(ask_at(trust.term_at, SECOND, trust), trust.term_at + SECOND);
    }

    #[test]
    fn inv_u2_a_status_that_a_lost_lock_may_have_caused_is_not_the_commands_own() {
        let (code, term, kill) = (Some(ExitStatus::Code(0)), Some(ExitStatus::Signal(15)), Some(ExitStatus::Signal(9)));
        let gone = EndCause::KeeperGone;
        assert_eq!((why(gone, code, false), why(gone, code, true)), (None, Some(EndCause::Lost)));
        assert_eq!((why(gone, term, false), why(gone, term, true)), (Some(EndCause::Signal), Some(EndCause::Lost)));
        assert_eq!((why(gone, kill, false), why(gone, kill, true)), (Some(gone), Some(gone)));
        assert_eq!((why(gone, None, false), why(EndCause::Lost, code, true)), (Some(gone), Some(EndCause::Lost)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn inv_r14_a_watch_that_panics_ends_the_command_all_the_same() {
        let mark = format!("{}-panics-{}", std::process::id(), since_boot().as_nanos());
        let sleeper = |mark: &str| {
            let mut command = Command::new("sleep");
            command.arg("600").env(MARKER, mark).stdin(Stdio::null());
            command.spawn().unwrap()
        };
        let (keeper, mut command) = (sleeper(""), sleeper(&mark));
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let state = Mutex::new(KeeperState::new(LockTrust::from(since_boot(), Span::seconds(4))));
        let (tell, events) = channel();
        let watch = Watch {
            line: Channel::new(ours.try_clone().unwrap()),
            keeper,
            orders: Arc::new(Orders { socket: ours, state }),
            own_group: true,
            mark,
            is_reaper: false,
            patience: 2 * SECOND,
            command: Some(Pid::from_child(&command)),
            cgroup: None,
            exited: None,
            record: None,
            tell,
        };
        watch.run_by(|_| panic!("a defect, made for this test"));
        let KeeperEvent::Over(end) = events.recv().unwrap() else { panic!("it is over") };
        assert_eq!(end.cause, Some(EndCause::KeeperGone));
        let ended = std::os::unix::process::ExitStatusExt::signal(&command.wait().unwrap());
        assert_eq!(ended, Some(15), "it was asked");
    }
}
