//! The contents of the disk after a power cut: the files as a [`Tape`](super::tape::Tape) leaves them, and which part
//! was synced.
//!
//! The disk model makes only the guarantees that SQLite requires. Synced data is present. Of everything else, each
//! write, each change of a size and each change of a name is present or not, in any combination, and a write in
//! progress may be torn at a sector boundary.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::tape::Entry;
use crate::wander::Dice;

/// The smallest sector size of a disk.
const SECTOR: usize = 512;

/// The files of a store, by name.
pub(super) type Image = BTreeMap<String, Vec<u8>>;

/// The fingerprint of an image, for deduplication.
pub(super) fn print_of(image: &Image) -> u64 {
    let mut hasher = DefaultHasher::new();
    image.hash(&mut hasher);
    hasher.finish()
}

/// A disk on which a recording is replayed.
#[derive(Default)]
pub(super) struct Disk {
    files: Vec<File>,
    names: BTreeMap<String, usize>,
    kept_names: BTreeMap<String, usize>,
    /// Name changes since the last sync of the directory.
    loose_names: Vec<(String, Option<usize>)>,
}

#[derive(Default)]
struct File {
    /// The current contents, as every process sees them.
    now: Vec<u8>,
    /// The contents at the last sync.
    kept: Vec<u8>,
    /// The changes since then.
    loose: Vec<Change>,
}

enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

impl Disk {
    /// Replays the next entry.
    pub(super) fn play(&mut self, entry: &Entry) {
        match entry {
            Entry::Create { name, file } => {
                if self.files.len() <= *file {
                    self.files.resize_with(file + 1, File::default);
                }
                self.names.insert(name.clone(), *file);
                self.loose_names.push((name.clone(), Some(*file)));
            }
            Entry::Delete { name } => {
                self.names.remove(name);
                self.loose_names.push((name.clone(), None));
            }
            Entry::Write { file, at, bytes } => self.files[*file].change(Change::Write(*at, bytes.clone())),
            Entry::Truncate { file, size } => self.files[*file].change(Change::Truncate(*size)),
            Entry::Sync { file } => {
                let file = &mut self.files[*file];
                file.kept.clone_from(&file.now);
                file.loose.clear();
            }
            Entry::SyncDirectory => {
                self.kept_names.clone_from(&self.names);
                self.loose_names.clear();
            }
        }
    }

    /// The image if nothing unsynced survives.
    pub(super) fn least(&self) -> Image {
        let content = |(name, file): (&String, &usize)| (name.clone(), self.files[*file].kept.clone());
        self.kept_names.iter().map(content).collect()
    }

    /// The image if everything survives, which is also the result of a process crash.
    pub(super) fn most(&self) -> Image {
        let content = |(name, file): (&String, &usize)| (name.clone(), self.files[*file].now.clone());
        self.names.iter().map(content).collect()
    }

    /// An image in which unsynced changes survive at random.
    pub(super) fn torn(&self, dice: &Dice) -> Image {
        let mut names = self.kept_names.clone();
        // Each name stops independently at some point of its history.
        let mut stopped: Vec<&str> = Vec::new();
        for (name, file) in &self.loose_names {
            if stopped.contains(&name.as_str()) {
                continue;
            }
            if dice.once_in(3) {
                stopped.push(name);
                continue;
            }
            match file {
                Some(file) => names.insert(name.clone(), *file),
                None => names.remove(name),
            };
        }
        names.into_iter().map(|(name, file)| (name, self.files[file].torn(dice))).collect()
    }
}

impl File {
    fn change(&mut self, change: Change) {
        change.make(&mut self.now, 0);
        self.loose.push(change);
    }

    fn torn(&self, dice: &Dice) -> Vec<u8> {
        let mut bytes = self.kept.clone();
        // Where a file grew without a write, it contains zeros or garbage.
        let hole = *dice.one(&[0x00, 0xA5]);
        let dropped_in = 2 + dice.below(4);
        let last = self.loose.len().saturating_sub(1);
        // The write in progress is torn; most often that is the last one.
        let cut_off = if dice.once_in(2) { last } else { dice.below(self.loose.len().max(1)) };
        for (n, change) in self.loose.iter().enumerate() {
            match change {
                Change::Write(at, written) if n == cut_off => {
                    for (at, part) in sectors(*at, written) {
                        if dice.once_in(2) {
                            put(&mut bytes, at, part, hole);
                        }
                    }
                }
                _ if dice.once_in(dropped_in) => {}
                change => change.make(&mut bytes, hole),
            }
        }
        bytes
    }
}

impl Change {
    fn make(&self, bytes: &mut Vec<u8>, hole: u8) {
        match self {
            Change::Write(at, written) => put(bytes, *at, written, hole),
            Change::Truncate(size) => bytes.truncate(*size),
        }
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, written: &[u8], hole: u8) {
    let end = at + written.len();
    if bytes.len() < end {
        bytes.resize(end, hole);
    }
    bytes[at..end].copy_from_slice(written);
}

/// Splits a write at sector boundaries.
fn sectors(mut at: usize, mut bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let (part, rest) = bytes.split_at((SECTOR - at % SECTOR).min(bytes.len()));
        parts.push((at, part));
        at += part.len();
        bytes = rest;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(at: usize, bytes: &[u8]) -> Entry {
        Entry::Write { file: 0, at, bytes: bytes.to_vec() }
    }

    #[test]
    fn only_what_was_synced_is_sure() {
        let mut disk = Disk::default();
        disk.play(&Entry::Create { name: "a".into(), file: 0 });
        disk.play(&written(0, b"one"));
        disk.play(&Entry::Sync { file: 0 });
        assert_eq!(disk.least(), Image::new(), "its name is not on disk");
        disk.play(&Entry::SyncDirectory);
        disk.play(&written(3, b"two"));
        let image = |text: &[u8]| Image::from([("a".to_owned(), text.to_vec())]);
        assert_eq!((disk.least(), disk.most()), (image(b"one"), image(b"onetwo")));
        disk.play(&Entry::Truncate { file: 0, size: 1 });
        assert_eq!((disk.least(), disk.most()), (image(b"one"), image(b"o")));
        disk.play(&Entry::Delete { name: "a".into() });
        assert_eq!((disk.least(), disk.most()), (image(b"one"), Image::new()));
        disk.play(&Entry::SyncDirectory);
        assert_eq!(disk.least(), Image::new());
    }

    #[test]
    fn chance_leaves_every_combination() {
        let mut disk = Disk::default();
        disk.play(&Entry::Create { name: "a".into(), file: 0 });
        disk.play(&Entry::SyncDirectory);
        disk.play(&written(0, &[1; 512]));
        disk.play(&written(512, &[2; 512]));
        let dice = Dice::new(1);
        let seen: std::collections::BTreeSet<_> = (0..200).map(|_| print_of(&disk.torn(&dice))).collect();
        assert!(seen.len() >= 5, "nothing, one, the other behind nothing or rubbish, both: {}", seen.len());
    }

    #[test]
    fn a_write_is_cut_at_sectors() {
        let bytes = [0; 1000];
        let parts: Vec<_> = sectors(500, &bytes).iter().map(|(at, part)| (*at, part.len())).collect();
        assert_eq!(parts, [(500, 12), (512, 512), (1024, 476)]);
    }
}
