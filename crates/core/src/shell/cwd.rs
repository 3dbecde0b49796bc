//! The working directory of a command line: which `cd` certainly happens, and which commands it affects. Pure: no
//! directory is looked up on disk.

use std::ops::Range;

use super::{DirectoryStep, Make, ShellLine, step};

/// What stands behind a command.
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
    /// `;`, a newline, a bracket, the end.
    Done,
}

/// Where a list of commands stands.
pub(super) struct ShellCwd {
    pub(super) dirs: Vec<DirectoryStep>,
    /// Where the steps of the chain of `&&` and `||` begin that is being read.
    chain: usize,
    /// The steps of that chain that are taken whatever happens.
    kept: Range<usize>,
    /// Whether nothing stands before in the chain.
    is_first: bool,
    /// Whether `||` stands before in the chain.
    is_doubtful: bool,
    /// How many of `if`, `for`, `{` and the like are open.
    open: usize,
    /// What stands before the command, and behind it.
    before: CommandSeparator,
    pub(super) behind: CommandSeparator,
}

impl ShellCwd {
    pub(super) fn new(dirs: Vec<DirectoryStep>) -> ShellCwd {
        let chain = dirs.len();
        let (before, behind) = (CommandSeparator::Done, CommandSeparator::Done);
        ShellCwd { dirs, chain, kept: 0..0, is_first: true, is_doubtful: false, open: 0, before, behind }
    }

    /// Whether the command reads what the one before it prints.
    pub(super) fn is_fed(&self) -> bool {
        self.before == CommandSeparator::Pipe
    }

    /// Takes a word in that may begin or end a compound command.
    pub(super) fn keyword(&mut self, word: &str) {
        match word {
            "if" | "while" | "until" | "for" | "select" | "case" | "{" => self.open += 1,
            "fi" | "done" | "esac" | "}" => self.open = self.open.saturating_sub(1),
            _ => {}
        }
    }

    /// Takes a `cd` or one of its kind in. False where there are too many.
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

    /// Takes in that a command makes something.
    pub(super) fn make(&mut self, make: &Make, is_denied: bool, found: &mut ShellLine) {
        let is_sure = self.is_sure(is_denied);
        let path = found.resolved(&make.path).unwrap_or_else(|| make.path.clone());
        // What is made in a pipe is there all the same, if it can be made.
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

    /// Whether a command runs if everything before it in its chain went well, and the shell itself runs it.
    pub(super) fn is_sure(&self, is_denied: bool) -> bool {
        self.before != CommandSeparator::Pipe
            && self.behind != CommandSeparator::Pipe
            && !is_denied
            && !self.is_doubtful
    }

    /// Whether a command runs whatever happened before it.
    pub(super) fn is_plain(&self) -> bool {
        self.open == 0 && self.behind != CommandSeparator::Background
    }

    /// What was added since is kept behind the chain, if nothing in the chain decides about it.
    fn keep(&mut self, before: usize, is_sure: bool) {
        if is_sure && self.is_first && self.open == 0 {
            self.kept.start = if self.kept.is_empty() { before } else { self.kept.start };
            self.kept.end = self.dirs.len();
        }
    }

    /// Goes on behind a command.
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

    /// What ran in brackets may have failed.
    pub(super) fn was_nested(&mut self) {
        self.is_first = false;
    }

    /// The steps of the chain may not have been taken, but for some.
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

/// A step as tests write it.
#[cfg(test)]
pub(super) fn shown(step: &DirectoryStep) -> String {
    match step {
        DirectoryStep::Into(to) | DirectoryStep::Sure(to) => to.clone(),
        DirectoryStep::Maybe(to) => format!("{to}?"),
        DirectoryStep::Back => "-".to_owned(),
        DirectoryStep::Make(make) => format!("+{}", make.path),
    }
}
