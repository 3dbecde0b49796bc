//! Names of agents as people see them: a long one in its short form.

use std::collections::BTreeMap;

use tenure_core::name;

/// The short forms of the agents of a project.
#[derive(Debug, Default)]
pub(super) struct ShortNames(BTreeMap<String, String>);

impl ShortNames {
    pub(super) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> ShortNames {
        let forms = name::short_forms(names);
        ShortNames(forms.into_iter().map(|(name, short)| (name.to_owned(), short)).collect())
    }

    /// A text with the short form in place of each name.
    pub(super) fn shorten(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._:-".contains(c);
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_of_name) {
            let (before, from) = rest.split_at(start);
            let (word, after) = from.split_at(from.find(|c| !is_of_name(c)).unwrap_or(from.len()));
            // A name at the end of a clause.
            let name = word.trim_end_matches(['.', ':', '-', '_']);
            out.push_str(before);
            match self.0.get(name) {
                Some(short) => out.push_str(&format!("{short}{}", &word[name.len()..])),
                None => out.push_str(word),
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_are_shortened() {
        let name = "claude-5f0c2b7e-1111-4c9f-8d2e-000000000001";
        let names = ShortNames::of([name, "person:ann"]);
        assert_eq!(
            names.shorten(&format!("held by {name}: alive, {name}.2 — “{name}”.")),
            format!("held by claude-5f0c: alive, {name}.2 — “claude-5f0c”.")
        );
        assert_eq!(ShortNames::default().shorten(name), name);
    }
}
