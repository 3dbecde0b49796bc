use std::os::unix::fs::symlink;

use tenure_core::Kind;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn network_file_systems_are_known_by_number() {
    for (number, name) in [
        (0x6969, "NFS"),
        (0x517B, "SMB"),
        (0xFF53_4D42, "CIFS"),
        (0xFE53_4D42, "SMB2"),
        (0x0102_1997, "9p"),
        (0x6573_5546, "FUSE or virtiofs"),
        (0x5346_414F, "AFS"),
        (0x00C3_6400, "Ceph"),
        (0x0BD0_0BD0, "Lustre"),
        (0x4750_4653, "GPFS"),
        (0x7461_636F, "OCFS2"),
        (0x0116_1970, "GFS2"),
        (0x564C, "NCP"),
        (0x7375_7245, "Coda"),
    ] {
        assert_eq!(network_name(number), Some(name));
    }
    assert_eq!(network_name(i64::from(0xFF53_4D42_u32.cast_signed())), Some("CIFS"));
    // ext, xfs, btrfs, tmpfs, overlayfs, zfs, f2fs, bcachefs
    for local in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1, 0xF2F5_2010, 0xCA45_1A4E] {
        assert_eq!(network_name(local), None, "{local:x}");
    }
}

#[test]
fn a_directory_that_is_not_there_yet_is_judged_by_its_parent() {
    let dir = tempfile::tempdir().unwrap();
    let here = refuse_network(dir.path(), false).map_err(|error| error.code().as_str());
    let below = refuse_network(&dir.path().join("a/b/c"), false).map_err(|error| error.code().as_str());
    assert_eq!(here, below);
    refuse_network(&dir.path().join("a"), true).unwrap();
    // /proc exists on every Linux and is not a network file system.
    #[cfg(target_os = "linux")]
    refuse_network(Path::new("/proc/nothing/here"), false).unwrap();
}

#[test]
fn prepare_makes_private_directories_and_a_private_file() {
    let dir = tempfile::tempdir().unwrap();
    chmod(dir.path(), 0o755);
    let path = dir.path().join("a/b/t.db");
    assert_eq!(prepare(&path).unwrap(), PreparedFile::Created);
    assert_eq!((mode(&path), mode(path.parent().unwrap()), mode(&dir.path().join("a"))), (0o600, 0o700, 0o700));
    assert_eq!(mode(dir.path()), 0o755);
    chmod(&path, 0o640);
    fs::write(&path, "kept").unwrap();
    assert_eq!(prepare(&path).unwrap(), PreparedFile::Existing);
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("kept", 0o640));
}

#[test]
fn exactly_one_of_many_creates() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x/y/t.db");
    let created = std::thread::scope(|scope| {
        let all: Vec<_> = (0..16).map(|_| scope.spawn(|| prepare(&path).unwrap())).collect();
        all.into_iter().map(|one| one.join().unwrap()).filter(|one| *one == PreparedFile::Created).count()
    });
    assert_eq!(created, 1);
}

#[test]
fn links_and_directories_are_refused_by_both() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real.db");
    prepare(&real).unwrap();
    let link = dir.path().join("link.db");
    symlink(&real, &link).unwrap();
    let dangling = dir.path().join("dangling.db");
    symlink(dir.path().join("nowhere"), &dangling).unwrap();
    for path in [&link, &dangling] {
        for error in [prepare(path).unwrap_err(), look(path).unwrap_err()] {
            assert_eq!((error.kind(), error.code().as_str()), (Kind::Storage, "symlinked_store"));
        }
    }
    assert!(!dir.path().join("nowhere").exists());
    for error in [prepare(dir.path()).unwrap_err(), look(dir.path()).unwrap_err()] {
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Storage, "not_a_file"));
    }
    // A symbolic link above the store's directory is the user's choice.
    symlink(dir.path(), dir.path().join("d")).unwrap();
    assert_eq!(prepare(&dir.path().join("d/real.db")).unwrap(), PreparedFile::Existing);
}

#[test]
fn a_file_in_the_place_of_a_directory_is_storage() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let path = dir.path().join("file/sub/t.db");
    let error = prepare(&path).unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (Kind::Storage, "not_a_directory"));
    assert_eq!(look(&path).unwrap_err().kind(), Kind::Storage);
    refuse_network(path.parent().unwrap(), false).ok();
}

#[test]
fn look_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(look(&dir.path().join("no/such/t.db")).unwrap(), FilePresence::Absent);
    assert_eq!(look(&dir.path().join("t.db")).unwrap(), FilePresence::Absent);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    let path = dir.path().join("t.db");
    fs::write(&path, "1234").unwrap();
    fs::write(dir.path().join("t.db-wal"), "").unwrap();
    let before = look(&path).unwrap();
    let FilePresence::Present { writable_dir: true, wal: true, shm: false, size: 4, mtime_ns } = before else {
        panic!("{before:?}");
    };
    assert!(mtime_ns > 1_000_000_000_000_000_000);
    assert_eq!(look(&path).unwrap(), before);
}

#[test]
fn what_may_not_be_written_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sub/t.db");
    prepare(&path).unwrap();
    chmod(path.parent().unwrap(), 0o500);
    // Root may write anyway, and then nothing is refused.
    if !rustix::process::geteuid().is_root() {
        let error = prepare(&dir.path().join("sub/other.db")).unwrap_err();
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Storage, "not_writable"));
        let FilePresence::Present { writable_dir, .. } = look(&path).unwrap() else { panic!() };
        assert!(!writable_dir);
        chmod(&path, 0o000);
        assert_eq!(look(&path).unwrap_err().code(), "unreadable");
    }
    chmod(path.parent().unwrap(), 0o700);
}

#[test]
fn errors_of_the_system_become_codes() {
    use rustix::io::Errno;
    let path = Path::new("/somewhere/t.db");
    for (errno, code) in [
        (Errno::ACCESS, "not_writable"),
        (Errno::PERM, "not_writable"),
        (Errno::ROFS, "not_writable"),
        (Errno::NOSPC, "disk_full"),
        (Errno::DQUOT, "disk_full"),
        (Errno::NOTDIR, "not_a_directory"),
        (Errno::NOENT, "no_directory"),
        (Errno::IO, "io_failure"),
    ] {
        let error = unwritable(path, errno.into());
        assert_eq!((error.kind(), error.code().as_str(), error.retryable()), (Kind::Storage, code, false));
        assert!(error.message().contains("/somewhere"), "{error}");
        assert!(error.advice().is_some());
    }
}

#[test]
fn open_permissions_are_remarked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.db");
    prepare(&path).unwrap();
    chmod(dir.path(), 0o700);
    let me = rustix::process::geteuid().as_raw();
    assert_eq!(permissions(&path, me), Vec::<String>::new());
    let remarks = permissions(&path, me + 1);
    assert_eq!(remarks.len(), 1);
    assert!(remarks[0].contains(&format!("t.db belongs to the user {me}, not to you")), "{remarks:?}");
    chmod(&path, 0o640);
    fs::write(dir.path().join("t.db-wal"), "").unwrap();
    chmod(&dir.path().join("t.db-wal"), 0o604);
    chmod(dir.path(), 0o777);
    let remarks = permissions(&path, me);
    assert_eq!(remarks.len(), 3, "{remarks:?}");
    assert!(remarks[0].contains("t.db is open to its group (mode 0640)"), "{remarks:?}");
    assert!(remarks[1].contains("t.db-wal is open to everyone (mode 0604)"), "{remarks:?}");
    assert!(remarks[2].contains("can be written by its group and everyone (mode 0777)"), "{remarks:?}");
    chmod(dir.path(), 0o700);
}

#[test]
fn a_file_system_that_is_not_known_to_keep_a_field_is_not_compared_by_it() {
    let kept = |f_type| (kept_by(f_type).inode, kept_by(f_type).born);
    assert_eq!(kept(0xEF53), (true, true), "ext4");
    assert_eq!(kept(0x5846_5342), (true, true), "XFS");
    assert_eq!(kept(i64::from(0x9123_683E_u32.cast_signed())), (true, true), "Btrfs on a 32-bit system");
    assert_eq!(kept(0x794C_7630), (false, true), "overlayfs");
    for (name, f_type) in [("FAT", 0x4D44), ("exFAT", 0x2011_BAB0), ("aufs", 0x6175_6673), ("FUSE", 0x6573_5546)] {
        assert_eq!(kept(f_type), (false, false), "{name}");
    }
    assert_eq!(kept(0x1234_5678), (false, false), "one that is not known");
}
