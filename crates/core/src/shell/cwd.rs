//! The working directory of a command line: which `cd` certainly happens, and which commands it affects. Pure: no
//! directory is looked up on disk.

use std::ops::Range;

use super::{DirectoryStep, Make, ShellLine, step};

/// The separator after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandSeparator {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `&`
    Background,
    /// `;`, a newline, a bracket or the end.
    Done,
}

/// The working directory of a list of commands.
pub(super) struct ShellCwd {
    pub(super) dirs: Vec<DirectoryStep>,
    /// The index of the first step of the current chain of `&&` and `||`.
    chain: usize,
    /// The steps of that chain that are always taken.
    kept: Range<usize>,
    /// Whether the command is the first in the chain.
    is_first: bool,
    /// Whether `||` precedes the command in the chain.
    is_doubtful: bool,
    /// The number of open `if`, `for`, `{` and the like.
    open: usize,
    /// The separators before and after the command.
    before: CommandSeparator,
    pub(super) behind: CommandSeparator,
}

impl ShellCwd {
    pub(super) fn new(dirs: Vec<DirectoryStep>) -> ShellCwd {
        let chain = dirs.len();
        let (before, behind) = (CommandSeparator::Done, CommandSeparator::Done);
        ShellCwd { dirs, chain, kept: 0..0, is_first: true, is_doubtful: false, open: 0, before, behind }
    }

    /// Whether the command reads the output of the one before it.
    pub(super) fn is_fed(&self) -> bool {
        self.before == CommandSeparator::Pipe
    }

    /// Processes a word that may begin or end a compound command.
    pub(super) fn keyword(&mut self, word: &str) {
        match word {
            "if" | "while" | "until" | "for" | "select" | "case" | "{" => self.open += 1,
            "fi" | "done" | "esac" | "}" => self.open = self.open.saturating_sub(1),
            _ => {}
        }
    }

    /// Processes a `cd` or a similar command. Returns false if there are too many.
    pub(super) fn go(&mut self, program: &str, args: &[String], is_denied: bool, found: &mut ShellLine) -> bool {
        let is_back = program == "popd" || args.iter().any(|word| word == "-" || word.starts_with('+'));
        let to = args.iter().find(|word| !word.starts_with('-'));
        let to = match to {
            _ if is_back => "-",
            Some(to) => to,
            None if program == "pushd" => "-",
            None => "~",
        };
        let is_sure = self.is_sure(is_denied);
        let kind = if is_sure { DirectoryStep::Into } else { DirectoryStep::Maybe };
        let before = self.dirs.len();
        let has_room = step(&mut self.dirs, to, found, kind);
        self.keep(before, is_sure);
        let mut steps = std::mem::take(&mut found.steps);
        let is_kept = step(&mut steps, to, found, DirectoryStep::Maybe);
        found.steps = steps;
        has_room && is_kept
    }

    /// Processes a command that creates a directory.
    pub(super) fn make(&mut self, make: &Make, is_denied: bool, found: &mut ShellLine) {
        let is_sure = self.is_sure(is_denied);
        let path = found.resolved(&make.path).unwrap_or_else(|| make.path.clone());
        // A directory created in a pipe exists too, if it can be created.
        if !super::is_known(&path) || path.len() > super::PATH_MAX || self.dirs.len() >= super::STEPS_MAX || is_denied {
            return;
        }
        let before = self.dirs.len();
        self.dirs.push(DirectoryStep::Make(Make {
            path,
            is_sure,
            exists: make.exists && is_sure,
            is_tree: make.is_tree,
        }));
        self.keep(before, is_sure);
    }

    /// Whether the shell itself runs the command if everything before it in the chain succeeds.
    pub(super) fn is_sure(&self, is_denied: bool) -> bool {
        self.before != CommandSeparator::Pipe
            && self.behind != CommandSeparator::Pipe
            && !is_denied
            && !self.is_doubtful
    }

    /// Whether the command runs whatever happened before it.
    pub(super) fn is_plain(&self) -> bool {
        self.open == 0 && self.behind != CommandSeparator::Background
    }

    /// Keeps the steps added since `before` beyond the end of the chain, if nothing in the chain can skip them.
    fn keep(&mut self, before: usize, is_sure: bool) {
        if is_sure && self.is_first && self.open == 0 {
            self.kept.start = if self.kept.is_empty() { before } else { self.kept.start };
            self.kept.end = self.dirs.len();
        }
    }

    /// Moves past a command.
    pub(super) fn pass(&mut self, end: CommandSeparator) {
        self.before = end;
        match end {
            CommandSeparator::And | CommandSeparator::Pipe => self.is_first = false,
            CommandSeparator::Or => {
                self.doubt(&(0..0));
                (self.is_first, self.is_doubtful) = (false, true);
            }
            CommandSeparator::Background | CommandSeparator::Done => {
                let kept = std::mem::replace(&mut self.kept, 0..0);
                self.doubt(if end == CommandSeparator::Done { &kept } else { &(0..0) });
                (self.is_first, self.is_doubtful, self.chain) = (true, false, self.dirs.len());
            }
        }
    }

    /// Commands in brackets may have failed.
    pub(super) fn was_nested(&mut self) {
        self.is_first = false;
    }

    /// Marks the steps of the chain as uncertain, except `kept`.
    fn doubt(&mut self, kept: &Range<usize>) {
        for (at, step) in self.dirs.iter_mut().enumerate().skip(self.chain) {
            let is_kept = kept.contains(&at);
            match step {
                DirectoryStep::Into(to) | DirectoryStep::Sure(to) | DirectoryStep::Maybe(to) => {
                    let to = std::mem::take(to);
                    *step = if is_kept { DirectoryStep::Sure(to) } else { DirectoryStep::Maybe(to) };
                }
                DirectoryStep::Make(make) if !is_kept => (make.is_sure, make.exists) = (false, false),
                DirectoryStep::Make(_) | DirectoryStep::Back => {}
            }
        }
    }
}

/// A step in the notation of the tests.
#[cfg(test)]
pub(super) fn shown(step: &DirectoryStep) -> String {
    match step {
        DirectoryStep::Into(to) | DirectoryStep::Sure(to) => to.clone(),
        DirectoryStep::Maybe(to) => format!("{to}?"),
        DirectoryStep::Back => "-".to_owned(),
        DirectoryStep::Make(make) => format!("+{}", make.path),
    }
}
