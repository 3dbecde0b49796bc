//! The path of the socket of a server beside an embedded store. Client and server derive it from the database file
//! alone.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use tenure_core::name::fnv1a;

/// The longest path of a socket, in bytes: 108 with the NUL on Linux, 104 on macOS.
const PATH_MAX: usize = 103;

/// The socket's path: beside the database, under its name. If that is too long for a socket, it is in the user's
/// runtime directory, under a name derived from the database's path. `None` if there is no database or no such
/// directory.
///
/// The path is canonical, so that a store reached through a symbolic link has one socket.
pub fn socket_path(database: &Path, runtime: Option<&Path>) -> Option<PathBuf> {
    let database = std::fs::canonicalize(database).ok()?;
    let mut name: OsString = database.file_name()?.to_owned();
    name.push("-sock");
    let beside = database.with_file_name(name);
    if fits(&beside) {
        return Some(beside);
    }
    let key = fnv1a(database.as_os_str().as_bytes());
    let inside = runtime?.join("tenure").join(format!("{key:016x}.sock"));
    fits(&inside).then_some(inside)
}

fn fits(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() <= PATH_MAX
}

/// Whether the path is a socket that belongs to this user and that only this user can connect to.
pub fn is_own_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| {
        meta.file_type().is_socket() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 == 0
    })
}

/// Device and inode of a database file, read with stat. The file is never opened.
pub fn file_identity(database: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(database).ok().map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_socket_stands_beside_its_database() {
        let area = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(area.path()).unwrap();
        let database = real.join("tenure.db");
        assert_eq!(socket_path(&database, None), None, "there is no store yet");
        std::fs::write(&database, "").unwrap();
        assert_eq!(socket_path(&database, None), Some(real.join("tenure.db-sock")));
        std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
        assert_eq!(socket_path(&real.join("link/tenure.db"), None), Some(real.join("tenure.db-sock")));
    }

    #[test]
    fn where_a_path_is_too_long_the_socket_is_in_the_runtime_directory() {
        let area = tempfile::tempdir().unwrap();
        let deep = area.path().join("d".repeat(100));
        std::fs::create_dir(&deep).unwrap();
        let [one, other] = ["a.db", "b.db"].map(|name| deep.join(name));
        for database in [&one, &other] {
            std::fs::write(database, "").unwrap();
        }
        assert_eq!(socket_path(&one, None), None);
        let runtime = Path::new("/run/user/1");
        let path = socket_path(&one, Some(runtime)).unwrap();
        assert!(path.starts_with("/run/user/1/tenure") && Some(path) != socket_path(&other, Some(runtime)));
    }

    #[test]
    fn a_socket_of_others_is_none() {
        let area = tempfile::tempdir().unwrap();
        let path = area.path().join("s");
        assert!(!is_own_socket(&path));
        let _listener = UnixListener::bind(&path).unwrap();
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o666);
        assert!(!is_own_socket(&path));
        mode(0o600);
        assert!(is_own_socket(&path));
        std::os::unix::fs::symlink(&path, area.path().join("l")).unwrap();
        assert!(!is_own_socket(&area.path().join("l")));
    }
}
