//! A separate cgroup for a command, if the cgroup of the caller is writable (cgroup v2, Linux). One write kills every
//! process in it, including processes of other users and processes that are being forked.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The prefix of the directories that keepers create.
pub(super) const PREFIX: &str = "tenure-run-";

/// A cgroup created by a keeper. Its directory is removed at the end of the run.
#[derive(Debug)]
pub(super) struct Cgroup {
    dir: PathBuf,
    /// The directory with a shared lock, which the keeper and the runner hold while they live. A cgroup without a lock
    /// is abandoned.
    claim: Option<File>,
}

impl Cgroup {
    /// Creates a cgroup below the cgroup of this process. First ends the processes in abandoned cgroups: their runner
    /// and keeper were killed, so nothing else ends them.
    pub(super) fn make(name: &str) -> Option<Cgroup> {
        let own = own_dir()?;
        sweep(&own);
        let dir = own.join(name);
        std::fs::create_dir(&dir).ok()?;
        let cgroup = Cgroup::at(dir);
        if cgroup.claim.is_some() && cgroup.dir.join("cgroup.kill").exists() {
            return Some(cgroup);
        }
        cgroup.remove();
        None
    }

    /// Opens the cgroup of a run by the directory that its keeper reported.
    pub(super) fn at(dir: PathBuf) -> Cgroup {
        let claim = open(&dir).filter(|dir| dir.try_lock_shared().is_ok());
        Cgroup { dir, claim }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Moves a process into the cgroup.
    pub(super) fn join(&self, pid: i64) -> io::Result<()> {
        std::fs::write(self.dir.join("cgroup.procs"), pid.to_string())
    }

    /// Sends SIGKILL to every process in this cgroup and in those below it, including processes that are being forked.
    pub(super) fn kill(&self) -> io::Result<()> {
        std::fs::write(self.dir.join("cgroup.kill"), "1")
    }

    #[expect(clippy::disallowed_methods, reason = "a file of the system")]
    pub(super) fn pids(&self) -> Vec<i64> {
        let read = std::fs::read_to_string(self.dir.join("cgroup.procs")).unwrap_or_default();
        read.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect()
    }

    /// Whether a process is in this cgroup or in one below it. The kernel keeps the count, so a fork cannot escape it.
    #[expect(clippy::disallowed_methods, reason = "a file of the system")]
    pub(super) fn is_populated(&self) -> bool {
        let events = std::fs::read_to_string(self.dir.join("cgroup.events"));
        events.is_ok_and(|events| events.lines().any(|line| line == "populated 1"))
    }

    /// Moves the remaining processes to the parent cgroup. Cgroups below this one belong to other keepers and stay.
    pub(super) fn empty(&self) {
        let Some(above) = self.dir.parent() else { return };
        // A process may fork between the read and the move, so this repeats until the cgroup is empty.
        for _ in 0..100 {
            let inside = self.pids();
            if inside.is_empty() {
                return;
            }
            for pid in inside {
                let _ = std::fs::write(above.join("cgroup.procs"), pid.to_string());
            }
        }
    }

    /// Kills every process in the cgroup, and removes it.
    pub(super) fn clear(&self) {
        // A cgroup that cannot be written to is gone, or a later run removes it once it is empty.
        for _ in 0..500 {
            if !self.is_populated() || self.kill().is_err() {
                break;
            }
            super::descendants::rest(std::time::Duration::from_millis(2));
        }
        self.remove();
    }

    /// Removes the directory. Retries, because the kernel may still count a process that has just ended.
    pub(super) fn remove(&self) {
        for _ in 0..100 {
            match remove(&self.dir) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy && !self.is_populated() => {
                    super::descendants::rest(std::time::Duration::from_millis(2));
                }
                _ => return,
            }
        }
    }
}

/// The cgroup of an earlier run below the cgroup of this process, if it still exists.
pub(super) fn of_run(mark: &str) -> Option<Cgroup> {
    let dir = own_dir()?.join(format!("{PREFIX}{mark}"));
    dir.is_dir().then(|| Cgroup::at(dir))
}

/// Whether a command on this machine can have a separate cgroup.
pub fn holds() -> bool {
    own_dir().is_some()
}

/// The directory of this process's cgroup, if processes can be moved below it.
#[expect(clippy::disallowed_methods, reason = "files of the system")]
fn own_dir() -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let dir = locate(&mounts, &groups)?;
    let writable = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    (writable(&dir) && writable(&dir.join("cgroup.procs"))).then_some(dir)
}

/// Finds the directory from the cgroup v2 mount and the entry of this process.
fn locate(mounts: &str, groups: &str) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        if after.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // Mount points with spaces are escaped in this file. No known system has one, so such a mount is not used.
        if point.contains('\\') || group.split('/').any(|part| part == "..") {
            return None;
        }
        let below = if root == "/" { group } else { group.strip_prefix(root)? };
        if !below.is_empty() && !below.starts_with('/') {
            return None;
        }
        Some(Path::new(point).join(below.trim_start_matches('/')))
    })
}

/// Removes a cgroup and the empty cgroups below it, which killed keepers may have left.
fn remove(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path())?;
        }
    }
    std::fs::remove_dir(dir)
}

/// Ends the processes in abandoned cgroups, and removes the cgroups.
fn sweep(own: &Path) {
    for entry in std::fs::read_dir(own).into_iter().flatten().flatten() {
        let dir = entry.path();
        if !entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            continue;
        }
        // A keeper that has created the directory but has not locked it yet loses this race and runs without a cgroup.
        if let Some(taken) = abandoned(&dir) {
            Cgroup { dir, claim: Some(taken) }.clear();
        }
    }
}

/// Locks a cgroup if no runner or keeper holds a lock on it or on a cgroup below it, because a kill reaches those as
/// well.
fn abandoned(dir: &Path) -> Option<File> {
    let taken = open(dir).filter(|dir| dir.try_lock().is_ok())?;
    let mut below = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let is_free = below.all(|entry| {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        !is_dir || abandoned(&entry.path()).is_some()
    });
    is_free.then_some(taken)
}

#[expect(clippy::disallowed_methods, reason = "a directory of the system")]
fn open(dir: &Path) -> Option<File> {
    File::open(dir).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_is_abandoned_once_nothing_has_a_claim_to_it_or_to_one_below() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("tenure-below");
        std::fs::create_dir(&below).unwrap();
        let keeper = Cgroup::at(dir.path().to_owned());
        let runner = Cgroup::at(dir.path().to_owned());
        assert!(abandoned(dir.path()).is_none());
        drop(keeper);
        assert!(abandoned(dir.path()).is_none(), "the runner lives");
        drop(runner);
        assert!(abandoned(dir.path()).is_some());
        let _nested = Cgroup::at(below);
        assert!(abandoned(dir.path()).is_none(), "a kill would reach it");
    }

    #[test]
    fn the_own_cgroup_is_found_below_its_mount() {
        let unified = "25 1 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
        let of = |mounts, groups| locate(mounts, groups);
        assert_eq!(of(unified, "0::/user.slice/a\n"), Some("/sys/fs/cgroup/user.slice/a".into()));
        assert_eq!(of(unified, "0::/\n"), Some("/sys/fs/cgroup/".into()));
        let hybrid = "30 1 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n31 1 0:27 / /sys/fs/cgroup/unified rw - cgroup2 x rw\n";
        assert_eq!(of(hybrid, "4:cpu:/a\n0::/b\n"), Some("/sys/fs/cgroup/unified/b".into()));
        let inside = "25 1 0:22 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(of(inside, "0::/docker/1/x\n"), Some("/sys/fs/cgroup/x".into()));
        assert_eq!(of(inside, "0::/elsewhere\n"), None);
        assert_eq!(of(inside, "0::/docker/12\n"), None);
        assert_eq!(of(unified, "0::/../outside\n"), None);
        assert_eq!(of(unified, "1:cpu:/\n"), None);
        assert_eq!(of("", "0::/\n"), None);
    }
}
