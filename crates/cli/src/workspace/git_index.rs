//! Which files git tracks, from its index. No process is started. Only asked for files that a pattern ignores.

use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::file::{self, Links};

/// Largest index that is read: a million files.
const LARGEST: u64 = 128 * 1024 * 1024;

/// How much of an index is read at first: the names that begin with a dot are at its beginning.
const HEAD: u64 = 64 * 1024;

/// Whether a file is in the index, or anything below it. What cannot be read has everything in it: a file too many is
/// guarded, and none too few. `hash` is how long the names of objects are.
pub(crate) fn has(index: &Path, path: &[u8], hash: usize, folds_case: bool) -> bool {
    match read(index) {
        // Nothing was ever added.
        Err(ErrorKind::NotFound) => false,
        Err(_) => true,
        Ok(bytes) => find(&bytes, hash, |entry| is_of(entry.name, path, folds_case)).unwrap_or(true),
    }
}

/// Whether a path is that of a submodule: an entry that is the commit of another repository.
pub(crate) fn has_gitlink(index: &Path, path: &[u8], hash: usize) -> bool {
    read(index).is_ok_and(|bytes| find(&bytes, hash, |entry| entry.mode == GITLINK && entry.name == path) == Some(true))
}

/// An entry of an index.
pub(super) struct IndexEntry<'a> {
    pub(super) name: &'a [u8],
    /// The type and the permissions of the file.
    pub(super) mode: u32,
    /// Whether git was told not to look at the file, or that the working tree does not have it (sparse checkouts).
    pub(super) is_unwatched: bool,
    /// Whether it is one side of a conflict, or only meant to be added.
    pub(super) is_unfinished: bool,
    stat: &'a [u8],
}

/// The times, the number and the size of a file, as git recorded them when the index had its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordedStat {
    /// Seconds and nanoseconds.
    pub(super) changed: (u32, u32),
    pub(super) modified: (u32, u32),
    pub(super) inode: u32,
    pub(super) size: u32,
}

impl IndexEntry<'_> {
    pub(super) fn stat(&self) -> RecordedStat {
        let number = |at: usize| self.stat[at..at + 4].iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        RecordedStat {
            changed: (number(0), number(4)),
            modified: (number(8), number(12)),
            inode: number(20),
            size: number(36),
        }
    }
}

/// Shows every entry of the index, and returns the tree that the whole index is, in hexadecimal digits. Nothing where the
/// index cannot be read in full, or is not known to be one tree: something was added since the last commit.
pub(super) fn entries(bytes: &[u8], hash: usize, mut each: impl FnMut(&IndexEntry<'_>)) -> Option<String> {
    let at = scan(bytes, hash, |entry| {
        each(entry);
        false
    })?;
    // An extension in lower case must be understood: a part of the index is in another file, or is left out.
    let mut tree = None;
    extensions(bytes, at, hash, |name, content| {
        if name == b"TREE" {
            tree = Some(content);
        }
        !name[0].is_ascii_lowercase()
    })?;
    // The first entry is the root: an empty name, how many entries it has, how many trees are below it, its object.
    let root = tree?.strip_prefix(b"\0")?;
    let line = root.iter().position(|byte| *byte == b'\n')?;
    let is_valid = root.first()?.is_ascii_digit();
    let object = root.get(line + 1..line + 1 + hash)?;
    is_valid.then(|| hex(object))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What git writes for a submodule where the mode of a file would be.
pub(super) const GITLINK: u32 = 0o160_000;

/// The first entry of an index that is meant, by its name; an error where the index cannot be read. Entries are sorted:
/// none after `last` can be meant, and no more is read than up to there.
pub(crate) fn first(
    index: &Path,
    hash: usize,
    last: Option<&[u8]>,
    is_meant: impl Fn(&[u8]) -> bool,
) -> io::Result<Option<Vec<u8>>> {
    let (mut file, size) = match file::open(index, Links::Followed) {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if size > LARGEST {
        return Err(ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    for most in [HEAD, LARGEST + 1] {
        (&mut file).take(most - bytes.len() as u64).read_to_end(&mut bytes)?;
        let mut found = None;
        let scanned = scan(&bytes, hash, |entry| {
            if is_meant(entry.name) {
                found = Some(entry.name.to_vec());
            }
            found.is_some() || last.is_some_and(|last| entry.name > last)
        });
        if found.is_some() || scanned.is_some() {
            return Ok(found);
        }
        if bytes.len() as u64 >= size {
            break;
        }
    }
    Err(io::Error::new(ErrorKind::InvalidData, "this program cannot read the format of the index"))
}

/// The file that has most of the entries of an index which is split in two, if it is.
pub(crate) fn shared(index: &Path, hash: usize) -> io::Result<Option<PathBuf>> {
    let Some(dir) = index.parent() else { return Ok(None) };
    // Looking into the directory costs less than reading the index to its end.
    let mut names = std::fs::read_dir(dir)?.flatten().map(|entry| entry.file_name());
    if !names.any(|name| name.as_bytes().starts_with(b"sharedindex.")) {
        return Ok(None);
    }
    let bytes = match file::read(index, LARGEST) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let unreadable = || io::Error::new(ErrorKind::InvalidData, "this program cannot read the format of the index");
    let at = scan(&bytes, hash, |_| false).ok_or_else(unreadable)?;
    let link = extension(&bytes, at, hash, b"link").ok_or_else(unreadable)?;
    Ok(link.and_then(|link| link.get(..hash)).map(|name| dir.join(format!("sharedindex.{}", hex(name)))))
}

fn read(index: &Path) -> Result<Vec<u8>, ErrorKind> {
    file::read(index, LARGEST).map_err(|error| error.kind())
}

/// Whether an entry of the index is meant; nothing where the index cannot be read.
fn find(bytes: &[u8], hash: usize, is_meant: impl Fn(&IndexEntry<'_>) -> bool) -> Option<bool> {
    let mut found = false;
    let at = scan(bytes, hash, |entry| {
        found |= is_meant(entry);
        false
    })?;
    // What follows may say that most of the index is in another file.
    match extension(bytes, at, hash, b"link")? {
        Some(_) if !found => None,
        _ => Some(found),
    }
}

/// Shows every entry of the index, in the order of their names, until one is enough; where the extensions begin, or where
/// it was enough. Nothing where the index cannot be read.
fn scan(bytes: &[u8], hash: usize, mut is_enough: impl FnMut(&IndexEntry<'_>) -> bool) -> Option<usize> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(4)?, number(8)?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut name) = (12, Vec::new());
    for _ in 0..count {
        let begin = at;
        // Times, numbers and the name of the object, then flags, of which one says that there are more.
        let flags = begin + 40 + hash;
        let [high, _] = *bytes.get(flags..flags + 2)? else { return None };
        let more = if version > 2 && high & 0x40 != 0 { Some(*bytes.get(flags + 2)?) } else { None };
        at = flags + if more.is_some() { 4 } else { 2 };
        if version == 4 {
            let (cut, after) = varint(bytes, at)?;
            name.truncate(name.len().checked_sub(cut)?);
            at = after;
        } else {
            name.clear();
        }
        let end = at + bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&bytes[at..end]);
        // Filled up to eight bytes, at least one.
        at = if version == 4 { end + 1 } else { begin + (end - begin + 8) / 8 * 8 };
        // Assumed to be unchanged; not in the working tree; only meant to be added; a side of a conflict.
        let (unwatched, sparse, intended, side) = (0x80, 0x40, 0x20, 0x30);
        let entry = IndexEntry {
            name: &name,
            mode: number(begin + 24)?,
            is_unwatched: high & unwatched != 0 || more.is_some_and(|more| more & sparse != 0),
            is_unfinished: high & side != 0 || more.is_some_and(|more| more & intended != 0),
            stat: bytes.get(begin..begin + 40)?,
        };
        if is_enough(&entry) {
            return Some(at);
        }
    }
    (at <= bytes.len().checked_sub(hash)?).then_some(at)
}

/// The content of an extension, if the index has it; nothing where the index cannot be read.
fn extension<'a>(bytes: &'a [u8], at: usize, hash: usize, wanted: &[u8; 4]) -> Option<Option<&'a [u8]>> {
    let mut found = None;
    extensions(bytes, at, hash, |name, content| {
        found = found.or((name == wanted).then_some(content));
        true
    })?;
    Some(found)
}

/// Shows the name and the content of every extension while `goes_on`; nothing where the index cannot be read to its end.
fn extensions<'a>(
    bytes: &'a [u8],
    mut at: usize,
    hash: usize,
    mut goes_on: impl FnMut(&'a [u8], &'a [u8]) -> bool,
) -> Option<()> {
    let last = bytes.len().checked_sub(hash)?;
    while at + 8 <= last {
        let size = u32::from_be_bytes(bytes.get(at + 4..at + 8)?.try_into().ok()?);
        let end = at.checked_add(8)?.checked_add(usize::try_from(size).ok()?)?;
        if !goes_on(&bytes[at..at + 4], bytes.get(at + 8..end)?) {
            return None;
        }
        at = end;
    }
    (at <= last).then_some(())
}

/// Whether a name of the index is a path, is below it, or is a directory of which git keeps no files apart that has it.
fn is_of(name: &[u8], path: &[u8], folds_case: bool) -> bool {
    let same = |one: &[u8], two: &[u8]| if folds_case { one.eq_ignore_ascii_case(two) } else { one == two };
    if name.len() > path.len() {
        return name[path.len()] == b'/' && same(&name[..path.len()], path);
    }
    let is_dir = name.ends_with(b"/");
    same(name, &path[..name.len()]) && (name.len() == path.len() || is_dir)
}

/// A number as the fourth version writes it: seven bits a byte, the highest first, each beginning one further.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::super::fixture::{Area, git};
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the index of a repository")]
    #[test]
    fn every_version_of_an_index_is_read() {
        let area = Area::new();
        let repo = area.repo("repo");
        let long = format!("{}/x", ["d"; 200].join("/"));
        for file in ["a", "sub/b.log", "sub/bc", "sub/deep/x", "z z", &long] {
            fs::create_dir_all(repo.join(file).parent().unwrap()).unwrap();
            fs::write(repo.join(file), "").unwrap();
        }
        fs::write(repo.join("later"), "").unwrap();
        git(&repo, &["add", "a", "sub", "z z", "d"]);
        // A file that is only meant to be added makes an entry longer.
        git(&repo, &["add", "-N", "later"]);
        let index = repo.join(".git/index");
        for version in ["2", "3", "4"] {
            git(&repo, &["update-index", "--index-version", version]);
            let has = |path: &str| has(&index, path.as_bytes(), 20, false);
            for file in ["a", "sub/b.log", "sub/bc", "sub/deep", "sub", "z z", "later", &long] {
                assert!(has(file), "{version}: {file}");
            }
            for file in ["b", "su", "sub/b", "sub/bcd", "A", "sub/deep/x/y", "z"] {
                assert!(!has(file), "{version}: {file}");
            }
        }
        assert!(has(&index, b"SUB/B.LOG", 20, true));
        assert!(!has_gitlink(&index, b"a", 20) && !has_gitlink(&index, b"sub", 20));
        let bytes = fs::read(&index).unwrap();
        assert_eq!(find(&bytes[..bytes.len() / 2], 20, |_| false), None);
        git(&repo, &["update-index", "--split-index"]);
        assert!(has(&index, b"nothing", 20, false), "what is in another file is not known");
        fs::write(repo.join("unsplit"), "").unwrap();
        git(&repo, &["add", "unsplit"]);
        let shared = shared(&index, 20).unwrap().expect("a shared index");
        let named = |index: &Path, path: &[u8]| first(index, 20, None, |name| name == path).unwrap().is_some();
        assert!(named(&shared, b"a") && named(&index, b"unsplit") && !named(&shared, b"unsplit"));
        assert!(!has(&repo.join("none"), b"a", 20, false));
    }

    #[test]
    fn a_large_index_is_read_as_far_as_a_name_can_be() {
        let area = Area::new();
        let repo = area.repo("repo");
        fs::create_dir(repo.join("many")).unwrap();
        for number in 0..2_000 {
            fs::write(repo.join(format!("many/{number:04}-{}", "x".repeat(60))), "").unwrap();
        }
        fs::create_dir(repo.join(".tenure")).unwrap();
        fs::write(repo.join(".tenure/tenure.db-wal"), "").unwrap();
        git(&repo, &["add", "-f", "many"]);
        let index = repo.join(".git/index");
        assert!(fs::metadata(&index).unwrap().len() > 2 * HEAD);
        let tracked =
            |last: Option<&[u8]>| first(&index, 20, last, |name| name.starts_with(b".tenure/tenure.db")).unwrap();
        assert_eq!(tracked(Some(b".tenure/tenure.db~")), None);
        git(&repo, &["add", "-f", ".tenure"]);
        for version in ["2", "4"] {
            git(&repo, &["update-index", "--index-version", version]);
            for last in [Some(b".tenure/tenure.db~".as_slice()), None] {
                assert_eq!(tracked(last).as_deref(), Some(b".tenure/tenure.db-wal".as_slice()));
            }
            let late = |wanted: &[u8]| first(&index, 20, Some(wanted), |name| name == wanted).unwrap();
            assert!(late(format!("many/1999-{}", "x".repeat(60)).as_bytes()).is_some());
            assert!(late(b"many/1999").is_none());
        }
        fs::write(&index, "DIRC").unwrap();
        assert!(first(&index, 20, None, |_| false).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(version in 2u8..5, body in prop::collection::vec(any::<u8>(), 0..400)) {
            let bytes = [b"DIRC\0\0\0".as_slice(), &[version, 0, 0, 0, 3], &body].concat();
            find(&bytes, 20, |entry| is_of(entry.name, b"a", false));
            find(&body, 32, |entry| is_of(entry.name, b"a", true));
            entries(&bytes, 20, |entry| _ = entry.stat());
        }
    }
}
