//! Notification on SQLite: a file beside the database that is touched after a commit.
//!
//! Watching the `-wal` file is not enough: half of its changes come before the commit that they belong to.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Sqlite, turnstile};
use crate::notify::WakeListener;

/// How often a listener checks the file: a check costs a microsecond.
const LOOK: Duration = Duration::from_millis(20);
/// The size at which the file is truncated.
const LONGEST: u64 = 4_096;

impl Sqlite {
    fn bell(&self) -> Option<PathBuf> {
        let mut name = self.path.as_ref()?.as_os_str().to_owned();
        name.push("-bell");
        Some(name.into())
    }

    /// Appends a byte, so that two notifications in one tick of the file system's clock differ. Errors are ignored:
    /// waiting callers also poll.
    pub(crate) fn ring(&self) {
        let Some(path) = self.bell() else { return };
        let mut options = OpenOptions::new();
        let Ok(mut file) = turnstile::opened(&path, options.append(true).create(true).mode(0o600)) else { return };
        if file.metadata().is_ok_and(|meta| meta.len() >= LONGEST) {
            let _ = file.set_len(0);
        }
        let _ = file.write_all(b".");
    }

    #[expect(clippy::disallowed_methods, reason = "a file that is looked at, and a wait of the process")]
    pub(crate) fn listen(&self, bell: &mut WakeListener, patience: Duration) {
        let Some(path) = self.bell() else { return std::thread::sleep(patience) };
        let mut waited = Duration::ZERO;
        let before = bell.touched.unwrap_or_else(|| seen(&path));
        loop {
            let now = seen(&path);
            bell.touched = Some(now);
            if now != before || waited >= patience {
                return;
            }
            let step = LOOK.min(patience - waited);
            std::thread::sleep(step);
            waited += step;
        }
    }
}

/// A fingerprint of the file: its size and modification time.
fn seen(path: &Path) -> i128 {
    let Ok(meta) = fs::symlink_metadata(path) else { return 0 };
    (i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())) * 8_192 + i128::from(meta.len() % 8_192)
}
