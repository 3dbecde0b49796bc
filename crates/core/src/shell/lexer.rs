//! The words of a command line.

use super::{Command, DEPTH_MAX, run, take};

/// Stands in a word for what a substitution would put there.
pub(super) const UNKNOWN: char = '\u{fffd}';

pub(super) struct Lexer<'a> {
    text: &'a [char],
    at: usize,
    depth: usize,
    found: &'a mut Vec<Command>,
    /// Ends of here documents that begin with the next line, and whether tabs before them do not count.
    documents: Vec<(String, bool)>,
}

/// The words of a command as they come together.
#[derive(Default)]
struct Words {
    done: Vec<String>,
    open: Option<String>,
    /// Whether the next word is that of a redirection.
    drops: bool,
}

impl Words {
    fn open(&mut self) -> &mut String {
        self.open.get_or_insert_default()
    }

    fn close(&mut self) {
        if let Some(word) = self.open.take()
            && !std::mem::take(&mut self.drops)
        {
            self.done.push(word);
        }
    }

    fn finish(&mut self) -> Vec<String> {
        self.close();
        self.drops = false;
        std::mem::take(&mut self.done)
    }
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [char], depth: usize, found: &'a mut Vec<Command>) -> Lexer<'a> {
        Lexer { text, at: 0, depth, found, documents: Vec::new() }
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

    /// Reads commands up to a closing bracket, or to the end. A directory that is entered counts for what follows.
    pub(super) fn list(&mut self, end: Option<char>, mut dirs: Vec<String>) {
        let mut words = Words::default();
        while let Some(c) = self.next() {
            match c {
                _ if Some(c) == end => break,
                ' ' | '\t' | '\r' => words.close(),
                '\n' => {
                    take(&words.finish(), &mut dirs, self.depth, self.found);
                    self.skip_documents();
                }
                ';' | '&' | '|' | ')' => take(&words.finish(), &mut dirs, self.depth, self.found),
                '#' if words.open.is_none() => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '(' => {
                    take(&words.finish(), &mut dirs, self.depth, self.found);
                    self.nested(&dirs);
                }
                '<' | '>' => self.redirection(c, &mut words, &dirs),
                _ => self.part(c, &mut words, &dirs),
            }
        }
        take(&words.finish(), &mut dirs, self.depth, self.found);
    }

    /// A list in brackets: what it changes counts inside it alone.
    fn nested(&mut self, dirs: &[String]) {
        if self.depth < DEPTH_MAX {
            self.depth += 1;
            self.list(Some(')'), dirs.to_vec());
            self.depth -= 1;
        }
    }

    /// A piece of a word.
    fn part(&mut self, c: char, words: &mut Words, dirs: &[String]) {
        match c {
            '\\' => match self.next() {
                Some('\n') => {}
                next => words.open().extend(next),
            },
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

    /// A character that may begin a substitution.
    fn expansion(&mut self, c: char, words: &mut Words, dirs: &[String]) {
        match c {
            '$' if self.peek() == Some('(') => {
                self.at += 1;
                words.open().push(UNKNOWN);
                self.nested(dirs);
            }
            '`' => {
                words.open().push(UNKNOWN);
                let mut inside = String::new();
                while let Some(c) = self.next() {
                    match c {
                        '`' => break,
                        '\\' => inside.extend(self.next()),
                        c => inside.push(c),
                    }
                }
                run(&inside, dirs, self.depth + 1, self.found);
            }
            c => words.open().push(c),
        }
    }

    fn redirection(&mut self, c: char, words: &mut Words, dirs: &[String]) {
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
                words.drops = true;
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

    /// The word that ends a here document.
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

    fn skip_documents(&mut self) {
        for (delimiter, tabs) in std::mem::take(&mut self.documents) {
            while self.at < self.text.len() {
                let rest = &self.text[self.at..];
                let end = rest.iter().position(|c| *c == '\n');
                let line: String = rest[..end.unwrap_or(rest.len())].iter().collect();
                self.at += end.map_or(rest.len(), |end| end + 1);
                let line = if tabs { line.trim_start_matches('\t') } else { &line };
                if line == delimiter {
                    break;
                }
            }
        }
    }
}
