//! The turnstile: two file locks beside the database, taken in turn before a write transaction begins.
//!
//! It provides fairness; SQLite itself provides exclusion. SQLite's busy handler sleeps and retries, so the process
//! that happens to wake first wins: 64 processes × 50 writes took up to 5.2 s per call that way, and 42 ms with the
//! turnstile. A file lock wakes its waiters when it is released, and the second lock keeps a process that just left
//! from overtaking the waiters: with lock A a process is at the front of the line, with lock B it is at the database,
//! and it releases A as soon as it has B. So at most one process waits for B, and all others wait for A.
//!
//! Never use a try-lock in a loop: that is the busy handler again (the longest call was 16 times the median). A lock is
//! tried once; if it is taken, a thread blocks in the kernel and the caller waits for the thread until its deadline.
//!
//! Nothing here is needed for correctness, so a lock file that an operator removes costs fairness, not data. A stopped
//! holder makes other processes `busy`, never wrong.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;
use tenure_core::{Code, Error, Result, Stage};

use super::database_file;

/// The stack of a thread that only waits in one system call.
const WAITER_STACK: usize = 64 * 1024;

/// The two locks of one database.
#[derive(Clone, Debug)]
pub(crate) struct Turnstile {
    pub(super) a: PathBuf,
    pub(super) b: PathBuf,
}

/// The right to begin a write transaction; dropping it passes the turn to the next in line.
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped"]
pub(crate) struct WriteTurn {
    _b: LockedFile,
}

#[derive(Debug)]
pub(super) struct LockedFile(File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing alone is not enough: a child between fork and exec has a copy of the descriptor and would keep the
        // lock. If unlocking fails, only the close that follows remains.
        let _ = self.0.unlock();
    }
}

impl Turnstile {
    /// The turnstile of the database at `database`; touches nothing.
    pub(crate) fn beside(database: &Path) -> Turnstile {
        let lock = |suffix: &str| {
            let mut name: OsString = database.into();
            name.push(suffix);
            PathBuf::from(name)
        };
        Turnstile { a: lock("-turn-a"), b: lock("-turn-b") }
    }

    /// Waits for a turn, at most `deadline` for both locks together, then fails with `busy`.
    ///
    /// Callers may not assume that a turn excludes other writers: only SQLite excludes a process without a turnstile or
    /// with a replaced lock file. A thread that has a turn and asks for another one waits for itself.
    pub(crate) fn enter(&self, deadline: Duration) -> Result<WriteTurn> {
        #[expect(
            clippy::disallowed_methods,
            reason = "a deadline is a duration of the process, not a time of the domain"
        )]
        let start = Instant::now();
        let front = acquire(open(&self.a)?, &self.a, start, deadline)?;
        let turn = acquire(open(&self.b)?, &self.b, start, deadline)?;
        drop(front);
        Ok(WriteTurn { _b: turn })
    }
}

/// Locks the file at `path`, waiting until `deadline` has passed since `start`.
pub(super) fn acquire(file: File, path: &Path, start: Instant, deadline: Duration) -> Result<LockedFile> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(LockedFile(file)),
            Err(TryLockError::WouldBlock) => break,
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(unlockable(path, error)),
        }
    }
    let left = deadline.saturating_sub(start.elapsed());
    if left.is_zero() {
        return Err(busy(path, deadline));
    }
    // The channel has no buffer, so a lock is either received by the caller or still owned by the thread, which then
    // releases it: no lock is left in a channel that no thread reads.
    let (hand_over, receive) = mpsc::sync_channel(0);
    thread::Builder::new()
        .name("turnstile".into())
        .stack_size(WAITER_STACK)
        .spawn(move || {
            // An error means that the caller has left; the unreceived lock is dropped and thereby released.
            drop(hand_over.send(block(file)));
        })
        .map_err(|error| busy(path, deadline).hint("No thread could be started to wait; try again.").cause(error))?;
    match receive.recv_timeout(left) {
        Ok(Ok(held)) => Ok(held),
        Ok(Err(error)) => Err(unlockable(path, error)),
        Err(RecvTimeoutError::Timeout) => Err(busy(path, deadline)),
        Err(RecvTimeoutError::Disconnected) => Err(Error::bug("the thread that waits for a turn ended without a word")),
    }
}

/// Blocks until the file is locked, and retries after a signal.
fn block(file: File) -> io::Result<LockedFile> {
    loop {
        match file.lock() {
            Ok(()) => return Ok(LockedFile(file)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Opens a lock file, creating it if it is absent. Every call has its own descriptor: the lock belongs to the open
/// file, so two callers in one process exclude each other like two processes.
fn open(path: &Path) -> Result<File> {
    opened(path, OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600))
}

#[expect(clippy::disallowed_methods, reason = "a lock file, never the database")]
pub(super) fn opened(path: &Path, options: &mut OpenOptions) -> Result<File> {
    let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path).map_err(|error| {
        if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
            database_file::symlinked(path).at(Stage::Lock)
        } else {
            database_file::unwritable(path, error).at(Stage::Lock)
        }
    })?;
    let meta = file.metadata().map_err(|error| database_file::unwritable(path, error).at(Stage::Lock))?;
    if !meta.is_file() {
        return Err(database_file::not_a_file(path).at(Stage::Lock));
    }
    Ok(file)
}

fn busy(path: &Path, deadline: Duration) -> Error {
    Error::new(
        Code::Turnstile,
        format!("no turn to write within {} ms: another process holds {}", deadline.as_millis(), path.display()),
    )
    .at(Stage::Lock)
    .entity(path.display().to_string())
    .hint("Try again. If it stays so, a stopped process may hold the lock; fuser or lsof on that file names it.")
}

fn unlockable(path: &Path, error: io::Error) -> Error {
    Error::new(Code::NoFileLocks, format!("{} cannot be locked: {error}", path.display()))
        .at(Stage::Lock)
        .entity(path.display().to_string())
        .hint("The store needs a file system with file locks: put it on a local disk.")
        .cause(error)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests measure waits, act as a slow disk and read files of their own")]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::{Command, Stdio};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    use tenure_core::Kind;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn turnstile() -> (tempfile::TempDir, Turnstile) {
        let dir = tempfile::tempdir().unwrap();
        let turnstile = Turnstile::beside(&dir.path().join("t.db"));
        (dir, turnstile)
    }

    #[test]
    fn one_thread_at_a_time() {
        let (_dir, turnstile) = turnstile();
        let inside = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let turn = turnstile.enter(LONG).unwrap();
                        assert!(!inside.swap(true, SeqCst));
                        thread::yield_now();
                        assert!(inside.swap(false, SeqCst));
                        drop(turn);
                    }
                });
            }
        });
    }

    const CHILD_TURNS: usize = 50;

    /// Reads, adds one and writes, which loses counts unless processes take turns.
    #[test]
    #[ignore = "started by one_process_at_a_time, which gives it the directory on its standard input"]
    fn child() {
        let mut dir = String::new();
        io::stdin().read_to_string(&mut dir).unwrap();
        if dir.is_empty() {
            return;
        }
        let counter = Path::new(&dir).join("counter");
        let turnstile = Turnstile::beside(&Path::new(&dir).join("t.db"));
        for _ in 0..CHILD_TURNS {
            let _turn = turnstile.enter(LONG).unwrap();
            let count: usize = fs::read_to_string(&counter).unwrap().parse().unwrap();
            thread::yield_now();
            fs::write(&counter, (count + 1).to_string()).unwrap();
        }
    }

    #[test]
    fn one_process_at_a_time() {
        let (dir, _) = turnstile();
        let counter = dir.path().join("counter");
        fs::write(&counter, "0").unwrap();
        let name = format!("{}::child", module_path!().split_once("::").unwrap().1);
        let mut children: Vec<_> = (0..4)
            .map(|_| {
                let mut child = Command::new(std::env::current_exe().unwrap())
                    .args(["--ignored", "--exact", &name])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap();
                child.stdin.take().unwrap().write_all(dir.path().to_str().unwrap().as_bytes()).unwrap();
                child
            })
            .collect();
        for child in &mut children {
            assert!(child.wait().unwrap().success());
        }
        assert_eq!(fs::read_to_string(&counter).unwrap(), (4 * CHILD_TURNS).to_string());
    }

    #[test]
    fn a_deadline_ends_in_busy() {
        let (_dir, turnstile) = turnstile();
        let turn = turnstile.enter(LONG).unwrap();
        let start = Instant::now();
        let error = turnstile.enter(Duration::from_millis(60)).unwrap_err();
        assert_eq!((error.kind(), error.code().as_str(), error.retryable()), (Kind::Busy, "turnstile", true));
        assert_eq!(error.stage(), Stage::Lock);
        assert!(start.elapsed() >= Duration::from_millis(60));
        assert!(start.elapsed() < Duration::from_secs(10));
        assert_eq!(turnstile.enter(Duration::ZERO).unwrap_err().kind(), Kind::Busy);
        drop(turn);
        let _turn = turnstile.enter(LONG).unwrap();
    }

    #[test]
    fn a_free_turnstile_lets_through_without_waiting() {
        let (_dir, turnstile) = turnstile();
        let _turn = turnstile.enter(Duration::ZERO).unwrap();
    }

    #[test]
    fn a_lock_that_comes_too_late_is_freed() {
        let (_dir, turnstile) = turnstile();
        // A timeout at B with the caller at the front of the line, and a timeout at A with another caller there.
        let turn = turnstile.enter(LONG).unwrap();
        for _ in 0..3 {
            turnstile.enter(Duration::from_millis(5)).unwrap_err();
        }
        drop(turn);
        drop(turnstile.enter(LONG).unwrap());

        let front = block(open(&turnstile.a).unwrap()).unwrap();
        for _ in 0..3 {
            let error = turnstile.enter(Duration::from_millis(5)).unwrap_err();
            assert!(error.message().contains("-turn-a"), "{error}");
        }
        drop(front);
        drop(turnstile.enter(LONG).unwrap());
    }

    #[test]
    fn the_front_of_the_line_is_free_during_a_turn() {
        let (_dir, turnstile) = turnstile();
        let _turn = turnstile.enter(LONG).unwrap();
        open(&turnstile.a).unwrap().try_lock().unwrap();
        assert!(open(&turnstile.b).unwrap().try_lock().is_err());
    }

    /// A process that leaves cannot overtake the front of the line, however soon it returns.
    #[test]
    fn the_next_turn_belongs_to_the_front_of_the_line() {
        const THREADS: usize = 8;
        const TURNS: usize = 50;
        const NOBODY: usize = THREADS;
        let (_dir, turnstile) = turnstile();
        let (front, next) = (AtomicUsize::new(NOBODY), AtomicUsize::new(NOBODY));
        thread::scope(|scope| {
            for own in 0..THREADS {
                let (turnstile, front, next) = (&turnstile, &front, &next);
                scope.spawn(move || {
                    for _ in 0..TURNS {
                        // `enter`, with a marker in between.
                        let a = acquire(open(&turnstile.a).unwrap(), &turnstile.a, Instant::now(), LONG).unwrap();
                        front.store(own, SeqCst);
                        let b = acquire(open(&turnstile.b).unwrap(), &turnstile.b, Instant::now(), LONG).unwrap();
                        front.store(NOBODY, SeqCst);
                        drop(a);
                        let due = next.swap(NOBODY, SeqCst);
                        assert!(due == own || due == NOBODY, "{own} has the turn of {due}");
                        thread::yield_now();
                        next.store(front.load(SeqCst), SeqCst);
                        drop(b);
                    }
                });
            }
        });
    }

    /// The guarantee is for turns as long as a commit: a shorter turn than the wake-up of a waiter can be over, and its
    /// thread back at lock A, before any waiter is awake. So a turn here lasts as long as a small commit to disk. A machine
    /// that is busy with other work can delay the wake-up of one waiter for longer than that, so one fair round of several
    /// is enough; without lock A the slowest thread has hardly any turns.
    #[test]
    fn nobody_is_passed_again_and_again() {
        const ROUNDS: usize = 6;
        let rounds = std::iter::repeat_with(fewest_turns).take(ROUNDS);
        let unfair: Vec<usize> = rounds.take_while(|fewest| *fewest < 10).collect();
        assert!(unfair.len() < ROUNDS, "a thread had {unfair:?} turns when another had all of its own");
    }

    /// How many turns the slowest of many threads has had when the first one is finished.
    fn fewest_turns() -> usize {
        const THREADS: usize = 32;
        const TURNS: usize = 50;
        const COMMIT: Duration = Duration::from_micros(300);
        let (_dir, turnstile) = turnstile();
        let made: Vec<AtomicUsize> = (0..THREADS).map(|_| AtomicUsize::new(0)).collect();
        let all_are_here = Barrier::new(THREADS);
        let fewest = AtomicUsize::new(TURNS);
        thread::scope(|scope| {
            for own in &made {
                scope.spawn(|| {
                    all_are_here.wait();
                    for _ in 0..TURNS {
                        let _turn = turnstile.enter(LONG).unwrap();
                        own.fetch_add(1, SeqCst);
                        thread::sleep(COMMIT);
                    }
                    fewest.fetch_min(made.iter().map(|count| count.load(SeqCst)).min().unwrap(), SeqCst);
                });
            }
        });
        fewest.load(SeqCst)
    }

    #[test]
    fn lock_files_are_private_and_stay() {
        let (_dir, turnstile) = turnstile();
        drop(turnstile.enter(LONG).unwrap());
        for path in [&turnstile.a, &turnstile.b] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(&turnstile.a, "kept").unwrap();
        drop(turnstile.enter(LONG).unwrap());
        assert_eq!(fs::read_to_string(&turnstile.a).unwrap(), "kept");
    }

    #[test]
    fn what_is_not_a_plain_file_is_refused() {
        let (dir, turnstile) = turnstile();
        let elsewhere = dir.path().join("elsewhere");
        symlink(&elsewhere, &turnstile.a).unwrap();
        let error = turnstile.enter(LONG).unwrap_err();
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Storage, "symlinked_store"));
        assert!(!elsewhere.exists());

        fs::remove_file(&turnstile.a).unwrap();
        fs::create_dir(&turnstile.a).unwrap();
        assert_eq!(turnstile.enter(LONG).unwrap_err().kind(), Kind::Storage);
        // A lock that was already acquired is released if the other one fails.
        fs::remove_dir(&turnstile.a).unwrap();
        fs::create_dir(&turnstile.b).unwrap();
        assert_eq!(turnstile.enter(LONG).unwrap_err().kind(), Kind::Storage);
        fs::remove_dir(&turnstile.b).unwrap();
        drop(turnstile.enter(LONG).unwrap());
    }

    #[test]
    fn a_missing_directory_is_named() {
        let (dir, _) = turnstile();
        let error = Turnstile::beside(&dir.path().join("gone/t.db")).enter(LONG).unwrap_err();
        assert_eq!((error.kind(), error.stage()), (Kind::Storage, Stage::Lock));
        assert!(error.message().contains("gone"), "{error}");
    }
}
