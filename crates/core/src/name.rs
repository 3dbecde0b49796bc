//! Names of agents and people: one grammar, checked in one place.

mod short;

pub use short::{is_long, short_forms};

use crate::error::{Code, Error, Result};
use crate::id::{Id, IdKind};
use crate::text;

/// The id kind of agent and person names.
#[derive(Debug)]
pub enum AgentNameKind {}

impl IdKind for AgentNameKind {
    fn check(text: &str) -> Result<&str> {
        check(text)
    }
}

/// The id kind of project keys.
#[derive(Debug)]
pub enum ProjectKeyKind {}

impl IdKind for ProjectKeyKind {
    fn check(text: &str) -> Result<&str> {
        Ok(text)
    }
}

/// The name of an agent or a person. Principals use the same names.
pub type AgentName = Id<AgentNameKind>;

/// The key of a project: `name:…`, `id:…`, `url:…` or `dir:…`.
pub type ProjectKey = Id<ProjectKeyKind>;

/// The longest name, in bytes.
pub const NAME_MAX: usize = 64;

/// The prefix of people's names.
pub const PERSON: &str = "person:";

/// Whether a name is a person's.
pub fn is_person(name: &str) -> bool {
    name.starts_with(PERSON)
}

/// Checks a name that a caller supplied: `[a-z0-9][a-z0-9._:-]{0,63}`.
pub fn check(name: &str) -> Result<&str> {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let rest = bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._:-".contains(&b));
    if first && rest && name.len() <= NAME_MAX && name != PERSON {
        return Ok(name);
    }
    Err(Error::usage(Code::BadName, format!("`{}` is not a valid name", text::excerpt(name)))
        .hint("A name has 1 to 64 of the characters a-z 0-9 . _ : - and starts with a letter or digit."))
}

/// The known name most similar to an unknown one, if any is similar enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(likeness, _)| *likeness > 0.7)
        // Ties go to the first in alphabetical order, so that every run gives the same answer.
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)))
        .map(|(_, known)| known)
}

/// Whether two names are easily taken for each other: they differ only in separators, or in one letter of a word of four
/// letters or more. Numbers and ids tell agents apart on purpose (`codex-1`, `codex-2`).
pub fn resemble(one: &str, two: &str) -> bool {
    if one == two || is_person(one) != is_person(two) {
        return false;
    }
    let is_separator = |c: char| !c.is_ascii_alphanumeric();
    let words = |name: &str| name.split(is_separator).map(str::to_owned).collect::<Vec<_>>();
    let (one, two) = (words(one), words(two));
    if one.concat() == two.concat() {
        return true;
    }
    let mut differing = one.iter().zip(&two).filter(|(a, b)| a != b);
    let is_word = |text: &str| text.len() >= 4 && text.chars().all(|c| c.is_ascii_alphabetic());
    match (differing.next(), differing.next()) {
        (Some((a, b)), None) if one.len() == two.len() => is_word(a) && is_word(b) && strsim::osa_distance(a, b) == 1,
        _ => false,
    }
}

/// Turns an id or user name that Tenure found, rather than was given, into a name: lowercase, with `-` for other
/// characters.
pub fn fit(found: &str) -> String {
    let mut name: String = found
        .chars()
        .flat_map(char::to_lowercase)
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || "._:-".contains(c) { c } else { '-' })
        .take(NAME_MAX)
        .collect();
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        name.insert(0, 'x');
        name.truncate(NAME_MAX);
    }
    name
}

/// Turns a found name into one with a prefix. An overlong name keeps its beginning and ends in a hash of the whole, so
/// that two long names that differ only at the end stay distinct.
pub fn fit_after(prefix: &str, found: &str) -> String {
    let kept: String = found
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c) { c } else { '-' })
        .collect();
    let room = NAME_MAX - prefix.len();
    if kept.len() <= room {
        return format!("{prefix}{kept}");
    }
    format!("{prefix}{}-{:016x}", &kept[..room - 17], fnv1a(found.as_bytes()))
}

/// FNV-1a over 64 bits: a short stable fingerprint for names and revisions. It gives no protection against an attacker.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Checks a project's name: `[a-z0-9][a-z0-9._-]{0,63}`.
pub fn project(name: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = name.bytes().next().is_some_and(plain)
        && name.len() <= 64
        && name.bytes().all(|byte| plain(byte) || b"._-".contains(&byte));
    if fits {
        return Ok(());
    }
    Err(Error::usage(Code::BadProjectName, format!("`{}` is not a project name", text::excerpt(name)))
        .entity(text::excerpt(name))
        .hint("A project name has 1 to 64 of the characters a-z 0-9 . _ - and starts with a letter or digit."))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_resemble_each_other_by_one_letter_or_a_separator() {
        for (one, two) in [
            ("amber", "ambre"),
            ("amber", "ember"),
            ("amber", "ambers"),
            ("codex-alpha", "codexalpha"),
            ("codex.alpha", "codex-alpha"),
            ("person:maria", "person:marta"),
        ] {
            assert!(resemble(one, two) && resemble(two, one), "{one} {two}");
        }
        for (one, two) in [
            ("amber", "amber"),
            ("codex-1", "codex-2"),
            ("claude-5f0c", "claude-5f0d"),
            ("a", "b"),
            ("person:maria", "maria"),
            ("amber-one", "ember-two"),
            ("amber", "amber-two"),
        ] {
            assert!(!resemble(one, two) && !resemble(two, one), "{one} {two}");
        }
    }

    #[test]
    fn a_name_that_is_none_has_a_nearest() {
        let known = ["codex-1", "codex-2", "claude-3f", "person:ann"];
        assert_eq!(nearest("codex2", known), Some("codex-2"));
        assert_eq!(nearest("codex-", known), Some("codex-1"));
        assert_eq!(nearest("zzz", known), None);
        assert_eq!(nearest("a", []), None);
    }

    proptest! {
        #[test]
        fn inv_i1_found_names_always_fit(found in ".{0,90}") {
            prop_assert!(check(&fit(&found)).is_ok() || fit(&found) == PERSON);
        }
    }
}
