//! Files that `completions --install` writes below the user's data directory. Each ends in a mark with the checksum of
//! everything before it. A file whose mark fits was written by this program and is unchanged since, so a later version may
//! replace or remove it without a record of its own; any other file is foreign and stays as it is.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tenure_store::{AtomicFile, Existing};

use crate::workspace::file::{Links, read_with};

const MARK: &str = " tenure completions --install, sha256 ";
/// How a line of a shell script or of a manual page becomes a comment.
const COMMENTS: [&str; 2] = ["#", ".\\\""];
/// Largest file that is compared; the largest script has a few hundred KiB.
const MOST: u64 = 16 * 1024 * 1024;

/// A file of the user's data directory and what it should contain.
#[derive(Debug)]
pub(crate) struct UserFile {
    pub(crate) path: PathBuf,
    content: String,
}

/// What is at the path of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundFile {
    Nothing,
    Current,
    /// Written by another version.
    Outdated,
    Foreign,
}

impl UserFile {
    /// A shell script.
    pub(crate) fn script(path: PathBuf, text: &str) -> UserFile {
        UserFile { path, content: marked(text, COMMENTS[0]) }
    }

    /// A manual page.
    pub(crate) fn page(path: PathBuf, text: &str) -> UserFile {
        UserFile { path, content: marked(text, COMMENTS[1]) }
    }

    pub(crate) fn found(&self) -> io::Result<FoundFile> {
        match read(&self.path) {
            Ok(bytes) if bytes == self.content.as_bytes() => Ok(FoundFile::Current),
            Ok(bytes) if is_marked(&bytes) => Ok(FoundFile::Outdated),
            Ok(_) => Ok(FoundFile::Foreign),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(FoundFile::Nothing),
            Err(_) if fs::symlink_metadata(&self.path).is_ok() => Ok(FoundFile::Foreign),
            Err(error) => Err(error),
        }
    }

    /// Writes the file in the place of what was found there.
    pub(crate) fn write(&self, found: FoundFile) -> io::Result<()> {
        if let Some(dir) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        let existing = if found == FoundFile::Nothing { Existing::Keep } else { Existing::Replace };
        let file = AtomicFile::holding(AtomicFile::create(&self.path)?, self.content.as_bytes(), 0o644)?;
        file.place(existing)
    }
}

/// Whether this program, in any version, wrote the file and it is unchanged since.
pub(crate) fn is_own(path: &Path) -> bool {
    read(path).is_ok_and(|bytes| is_marked(&bytes))
}

/// Removes a file, and the directories above it that are empty then, up to `top`, which stays.
pub(crate) fn remove(path: &Path, top: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    for dir in path.ancestors().skip(1).take_while(|dir| *dir != top && dir.starts_with(top)) {
        if fs::remove_dir(dir).is_err() {
            break;
        }
    }
    Ok(())
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_with(path, MOST, Links::Refused)
}

fn marked(text: &str, comment: &str) -> String {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{text}{end}");
    let sum = checksum(text.as_bytes());
    format!("{text}{comment}{MARK}{sum}\n")
}

fn is_marked(bytes: &[u8]) -> bool {
    let Some(lines) = bytes.strip_suffix(b"\n") else { return false };
    let (text, last) = lines.split_at(lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
    COMMENTS.iter().any(|comment| last == format!("{comment}{MARK}{}", checksum(text)).as_bytes())
}

fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_own_until_a_byte_of_it_changes() {
        let dir = tempfile::tempdir().unwrap();
        let file = |text| UserFile::script(dir.path().join("a/b/script"), text);
        assert_eq!(file("one").found().unwrap(), FoundFile::Nothing);
        file("one").write(FoundFile::Nothing).unwrap();
        assert_eq!(file("one").found().unwrap(), FoundFile::Current);
        assert_eq!(file("two").found().unwrap(), FoundFile::Outdated);
        file("two").write(FoundFile::Outdated).unwrap();
        let path = file("two").path;
        assert!(is_own(&path));
        let text = String::from_utf8(read(&path).unwrap()).unwrap();
        for changed in
            [text.replace("two", "own"), format!("{text}# more\n"), text.trim_end().to_owned(), String::new()]
        {
            fs::write(&path, changed).unwrap();
            assert_eq!((file("two").found().unwrap(), is_own(&path)), (FoundFile::Foreign, false));
        }
    }

    #[test]
    fn a_link_is_foreign_wherever_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        let own = UserFile::page(dir.path().join("own.1"), "page");
        own.write(FoundFile::Nothing).unwrap();
        let link = UserFile::page(dir.path().join("link.1"), "page");
        std::os::unix::fs::symlink(&own.path, &link.path).unwrap();
        assert_eq!((link.found().unwrap(), is_own(&link.path)), (FoundFile::Foreign, false));
    }

    #[test]
    fn removing_takes_empty_directories_below_the_top_along() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("home");
        let file = UserFile::script(top.join("a/b/c/script"), "text");
        file.write(FoundFile::Nothing).unwrap();
        fs::write(top.join("a/other"), "").unwrap();
        remove(&file.path, &top).unwrap();
        assert!(top.join("a/other").exists() && !top.join("a/b").exists());
    }
}
