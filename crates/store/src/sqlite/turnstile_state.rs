//! The state of the turnstile: whether a writer would get its turn, and which process is in the way. Read-only.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tenure_core::{Kind, Result, Stage};

use super::database_file;
use super::turnstile::{Turnstile, acquire, opened};

/// The result of a check of the turnstile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnstileState {
    /// There is no turnstile: no embedded store, or no process has written yet.
    None,
    /// A turn was available in time; it was returned at once.
    Free,
    /// A process has one of the locks and did not release it in time.
    Stuck {
        /// The lock file.
        file: PathBuf,
        /// The process id and program name of the holder, if the system reports them.
        holder: Option<(u32, String)>,
    },
}

impl Turnstile {
    /// Checks whether a turn is available, as a writer would, and creates nothing.
    pub(crate) fn look(&self, patience: Duration) -> Result<TurnstileState> {
        #[expect(clippy::disallowed_methods, reason = "a deadline is a duration of the process")]
        let start = Instant::now();
        let mut held = Vec::new();
        for path in [&self.a, &self.b] {
            let Some(file) = open_existing(path)? else { return Ok(TurnstileState::None) };
            match acquire(file, path, start, patience) {
                Ok(lock) => held.push(lock),
                Err(error) if error.kind() == Kind::Busy => {
                    return Ok(TurnstileState::Stuck { file: path.clone(), holder: holder(path) });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(TurnstileState::Free)
    }
}

/// The holder of a lock on a file, from the kernel's list. Processes of other pid namespaces are not listed.
#[expect(clippy::disallowed_methods, reason = "files of the system")]
fn holder(path: &Path) -> Option<(u32, String)> {
    let meta = std::fs::metadata(path).ok()?;
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let pid = holder_in(&locks, &meta)?;
    let program = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some((pid, program.trim().to_owned()))
}

/// `1: FLOCK  ADVISORY  WRITE 4711 08:01:131074 0 EOF`; waiters have an arrow before the kind.
fn holder_in(locks: &str, meta: &std::fs::Metadata) -> Option<u32> {
    let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let wanted = format!("{major:02x}:{minor:02x}:{}", meta.ino());
    let mut held = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = held.find(|words| words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&wanted.as_str()))?;
    line.get(4)?.parse().ok().filter(|pid| *pid > 0)
}

/// Opens an existing lock file to check the lock.
fn open_existing(path: &Path) -> Result<Option<File>> {
    match std::fs::symlink_metadata(path) {
        // Opening a pipe would block until its other end is opened.
        Ok(meta) if !meta.is_file() && !meta.is_symlink() => Err(database_file::not_a_file(path).at(Stage::Lock)),
        Ok(_) => opened(path, OpenOptions::new().read(true)).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(database_file::unwritable(path, error).at(Stage::Lock)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn turnstile() -> (tempfile::TempDir, Turnstile) {
        let dir = tempfile::tempdir().unwrap();
        let turnstile = Turnstile::beside(&dir.path().join("t.db"));
        (dir, turnstile)
    }

    #[test]
    fn a_look_makes_nothing_and_names_who_has_a_lock() {
        let (dir, turnstile) = turnstile();
        assert_eq!(turnstile.look(Duration::ZERO).unwrap(), TurnstileState::None);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let turn = turnstile.enter(LONG).unwrap();
        let TurnstileState::Stuck { file, holder } = turnstile.look(Duration::from_millis(20)).unwrap() else {
            panic!()
        };
        assert_eq!(file, turnstile.b);
        #[cfg(target_os = "linux")]
        assert_eq!(holder.map(|(pid, _)| pid), Some(std::process::id()));
        #[cfg(not(target_os = "linux"))]
        assert_eq!(holder, None);
        drop(turn);
        // A waiter that gave up may still get the lock for a moment, and drops it.
        assert_eq!(turnstile.look(LONG).unwrap(), TurnstileState::Free);
        // The check returns the turn.
        drop(turnstile.enter(LONG).unwrap());
    }

    #[test]
    fn the_list_of_locks_is_read_by_device_and_inode() {
        let (dir, _) = turnstile();
        let meta = fs::metadata(dir.path()).unwrap();
        let place =
            format!("{:02x}:{:02x}:{}", rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()), meta.ino());
        let list = |lines: &[&str]| holder_in(&lines.join("\n").replace("HERE", &place), &meta);
        assert_eq!(list(&["1: FLOCK  ADVISORY  WRITE 4711 HERE 0 EOF"]), Some(4711));
        assert_eq!(
            list(&["1: -> FLOCK  ADVISORY  WRITE 4711 HERE 0 EOF", "2: POSIX ADVISORY WRITE 1 HERE 0 EOF"]),
            None
        );
        assert_eq!(list(&["1: FLOCK  ADVISORY  WRITE 4711 08:01:1 0 EOF", "", "nonsense", "2: FLOCK"]), None);
        // A process of another pid namespace.
        assert_eq!(list(&["1: FLOCK  ADVISORY  WRITE 0 HERE 0 EOF"]), None);
    }
}
