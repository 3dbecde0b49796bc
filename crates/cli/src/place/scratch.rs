//! A private directory for what passes through, and which files a backup may be written to or read from.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use tenure_core::{Error, Kind, Result, Stage, id};
use tenure_store::copy::{Existing, exists};
use tenure_store::{Entropy, OsEntropy};

use super::Location;
use crate::env::Env;

/// A directory for its owner alone, removed with everything in it.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(env: &Env) -> Result<Scratch> {
        let base = env.os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        // Drawn, so that nobody can have made it before.
        let name = id::draw(id::Sort::Store, id::LONGEST, &mut |bytes| OsEntropy.fill(bytes));
        let dir = base.join(format!("tenure-{}", &name[2..]));
        DirBuilder::new().mode(0o700).create(&dir).map_err(|error| {
            let message = format!("no private directory can be made in {}: {error}", base.display());
            Error::new(Kind::Storage, "no_scratch", Stage::Open, message)
                .entity(base.display().to_string())
                .hint("Nothing was changed. Set TMPDIR to a directory that can be written.")
                .cause(error)
        })?;
        Ok(Scratch(dir))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed lies in a private directory of the temporary files.
        _ = fs::remove_dir_all(&self.0);
    }
}

/// Refuses a file that a backup may not be written to.
pub(crate) fn may_write(path: &Path, existing: Existing, store: &Location) -> Result<()> {
    refuse_own(path, store)?;
    if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(not_a_file(path));
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => Err(Error::new(
            Kind::Storage,
            "symlinked_backup",
            Stage::Resolve,
            format!("{} is a symbolic link", path.display()),
        )
        .entity(path.display().to_string())
        .hint("Nothing was written. Name the file that is meant.")),
        Ok(meta) if !meta.is_file() => Err(not_a_file(path)),
        Ok(_) if existing == Existing::Keep => Err(exists(path)),
        // Anything else that is wrong with the place is met when the file is made, and told there.
        _ => Ok(()),
    }
}

/// Refuses a file that a backup may not be read from.
pub(crate) fn may_read(path: &Path, store: &Location) -> Result<()> {
    refuse_own(path, store)?;
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => Err(not_a_file(path)),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Error::new(Kind::NotFound, "no_backup", Stage::Resolve, format!("{} does not exist", path.display()))
                .entity(path.display().to_string())
                .hint("Nothing was changed. Check the name of the file."))
        }
        Err(error) => Err(unreadable(path, error)),
    }
}

/// The refusal of a backup that cannot be read.
pub(crate) fn unreadable(path: &Path, error: std::io::Error) -> Error {
    let message = format!("{} cannot be read: {error}", path.display());
    Error::new(Kind::Storage, "backup_unreadable", Stage::Read, message)
        .entity(path.display().to_string())
        .hint("Nothing was changed. Check who may read the file and every directory above it.")
        .cause(error)
}

/// The files of the store itself are neither overwritten nor read while SQLite has them: closing any of them would drop
/// its locks, and a database in use is whole only together with its log.
fn refuse_own(path: &Path, store: &Location) -> Result<()> {
    let Location::Sqlite(database) = store else { return Ok(()) };
    let own = ["", "-wal", "-shm", "-journal", "-turn-a", "-turn-b"].iter().any(|suffix| {
        let mut file: OsString = database.into();
        file.push(suffix);
        let file = PathBuf::from(file);
        let same = |a: Metadata, b: Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        match (fs::metadata(path), fs::metadata(&file)) {
            (Ok(a), Ok(b)) => same(a, b),
            _ => place_of(path).is_some_and(|place| Some(place) == place_of(&file)),
        }
    });
    if !own {
        return Ok(());
    }
    Err(Error::usage("own_store", format!("{} is a file of the store itself", path.display()))
        .entity(path.display().to_string())
        .hint("Name another file."))
}

/// A path by the directory it is really in.
fn place_of(path: &Path) -> Option<(PathBuf, OsString)> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some((dir.canonicalize().ok()?, path.file_name()?.to_owned()))
}

fn not_a_file(path: &Path) -> Error {
    Error::new(Kind::Storage, "not_a_file", Stage::Resolve, format!("{} is not a regular file", path.display()))
        .entity(path.display().to_string())
        .hint("Name a file, or - for standard input or output.")
}
