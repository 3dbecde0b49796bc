//! Character sets: the characters that one step of a pattern accepts.

use std::sync::LazyLock;

use super::Case;

/// How the characters of a pattern are represented in its automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As typed.
    Typed,
    /// Case-folded: a class names characters in either case, so `[!a]` accepts neither `a` nor `A`.
    Folded,
    /// The folded forms of all texts that the typed pattern matches: `[!a]` accepts `A`, whose folded form is `a`.
    FoldOfTyped,
}

impl From<Case> for Spelling {
    fn from(case: Case) -> Spelling {
        match case {
            Case::Kept => Spelling::Typed,
            Case::Folded => Spelling::Folded,
        }
    }
}

/// From this character on, characters are their own fold: file names of programs do not use cased characters beyond it.
const FOLDED_BELOW: char = '\u{2000}';

/// The case-folded form of a character.
pub(super) fn fold(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    if c >= FOLDED_BELOW {
        return c;
    }
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

/// The characters that one step accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// One character.
    One(char),
    /// Any character within a segment.
    Inside,
    /// Any character, including slashes.
    Any,
    /// The characters of these ranges, sorted and disjoint; never a slash.
    Of(Vec<(char, char)>),
}

impl Label {
    /// The label of a class as typed.
    pub(super) fn class(typed: &[(char, char)], negated: bool, spelling: Spelling) -> Label {
        let mut named = typed.to_vec();
        if spelling == Spelling::Folded {
            named.extend(folds(typed));
        }
        let named = joined(named);
        let mut ranges = without_slash(if negated { complement(&named) } else { named });
        if spelling == Spelling::FoldOfTyped {
            let folds: Vec<_> = folds(&ranges).collect();
            ranges.extend(folds);
            ranges = joined(ranges);
        }
        if spelling != Spelling::Typed {
            // Drop characters that no folded text contains, because they would count as an overlap of two classes.
            ranges = ranges.iter().flat_map(|(low, high)| shared(*low, *high, &SPELLINGS)).collect();
        }
        Label::Of(ranges)
    }

    pub(super) fn takes(&self, c: char) -> bool {
        match self {
            Label::One(one) => *one == c,
            Label::Inside => c != '/',
            Label::Any => true,
            Label::Of(ranges) => {
                let at = ranges.partition_point(|(_, high)| *high < c);
                ranges.get(at).is_some_and(|(low, _)| *low <= c)
            }
        }
    }

    /// The ranges of a label; empty for `Inside` and `Any`.
    pub(super) fn ranges(&self) -> Vec<(char, char)> {
        match self {
            Label::One(c) => vec![(*c, *c)],
            Label::Of(ranges) => ranges.clone(),
            Label::Inside | Label::Any => Vec::new(),
        }
    }
}

/// The folded forms of the characters in these ranges.
fn folds(ranges: &[(char, char)]) -> impl Iterator<Item = (char, char)> + '_ {
    ranges.iter().flat_map(|(low, high)| *low..=(*high).min(FOLDED_BELOW)).map(fold).map(|c| (c, c))
}

/// The characters that a folded text can contain.
static SPELLINGS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let others = ('\0'..FOLDED_BELOW).filter(|c| fold(*c) != *c).map(|c| (c, c)).collect();
    complement(&joined(others))
});

/// Representatives of the characters that two labels share: a slash and a dot, because they decide whether a text is a
/// path, and one of all others.
pub(super) fn common(one: &Label, two: &Label) -> impl Iterator<Item = char> {
    let both = |c: char| one.takes(c) && two.takes(c);
    let other = match (one, two) {
        (Label::One(c), label) | (label, Label::One(c)) => (!matches!(c, '/' | '.') && label.takes(*c)).then_some(*c),
        (Label::Of(ranges), label) | (label, Label::Of(ranges)) => {
            let plain = ('a'..='z').chain('0'..='9').find(|c| both(*c));
            let any = || {
                let chars = ranges.iter().flat_map(|(low, high)| meeting(*low, *high, label));
                chars.flat_map(|(low, high)| low..=high).find(|c| *c != '.')
            };
            plain.or_else(any)
        }
        _ => Some('a'),
    };
    let special = |c: char| both(c).then_some(c);
    [other, special('.'), special('/')].into_iter().flatten()
}

/// The parts of a range that a label also accepts.
fn meeting(low: char, high: char, label: &Label) -> Vec<(char, char)> {
    match label {
        Label::Of(ranges) => shared(low, high, ranges),
        _ => vec![(low, high)],
    }
}

/// The parts of a range that lie in these ranges.
fn shared(low: char, high: char, ranges: &[(char, char)]) -> Vec<(char, char)> {
    let parts = ranges.iter().map(|(from, to)| (low.max(*from), high.min(*to)));
    parts.filter(|(from, to)| from <= to).collect()
}

fn next(c: char) -> Option<char> {
    if c == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(c) + 1) }
}

fn previous(c: char) -> Option<char> {
    if c == '\u{e000}' { Some('\u{d7ff}') } else { u32::from(c).checked_sub(1).and_then(char::from_u32) }
}

/// Sorts and merges ranges, so that no two touch.
fn joined(mut ranges: Vec<(char, char)>) -> Vec<(char, char)> {
    ranges.sort_unstable();
    let mut out: Vec<(char, char)> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match out.last_mut() {
            Some((_, end)) if low <= *end || next(*end) == Some(low) => *end = (*end).max(high),
            _ => out.push((low, high)),
        }
    }
    out
}

/// All characters except NUL outside these sorted ranges.
fn complement(ranges: &[(char, char)]) -> Vec<(char, char)> {
    let mut out = Vec::new();
    let mut from = Some('\u{1}');
    for (low, high) in ranges {
        if let (Some(start), Some(end)) = (from, previous(*low))
            && start <= end
        {
            out.push((start, end));
        }
        from = next(*high);
    }
    out.extend(from.map(|start| (start, char::MAX)));
    out
}

fn without_slash(ranges: Vec<(char, char)>) -> Vec<(char, char)> {
    let mut out = Vec::with_capacity(ranges.len() + 1);
    for (low, high) in ranges {
        if low < '/' {
            out.push((low, high.min('.')));
        }
        if high > '/' {
            out.push((low.max('0'), high));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_never_takes_a_slash() {
        for (ranges, negated) in [(&[('+', '9')][..], false), (&[('a', 'z')], true), (&[], true)] {
            let label = Label::class(ranges, negated, Spelling::Typed);
            assert!(!label.takes('/') && label.takes('0'), "{label:?}");
        }
    }

    #[test]
    fn a_class_takes_what_it_says() {
        let label = Label::class(&[('a', 'c'), ('b', 'd'), ('x', 'x')], false, Spelling::Typed);
        assert_eq!(label, Label::Of(vec![('a', 'd'), ('x', 'x')]));
        let not = Label::class(&[('a', 'd')], true, Spelling::Typed);
        assert!(!not.takes('b') && not.takes('e') && not.takes('\u{10ffff}') && !not.takes('\0'));
        let folded = Label::class(&[('A', 'B')], true, Spelling::Folded);
        assert!(!folded.takes('a') && folded.takes('c'));
    }

    #[test]
    fn what_two_classes_share_is_never_missed_for_its_case() {
        // The first class only leaves `a` in another case, which a folded text does not contain.
        let one = Label::class(&[('\u{1}', '@'), ('B', char::MAX)], true, Spelling::Folded);
        assert_eq!(common(&one, &Label::Inside).collect::<Vec<_>>(), Vec::<char>::new());
    }
}
