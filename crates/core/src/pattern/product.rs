//! The product of two automata: a text that both accept, and whether one accepts everything that the other does.
//!
//! Only texts that are paths count: `{,a}/b` and `{,c}/b` both accept `/b`, which is not a path. So the product has a
//! third component, the four possible states of the current segment. It is what makes the answer exact.

use std::collections::{HashMap, HashSet};

use super::automaton::{Automaton, StateSet};
use super::set::common;

/// A pattern's literal prefix and the automaton of the rest.
type Half<'a> = (&'a str, &'a Automaton);

/// The number of states after which `covers` gives up.
const COMPARED_MAX: usize = 4_096;

/// The state of the current segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SegmentState {
    Start,
    Dot,
    DotDot,
    Name,
}

impl SegmentState {
    /// The state after one more character; `None` if no path continues this way.
    fn after(self, c: char) -> Option<SegmentState> {
        match (self, c) {
            (_, '\0') => None,
            (SegmentState::Name, '/') => Some(SegmentState::Start),
            (_, '/') => None,
            (SegmentState::Start, '.') => Some(SegmentState::Dot),
            (SegmentState::Dot, '.') => Some(SegmentState::DotDot),
            _ => Some(SegmentState::Name),
        }
    }

    fn after_text(text: &str) -> Option<SegmentState> {
        text.chars().try_fold(SegmentState::Start, SegmentState::after)
    }
}

/// A state of the product: the next step of each automaton, and the predecessor with the character that led here.
struct Pair {
    one: u32,
    two: u32,
    within: SegmentState,
    from: Option<(u32, char)>,
}

/// The visited pairs: a flat table if it is small, as it nearly always is.
enum SeenPairs {
    Flat(Vec<bool>),
    Wide(HashSet<usize>),
}

impl SeenPairs {
    fn of(size: usize) -> SeenPairs {
        if size <= 1 << 16 { SeenPairs::Flat(vec![false; size]) } else { SeenPairs::Wide(HashSet::new()) }
    }

    fn insert(&mut self, at: usize) -> bool {
        match self {
            SeenPairs::Flat(table) => !std::mem::replace(&mut table[at], true),
            SeenPairs::Wide(set) => set.insert(at),
        }
    }
}

/// A shortest path that both patterns match.
pub(super) fn witness(one: Half<'_>, two: Half<'_>) -> Option<String> {
    // The pattern with the shorter prefix first walks along the prefix of the other: literal text never multiplies
    // states.
    let (short, long) = if one.0.len() <= two.0.len() { (one, two) } else { (two, one) };
    let between = long.0.strip_prefix(short.0)?;
    let within = SegmentState::after_text(long.0)?;
    let (standing, other) = (short.1.walk(between), long.1.start());
    if standing.end && other.end && within == SegmentState::Name {
        return Some(long.0.to_owned());
    }
    let tail = walk_both((short.1, &standing), (long.1, &other), within)?;
    Some(format!("{}{tail}", long.0))
}

fn walk_both(
    (one, from_one): (&Automaton, &StateSet),
    (two, from_two): (&Automaton, &StateSet),
    within: SegmentState,
) -> Option<String> {
    let mut seen = SeenPairs::of(one.size() * two.size() * 4);
    let mut pairs: Vec<Pair> = Vec::new();
    let mut meet = |pairs: &mut Vec<Pair>, (ones, twos): (&[u32], &[u32]), within: SegmentState, from| {
        for a in ones {
            for b in twos {
                if seen.insert((*a as usize * two.size() + *b as usize) * 4 + within as usize) {
                    pairs.push(Pair { one: *a, two: *b, within, from });
                }
            }
        }
    };
    meet(&mut pairs, (&from_one.steps, &from_two.steps), within, None);
    let mut at = 0;
    while at < pairs.len() {
        let (a, b, within) = (one.step(pairs[at].one), two.step(pairs[at].two), pairs[at].within);
        let here = u32::try_from(at).ok()?;
        for c in common(&a.label, &b.label) {
            let Some(next) = within.after(c) else { continue };
            if a.end && b.end && next == SegmentState::Name {
                return Some(spell(&pairs, here, c));
            }
            meet(&mut pairs, (&a.next, &b.next), next, Some((here, c)));
        }
        at += 1;
    }
    None
}

fn spell(pairs: &[Pair], at: u32, last: char) -> String {
    let mut text = vec![last];
    let mut at = at;
    while let Some((before, c)) = pairs[at as usize].from {
        text.push(c);
        at = before;
    }
    text.iter().rev().collect()
}

/// Whether `one` matches every path that `two` does, as far as a bounded search can tell.
pub(super) fn covers(one: Half<'_>, two: Half<'_>) -> bool {
    let Some(between) = two.0.strip_prefix(one.0) else { return false };
    let Some(within) = SegmentState::after_text(two.0) else { return true };
    let standing = one.1.walk(between);
    if two.1.end && within == SegmentState::Name && !standing.end {
        return false;
    }
    let alphabet = alphabet(one.1, two.1);
    let mut known: HashMap<(u32, SegmentState), Vec<StateSet>> = HashMap::new();
    let mut open: Vec<(u32, SegmentState, StateSet)> =
        two.1.first.iter().map(|step| (*step, within, standing.clone())).collect();
    let mut compared = 0;
    while let Some((step, within, standing)) = open.pop() {
        let before = known.entry((step, within)).or_default();
        if before.contains(&standing) {
            continue;
        }
        before.push(standing.clone());
        compared += 1;
        if compared > COMPARED_MAX {
            return false;
        }
        let step = two.1.step(step);
        for c in alphabet.iter().copied().filter(|c| step.label.takes(*c)) {
            let Some(next) = within.after(c) else { continue };
            let standing = one.1.after(&standing, c);
            if step.end && next == SegmentState::Name && !standing.end {
                return false;
            }
            open.extend(step.next.iter().map(|after| (*after, next, standing.clone())));
        }
    }
    true
}

/// One representative of each class of characters that the labels of two automata distinguish.
fn alphabet(one: &Automaton, two: &Automaton) -> Vec<char> {
    let ranges = one.steps.iter().chain(&two.steps).flat_map(|step| step.label.ranges());
    let mut edges: Vec<u32> = ranges.flat_map(|(low, high)| [u32::from(low), u32::from(high) + 1]).collect();
    edges.extend([1, u32::from('.'), u32::from('/'), u32::from('/') + 1, 0x11_0000]);
    edges.sort_unstable();
    edges.dedup();
    edges.windows(2).filter_map(|pair| (pair[0]..pair[1]).find_map(char::from_u32)).collect()
}
