//! What SQLite did to its files, in order, and the faults that it is made to meet.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One thing done to the files of a store.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// A name appeared in the directory, for a file that is new and empty.
    Create { name: String, file: usize },
    /// A name disappeared from the directory.
    Delete { name: String },
    /// Bytes were written.
    Write { file: usize, at: usize, bytes: Vec<u8> },
    /// A file was cut off.
    Truncate { file: usize, size: usize },
    /// All that was done to a file before is on disk.
    Sync { file: usize },
    /// All names are on disk as they are.
    SyncDirectory,
}

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Write,
    Truncate,
    Sync,
}

/// How it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// There is no room.
    Full,
    /// The disk does not work.
    Io,
}

/// Whether a fault goes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stay {
    /// Once, and all is well again.
    Once,
    /// Until somebody does something about it.
    UntilCleared,
}

struct Fault {
    /// Calls that still go well, the failing one included.
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

    /// How much is recorded.
    pub(super) fn position(&self) -> usize {
        self.inner().entries.len()
    }

    /// Takes everything that was recorded.
    pub(super) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.inner().entries)
    }

    /// Lets the `nth` write, truncate or sync from now on fail.
    pub(super) fn set_fault(&self, nth: usize, trouble: Trouble, stay: Stay) {
        self.inner().fault = Some(Fault { left: nth, trouble, stay, met: false });
    }

    /// Takes the fault away and says whether anything met it.
    pub(super) fn clear_fault(&self) -> bool {
        self.inner().fault.take().is_some_and(|fault| fault.met)
    }

    pub(super) fn log(&self, entry: Entry) {
        self.inner().entries.push(entry);
    }

    /// The file under a name; a new one if there is none.
    ///
    /// The database itself is made by the store before SQLite opens it, and its directory is synced by the store too.
    /// Neither is seen here, so the tape says that its name is *not* on disk yet: what is proven does not rely on it.
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
        // A disk without room can still sync and cut off what it has.
        if fault.trouble == Trouble::Full && call != Call::Write {
            fault.left = 1;
            return None;
        }
        fault.met = true;
        Some(fault.trouble)
    }
}
