//! Patterns: any bytes parse to a pattern with one normal form, or are refused. Two overlapping patterns share a path
//! that matches both.

use tenure_core::pattern::{Case, Pattern};

use super::words::refused;

/// Two lines, each a pattern.
pub(super) fn patterns(input: &[u8]) {
    let words = String::from_utf8_lossy(input);
    let mut lines = words.splitn(2, '\n');
    for case in [Case::Kept, Case::Folded] {
        let read: Vec<Pattern> = lines.clone().filter_map(|typed| one(typed, case)).collect();
        if let [one, two] = read.as_slice() {
            pair(one, two);
            pair(one, one);
        }
    }
    let _ = lines.next();
}

fn one(typed: &str, case: Case) -> Option<Pattern> {
    match Pattern::parse(typed, case) {
        Ok(pattern) => {
            let again = Pattern::parse(pattern.text(), case).unwrap();
            assert_eq!((again.text(), again.form()), (pattern.text(), pattern.form()));
            assert!(pattern.shorter_prefixes().contains(&pattern.prefix()));
            Some(pattern)
        }
        Err(error) => {
            refused(&error);
            None
        }
    }
}

fn pair(one: &Pattern, two: &Pattern) {
    let met = one.overlap(two);
    assert_eq!(met.is_some(), two.overlap(one).is_some());
    let Some(path) = met else { return };
    assert!(one.matches(&path) && two.matches(&path), "{path:?}");
    assert!(path.split('/').all(|segment| !matches!(segment, "" | "." | "..")), "{path:?}");
    let prefix = two.prefix();
    let longer = one.longer_prefixes().is_some_and(|(from, to)| prefix >= from && (to.is_empty() || prefix < to));
    assert!(longer || one.shorter_prefixes().contains(&prefix), "the index does not lead from {one:?} to {two:?}");
}
