//! Word splitting: one function for stored texts and for queries.

use std::collections::BTreeSet;

/// The longest word, in characters; a longer one is a blob.
const WORD_MAX: usize = 40;
/// The most distinct words kept of one text.
const WORDS_MAX: usize = 256;
/// Stop words.
const COMMON: [&str; 28] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "do", "for", "from", "has", "have", "if", "in", "is", "it",
    "not", "of", "on", "or", "so", "that", "the", "this", "to", "with",
];

/// The words of a text with their counts, sorted, at most 256 (the first to occur).
///
/// Letters become lowercase. A compound identifier (`readFile`, `read_file`) yields its parts and the whole. Scripts
/// without blanks between words yield their characters one by one. A plural becomes its singular, as far as a final `s`
/// tells.
pub fn words(text: &str) -> Vec<(String, u32)> {
    let mut found = in_order(text);
    found.sort();
    found
}

/// The same in order of first occurrence: a search that uses only some words takes the first ones.
pub fn in_order(text: &str) -> Vec<(String, u32)> {
    let mut found: Vec<(String, u32)> = Vec::new();
    for run in runs(text) {
        let parts = parts(run);
        let whole = (parts.len() > 1 && !run.chars().any(stands_alone)).then(|| parts.concat());
        for word in whole.into_iter().chain(parts).filter_map(stem) {
            if let Some((_, count)) = found.iter_mut().find(|(known, _)| *known == word) {
                *count = count.saturating_add(1);
            } else if found.len() < WORDS_MAX {
                found.push((word, 1));
            }
        }
    }
    found
}

/// The distinct words under which a text is found, without the wholes of compound identifiers: at most 256, the first to
/// occur. A long text is read only as far as its words are kept.
pub fn distinct(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for word in runs(text).flat_map(parts).filter_map(stem) {
        if found.len() == WORDS_MAX {
            break;
        }
        found.insert(word);
    }
    found
}

/// The runs of letters, digits and underscores.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

/// The word as it is kept; none for a stop word or a blob.
fn stem(word: String) -> Option<String> {
    let is_kept = !word.is_empty() && !COMMON.contains(&word.as_str()) && word.chars().count() <= WORD_MAX;
    is_kept.then(|| singular(word))
}

/// The parts of an identifier: split at underscores, before a capital after a small letter, and around each character
/// of a script without blanks between words.
fn parts(run: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut after_small = false;
    for c in run.chars() {
        let alone = stands_alone(c);
        if c == '_' || alone || (c.is_uppercase() && after_small) {
            parts.push(String::new());
        }
        if c != '_' {
            let part = parts.len() - 1;
            parts[part].extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
        }
        if alone {
            parts.push(String::new());
        }
        after_small = c.is_lowercase() || c.is_numeric();
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

fn singular(mut word: String) -> String {
    let plain =
        word.is_ascii() && word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us");
    if plain && word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Vec<String> {
        words(text).into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn names_give_their_parts_and_the_whole() {
        assert_eq!(of("readFile"), ["file", "read", "readfile"]);
        assert_eq!(of("read_file()"), ["file", "read", "readfile"]);
        assert_eq!(of("src/core/id.rs"), ["core", "id", "rs", "src"]);
        assert_eq!(of("HTTP2 port 8080"), ["8080", "http2", "port"]);
    }

    #[test]
    fn common_words_and_blobs_are_left_out_and_plurals_are_one() {
        assert_eq!(words("The tests test the test"), [("test".to_owned(), 3)]);
        assert_eq!(of("class status bus"), ["bus", "class", "status"]);
        assert_eq!(of(&format!("key {}", "x".repeat(41))), ["key"]);
        assert_eq!(words(&(0..999).map(|n| format!("w{n} ")).collect::<String>()).len(), WORDS_MAX);
    }

    #[test]
    fn scripts_without_blanks_are_found_by_their_characters() {
        assert!(of("数据库 Ärger").contains(&"库".to_owned()));
        assert!(of("Ärger").contains(&"ärger".to_owned()));
    }

    proptest! {
        #[test]
        fn inv_m2_any_text_has_words_of_bounded_size_in_order(text in "\\PC{0,400}") {
            let words = words(&text);
            prop_assert!(words.len() <= WORDS_MAX);
            prop_assert!(words.is_sorted_by(|a, b| a.0 < b.0));
            prop_assert!(words.iter().all(|(word, count)| *count > 0 && !word.is_empty()));
        }
    }
}
