//! Records what SQLite does to its files, in order, and injects faults.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One operation on the files of a store.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// A name was added to the directory for a new, empty file.
    Create { name: String, file: usize },
    /// A name was removed from the directory.
    Delete { name: String },
    /// Bytes were written.
    Write { file: usize, at: usize, bytes: Vec<u8> },
    /// A file was truncated.
    Truncate { file: usize, size: usize },
    /// All earlier changes of a file are on disk.
    Sync { file: usize },
    /// All current names are on disk.
    SyncDirectory,
}

/// The operations that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Write,
    Truncate,
    Sync,
}

/// The kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The disk is full.
    Full,
    /// The disk has an I/O error.
    Io,
}

/// How long a fault lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stay {
    /// It fails once.
    Once,
    /// It fails until it is cleared.
    UntilCleared,
}

struct Fault {
    /// The number of calls up to and including the failing one.
    left: usize,
    trouble: Trouble,
    stay: Stay,
    met: bool,
}

/// The recording of one store.
#[derive(Default)]
pub(super) struct Tape {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    entries: Vec<Entry>,
    names: BTreeMap<String, usize>,
    files: usize,
    fault: Option<Fault>,
}

impl Tape {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of recorded entries.
    pub(super) fn position(&self) -> usize {
        self.inner().entries.len()
    }

    /// Takes all recorded entries.
    pub(super) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.inner().entries)
    }

    /// Makes the `nth` write, truncate or sync from now on fail.
    pub(super) fn set_fault(&self, nth: usize, trouble: Trouble, stay: Stay) {
        self.inner().fault = Some(Fault { left: nth, trouble, stay, met: false });
    }

    /// Removes the fault and returns whether it fired.
    pub(super) fn clear_fault(&self) -> bool {
        self.inner().fault.take().is_some_and(|fault| fault.met)
    }

    pub(super) fn log(&self, entry: Entry) {
        self.inner().entries.push(entry);
    }

    /// The file with a name; creates one if there is none.
    ///
    /// The store creates the database file before SQLite opens it, and syncs its directory. The tape sees neither, so
    /// it treats the name as *not* on disk yet: the proof does not rely on it.
    pub(super) fn opened(&self, name: &str) -> usize {
        let mut inner = self.inner();
        if let Some(file) = inner.names.get(name) {
            return *file;
        }
        let file = inner.files;
        inner.files += 1;
        inner.names.insert(name.to_owned(), file);
        inner.entries.push(Entry::Create { name: name.to_owned(), file });
        file
    }

    pub(super) fn deleted(&self, name: &str) {
        let mut inner = self.inner();
        if inner.names.remove(name).is_some() {
            inner.entries.push(Entry::Delete { name: name.to_owned() });
        }
    }

    /// Whether this call fails, and how.
    pub(super) fn trouble(&self, call: Call) -> Option<Trouble> {
        let mut inner = self.inner();
        let fault = inner.fault.as_mut()?;
        fault.left = fault.left.saturating_sub(1);
        if fault.left > 0 || (fault.met && fault.stay == Stay::Once) {
            return None;
        }
        // A full disk can still sync and truncate.
        if fault.trouble == Trouble::Full && call != Call::Write {
            fault.left = 1;
            return None;
        }
        fault.met = true;
        Some(fault.trouble)
    }
}
