//! The commit marker: a lock that is held from the last check of which callers still wait until the end of the commit.
//!
//! Nothing is done for a caller that leaves before that check. After the commit, a caller learns the outcome by its
//! request id. In between the outcome is unknown, because a server may be stopped while its commit is on the way to
//! disk. The marker tells a client that is refused meanwhile that a commit is in progress. It does not provide
//! exclusion.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Sqlite;
use super::turnstile::{LockedFile, acquire, opened};

/// How long to wait for the lock: a process that checks the marker holds it for a microsecond, unless it is stopped
/// meanwhile.
const PATIENCE: Duration = Duration::from_millis(200);

impl Sqlite {
    fn deciding(&self) -> Option<PathBuf> {
        let mut name = self.path.as_ref()?.as_os_str().to_owned();
        name.push("-deciding");
        Some(name.into())
    }

    /// Marks the commit as in progress until the result is dropped. If the marker cannot be set, the write continues:
    /// the marker only informs other processes.
    pub(super) fn decide(&self) -> Option<LockedFile> {
        let path = self.deciding()?;
        let mut options = OpenOptions::new();
        let file = opened(&path, options.write(true).create(true).truncate(false).mode(0o600)).ok()?;
        #[expect(clippy::disallowed_methods, reason = "a deadline is a duration of the process")]
        let start = Instant::now();
        acquire(file, &path, start, PATIENCE).ok()
    }

    /// Whether a commit is in progress.
    pub(crate) fn is_deciding(&self) -> bool {
        let Some(path) = self.deciding() else { return false };
        // No writer ever set the marker, or it cannot be read.
        let Ok(file) = opened(&path, OpenOptions::new().write(true)) else { return false };
        let is_taken = file.try_lock().is_err();
        let _ = file.unlock();
        is_taken
    }
}
