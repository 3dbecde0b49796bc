//! Two small files in the common git directory, shared by all worktrees and never committed: `tenure/id`, the project's
//! id, and `tenure/pin`, the store that the project uses.
//!
//! Both are created once, by whichever process comes first, and changed only when a person asks. What is in them but
//! makes no sense is an error: writing over it would cut a project off from its work.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tenure_core::{Error, Kind, Result, Stage, id};

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
        Err(error) if error.kind() == ErrorKind::FileTooLarge => return Err(corrupt(path, "is far too large")),
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

/// The same with another way to make a link.
///
/// The content is on disk under a private name before the final name appears, and a hard link fails if the final name
/// exists: a reader sees nothing or everything, and one process wins. Where links are not supported, the same is done
/// by a rename under a lock that the system drops if its holder dies; that holds as long as nobody links meanwhile,
/// which a file system without links rules out.
#[expect(clippy::disallowed_methods, reason = "a lock beside the id or pin")]
fn create(path: &Path, content: &[u8], link: fn(&Path, &Path) -> io::Result<()>) -> Result<()> {
    let fail = |error| unwritable(path, error);
    let temp = Temp::write(path, content, None)?;
    match link(&temp.0, path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) if links_unsupported(&error) => {
            let lock = path.with_extension("lock");
            let lock = OpenOptions::new().append(true).create(true).mode(0o600).open(lock).map_err(fail)?;
            lock.lock().map_err(fail)?;
            if let Err(error) = fs::symlink_metadata(path) {
                if error.kind() != ErrorKind::NotFound {
                    return Err(fail(error));
                }
                fs::rename(&temp.0, path).map_err(fail)?;
            }
        }
        Err(error) => return Err(fail(error)),
    }
    // Also by those who came second: they are about to rely on a name that the first may not have made durable yet.
    sync_directory(parent(path)).map_err(fail)
}

/// Writes a file anew with its whole content, whatever was there.
pub(super) fn replace_file(path: &Path, content: &[u8]) -> Result<()> {
    let fail = |error| unwritable(path, error);
    let mode = fs::symlink_metadata(path).ok().filter(|meta| meta.is_file()).map(|meta| meta.permissions().mode());
    let temp = Temp::write(path, content, mode)?;
    fs::rename(&temp.0, path).map_err(fail)?;
    sync_directory(parent(path)).map_err(fail)
}

/// A file under a private name, removed again unless it was renamed.
struct Temp(PathBuf);

impl Temp {
    fn write(path: &Path, content: &[u8], mode: Option<u32>) -> Result<Temp> {
        let fail = |error| unwritable(path, error);
        let dir = parent(path);
        match DirBuilder::new().mode(0o700).create(dir) {
            Ok(()) => sync_directory(parent(dir)).map_err(fail)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(fail(error)),
        }
        let (temp, mut file) = Temp::create(path).map_err(fail)?;
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode & 0o777)).map_err(fail)?;
        }
        file.write_all(content).and_then(|()| file.sync_all()).map_err(fail)?;
        Ok(temp)
    }

    // The pid keeps most processes apart, the number all others: threads, other pid namespaces, leftovers of the killed.
    #[expect(clippy::disallowed_methods, reason = "a new file")]
    fn create(path: &Path) -> io::Result<(Temp, File)> {
        let pid = std::process::id();
        let mut number = 0;
        loop {
            let temp = path.with_extension(format!("{pid}.{number}.tmp"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temp) {
                Ok(file) => return Ok((Temp(temp), file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 10_000 => number += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        // After a rename there is nothing left; any other failure leaves a file that nobody reads.
        _ = fs::remove_file(&self.0);
    }
}

#[expect(clippy::disallowed_methods, reason = "a directory")]
fn sync_directory(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        // Some file systems cannot sync a directory; they have nothing better to offer.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

// EPERM is what FAT answers; a directory that is not writable has failed before, when the private file was made.
fn links_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let codes = [Errno::PERM, Errno::OPNOTSUPP, Errno::NOTSUP, Errno::NOSYS, Errno::MLINK];
    error.raw_os_error().is_some_and(|code| codes.iter().any(|known| known.raw_os_error() == code))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn storage(code: &'static str, path: &Path, message: String) -> Error {
    Error::new(Kind::Storage, code, Stage::Resolve, message).entity(path.display().to_string())
}

fn corrupt(path: &Path, what: &str) -> Error {
    let remedy = if path.ends_with("pin") { "`tenure project pin`" } else { "`tenure project new`" };
    storage("project_file_corrupt", path, format!("{} {what}", path.display()))
        .hint(format!("Put the file back from a backup; without one, a person can set it anew with {remedy}."))
}

fn vanished(path: &Path) -> Error {
    storage("project_file_corrupt", path, format!("{} was removed while it was made", path.display()))
        .hint("Something else deletes files in the git directory. Call again once it has stopped.")
}

fn unreadable(path: &Path, error: io::Error) -> Error {
    storage("project_file_unreadable", path, format!("{} cannot be read: {error}", path.display()))
        .hint("Check the permissions of the file and of the directories above it.")
        .cause(error)
}

fn unwritable(path: &Path, error: io::Error) -> Error {
    let dir = parent(path).display();
    match error.kind() {
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => storage(
            "git_read_only",
            path,
            format!("{} cannot be made: {dir} is not writable ({error}), perhaps because of a sandbox", path.display()),
        )
        .hint(
            "Let a person run `tenure setup` outside the sandbox, or use the MCP tools of tenure, which run outside it. It \
             is needed once per project.",
        ),
        _ => storage("project_file_unwritable", path, format!("{} cannot be written: {error}", path.display()))
            .hint("Check the free space and the state of the disk, then call again."),
    }
    .cause(error)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "reads small files of its own")]
mod tests;
