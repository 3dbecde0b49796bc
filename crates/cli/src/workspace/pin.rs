//! Two small files in the common git directory, shared by all worktrees and never committed: `tenure/id`, the project's
//! id, and `tenure/pin`, the store that the project uses.
//!
//! Both are created once, by whichever process comes first, and changed only when a person asks. What is in them but
//! makes no sense is an error: writing over it would cut a project off from its work.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tenure_core::{Code, Error, Result, Stage, id};
use tenure_store::{AtomicFile, Existing, sync_directory};

use super::file::{self, Links};

/// Characters in a project id: 130 random bits, so that two repositories never draw the same one.
const ID_LENGTH: usize = 26;

/// More than any real pin; a larger file is something else.
const LARGEST: u64 = 64 * 1024;

/// Which store a project uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pin {
    /// The store's id.
    pub(crate) store: String,
    /// Where it was when it was pinned, for people; without a password.
    pub(crate) location: String,
    /// The project's key on that store.
    pub(crate) key: String,
}

/// The project's id, if it has one.
pub(crate) fn read_id(common: &Path) -> Result<Option<String>> {
    let path = id_file(common);
    let Some(text) = read(&path)? else { return Ok(None) };
    let id = text.strip_suffix('\n').unwrap_or(&text);
    if id.len() == ID_LENGTH && id.bytes().all(|byte| id::ALPHABET.contains(&byte)) {
        return Ok(Some(id.to_owned()));
    }
    Err(corrupt(&path, "holds no project id"))
}

/// The project's id, made now if it has none. Of any number of processes at once, all get the same.
pub(crate) fn make_id(common: &Path, fill: &mut dyn FnMut(&mut [u8])) -> Result<String> {
    if let Some(id) = read_id(common)? {
        return Ok(id);
    }
    create_file(&id_file(common), format!("{}\n", draw(fill)).as_bytes())?;
    read_id(common)?.ok_or_else(|| vanished(&id_file(common)))
}

/// Gives the project a new id, whatever was there. Only when a person asks.
pub(crate) fn replace_id(common: &Path, fill: &mut dyn FnMut(&mut [u8])) -> Result<String> {
    let id = draw(fill);
    replace_file(&id_file(common), format!("{id}\n").as_bytes())?;
    Ok(id)
}

/// The store that the project is pinned to, if it is.
pub(crate) fn read_pin(common: &Path) -> Result<Option<Pin>> {
    let path = pin_file(common);
    let Some(text) = read(&path)? else { return Ok(None) };
    let pin: Pin = serde_json::from_str(&text).map_err(|error| corrupt(&path, "is not a pin").cause(error))?;
    if pin.store.is_empty() || pin.key.is_empty() {
        return Err(corrupt(&path, "is a pin without a store or key"));
    }
    Ok(Some(pin))
}

/// Pins the project to a store unless it is pinned already; returns the pin in force, which may be another.
pub(crate) fn make_pin(common: &Path, pin: &Pin) -> Result<Pin> {
    if let Some(pin) = read_pin(common)? {
        return Ok(pin);
    }
    create_file(&pin_file(common), line(pin)?.as_bytes())?;
    read_pin(common)?.ok_or_else(|| vanished(&pin_file(common)))
}

/// Pins the project to another store, whatever was there. Only when a person asks.
pub(crate) fn replace_pin(common: &Path, pin: &Pin) -> Result<()> {
    replace_file(&pin_file(common), line(pin)?.as_bytes())
}

pub(crate) fn id_file(common: &Path) -> PathBuf {
    common.join("tenure/id")
}

pub(crate) fn pin_file(common: &Path) -> PathBuf {
    common.join("tenure/pin")
}

fn draw(fill: &mut dyn FnMut(&mut [u8])) -> String {
    id::draw(id::Sort::Project, ID_LENGTH, fill).split_off(2)
}

fn line(pin: &Pin) -> Result<String> {
    let text = serde_json::to_string(pin).map_err(|error| Error::bug("a pin cannot be written").cause(error))?;
    Ok(text + "\n")
}

// A symbolic link is not followed, since another repository's id would make two projects one; and a pipe put in place of
// the file must not make every call wait.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    let bytes = match file::read_with(path, LARGEST, Links::Refused) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => return Err(corrupt(path, "is too large")),
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            return Err(corrupt(path, "is not a regular file").cause(error));
        }
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(corrupt(path, "is a symbolic link").cause(error));
        }
        Err(error) => return Err(unreadable(path, error)),
    };
    if bytes.is_empty() {
        return Err(corrupt(path, "is empty"));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| corrupt(path, "is not text"))
}

/// Creates a file with its whole content, or leaves the one that is there.
pub(super) fn create_file(path: &Path, content: &[u8]) -> Result<()> {
    create(path, content, |from, to| fs::hard_link(from, to))
}

/// The same with another way to make a hard link. Where the file system has none, a lock beside the file takes its place:
/// the system drops it if its holder dies.
fn create(path: &Path, content: &[u8], link: fn(&Path, &Path) -> io::Result<()>) -> Result<()> {
    let fail = |error| unwritable(path, error);
    let file = written(path, content, 0o600)?;
    match file.place_new(link, Some(&path.with_extension("lock"))) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        other => other.map_err(fail)?,
    }
    // The losers of the race sync as well: they rely on a name that the winner may not have made durable yet.
    sync_directory(parent(path)).map_err(fail)
}

/// Replaces a file by one with this content, whatever was there. The mode of a regular file is kept.
pub(super) fn replace_file(path: &Path, content: &[u8]) -> Result<()> {
    let found = fs::symlink_metadata(path).ok().filter(|meta| meta.is_file());
    let mode = found.map_or(0o600, |meta| meta.permissions().mode() & 0o777);
    written(path, content, mode)?.publish(Existing::Replace).map_err(|error| unwritable(path, error))
}

/// The new file, not yet at its place. Its directory is made if it is missing.
fn written(path: &Path, content: &[u8], mode: u32) -> Result<AtomicFile> {
    let dir = parent(path);
    let made = match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other.and_then(|()| sync_directory(parent(dir))),
    };
    made.and_then(|()| AtomicFile::holding(AtomicFile::create(path)?, content, mode))
        .map_err(|error| unwritable(path, error))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn storage(code: Code, path: &Path, message: String) -> Error {
    Error::new(code, message).at(Stage::Resolve).entity(path.display().to_string())
}

fn corrupt(path: &Path, what: &str) -> Error {
    let remedy = if path.ends_with("pin") { "`tenure project pin`" } else { "`tenure project new`" };
    storage(Code::ProjectFileCorrupt, path, format!("{} {what}", path.display()))
        .hint(format!("Restore the file from a backup; without a backup, a person writes it again with {remedy}."))
}

fn vanished(path: &Path) -> Error {
    storage(Code::ProjectFileCorrupt, path, format!("{} was removed while it was being created", path.display()))
        .hint("Another program deletes files in the git directory. Stop it, then repeat the command.")
}

fn unreadable(path: &Path, error: io::Error) -> Error {
    storage(Code::ProjectFileUnreadable, path, format!("{} cannot be read: {error}", path.display()))
        .hint("Check the permissions of the file and of the directories above it.")
        .cause(error)
}

fn unwritable(path: &Path, error: io::Error) -> Error {
    let dir = parent(path).display();
    match error.kind() {
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => storage(
            Code::GitReadOnly,
            path,
            format!(
                "{} cannot be created: {dir} is not writable ({error}), perhaps because of a sandbox",
                path.display()
            ),
        )
        .hint(
            "Let a person run `tenure setup` outside the sandbox, or use the MCP tools of Tenure, which run outside \
             it. This is needed once per project.",
        ),
        _ => storage(Code::ProjectFileUnwritable, path, format!("{} cannot be written: {error}", path.display()))
            .hint("Check the free space and the state of the disk, then repeat the command."),
    }
    .cause(error)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "reads small files of its own")]
mod tests;
