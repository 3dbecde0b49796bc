//! Patterns: sets of files of one checkout, and the exact answer to whether two of them have a file in common.
//!
//! A pattern is a path as it is (whatever characters it has), a directory with everything below it (a trailing `/`), or
//! a glob (prefix `glob:`). All three have one shape: a literal beginning, and an automaton for what comes after it. Two
//! patterns overlap exactly when the product of their automata reaches an end in both; the automata are walked, never
//! made deterministic, because sixteen `?` after `*a` would have 131,000 deterministic states.

mod automaton;
mod index;
mod parse;
mod product;
mod set;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::error::Result;
use automaton::Automaton;
pub use index::Candidates;
use parse::ParsedPattern;
pub use parse::{ALTERNATIVES_MAX, BYTES_MAX, DEEP_MAX, SEGMENTS_MAX, STATES_MAX, WILDCARDS_MAX};
use set::Spelling;

/// What a typed glob begins with.
pub const GLOB: &str = "glob:";

/// Whether the file system of a checkout tells `A` from `a`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// It does.
    #[default]
    Kept,
    /// It does not.
    Folded,
}

/// What a pattern is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternForm {
    /// One file.
    Path,
    /// Everything below a directory.
    Directory,
    /// A glob.
    Glob,
}

/// A set of files of one checkout.
#[derive(Clone, Debug)]
pub struct Pattern {
    form: PatternForm,
    text: String,
    case: Case,
    prefix: String,
    rest: Automaton,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        (&self.text, self.case) == (&other.text, other.case)
    }
}

impl Eq for Pattern {}

impl Pattern {
    /// Reads a pattern relative to the top of its checkout. What it returns prints as its one spelling, and that
    /// spelling is read as the same pattern again.
    pub fn parse(typed: &str, case: Case) -> Result<Pattern> {
        Pattern::spelled(typed, case, case.into())
    }

    fn spelled(typed: &str, case: Case, spelling: Spelling) -> Result<Pattern> {
        let ParsedPattern { form, text, segments } = parse::read(typed)?;
        let (prefix, rest) = automaton::compile(&segments, spelling);
        parse::check_states(typed, rest.size())?;
        Ok(Pattern { form, text, case, prefix, rest })
    }

    /// The one spelling of this pattern.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it is made of.
    pub fn form(&self) -> PatternForm {
        self.form
    }

    /// Whether it folds case.
    pub fn case(&self) -> Case {
        self.case
    }

    /// Whether every file of it begins with the same text. A pattern that is not anchored may be looked for only among
    /// all holds of a checkout, so there may be few of those.
    pub fn is_anchored(&self) -> bool {
        !self.prefix.is_empty()
    }

    /// What every file of this pattern begins with, as the index keeps it: always folded, so that holds of both cases
    /// stand in one order.
    pub fn prefix(&self) -> String {
        index::kept(&self.prefix)
    }

    /// The literal text that every file of this pattern begins with, in the case that the pattern has.
    pub fn beginning(&self) -> &str {
        &self.prefix
    }

    /// The prefixes in the index under which everything stands that may overlap this pattern and is not longer than it.
    pub fn shorter_prefixes(&self) -> Vec<String> {
        index::shorter(&self.prefix())
    }

    /// The range of the index in which everything stands that may overlap this pattern and is longer than it: from the
    /// first text up to, but without, the second. `None` for a path, which has nothing longer; an empty end for a
    /// pattern that is not anchored.
    pub fn longer_prefixes(&self) -> Option<(String, String)> {
        if self.form == PatternForm::Path {
            return None;
        }
        Some(index::longer(&self.prefix()))
    }

    /// Whether a path, normalised and relative to the same checkout, is in this pattern.
    pub fn matches(&self, path: &str) -> bool {
        let folded;
        let path = match self.case {
            Case::Kept => path,
            Case::Folded => {
                folded = path.chars().map(set::fold).collect::<String>();
                &folded
            }
        };
        path.strip_prefix(self.prefix.as_str()).is_some_and(|rest| self.rest.matches(rest))
    }

    /// A path that is in both patterns, if there is one. Case counts only where it counts for both.
    pub fn overlap(&self, other: &Pattern) -> Option<String> {
        if self.case == other.case {
            return product::witness((&self.prefix, &self.rest), (&other.prefix, &other.rest));
        }
        let (one, two) = (self.folded()?, other.folded()?);
        product::witness((&one.prefix, &one.rest), (&two.prefix, &two.rest))
    }

    /// A path that is in this pattern and in one of a checkout whose top is the directory `dir` of this one's, if there is
    /// one: relative to this pattern's top.
    pub fn overlap_below(&self, dir: &str, inner: &Pattern) -> Option<String> {
        if self.case == Case::Kept && inner.case == Case::Kept {
            let prefix = format!("{dir}/{}", inner.prefix);
            return product::witness((&self.prefix, &self.rest), (&prefix, &inner.rest));
        }
        let (outer, inner) = (self.folded()?, inner.folded()?);
        let prefix: String = dir.chars().map(set::fold).chain(['/']).chain(inner.prefix.chars()).collect();
        product::witness((&outer.prefix, &outer.rest), (&prefix, &inner.rest))
    }

    /// This pattern over folded texts: it takes the folded spelling of every path that this pattern takes.
    fn folded(&self) -> Option<Cow<'_, Pattern>> {
        match self.case {
            Case::Folded => Some(Cow::Borrowed(self)),
            Case::Kept => Pattern::spelled(&self.text, Case::Folded, Spelling::FoldOfTyped).ok().map(Cow::Owned),
        }
    }

    /// Whether every file of another pattern is in this one. A yes is always right; of two globs that are hard to
    /// compare it may say no, which costs a hold more than needed and nothing else.
    pub fn covers(&self, other: &Pattern) -> bool {
        if self.text == other.text && (self.case == other.case || self.case == Case::Folded) {
            return true;
        }
        self.case == other.case && product::covers((&self.prefix, &self.rest), (&other.prefix, &other.rest))
    }
}
