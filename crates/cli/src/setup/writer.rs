//! Writes the files of one tool, all or none as far as file systems allow. The writer holds a lock, prepares every file
//! before it places the first one, follows and keeps symbolic links, keeps modes, and saves a copy of the old content.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::{Code, Error, Result, Stage};
use tenure_store::copy::temp_files;
use tenure_store::{AtomicFile, Existing, sync_directory};

use super::githook::Move;
use super::plan::{FileChange, PlanDirection, read};
use super::target::SetupScope;

/// How long to wait for the lock of another setup. No lock is held while a person is asked.
const PATIENCE: Duration = Duration::from_secs(10);

/// The state of setup: a lock, a record, and copies of the old content.
pub(crate) struct SetupRecords {
    dir: PathBuf,
    _lock: File,
}

/// What the files do not show: who added a grant, and who made a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SetupRecord {
    #[serde(default)]
    granted: BTreeSet<(PathBuf, String)>,
    #[serde(default)]
    directories: BTreeSet<PathBuf>,
    /// For each file the objects, tables and lists that setup made in it, named from the top; the empty name is the
    /// file itself. A program that rewrites a file destroys the layout that would show this.
    #[serde(default)]
    containers: BTreeMap<PathBuf, BTreeSet<Vec<String>>>,
}

impl SetupRecord {
    /// The record in a directory; empty if there is no readable one.
    pub(crate) fn read(dir: &Path) -> SetupRecord {
        let text = read(&dir.join("record.json")).ok().flatten();
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Whether setup made a container of a file; `None` for a file that is not on record.
    pub(crate) fn has_made(&self, file: &Path, names: &[&str]) -> Option<bool> {
        // An element of a list has no stable name.
        let made = self.containers.get(file).filter(|_| names.iter().all(|name| !name.is_empty()))?;
        Some(made.iter().any(|own| own.iter().eq(names.iter())))
    }

    pub(crate) fn has_granted(&self, file: &Path, dir: &str) -> bool {
        self.granted.contains(&(file.to_owned(), dir.to_owned()))
    }
}

impl SetupRecords {
    /// Takes the lock, and waits for another setup that holds it.
    #[expect(clippy::disallowed_methods, reason = "a lock file of its own; never the database")]
    pub(crate) fn open(dir: &Path) -> Result<SetupRecords> {
        let fail = |error| unwritable(dir, error);
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(fail)?;
        let path = dir.join("lock");
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(fail)?;
        let (say, hear) = mpsc::channel();
        // If the caller has timed out, this thread drops the lock with the file.
        std::thread::spawn(move || {
            let locked = file.lock();
            _ = say.send((file, locked));
        });
        match hear.recv_timeout(PATIENCE) {
            Ok((file, Ok(()))) => Ok(SetupRecords { dir: dir.to_owned(), _lock: file }),
            Ok((_, Err(error))) => Err(unwritable(&path, error)),
            Err(_) => Err(Error::new(Code::SetupBusy, format!("another setup has locked {}", path.display()))
                .at(Stage::Lock)
                .hint("Nothing was written. Try again when the other setup has ended.")),
        }
    }

    pub(crate) fn record(&self) -> SetupRecord {
        SetupRecord::read(&self.dir)
    }

    /// Removes temporary files of a killed setup. The holder of the lock has none of its own yet.
    pub(crate) fn sweep(&self, files: &[PathBuf]) {
        let own = [self.dir.clone(), self.dir.join("backups")];
        for draft in own.iter().flat_map(|dir| drafts(dir)).chain(left_behind(files)) {
            _ = fs::remove_file(draft);
        }
    }

    /// Writes the changes and returns the paths of the copies of the old content, in order.
    pub(crate) fn write(&self, changes: &[FileChange], stamp: &str) -> Result<Vec<Option<PathBuf>>> {
        let mut record = self.record();
        for change in changes {
            record.granted.extend(change.grants.iter().map(|dir| (change.path.clone(), dir.clone())));
            record.directories.extend(missing(change).map(Path::to_owned));
            if let Some(made) = &change.containers {
                record.containers.entry(change.path.clone()).or_default().extend(made.iter().cloned());
            }
        }
        // The record is written first: an entry on record that was not made does no harm, but one that was made and is
        // not on record would stay forever.
        self.note(&record)?;
        let mut prepared = Vec::new();
        let mut backups = Vec::new();
        for (index, change) in changes.iter().enumerate() {
            backups.push(self.keep(change, index, stamp)?);
            prepared.push(PreparedChange::of(change)?);
        }
        for (index, change) in changes.iter().enumerate() {
            if let Err(error) = prepared[index].publish(change) {
                for (done, change) in prepared[..index].iter().zip(changes) {
                    done.take_back(change);
                }
                return Err(error);
            }
        }
        for change in changes {
            let stays = |dir: &str| change.after.as_ref().is_some_and(|text| text.contains(dir));
            record.granted.retain(|(file, dir)| *file != change.path || stays(dir));
            if change.way == PlanDirection::Remove {
                record.containers.remove(&change.path);
            }
        }
        sweep(&mut record, changes);
        self.note(&record)?;
        Ok(backups)
    }

    fn note(&self, record: &SetupRecord) -> Result<()> {
        let text = serde_json::to_string_pretty(record)
            .map_err(|error| Error::bug(format!("a record has no JSON: {error}")))?;
        let path = self.dir.join("record.json");
        place(&path, text.as_bytes(), 0o600)
    }

    /// Saves a copy of the old content.
    fn keep(&self, change: &FileChange, index: usize, stamp: &str) -> Result<Option<PathBuf>> {
        let Some(before) = &change.before else { return Ok(None) };
        let name = change.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let dir = self.dir.join("backups");
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(|error| unwritable(&dir, error))?;
        let path = dir.join(format!("{stamp}-{index}-{}-{}", change.target.name(), name.trim_start_matches('.')));
        place(&path, before.as_bytes(), 0o600)?;
        Ok(Some(path))
    }
}

/// A prepared change.
struct PreparedChange {
    /// The target of the link, if the file is a link.
    target: PathBuf,
    /// The new content; `None` if the file is deleted or replaced by a renamed one.
    new: Option<AtomicFile>,
}

impl PreparedChange {
    fn of(change: &FileChange) -> Result<PreparedChange> {
        let path = &change.path;
        let target = match change.before {
            // A link among git's hooks is renamed, not followed.
            _ if change.mode.is_some() => path.clone(),
            Some(_) => fs::canonicalize(path).map_err(|error| unwritable(path, error))?,
            None => path.clone(),
        };
        make_directories(change)?;
        let meta = fs::metadata(&target).ok();
        if meta.is_some()
            && change.moved.is_none()
            && rustix::fs::access(&target, rustix::fs::Access::WRITE_OK).is_err()
        {
            return Err(unwritable(&target, ErrorKind::PermissionDenied.into()));
        }
        let new = if change.scope == SetupScope::User { 0o600 } else { 0o644 };
        let kept = meta.as_ref().filter(|_| change.moved.is_none()).map(|meta| meta.permissions().mode() & 0o7777);
        let mode = kept.unwrap_or(change.mode.unwrap_or(new));
        let new = match &change.after {
            Some(_) if matches!(change.moved, Some(Move::Back(_))) => None,
            Some(text) => Some(written(&target, text.as_bytes(), mode)?),
            None => None,
        };
        if let (Some(new), Some(meta)) = (&new, meta.as_ref().filter(|_| change.moved.is_none())) {
            // For root, who edits files of another user. Other users edit their own files.
            _ = std::os::unix::fs::chown(new.path(), Some(meta.uid()), Some(meta.gid()));
        }
        Ok(PreparedChange { target, new })
    }

    fn publish(&mut self, change: &FileChange) -> Result<()> {
        // A program that does not use the lock may have written meanwhile.
        if change.now()? != change.before {
            return Err(changed(&change.path));
        }
        let fail = |error| unwritable(&self.target, error);
        if let Some(Move::Aside(aside)) = &change.moved {
            // The file has both names for a moment, so that a hook exists at every moment.
            if fs::hard_link(&change.path, aside).is_err() {
                fs::rename(&change.path, aside).map_err(fail)?;
            }
        }
        match (self.new.take(), &change.moved) {
            (_, Some(Move::Back(aside))) => fs::rename(aside, &self.target).map_err(fail)?,
            (Some(new), _) => new.place(Existing::Replace).map_err(fail)?,
            (None, _) => {
                fs::remove_file(&self.target).map_err(fail)?;
                // A link would be dangling now.
                if self.target != change.path && fs::symlink_metadata(&change.path).is_ok() {
                    fs::remove_file(&change.path).map_err(fail)?;
                }
            }
        }
        // Makes the rename durable, as far as the file system can.
        _ = self.target.parent().map(sync_directory);
        Ok(())
    }

    /// Restores the old content after a later file could not be written.
    fn take_back(&self, change: &FileChange) {
        match &change.moved {
            Some(Move::Aside(aside)) => {
                _ = fs::rename(aside, &self.target);
                return;
            }
            Some(Move::Back(aside)) => _ = fs::rename(&self.target, aside),
            Some(Move::Mode) | None => {}
        }
        match &change.before {
            Some(before) => {
                let mode = fs::metadata(&self.target).map_or(0o600, |meta| meta.permissions().mode() & 0o7777);
                _ = place(&self.target, before.as_bytes(), mode);
            }
            None => _ = fs::remove_file(&self.target),
        }
    }
}

/// The directories that have to be made for a file, the deepest first.
fn missing(change: &FileChange) -> impl Iterator<Item = &Path> {
    let made = change.before.is_none() && change.after.is_some();
    change.path.ancestors().skip(1).take_while(move |dir| made && !dir.exists())
}

fn make_directories(change: &FileChange) -> Result<()> {
    let missing: Vec<&Path> = missing(change).collect();
    let mode = if change.scope == SetupScope::User { 0o700 } else { 0o755 };
    for dir in missing.into_iter().rev() {
        match DirBuilder::new().mode(mode).create(dir) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => {}
            Err(error) => return Err(unwritable(dir, error)),
        }
    }
    Ok(())
}

/// Removes empty directories that setup made.
fn sweep(record: &mut SetupRecord, changes: &[FileChange]) {
    let emptied = changes.iter().filter(|change| change.after.is_none());
    let above: BTreeSet<PathBuf> =
        emptied.flat_map(|change| change.path.ancestors().skip(1)).map(Path::to_owned).collect();
    // The deepest first.
    let made: Vec<PathBuf> = record.directories.iter().rev().filter(|dir| above.contains(*dir)).cloned().collect();
    for dir in made {
        if fs::remove_dir(&dir).is_ok() {
            record.directories.remove(&dir);
        }
    }
}

/// The prefix of setup's temporary files. It differs from that of other commands, which may write at the same time.
const DRAFT: (&str, &str) = (".tenure-setup-", ".tmp");

/// The temporary files beside some files and beside the targets of their links.
pub(crate) fn left_behind(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let targets = files.iter().filter_map(|file| fs::canonicalize(file).ok());
    let dirs: BTreeSet<PathBuf> =
        files.iter().cloned().chain(targets).filter_map(|file| file.parent().map(Path::to_owned)).collect();
    dirs.iter().flat_map(|dir| drafts(dir)).collect()
}

/// The temporary files of this user in a directory.
fn drafts(dir: &Path) -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let is_draft = |name: &str| {
        let drawn = name.strip_prefix(DRAFT.0).and_then(|rest| rest.strip_suffix(DRAFT.1));
        drawn.is_some_and(|drawn| drawn.len() >= 8 && drawn.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_draft))
        .map(|entry| entry.path())
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.uid() == user))
        .collect()
}

fn draft_name() -> String {
    temp_files::draft_name().replacen(".tenure-", DRAFT.0, 1)
}

/// Writes and syncs a temporary file with these bytes beside its target.
fn written(target: &Path, bytes: &[u8], mode: u32) -> Result<AtomicFile> {
    let new = AtomicFile::create_as(target, &draft_name());
    new.and_then(|new| AtomicFile::holding(new, bytes, mode)).map_err(|error| unwritable(target, error))
}

/// Replaces the target by a file with these bytes.
fn place(target: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    written(target, bytes, mode)?.place(Existing::Replace).map_err(|error| unwritable(target, error))
}

fn changed(path: &Path) -> Error {
    Error::new(Code::ToolConfigChanged, format!("another program changed {} at the same time", path.display()))
        .at(Stage::Write)
        .entity(path.display().to_string())
        .hint("Nothing was written. Close the tool and repeat the command.")
}

fn unwritable(path: &Path, error: std::io::Error) -> Error {
    Error::new(Code::ToolConfigUnwritable, format!("{} cannot be written: {error}", path.display()))
        .at(Stage::Write)
        .entity(path.display().to_string())
        .hint("Nothing was written. Check the permissions; in a sandbox, let a person run `tenure setup` outside it.")
        .cause(error)
}
