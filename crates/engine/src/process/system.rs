//! Functions that only some systems provide. Linux has subreapers, parent-death signals and pidfds. On other systems a
//! command is its process group.

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
        // Any non-zero value enables it.
        set_child_subreaper(Some(getpid())).is_ok()
    }

    /// Makes the system kill this process when its parent ends. The setting survives `exec` but not `fork`.
    pub(crate) fn die_with_parent() {
        // If this fails, the runner and the keeper still end the command.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
    }

    /// A pidfd, which becomes readable when the process ends.
    pub(crate) fn open(pid: Pid) -> Option<OwnedFd> {
        pidfd_open(pid, PidfdFlags::empty()).ok()
    }

    /// Gives this thread the highest priority if the system allows it, because the processes to be ended may use all
    /// processors. A thread that starts commands afterwards must not call this: they would inherit the priority.
    pub(crate) fn raise_priority() {
        let _ = setpriority_process(None, -20);
    }

    /// Sends a signal to a process, unless its pid now belongs to another process: the pidfd is opened before the start
    /// time is compared, so both refer to the same process. Returns whether the system accepted the signal. It does not
    /// if the process is gone or belongs to another user.
    pub(crate) fn send(pid: i64, started: i64, signal: Signal) -> bool {
        let Some(number) = raw(pid) else { return false };
        let is_same = || stat(pid).is_some_and(|stat| stat.started == started);
        match pidfd_open(number, PidfdFlags::empty()) {
            Ok(descriptor) => is_same() && pidfd_send_signal(descriptor, signal).is_ok(),
            Err(Errno::SRCH) => false,
            // A system without pidfds.
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
