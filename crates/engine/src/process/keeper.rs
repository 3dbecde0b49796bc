//! The keeper: parent of the command and subreaper of all its descendants. It never touches the store.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal};

use super::cgroup::Cgroup;
use super::clock::{LockTrust, since_boot};
use super::descendants::{Descendants, wait_for};
use super::end::{CommandEnd, EndCause, ExitStatus, Processes};
use super::launch;
use super::protocol::{Channel, Go, Heard, KeeperOrder, KeeperReport, Refusal};
use super::signals::{self, Passed};
use super::system;
use super::termination::Termination;

/// The first argument that selects this role.
pub(super) const ROLE: &str = "keeper";

/// The longest wait. Timers do not count the time that the machine was asleep.
const SLICE: Duration = Duration::from_secs(1);

/// Keeps the command given by `words`, for the runner at the other end of standard input.
pub(super) fn run(words: &[OsString]) -> ExitCode {
    // For `ps`: the program was started through `/proc/self/exe`.
    let _ = std::fs::write("/proc/self/comm", "tenure");
    let Ok(mut runner) = Channel::inherited() else { return ExitCode::FAILURE };
    let is_reaper = system::become_subreaper();
    let Heard::Message(KeeperOrder::Start { trust, group, cgroup, mark, record }) = runner.hear::<KeeperOrder>(true)
    else {
        return ExitCode::FAILURE;
    };
    let Some(input) = runner.take_descriptor() else { return ExitCode::FAILURE };
    match Keeper::start(runner, words, trust, group, cgroup, mark, is_reaper, input) {
        Some(keeper) => {
            Keeper { record, ..keeper }.keep();
            ExitCode::SUCCESS
        }
        None => ExitCode::FAILURE,
    }
}

struct Keeper {
    runner: Channel,
    /// Whether the runner is still connected.
    attended: bool,
    /// The launcher, until it executes the command.
    launcher: Option<Channel>,
    trust: LockTrust,
    descendants: Descendants,
    /// Becomes readable when the command ends.
    command: Option<OwnedFd>,
    ending: Option<Termination>,
    /// Whether a forwarded signal requested the end of the command.
    asked: bool,
    /// Whether the exit status was reported to the runner.
    reported: bool,
    /// The record of the run, removed when the run is over.
    record: Option<PathBuf>,
}

impl Keeper {
    #[expect(clippy::too_many_arguments, reason = "the parts of one order")]
    fn start(
        runner: Channel,
        words: &[OsString],
        trust: LockTrust,
        group: Option<i32>,
        cgroup: Option<String>,
        mark: String,
        is_reaper: bool,
        input: OwnedFd,
    ) -> Option<Keeper> {
        let refuse = |refusal: Refusal| _ = runner.say(&KeeperReport::NotStarted(refusal), None);
        let spawned = UnixStream::pair().and_then(|(ours, theirs)| {
            let mut launcher = Command::new(program()?);
            launcher.arg0("tenure").arg(launch::ROLE).args(words).stdin(OwnedFd::from(theirs));
            launcher.process_group(group.unwrap_or(0));
            Ok((Channel::new(ours), launcher.spawn()?))
        });
        let (launcher, child) = match spawned {
            Ok(spawned) => spawned,
            Err(error) => {
                refuse(Refusal::System(error.raw_os_error().unwrap_or(0)));
                return None;
            }
        };
        let pid = Pid::from_child(&child);
        let number = i64::from(pid.as_raw_nonzero().get());
        let mut descendants =
            Descendants { command: Some(pid), own_group: group.is_none(), cgroup: None, mark, is_reaper, status: None };
        // The launcher joins the cgroup before it executes the command, so no process of the command starts outside it.
        if let Some(cgroup) = cgroup.and_then(|name| Cgroup::make(&name)) {
            // The runner needs the directory first: it removes the cgroup if this process is killed.
            let told = runner.say(&KeeperReport::Cgroup { dir: cgroup.dir().to_owned() }, None).is_ok();
            if told && cgroup.join(number).is_ok() {
                descendants.cgroup = Some(cgroup);
            } else {
                cgroup.remove();
            }
        }
        if since_boot() >= trust.term_at {
            descendants.clear();
            refuse(Refusal::Late);
            return None;
        }
        // The command may run from here on, so the runner has to know its pid first. A runner that cannot be told has
        // exited.
        if runner.say(&KeeperReport::Starting { pid: number }, None).is_err() {
            descendants.clear();
            return None;
        }
        let _ = launcher.say(&Go, Some(input.as_fd()));
        drop(input);
        let_go_of_output();
        // From here on signals do not end the keeper. This follows the start of the command, which inherits the
        // caller's signal handling.
        let _ = signals::listen(|_| ());
        let command = system::open(pid);
        Some(Keeper {
            runner,
            attended: true,
            launcher: Some(launcher),
            trust,
            descendants,
            command,
            ending: None,
            asked: false,
            reported: false,
            record: None,
        })
    }

    fn keep(&mut self) {
        loop {
            if let Some(refusal) = self.hear_launcher() {
                return self.refuse(refusal);
            }
            if self.look() {
                return;
            }
            self.wait();
            self.hear_runner();
        }
    }

    /// Checks children and deadlines. Returns true when there is nothing left to do.
    fn look(&mut self) -> bool {
        let no_child = self.descendants.are_gone();
        if let (Some(status), false) = (self.descendants.status, self.reported) {
            // The report includes whether the other processes are to be ended, so that a runner that takes over
            // continues with that.
            let signalled = self.was_signalled(status).then_some(EndCause::Signal);
            let cause = self.ending.as_ref().map(|ending| ending.cause).or(signalled);
            self.say(&KeeperReport::Exited { status, cause });
            self.reported = true;
            if let Some(cause) = cause {
                self.begin(cause);
            }
            // The call to `are_gone` that finds the end of the command checks nothing else, so check again.
            return self.look();
        }
        if self.ending.is_none() && self.reported {
            // The processes that the command left running stay, and are named.
            self.over(if no_child { Processes::default() } else { self.descendants.named() });
            return true;
        }
        if self.ending.is_none() && since_boot() >= self.trust.term_at {
            self.begin(EndCause::Lost);
        }
        let Some(ending) = &mut self.ending else { return false };
        if no_child {
            self.over(Processes::default());
            return true;
        }
        if let Some(surviving) = ending.go_on(&self.descendants) {
            self.say(&KeeperReport::Surviving(surviving));
        }
        false
    }

    /// Whether the command was ended by a signal; its remaining processes are then ended too. A signal from the
    /// keyboard reaches the command before this process knows of it, so the exit status decides.
    fn was_signalled(&self, status: ExitStatus) -> bool {
        let by_keyboard = !self.descendants.own_group && matches!(status.exit_code(), 130 | 131);
        self.asked || status.signal().is_some() || by_keyboard
    }

    /// Starts to end all processes.
    fn begin(&mut self, cause: EndCause) {
        if self.ending.is_none() {
            self.ending = Some(Termination::begin(&self.descendants, cause, self.trust));
        }
    }

    fn over(&mut self, leftovers: Processes) {
        self.descendants.leave_cgroup();
        // The runner removes the record as well, but may have exited. The next runner must not end processes that were
        // left on purpose.
        self.record.iter().for_each(|file| _ = std::fs::remove_file(file));
        let cause = self.ending.as_ref().map(|ending| ending.cause);
        self.say(&KeeperReport::Over(CommandEnd { status: self.descendants.status, cause, leftovers }));
    }

    /// Ends a launcher that did not execute the command, and reports why.
    fn refuse(&mut self, refusal: Refusal) {
        self.descendants.clear();
        self.say(&KeeperReport::NotStarted(refusal));
    }

    fn wait(&self) {
        let until = match &self.ending {
            Some(ending) => ending.pause(),
            // Without a pidfd the end of the command is polled.
            None if self.command.is_none() => Duration::from_millis(20),
            None => self.trust.term_at.saturating_sub(since_boot()),
        };
        let mut on = Vec::new();
        if self.attended {
            on.push(PollFd::new(self.runner.socket(), PollFlags::IN));
        }
        if let Some(launcher) = &self.launcher {
            on.push(PollFd::new(launcher.socket(), PollFlags::IN));
        }
        if let (Some(command), None) = (&self.command, self.descendants.status) {
            on.push(PollFd::new(command, PollFlags::IN));
        }
        wait_for(&mut on, until.clamp(Duration::from_millis(1), SLICE));
    }

    /// Reads the launcher's socket. The launcher sends a message only if it could not execute the command.
    fn hear_launcher(&mut self) -> Option<Refusal> {
        match self.launcher.as_mut()?.hear::<Refusal>(false) {
            Heard::Nothing => None,
            Heard::Message(refusal) => Some(refusal),
            Heard::Closed => {
                self.launcher = None;
                None
            }
        }
    }

    fn hear_runner(&mut self) {
        while self.attended {
            match self.runner.hear::<KeeperOrder>(false) {
                Heard::Nothing => return,
                Heard::Message(KeeperOrder::Trust { number, trust }) => {
                    self.trust = trust;
                    self.say(&KeeperReport::Heard { number });
                }
                Heard::Message(KeeperOrder::Lost { number }) => {
                    self.begin(EndCause::Lost);
                    self.say(&KeeperReport::Heard { number });
                }
                Heard::Message(KeeperOrder::Signal(passed)) => self.pass(passed),
                Heard::Message(KeeperOrder::Start { .. }) | Heard::Closed => {
                    self.attended = false;
                    self.begin(EndCause::RunnerGone);
                }
            }
        }
    }

    /// Forwards a signal of the runner. A command in the same group has already received the signals of the keyboard.
    fn pass(&mut self, passed: Passed) {
        let own_group = self.descendants.own_group;
        match passed {
            Passed::Interrupt | Passed::Quit if !own_group => {}
            Passed::Terminate => {
                self.asked = true;
                self.descendants.terminate();
            }
            Passed::Interrupt | Passed::Quit | Passed::HangUp => {
                self.asked = true;
                self.descendants.signal_group(match passed {
                    Passed::Interrupt => Signal::INT,
                    Passed::Quit => Signal::QUIT,
                    Passed::HangUp | Passed::Terminate => Signal::HUP,
                });
            }
        }
    }

    fn say(&self, report: &KeeperReport) {
        // The loss of the runner is detected when its socket is read.
        let _ = self.runner.say(report, None);
    }
}

/// Closes the keeper's copies of the caller's output, so that it does not keep them open.
#[expect(clippy::disallowed_methods, reason = "a file of the system")]
fn let_go_of_output() {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// The path of this program, even if its file was replaced or removed.
pub(super) fn program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}
