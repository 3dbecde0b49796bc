//! The target file of a backup: an [`AtomicFile`] that SQLite fills, with the errors of a backup.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use tenure_core::{Code, Error, Result, Stage};

use crate::atomic_file::{AtomicFile, Existing};

/// A file that becomes `to` when it is published, and is removed otherwise.
#[derive(Debug)]
pub struct BackupFile {
    file: AtomicFile,
    to: PathBuf,
}

impl BackupFile {
    /// Creates an empty file beside `to` that only its owner can read.
    pub fn beside(to: &Path) -> Result<BackupFile> {
        // Close the handle: SQLite opens the file itself.
        let (file, _) = AtomicFile::create(to).map_err(|error| failed(to, error))?;
        Ok(BackupFile { file, to: to.to_owned() })
    }

    /// The temporary path, until the file is published.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Removes the content of an earlier attempt.
    #[expect(clippy::disallowed_methods, reason = "a file of our own, not open anywhere")]
    pub(super) fn empty(&self) -> Result<()> {
        let file = OpenOptions::new().write(true).truncate(true).open(self.path());
        file.map(drop).map_err(|error| failed(&self.to, error))
    }

    /// Reads the whole file in pieces. It must not be open as a database.
    #[expect(clippy::disallowed_methods, reason = "a file of our own, closed by SQLite before")]
    pub fn read(&self, piece: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let mut file = File::open(self.path()).map_err(|error| failed(&self.to, error))?;
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

    /// Makes the file durable and gives it its name. It must not be open as a database.
    pub fn publish(self, existing: Existing) -> Result<()> {
        self.file.publish(existing).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => exists(&self.to),
            _ => failed(&self.to, error),
        })
    }

    /// Attributes a SQLite error to this file instead of the store.
    pub(super) fn unwritable(&self, error: Error) -> Error {
        match error.code() {
            Code::DiskFull => no_room(&self.to).cause(error),
            Code::IoFailure | Code::NotWritable | Code::CannotOpen => write_failed(&self.to, "").cause(error),
            _ => error,
        }
    }
}

/// The refusal to overwrite a file.
pub fn exists(path: &Path) -> Error {
    Error::new(Code::FileExists, format!("{} exists already", path.display()))
        .at(Stage::Write)
        .entity(path.display().to_string())
        .hint("Nothing was written. Name another file.")
}

fn no_room(path: &Path) -> Error {
    Error::new(Code::DiskFull, format!("no space left for {}", path.display()))
        .at(Stage::Write)
        .entity(path.display().to_string())
        .hint("Nothing was changed. Free some space, or name a file on another disk.")
}

fn write_failed(path: &Path, why: &str) -> Error {
    Error::new(Code::BackupUnwritable, format!("{} cannot be written{why}", path.display()))
        .at(Stage::Write)
        .entity(path.display().to_string())
        .hint("Nothing was changed. Name a file in a directory that exists and is writable.")
}

fn failed(path: &Path, error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => no_room(path).cause(error),
        _ => write_failed(path, &format!(": {error}")).cause(error),
    }
}
