//! The directories that a line may be in: which `cd` happens for certain, and for which commands.

use super::{Step, step};

/// What stands behind a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
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
pub(super) struct Way {
    pub(super) dirs: Vec<Step>,
    /// Where the steps of the chain of `&&` and `||` begin that is being read.
    chain: usize,
    /// The step of that chain that is taken whatever happens.
    kept: Option<usize>,
    /// Whether nothing stands before in the chain.
    is_first: bool,
    /// Whether `||` stands before in the chain.
    is_doubtful: bool,
    /// How many of `if`, `for`, `{` and the like are open.
    open: usize,
    /// What stands before the command, and behind it.
    before: End,
    pub(super) behind: End,
}

impl Way {
    pub(super) fn new(dirs: Vec<Step>) -> Way {
        let chain = dirs.len();
        let (before, behind) = (End::Done, End::Done);
        Way { dirs, chain, kept: None, is_first: true, is_doubtful: false, open: 0, before, behind }
    }

    /// Whether the command reads what the one before it prints.
    pub(super) fn is_fed(&self) -> bool {
        self.before == End::Pipe
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
    pub(super) fn go(&mut self, program: &str, args: &[String], is_denied: bool, steps: &mut Vec<Step>) -> bool {
        let is_back = program == "popd" || args.iter().any(|word| word == "-" || word.starts_with('+'));
        let to = args.iter().find(|word| !word.starts_with('-'));
        let to = match to {
            _ if is_back => "-",
            Some(to) => to,
            None if program == "pushd" => "-",
            None => "~",
        };
        let is_alone = self.before != End::Pipe && self.behind != End::Pipe && !is_denied;
        let is_sure = is_alone && !self.is_doubtful;
        if is_sure && self.is_first && self.open == 0 {
            self.kept = Some(self.dirs.len());
        }
        let kind = if is_sure { Step::Sure } else { Step::Maybe };
        step(&mut self.dirs, to, kind) && step(steps, to, Step::Maybe)
    }

    /// Goes on behind a command.
    pub(super) fn pass(&mut self, end: End) {
        self.before = end;
        match end {
            End::And | End::Pipe => self.is_first = false,
            End::Or => {
                self.doubt(None);
                (self.is_first, self.is_doubtful) = (false, true);
            }
            End::Background | End::Done => {
                let kept = self.kept.take().filter(|_| end == End::Done);
                self.doubt(kept);
                (self.is_first, self.is_doubtful, self.chain) = (true, false, self.dirs.len());
            }
        }
    }

    /// What ran in brackets may have failed.
    pub(super) fn was_nested(&mut self) {
        self.is_first = false;
    }

    /// The steps of the chain may not have been taken, but for one.
    fn doubt(&mut self, kept: Option<usize>) {
        for (at, step) in self.dirs.iter_mut().enumerate().skip(self.chain) {
            if let Step::Sure(to) | Step::Maybe(to) = step {
                let to = std::mem::take(to);
                *step = if Some(at) == kept { Step::Sure(to) } else { Step::Maybe(to) };
            }
        }
    }
}

/// A step as tests write it.
#[cfg(test)]
pub(super) fn shown(step: &Step) -> String {
    match step {
        Step::Into(to) | Step::Sure(to) => to.clone(),
        Step::Maybe(to) => format!("{to}?"),
        Step::Back => "-".to_owned(),
    }
}
