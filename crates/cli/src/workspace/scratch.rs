//! A private directory for what passes through, and which files a backup may be written to or read from.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use tenure_core::{Code, Error, Result, Stage};
use tenure_store::copy::{Existing, HEAD, declared_size, exists, temp_files};

use super::StoreLocation;
use crate::env::Env;

/// What the names of the files beside a database end in.
pub(super) const BESIDE: [&str; 9] =
    ["-wal", "-shm", "-log", "-journal", "-turn-a", "-turn-b", "-bell", "-deciding", "-sock"];

/// A directory for its owner alone, removed with everything in it.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(env: &Env) -> Result<Scratch> {
        let base = env.os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        temp_files::sweep(&base);
        // Drawn, so that nobody can have made it before.
        let dir = base.join(temp_files::scratch_name());
        DirBuilder::new().mode(0o700).create(&dir).map_err(|error| {
            let message = format!("no private directory can be created in {}: {error}", base.display());
            Error::new(Code::NoScratch, message)
                .at(Stage::Open)
                .entity(base.display().to_string())
                .hint("Nothing was changed. Set TMPDIR to a writable directory.")
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
pub(crate) fn may_write(path: &Path, existing: Existing, store: &StoreLocation) -> Result<()> {
    refuse_store_files(path, store)?;
    if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(not_a_file(path));
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => {
            Err(Error::new(Code::SymlinkedBackup, format!("{} is a symbolic link", path.display()))
                .at(Stage::Resolve)
                .entity(path.display().to_string())
                .hint("Nothing was written. Name the file that the link points to."))
        }
        Ok(meta) if !meta.is_file() => Err(not_a_file(path)),
        Ok(_) if existing == Existing::Keep => Err(exists(path)),
        // Anything else that is wrong with the place is met when the file is made, and told there.
        _ => Ok(()),
    }
}

/// Refuses to write where a file of a store is or belongs, of this one or another: SQLite would take the log of the old
/// file for that of the new one, and what was acknowledged in either would be gone.
pub(crate) fn refuse_store_files(path: &Path, store: &StoreLocation) -> Result<()> {
    refuse_own(path, store)?;
    let there = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.is_file());
    let beside = |path: &Path| BESIDE.map(|end| with_end(path, end));
    let database = BESIDE.iter().find_map(|end| {
        let name = path.file_name()?.as_encoded_bytes().strip_suffix(end.as_bytes())?;
        (!name.is_empty()).then(|| path.with_file_name(OsString::from_vec(name.to_vec())))
    });
    let why = if beside(path).iter().any(|part| there(part)) {
        "has files of a database in use beside it"
    } else if database.is_some_and(|it| there(&it) || beside(&it).iter().any(|part| part != path && there(part))) {
        "has the name of a file that belongs to the database beside it"
    } else if is_database(path)? {
        "is a database, not a backup"
    } else {
        return Ok(());
    };
    Err(Error::new(Code::StoreFile, format!("{} {why}", path.display()))
        .at(Stage::Resolve)
        .entity(path.display().to_string())
        .hint("Nothing was written. Name another file."))
}

/// Whether a file is a database, or the log or journal of one, and no backup. It must not be the store's.
#[expect(clippy::disallowed_methods, reason = "the store's own files are refused before")]
fn is_database(path: &Path) -> Result<bool> {
    if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()) {
        return Ok(false);
    }
    let mut head = Vec::with_capacity(HEAD);
    File::open(path)
        .and_then(|file| file.take(HEAD as u64).read_to_end(&mut head))
        .map_err(|error| unreadable(path, error))?;
    let sorts: [&[u8]; 4] =
        [b"SQLite format 3\0", b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"];
    Ok(sorts.iter().any(|magic| head.starts_with(magic)) && declared_size(&head).is_err())
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.into();
    name.push(end);
    name.into()
}

/// Refuses a file that a backup may not be read from.
pub(crate) fn may_read(path: &Path, store: &StoreLocation) -> Result<()> {
    refuse_own(path, store)?;
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => Err(not_a_file(path)),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Error::new(Code::NoBackup, format!("{} does not exist", path.display()))
                .at(Stage::Resolve)
                .entity(path.display().to_string())
                .hint("Nothing was changed. Check the name of the file."))
        }
        Err(error) => Err(unreadable(path, error)),
    }
}

/// The refusal of a backup that cannot be read.
pub(crate) fn unreadable(path: &Path, error: std::io::Error) -> Error {
    let message = format!("{} cannot be read: {error}", path.display());
    Error::new(Code::BackupUnreadable, message)
        .at(Stage::Read)
        .entity(path.display().to_string())
        .hint("Nothing was changed. Check the permissions of the file and of every directory above it.")
        .cause(error)
}

/// The files of the store itself are neither overwritten nor read while SQLite has them: closing any of them would drop
/// its locks, and a database in use is whole only together with its log.
fn refuse_own(path: &Path, store: &StoreLocation) -> Result<()> {
    let StoreLocation::Sqlite(database) = store else { return Ok(()) };
    let own = [""].iter().chain(&BESIDE).any(|end| {
        let file = with_end(database, end);
        let same = |a: Metadata, b: Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        match (fs::metadata(path), fs::metadata(&file)) {
            (Ok(a), Ok(b)) => same(a, b),
            _ => place_of(path).is_some_and(|place| Some(place) == place_of(&file)),
        }
    });
    if !own {
        return Ok(());
    }
    Err(Error::usage(Code::OwnStore, format!("{} is a file of the store itself", path.display()))
        .entity(path.display().to_string())
        .hint("Name another file."))
}

/// A path by the directory it is really in.
fn place_of(path: &Path) -> Option<(PathBuf, OsString)> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some((dir.canonicalize().ok()?, path.file_name()?.to_owned()))
}

fn not_a_file(path: &Path) -> Error {
    Error::new(Code::NotAFile, format!("{} is not a regular file", path.display()))
        .at(Stage::Resolve)
        .entity(path.display().to_string())
        .hint("Name a file, or - for standard input or output.")
}
