//! Replaces values that vary between runs and machines.

use std::collections::BTreeMap;

use serde_json::Value;
use tenure_core::id::{ALPHABET, LONGEST, SHORTEST};

use crate::fixture::World;

/// The prefix letters of ids.
const LETTERS: &str = "thnmgwkpcs";

/// The maximum length of a text in a line, in characters.
const TEXT_MAX: usize = 300;
/// The maximum number of list items in a line.
const ITEMS_MAX: usize = 3;

/// Replaces ids by numbers in order of appearance and the directories of stores by `/world`, and shortens long values.
pub(super) fn stable(value: &mut Value) {
    let directory = std::env::temp_dir().join(World::PREFIX);
    walk(value, &mut |text| elsewhere(text, directory.to_str().unwrap()));
    shorten(value);
    let mut ids = BTreeMap::new();
    walk(value, &mut |text| numbered(text, &mut ids));
}

/// Transforms every text of a value, including field names.
pub(super) fn walk(value: &mut Value, change: &mut impl FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, change)),
        Value::Object(fields) => {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(key, mut value)| {
                    walk(&mut value, change);
                    (change(&key), value)
                })
                .collect();
        }
        _ => {}
    }
}

/// Removes the directories that tests create. Their names are a prefix and six characters.
fn elsewhere(text: &str, directory: &str) -> String {
    let mut parts = text.split(directory);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "/world" + part.get(6..).unwrap_or_default())
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().count() > TEXT_MAX => {
            *text = text.chars().take(TEXT_MAX).chain("…".chars()).collect();
        }
        Value::Array(items) => {
            items.truncate(ITEMS_MAX);
            items.iter_mut().for_each(shorten);
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

fn numbered(text: &str, ids: &mut BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = id_length(rest).filter(|_| !out.ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_'));
        let taken = length.unwrap_or(first.len_utf8());
        let (word, after) = rest.split_at(taken);
        if length.is_some() {
            let next = ids.len() + 1;
            let name = ids.entry(word.to_owned()).or_insert_with(|| format!("{first}-{next:05}"));
            out.push_str(name);
        } else {
            out.push_str(word);
        }
        rest = after;
    }
    out
}

/// The length of the id at the start of a text, if any.
fn id_length(text: &str) -> Option<usize> {
    let digits = text.strip_prefix(|letter| LETTERS.contains(letter))?.strip_prefix('-')?;
    let length = digits.bytes().take_while(|byte| ALPHABET.contains(byte)).count();
    let ends = digits[length..].chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
    ((SHORTEST..=LONGEST).contains(&length) && ends).then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_replaced_wherever_it_is() {
        let mut ids = BTreeMap::new();
        assert_eq!(numbered("t-7k3fq after h-abcde, t-7k3fq", &mut ids), "t-00001 after h-00002, t-00001");
        assert_eq!(numbered("at-7k3fq t-7k t-7k3fqi c-tests-x", &mut ids), "at-7k3fq t-7k t-7k3fqi c-tests-x");
    }
}
