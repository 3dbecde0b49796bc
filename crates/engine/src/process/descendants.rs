//! The processes of a command: finding them, signalling them, and proving that none is left.
//!
//! A subreaper inherits every descendant whose parent ends, so as long as this process has no child at all, it has no
//! descendant either. That is the proof that everything is gone; it needs no look at `/proc`, which may hide processes of
//! other users. `/proc` and the cgroup say whom to signal.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, test_kill_process_group, wait,
    waitid,
};

use super::cgroup::Cgroup;
use super::end::{CommandProcess, ExitStatus, Processes};
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
    pub(super) status: Option<ExitStatus>,
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
        !cfg!(target_os = "linux") && self.own_group && test_kill_process_group(self.command).is_ok()
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
        } else {
            let table = table();
            let found = if self.is_reaper {
                below(&table, me)
            } else {
                let marked = || table.keys().copied().filter(|pid| *pid != me && is_marked(*pid, &self.mark));
                marked().flat_map(|root| below(&table, root)).chain(marked()).collect()
            };
            found.into_iter().filter(|pid| seen.insert(*pid)).for_each(|pid| _ = look(pid));
        }
        let inside = self.cgroup.iter().flat_map(Cgroup::pids);
        inside.filter(|pid| seen.insert(*pid)).for_each(|pid| _ = look(pid));
    }

    /// Takes note of a child that has ended, unless it is the command: that is left to [`Descendants::reap`].
    fn bury(&self, pid: i64) {
        if let Some(pid) = raw(pid).filter(|pid| *pid != self.command) {
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

/// All processes that can be seen.
fn table() -> BTreeMap<i64, Stat> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i64>().ok());
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

/// Whether processes can be asked for their children, as not every kernel can. That takes a twentieth of the time that
/// reading all of `/proc` takes, and a process that starts the next one and exits is there for a moment only.
fn has_children_files() -> bool {
    Path::new("/proc/self/task").join(std::process::id().to_string()).join("children").exists()
}

/// Whether this process has a child, ended or not.
fn has_child() -> bool {
    !matches!(
        waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT),
        Err(Errno::CHILD)
    )
}

/// All below a process, in a table that may have a circle: it was read while processes came and went.
fn below(table: &BTreeMap<i64, Stat>, root: i64) -> BTreeSet<i64> {
    let mut children: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    table.iter().for_each(|(pid, stat)| children.entry(stat.parent).or_default().push(*pid));
    let mut found = BTreeSet::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        open.extend(children.remove(&pid).unwrap_or_default().into_iter().filter(|child| found.insert(*child)));
    }
    found
}

/// The children of a process: those of each of its threads.
#[expect(clippy::disallowed_methods, reason = "files of the system")]
fn children(pid: i64) -> Vec<i64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
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

    #[test]
    fn marks_are_found_whole_and_among_others() {
        let (mut child, pid, _) = sleeper("1-2-3:44-5-6");
        // The environment is there once `exec` is done.
        while !is_marked(pid, "1-2-3") {
            rest(Duration::from_millis(1));
        }
        assert!(is_marked(pid, "44-5-6"));
        assert!(!is_marked(pid, "1-2") && !is_marked(pid, "4-5-6") && !is_marked(pid, ""));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn children_are_listed_alike_by_both_looks() {
        let (mut child, pid, _) = sleeper("");
        let me = i64::from(std::process::id());
        assert!(children(me).contains(&pid) && below(&table(), me).contains(&pid));
        assert_eq!(stat(pid).unwrap().parent, me);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_circle_in_what_was_read_ends() {
        let of = |parent| Stat { state: b'S', parent, threads: 1, started: 1 };
        let table = BTreeMap::from([(1, of(3)), (2, of(1)), (3, of(2))]);
        assert_eq!(below(&table, 1), BTreeSet::from([1, 2, 3]));
    }
}
