//! Golden files: the events and refusals that the conformance cases produce, compared with the files in the repository.
//!
//! Each line of a golden file is an example of one distinct output, with the case that produces it. A case fails if it
//! no longer produces its lines exactly, or produces an output without an example. Ids and the store's directory are
//! replaced first, so that a line does not depend on how many random numbers were drawn before it.
//!
//! `TENURE_TEST_GOLDEN=write cargo test -p tenure-testkit --test conformance -- --skip evidence` rewrites the files;
//! read the diff before you commit it. With the name of a case it rewrites only the lines of that case.

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
    /// The errors of the case on this thread; `None` while no case is recorded.
    static SEEN: RefCell<Option<Vec<Value>>> = const { RefCell::new(None) };
}

/// The output of the recorded cases, by their position in the suite.
static COLLECTED: Mutex<BTreeMap<usize, Collected>> = Mutex::new(BTreeMap::new());

/// The output of one case.
struct Collected {
    case: &'static str,
    lines: Vec<Vec<Line>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The output class that the line is an example of.
    pub(crate) key: String,
    /// The case that produces it.
    pub(crate) case: String,
    /// The whole line, including `case`.
    pub(crate) text: String,
}

pub(crate) struct Golden {
    /// Its path below `crates`.
    pub(crate) path: &'static str,
    /// The output class of a line.
    pub(crate) key: fn(&Value) -> String,
    /// The lines of a finished case, from its observed errors and its store, without anything that varies between runs.
    pub(crate) lines: fn(&World, &[Value]) -> Vec<Value>,
}

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

    /// The lines of a finished case, without duplicates.
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
        // The first case that produces an output provides the example.
        for line in kept.chain(collected.values().flat_map(|one| one.lines[file].iter().cloned())) {
            lines.entry(line.key).or_insert(line.text);
        }
        let text: String = lines.into_values().flat_map(|line| [line, "\n".to_owned()]).collect();
        std::fs::write(self.place(), text).unwrap();
    }
}

/// Runs a case. On the first of its engines, its output is compared with the golden files, or written to them.
pub fn run(position: usize, case: &'static Case, engine: Engine) {
    // A random walk produces outputs that other cases cover with far fewer lines.
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
    // The order of a race varies between runs, and with it the output.
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

/// Writes the golden files, if requested.
pub fn finish() {
    let collected = COLLECTED.lock().unwrap();
    if !collected.is_empty() {
        FILES.iter().enumerate().for_each(|(position, file)| file.write(&collected, position));
    }
}

/// Records an error that the case on this thread produced.
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
