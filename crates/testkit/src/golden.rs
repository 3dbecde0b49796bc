//! Golden files: what the cases of the conformance suite make the kernel say, compared with what is in the repository.
//!
//! Each line of a golden file is an example of one distinct thing that was said, with the case that provokes it. A case
//! fails if it no longer provokes the lines that name it, to the letter, or provokes something that no line is an example
//! of. Ids and the directory of the store are replaced first, so that a line does not depend on how many random numbers were
//! drawn before it.
//!
//! `TENURE_TEST_GOLDEN=write cargo test -p tenure-testkit --test conformance -- --skip evidence` rewrites the files; read
//! the diff before you keep it. With the name of a case it rewrites the lines of that case.

mod events;
mod refusals;
mod stable;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use serde_json::Value;
use tenure_core::Error;

use crate::conformance::Case;
use crate::fixture::{Engine, World};

thread_local! {
    /// What the case on this thread has provoked; none while no case is recorded.
    static SEEN: RefCell<Option<Vec<Value>>> = const { RefCell::new(None) };
}

/// What the recorded cases provoked, by their place in the suite.
static COLLECTED: Mutex<BTreeMap<usize, Collected>> = Mutex::new(BTreeMap::new());

/// What one case provoked.
struct Collected {
    case: &'static str,
    lines: Vec<Vec<Line>>,
}

/// One line of a golden file.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What it is an example of.
    pub(crate) key: String,
    /// The case that provokes it.
    pub(crate) case: String,
    /// The whole line, `case` included.
    pub(crate) text: String,
}

/// One golden file.
pub(crate) struct Golden {
    /// Its path in `crates`.
    pub(crate) path: &'static str,
    /// What a line of it is an example of.
    pub(crate) key: fn(&Value) -> String,
    /// The lines of a case that has ended, from what it was seen to provoke and from its store, with nothing in them that
    /// differs between runs.
    pub(crate) lines: fn(&World, &[Value]) -> Vec<Value>,
}

/// All golden files.
const FILES: &[Golden] = &[events::FILE, refusals::FILE];

/// The lines of each file, read once.
static GOLDEN: LazyLock<Vec<Vec<Line>>> = LazyLock::new(|| FILES.iter().map(Golden::read).collect());

impl Golden {
    fn place(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(self.path)
    }

    fn read(&self) -> Vec<Line> {
        let line = |text: &str| {
            let value: Value = serde_json::from_str(text).unwrap();
            Line { key: (self.key)(&value), case: value["case"].as_str().unwrap().to_owned(), text: text.to_owned() }
        };
        std::fs::read_to_string(self.place()).unwrap().lines().map(line).collect()
    }

    /// The lines of a case that has ended, each once.
    fn of(&self, case: &str, world: &World, seen: &[Value]) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        let mut texts = BTreeSet::new();
        for mut value in (self.lines)(world, seen) {
            let key = (self.key)(&value);
            value["case"] = case.into();
            let text = value.to_string();
            if texts.insert(text.clone()) {
                lines.push(Line { key, case: case.to_owned(), text });
            }
        }
        lines
    }

    fn check(&self, case: &str, golden: &[Line], provoked: &[Line]) {
        let known: BTreeSet<&str> = golden.iter().map(|line| line.key.as_str()).collect();
        let now: BTreeSet<&str> = provoked.iter().map(|line| line.text.as_str()).collect();
        let missing = golden.iter().filter(|line| line.case == case && !now.contains(line.text.as_str()));
        let unknown = provoked.iter().filter(|line| !known.contains(line.key.as_str()));
        let missing: Vec<String> = missing.map(|line| format!("- {}", line.text)).collect();
        let unknown: Vec<String> = unknown.map(|line| format!("+ {}", line.text)).collect();
        assert!(
            missing.is_empty() && unknown.is_empty(),
            "{case} differs from crates/{} (TENURE_TEST_GOLDEN=write rewrites it):\n{}",
            self.path,
            [missing, unknown].concat().join("\n")
        );
    }

    /// Replaces the lines of the cases that ran.
    fn write(&self, collected: &BTreeMap<usize, Collected>, file: usize) {
        let ran: BTreeSet<&str> = collected.values().map(|one| one.case).collect();
        let mut lines: BTreeMap<String, String> = BTreeMap::new();
        let kept = self.read().into_iter().filter(|line| !ran.contains(line.case.as_str()));
        // The first case that provokes it gives the example.
        for line in kept.chain(collected.values().flat_map(|one| one.lines[file].iter().cloned())) {
            lines.entry(line.key).or_insert(line.text);
        }
        let text: String = lines.into_values().flat_map(|line| [line, "\n".to_owned()]).collect();
        std::fs::write(self.place(), text).unwrap();
    }
}

/// Runs a case. On the first of its engines, what it provokes is compared with the golden files, or written.
pub fn run(position: usize, case: &'static Case, engine: Engine) {
    // What a random walk meets is met elsewhere too, and by far fewer lines.
    let is_random = case.name.contains("random");
    let is_recorded = engine == case.engines[0] && engine != Engine::Postgres && !is_random;
    if !is_recorded && writes() {
        return;
    }
    let world = World::new(engine);
    if !is_recorded {
        return (case.run)(&world);
    }
    SEEN.set(Some(Vec::new()));
    (case.run)(&world);
    let seen = SEEN.take().unwrap_or_default();
    // Who comes first in a race, and so what is said to whom, is not the same in every run.
    let lines = |file: &Golden| if world.has_raced() { Vec::new() } else { file.of(case.name, &world, &seen) };
    let lines: Vec<Vec<Line>> = FILES.iter().map(lines).collect();
    if writes() {
        COLLECTED.lock().unwrap().insert(position, Collected { case: case.name, lines });
        return;
    }
    for (at, file) in FILES.iter().enumerate() {
        file.check(case.name, &GOLDEN[at], &lines[at]);
    }
}

/// Writes the golden files, where that was asked for.
pub fn finish() {
    let collected = COLLECTED.lock().unwrap();
    if !collected.is_empty() {
        FILES.iter().enumerate().for_each(|(position, file)| file.write(&collected, position));
    }
}

/// Notes an error that the case on this thread has provoked.
pub(crate) fn saw(error: &Error) {
    SEEN.with_borrow_mut(|seen| {
        if let Some(seen) = seen {
            seen.push(refusals::line(error));
        }
    });
}

fn writes() -> bool {
    std::env::var("TENURE_TEST_GOLDEN").is_ok_and(|value| value == "write")
}
