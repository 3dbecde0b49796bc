//! Reading files that a repository, or anybody else, has put there: regular ones, and not more than fits.
//!
//! A link to a device without an end, a pipe that nobody writes to or a file of many gigabytes must cost a call no more
//! than an error that names it.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Largest file of settings that is read: of Tenure or of git.
pub(crate) const SETTINGS_MAX: u64 = 1024 * 1024;

/// Whether a symbolic link in place of the file is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    Followed,
    Refused,
}

/// The whole content of a regular file of at most `most` bytes. Anything else is an error that says what it is.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_with(path, most, Links::Followed)
}

/// The same as text.
pub(crate) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// The same, with a word on symbolic links. Opening waits for nobody: a pipe would.
pub(crate) fn read_with(path: &Path, most: u64, links: Links) -> io::Result<Vec<u8>> {
    let (file, size) = open(path, links)?;
    let too_large = || io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {most} bytes"));
    if size > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(most + 1).read_to_end(&mut bytes)?;
    // It may have grown since.
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// A regular file and its size.
#[expect(clippy::disallowed_methods, reason = "the one place that opens such files; callers never name a database")]
pub(super) fn open(path: &Path, links: Links) -> io::Result<(File, u64)> {
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if links == Links::Refused {
        flags |= OFlags::NOFOLLOW;
    }
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !meta.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok((file, meta.len()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::fixture::Area;
    use super::*;

    #[test]
    fn only_regular_files_up_to_a_size_are_read() {
        let area = Area::new();
        let at = |name: &str| area.path(name);
        fs::write(at("small"), "text").unwrap();
        symlink("small", at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).unwrap();
        File::create(at("sparse")).unwrap().set_len(1 << 30).unwrap();
        fs::create_dir(at("dir")).unwrap();
        assert_eq!(read(&at("small"), 4).unwrap(), b"text");
        assert_eq!(read_text(&at("link"), 4).unwrap(), "text");
        let kind = |name: &str, most| read(&at(name), most).unwrap_err().kind();
        assert_eq!(kind("small", 3), ErrorKind::FileTooLarge);
        assert_eq!(kind("sparse", SETTINGS_MAX), ErrorKind::FileTooLarge);
        assert_eq!(kind("endless", SETTINGS_MAX), ErrorKind::InvalidInput);
        assert_eq!(kind("pipe", SETTINGS_MAX), ErrorKind::InvalidInput);
        assert_eq!(kind("dir", SETTINGS_MAX), ErrorKind::IsADirectory);
        assert_eq!(kind("none", SETTINGS_MAX), ErrorKind::NotFound);
        let refused = read_with(&at("link"), 4, Links::Refused).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::LOOP.raw_os_error()));
    }
}
