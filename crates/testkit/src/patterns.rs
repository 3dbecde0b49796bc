//! Compares random pairs of patterns with a brute-force oracle, which tries every short path without automata.
//!
//! A pair agrees if the common path that Tenure names matches both patterns by the oracle, and if no short path matches
//! both when Tenure names none. Each pattern is tried on all paths once; a pair costs one comparison of two bit sets.

use std::time::Instant;

use tenure_core::pattern::{Case, Pattern};

use crate::evidence::{Check, Soak};
use crate::report::{Budget, Section};
use crate::sim::dice::Dice;

pub(crate) const CHECKS: &[Check] = &[Check { name: "inv_r3_random_pairs_agree_with_brute_force", run: check }];

pub(crate) const SOAKS: &[Soak] = &[Soak { name: "patterns", share: 1, run: soak }];

/// The maximum length of a path.
const LONGEST: usize = 6;
/// The number of patterns per round.
const PATTERNS: usize = 400;
/// A placeholder for a typed `**`: expanding alternatives may put two single stars side by side, which mean no more
/// than one.
const DEEP: &str = "\u{1}";
/// The minimum number of pairs in a soak test.
const LEAST: usize = 1_000_000;

fn check() {
    let paths = paths(LONGEST);
    for seed in 1..=2 {
        round(seed, 20_000, &paths).unwrap();
    }
}

fn soak(budget: Budget) -> Section {
    let mut section = Section::new("Pattern pairs against brute force");
    let start = Instant::now();
    let paths = paths(LONGEST);
    let (mut pairs, mut meeting) = (0, 0);
    for seed in budget.seed.. {
        match round(seed, 50_000, &paths) {
            Ok(met) => meeting += met,
            Err(violation) => {
                section.violation(violation);
                break;
            }
        }
        pairs += 50_000;
        if pairs >= LEAST && start.elapsed() >= budget.time {
            break;
        }
    }
    section.figure("pairs", pairs);
    section.figure("pairs with a path in common", meeting);
    section.figure("paths that each pattern was tried on", paths.len());
    section
}

/// A pattern, and the short paths that match it.
struct Tried {
    typed: String,
    ours: Pattern,
    globs: Vec<String>,
    hits: Vec<u64>,
}

/// Compares some pairs; returns how many of them overlap.
fn round(seed: u64, pairs: usize, paths: &[String]) -> Result<usize, String> {
    let dice = Dice::new(seed);
    let all: Vec<Tried> = (0..PATTERNS).map(|_| tried(&dice, paths)).collect::<Result<_, _>>()?;
    let mut meeting = 0;
    for _ in 0..pairs {
        let (one, two) = (dice.one(&all), dice.one(&all));
        let brute = one.hits.iter().zip(&two.hits).any(|(a, b)| a & b != 0);
        let found = one.ours.overlap(&two.ours);
        let told = format!("seed {seed}: {} and {}", one.typed, two.typed);
        match &found {
            None if brute => return Err(format!("{told}: a path is in both, and none was found")),
            Some(path) if !(matches(&one.globs, path) && matches(&two.globs, path)) => {
                return Err(format!("{told}: `{path}` is not in both"));
            }
            _ => meeting += usize::from(found.is_some()),
        }
        if one.ours.covers(&two.ours) && one.hits.iter().zip(&two.hits).any(|(a, b)| !a & b != 0) {
            return Err(format!("{told}: the first does not cover the second"));
        }
    }
    Ok(meeting)
}

fn tried(dice: &Dice, paths: &[String]) -> Result<Tried, String> {
    let (typed, ours) = loop {
        let typed = typed(dice);
        match Pattern::parse(&typed, Case::Kept) {
            Ok(ours) => break (typed, ours),
            // Some patterns combine too many alternatives.
            Err(error) if error.code() == "pattern_limit" => {}
            Err(error) => return Err(format!("{typed}: {}", error.message())),
        }
    };
    let globs = match typed.strip_prefix("glob:") {
        Some(glob) => {
            expand(&glob.split('/').map(|part| if part == "**" { DEEP } else { part }).collect::<Vec<_>>().join("/"))
        }
        None if typed.ends_with('/') => vec![format!("{typed}{DEEP}")],
        None => vec![typed.clone()],
    };
    let mut hits = vec![0; paths.len().div_ceil(64)];
    for (at, path) in paths.iter().enumerate() {
        let hit = matches(&globs, path);
        if hit != ours.matches(path) {
            return Err(format!("{typed} on {path}: brute force says {hit}"));
        }
        hits[at / 64] |= u64::from(hit) << (at % 64);
    }
    Ok(Tried { typed, ours, globs, hits })
}

/// A random pattern of any form.
fn typed(dice: &Dice) -> String {
    let name = |dice: &Dice| (0..=dice.below(3)).map(|_| *dice.one(&["a", "b"])).collect::<String>();
    let names = |dice: &Dice| (0..=dice.below(3)).map(|_| name(dice)).collect::<Vec<_>>().join("/");
    match dice.below(10) {
        0 => names(dice),
        1 => format!("{}/", names(dice)),
        _ => {
            let parts = ["a", "b", ".", "*", "?", "[a]", "[!a]", "[a-b]", "{a,b}", "{,a}", "{a/b,b}", "{*b,{a,?}}"];
            let segments: Vec<String> = (0..=dice.below(3))
                .map(|_| {
                    if dice.once_in(5) {
                        return "**".to_owned();
                    }
                    let mut text = String::new();
                    for _ in 0..=dice.below(4) {
                        let part = *dice.one(&parts);
                        if !(text.ends_with('*') && part == "*") {
                            text.push_str(part);
                        }
                    }
                    // Invalid names are refused or normalised, which other tests cover.
                    if text.chars().all(|c| c == '.') { "a".to_owned() } else { text }
                })
                .collect();
            format!("glob:{}", segments.join("/"))
        }
    }
}

/// All paths of a small alphabet up to a length.
fn paths(length: usize) -> Vec<String> {
    let mut layer = vec![String::new()];
    let mut all = Vec::new();
    for _ in 0..length {
        layer = layer.iter().flat_map(|path| ["a", "b", ".", "/"].map(|c| format!("{path}{c}"))).collect();
        all.extend(layer.iter().filter(|path| is_path(path)).cloned());
    }
    all
}

fn is_path(text: &str) -> bool {
    text.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

/// Expands the alternatives of a glob into globs without braces.
fn expand(glob: &str) -> Vec<String> {
    let Some(open) = glob.find('{') else { return vec![glob.to_owned()] };
    let (mut depth, mut ways, mut from) = (0, Vec::new(), open + 1);
    for (at, c) in glob.char_indices().skip(open) {
        match c {
            '{' => depth += 1,
            ',' if depth == 1 => {
                ways.push(&glob[from..at]);
                from = at + 1;
            }
            '}' if depth > 1 => depth -= 1,
            '}' => {
                ways.push(&glob[from..at]);
                let (before, after) = (&glob[..open], &glob[at + 1..]);
                return ways.iter().flat_map(|way| expand(&format!("{before}{way}{after}"))).collect();
            }
            _ => {}
        }
    }
    vec![glob.to_owned()]
}

fn matches(globs: &[String], path: &str) -> bool {
    let path: Vec<&str> = path.split('/').collect();
    globs.iter().any(|glob| segments(&glob.split('/').collect::<Vec<_>>(), &path))
}

fn segments(glob: &[&str], path: &[&str]) -> bool {
    match (glob, path) {
        ([], []) => true,
        ([DEEP], path) => !path.is_empty(),
        ([DEEP, rest @ ..], path) => (0..=path.len()).any(|skip| segments(rest, &path[skip..])),
        ([first, rest @ ..], [name, names @ ..]) => {
            let (first, name): (Vec<char>, Vec<char>) = (first.chars().collect(), name.chars().collect());
            within(&first, &name) && segments(rest, names)
        }
        _ => false,
    }
}

/// Matches one segment. It supports only the wildcards of the random patterns.
fn within(glob: &[char], name: &[char]) -> bool {
    match glob {
        [] => name.is_empty(),
        ['*', rest @ ..] => (0..=name.len()).any(|skip| within(rest, &name[skip..])),
        ['?', rest @ ..] => !name.is_empty() && within(rest, &name[1..]),
        ['[', '!', no, ']', rest @ ..] => name.first().is_some_and(|c| c != no) && within(rest, &name[1..]),
        ['[', from, '-', to, ']', rest @ ..] => {
            name.first().is_some_and(|c| (from..=to).contains(&c)) && within(rest, &name[1..])
        }
        ['[', only, ']', rest @ ..] => name.first() == Some(only) && within(rest, &name[1..]),
        [c, rest @ ..] => name.first() == Some(c) && within(rest, &name[1..]),
    }
}
