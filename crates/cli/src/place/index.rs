//! Which files git tracks, from its index. No process is started. Only asked for files that a pattern ignores.

use std::io::ErrorKind;
use std::path::Path;

/// Largest index that is read: a million files.
const LARGEST: u64 = 128 * 1024 * 1024;

/// Whether a file is in the index, or anything below it. What cannot be read has everything in it: a file too many is
/// guarded, and none too few. `hash` is how long the names of objects are.
pub(crate) fn has(index: &Path, path: &[u8], hash: usize, folds_case: bool) -> bool {
    match read(index) {
        // Nothing was ever added.
        Err(ErrorKind::NotFound) => false,
        Err(_) => true,
        Ok(bytes) => find(&bytes, hash, |name, _| is_of(name, path, folds_case)).unwrap_or(true),
    }
}

/// Whether a path is that of a submodule: an entry that is the commit of another repository.
pub(crate) fn has_gitlink(index: &Path, path: &[u8], hash: usize) -> bool {
    read(index).is_ok_and(|bytes| find(&bytes, hash, |name, mode| mode == GITLINK && name == path) == Some(true))
}

/// What git writes for a submodule where the mode of a file would be.
const GITLINK: u32 = 0o160_000;

#[expect(clippy::disallowed_methods, reason = "git's index, never a database")]
fn read(index: &Path) -> Result<Vec<u8>, ErrorKind> {
    let meta = std::fs::metadata(index).map_err(|error| error.kind())?;
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(ErrorKind::FileTooLarge);
    }
    Ok(std::fs::read(index).unwrap_or_default())
}

/// Whether an entry of the index is meant, by its name and its mode; nothing where the index cannot be read.
fn find(bytes: &[u8], hash: usize, is_meant: impl Fn(&[u8], u32) -> bool) -> Option<bool> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(4)?, number(8)?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut name) = (12, Vec::new());
    let mut found = false;
    for _ in 0..count {
        let begin = at;
        // Times, numbers and the name of the object, then flags, of which one says that there are more.
        let flags = begin + 40 + hash;
        let is_extended = version > 2 && bytes.get(flags)? & 0x40 != 0;
        at = flags + if is_extended { 4 } else { 2 };
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
        found |= is_meant(&name, number(begin + 24)?);
    }
    // What follows may say that most of the index is in another file.
    let last = bytes.len().checked_sub(hash)?;
    while !found && at + 8 <= last {
        if &bytes[at..at + 4] == b"link" {
            return None;
        }
        at = at.checked_add(8)?.checked_add(usize::try_from(number(at + 4)?).ok()?)?;
    }
    (at <= last || found).then_some(found)
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
        assert_eq!(find(&bytes[..bytes.len() / 2], 20, |_, _| false), None);
        git(&repo, &["update-index", "--split-index"]);
        assert!(has(&index, b"nothing", 20, false), "what is in another file is not known");
        assert!(!has(&repo.join("none"), b"a", 20, false));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(version in 2u8..5, body in prop::collection::vec(any::<u8>(), 0..400)) {
            let bytes = [b"DIRC\0\0\0".as_slice(), &[version, 0, 0, 0, 3], &body].concat();
            find(&bytes, 20, |name, _| is_of(name, b"a", false));
            find(&body, 32, |name, _| is_of(name, b"a", true));
        }
    }
}
