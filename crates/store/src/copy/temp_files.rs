//! Temporary files of a copy: their names, and their removal after a process was killed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tenure_core::id;

use crate::system::{Clock, Entropy, OsEntropy, SystemClock};

/// The number of random characters in a name, so that names do not collide.
const DRAWN: usize = 16;

/// How long files of killed processes are kept, in seconds: no file that is still being written is that old.
const KEPT: i64 = 24 * 60 * 60;

/// A file that is renamed when it is complete.
const DRAFT: (&str, &str) = (".tenure-", ".tmp");

/// A private directory among the temporary files.
const SCRATCH: (&str, &str) = ("tenure-", ".scratch");

/// A new name for a draft. It does not include the target's name, which may already have the maximum length.
pub fn draft_name() -> String {
    name(DRAFT)
}

/// A new name for a private directory.
pub fn scratch_name() -> String {
    name(SCRATCH)
}

/// Removes files that killed processes of this user left in a directory at least a day ago. A file that cannot be
/// removed stays, which does no harm.
pub fn sweep(dir: &Path) {
    let oldest = SystemClock.now().0 / 1_000_000 - KEPT;
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is = |sort| name.to_str().is_some_and(|name| is_drawn(name, sort));
        let (draft, scratch) = (is(DRAFT), is(SCRATCH));
        if !draft && !scratch {
            continue;
        }
        let Ok(meta) = fs::symlink_metadata(entry.path()) else { continue };
        if meta.uid() != user || meta.mtime() > oldest {
            continue;
        }
        if draft && meta.is_file() {
            _ = fs::remove_file(entry.path());
        } else if scratch && meta.is_dir() {
            _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn name((head, tail): (&str, &str)) -> String {
    let drawn = id::draw(id::Sort::Store, DRAWN, &mut |bytes| OsEntropy.fill(bytes));
    format!("{head}{}{tail}", &drawn[2..])
}

fn is_drawn(name: &str, (head, tail): (&str, &str)) -> bool {
    let drawn = name.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
    drawn.is_some_and(|drawn| drawn.len() == DRAWN && id::is_prefix(drawn))
}
