//! What identifies a file: device, inode and birth time, read without the other times.
//!
//! Every write checks the database and its log, so the check must not make the write dearer. Since Linux 6.13, a file
//! whose modification time was read gets a new, exact time at its next write, and the following `fsync` has to write the
//! inode too. The call therefore names the fields that it needs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The identity of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStat {
    pub(super) device: u64,
    pub(super) inode: u64,
    /// The birth time in nanoseconds, or 0 if the file system has none.
    pub(super) born: i64,
}

/// The identity of the file at `path`, if it exists. A symbolic link is not followed.
pub(super) fn stat(path: &Path) -> Option<FileStat> {
    by_fields(path).or_else(|| by_metadata(path))
}

#[cfg(target_os = "linux")]
fn by_fields(path: &Path) -> Option<FileStat> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
    let has_birth_time = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
    let nanos = || found.stx_btime.tv_sec.checked_mul(1_000_000_000)?.checked_add(found.stx_btime.tv_nsec.into());
    Some(FileStat {
        device: makedev(found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
        born: if has_birth_time { nanos().unwrap_or(0) } else { 0 },
    })
}

#[cfg(not(target_os = "linux"))]
fn by_fields(_path: &Path) -> Option<FileStat> {
    None
}

/// For systems without `statx`, and kernels or sandboxes that refuse it.
fn by_metadata(path: &Path) -> Option<FileStat> {
    let meta = fs::symlink_metadata(path).ok()?;
    let born = meta.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    Some(FileStat {
        device: meta.dev(),
        inode: meta.ino(),
        born: born.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0),
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    #[test]
    fn both_ways_find_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.db");
        assert_eq!(stat(&path), None);
        fs::write(&path, "text").unwrap();
        assert_eq!(by_fields(&path), by_metadata(&path));
        std::os::unix::fs::symlink(&path, dir.path().join("link")).unwrap();
        let link = dir.path().join("link");
        assert_eq!(by_fields(&link), by_metadata(&link));
        assert_ne!(stat(&link), stat(&path));
    }

    /// Two files written one after the other get the same coarse time, unless the times of the second were read. A tick
    /// of the clock between the two writes makes a difference too, so one equal pair is enough.
    #[test]
    fn a_check_does_not_make_the_next_write_update_the_times() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("first"), dir.path().join("second"));
        let time = |path: &Path| fs::metadata(path).map(|meta| (meta.mtime(), meta.mtime_nsec())).unwrap();
        let is_pair_equal = || {
            let (mut one, mut other) = (File::create(&first).unwrap(), File::create(&second).unwrap());
            other.write_all(b"x").unwrap();
            stat(&second).unwrap();
            one.write_all(b"x").unwrap();
            other.write_all(b"x").unwrap();
            time(&first) == time(&second)
        };
        assert!((0..1_000).any(|_| is_pair_equal()));
    }
}
