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
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, test_kill_process_group, wait, waitid,
};

use super::cgroup::Cgroup;
use super::end::{Process, Processes, Status};
use super::stat::{Stat, stat};
use super::system::send;

/// How many processes are named; the rest are counted.
const NAMED: usize = 10;

/// How many times all processes are stopped before they are killed. One that starts another in place of a killed one has
/// no time to do so when both are stopped before; each round stops what was started during the last one.
const STOPS: usize = 20;

/// The processes of one command, seen by a process above it.
#[derive(Debug)]
pub(super) struct Descendants {
    /// The command itself.
    pub(super) command: Pid,
    pub(super) own_group: bool,
    pub(super) cgroup: Option<Cgroup>,
    /// The mark in the environment of each, for a process that is no subreaper for them alone.
    pub(super) mark: String,
    /// Whether all children of this process belong to the command, and it is a subreaper.
    pub(super) is_reaper: bool,
    /// The status of the command, once it was taken note of.
    pub(super) status: Option<Status>,
}

impl Descendants {
    /// Takes note of the children that have ended; true where there is no child any more. The end of the command is only
    /// looked at by the call that finds it: until the next one its status stays with the system, where the runner finds it
    /// if this process is killed before it has reported.
    pub(super) fn reap(&mut self) -> bool {
        if self.status.is_none() {
            self.status = ended(self.command, WaitIdOptions::NOWAIT);
            if self.status.is_some() {
                return false;
            }
        }
        while self.is_reaper {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.command => {
                    let signal = || status.terminating_signal().map(Status::Signal);
                    self.status = self.status.or_else(|| status.exit_status().map(Status::Code).or_else(signal));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
        false
    }

    /// Whether none is left.
    pub(super) fn are_gone(&mut self) -> bool {
        let no_child = self.reap();
        if self.is_reaper { no_child } else { self.live().is_empty() && !self.group_lives() }
    }

    /// Where processes cannot be listed, the group is all that is known.
    fn group_lives(&self) -> bool {
        !cfg!(target_os = "linux") && self.own_group && test_kill_process_group(self.command).is_ok()
    }

    /// Those that live.
    pub(super) fn live(&self) -> Vec<(i64, Stat)> {
        let me = i64::from(std::process::id());
        let table = table();
        let mut found: BTreeSet<i64> = BTreeSet::new();
        if self.is_reaper {
            found.extend(below(&table, me));
        } else {
            let marked = table.keys().filter(|pid| **pid != me && is_marked(**pid, &self.mark));
            let roots: Vec<i64> = marked.copied().collect();
            found.extend(roots.iter().flat_map(|root| below(&table, *root)));
            found.extend(roots);
        }
        found.extend(self.cgroup.iter().flat_map(Cgroup::pids));
        found.remove(&me);
        let seen = found.into_iter().filter_map(|pid| Some((pid, *table.get(&pid).or(stat(pid).as_ref())?)));
        seen.filter(|(_, stat)| stat.lives()).collect()
    }

    /// The same with their names, for people.
    pub(super) fn named(&self) -> Processes {
        let live = self.live();
        let named = live.iter().take(NAMED).map(|(pid, stat)| Process {
            pid: *pid,
            started: stat.started,
            name: name(*pid).unwrap_or_default(),
        });
        Processes { named: named.collect(), count: live.len() }
    }

    /// Sends a signal to the group of the command, or to the command alone where it has none.
    pub(super) fn signal_group(&self, signal: Signal) {
        // Once its end was noted, its number may be another's.
        if self.status.is_some() {
            return;
        }
        let _ = match self.own_group {
            true => kill_process_group(self.command, signal),
            false => kill_process(self.command, signal),
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
        self.live().iter().for_each(|(pid, stat)| send(*pid, stat.started, signal));
    }

    /// Kills all: at once through the cgroup, and one by one what is outside of it.
    pub(super) fn kill(&self) {
        if let Some(cgroup) = &self.cgroup {
            // What it does not reach is reached below.
            let _ = cgroup.kill();
        }
        for _ in 0..STOPS {
            let live = self.live();
            let mut moving = live.iter().filter(|(_, stat)| !stat.is_stopped()).peekable();
            if moving.peek().is_none() {
                break;
            }
            moving.for_each(|(pid, stat)| send(*pid, stat.started, Signal::STOP));
        }
        self.signal_all(Signal::KILL);
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
    let time = Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: time.subsec_nanos().into() };
    // Whatever ends the wait, its caller looks again.
    let _ = poll(on, Some(&time));
}

/// The status of a child that has ended, without waiting for it.
pub(super) fn ended(pid: Pid, how: WaitIdOptions) -> Option<Status> {
    let status = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | how).ok()??;
    let signal = || status.terminating_signal().map(Status::Signal);
    status.exit_status().map(Status::Code).or_else(signal)
}

/// A process number.
pub(super) fn raw(pid: i64) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw)
}

/// All processes that can be seen.
fn table() -> BTreeMap<i64, Stat> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i64>().ok());
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

/// All below a process.
fn below(table: &BTreeMap<i64, Stat>, root: i64) -> BTreeSet<i64> {
    let mut children: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    table.iter().for_each(|(pid, stat)| children.entry(stat.parent).or_default().push(*pid));
    let mut found = BTreeSet::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        // A table that was read while processes came and went may have a circle.
        open.extend(children.get(&pid).into_iter().flatten().filter(|child| found.insert(**child)));
    }
    found
}

/// Whether a process was started with a mark in its environment.
#[expect(clippy::disallowed_methods, reason = "a file of the system")]
fn is_marked(pid: i64, mark: &str) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    let of = |variable: &[u8]| {
        let value = variable.strip_prefix(super::MARKER.as_bytes())?.strip_prefix(b"=")?;
        Some(value.split(|&byte| byte == b':').any(|part| part == mark.as_bytes()))
    };
    environment.split(|&byte| byte == 0).any(|variable| of(variable) == Some(true))
}

#[expect(clippy::disallowed_methods, reason = "a file of the system")]
fn name(pid: i64) -> Option<String> {
    let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned())
}
