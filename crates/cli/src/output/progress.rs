//! Progress on standard error: one line that is redrawn while something takes longer than a second.
//!
//! Without a terminal, or with `--quiet`, nothing is written. What is quick shows nothing either: a line that comes and
//! goes within a second is noise.

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::layout::fit;
use super::{Printer, inert};

/// How long something takes before it is told.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line is drawn at the most.
const REDRAW: Duration = Duration::from_millis(250);

/// A line about something that takes a while. The line is gone when this is dropped.
pub(crate) struct Progress {
    shown: Option<DrawnLine>,
}

/// The line and the thread that draws it, until `end` is dropped.
struct DrawnLine {
    text: Arc<Mutex<String>>,
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// Begins: `what` is being done, such as `Importing 12000 tasks`.
    pub(crate) fn begin(out: &Printer, what: &str) -> Progress {
        let Some(width) = out.error_terminal() else { return Progress { shown: None } };
        let line = Arc::new(Mutex::new(what.to_owned()));
        let (end, ended) = mpsc::channel();
        let shared = line.clone();
        let thread = std::thread::spawn(move || draw(&shared, width, &ended));
        Progress { shown: Some(DrawnLine { text: line, end, thread }) }
    }

    /// Tells what is being done now.
    pub(crate) fn tell(&self, what: &str) {
        if let Some(line) = &self.shown {
            what.clone_into(&mut line.text.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(DrawnLine { end, thread, .. }) = self.shown.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

/// Draws the line until the other side is dropped, then clears it.
#[expect(clippy::disallowed_methods, reason = "how long something takes is a time of the process")]
fn draw(line: &Mutex<String>, width: usize, ended: &mpsc::Receiver<()>) {
    let begun = Instant::now();
    let mut wait = PATIENCE;
    let mut drawn = String::new();
    while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        wait = REDRAW;
        let what = line.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = fit(&format!("{} … {}s", inert(&what, false), begun.elapsed().as_secs()), width - 1);
        if text != drawn {
            let mut stderr = std::io::stderr();
            let _ = write!(stderr, "\r{text}\u{1b}[K").and_then(|()| stderr.flush());
            drawn = text;
        }
    }
    if !drawn.is_empty() {
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "\r\u{1b}[K").and_then(|()| stderr.flush());
    }
}
