//! A SQLite VFS shim: it forwards everything except syncs to the default VFS, records the file operations on a
//! [`Tape`], and injects faults on request.
//!
//! The shared-memory index (`-shm`) is forwarded and not recorded, because it is rebuilt after every power cut. Memory
//! mapping is not offered (`iVersion` 2), so every write goes through `xWrite`.

// SQLite takes a VFS as a table of C functions.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::size_of;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

use super::tape::{Call, Entry, Tape, Trouble};

/// How the shim treats syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syncs {
    /// Syncs are recorded as requested.
    Kept,
    /// `PRAGMA synchronous = FULL` and `NORMAL` arrive as `OFF`: SQLite runs without syncs.
    SwitchedOff,
    /// Each sync takes this much longer, and nothing is recorded. For benchmarks.
    Slow(Duration),
}

/// Registers a VFS with slower syncs and no recording, and returns its name: a disk that is equally slow in every run.
pub fn slow(by: Duration) -> String {
    Shim::register(Syncs::Slow(by)).name
}

/// A VFS registered with SQLite under its own name. It is never unregistered, because a connection may outlive the
/// `Shim`.
pub(super) struct Shim {
    pub(super) name: String,
    pub(super) tape: Arc<Tape>,
}

struct Layer {
    vfs: sqlite3_vfs,
    below: *mut sqlite3_vfs,
    tape: Arc<Tape>,
    syncs: Syncs,
    name: CString,
}

/// A file as SQLite sees it. The file of the default VFS follows it in the same memory.
#[repr(C)]
struct Outer {
    base: sqlite3_file,
    /// Null for a file that is not recorded.
    watch: *mut Watch,
    layer: *const Layer,
    _fill: usize,
}

struct Watch {
    tape: Arc<Tape>,
    file: usize,
    /// The default VFS syncs the directory at the first sync of a journal that it created (`UNIXFILE_DIRSYNC` in
    /// `unixSync`).
    syncs_directory: bool,
}

impl Shim {
    /// Registers a VFS that records to a new tape.
    pub(super) fn register(syncs: Syncs) -> Shim {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let name = format!("tenure-tape-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let tape = Arc::new(Tape::default());
        // SAFETY: a null name requests the default VFS, which always exists and is never freed.
        let below = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
        assert!(!below.is_null(), "SQLite has a layer of its own");
        // SAFETY: the name of the option is a C string; SQLite only compares it.
        let never = unsafe { ffi::sqlite3_compileoption_used(c"DISABLE_DIRSYNC".as_ptr()) };
        assert_eq!(never, 0, "this SQLite syncs no directory, and the tape would say that it does");
        // SAFETY: `below` is not null, and SQLite never changes these fields of a registered VFS.
        let (size, longest) = unsafe { ((*below).szOsFile, (*below).mxPathname) };
        let layer = Box::leak(Box::new(Layer {
            vfs: methods_of_layer(size, longest),
            below,
            tape: tape.clone(),
            syncs,
            name: CString::new(name.as_str()).unwrap(),
        }));
        layer.vfs.zName = layer.name.as_ptr();
        let own: *mut Layer = layer;
        layer.vfs.pAppData = own.cast();
        // SAFETY: the layer, its name and its data are leaked, so they stay valid for as long as SQLite uses them.
        let code = unsafe { ffi::sqlite3_vfs_register(&raw mut (*own).vfs, 0) };
        assert_eq!(code, ffi::SQLITE_OK);
        Shim { name, tape }
    }
}

fn methods_of_layer(size_below: c_int, longest: c_int) -> sqlite3_vfs {
    sqlite3_vfs {
        iVersion: 2,
        szOsFile: c_int::try_from(size_of::<Outer>()).unwrap() + size_below,
        mxPathname: longest,
        pNext: ptr::null_mut(),
        zName: ptr::null(),
        pAppData: ptr::null_mut(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(last_error),
        xCurrentTimeInt64: Some(current_time_int64),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

static FILE_METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Calls a method of the default VFS, which has all of them; `missing` only satisfies the type.
macro_rules! below {
    ($vfs:expr, $method:ident ( $($arg:expr),* ), $missing:expr) => {{
        // SAFETY: SQLite calls a VFS's methods with that VFS, whose data `register` set to a leaked `Layer`. The VFS
        // below is SQLite's own, and the arguments are forwarded unchanged.
        unsafe {
            let below = (*(*$vfs).pAppData.cast::<Layer>()).below;
            match (*below).$method {
                Some(method) => method(below, $($arg),*),
                None => $missing,
            }
        }
    }};
}

/// Calls a method of the underlying file.
macro_rules! inner {
    ($file:expr, $method:ident ( $($arg:expr),* ), $missing:expr) => {{
        // SAFETY: SQLite calls a file's methods only between a successful `open` and `close`. `open` wrote an `Outer`
        // there and let the default VFS open its own file right behind it, in the memory that `szOsFile` requested. The
        // arguments are forwarded unchanged.
        unsafe {
            let inner = behind($file);
            match (*(*inner).pMethods).$method {
                Some(method) => method(inner, $($arg),*),
                None => $missing,
            }
        }
    }};
}

/// The file of the default VFS.
fn behind(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // The size of `Outer` is a multiple of 8, as SQLite's own file requires.
    file.cast::<Outer>().wrapping_add(1).cast()
}

/// The recording state of a file, if it is recorded.
///
/// # Safety
///
/// `file` was opened by `open` and not yet closed by `close`.
unsafe fn watch<'a>(file: *mut sqlite3_file) -> Option<&'a mut Watch> {
    // SAFETY: by the caller's contract this is an `Outer`, and its `watch` is null or a box that `close` frees. SQLite
    // uses a file from one thread at a time, so there is no other reference to it.
    unsafe { (*file.cast::<Outer>()).watch.as_mut() }
}

/// The last part of a path.
///
/// # Safety
///
/// `path` is null or a C string.
unsafe fn file_name(path: *const c_char) -> Option<String> {
    if path.is_null() {
        return None;
    }
    // SAFETY: by the caller's contract.
    let path = unsafe { CStr::from_ptr(path) }.to_str().ok()?;
    path.rsplit('/').next().map(str::to_owned)
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    path: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let code = below!(vfs, xOpen(path, behind(file), flags, out), ffi::SQLITE_CANTOPEN);
    // SAFETY: SQLite gives `open` as much memory as `szOsFile` requests, zeroed or not, to fill.
    unsafe {
        ptr::write(
            file.cast::<Outer>(),
            Outer {
                base: sqlite3_file { pMethods: ptr::null() },
                watch: ptr::null_mut(),
                layer: (*vfs).pAppData.cast(),
                _fill: 0,
            },
        );
        if code != ffi::SQLITE_OK {
            // The default VFS leaves nothing open when it fails, and null methods tell SQLite so.
            return code;
        }
        let journals = ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL;
        let records = !matches!((*(*vfs).pAppData.cast::<Layer>()).syncs, Syncs::Slow(_));
        if records
            && flags & (journals | ffi::SQLITE_OPEN_MAIN_DB) != 0
            && let Some(name) = file_name(path)
        {
            let tape = (*(*vfs).pAppData.cast::<Layer>()).tape.clone();
            let number = tape.opened(&name);
            let syncs_directory = flags & journals != 0 && flags & ffi::SQLITE_OPEN_CREATE != 0;
            let watch = Watch { tape, file: number, syncs_directory };
            (*file.cast::<Outer>()).watch = Box::into_raw(Box::new(watch));
        }
        (*file).pMethods = &raw const FILE_METHODS;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    let code = inner!(file, xClose(), ffi::SQLITE_IOERR);
    // SAFETY: `open` wrote an `Outer` here, with a box or null in its `watch`. SQLite closes a file once.
    unsafe {
        let watch = ptr::replace(&raw mut (*file.cast::<Outer>()).watch, ptr::null_mut());
        if !watch.is_null() {
            drop(Box::from_raw(watch));
        }
    }
    code
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, path: *const c_char, sync_directory: c_int) -> c_int {
    let code = below!(vfs, xDelete(path, sync_directory), ffi::SQLITE_IOERR);
    if code == ffi::SQLITE_OK {
        // SAFETY: SQLite passes the path as a C string, and a VFS whose data is a `Layer`.
        let (tape, name) = unsafe { (&(*(*vfs).pAppData.cast::<Layer>()).tape, file_name(path)) };
        if let Some(name) = name {
            tape.deleted(&name);
        }
        if sync_directory != 0 {
            tape.log(Entry::SyncDirectory);
        }
    }
    code
}

unsafe extern "C" fn write(file: *mut sqlite3_file, from: *const c_void, amount: c_int, at: i64) -> c_int {
    // SAFETY: SQLite calls this on an open file.
    let Some(watch) = (unsafe { watch(file) }) else {
        return inner!(file, xWrite(from, amount, at), ffi::SQLITE_IOERR);
    };
    let trouble = watch.tape.trouble(Call::Write);
    // A full or failing disk has written a part of the data.
    let amount = if trouble.is_some() { amount / 2 } else { amount };
    let code = inner!(file, xWrite(from, amount, at), ffi::SQLITE_IOERR);
    if code == ffi::SQLITE_OK {
        // SAFETY: SQLite passes at least `amount` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), usize::try_from(amount).unwrap_or(0)) };
        watch.tape.log(Entry::Write { file: watch.file, at: size(at), bytes: bytes.to_vec() });
    }
    match trouble {
        Some(Trouble::Full) => ffi::SQLITE_FULL,
        Some(Trouble::Io) => ffi::SQLITE_IOERR_WRITE,
        None => code,
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, to: i64) -> c_int {
    // SAFETY: SQLite calls this on an open file.
    let watch = unsafe { watch(file) };
    if let Some(watch) = &watch
        && watch.tape.trouble(Call::Truncate).is_some()
    {
        return ffi::SQLITE_IOERR_TRUNCATE;
    }
    let code = inner!(file, xTruncate(to), ffi::SQLITE_IOERR);
    if let (ffi::SQLITE_OK, Some(watch)) = (code, watch) {
        watch.tape.log(Entry::Truncate { file: watch.file, size: size(to) });
    }
    code
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite calls this on an open file.
    let Some(watch) = (unsafe { watch(file) }) else {
        // SAFETY: `open` wrote an `Outer` here, whose layer is never freed.
        if let Syncs::Slow(by) = unsafe { (*(*file.cast::<Outer>()).layer).syncs } {
            #[expect(clippy::disallowed_methods, reason = "the slowness that was asked for")]
            std::thread::sleep(by);
        }
        return inner!(file, xSync(flags), ffi::SQLITE_IOERR);
    };
    if watch.tape.trouble(Call::Sync).is_some() {
        return ffi::SQLITE_IOERR_FSYNC;
    }
    // The tape decides what a power cut leaves, so there is no need to wait for the real disk.
    watch.tape.log(Entry::Sync { file: watch.file });
    if std::mem::take(&mut watch.syncs_directory) {
        watch.tape.log(Entry::SyncDirectory);
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(file: *mut sqlite3_file, op: c_int, argument: *mut c_void) -> c_int {
    if op == ffi::SQLITE_FCNTL_PRAGMA {
        // SAFETY: SQLite calls this on an open file, with an array of C strings for this op: the second is the name of
        // the pragma, the third its argument or null. The argument of a pragma given as text is a copy that SQLite
        // reads only after this call, and `OFF` is not longer than what it replaces.
        unsafe {
            let layer = (*file.cast::<Outer>()).layer;
            let words = argument.cast::<*mut c_char>();
            let (name, value) = (*words.add(1), *words.add(2));
            if (*layer).syncs == Syncs::SwitchedOff
                && CStr::from_ptr(name).to_bytes().eq_ignore_ascii_case(b"synchronous")
                && !value.is_null()
                && CStr::from_ptr(value).to_bytes().len() >= 3
            {
                ptr::copy_nonoverlapping(c"OFF".as_ptr(), value, 4);
            }
        }
    }
    inner!(file, xFileControl(op, argument), ffi::SQLITE_NOTFOUND)
}

/// Offsets and sizes of files are never negative.
fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

// The remaining methods only forward.

unsafe extern "C" fn access(vfs: *mut sqlite3_vfs, path: *const c_char, flags: c_int, out: *mut c_int) -> c_int {
    below!(vfs, xAccess(path, flags, out), ffi::SQLITE_IOERR)
}

unsafe extern "C" fn full_pathname(vfs: *mut sqlite3_vfs, path: *const c_char, room: c_int, out: *mut c_char) -> c_int {
    below!(vfs, xFullPathname(path, room, out), ffi::SQLITE_IOERR)
}

unsafe extern "C" fn randomness(vfs: *mut sqlite3_vfs, amount: c_int, out: *mut c_char) -> c_int {
    below!(vfs, xRandomness(amount, out), 0)
}

unsafe extern "C" fn sleep(vfs: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    below!(vfs, xSleep(microseconds), 0)
}

unsafe extern "C" fn current_time(vfs: *mut sqlite3_vfs, out: *mut f64) -> c_int {
    below!(vfs, xCurrentTime(out), ffi::SQLITE_ERROR)
}

unsafe extern "C" fn current_time_int64(vfs: *mut sqlite3_vfs, out: *mut i64) -> c_int {
    below!(vfs, xCurrentTimeInt64(out), ffi::SQLITE_ERROR)
}

unsafe extern "C" fn last_error(vfs: *mut sqlite3_vfs, room: c_int, out: *mut c_char) -> c_int {
    below!(vfs, xGetLastError(room, out), 0)
}

unsafe extern "C" fn read(file: *mut sqlite3_file, into: *mut c_void, amount: c_int, at: i64) -> c_int {
    inner!(file, xRead(into, amount, at), ffi::SQLITE_IOERR)
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, out: *mut i64) -> c_int {
    inner!(file, xFileSize(out), ffi::SQLITE_IOERR)
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    inner!(file, xLock(level), ffi::SQLITE_IOERR)
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    inner!(file, xUnlock(level), ffi::SQLITE_IOERR)
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, out: *mut c_int) -> c_int {
    inner!(file, xCheckReservedLock(out), ffi::SQLITE_IOERR)
}

unsafe extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    inner!(file, xSectorSize(), 0)
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    inner!(file, xDeviceCharacteristics(), 0)
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite3_file,
    page: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    inner!(file, xShmMap(page, size, extend, out), ffi::SQLITE_IOERR)
}

unsafe extern "C" fn shm_lock(file: *mut sqlite3_file, offset: c_int, n: c_int, flags: c_int) -> c_int {
    inner!(file, xShmLock(offset, n, flags), ffi::SQLITE_IOERR)
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    inner!(file, xShmBarrier(), ());
}

unsafe extern "C" fn shm_unmap(file: *mut sqlite3_file, delete: c_int) -> c_int {
    inner!(file, xShmUnmap(delete), ffi::SQLITE_OK)
}
