//! Where candidates for an overlap stand in the index: by what all files of a pattern begin with, folded to one case.

use super::{Pattern, PatternForm, set};

/// Longest beginning that the index keeps, in bytes. Longer ones share a place in it, which only makes more candidates.
const INDEXED: usize = 512;

/// What is looked up in the index for a pattern that may be of another checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// Beginnings, each looked up exactly.
    pub shorter: Vec<String>,
    /// The range of longer ones, from the first text up to the second; see [`Pattern::longer_prefixes`].
    pub longer: Option<(String, String)>,
}

/// A beginning as the index keeps it.
pub(super) fn kept(prefix: &str) -> String {
    let folded: String = prefix.chars().map(set::fold).collect();
    folded[..folded.floor_char_boundary(INDEXED.min(folded.len()))].to_owned()
}

/// A beginning and everything that it begins with.
pub(super) fn shorter(prefix: &str) -> Vec<String> {
    let ends = prefix.char_indices().map(|(at, _)| at).chain([prefix.len()]);
    ends.map(|end| prefix[..end].to_owned()).collect()
}

/// The range of what is longer than a beginning: up to, but without, the second text. An empty end is none.
pub(super) fn longer(prefix: &str) -> (String, String) {
    let begin = prefix.to_owned();
    let mut end = begin.clone();
    while let Some(last) = end.pop() {
        // Over the surrogates, which no text has.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            end.push(next);
            break;
        }
    }
    (begin, end)
}

impl Pattern {
    /// What of the same checkout may overlap this pattern.
    pub fn candidates(&self) -> Candidates {
        self.beginning_with(&self.prefix())
    }

    /// What of a checkout may overlap this pattern of another one whose top is the directory `dir` of that.
    pub fn candidates_around(&self, dir: &str) -> Candidates {
        self.beginning_with(&kept(&format!("{dir}/{}", self.prefix)))
    }

    /// What of a checkout may overlap this pattern, where the top of that is the directory `dir` of this pattern's; nothing
    /// if this pattern has no file below that.
    pub fn candidates_in(&self, dir: &str) -> Option<Candidates> {
        let whole: String = dir.chars().chain(['/']).map(set::fold).collect();
        let own = self.folded()?;
        if let Some(inside) = own.prefix.strip_prefix(whole.as_str()) {
            return Some(self.beginning_with(&kept(inside)));
        }
        let standing = own.rest.walk(whole.strip_prefix(own.prefix.as_str())?);
        // Anything may follow: all of that checkout is compared.
        let all = Candidates { shorter: vec![String::new()], longer: Some((String::new(), String::new())) };
        (!standing.steps.is_empty()).then_some(all)
    }

    fn beginning_with(&self, prefix: &str) -> Candidates {
        Candidates { shorter: shorter(prefix), longer: (self.form != PatternForm::Path).then(|| longer(prefix)) }
    }
}
