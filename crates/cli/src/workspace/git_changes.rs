//! The files of a working tree that differ from its commit, from git's own files. No process is started.
//!
//! There is an answer only where it is certain to be that of `git status`: the index is the tree of the commit, and what
//! the index recorded of each file decides whether it changed. A file whose content would have to be compared has no answer
//! (its size is the same and its times are not, or it was written while the index was), and neither have submodules,
//! sparse and split indexes, staged changes, nested repositories and large trees. Git is asked then.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::file;
use super::git::GitCheckout;
use super::git_config::GitSettings;
use super::git_index::{self, IndexEntry};
use super::git_object;
use super::gitignore::GitIgnore;
use crate::env::Env;

/// Largest index that is compared, in bytes: some 5,000 files. In a larger tree the start of git is a small part.
const INDEX_MAX: u64 = 512 * 1024;
/// How many names of the working tree are looked at.
const NAMES_MAX: usize = 10_000;

const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const EXECUTABLE: u32 = 0o100;

/// What a comparison knows of a file.
enum Compared {
    Same,
    Differs,
    /// Only git can tell.
    Unknown,
}

/// The paths that differ, sorted; nothing where only git can tell. `head` is the commit, and `only` limits the answer to
/// some paths: no other file is looked at.
pub(crate) fn differing(checkout: &GitCheckout, env: &Env, head: &str, only: Option<&[&[u8]]>) -> Option<Vec<Vec<u8>>> {
    let settings = GitSettings::read_all(&checkout.common, env);
    if head.is_empty() || !is_usual(&settings) {
        return None;
    }
    let path = checkout.own_dir().ok()?.join("index");
    let meta = fs::metadata(&path).ok()?;
    if meta.len() > INDEX_MAX {
        return None;
    }
    let bytes = file::read(&path, INDEX_MAX).ok()?;
    let index = Index { written: mtime(&meta), compares_mode: settings.flag("core", "filemode") != Some(false) };
    let (mut known, mut found, mut is_certain) = (HashSet::new(), Vec::new(), true);
    let tree = git_index::entries(&bytes, head.len() / 2, |entry| {
        known.insert(entry.name.to_vec());
        if is_certain && only.is_none_or(|only| only.contains(&entry.name)) {
            match index.compared(checkout, entry) {
                Compared::Same => {}
                Compared::Differs => found.push(entry.name.to_vec()),
                Compared::Unknown => is_certain = false,
            }
        }
    })?;
    if !is_certain || git_object::tree_of(&checkout.common, head)? != tree {
        return None;
    }
    let mut untracked = Untracked { checkout, known, ignore: GitIgnore::of(checkout, env), left: NAMES_MAX, found };
    match only {
        Some(only) => only.iter().try_for_each(|path| untracked.look(path))?,
        None => untracked.walk(b"")?,
    }
    let mut found = untracked.found;
    // The index may have been replaced meanwhile.
    let after = fs::metadata(&path).ok()?;
    if (mtime(&after), after.ino()) != (mtime(&meta), meta.ino()) {
        return None;
    }
    found.sort();
    found.dedup();
    Some(found)
}

/// Whether the settings leave no question that only git answers. Included files and those of one working tree are not
/// read here.
fn is_usual(settings: &GitSettings) -> bool {
    let is_on = |section, key| settings.flag(section, key) == Some(true);
    !is_on("core", "ignorecase")
        && !is_on("core", "sparsecheckout")
        && !is_on("extensions", "worktreeconfig")
        && settings.flag("core", "symlinks") != Some(false)
        && settings.last("core", None, "worktree").is_none()
        && settings.last("include", None, "path").is_none()
        && settings.each("includeif", "path").is_empty()
}

struct Index {
    written: (i64, i64),
    /// Whether the permission to execute is a part of the content.
    compares_mode: bool,
}

impl Index {
    fn compared(&self, checkout: &GitCheckout, entry: &IndexEntry<'_>) -> Compared {
        // A submodule, or a directory of a sparse index.
        if !matches!(entry.mode & TYPE, REGULAR | LINK) {
            return Compared::Unknown;
        }
        if entry.is_unfinished {
            return Compared::Differs;
        }
        if entry.is_unwatched {
            return Compared::Same;
        }
        let meta = match fs::symlink_metadata(checkout.top.join(OsStr::from_bytes(entry.name))) {
            Ok(meta) => meta,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Compared::Differs;
            }
            Err(_) => return Compared::Unknown,
        };
        let other_mode = self.compares_mode && (meta.mode() ^ entry.mode) & EXECUTABLE != 0;
        if meta.mode() & TYPE != entry.mode & TYPE || (meta.is_file() && other_mode) {
            return Compared::Differs;
        }
        let recorded = entry.stat();
        let size = meta.len() as u32;
        if size != recorded.size {
            // Git writes a size of 0 for a file that it has to compare next time.
            return if recorded.size == 0 { Compared::Unknown } else { Compared::Differs };
        }
        let is_same = short(mtime(&meta)) == recorded.modified
            && short((meta.ctime(), meta.ctime_nsec())) == recorded.changed
            && meta.ino() as u32 == recorded.inode;
        // A file that was written at the time of the index may have been written once more within that moment.
        if is_same && mtime(&meta) < self.written { Compared::Same } else { Compared::Unknown }
    }
}

fn mtime(meta: &Metadata) -> (i64, i64) {
    (meta.mtime(), meta.mtime_nsec())
}

/// A time as the index has it.
fn short((seconds, nanos): (i64, i64)) -> (u32, u32) {
    (seconds as u32, nanos as u32)
}

/// The files that git neither tracks nor ignores.
struct Untracked<'a> {
    checkout: &'a GitCheckout,
    known: HashSet<Vec<u8>>,
    ignore: GitIgnore<'a>,
    left: usize,
    found: Vec<Vec<u8>>,
}

impl Untracked<'_> {
    /// One path: whether a file is there that git does not know.
    fn look(&mut self, path: &[u8]) -> Option<()> {
        let full = self.checkout.top.join(OsStr::from_bytes(path));
        if self.known.contains(path) {
            return Some(());
        }
        match fs::symlink_metadata(&full) {
            Ok(meta) if meta.is_dir() => None,
            Ok(_) => {
                // In a repository of its own it is no file of this one.
                let dirs = full.ancestors().skip(1).take_while(|dir| *dir != self.checkout.top);
                if dirs.into_iter().any(is_repository) {
                    return None;
                }
                if !self.ignore.has(&full) {
                    self.found.push(path.to_vec());
                }
                Some(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Some(()),
            Err(_) => None,
        }
    }

    /// All files below a directory, which is named with a slash at its end.
    fn walk(&mut self, dir: &[u8]) -> Option<()> {
        let full = self.checkout.top.join(OsStr::from_bytes(dir));
        for entry in fs::read_dir(&full).ok()? {
            let entry = entry.ok()?;
            self.left = self.left.checked_sub(1)?;
            let name = entry.file_name();
            if name == ".git" {
                continue;
            }
            let path = [dir, name.as_bytes()].concat();
            let (full, kind) = (full.join(&name), entry.file_type().ok()?);
            if self.known.contains(&path) {
                // A directory in place of a file that is tracked.
                if kind.is_dir() {
                    return None;
                }
            } else if kind.is_dir() {
                if !self.ignore.has_dir(&full) {
                    if is_repository(&full) {
                        return None;
                    }
                    self.walk(&[&path, b"/".as_slice()].concat())?;
                }
            } else if (kind.is_file() || kind.is_symlink()) && !self.ignore.has(&full) {
                self.found.push(path);
            }
        }
        Some(())
    }
}

fn is_repository(dir: &Path) -> bool {
    fs::symlink_metadata(dir.join(".git")).is_ok()
}

#[cfg(test)]
mod tests;
