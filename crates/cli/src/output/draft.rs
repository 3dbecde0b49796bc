//! A file that is not there until all of it is: written under another name, made durable, then given its own.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tenure_core::{Error, Kind, Result, Stage};
use tenure_store::copy::passing;

use crate::place::Location;
use crate::place::scratch::refuse_store_files;

/// What is being written.
pub(crate) struct Draft {
    file: BufWriter<File>,
    bytes: u64,
    /// The name it is written under, until it has its own or is given up.
    temp: Option<PathBuf>,
}

impl Draft {
    /// A draft beside the file it becomes, readable by its owner alone.
    pub(crate) fn beside(target: &Path) -> Result<Draft> {
        if target.file_name().is_none() {
            return Err(not_a_file(target));
        }
        let (temp, file) = create(directory(target)).map_err(|error| unwritable(target, error))?;
        Ok(Draft { file: BufWriter::new(file), bytes: 0, temp: Some(temp) })
    }

    /// A draft without a name, for what is read back and then gone.
    pub(crate) fn nameless(dir: &Path) -> Result<Draft> {
        let fail = |error| unwritable(dir, error);
        let (temp, file) = create(dir).map_err(fail)?;
        fs::remove_file(temp).map_err(fail)?;
        Ok(Draft { file: BufWriter::new(file), bytes: 0, temp: None })
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

    /// Gives the draft its name; everything is on disk before and after. Where something has that name already it is
    /// replaced or left alone, as was said: also if it came to be only now.
    pub(crate) fn publish(mut self, target: &Path, replace: bool) -> Result<u64> {
        let fail = |error| unwritable(target, error);
        self.file.flush().and_then(|()| self.file.get_ref().sync_all()).map_err(fail)?;
        let Some(temp) = &self.temp else { return Err(Error::bug("a draft without a name was given one")) };
        if replace {
            fs::rename(temp, target).map_err(fail)?;
        } else {
            match fs::hard_link(temp, target) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(exists(target)),
                // A file system without links: the look and the rename are two steps there.
                Err(_) if fs::symlink_metadata(target).is_err() => fs::rename(temp, target).map_err(fail)?,
                Err(_) => return Err(exists(target)),
            }
        }
        sync(directory(target)).map_err(fail)?;
        Ok(self.bytes)
    }

    /// Reads everything back, a piece at a time, for as long as it is wanted.
    pub(crate) fn read_back(mut self, mut wants: impl FnMut(&[u8]) -> bool) -> Result<()> {
        let failed = |error| {
            Error::new(Kind::Storage, "io_failure", Stage::Read, "a temporary file cannot be read").cause(error)
        };
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
        self.temp.as_deref().unwrap_or(Path::new("a temporary file"))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(temp) = &self.temp {
            // After a rename there is nothing left; any other failure leaves a file that nobody reads.
            _ = fs::remove_file(temp);
        }
    }
}

/// Refuses a name that must not be written to: one that is taken, unless it is to be replaced; and then only a plain
/// file, which is not a store's.
pub(crate) fn check_target(target: &Path, replace: bool, store: &Location) -> Result<()> {
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
    Error::new(Kind::Conflict, "file_exists", Stage::Arguments, format!("{} is there already", target.display()))
        .entity(target.display().to_string())
        .hint("Choose another name; --force replaces a file.")
}

fn not_a_file(target: &Path) -> Error {
    Error::new(Kind::Storage, "not_a_file", Stage::Write, format!("{} is not a plain file", target.display()))
        .entity(target.display().to_string())
        .hint("Name a file, or - for standard output.")
}

fn unwritable(path: &Path, error: io::Error) -> Error {
    let (code, hint) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            ("disk_full", "Make room, or choose another place.")
        }
        _ => ("not_writable", "Choose another place, or allow writing there."),
    };
    Error::new(Kind::Storage, code, Stage::Write, format!("{} cannot be written", path.display()))
        .entity(path.display().to_string())
        .hint(hint)
        .cause(error)
}

fn directory(target: &Path) -> &Path {
    target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[expect(clippy::disallowed_methods, reason = "a new file under a drawn name")]
fn create(dir: &Path) -> io::Result<(PathBuf, File)> {
    passing::sweep(dir);
    let temp = dir.join(passing::draft_name());
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&temp)?;
    Ok((temp, file))
}

#[expect(clippy::disallowed_methods, reason = "a directory")]
fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
