//! Finds and signals the processes of a command, and proves that none is left.
//!
//! A subreaper inherits every descendant whose parent ends. So while this process has no child, it has no descendant.
//! This proves that all processes are gone. It does not depend on `/proc`, which may hide processes of other users;
//! `/proc` and the cgroup only supply the processes to signal.

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

/// How many processes are named. The rest are only counted.
const NAMED: usize = 10;

/// The maximum number of scans before a kill sends SIGKILL.
const SCANS: usize = 100;
/// How often a kill waits for a process to stop. On a busy machine each wait is long, and SIGKILL ends the process
/// anyway.
const WAITS: usize = 10;
/// How many consecutive scans have to find no new process. One scan may miss a process whose parent exits during the
/// scan.
const QUIET: usize = 3;

/// How often a scan by mark checks the newest processes, and how many of them.
const NEWEST_LOOKS: usize = 16;
const NEWEST: i64 = 4;

/// The processes of one command, as seen by an ancestor.
#[derive(Debug)]
pub(super) struct Descendants {
    /// The command itself. `None` if only its mark is known.
    pub(super) command: Option<Pid>,
    pub(super) own_group: bool,
    pub(super) cgroup: Option<Cgroup>,
    /// The mark in the environment of each process, used where children of this process may belong to others.
    pub(super) mark: String,
    /// Whether this process is a subreaper and all its children belong to the command.
    pub(super) is_reaper: bool,
    /// The exit status of the command, once it was read.
    pub(super) status: Option<ExitStatus>,
}

impl Descendants {
    /// Reaps the children that have ended. Returns true if no child is left. The call that finds the end of the command
    /// only reads its status and does not reap it: until the next call the status stays with the system, where the
    /// runner finds it if this process is killed before it reports.
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

    /// Whether no process is left: a subreaper has no child, and the cgroup is empty. Without a subreaper and without a
    /// cgroup, only scans can tell.
    pub(super) fn are_gone(&mut self) -> bool {
        let no_child = self.reap();
        if self.cgroup.as_ref().is_some_and(Cgroup::is_populated) {
            return false;
        }
        if self.is_reaper { no_child } else { (0..QUIET).all(|_| self.live().is_empty()) && !self.group_lives() }
    }

    /// If processes cannot be listed, only the group is known.
    fn group_lives(&self) -> bool {
        let lives = |command| test_kill_process_group(command).is_ok();
        !cfg!(target_os = "linux") && self.own_group && self.command.is_some_and(lives)
    }

    /// The processes that are alive. One scan may miss some, because processes start and end during the scan.
    pub(super) fn live(&self) -> Vec<(i64, Stat)> {
        let mut live = Vec::new();
        self.scan(|pid, stat| live.push((pid, stat)));
        live.sort_unstable_by_key(|(pid, _)| *pid);
        live
    }

    /// Finds the processes that are alive, the youngest child first, and reports each one at once: a process that
    /// starts the next one and exits is visible only briefly. Reaps children that have ended on the way. Otherwise the
    /// zombies of a fork loop pile up, and each scan spends longer on them than the next process lives.
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
                    // A process that has ended has no children. The lists may contain a cycle, because processes start
                    // and end while they are read.
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

    /// Visits all processes with the mark and their descendants, because a program may have overwritten its
    /// environment. A process that starts the next one and exits is gone before a scan of `/proc` reaches it, so the
    /// newest pids of the machine are checked repeatedly.
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

    /// Reaps a child that has ended, unless it is the command, which [`Descendants::reap`] handles.
    fn bury(&self, pid: i64) {
        if let Some(pid) = raw(pid).filter(|pid| Some(*pid) != self.command) {
            let _ = ended(pid, WaitIdOptions::empty());
        }
    }

    /// The processes that are alive, with the names of the first few.
    pub(super) fn named(&self) -> Processes {
        let live = self.live();
        let named = live.iter().take(NAMED).map(|(pid, stat)| CommandProcess {
            pid: *pid,
            started: stat.started,
            name: name(*pid).unwrap_or_default(),
        });
        Processes { named: named.collect(), count: live.len() }
    }

    /// Sends a signal to the group of the command, or to the command alone if it has no group of its own.
    pub(super) fn signal_group(&self, signal: Signal) {
        let Some(command) = self.command else { return };
        // Once a reaper has reaped the command, another process may have its pid. A process that is no reaper leaves
        // the zombie in place.
        if self.is_reaper && self.status.is_some() {
            return;
        }
        let _ = match self.own_group {
            true => kill_process_group(command, signal),
            false => kill_process(command, signal),
        };
    }

    /// Sends SIGTERM to all processes, and SIGCONT so that stopped processes receive it.
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

    /// Kills all processes: through the cgroup at once, and individually those outside it. All processes are stopped
    /// before the first one is killed, so that none can start a replacement for a killed one. Scans continue until they
    /// find no new process and none that still runs, because a fork that began before the signal completes after it.
    /// Returns the processes that were found.
    pub(super) fn kill(&self) -> BTreeSet<(i64, i64)> {
        if let Some(cgroup) = &self.cgroup {
            // The scans below find the processes that this does not reach.
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
            // A scan that finds nothing while a child is left has missed a process.
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
    /// Kills all processes and waits until they are gone. Used before the command has executed.
    pub(super) fn clear(&mut self) {
        while !self.are_gone() {
            self.kill();
            rest(Duration::from_millis(2));
        }
        self.leave_cgroup();
    }

    /// Removes the cgroup. Processes that still run move to the parent cgroup.
    pub(super) fn leave_cgroup(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.empty();
            cgroup.remove();
        }
    }
}

/// Sleeps. There is nothing to wait for, because the end of a process that is not a child is not signalled.
pub(super) fn rest(time: Duration) {
    wait_for(&mut [], time);
}

/// Waits until a descriptor is readable, or until the time has passed.
pub(super) fn wait_for(on: &mut [PollFd<'_>], time: Duration) {
    let time =
        Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: time.subsec_nanos().into() };
    // The caller checks again after any outcome.
    let _ = poll(on, Some(&time));
}

/// The status of a child that has ended. Does not block.
pub(super) fn ended(pid: Pid, how: WaitIdOptions) -> Option<ExitStatus> {
    let status = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | how).ok()??;
    let signal = || status.terminating_signal().map(ExitStatus::Signal);
    status.exit_status().map(ExitStatus::Code).or_else(signal)
}

/// Converts a pid.
pub(super) fn raw(pid: i64) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw)
}

/// Whether this process has a child, including zombies.
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
        // Signals from one process arrive in order: if the first had been sent, the second would find the process dead.
        send(pid, started, Signal::STOP);
        while state(pid) != b'T' {
            assert_ne!(state(pid), b'Z', "killed by the start time of another");
            rest(Duration::from_millis(1));
        }
        send(pid, started, Signal::KILL);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(9));
    }
}
