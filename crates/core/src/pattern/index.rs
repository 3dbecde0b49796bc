//! The index keys under which overlap candidates are stored: the common prefix of a pattern's files, case-folded.

use super::{Pattern, PatternForm, set};

/// The longest prefix in the index, in bytes. Longer prefixes share a key, which only adds candidates.
const INDEXED: usize = 512;

/// The index lookups for a pattern, possibly in another checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternCandidates {
    /// Prefixes that are looked up exactly.
    pub shorter: Vec<String>,
    /// The range of longer prefixes, from the first text up to but excluding the second; see
    /// [`Pattern::longer_prefixes`].
    pub longer: Option<(String, String)>,
}

/// A prefix as the index stores it.
pub(super) fn kept(prefix: &str) -> String {
    let folded: String = prefix.chars().map(set::fold).collect();
    folded[..folded.floor_char_boundary(INDEXED.min(folded.len()))].to_owned()
}

/// A prefix and all its own prefixes.
pub(super) fn shorter(prefix: &str) -> Vec<String> {
    let ends = prefix.char_indices().map(|(at, _)| at).chain([prefix.len()]);
    ends.map(|end| prefix[..end].to_owned()).collect()
}

/// The range of texts that extend a prefix: up to but excluding the second text. An empty end means no upper bound.
pub(super) fn longer(prefix: &str) -> (String, String) {
    let begin = prefix.to_owned();
    let mut end = begin.clone();
    while let Some(last) = end.pop() {
        // Skip the surrogates, which no text contains.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            end.push(next);
            break;
        }
    }
    (begin, end)
}

impl Pattern {
    /// The candidates in the same checkout.
    pub fn candidates(&self) -> PatternCandidates {
        self.beginning_with(&self.prefix())
    }

    /// The candidates in another checkout that contains this pattern's checkout as the directory `dir`.
    pub fn candidates_around(&self, dir: &str) -> PatternCandidates {
        self.beginning_with(&kept(&format!("{dir}/{}", self.prefix)))
    }

    /// The candidates in a checkout that lies in the directory `dir` of this pattern's checkout; `None` if this pattern
    /// matches no file below it.
    pub fn candidates_in(&self, dir: &str) -> Option<PatternCandidates> {
        let whole: String = dir.chars().chain(['/']).map(set::fold).collect();
        let own = self.folded()?;
        if let Some(inside) = own.prefix.strip_prefix(whole.as_str()) {
            return Some(self.beginning_with(&kept(inside)));
        }
        let standing = own.rest.walk(whole.strip_prefix(own.prefix.as_str())?);
        // Any name can follow, so all holds of that checkout are compared.
        let all = PatternCandidates { shorter: vec![String::new()], longer: Some((String::new(), String::new())) };
        (!standing.steps.is_empty()).then_some(all)
    }

    fn beginning_with(&self, prefix: &str) -> PatternCandidates {
        PatternCandidates { shorter: shorter(prefix), longer: (self.form != PatternForm::Path).then(|| longer(prefix)) }
    }
}
