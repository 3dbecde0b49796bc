//! What only some systems have. On Linux: subreapers, parent-death signals and process descriptors. Elsewhere a command is
//! its process group.

pub(super) use here::{become_subreaper, die_with_parent, open, raise_priority, send};

#[cfg(target_os = "linux")]
mod here {
    use std::os::fd::OwnedFd;

    use rustix::io::Errno;
    use rustix::process::{
        Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal, set_child_subreaper,
        set_parent_process_death_signal, setpriority_process,
    };

    use crate::process::descendants::raw;
    use crate::process::stat::stat;

    /// Makes this process the parent of every descendant whose own parent ends.
    pub(crate) fn become_subreaper() -> bool {
        // Any number but zero switches it on.
        set_child_subreaper(Some(getpid())).is_ok()
    }

    /// Lets the system kill this process when its parent ends; kept across `exec`, not across `fork`.
    pub(crate) fn die_with_parent() {
        // Without it the runner and the keeper still end the command.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
    }

    /// A descriptor that can be read from when the process has ended.
    pub(crate) fn open(pid: Pid) -> Option<OwnedFd> {
        pidfd_open(pid, PidfdFlags::empty()).ok()
    }

    /// Gives this thread the highest priority where the system allows it: processes that are to be ended may take all
    /// processors. Must not be called by a thread that starts commands afterwards, since they inherit the priority.
    pub(crate) fn raise_priority() {
        let _ = setpriority_process(None, -20);
    }

    /// Sends a signal to a process, unless its number is another's by now: a descriptor of it is opened first, so that it
    /// stays the process that was looked at. Returns whether the system accepted the signal: the process may be gone, or
    /// belong to another user.
    pub(crate) fn send(pid: i64, started: i64, signal: Signal) -> bool {
        let Some(number) = raw(pid) else { return false };
        let is_same = || stat(pid).is_some_and(|stat| stat.started == started);
        match pidfd_open(number, PidfdFlags::empty()) {
            Ok(descriptor) => is_same() && pidfd_send_signal(descriptor, signal).is_ok(),
            Err(Errno::SRCH) => false,
            // A system without descriptors of processes.
            Err(_) => is_same() && kill_process(number, signal).is_ok(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod here {
    use std::os::fd::OwnedFd;

    use rustix::process::{Pid, Signal};

    pub(crate) fn become_subreaper() -> bool {
        false
    }

    pub(crate) fn die_with_parent() {}

    pub(crate) fn open(_: Pid) -> Option<OwnedFd> {
        None
    }

    pub(crate) fn raise_priority() {}

    pub(crate) fn send(_: i64, _: i64, _: Signal) -> bool {
        false
    }
}
