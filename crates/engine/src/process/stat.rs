//! Reads `/proc/PID/stat`.

use std::io::Read;

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// `R`, `S`, `T`, `Z` …
    pub state: u8,
    /// The pid of its parent.
    pub parent: i64,
    /// The number of threads. The first thread may be a zombie while others run.
    pub threads: i64,
    /// The start time in clock ticks since boot.
    pub started: i64,
}

impl Stat {
    /// Whether any thread is still alive.
    pub(super) fn lives(self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x') || self.threads > 1
    }

    /// Whether it may still execute its own code: it is not stopped, has not ended, and is not in uninterruptible
    /// sleep.
    pub(super) fn runs(self) -> bool {
        matches!(self.state, b'R' | b'S')
    }
}

/// Reads the state of a process. `None` if the process does not exist or is not visible.
#[expect(clippy::disallowed_methods, reason = "a file of the system")]
pub fn stat(pid: i64) -> Option<Stat> {
    if pid <= 0 {
        return None;
    }
    // One read is sufficient. The file reports a size of 0, so reading it as a whole would take several reads. It has
    // at most 52 numbers, of which the first 22 matter, and the system writes it at once.
    let mut line = [0; 1024];
    let length = std::fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut line)).ok()?;
    parse(&line[..length])
}

// The second field is the command name in parentheses and may itself contain spaces and parentheses, so fields are
// counted from the last one: state is the third, the parent the fourth, the threads the 20th, the start time the 22nd.
fn parse(stat: &[u8]) -> Option<Stat> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = str::from_utf8(&stat[end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let threads = fields.nth(15)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    Some(Stat { state, parent, threads, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_name_may_hold_anything() {
        let line = |name: &[u8]| {
            let rest = b" S 41 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 18 4242 20 21\n";
            [b"7 (".as_slice(), name, b")", rest].concat()
        };
        for name in [b"sh".as_slice(), b"a b", b"x) Z 1 (y", b")))", b"\xff("] {
            let read = parse(&line(name));
            assert_eq!(read, Some(Stat { state: b'S', parent: 41, threads: 1, started: 4242 }), "{name:?}");
        }
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"7 (sh) S 1 2"), None);
    }

    #[test]
    fn a_zombie_with_live_threads_is_alive() {
        let of = |state, threads| Stat { state, parent: 1, threads, started: 1 };
        assert!(of(b'S', 1).lives() && of(b'T', 1).lives() && of(b'Z', 2).lives());
        assert!(!of(b'Z', 1).lives() && !of(b'X', 0).lives());
    }
}
