//! Stopped server processes: they keep their connections, receive data and answer nothing.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// Processes that stay stopped until this is dropped.
pub struct Stopped(Vec<i32>);

impl Stopped {
    /// Stops one process.
    pub fn one(pid: i32) -> Stopped {
        let stopped = Stopped(vec![pid]);
        stopped.send(Signal::STOP);
        stopped
    }

    /// Stops a process and all its children.
    pub fn with_children(pid: i32) -> Stopped {
        // The parent first, so that it starts no more children during the search.
        let mut stopped = Stopped::one(pid);
        let children = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let number: i32 = entry.unwrap().file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
            let parent: i32 = stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()?;
            (parent == pid).then_some(number)
        });
        stopped.0.extend(children);
        stopped.send(Signal::STOP);
        stopped
    }

    fn send(&self, signal: Signal) {
        for pid in self.0.iter().rev() {
            // A process that has ended in the meantime needs no signal.
            let _ = kill_process(Pid::from_raw(*pid).unwrap(), signal);
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.send(Signal::CONT);
    }
}
