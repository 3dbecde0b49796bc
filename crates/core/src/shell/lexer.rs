//! The lexer: splits a command line into words.

use super::{CommandSeparator, DEPTH_MAX, DirectoryStep, ShellCwd, ShellLine, WORK_MAX, mkdir, run, take};

/// The placeholder in a word for the output of a substitution.
pub(super) const UNKNOWN: char = '\u{fffd}';
/// The placeholder in a word for a new temporary directory: `$(mktemp -d)`. It is a noncharacter, so no text contains
/// it.
pub const FRESH: char = '\u{fdd0}';

pub(super) struct Lexer<'a> {
    text: &'a [char],
    at: usize,
    depth: usize,
    found: &'a mut ShellLine,
    /// The working directory of a shell on this line that reads commands from its input.
    reader: Option<Vec<DirectoryStep>>,
    /// The words of the previous command.
    last: Vec<String>,
    /// The delimiters of here documents that start on the next line, and whether leading tabs are ignored.
    documents: Vec<(String, bool)>,
}

/// The words of a command while they are collected.
#[derive(Default)]
struct Words {
    done: Vec<String>,
    open: Option<String>,
    /// Whether the next word is the target of a redirection.
    drops: bool,
    /// Whether that word is the input itself (`<<<`), and its text.
    feeds: bool,
    fed: Option<String>,
}

impl Words {
    fn open(&mut self) -> &mut String {
        self.open.get_or_insert_default()
    }

    fn close(&mut self) {
        let Some(word) = self.open.take() else { return };
        match (std::mem::take(&mut self.drops), std::mem::take(&mut self.feeds)) {
            (false, _) => self.done.push(word),
            (true, true) => self.fed = Some(word),
            (true, false) => {}
        }
    }

    fn finish(&mut self) -> Vec<String> {
        self.close();
        (self.drops, self.feeds) = (false, false);
        std::mem::take(&mut self.done)
    }
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [char], depth: usize, found: &'a mut ShellLine) -> Lexer<'a> {
        Lexer { text, at: 0, depth, found, reader: None, last: Vec::new(), documents: Vec::new() }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn takes(&mut self, c: char) -> bool {
        let is = self.peek() == Some(c);
        self.at += usize::from(is);
        is
    }

    /// Reads commands up to a closing bracket or the end. A change of directory applies to the commands after it.
    pub(super) fn list(&mut self, end: Option<char>, dirs: Vec<DirectoryStep>) {
        let mut words = Words::default();
        let mut way = ShellCwd::new(dirs);
        while let Some(c) = self.next() {
            match c {
                _ if Some(c) == end => break,
                _ if self.found.work >= WORK_MAX => self.at = self.text.len(),
                ' ' | '\t' | '\r' => words.close(),
                '\n' => {
                    self.command(&mut words, &mut way, CommandSeparator::Done, c);
                    self.skip_documents();
                }
                '&' if self.peek() == Some('>') => words.close(),
                ';' | '&' | '|' | ')' => {
                    let end = self.end(c);
                    self.command(&mut words, &mut way, end, c);
                }
                '#' if words.open.is_none() => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '(' => {
                    // `f()`: the body runs whenever the name is called.
                    self.found.returns |= self.peek() == Some(')');
                    self.command(&mut words, &mut way, CommandSeparator::And, c);
                    self.nested(&way.dirs);
                    way.was_nested();
                }
                '<' | '>' => self.redirection(c, &mut words, &way.dirs),
                _ => self.part(c, &mut words, &way.dirs),
            }
        }
        self.command(&mut words, &mut way, CommandSeparator::Done, ';');
    }

    /// The meaning of the characters that end a command.
    fn end(&mut self, c: char) -> CommandSeparator {
        match c {
            '&' if self.takes('&') => CommandSeparator::And,
            '&' => CommandSeparator::Background,
            '|' if self.takes('|') => CommandSeparator::Or,
            '|' => {
                self.takes('&');
                CommandSeparator::Pipe
            }
            _ => CommandSeparator::Done,
        }
    }

    /// Processes the command that was just read. `c` is the character that ended it.
    fn command(&mut self, words: &mut Words, way: &mut ShellCwd, end: CommandSeparator, c: char) {
        let done = words.finish();
        let fed = words.fed.take();
        // Newlines may separate `&&` from the next command.
        if done.is_empty() && matches!(c, '\n' | '(') {
            return;
        }
        way.behind = end;
        if let Some(dirs) = take(&done, way, self.depth, self.found) {
            let piped = way.is_fed().then(|| self.last.get(1..).unwrap_or_default().join(" ").replace("\\n", "\n"));
            for line in fed.into_iter().chain(piped) {
                run(&line, &dirs, self.depth + 1, self.found);
            }
            self.reader = Some(dirs);
        }
        self.last = done;
        way.pass(end);
    }

    /// A list in brackets: its changes apply only inside it.
    fn nested(&mut self, dirs: &[DirectoryStep]) {
        if self.depth < DEPTH_MAX {
            self.depth += 1;
            let variables = self.found.variables.clone();
            self.list(Some(')'), dirs.to_vec());
            self.found.variables = variables;
            self.depth -= 1;
        } else {
            self.found.is_cut = true;
        }
    }

    /// Reads a piece of a word.
    fn part(&mut self, c: char, words: &mut Words, dirs: &[DirectoryStep]) {
        match c {
            '\\' => match self.next() {
                Some('\n') => {}
                next => words.open().extend(next),
            },
            '$' if self.takes('\'') => {
                let word = self.ansi();
                words.open().push_str(&word);
            }
            // `$"…"` is `"…"`, translated.
            '$' if self.peek() == Some('"') => _ = words.open(),
            '\'' => {
                let word = words.open();
                while let Some(c) = self.text.get(self.at).copied() {
                    self.at += 1;
                    if c == '\'' {
                        break;
                    }
                    word.push(c);
                }
            }
            '"' => {
                words.open();
                while let Some(c) = self.next() {
                    match c {
                        '"' => break,
                        '\\' => match self.next() {
                            Some('\n') => {}
                            Some(c) if matches!(c, '"' | '\\' | '$' | '`') => words.open().push(c),
                            next => {
                                words.open().push('\\');
                                words.open().extend(next);
                            }
                        },
                        _ => self.expansion(c, words, dirs),
                    }
                }
            }
            _ => self.expansion(c, words, dirs),
        }
    }

    /// Reads the rest of `$'…'` with its C escapes.
    fn ansi(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.next() {
            match c {
                '\'' => break,
                '\\' => match self.next() {
                    Some('x') => word.extend(self.code(16, 2)),
                    Some('u') => word.extend(self.code(16, 4)),
                    Some('U') => word.extend(self.code(16, 8)),
                    Some('0'..='7') => {
                        self.at -= 1;
                        word.extend(self.code(8, 3));
                    }
                    Some('n') => word.push('\n'),
                    Some('t') => word.push('\t'),
                    Some(c @ ('\\' | '\'' | '"' | '?')) => word.push(c),
                    // The other escapes do not occur in the name of a program.
                    other => word.extend(other.map(|_| UNKNOWN)),
                },
                c => word.push(c),
            }
        }
        word
    }

    /// A character by its code, with at most `most` digits.
    fn code(&mut self, radix: u32, most: usize) -> Option<char> {
        let mut code = 0_u32;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else { break };
            code = code.wrapping_mul(radix).wrapping_add(digit);
            self.at += 1;
        }
        char::from_u32(code).filter(|c| *c != FRESH)
    }

    /// Reads a character that may begin a substitution.
    fn expansion(&mut self, c: char, words: &mut Words, dirs: &[DirectoryStep]) {
        match c {
            '$' if self.peek() == Some('(') => {
                self.at += 1;
                let begun = self.found.commands.len();
                self.nested(dirs);
                words.open().push(self.printed(begun));
            }
            '`' => {
                let mut inside = String::new();
                while let Some(c) = self.next() {
                    match c {
                        '`' => break,
                        '\\' => inside.extend(self.next()),
                        c => inside.push(c),
                    }
                }
                let begun = self.found.commands.len();
                run(&inside, dirs, self.depth + 1, self.found);
                words.open().push(self.printed(begun));
            }
            c => words.open().push(c),
        }
    }

    /// The placeholder for the output of a substitution. `begun` is the number of commands before it.
    fn printed(&self, begun: usize) -> char {
        match &self.found.commands[begun.min(self.found.commands.len())..] {
            [one] if mkdir::is_temporary(&one.words) => FRESH,
            _ => UNKNOWN,
        }
    }

    fn redirection(&mut self, c: char, words: &mut Words, dirs: &[DirectoryStep]) {
        if self.peek() == Some('(') {
            self.at += 1;
            words.open().push(UNKNOWN);
            self.nested(dirs);
            return;
        }
        // `2>`: the number is not an argument.
        if words.open.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            words.open = None;
        }
        words.close();
        if c == '<' && self.takes('<') {
            if self.takes('<') {
                (words.drops, words.feeds) = (true, true);
                return;
            }
            let tabs = self.takes('-');
            let delimiter = self.delimiter();
            self.documents.push((delimiter, tabs));
            return;
        }
        while matches!(self.peek(), Some('>' | '&' | '|')) {
            self.at += 1;
        }
        words.drops = true;
    }

    /// Reads the delimiter of a here document.
    fn delimiter(&mut self) -> String {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        let mut word = String::new();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' | '"' | '\\' => {}
                c => word.push(c),
            }
            self.at += 1;
        }
        word
    }

    /// Skips here documents. If the line has a shell that reads commands from its input, the document is read as
    /// commands.
    fn skip_documents(&mut self) {
        let reader = self.reader.take();
        for (delimiter, tabs) in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            while self.at < self.text.len() {
                let rest = &self.text[self.at..];
                let end = rest.iter().position(|c| *c == '\n');
                let line: String = rest[..end.unwrap_or(rest.len())].iter().collect();
                self.at += end.map_or(rest.len(), |end| end + 1);
                let line = if tabs { line.trim_start_matches('\t') } else { &line };
                if line == delimiter {
                    break;
                }
                if reader.is_some() {
                    body.push_str(line);
                    body.push('\n');
                }
            }
            if let Some(dirs) = &reader {
                run(&body, dirs, self.depth + 1, self.found);
            }
        }
    }
}
