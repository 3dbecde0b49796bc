//! The commit marker: a lock that is held between the last check of which callers still wait and the end of the commit.
//!
//! Nothing is done for a caller that leaves before that check; after the commit a caller learns the outcome by its
//! request id. In between the outcome is unknown, since a server may be stopped while its commit is on the way to the
//! disk. The marker tells a client that is refused meanwhile that a commit is under way. It does not provide exclusion.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Sqlite;
use super::turnstile::{LockedFile, acquire, opened};

/// How long the lock is waited for: those who look have it for a microsecond, unless they are stopped with it.
const PATIENCE: Duration = Duration::from_millis(200);

impl Sqlite {
    fn deciding(&self) -> Option<PathBuf> {
        let mut name = self.path.as_ref()?.as_os_str().to_owned();
        name.push("-deciding");
        Some(name.into())
    }

    /// Says that who is served is decided from here on, until this is dropped. Where it cannot be said the write goes on:
    /// it is about what others are told.
    pub(super) fn decide(&self) -> Option<LockedFile> {
        let path = self.deciding()?;
        let mut options = OpenOptions::new();
        let file = opened(&path, options.write(true).create(true).truncate(false).mode(0o600)).ok()?;
        #[expect(clippy::disallowed_methods, reason = "a deadline is a duration of the process")]
        let start = Instant::now();
        acquire(file, &path, start, PATIENCE).ok()
    }

    /// Whether somebody is deciding now.
    pub(crate) fn is_deciding(&self) -> bool {
        let Some(path) = self.deciding() else { return false };
        // Nobody ever did, or it cannot be known.
        let Ok(file) = opened(&path, OpenOptions::new().write(true)) else { return false };
        let is_taken = file.try_lock().is_err();
        let _ = file.unlock();
        is_taken
    }
}
