//! Everything that is printed goes through one printer. A reader that hangs up is not an error.

pub(crate) mod graph;
pub(crate) mod layout;
mod names;
mod palette;
pub(crate) mod path;
pub(crate) mod progress;
pub(crate) mod spool;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod time;
pub(crate) mod tree;
pub(crate) mod window;
mod zone;

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;

use rustix::fs::OFlags;
use serde::Serialize;
use tenure_core::{Code, Error, Result, Stage};

use crate::env::Env;

use self::layout::wrap;
use self::names::ShortNames;
pub(crate) use self::palette::{ColourChoice, Ink};
use self::zone::Zone;

/// The widest line of prose: longer ones are hard to follow.
const PROSE: usize = 100;

/// Where output goes and how it looks.
pub(crate) struct Printer {
    json: bool,
    quiet: bool,
    colour: bool,
    /// Whether there are colours on standard error.
    error_colour: bool,
    terminal: bool,
    /// The columns of the terminal; without one nothing is cut.
    width: Cell<Option<usize>>,
    error_width: Option<usize>,
    /// What `COLUMNS` says.
    columns: Option<usize>,
    /// What `TZ` says.
    tz: Option<OsString>,
    zone: OnceCell<Option<Zone>>,
    /// The agents of the project that have a short form.
    names: RefCell<ShortNames>,
    hung_up: Cell<bool>,
    failed: Cell<bool>,
    /// Whether another program has written to standard output.
    shared: Cell<bool>,
}

impl Printer {
    pub(crate) fn new(json: bool, quiet: bool, colour: ColourChoice, env: &Env) -> Printer {
        let (terminal, error_terminal) = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
        let columns = env.os("COLUMNS").and_then(|columns| columns.to_str()).and_then(|columns| columns.parse().ok());
        let [hung_up, failed, shared] = [const { Cell::new(false) }; 3];
        Printer {
            json,
            quiet,
            colour: !json && colour.decide(env, terminal),
            error_colour: !json && colour.decide(env, error_terminal),
            terminal,
            width: Cell::new((terminal && !json).then(|| terminal_width(columns, &std::io::stdout()))),
            error_width: error_terminal.then(|| terminal_width(columns, &std::io::stderr())),
            columns,
            tz: env.os("TZ").map(OsStr::to_owned),
            zone: OnceCell::new(),
            names: RefCell::default(),
            hung_up,
            failed,
            shared,
        }
    }

    /// A printer on a terminal of this width, without colours.
    #[cfg(test)]
    pub(crate) fn of_width(width: usize) -> Printer {
        let env = Env::of(std::path::Path::new("/"), []);
        Printer {
            terminal: true,
            width: Cell::new(Some(width)),
            error_width: None,
            ..Printer::new(false, false, ColourChoice::Never, &env)
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// How many columns a line has; without a terminal no line is too long.
    pub(crate) fn width(&self) -> usize {
        self.width.get().unwrap_or(usize::MAX)
    }

    /// Measures the terminal again, which may have been resized. Returns its columns and rows.
    pub(crate) fn measure(&self) -> (usize, usize) {
        let columns = terminal_width(self.columns, &std::io::stdout());
        self.width.set(Some(columns));
        let rows = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| usize::from(size.ws_row));
        (columns, if rows == 0 { 24 } else { rows })
    }

    /// Prose, continued between words where it is too long for the terminal. Each further line of a paragraph is indented
    /// by `hang` blanks.
    pub(crate) fn prose(&self, text: &str, hang: usize) -> String {
        self.width.get().map_or_else(|| text.to_owned(), |width| wrap(text, width.min(PROSE), hang))
    }

    /// The same for standard error.
    pub(crate) fn error_prose(&self, text: &str, hang: usize) -> String {
        self.error_width.map_or_else(|| text.to_owned(), |width| wrap(text, width.min(PROSE), hang))
    }

    /// A stored time: local on a terminal, else in UTC.
    pub(crate) fn time(&self, rfc3339: &str) -> String {
        self.local(rfc3339).map_or_else(|| time::short(rfc3339), |(date, clock)| format!("{date} {clock}"))
    }

    /// The local date and time of day of a stored time, on a terminal.
    pub(crate) fn local(&self, rfc3339: &str) -> Option<(String, String)> {
        let zone = self.zone.get_or_init(|| if self.terminal { Zone::of(self.tz.as_deref()) } else { None });
        zone.as_ref()?.local(rfc3339)
    }

    /// Tells the agents of the project, so that their names can be shortened.
    pub(crate) fn know_agents<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        *self.names.borrow_mut() = ShortNames::of(names);
    }

    /// A text with the names of agents in their short form.
    pub(crate) fn brief(&self, text: &str) -> String {
        self.names.borrow().shorten(text)
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
            self.write(&format!("{}{end}", inert(text, self.colour)));
        }
    }

    /// Prints text on standard error: progress and remarks, which no program reads.
    pub(crate) fn aside(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(std::io::stderr(), "{}", inert(text, self.error_colour));
        }
    }

    /// Asks a person something, on the same line as the answer.
    pub(crate) fn prompt(&self, text: &str) {
        let mut stderr = std::io::stderr();
        let _ = write!(stderr, "{}", inert(text, self.error_colour)).and_then(|()| stderr.flush());
    }

    /// The columns of standard error, where a person may be looking at it.
    pub(crate) fn error_terminal(&self) -> Option<usize> {
        self.error_width.filter(|_| !self.quiet)
    }

    /// Writes to a terminal: text with the sequences that move in its window. What comes from a store is made inert first.
    pub(crate) fn draw(&self, text: &str) {
        self.write(text);
    }

    /// A text that does nothing to this terminal but show itself.
    pub(crate) fn harmless(&self, text: &str) -> String {
        inert(text, self.colour)
    }

    /// Prints lines as they are, for a program: nothing in them is changed. Says whether anybody still reads.
    pub(crate) fn raw(&self, bytes: &[u8]) -> bool {
        self.write_bytes(bytes);
        !self.hung_up.get() && !self.failed.get()
    }

    /// Prints what went wrong.
    pub(crate) fn complain(&self, text: &str) {
        let _ = writeln!(std::io::stderr(), "{}", inert(text, self.error_colour));
    }

    /// Sets a word off on standard error.
    pub(crate) fn error_ink(&self, ink: Ink, text: &str) -> String {
        if self.error_colour { ink.on(text) } else { text.to_owned() }
    }

    /// Sets a word off.
    pub(crate) fn ink(&self, ink: Ink, text: &str) -> String {
        if self.colour && !text.is_empty() { ink.on(text) } else { text.to_owned() }
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

/// A text that does nothing to a terminal but show itself. The only sequences kept are those of the palette, where there
/// are colours: what comes from names, paths and files is made visible instead.
pub(crate) fn inert(text: &str, colour: bool) -> String {
    let shown = |at: usize, c: char, out: &mut String| {
        let own = colour && c == '\u{1b}' && Ink::SEQUENCES.iter().any(|sequence| text[at + 1..].starts_with(sequence));
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

/// The columns of a terminal: what `COLUMNS` says, else what the terminal says.
fn terminal_width(said: Option<usize>, terminal: &impl AsFd) -> usize {
    let asked = || rustix::termios::tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col));
    said.or_else(asked).filter(|width| *width > 0).unwrap_or(80).clamp(20, 400)
}

#[cfg(test)]
mod tests {
    use super::inert;

    #[test]
    fn foreign_sequences_are_shown_and_not_obeyed() {
        let inert = |text| inert(text, true);
        assert_eq!(inert("a\u{1b}[31mb\u{1b}[0m\n\t"), "a\u{1b}[31mb\u{1b}[0m\n\t");
        assert_eq!(super::inert("\u{1b}[31m", false), "\\u{1b}[31m");
        assert_eq!(inert("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(inert("x\u{1b}]0;title\u{7}"), "x\\u{1b}]0;title\\u{7}");
        assert_eq!(inert("\u{202e}evil"), "\\u{202e}evil");
        assert_eq!(inert("a\u{e0041}b 👨\u{200d}👩"), "a\\u{e0041}b 👨\u{200d}👩");
    }
}
