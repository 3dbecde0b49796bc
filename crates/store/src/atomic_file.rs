//! Atomic files: the only writer of whole files (backups, exports, the project's id and pin, tool configuration).

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::copy::temp_files;

/// A file under a temporary name in the directory of its target, until it is placed there.
///
/// - The target's name never refers to a partial file: it has the old content, the new content or nothing, even after a
///   kill or a power cut.
/// - The content is on disk before the target's name refers to it. [`publish`](AtomicFile::publish) returns after the
///   name is on disk too; [`place`](AtomicFile::place) does not wait for that.
/// - Only its owner can read a new file, unless a mode is given.
/// - Dropping the value without placing it removes the temporary file. If a process is killed, the next
///   [`create`](AtomicFile::create) in that directory, a day later or more, removes the file that it left.
/// - A symbolic link at the target is replaced, not followed. Owner and mode of a replaced file are not preserved.
///
/// Callers may not assume that the directory exists, nor that a failed `publish` left the target unchanged: the sync of
/// the directory comes after the rename.
#[derive(Debug)]
pub struct AtomicFile {
    temp: PathBuf,
    target: PathBuf,
    /// Whether the content is known to be on disk.
    is_synced: bool,
}

/// What happens to an existing file at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the new file is not placed: [`ErrorKind::AlreadyExists`].
    Keep,
    /// It is replaced.
    Replace,
}

impl AtomicFile {
    /// Creates an empty file beside `target`, and a handle to write and read it.
    pub fn create(target: &Path) -> io::Result<(AtomicFile, File)> {
        temp_files::sweep(directory(target));
        AtomicFile::create_as(target, &temp_files::draft_name())
    }

    /// The same under a temporary name that the caller chooses. The caller also removes files that killed processes
    /// left.
    #[expect(clippy::disallowed_methods, reason = "a new file, never the database")]
    pub fn create_as(target: &Path, name: &str) -> io::Result<(AtomicFile, File)> {
        let temp = directory(target).join(name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&temp)?;
        Ok((AtomicFile { temp, target: target.to_owned(), is_synced: false }, file))
    }

    /// Fills a new file with this content and mode, and syncs it.
    pub fn holding((mut new, mut file): (AtomicFile, File), content: &[u8], mode: u32) -> io::Result<AtomicFile> {
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_all()?;
        new.is_synced = true;
        Ok(new)
    }

    /// The temporary path, until the file is placed.
    pub fn path(&self) -> &Path {
        &self.temp
    }

    /// Renames the file to its target and makes the name durable.
    pub fn publish(self, existing: Existing) -> io::Result<()> {
        let target = self.target.clone();
        self.place(existing)?;
        sync_directory(directory(&target))
    }

    /// Renames the file to its target. A power cut may still undo that.
    pub fn place(mut self, existing: Existing) -> io::Result<()> {
        self.sync()?;
        match existing {
            Existing::Replace => fs::rename(&self.temp, &self.target),
            Existing::Keep => self.place_new(|from, to| fs::hard_link(from, to), None),
        }
    }

    /// Gives the file its target name unless that is taken. `link` creates a hard link.
    ///
    /// A hard link fails if the name is taken, so exactly one of any number of processes wins. On a file system without
    /// hard links, the check and the rename are two steps. With a `lock`, a file that is never removed, no two
    /// processes run these steps at the same time. Without one, a process may replace a file that another has just
    /// created.
    #[expect(clippy::disallowed_methods, reason = "a lock file, never the database")]
    pub fn place_new(mut self, link: fn(&Path, &Path) -> io::Result<()>, lock: Option<&Path>) -> io::Result<()> {
        self.sync()?;
        match link(&self.temp, &self.target) {
            Err(error) if links_unsupported(&error) => {}
            other => return other,
        }
        let open = |lock| OpenOptions::new().append(true).create(true).mode(0o600).open(lock);
        let lock = lock.map(open).transpose()?;
        if let Some(lock) = &lock {
            lock.lock()?;
        }
        match fs::symlink_metadata(&self.target) {
            Ok(_) => Err(ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => fs::rename(&self.temp, &self.target),
            Err(error) => Err(error),
        }
    }

    /// SQLite must not have the file open: closing this descriptor would drop its locks.
    #[expect(clippy::disallowed_methods, reason = "a file of our own, closed by SQLite before")]
    fn sync(&mut self) -> io::Result<()> {
        if !self.is_synced {
            File::open(&self.temp)?.sync_all()?;
            self.is_synced = true;
        }
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After a rename the file no longer exists; after any other failure a file is left that nothing reads.
        _ = fs::remove_file(&self.temp);
    }
}

/// Makes the names in a directory durable.
#[expect(clippy::disallowed_methods, reason = "a directory")]
pub fn sync_directory(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        // Some file systems cannot sync a directory and have no alternative.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

fn directory(target: &Path) -> &Path {
    target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

// FAT returns EPERM. A directory that is not writable has already failed when the temporary file was created.
fn links_unsupported(error: &io::Error) -> bool {
    let codes = [Errno::PERM, Errno::OPNOTSUPP, Errno::NOTSUP, Errno::NOSYS, Errno::MLINK];
    error.raw_os_error().is_some_and(|code| codes.iter().any(|known| known.raw_os_error() == code))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "reads small files of its own")]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn new(target: &Path, content: &str, mode: u32) -> AtomicFile {
        AtomicFile::holding(AtomicFile::create(target).unwrap(), content.as_bytes(), mode).unwrap()
    }

    fn no_links(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(Errno::PERM.raw_os_error()))
    }

    #[test]
    fn the_target_is_whole_or_as_it_was_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("f");
        drop(new(&target, "given up", 0o600));
        assert!(names(dir.path()).is_empty());
        let first = new(&target, "one", 0o640);
        assert!(!target.exists());
        first.publish(Existing::Keep).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "one");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o7777, 0o640);
        let (second, mut file) = AtomicFile::create(&target).unwrap();
        file.write_all(b"two").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "one");
        second.publish(Existing::Replace).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "two");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn a_name_that_is_taken_is_kept_with_hard_links_and_without() {
        let dir = tempfile::tempdir().unwrap();
        let (target, lock) = (dir.path().join("f"), dir.path().join("f.lock"));
        new(&target, "one", 0o600).place_new(no_links, None).unwrap();
        for lock in [None, Some(lock.as_path())] {
            let refused = new(&target, "two", 0o600).place_new(no_links, lock).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        }
        let refused = new(&target, "two", 0o600).publish(Existing::Keep).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&target).unwrap(), "one");
        assert_eq!(names(dir.path()), ["f", "f.lock"]);
    }

    #[test]
    fn a_link_at_the_target_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (target, other) = (dir.path().join("f"), dir.path().join("other"));
        fs::write(&other, "other").unwrap();
        std::os::unix::fs::symlink(&other, &target).unwrap();
        new(&target, "one", 0o600).publish(Existing::Replace).unwrap();
        assert!(fs::symlink_metadata(&target).unwrap().is_file());
        assert_eq!(fs::read_to_string(&other).unwrap(), "other");
    }
}
