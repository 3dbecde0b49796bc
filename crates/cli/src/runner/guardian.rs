//! The guardian of a command: a process of its own that ends the command if the runner cannot.

use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use rustix::process::Pid;

use super::target::Target;
use super::watch::{Post, Word, watch};

/// The hidden command that it runs.
pub(crate) const NAME: &str = "lock-guardian";

/// A guardian as the runner sees it. Without one the runner watches alone.
pub(super) struct Guardian(Option<Child>);

impl Guardian {
    /// Starts one, in a group of its own: what ends the runner from a terminal does not reach it.
    pub(super) fn start() -> Guardian {
        let started = crate::env::program().and_then(|program| {
            Command::new(program)
                .arg(NAME)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()
        });
        Guardian(started.ok())
    }

    /// Says which command it guards.
    pub(super) fn put_over(&mut self, target: Target) {
        self.say(&target.line());
    }

    pub(super) fn tell(&mut self, word: Word) {
        self.say(&word.line());
    }

    fn say(&mut self, line: &str) {
        let said = self.0.as_mut().and_then(|child| child.stdin.as_mut()).map(|stdin| stdin.write_all(line.as_bytes()));
        if matches!(said, Some(Err(_))) {
            self.0 = None;
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.tell(Word::Done);
        if let Some(mut child) = self.0.take() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// What the guardian does: it reads words until the command is over or the runner is gone.
pub(crate) fn guard() {
    let mut lines = std::io::stdin().lock().lines();
    let Some(Ok(first)) = lines.next() else { return };
    let Some(target) = Target::read(&first) else { return };
    let (say, words) = channel();
    // Reading blocks, and a stopped runner says nothing: so it is done by a thread.
    let reader = std::thread::Builder::new().spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let Some(word) = Word::read(&line) else { continue };
            if say.send(word).is_err() {
                return;
            }
        }
    });
    drop(lines);
    if reader.is_ok() {
        watch(&words, Post::Second, |blow| target.strike(blow));
    }
}

/// The process of a child.
pub(super) fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}
