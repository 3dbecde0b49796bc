//! A file on its way: private and under another name until it is whole and on disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use tenure_core::{Error, Kind, Result, Stage};

use super::passing;

/// A file that becomes `to` when it is published, and is removed otherwise.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    to: PathBuf,
}

/// What happens to a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and publishing fails.
    Keep,
    /// It is replaced.
    Replace,
}

impl Draft {
    /// A new, empty file beside `to`, for its owner alone.
    #[expect(clippy::disallowed_methods, reason = "a new file, never the database")]
    pub fn beside(to: &Path) -> Result<Draft> {
        let dir = directory(to);
        passing::sweep(dir);
        let path = dir.join(passing::draft_name());
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(_) => Ok(Draft { path, to: to.to_owned() }),
            Err(error) => Err(failed(to, error)),
        }
    }

    /// Where it is until it is published.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes away what an earlier attempt left.
    #[expect(clippy::disallowed_methods, reason = "a file of our own, not open anywhere")]
    pub(super) fn empty(&self) -> Result<()> {
        let file = OpenOptions::new().write(true).truncate(true).open(&self.path);
        file.map(drop).map_err(|error| failed(&self.to, error))
    }

    /// Reads all of it, a piece at a time. Nobody may have it open as a database.
    #[expect(clippy::disallowed_methods, reason = "a file of our own, closed by SQLite before")]
    pub fn read(&self, piece: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let mut file = File::open(&self.path).map_err(|error| failed(&self.to, error))?;
        let mut buffer = vec![0; 256 * 1024];
        let mut total = 0;
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(total),
                Ok(read) => {
                    total += read as u64;
                    piece(&buffer[..read])?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(&self.to, error)),
            }
        }
    }

    /// Makes it durable and gives it its name: afterwards the whole file is there, whatever happens.
    #[expect(clippy::disallowed_methods, reason = "a file of our own, closed by SQLite before, and a directory")]
    pub fn publish(self, existing: Existing) -> Result<()> {
        let fail = |error| failed(&self.to, error);
        File::open(&self.path).and_then(|file| file.sync_all()).map_err(fail)?;
        match existing {
            Existing::Replace => fs::rename(&self.path, &self.to).map_err(fail)?,
            // A link is refused where the name is taken, by whoever took it since somebody last looked.
            Existing::Keep => match fs::hard_link(&self.path, &self.to) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(exists(&self.to)),
                Err(error) if links_unsupported(&error) => {
                    if fs::symlink_metadata(&self.to).is_ok() {
                        return Err(exists(&self.to));
                    }
                    fs::rename(&self.path, &self.to).map_err(fail)?;
                }
                Err(error) => return Err(fail(error)),
            },
        }
        match File::open(directory(&self.to)).and_then(|dir| dir.sync_all()) {
            // Some file systems cannot sync a directory; they have nothing better to offer.
            Err(error) if !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Err(fail(error)),
            _ => Ok(()),
        }
    }

    /// An error of SQLite while this file was written is about this file, not about the store.
    pub(super) fn unwritable(&self, error: Error) -> Error {
        match error.code() {
            "disk_full" => no_room(&self.to).cause(error),
            "io_failure" | "not_writable" | "cannot_open" => write_failed(&self.to, "").cause(error),
            _ => error,
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After a rename there is nothing left; any other failure leaves a file that nobody reads.
        _ = fs::remove_file(&self.path);
    }
}

fn directory(to: &Path) -> &Path {
    to.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The refusal to write over a file.
pub fn exists(path: &Path) -> Error {
    Error::new(Kind::Conflict, "file_exists", Stage::Write, format!("{} exists already", path.display()))
        .entity(path.display().to_string())
        .hint("Nothing was written. Name another file.")
}

fn no_room(path: &Path) -> Error {
    Error::new(Kind::Storage, "disk_full", Stage::Write, format!("no space left for {}", path.display()))
        .entity(path.display().to_string())
        .hint("Nothing was changed. Make room, or name a file on another disk.")
}

fn write_failed(path: &Path, why: &str) -> Error {
    Error::new(Kind::Storage, "backup_unwritable", Stage::Write, format!("{} cannot be written{why}", path.display()))
        .entity(path.display().to_string())
        .hint("Nothing was changed. Name a file in a directory that exists and that you may write.")
}

fn failed(path: &Path, error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => no_room(path).cause(error),
        _ => write_failed(path, &format!(": {error}")).cause(error),
    }
}

// EPERM is what FAT answers.
fn links_unsupported(error: &io::Error) -> bool {
    let codes = [Errno::PERM, Errno::OPNOTSUPP, Errno::NOTSUP, Errno::NOSYS, Errno::MLINK];
    error.raw_os_error().is_some_and(|code| codes.iter().any(|known| known.raw_os_error() == code))
}
