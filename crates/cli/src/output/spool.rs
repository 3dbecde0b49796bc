//! Lines on their way to a file or to standard output, gathered in a temporary file until they are complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::Path;

use tenure_core::{Code, Error, Result, Stage};
use tenure_store::{AtomicFile, Existing};

use crate::workspace::StoreLocation;
use crate::workspace::scratch::refuse_store_files;

/// Lines in a temporary file.
pub(crate) struct Spool {
    file: BufWriter<File>,
    bytes: u64,
    /// What gives the file its name; None where it gets none.
    named: Option<AtomicFile>,
}

impl Spool {
    /// A spool that becomes a file.
    pub(crate) fn beside(target: &Path) -> Result<Spool> {
        if target.file_name().is_none() {
            return Err(not_a_file(target));
        }
        let (named, file) = AtomicFile::create(target).map_err(|error| unwritable(target, error))?;
        Ok(Spool { file: BufWriter::new(file), bytes: 0, named: Some(named) })
    }

    /// A spool that is read back. Its file has no name, so nothing is left of it after a kill.
    pub(crate) fn nameless(dir: &Path) -> Result<Spool> {
        let (named, file) = AtomicFile::create(&dir.join("spool")).map_err(|error| unwritable(dir, error))?;
        drop(named);
        Ok(Spool { file: BufWriter::new(file), bytes: 0, named: None })
    }

    /// Starts over.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.bytes = 0;
        let cleared = self.file.rewind().and_then(|()| self.file.get_ref().set_len(0));
        cleared.map_err(|error| unwritable(self.name(), error))
    }

    /// Writes a line and its newline.
    pub(crate) fn line(&mut self, line: &str) -> Result<()> {
        self.bytes += line.len() as u64 + 1;
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.write_all(b"\n"));
        written.map_err(|error| unwritable(self.name(), error))
    }

    /// Makes the lines durable and gives them their name. A file of that name is replaced or kept as `replace` says, also
    /// one that was made in the meantime.
    pub(crate) fn publish(mut self, target: &Path, replace: bool) -> Result<u64> {
        self.file.flush().map_err(|error| unwritable(target, error))?;
        let Some(named) = self.named else { return Err(Error::bug("a spool without a name was given one")) };
        let existing = if replace { Existing::Replace } else { Existing::Keep };
        named.publish(existing).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => exists(target),
            _ => unwritable(target, error),
        })?;
        Ok(self.bytes)
    }

    /// Reads everything back, a piece at a time, for as long as it is wanted.
    pub(crate) fn read_back(mut self, mut wants: impl FnMut(&[u8]) -> bool) -> Result<()> {
        let failed =
            |error| Error::new(Code::IoFailure, "a temporary file cannot be read").at(Stage::Read).cause(error);
        self.file.rewind().map_err(failed)?;
        let mut piece = vec![0; 64 * 1024];
        loop {
            match self.file.get_mut().read(&mut piece).map_err(failed)? {
                0 => return Ok(()),
                read if !wants(&piece[..read]) => return Ok(()),
                _ => {}
            }
        }
    }

    fn name(&self) -> &Path {
        self.named.as_ref().map_or(Path::new("a temporary file"), AtomicFile::path)
    }
}

/// Refuses a name that must not be written to: one that is taken, unless it is to be replaced; and then only a plain
/// file, which is not a store's.
pub(crate) fn check_target(target: &Path, replace: bool, store: &StoreLocation) -> Result<()> {
    refuse_store_files(target, store)?;
    let found = match fs::symlink_metadata(target) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unwritable(target, error)),
    };
    if found.is_dir() {
        return Err(not_a_file(target));
    }
    if !replace {
        return Err(exists(target));
    }
    if !found.is_file() {
        return Err(not_a_file(target));
    }
    Ok(())
}

fn exists(target: &Path) -> Error {
    Error::new(Code::FileExists, format!("{} exists already", target.display()))
        .at(Stage::Arguments)
        .entity(target.display().to_string())
        .hint("Choose another name; --force replaces a file.")
}

fn not_a_file(target: &Path) -> Error {
    Error::new(Code::NotAFile, format!("{} is not a regular file", target.display()))
        .at(Stage::Write)
        .entity(target.display().to_string())
        .hint("Name a file, or - for standard output.")
}

fn unwritable(path: &Path, error: io::Error) -> Error {
    let (code, hint) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            (Code::DiskFull, "Free some space, or choose another place.")
        }
        _ => (Code::NotWritable, "Choose another place, or make the directory writable."),
    };
    Error::new(code, format!("{} cannot be written", path.display()))
        .at(Stage::Write)
        .entity(path.display().to_string())
        .hint(hint)
        .cause(error)
}
