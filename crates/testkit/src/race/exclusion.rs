//! Exclusion of paths: 32 processes race for one path, and two edit guards for one file, round after round.

use std::path::Path;
use std::process::Child;
use std::time::Duration;

use serde_json::json;
use tenure_core::event::kind;
use tenure_kernel::answer::LoggedEvent;

use super::{Prize, RACERS, run};
use crate::fixture::Engine;
use crate::fleet::ground::{Answer, Ground, feed};
use crate::replay::replay;
use crate::report::{Budget, Section};

/// The number of rounds of a soak test, for each race on each engine.
const ROUNDS: usize = 200;
/// The sessions whose guards race.
const SESSIONS: [&str; 2] = ["one", "two"];

/// The results of a race of edit guards, in which each session is about to edit the same file.
#[derive(Debug, Default)]
struct Guards {
    rounds: usize,
    /// How often each session was allowed.
    won: [usize; 2],
    violations: Vec<String>,
}

/// Two guards race for one file, a new one in each round: one is allowed, the other is told the name of the winner.
fn guards(root: &Path, engine: Engine, rounds: usize) -> Guards {
    let ground = Ground::new(root, engine, 1);
    for session in SESSIONS {
        let began = hook(&ground, session, "SessionStart", &json!({ "source": "startup" }));
        assert_eq!(Answer::of(began).exit, 0);
    }
    let mut found = Guards::default();
    for round in 0..rounds {
        let file = format!("src/f{round}.rs");
        let outcome = one_round(&ground, &file, round % 2);
        found.rounds += 1;
        match outcome {
            Ok(winner) => found.won[winner] += 1,
            Err(why) => found.violations.push(format!("{file}: {why}")),
        }
    }
    found.violations.extend(compare(&ground.events(), &found));
    found
}

/// One round. `first` is started first, and both receive their input when both are running.
fn one_round(ground: &Ground, file: &str, first: usize) -> Result<usize, String> {
    let start = || ground.start(&[("CLAUDECODE", "1")], &["hook", "claude", "PreToolUse"]);
    let mut order = [(first, start()), (1 - first, start())];
    for (session, child) in &mut order {
        let input = json!({ "file_path": ground.repo().join(file), "old_string": "a", "new_string": "b" });
        feed(child, &event(ground, SESSIONS[*session], &json!({ "tool_name": "Edit", "tool_input": input })));
    }
    let mut answers = order.map(|(session, child)| (session, Answer::of(child)));
    answers.sort_by_key(|(session, _)| *session);
    judge(&answers.map(|(_, answer)| (answer.exit, answer.stdout)))
}

/// Exactly one is allowed silently, and the other is refused with the name of the winner.
fn judge(answers: &[(i32, String); 2]) -> Result<usize, String> {
    let silent = |at: usize| answers[at] == (0, String::new());
    let told = |at: usize, winner: usize| {
        let (exit, said) = &answers[at];
        *exit == 0 && said.contains("\"deny\"") && said.contains(&format!("claude-{}", SESSIONS[winner]))
    };
    (0..2).find(|winner| silent(*winner) && told(1 - winner, *winner)).ok_or_else(|| format!("{answers:?}"))
}

fn event(ground: &Ground, session: &str, fields: &serde_json::Value) -> String {
    let mut payload = json!({ "session_id": session, "cwd": ground.repo() });
    payload.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    payload.to_string()
}

fn hook(ground: &Ground, session: &str, name: &str, fields: &serde_json::Value) -> Child {
    let mut child = ground.start(&[("CLAUDECODE", "1")], &["hook", "claude", name]);
    feed(&mut child, &event(ground, session, fields));
    child
}

/// The log has one grant per round, and replays.
fn compare(events: &[LoggedEvent], found: &Guards) -> Vec<String> {
    let granted = events.iter().filter(|event| event.kind == kind::PATH_RESERVED).count();
    let mut wrong = Vec::new();
    if granted != found.rounds {
        wrong.push(format!("the log has {granted} grants after {} rounds", found.rounds));
    }
    if let Err(panic) = std::panic::catch_unwind(|| replay(events)) {
        wrong.push(format!("the log cannot be replayed: {:?}", panic.downcast_ref::<String>()));
    }
    wrong
}

/// The soak test.
pub(super) fn soak(_: Budget) -> Section {
    let mut section = Section::new("Exclusion");
    let dir = tempfile::Builder::new().prefix("tn-").tempdir().unwrap();
    let server = crate::pg::server();
    let file = dir.path().join("paths.db").display().to_string();
    let stores = [("SQLite", Engine::File, file), ("PostgreSQL", Engine::Postgres, server.url(&server.fresh_schema()))];
    for (name, engine, store) in stores {
        let paths = run(&store, Prize::Paths, ROUNDS, Duration::ZERO);
        section.figure(&format!("{name}: rounds of {RACERS} processes for a path, each with one winner"), paths.rounds);
        section.figure(&format!("{name}: of these, processes that won some"), paths.winners);
        section.violations.extend(paths.violations.iter().map(|what| format!("{name}, paths: {what}")));
        let root = dir.path().join(name);
        std::fs::create_dir(&root).unwrap();
        let guards = guards(&root, engine, ROUNDS);
        section
            .figure(&format!("{name}: rounds of two edit guards for a file, one let through in each"), guards.rounds);
        let [one, two] = guards.won;
        section.figure(&format!("{name}: of these, let through for either session"), format!("{one} and {two}"));
        section.violations.extend(guards.violations.iter().map(|what| format!("{name}, guards: {what}")));
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_r10_a_round_of_guards_with_two_let_through_none_or_a_wrong_name_is_seen() {
        let through = || (0, String::new());
        let refused = |by: &str| (0, format!("{{\"permissionDecision\":\"deny\",\"reason\":\"held by claude-{by}\"}}"));
        assert_eq!(judge(&[through(), refused("one")]), Ok(0));
        assert_eq!(judge(&[refused("two"), through()]), Ok(1));
        for wrong in [
            [through(), through()],
            [refused("two"), refused("one")],
            [through(), refused("two")],
            [(1, String::new()), refused("one")],
        ] {
            assert!(judge(&wrong).is_err(), "{wrong:?}");
        }
    }
}
