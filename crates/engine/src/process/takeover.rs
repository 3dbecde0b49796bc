//! The runner's watch over the keeper. A keeper that is killed, stopped or hangs is replaced by the runner itself, which is
//! a subreaper too: it inherits the command and everything below it, and ends it.

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

/// No wait is longer: a timer does not count the time that the machine was asleep, and trust may be renewed meanwhile.
const SLICE: Duration = Duration::from_millis(250);

/// What the runner knows of the keeper and its command.
pub(super) struct Watch {
    pub(super) line: Channel,
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
    pub(super) exited: Option<(ExitStatus, Option<EndCause>)>,
    /// The record of the run, which is removed once the run is over.
    pub(super) record: Option<RunRecord>,
    pub(super) tell: Sender<KeeperEvent>,
}

/// What to do about the keeper.
enum KeeperVerdict {
    /// It does its work.
    Fine,
    /// It has said how it all ended.
    Over(KeeperEvent),
    /// It does not answer or is late.
    Failed(EndCause),
    /// It is gone.
    Gone,
}

impl Watch {
    pub(super) fn run(self) {
        self.run_by(Watch::watch);
    }

    /// A watch that panics takes over like one whose keeper is lost: the command is ended, and that is proved. Should that
    /// panic too, the caller learns by the closed channel that nothing is known.
    fn run_by(mut self, watch: impl FnOnce(&mut Watch) -> KeeperEvent) {
        let watched = catch_unwind(AssertUnwindSafe(|| watch(&mut self)));
        let last = watched.unwrap_or_else(|_| self.take_over(EndCause::KeeperGone));
        // Before the caller releases the lock: the next runner would take the run for one that never ended.
        self.record.iter().for_each(RunRecord::remove);
        let _ = self.tell.send(last);
    }

    /// Watches until the last event.
    fn watch(&mut self) -> KeeperEvent {
        // The caller gives orders only while what it runs under is renewed. A stopped keeper has to be found all the same.
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

    /// Hears the keeper first, so that what it said while this process was stopped counts.
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

    /// Ends the keeper, which has nothing left to do or does not do it.
    fn bury_keeper(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }

    /// Does what the keeper would have done.
    fn take_over(&mut self, cause: EndCause) -> KeeperEvent {
        self.bury_keeper();
        if let Some(KeeperVerdict::Over(event)) = self.hear() {
            return event;
        }
        let Some(command) = self.command else {
            // The launcher ends with its keeper, and has not executed anything.
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
            // The keeper knows whether it had asked the command to end.
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

/// When the keeper is asked for an answer next: every so often, and when it has to end the command. A keeper that is
/// stopped is then known as such when the runner has to strike.
fn ask_at(asked: Duration, every: Duration, trust: LockTrust) -> Duration {
    if asked < trust.term_at { trust.term_at.min(asked + every) } else { asked + every }
}

/// Why a keeper is to be replaced at an instant, if it is. Where the lock was not renewed in time, a keeper that answers
/// has done what it could. One that has owed an answer since before it had to kill has done nothing: it is lost too.
fn failing(state: &KeeperState, patience: Duration, now: Duration) -> Option<EndCause> {
    let (trust, since) = (state.trust, state.unheard_since());
    let is_silent = since.is_some_and(|since| {
        // Once SIGTERM is due there is little time left to do the work of a keeper that is stopped.
        now >= since + patience || now >= since.max(trust.term_at) + trust.grace() / 2
    });
    match now >= trust.strike_at() {
        true if since.is_some_and(|since| since < trust.kill_at) => Some(EndCause::KeeperGone),
        true => Some(EndCause::Lost),
        false => is_silent.then_some(EndCause::KeeperGone),
    }
}

/// Why a command was ended whose keeper has reported nothing of its end. `is_lost`: the keeper had to ask it to end, and may
/// have done so.
fn why(cause: EndCause, status: Option<ExitStatus>, is_lost: bool) -> Option<EndCause> {
    match status {
        // The end of the keeper kills the command, if it still runs then: that status proves nothing.
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
