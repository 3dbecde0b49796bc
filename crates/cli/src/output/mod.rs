//! Everything that is printed goes through one printer. A reader that hangs up is not an error.

pub(crate) mod graph;
pub(crate) mod path;
pub(crate) mod spool;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod time;
pub(crate) mod tree;

use std::cell::Cell;
use std::io::{IsTerminal, Write};

use rustix::fs::OFlags;
use serde::Serialize;
use tenure_core::{Code, Error, Result, Stage};

use crate::env::Env;

/// Where output goes and how it looks.
pub(crate) struct Printer {
    json: bool,
    quiet: bool,
    colour: bool,
    terminal: bool,
    width: usize,
    hung_up: Cell<bool>,
    failed: Cell<bool>,
    /// Whether another program has written to standard output.
    shared: Cell<bool>,
}

/// How a word is set off, on a terminal that can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
    Blue,
}

impl Printer {
    pub(crate) fn new(json: bool, quiet: bool, env: &Env) -> Printer {
        let terminal = std::io::stdout().is_terminal();
        let dumb = env.os("TERM").is_some_and(|term| term == "dumb");
        let colour = terminal && !json && !dumb && env.os("NO_COLOR").is_none_or(std::ffi::OsStr::is_empty);
        let columns = env.os("COLUMNS").and_then(|columns| columns.to_str()).and_then(|columns| columns.parse().ok());
        let width = columns.or_else(|| terminal.then(terminal_width).flatten()).unwrap_or(100).clamp(40, 400);
        let [hung_up, failed, shared] = [const { Cell::new(false) }; 3];
        Printer { json, quiet, colour, terminal, width, hung_up, failed, shared }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether nothing but errors is printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet && !self.is_json()
    }

    /// Whether `--quiet` was said, with `--json` or without: for what is told beside the answer.
    pub(crate) fn is_told_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether whoever reads the output has gone.
    pub(crate) fn is_hung_up(&self) -> bool {
        self.hung_up.get()
    }

    /// Whether everything that was to be shown has been written out, was not kept quiet, and did not lead nowhere.
    pub(crate) fn has_shown_all(&self) -> bool {
        !self.is_quiet() && !self.hung_up.get() && !self.failed.get() && refuse_closed().is_ok()
    }

    /// Prints an answer whose JSON is at hand.
    pub(crate) fn body(&self, json: &str) {
        self.document(&format!("{{\"ok\":true,\"data\":{json}}}"));
    }

    /// Prints an answer as JSON.
    pub(crate) fn data(&self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(json) => self.body(&json),
            Err(_) => self.failed.set(true),
        }
    }

    /// Prints one JSON document on a line of its own.
    pub(crate) fn document(&self, json: &str) {
        let begin = if self.shared.take() { "\n" } else { "" };
        self.write(&format!("{begin}{json}\n"));
    }

    /// Says that another program has written to standard output. How its output ended is known to nobody but the reader, so
    /// the next document begins with a line break, which JSON takes for white space.
    pub(crate) fn was_shared(&self) {
        self.shared.set(true);
    }

    /// Prints text for a person.
    pub(crate) fn text(&self, text: &str) {
        if !self.quiet {
            let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
            self.write(&format!("{}{end}", inert(text)));
        }
    }

    /// Prints text on standard error: progress and remarks, which no program reads.
    pub(crate) fn aside(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(std::io::stderr(), "{}", inert(text));
        }
    }

    /// Asks a person something, on the same line as the answer.
    pub(crate) fn prompt(&self, text: &str) {
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "{}", inert(text)).and_then(|()| stderr.flush());
    }

    /// Says that something takes a while, where a person may be waiting for it.
    pub(crate) fn progress(&self, text: &str) {
        if std::io::stderr().is_terminal() {
            self.aside(text);
        }
    }

    /// Prints lines as they are, for a program: nothing in them is changed. Says whether anybody still reads.
    pub(crate) fn raw(&self, bytes: &[u8]) -> bool {
        self.write_bytes(bytes);
        !self.hung_up.get() && !self.failed.get()
    }

    /// Prints what went wrong.
    pub(crate) fn complain(&self, text: &str) {
        let _ = writeln!(std::io::stderr(), "{}", inert(text));
    }

    /// Sets a word off.
    pub(crate) fn ink(&self, ink: Ink, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match ink {
            Ink::Bold => 1,
            Ink::Dim => 2,
            Ink::Red => 31,
            Ink::Green => 32,
            Ink::Yellow => 33,
            Ink::Blue => 34,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// The exit code, once everything is written.
    pub(crate) fn finish(&self, exit: u8) -> u8 {
        if std::io::stdout().flush().is_err_and(|error| error.kind() != std::io::ErrorKind::BrokenPipe) {
            self.failed.set(true);
        }
        if self.failed.get() && exit == 0 { 4 } else { exit }
    }

    fn write(&self, text: &str) {
        self.write_bytes(text.as_bytes());
    }

    fn write_bytes(&self, bytes: &[u8]) {
        if self.hung_up.get() {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => self.hung_up.set(true),
            Err(_) => self.failed.set(true),
        }
    }
}

/// A text that does nothing to a terminal but show itself. The only sequences kept are those that `ink` and `watch`
/// write: what comes from names, paths and files is made visible instead.
fn inert(text: &str) -> String {
    const OWN: [&str; 9] = ["[0m", "[1m", "[2m", "[31m", "[32m", "[33m", "[34m", "[H", "[2J"];
    let shown = |at: usize, c: char, out: &mut String| {
        let own = c == '\u{1b}' && OWN.iter().any(|sequence| text[at + 1..].starts_with(sequence));
        match own || matches!(c, '\n' | '\t') {
            true => out.push(c),
            false => out.extend(c.escape_unicode()),
        }
    };
    tenure_core::text::revealed(text, shown).into_owned()
}

/// Refuses to send what must arrive to a standard output that was closed. The runtime has put `/dev/null` in its place,
/// which takes everything; open for reading too, as `> /dev/null` is not. A caller that hands over such a one cannot be
/// told from one that closed it, and has no more use for the answer.
pub(crate) fn refuse_closed() -> Result<()> {
    let stdout = std::io::stdout();
    let is_null = || Some(rustix::fs::fstat(&stdout).ok()?.st_rdev == rustix::fs::stat("/dev/null").ok()?.st_rdev);
    let both_ways = rustix::fs::fcntl_getfl(&stdout).map(|flags| flags & OFlags::RWMODE == OFlags::RDWR);
    if both_ways == Ok(false) || both_ways == Ok(true) && is_null() == Some(false) {
        return Ok(());
    }
    Err(Error::new(Code::OutputCut, "standard output is closed or is /dev/null")
        .at(Stage::Arguments)
        .hint("Nothing was written. Redirect the output to a file or a program, or name a file."))
}

fn terminal_width() -> Option<usize> {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|width| *width > 0)
}

#[cfg(test)]
mod tests {
    use super::inert;

    #[test]
    fn foreign_sequences_are_shown_and_not_obeyed() {
        assert_eq!(inert("a\u{1b}[31mb\u{1b}[0m\n\t"), "a\u{1b}[31mb\u{1b}[0m\n\t");
        assert_eq!(inert("x\u{1b}]0;title\u{7}"), "x\\u{1b}]0;title\\u{7}");
        assert_eq!(inert("\u{202e}evil"), "\\u{202e}evil");
        assert_eq!(inert("a\u{e0041}b 👨\u{200d}👩"), "a\\u{e0041}b 👨\u{200d}👩");
    }
}
