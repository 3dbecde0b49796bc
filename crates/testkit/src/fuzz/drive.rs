//! The fuzz driver: replays the corpus, then tries mutations of it.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::mutate::Mutator;
use super::{TARGETS, Target};
use crate::report::{Budget, Section};

/// The maximum number of attempts to shorten a failing input.
const SHRINKS: usize = 4_000;

pub(super) fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz-corpus").join(target)
}

/// The corpus of a target, by file name.
pub(super) fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let dir = corpus(target);
    let listed = std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut found: Vec<_> = listed
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "{} has no seed", dir.display());
    found
}

/// Whether a target accepts an input without a panic.
fn holds(target: &Target, input: &[u8]) -> bool {
    catch_unwind(|| (target.run)(input)).is_ok()
}

/// Shortens a failing input and formats it as a command that creates the corpus file.
fn told(target: &Target, mut input: Vec<u8>) -> String {
    // Halves first, then the lengths of multi-byte characters.
    let halves = std::iter::successors(Some(input.len() / 2), |size| Some(size / 2)).take_while(|size| *size > 4);
    let mut tries = 0;
    for size in halves.chain([4, 3, 2, 1]) {
        let mut at = 0;
        while at < input.len() && tries < SHRINKS {
            let mut shorter = input.clone();
            shorter.drain(at..(at + size).min(input.len()));
            tries += 1;
            if holds(target, &shorter) {
                at += if size > 4 { size } else { 1 };
            } else {
                input = shorter;
            }
        }
    }
    let name: u64 = input.iter().fold(0, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    // Octal escapes, which every printf supports.
    let bytes: String = input
        .iter()
        .map(|byte| match byte {
            b'%' => "%%".to_owned(),
            b' '..=b'~' if !b"'\\".contains(byte) => char::from(*byte).to_string(),
            other => format!("\\{other:03o}"),
        })
        .collect();
    format!(
        "the target `{0}` does not hold; the panic above says why. To keep the input:\n  \
         printf '{bytes}' > crates/testkit/fuzz-corpus/{0}/broke-{name:016x}",
        target.name
    )
}

/// Replays the corpus, then tries a tenth of a soak round. The inputs are the same in every run.
pub(super) fn check(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let seeds = seeds(name);
    for (file, input) in &seeds {
        assert!(holds(target, input), "the kept input {} breaks the target", corpus(name).join(file).display());
    }
    let seeds: Vec<Vec<u8>> = seeds.into_iter().map(|(_, input)| input).collect();
    if let Some(broken) = search(target, &seeds, &Mutator::new(20_330_518), target.tries / 10) {
        panic!("{}", told(target, broken));
    }
}

/// The first mutated input that fails.
fn search(target: &Target, seeds: &[Vec<u8>], mutator: &Mutator, tries: usize) -> Option<Vec<u8>> {
    (0..tries).map(|_| mutator.input(seeds)).find(|input| !holds(target, input))
}

/// Proves that the driver finds a planted defect.
pub(super) fn finds_a_planted_defect() {
    fn planted(input: &[u8]) {
        let Ok(text) = std::str::from_utf8(input) else { return };
        if text.starts_with("t-") && text.contains('\u{202e}') {
            // Without output on standard error, because this panic is expected.
            std::panic::resume_unwind(Box::new("planted"));
        }
    }
    let target = Target { name: "ids", run: planted, tries: 0 };
    let seeds: Vec<Vec<u8>> = seeds("ids").into_iter().map(|(_, input)| input).collect();
    let broken = search(&target, &seeds, &Mutator::new(1), 20_000).expect("it is found");
    let told = told(&target, broken);
    assert!(told.contains("printf 't-\\342\\200\\256' > crates/testkit/fuzz-corpus/ids/broke-"), "{told}");
}

/// Fuzzes all targets in turn until the time is over. A target that failed is not tried again.
pub(super) fn soak(budget: Budget) -> Section {
    let mut section = Section::new("Fuzzing");
    let start = Instant::now();
    let mut standing: Vec<(&Target, usize)> = TARGETS.iter().map(|target| (target, 0)).collect();
    let mut round = budget.seed.wrapping_mul(1_000_003);
    while !standing.is_empty() {
        standing.retain_mut(|(target, tried)| {
            round = round.wrapping_add(1);
            let seeds: Vec<Vec<u8>> = seeds(target.name).into_iter().map(|(_, input)| input).collect();
            *tried += target.tries;
            match search(target, &seeds, &Mutator::new(round), target.tries) {
                None => true,
                Some(input) => {
                    section.violation(told(target, input));
                    false
                }
            }
        });
        if start.elapsed() >= budget.time {
            break;
        }
    }
    for (target, tried) in standing {
        section.figure(&format!("inputs of {}", target.name), tried);
    }
    section
}
