//! Patterns: sets of files in one checkout, and an exact test whether two of them overlap.
//!
//! A pattern is a literal path (whatever characters it contains), a directory with everything below it (a trailing
//! `/`), or a glob (prefix `glob:`). All three have the same shape: a literal prefix, and an automaton for the rest.
//! Two patterns overlap exactly if the product of their automata reaches an accepting state in both. The automata are
//! simulated and never determinised, because sixteen `?` after `*a` would have 131,000 deterministic states.

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
pub use index::PatternCandidates;
use parse::ParsedPattern;
pub use parse::{ALTERNATIVES_MAX, BYTES_MAX, DEEP_MAX, SEGMENTS_MAX, STATES_MAX, WILDCARDS_MAX};
use set::Spelling;

/// The prefix of a glob.
pub const GLOB: &str = "glob:";

/// The prefix of a typed path that is not a glob, whatever characters it contains. Only doors that read what was typed
/// know it; a request has the path without it.
pub const PATH: &str = "path:";

/// Whether a typed path without a prefix is a glob, unless a file of exactly that name exists. Brackets and braces alone
/// make none: they are common in file names (`pages/[id].tsx`).
pub fn looks_like_glob(typed: &[u8]) -> bool {
    typed.contains(&b'*') || typed.contains(&b'?')
}

/// Turns a typed path into the text of a pattern, for a door that cannot see whether a file of that name exists.
pub fn of_typed(typed: &str) -> Cow<'_, str> {
    match typed.strip_prefix(PATH) {
        Some(path) if path.starts_with(GLOB) => format!("./{path}").into(),
        Some(path) => path.into(),
        None if !typed.starts_with(GLOB) && looks_like_glob(typed.as_bytes()) => format!("{GLOB}{typed}").into(),
        None => typed.into(),
    }
}

/// Whether the file system of a checkout is case-sensitive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Case-sensitive.
    #[default]
    Kept,
    /// Case-insensitive.
    Folded,
}

/// The form of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternForm {
    /// One file.
    Path,
    /// Everything below a directory.
    Directory,
    /// A glob.
    Glob,
}

/// A set of files in one checkout.
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
    /// Parses a pattern relative to the top of its checkout. The result prints in canonical form, and parsing that form
    /// gives the same pattern.
    pub fn parse(typed: &str, case: Case) -> Result<Pattern> {
        Pattern::spelled(typed, case, case.into())
    }

    fn spelled(typed: &str, case: Case, spelling: Spelling) -> Result<Pattern> {
        let ParsedPattern { form, text, segments } = parse::read(typed)?;
        let (prefix, rest) = automaton::compile(&segments, spelling);
        parse::check_states(typed, rest.size())?;
        Ok(Pattern { form, text, case, prefix, rest })
    }

    /// The canonical form of this pattern.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The form of this pattern.
    pub fn form(&self) -> PatternForm {
        self.form
    }

    /// Whether it matches case-insensitively.
    pub fn case(&self) -> Case {
        self.case
    }

    /// Whether all its files share a non-empty literal prefix. An unanchored pattern must be compared with all holds of
    /// a checkout, so their number is limited.
    pub fn is_anchored(&self) -> bool {
        !self.prefix.is_empty()
    }

    /// The literal prefix as the index stores it: always case-folded, so that holds of both cases share one order.
    pub fn prefix(&self) -> String {
        index::kept(&self.prefix)
    }

    /// The literal prefix of all files of this pattern, in the pattern's own case.
    pub fn beginning(&self) -> &str {
        &self.prefix
    }

    /// The index prefixes of every pattern that may overlap this one and whose prefix is not longer.
    pub fn shorter_prefixes(&self) -> Vec<String> {
        index::shorter(&self.prefix())
    }

    /// The index range of every pattern that may overlap this one and whose prefix is longer: from the first text up to
    /// but excluding the second. `None` for a path, which has no extensions; an empty end for an unanchored pattern.
    pub fn longer_prefixes(&self) -> Option<(String, String)> {
        if self.form == PatternForm::Path {
            return None;
        }
        Some(index::longer(&self.prefix()))
    }

    /// Whether this pattern matches a normalised path relative to the same checkout.
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

    /// A path that both patterns match, if any. Case matters only if it matters in both.
    pub fn overlap(&self, other: &Pattern) -> Option<String> {
        if self.case == other.case {
            return product::witness((&self.prefix, &self.rest), (&other.prefix, &other.rest));
        }
        let (one, two) = (self.folded()?, other.folded()?);
        product::witness((&one.prefix, &one.rest), (&two.prefix, &two.rest))
    }

    /// A path that this pattern and one of an inner checkout both match, if any. The top of the inner checkout is the
    /// directory `dir` of this one. The result is relative to this pattern's top.
    pub fn overlap_below(&self, dir: &str, inner: &Pattern) -> Option<String> {
        if self.case == Case::Kept && inner.case == Case::Kept {
            let prefix = format!("{dir}/{}", inner.prefix);
            return product::witness((&self.prefix, &self.rest), (&prefix, &inner.rest));
        }
        let (outer, inner) = (self.folded()?, inner.folded()?);
        let prefix: String = dir.chars().map(set::fold).chain(['/']).chain(inner.prefix.chars()).collect();
        product::witness((&outer.prefix, &outer.rest), (&prefix, &inner.rest))
    }

    /// This pattern over case-folded texts: it matches the folded form of every path that this pattern matches.
    fn folded(&self) -> Option<Cow<'_, Pattern>> {
        match self.case {
            Case::Folded => Some(Cow::Borrowed(self)),
            Case::Kept => Pattern::spelled(&self.text, Case::Folded, Spelling::FoldOfTyped).ok().map(Cow::Owned),
        }
    }

    /// Whether this pattern matches every file of another one. `true` is always correct. For two globs that are hard to
    /// compare it may return `false`, which costs only a redundant hold.
    pub fn covers(&self, other: &Pattern) -> bool {
        if self.text == other.text && (self.case == other.case || self.case == Case::Folded) {
            return true;
        }
        self.case == other.case && product::covers((&self.prefix, &self.rest), (&other.prefix, &other.rest))
    }
}
