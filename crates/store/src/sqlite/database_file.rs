//! The database file: what exists at its path, whether it can be used, and its creation.
//!
//! This module uses only stat. Closing any descriptor of the database drops all POSIX locks that this process holds on
//! it, so only SQLite opens the file; the one exception is its creation, see `APPEARING`.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::Access;
use tenure_core::action::{Action, Advice};
use tenure_core::error::detail::Directory;
use tenure_core::{Code, Error, Result, Stage};

use crate::table::project::FileId;

mod file_stat;

/// Held while the file is created, and by every thread that checks whether it exists.
///
/// Without it, a thread could see the new file, connect and lock it before the creating thread closes its descriptor,
/// and lose its locks by that close. This holds as long as every connection of this process is opened after `prepare`
/// or `look`. Other processes are safe: a close drops only the locks of its own process.
static APPEARING: Mutex<()> = Mutex::new(());

/// The result of `prepare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PreparedFile {
    /// The file existed already, created by an earlier process or by one that won the race.
    Existing,
    /// The file was created, empty.
    Created,
}

/// The result of `look`. The immutable read on a read-only mount requires equal results before and after the read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilePresence {
    /// No such file, or no such directory.
    Absent,
    /// A regular file that this process may read.
    Present {
        /// Whether this process may write the file and create others beside it.
        writable_dir: bool,
        /// Whether the write-ahead log exists.
        wal: bool,
        /// Whether the index of the write-ahead log exists.
        shm: bool,
        /// The size in bytes.
        size: u64,
        /// The modification time, in nanoseconds.
        mtime_ns: i64,
    },
}

impl FilePresence {
    /// Whether there is no store yet: no file, or an empty one.
    pub(crate) fn is_no_store(self) -> bool {
        matches!(self, FilePresence::Absent | FilePresence::Present { size: 0, .. })
    }
}

/// Refuses a directory on a file system without reliable locks or shared memory.
///
/// The directory need not exist: its nearest existing parent decides. `forced` is a person's assurance that this mount
/// behaves like a local disk.
pub(crate) fn refuse_network(dir: &Path, forced: bool) -> Result<()> {
    if forced {
        return Ok(());
    }
    let (dir, name) = match network_type(dir)? {
        Some(found) => found,
        None => return Ok(()),
    };
    Err(Error::new(
        Code::NetworkFileSystem,
        format!("{} is on {name}, where the embedded store could lose acknowledged writes", dir.display()),
    )
    .at(Stage::Open)
    .entity(dir.display().to_string())
    .detail("file_system", name)
    .hint(
        "Put the store on a local disk, or use PostgreSQL for many machines; TENURE_FORCE_FILE_SYSTEM=1 overrides \
         this check.",
    ))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn network_type(dir: &Path) -> Result<Option<(PathBuf, &'static str)>> {
    for dir in dir.ancestors().map(or_here) {
        match rustix::fs::statfs(dir) {
            Ok(stat) => return Ok(network_name(stat.f_type).map(|name| (dir.to_owned(), name))),
            // `prepare` reports a parent that is not a directory, with its own message.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
            Err(error) => return Err(unreadable(dir, error.into())),
        }
    }
    Ok(None)
}

// Other systems number their file systems differently and have no such list, so nothing is refused there.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn network_type(_dir: &Path) -> Result<Option<(PathBuf, &'static str)>> {
    Ok(None)
}

/// The name of a file system that is shared between machines or served by another process, by the `f_type` of statfs.
///
/// FUSE is included because its backend is unknown; virtiofs reports itself as FUSE.
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), expect(dead_code, reason = "numbers of Linux"))]
fn network_name(f_type: i64) -> Option<&'static str> {
    // On 32-bit systems the field is signed, and large numbers arrive negative.
    Some(match f_type & 0xFFFF_FFFF {
        0x6969 => "NFS",
        0x517B => "SMB",
        0xFF53_4D42 => "CIFS",
        0xFE53_4D42 => "SMB2",
        0x0102_1997 => "9p",
        0x6573_5546 => "FUSE or virtiofs",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x7461_636F => "OCFS2",
        0x0116_1970 => "GFS2",
        0x564C => "NCP",
        0x7375_7245 => "Coda",
        0x1983_0326 => "BeeGFS",
        0xAAD7_AAEA => "PanFS",
        0xBEEF_DEAD => "SNFS",
        0x786F_4256 => "a VirtualBox shared folder",
        0xBACB_ACBC => "a VMware shared folder",
        0x7C7C_6673 => "a Parallels shared folder",
        _ => return None,
    })
}

/// Ensures that a regular file exists at `path`, with its parent directories.
///
/// Only the owner can access what is created (0700, 0600). Existing files and directories are left unchanged.
#[expect(clippy::disallowed_methods, reason = "makes the database; `APPEARING` keeps its close from harm")]
pub(crate) fn prepare(path: &Path) -> Result<PreparedFile> {
    let _appearing = appearing();
    if stat_store(path, unwritable)?.is_some() {
        return Ok(PreparedFile::Existing);
    }
    make_directories(path)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => {
            drop(file);
            sync_directory(parent(path));
            Ok(PreparedFile::Created)
        }
        // Another process won the race. Its file gets the same checks.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => match stat_store(path, unwritable)? {
            Some(_) => Ok(PreparedFile::Existing),
            None => Err(unwritable(path, error)),
        },
        Err(error) => Err(unwritable(path, error)),
    }
}

/// Reports what exists at `path`, and changes nothing.
pub(crate) fn look(path: &Path) -> Result<FilePresence> {
    let _appearing = appearing();
    let Some(meta) = stat_store(path, unreadable)? else {
        return Ok(FilePresence::Absent);
    };
    rustix::fs::access(path, Access::READ_OK).map_err(|error| unreadable(path, error.into()))?;
    let may = |path: &Path, access| rustix::fs::access(path, access).is_ok();
    Ok(FilePresence::Present {
        writable_dir: may(path, Access::WRITE_OK) && may(parent(path), Access::WRITE_OK | Access::EXEC_OK),
        wal: exists(&beside(path, "-wal"))?,
        shm: exists(&beside(path, "-shm"))?,
        size: meta.len(),
        mtime_ns: meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec()),
    })
}

/// Whether `path` has a store that this process may read but not write.
pub(crate) fn is_read_only(path: &Path) -> bool {
    matches!(look(path), Ok(FilePresence::Present { writable_dir: false, .. }))
}

/// Whether the write-ahead log is empty or absent: then the file alone is the whole store.
pub(crate) fn has_empty_wal(path: &Path) -> bool {
    fs::symlink_metadata(beside(path, "-wal")).map_or(true, |meta| meta.len() == 0)
}

/// Remarks about other users who may read or change the store; empty if there are none. Files that cannot be checked
/// are remarked on too.
pub(crate) fn permissions(path: &Path, user: u32) -> Vec<String> {
    let mut remarks = Vec::new();
    for suffix in ["", "-wal", "-shm", "-turn-a", "-turn-b", "-bell", "-deciding", "-log"] {
        let file = beside(path, suffix);
        match fs::symlink_metadata(&file) {
            Ok(meta) => {
                let mode = meta.permissions().mode() & 0o777;
                if meta.uid() != user {
                    remarks.push(format!("{} belongs to the user {}, not to you ({user})", file.display(), meta.uid()));
                }
                if meta.is_file() && mode & 0o077 != 0 {
                    remarks.push(format!(
                        "{} is open to {} (mode {mode:04o}); chmod 600 makes it private",
                        file.display(),
                        others(mode, 0o070, 0o007),
                    ));
                } else if !meta.is_file() {
                    remarks.push(format!("{} is not a regular file", file.display()));
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => remarks.push(format!("{} cannot be inspected: {error}", file.display())),
        }
    }
    let dir = parent(path);
    match fs::metadata(dir) {
        Ok(meta) => {
            let mode = meta.permissions().mode() & 0o7777;
            if mode & 0o022 != 0 {
                remarks.push(format!(
                    "the directory {} can be written by {} (mode {mode:04o}); chmod go-w removes the permission",
                    dir.display(),
                    others(mode, 0o020, 0o002),
                ));
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => remarks.push(format!("the directory {} cannot be inspected: {error}", dir.display())),
    }
    remarks
}

/// Device and inode of the file at `path`, if any.
pub(crate) fn file_id(path: &Path) -> Option<(u64, u64)> {
    file_stat::stat(path).map(|stat| (stat.device, stat.inode))
}

/// The file at `path` by inode and birth time, if it exists. Not every file system has birth times.
pub(crate) fn file(path: &Path) -> Option<FileId> {
    let stat = file_stat::stat(path)?;
    Some(FileId { inode: stat.inode.cast_signed(), born: stat.born, copied_at: 0 })
}

/// Which fields a file keeps for its whole life, across mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptFields {
    pub(crate) inode: bool,
    pub(crate) born: bool,
}

/// The fields that the file system of a file keeps. A false positive ends all holds, so the list contains only file systems
/// that are known to keep a field. FAT has no inodes, and its times shift with the time zone. aufs, FUSE and network file
/// systems may number files on the fly and invent birth times. overlayfs reports the birth time of the layer below.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn kept_fields(path: &Path) -> KeptFields {
    let dir = path.parent().unwrap_or(path);
    rustix::fs::statfs(or_here(dir)).map_or(KeptFields { inode: false, born: false }, |stat| kept_by(stat.f_type))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn kept_by(f_type: i64) -> KeptFields {
    const OVERLAYFS: i64 = 0x794C_7630;
    // ext2 to ext4, XFS, Btrfs, ZFS, F2FS, bcachefs, JFS, ReiserFS, NILFS2, UBIFS, eCryptfs, NTFS, tmpfs.
    const BOTH: [i64; 13] = [
        0xEF53,
        0x5846_5342,
        0x9123_683E,
        0x2FC1_2FC1,
        0xF2F5_2010,
        0xCA45_1A4E,
        0x3153_464A,
        0x5265_4973,
        0x3434,
        0x2405_1905,
        0xF15F,
        0x7366_746E,
        0x0102_1994,
    ];
    // On 32-bit systems the field is signed and the large numbers arrive negative.
    let f_type = f_type & 0xFFFF_FFFF;
    let inode = BOTH.contains(&f_type);
    KeptFields { inode, born: inode || f_type == OVERLAYFS }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn kept_fields(_path: &Path) -> KeptFields {
    KeptFields { inode: true, born: true }
}

/// The sizes of the database and its write-ahead log in bytes; 0 if absent.
pub(crate) fn sizes(path: &Path) -> (u64, u64) {
    let size = |path: &Path| fs::symlink_metadata(path).map_or(0, |meta| meta.len());
    (size(path), size(&beside(path, "-wal")))
}

fn others(mode: u32, group: u32, other: u32) -> &'static str {
    match (mode & group != 0, mode & other != 0) {
        (true, true) => "its group and everyone",
        (true, false) => "its group",
        _ => "everyone",
    }
}

/// `None` if nothing exists; an error for anything but a regular file.
fn stat_store(path: &Path, failed: fn(&Path, io::Error) -> Error) -> Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => Err(symlinked(path)),
        Ok(meta) if !meta.is_file() => Err(not_a_file(path)),
        Ok(meta) => Ok(Some(meta)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, error)),
    }
}

fn exists(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unreadable(path, error)),
    }
}

fn make_directories(store: &Path) -> Result<()> {
    let missing: Vec<&Path> = parent(store).ancestors().map(or_here).take_while(|dir| !dir.exists()).collect();
    for dir in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(dir) {
            Ok(()) => sync_directory(parent(dir)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => {}
            // A sandbox must allow the store's directory, not the first missing one above it.
            Err(error) if is_denied(&error) => return Err(denied(store, error)),
            Err(error) => return Err(unwritable(dir, error)),
        }
    }
    Ok(())
}

/// Makes a new name in `dir` survive a power cut, as far as the file system can: SQLite syncs the directory of the
/// database but none above it. A directory that may be entered but not read, or that cannot be synced, is no reason to
/// refuse the store.
#[expect(clippy::disallowed_methods, reason = "a directory, never the database")]
fn sync_directory(dir: &Path) {
    let _ = fs::File::open(dir).and_then(|dir| dir.sync_all());
}

fn appearing() -> MutexGuard<'static, ()> {
    // The mutex guards no data, so a panic of another holder leaves nothing inconsistent.
    APPEARING.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.into();
    name.push(suffix);
    name.into()
}

fn parent(path: &Path) -> &Path {
    or_here(path.parent().unwrap_or(path))
}

/// The parent of a bare file name is the empty path, which no system call accepts.
fn or_here(dir: &Path) -> &Path {
    if dir.as_os_str().is_empty() { Path::new(".") } else { dir }
}

/// The refusal of a symbolic link in place of a store file.
pub(crate) fn symlinked(path: &Path) -> Error {
    Error::new(
        Code::SymlinkedStore,
        format!("{} is a symbolic link, and a store with two names would have two sets of locks", path.display()),
    )
    .at(Stage::Open)
    .entity(path.display().to_string())
    .hint("Name the file that the link points to as the store, or move that file here.")
}

/// The refusal of a directory, pipe, socket or device in place of a store file.
pub(crate) fn not_a_file(path: &Path) -> Error {
    Error::new(Code::NotAFile, format!("{} is not a regular file", path.display()))
        .at(Stage::Open)
        .entity(path.display().to_string())
        .hint("Move it away or name another place for the store.")
}

/// Classifies a failure to create a store file or to open it for writing.
pub(crate) fn unwritable(path: &Path, error: io::Error) -> Error {
    let dir = parent(path);
    if is_denied(&error) {
        return denied(path, error);
    }
    let (code, message, hint) = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (
            Code::DiskFull,
            format!("no space left for {} in {}: {error}", path.display(), dir.display()),
            "Free some space there, or name a store on another disk.".to_owned(),
        ),
        ErrorKind::NotADirectory => (
            Code::NotADirectory,
            format!("{} cannot be created: something above it is not a directory", path.display()),
            "Name another place for the store.".to_owned(),
        ),
        ErrorKind::NotFound => (
            Code::NoDirectory,
            format!("{} cannot be created: {} does not exist", path.display(), dir.display()),
            "Something removed the directory, or a symbolic link above it leads nowhere.".to_owned(),
        ),
        _ => (
            Code::IoFailure,
            format!("{} cannot be created or opened: {error}", path.display()),
            format!("Check {}, or name another place for the store.", dir.display()),
        ),
    };
    Error::new(code, message).at(Stage::Open).entity(path.display().to_string()).hint(hint).cause(error)
}

fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// The error for a store that SQLite cannot write. SQLite does not give the reason, so the system is asked.
pub(crate) fn read_only(path: &Path) -> Error {
    let ask = |path: &Path, access| rustix::fs::access(path, access).err();
    let errno = ask(path, Access::WRITE_OK).or_else(|| ask(parent(path), Access::WRITE_OK | Access::EXEC_OK));
    // `access` does not reflect path rules of a sandbox. They fail with EACCES.
    denied(path, errno.unwrap_or(rustix::io::Errno::ACCESS).into())
}

/// The refusal of a write that a sandbox or the permissions forbid.
fn denied(path: &Path, error: io::Error) -> Error {
    let dir = parent(path).display().to_string();
    let sandboxed = is_sandboxed(path, &error);
    let message = if sandboxed {
        format!("{} cannot be written ({error}), probably because of a sandbox or a read-only mount", path.display())
    } else {
        format!("{} cannot be written ({error}): permissions are missing", path.display())
    };
    let hint = if sandboxed {
        Advice::from(
            "Nothing was changed, and queries still answer. Use the MCP tools of Tenure, which run outside the \
             sandbox; or let a person run ",
        )
        .action(Action::Setup { tool: None })
        .text(format!(" outside it, which allows writing {dir}."))
    } else {
        format!("Nothing was changed. Check the owner and the permissions of {dir} and of the files in it.").into()
    };
    Error::new(Code::NotWritable, message)
        .at(Stage::Open)
        .entity(path.display().to_string())
        .hint(hint)
        .detail("sandbox", sandboxed)
        .with(&Directory(dir))
        .cause(error)
}

/// Whether something other than permissions forbids a write. Read-only mounts and blocked system calls fail with EROFS
/// and EPERM. Path rules fail with EACCES, like missing permissions, although the permissions would allow the write.
fn is_sandboxed(path: &Path, error: &io::Error) -> bool {
    if error.raw_os_error() != Some(rustix::io::Errno::ACCESS.raw_os_error()) {
        return true;
    }
    let nearest = path.ancestors().skip(1).map(or_here).find(|dir| dir.exists());
    let may = |path: &Path| rustix::fs::access(path, Access::WRITE_OK).is_ok();
    nearest.is_some_and(may) && (!path.exists() || may(path))
}

fn unreadable(path: &Path, error: io::Error) -> Error {
    Error::new(Code::Unreadable, format!("{} cannot be read: {error}", path.display()))
        .at(Stage::Open)
        .entity(path.display().to_string())
        .hint(
            "Check the owner of the store, the permissions of every directory above it, and whether a sandbox \
               hides it.",
        )
        .cause(error)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "no test of this file connects to a database")]
mod tests;
