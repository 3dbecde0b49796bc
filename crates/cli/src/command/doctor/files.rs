//! The checks of `doctor` on the files of an embedded store, on the turnstile beside it, and on the size of any store.

use std::path::Path;
use std::time::Duration;

use tenure_core::Result;
use tenure_store::{FileState, Size, Store, TurnstileState};

use super::{DoctorCheck, fault, ok, remark, wrong};
use crate::env::Env;
use crate::output::time::short;
use crate::setup;
use crate::workspace::gitignore::GitIgnore;
use crate::workspace::tracking;

/// A writer that waits longer for its turn is reported. A turn takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// A larger log is reported. A log that is checkpointed regularly stays far below this.
const LOG_LARGE: u64 = 64 * 1024 * 1024;

/// Checks the files of an embedded store.
pub(super) fn examine(store: &Store, database: &Path) -> Vec<DoctorCheck> {
    let dir = database.parent().unwrap_or(database);
    let mut checks = vec![match store.check_file_system() {
        Ok(()) => ok("file system", format!("{} is local", dir.display())),
        Err(error) => fault("file system", &error),
    }];
    let remarks = store.permissions();
    checks.push(match remarks.is_empty() {
        true => ok("permissions", "only you can read and write the store"),
        false => remark(
            "permissions",
            remarks.join("; "),
            Some(
                "Remove the permissions of other users with chmod and \
                    chown.",
            ),
        ),
    });
    if store.is_read_only() {
        checks.push(remark(
            "writing",
            "the store cannot be written from here: queries work, changes are refused",
            Some("In a sandbox, run `tenure setup` outside it: it grants access to the directory of the store."),
        ));
    }
    checks.extend(own_file(store.file_state()));
    checks.push(turnstile(store.queue(PATIENCE)));
    checks
}

/// The finding about a file that is, or was, a copy of the file that the store was written in.
fn own_file(state: Result<FileState>) -> Option<DoctorCheck> {
    match state {
        Ok(FileState::Own) => None,
        Ok(FileState::Copied) => Some(wrong(
            "file",
            "the file is a copy or an older version: it lacks the changes made since then",
            "Put the newer file back if there is one. Otherwise the next write continues as after a restore: all holds end, \
             and old fences and cursors are stale.",
        )),
        Ok(FileState::Continued(at)) => Some(remark(
            "file",
            format!(
                "at {} the file was found to be a copy or an older version: the store continued as after a restore",
                short(&at.to_string())
            ),
            None,
        )),
        Err(error) => Some(fault("file", &error)),
    }
}

/// Whether git ignores a store that is in a checkout. A tracked store was refused before.
pub(super) fn git(env: &Env, database: &Path) -> Option<DoctorCheck> {
    let checkout = tracking::checkout_around(database)?;
    let real = database.canonicalize().ok()?;
    let inside = real.strip_prefix(&checkout.top).ok()?.to_str()?;
    let top = checkout.top.display();
    let args = ["ls-tree", "--name-only", "-z", "HEAD", "--", inside];
    if setup::githook::git(&checkout.top, &args).is_some_and(|found| !found.is_empty()) {
        return Some(wrong(
            "git",
            format!(
                "the last commit contains {inside} of {top}: a reset or a checkout would replace the store by an \
                     old one"
            ),
            "Remove it from git's index and commit the removal.",
        ));
    }
    Some(match GitIgnore::of(&checkout, env).has(&real) {
        true => ok("git", format!("the store is in the checkout {top}, and git ignores it")),
        false => remark(
            "git",
            format!("the store is in the checkout {top}, and git does not ignore it"),
            Some("Add it to a .gitignore: Tenure refuses a store that git tracks."),
        ),
    })
}

fn turnstile(queue: Result<TurnstileState>) -> DoctorCheck {
    match queue {
        Ok(TurnstileState::None) => ok("turnstile", "there was no write yet"),
        Ok(TurnstileState::Free) => ok("turnstile", "writers get their turn"),
        Ok(TurnstileState::Stuck { file, holder }) => {
            let waited = format!("no turn to write within {} s: {} is locked", PATIENCE.as_secs(), file.display());
            match holder {
                Some((pid, program)) => wrong(
                    "turnstile",
                    format!("{waited} by process {pid} ({program})"),
                    "Check whether the process is stopped: continue it or end it. Neither loses data.",
                ),
                None => wrong(
                    "turnstile",
                    waited,
                    "Find the process that has the file open (fuser, lsof), and continue it or end it.",
                ),
            }
        }
        Err(error) => fault("turnstile", &error),
    }
}

/// The size of a store, and its number of rows.
pub(super) fn size(store: &Store) -> Vec<DoctorCheck> {
    let (size, rows) = match store.size().and_then(|size| Ok((size, store.rows()?))) {
        Ok(found) => found,
        Err(error) => return vec![fault("size", &error)],
    };
    let Size { database, log, free } = size;
    let mut text = bytes(database);
    if log > 0 {
        text.push_str(&format!(", {} in the -wal", bytes(log)));
    }
    if free > 0 {
        text.push_str(&format!(", {} of it free", bytes(free)));
    }
    let rows: Vec<String> =
        rows.iter().filter(|(_, rows)| *rows > 0).map(|(table, rows)| format!("{table} {rows}")).collect();
    let mut checks = vec![ok("size", format!("{text}; rows: {}", rows.join(", ")))];
    if log > LOG_LARGE {
        checks.push(remark(
            "wal",
            format!("the -wal file has grown to {}: a long-running reader prevents its checkpoint", bytes(log)),
            Some("End long-running readers of the store; the next write then checkpoints the file."),
        ));
    }
    checks
}

/// Formats a number of bytes.
fn bytes(count: u64) -> String {
    match count {
        0..1_024 => format!("{count} B"),
        1_024..1_048_576 => format!("{} KiB", count / 1_024),
        _ => format!("{} MiB", count / 1_048_576),
    }
}
