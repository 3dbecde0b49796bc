//! Evidence about processes of this machine: whether one is proven dead. What cannot be told counts as alive.
//!
//! Linux only, through `/proc`; elsewhere nothing is ever proven.

use tenure_core::agent::Process;
pub(crate) use tenure_engine::process::stat;

use crate::env::Env;

/// Where this process runs: a pid means something only on the same host, in the same boot and pid namespace. A fact
/// that could not be read is empty and never equals anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostFacts {
    pub(crate) host: String,
    pub(crate) boot: String,
    pub(crate) pidns: String,
}

impl HostFacts {
    /// Reads the facts: three small files, so only callers that need evidence ask.
    pub(crate) fn read(env: &Env) -> HostFacts {
        let pidns = std::fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned());
        HostFacts { host: HostFacts::host(env), boot: env.boot_id(), pidns: pidns.unwrap_or_default() }
    }

    /// The machine alone.
    pub(crate) fn host(env: &Env) -> String {
        // Two containers of one image may share the machine id; their boots or namespaces then differ.
        let machine = env.machine_id();
        if machine.is_empty() { env.hostname() } else { machine.to_owned() }
    }

    /// A process of this host as others will record or judge it.
    pub(crate) fn process(self, pid: i64, started: i64) -> Process {
        Process { host: self.host, boot: self.boot, pidns: self.pidns, pid, started }
    }
}

/// The processes above this one, the nearest first: pid and start time. Ends where the system no longer tells. Each costs
/// a file, which is read when it is asked for.
pub(crate) fn ancestors() -> impl Iterator<Item = (i64, i64)> {
    let mut pid = rustix::process::getppid().map_or(0, |parent| i64::from(parent.as_raw_nonzero().get()));
    let above = move || {
        let stat = stat(pid)?;
        let found = (pid, stat.started);
        pid = stat.parent;
        Some(found)
    };
    std::iter::from_fn(above).take(FAR)
}

/// No tool runs a command further below itself than this.
const FAR: usize = 64;

/// The words that a process was started with; empty when they are not ours to see.
#[expect(clippy::disallowed_methods, reason = "a file of the system")]
pub(crate) fn words(pid: i64) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Whether the process with this pid and start time is proven dead: nothing has the pid, or something that started at
/// another time has it, or it is a zombie.
///
/// An absent `/proc/PID` alone proves nothing: `/proc` may not be mounted, or hide other users' processes. The kernel
/// itself is asked then; only "no such process" counts, "not permitted" is a sign of life.
pub(crate) fn proven_dead(pid: i64, started: i64) -> bool {
    if !cfg!(target_os = "linux") || pid <= 0 {
        return false;
    }
    match stat(pid) {
        Some(stat) => matches!(stat.state, b'Z' | b'X' | b'x') || stat.started != started,
        None => no_such_process(pid),
    }
}

fn no_such_process(pid: i64) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn inv_i4_only_proof_counts() {
        let me = i64::from(std::process::id());
        let mine = stat(me).unwrap();
        assert!(!proven_dead(me, mine.started));
        assert!(proven_dead(me, mine.started - 1), "the pid was reused");
        for nobody in [0, -1, i64::MAX] {
            assert!(!proven_dead(nobody, 1), "{nobody} cannot be a pid, so nothing is known");
        }

        let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let pid = i64::from(child.id());
        let started = stat(pid).unwrap().started;
        assert_eq!(stat(pid).unwrap().parent, me);
        assert!(!proven_dead(pid, started));
        child.kill().unwrap();
        // Killed but not yet waited for: a zombie, as soon as the kernel has delivered the signal.
        while stat(pid).is_some_and(|stat| stat.state != b'Z') {
            std::thread::yield_now();
        }
        assert!(proven_dead(pid, started));
        child.wait().unwrap();
        assert!(proven_dead(pid, started));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_facts_of_this_host_are_stable_and_complete() {
        let env = Env::of(Path::new("/"), []);
        let facts = HostFacts::read(&env);
        assert_eq!(facts, HostFacts::read(&env));
        assert!(!facts.host.is_empty() && !facts.boot.is_empty() && facts.pidns.starts_with("pid:["));
        assert_eq!(facts.process(7, 1).pid, 7);
    }
}
