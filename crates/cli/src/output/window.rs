//! The window of a terminal, taken over for pictures that are redrawn in place, and given back as it was.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tenure_core::Result;

use super::Printer;
use super::layout::fit;

/// How often the size is looked at while nothing else happens.
const LOOK: Duration = Duration::from_millis(200);

/// A window that was taken over. Dropping it gives it back.
pub(crate) struct Window<'a> {
    out: &'a Printer,
    /// How keys were read before, where there is a keyboard.
    keys: Option<Termios>,
    ended: Arc<AtomicBool>,
    size: (usize, usize),
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowEvent {
    /// The time is over.
    Time,
    /// The window has another size.
    Resized,
    /// The person has seen enough: `q`, Ctrl-C, or the end of the terminal.
    Quit,
}

impl<'a> Window<'a> {
    pub(crate) fn take(out: &'a Printer) -> Result<Window<'a>> {
        let ended = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Without a handler the process ends at once and the window stays as it is.
            let _ = signal_hook::flag::register(signal, ended.clone());
        }
        let keys = std::io::stdin().is_terminal().then(|| tcgetattr(std::io::stdin()).ok()).flatten();
        if let Some(before) = &keys {
            let mut raw = before.clone();
            raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &raw);
        }
        // The other screen of the terminal, without a cursor.
        out.draw("\u{1b}[?1049h\u{1b}[?25l");
        Ok(Window { out, keys, ended, size: out.measure() })
    }

    /// Shows a picture: as many of its lines as there are rows.
    pub(crate) fn show(&mut self, picture: &str) {
        self.size = self.out.measure();
        let (columns, rows) = self.size;
        let picture = self.out.harmless(picture);
        let mut lines: Vec<String> = picture.lines().map(|line| fit(line, columns)).collect();
        if lines.len() > rows {
            let more = lines.len() - rows + 1;
            lines.truncate(rows - 1);
            lines.push(fit(&format!("… {more} more lines"), columns));
        }
        let drawn: Vec<String> = lines.iter().map(|line| format!("{line}\u{1b}[K")).collect();
        // Lines are overwritten and what is left below is cleared, so nothing flickers.
        self.out.draw(&format!("\u{1b}[H{}\u{1b}[J", drawn.join("\r\n")));
    }

    /// Waits, until something happens.
    pub(crate) fn wait(&self, most: Duration) -> WindowEvent {
        let mut left = most;
        while !left.is_zero() {
            let step = left.min(LOOK);
            if self.is_quit(step) {
                return WindowEvent::Quit;
            }
            if self.out.measure() != self.size {
                return WindowEvent::Resized;
            }
            left -= step;
        }
        WindowEvent::Time
    }

    fn is_quit(&self, most: Duration) -> bool {
        let stdin = std::io::stdin();
        let mut keyboard = [PollFd::new(&stdin, PollFlags::IN)];
        let watched = if self.keys.is_some() { &mut keyboard[..] } else { &mut [] };
        let time = Timespec::try_from(most).ok();
        let found = poll(watched, time.as_ref());
        if found.is_ok_and(|count| count > 0) {
            let mut keys = [0; 64];
            match rustix::io::read(&stdin, &mut keys) {
                // The terminal is gone.
                Ok(0) => return true,
                Ok(count) if keys[..count].iter().any(|key| matches!(key, b'q' | b'Q' | 3 | 4)) => return true,
                _ => {}
            }
        }
        self.ended.load(Ordering::Relaxed)
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        self.out.draw("\u{1b}[?25h\u{1b}[?1049l");
        if let Some(before) = &self.keys {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
