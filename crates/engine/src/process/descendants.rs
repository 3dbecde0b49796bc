//! The processes of a command: finding them, signalling them, and proving that none is left.
//!
//! A subreaper inherits every descendant whose parent ends, so as long as this process has no child at all, it has no
//! descendant either. That is the proof that everything is gone; it needs no look at `/proc`, which may hide processes of
//! other users. `/proc` and the cgroup say whom to signal.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, test_kill_process_group, wait,
    waitid,
};

use super::cgroup::Cgroup;
use super::end::{CommandProcess, ExitStatus, Processes};
use super::listing::{below, children, has_children_files, is_marked, name, newest, pids, table};
use super::stat::{Stat, stat};
use super::system::send;

/// How many processes are named; the rest are counted.
const NAMED: usize = 10;

/// How many scans a kill makes at most before it sends SIGKILL.
const SCANS: usize = 100;
/// How often a kill waits for a process to stop. On a busy machine each wait is long, and SIGKILL ends it as well.
const WAITS: usize = 10;
/// How many scans in a row have to find nothing new: one scan may miss a process whose parent exits meanwhile.
const QUIET: usize = 3;

/// How often a scan by mark looks at the newest processes, and at how many.
const NEWEST_LOOKS: usize = 16;
const NEWEST: i64 = 4;

/// The processes of one command, seen by a process above it.
#[derive(Debug)]
pub(super) struct Descendants {
    /// The command itself; `None` where only its mark is known.
    pub(super) command: Option<Pid>,
    pub(super) own_group: bool,
    pub(super) cgroup: Option<Cgroup>,
    /// The mark in the environment of each, for a process that is no subreaper for them alone.
    pub(super) mark: String,
    /// Whether all children of this process belong to the command, and it is a subreaper.
    pub(super) is_reaper: bool,
    /// The status of the command, once it was taken note of.
    pub(super) status: Option<ExitStatus>,
}

impl Descendants {
    /// Takes note of the children that have ended; true where there is no child any more. The end of the command is only
    /// looked at by the call that finds it: until the next one its status stays with the system, where the runner finds it
    /// if this process is killed before it has reported.
    pub(super) fn reap(&mut self) -> bool {
        if let (None, Some(command)) = (self.status, self.command) {
            self.status = ended(command, WaitIdOptions::NOWAIT);
            if self.status.is_some() {
                return false;
            }
        }
        while self.is_reaper {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid) == self.command => {
                    let signal = || status.terminating_signal().map(ExitStatus::Signal);
                    self.status = self.status.or_else(|| status.exit_status().map(ExitStatus::Code).or_else(signal));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
        false
    }

    /// Whether none is left: no child of a subreaper, and no process in the cgroup. A process that is no subreaper has to
    /// rely on scans where there is no cgroup.
    pub(super) fn are_gone(&mut self) -> bool {
        let no_child = self.reap();
        if self.cgroup.as_ref().is_some_and(Cgroup::is_populated) {
            return false;
        }
        if self.is_reaper { no_child } else { (0..QUIET).all(|_| self.live().is_empty()) && !self.group_lives() }
    }

    /// Where processes cannot be listed, the group is all that is known.
    fn group_lives(&self) -> bool {
        let lives = |command| test_kill_process_group(command).is_ok();
        !cfg!(target_os = "linux") && self.own_group && self.command.is_some_and(lives)
    }

    /// Those that live. Processes come and go meanwhile, so one look may miss some.
    pub(super) fn live(&self) -> Vec<(i64, Stat)> {
        let mut live = Vec::new();
        self.scan(|pid, stat| live.push((pid, stat)));
        live.sort_unstable_by_key(|(pid, _)| *pid);
        live
    }

    /// Looks for those that live, the youngest child first, and tells of each at once: one that starts the next and exits
    /// is there for a moment only. Children that have ended are taken note of on the way. Otherwise those of a fork loop
    /// pile up, and each scan spends longer on them than the next process lives.
    fn scan(&self, mut on: impl FnMut(i64, Stat)) {
        let me = i64::from(std::process::id());
        let mut look = |pid: i64| {
            let Some(stat) = stat(pid) else { return false };
            if stat.lives() {
                on(pid, stat);
            } else if self.is_reaper && stat.parent == me {
                self.bury(pid);
            }
            stat.lives()
        };
        let mut seen = BTreeSet::from([me]);
        if self.is_reaper && has_children_files() {
            let mut open = vec![me];
            while let Some(pid) = open.pop() {
                for child in children(pid).into_iter().rev() {
                    // What has ended has no children. What was read while processes came and went may have a circle.
                    if seen.insert(child) && look(child) {
                        open.push(child);
                    }
                }
            }
        } else if self.is_reaper {
            below(&table(), me).into_iter().filter(|pid| seen.insert(*pid)).for_each(|pid| _ = look(pid));
        } else {
            self.scan_marked(|pid| _ = seen.insert(pid) && look(pid));
        }
        let inside = self.cgroup.iter().flat_map(Cgroup::pids);
        inside.filter(|pid| seen.insert(*pid)).for_each(|pid| _ = look(pid));
    }

    /// Looks at all processes with the mark, and at those below them: a program may have overwritten its environment. A
    /// process that starts the next one and exits is gone before a scan of `/proc` gets to it, so the newest processes of
    /// the machine are looked at again and again.
    fn scan_marked(&self, mut look: impl FnMut(i64)) {
        let me = i64::from(std::process::id());
        let mut roots = BTreeSet::new();
        let mut visit = |pid: i64| {
            if pid != me && is_marked(pid, &self.mark) {
                look(pid);
                roots.insert(pid);
            }
        };
        for newest in (0..NEWEST_LOOKS).filter_map(|_| newest()) {
            (0..NEWEST).for_each(|back| visit(newest - back));
        }
        pids().into_iter().rev().for_each(&mut visit);
        if !roots.is_empty() {
            let table = table();
            let below = roots.iter().flat_map(|root| below(&table, *root)).filter(|pid| *pid != me);
            below.for_each(&mut look);
        }
    }

    /// Takes note of a child that has ended, unless it is the command: that is left to [`Descendants::reap`].
    fn bury(&self, pid: i64) {
        if let Some(pid) = raw(pid).filter(|pid| Some(*pid) != self.command) {
            let _ = ended(pid, WaitIdOptions::empty());
        }
    }

    /// The same with their names, for people.
    pub(super) fn named(&self) -> Processes {
        let live = self.live();
        let named = live.iter().take(NAMED).map(|(pid, stat)| CommandProcess {
            pid: *pid,
            started: stat.started,
            name: name(*pid).unwrap_or_default(),
        });
        Processes { named: named.collect(), count: live.len() }
    }

    /// Sends a signal to the group of the command, or to the command alone where it has none.
    pub(super) fn signal_group(&self, signal: Signal) {
        let Some(command) = self.command else { return };
        // Once a reaper has taken note of its end, its number may be another's. Others leave its entry in the table.
        if self.is_reaper && self.status.is_some() {
            return;
        }
        let _ = match self.own_group {
            true => kill_process_group(command, signal),
            false => kill_process(command, signal),
        };
    }

    /// Asks all to end. One that is stopped would not hear it.
    pub(super) fn terminate(&self) {
        self.signal_all(Signal::TERM);
        self.signal_all(Signal::CONT);
    }

    fn signal_all(&self, signal: Signal) {
        if !cfg!(target_os = "linux") {
            self.signal_group(signal);
        }
        self.live().iter().for_each(|(pid, stat)| _ = send(*pid, stat.started, signal));
    }

    /// Kills all: at once through the cgroup, and one by one what is outside of it. All are stopped before the first of
    /// them is killed: a process that starts another in place of a killed one has no time to do so. Scans go on until
    /// they find nothing new and nothing that still runs, since a fork that began before the signal ends after it.
    /// Returns the processes that were found.
    pub(super) fn kill(&self) -> BTreeSet<(i64, i64)> {
        if let Some(cgroup) = &self.cgroup {
            // What it does not reach is reached below.
            let _ = cgroup.kill();
        }
        // Whether the signal was delivered: a process of another user does not stop.
        let mut found: BTreeMap<(i64, i64), bool> = BTreeMap::new();
        let (mut quiet, mut waits) = (0, 0);
        for _ in 0..SCANS {
            let (mut is_new, mut runs, mut is_empty) = (false, false, true);
            self.scan(|pid, stat| {
                is_empty = false;
                match found.get(&(pid, stat.started)) {
                    Some(delivered) => runs |= *delivered && stat.runs(),
                    None => {
                        found.insert((pid, stat.started), send(pid, stat.started, Signal::STOP));
                        is_new = true;
                    }
                }
            });
            if runs && !is_new && waits < WAITS {
                waits += 1;
                quiet = 0;
                rest(Duration::from_micros(200));
                continue;
            }
            // A scan that finds nothing where something is left has missed it.
            let has_missed = is_empty && self.is_reaper && has_child();
            quiet = if is_new || has_missed { 0 } else { quiet + 1 };
            if quiet == QUIET {
                break;
            }
        }
        if !cfg!(target_os = "linux") {
            self.signal_group(Signal::KILL);
        }
        found.keys().for_each(|(pid, started)| _ = send(*pid, *started, Signal::KILL));
        found.into_keys().collect()
    }
}

impl Descendants {
    /// Kills all and waits until they are gone: before anything of the command has run.
    pub(super) fn clear(&mut self) {
        while !self.are_gone() {
            self.kill();
            rest(Duration::from_millis(2));
        }
        self.leave_cgroup();
    }

    /// Removes the cgroup. What still runs goes on in the one above.
    pub(super) fn leave_cgroup(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.empty();
            cgroup.remove();
        }
    }
}

/// Waits a moment. There is nothing to wait for: the end of a process that is no child is told to nobody.
pub(super) fn rest(time: Duration) {
    wait_for(&mut [], time);
}

/// Waits until something can be read, at most so long.
pub(super) fn wait_for(on: &mut [PollFd<'_>], time: Duration) {
    let time =
        Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: time.subsec_nanos().into() };
    // Whatever ends the wait, its caller looks again.
    let _ = poll(on, Some(&time));
}

/// The status of a child that has ended, without waiting for it.
pub(super) fn ended(pid: Pid, how: WaitIdOptions) -> Option<ExitStatus> {
    let status = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | how).ok()??;
    let signal = || status.terminating_signal().map(ExitStatus::Signal);
    status.exit_status().map(ExitStatus::Code).or_else(signal)
}

/// A process number.
pub(super) fn raw(pid: i64) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw)
}

/// Whether this process has a child, ended or not.
fn has_child() -> bool {
    !matches!(
        waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT),
        Err(Errno::CHILD)
    )
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn sleeper(mark: &str) -> (Child, i64, i64) {
        let mut command = Command::new("sleep");
        command.arg("600").env(super::super::MARKER, mark).stdin(Stdio::null());
        let child = command.spawn().unwrap();
        let pid = i64::from(child.id());
        (child, pid, stat(pid).unwrap().started)
    }

    fn state(pid: i64) -> u8 {
        stat(pid).unwrap().state
    }

    #[test]
    fn inv_r14_a_signal_never_reaches_a_later_process_of_the_same_number() {
        let (mut child, pid, started) = sleeper("");
        send(pid, started - 1, Signal::KILL);
        // Signals of one process arrive in order: had it been sent, the next one would find it dead.
        send(pid, started, Signal::STOP);
        while state(pid) != b'T' {
            assert_ne!(state(pid), b'Z', "killed by the start time of another");
            rest(Duration::from_millis(1));
        }
        send(pid, started, Signal::KILL);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(9));
    }
}
