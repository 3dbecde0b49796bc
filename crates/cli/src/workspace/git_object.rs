//! The tree of a commit, read from git's objects: loose, or whole in a pack. No process is started.
//!
//! Only as much is read as the answer needs. A commit that is stored as the difference to another, or is in an alternate
//! object directory, has no answer: git is asked then.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use super::file::{self, Links};

/// How much of an object is read. The name of the tree is at the beginning of a commit.
const BEGINNING: usize = 4096;
/// How many packs are looked into.
const PACKS: usize = 50;
/// The type of a commit in a pack.
const COMMIT: u8 = 1;

/// The name of the tree of a commit, both in hexadecimal digits.
pub(super) fn tree_of(common: &Path, commit: &str) -> Option<String> {
    let objects = common.join("objects");
    let (dir, rest) = commit.split_at_checked(2)?;
    let text = match file::open(&objects.join(dir).join(rest), Links::Followed) {
        Ok((file, _)) => {
            let text = inflated(&read_at(&file, 0, BEGINNING)?)?;
            let end = text.iter().position(|byte| *byte == 0)?;
            text.starts_with(b"commit ").then(|| text[end + 1..].to_vec())?
        }
        Err(_) => packed(&objects.join("pack"), &bytes_of(commit)?)?,
    };
    let tree = text.strip_prefix(b"tree ")?.get(..commit.len())?;
    tree.iter().all(u8::is_ascii_hexdigit).then(|| String::from_utf8_lossy(tree).into_owned())
}

/// The beginning of a commit in one of the packs.
fn packed(dir: &Path, name: &[u8]) -> Option<Vec<u8>> {
    let indexes = std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    let indexes = indexes.filter(|path| path.extension().is_some_and(|end| end == "idx")).take(PACKS);
    for index in indexes {
        let Some(offset) = offset_in(&index, name) else { continue };
        let (pack, _) = file::open(&index.with_extension("pack"), Links::Followed).ok()?;
        let bytes = read_at(&pack, offset, BEGINNING)?;
        // The type is in the first byte; the size goes on while the highest bit is set.
        let header = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
        return if bytes[0] >> 4 & 7 == COMMIT { inflated(&bytes[header..]) } else { None };
    }
    None
}

/// Where an object is in a pack, by the second version of its index: how many names begin with each byte or a lower one,
/// the sorted names, their checksums, their places.
fn offset_in(index: &Path, name: &[u8]) -> Option<u64> {
    let (file, _) = file::open(index, Links::Followed).ok()?;
    let number = |at: u64| Some(u32::from_be_bytes(read_exactly(&file, at, 4)?.try_into().ok()?));
    if read_exactly(&file, 0, 8)? != b"\xfftOc\0\0\0\x02" {
        return None;
    }
    const COUNTS: u64 = 8;
    const NAMES: u64 = COUNTS + 256 * 4;
    let first = u64::from(*name.first()?);
    let (mut low, mut high) = (
        if first == 0 { 0 } else { u64::from(number(COUNTS + (first - 1) * 4)?) },
        u64::from(number(COUNTS + first * 4)?),
    );
    let (all, length) = (u64::from(number(COUNTS + 255 * 4)?), u64::try_from(name.len()).ok()?);
    while low < high {
        let middle = low + (high - low) / 2;
        match read_exactly(&file, NAMES + middle * length, name.len())?.as_slice().cmp(name) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => {
                let place = number(NAMES + all * (length + 4) + middle * 4)?;
                // Larger places are in a table of their own, which a pack of two gigabytes has.
                return (place & 0x8000_0000 == 0).then_some(u64::from(place));
            }
        }
    }
    None
}

fn inflated(bytes: &[u8]) -> Option<Vec<u8>> {
    // The end of a long object is missing, and not needed.
    let text = decompress_to_vec_zlib_with_limit(bytes, BEGINNING).unwrap_or_else(|error| error.output);
    (!text.is_empty()).then_some(text)
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks_exact(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn read_exactly(file: &File, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
}

/// At most so many bytes from a place.
fn read_at(file: &File, at: u64, most: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; most];
    let mut length = 0;
    while length < most {
        match file.read_at(&mut bytes[length..], at + length as u64).ok()? {
            0 => break,
            read => length += read,
        }
    }
    bytes.truncate(length);
    Some(bytes)
}
