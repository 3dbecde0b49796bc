//! Races: in each round many processes request one task, or one path.
//!
//! The processes live for the whole race: each has its kernel open and waits for a byte on its standard input. A round
//! is one byte to each, and one line back from each.

mod exclusion;
mod mail;
mod stopped;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_client::phrasing::Commands;
use tenure_core::event::kind;
use tenure_core::number::EventNumber;
use tenure_kernel::answer::LoggedEvent;
use tenure_kernel::op::{add_many, claim, reserve};
use tenure_kernel::query::log;
use tenure_kernel::{Actor, Call, Checkout, Condition, Kernel, Op, RequestId, Trust, WorkingTree};
use tenure_store::table::project;
use tenure_store::{Durability, Location, Options, OsEntropy};

use crate::evidence::{Check, Soak};
use crate::replay::replay;
use crate::report::{Budget, Section};

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "inv_l1_rounds_of_32_processes_on_sqlite_have_one_winner_each", run: on_sqlite },
    Check { name: "inv_l1_rounds_of_32_processes_on_postgres_have_one_winner_each", run: on_postgres },
    Check { name: "inv_l1_rounds_of_32_processes_for_a_path_on_sqlite_have_one_winner_each", run: path_on_sqlite },
    Check { name: "inv_l1_rounds_of_32_processes_for_a_path_on_postgres_have_one_winner_each", run: path_on_postgres },
    Check { name: "inv_t2_a_client_stopped_inside_its_turn_on_sqlite_makes_others_busy", run: stopped::sqlite },
    Check { name: "inv_m6_many_processes_write_and_two_read_on_sqlite_each_message_is_new_once", run: mail::on_sqlite },
    Check {
        name: "inv_m6_many_processes_write_and_two_read_on_postgres_each_message_is_new_once",
        run: mail::on_postgres,
    },
];

pub(crate) const TIMED: &[Check] = &[Check {
    name: "inv_t2_a_client_stopped_inside_its_turn_delays_its_project_by_six_seconds_at_most",
    run: stopped::postgres,
}];

pub(crate) const SOAKS: &[Soak] = &[
    Soak { name: "race", share: 3, run: soak },
    Soak { name: "exclusion", share: 1, run: exclusion::soak },
    Soak { name: "stopped", share: 1, run: stopped::soak },
    Soak { name: "mail", share: 1, run: mail::soak },
];

/// The number of racing processes.
const RACERS: usize = 32;
/// The number of tasks added at a time.
const BATCH: usize = 500;
/// The number of rounds of a short run.
const ROUNDS: usize = 10;
/// The minimum number of rounds of a soak test on each engine.
const LEAST: usize = 10_000;

/// Entry point of a worker process; returns its exit code.
pub(crate) fn part() -> i32 {
    let mut input = BufReader::new(std::io::stdin().lock());
    match heard(&mut input) {
        Order::Race { store, racer } => race(&mut input, &store, racer),
        Order::Stop { store, project, task } => stopped::play(&store, &project, &task),
        Order::Write { store, sender, messages } => mail::write(&mut input, &store, sender, messages),
        Order::Read { store, reader, rounds } => mail::read(&mut input, &store, reader, rounds),
    }
}

/// The configuration of a process, sent in one line at its start.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Order {
    Race { store: String, racer: usize },
    Stop { store: String, project: String, task: String },
    Write { store: String, sender: usize, messages: usize },
    Read { store: String, reader: usize, rounds: usize },
}

/// The outcome of a round for one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Outcome {
    Won { fence: i64 },
    Lost { holder: String },
    Odd { error: String },
}

fn heard<T: for<'de> Deserialize<'de>>(input: &mut impl BufRead) -> T {
    let mut line = String::new();
    input.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"))
}

fn say<T: Serialize>(out: &mut impl Write, what: &T) {
    writeln!(out, "{}", serde_json::to_string(what).unwrap()).unwrap();
    out.flush().unwrap();
}

fn location(store: &str) -> Location {
    match store {
        url if url.starts_with("postgres://") => Location::Postgres(url.to_owned()),
        path => Location::File(path.into()),
    }
}

fn call(project: &str, actor: &str) -> Call {
    Call {
        project: project::NamedProject { key: format!("name:{project}").into(), label: project.to_owned() },
        actor: Actor::named(actor),
        request_id: RequestId::draw(&OsEntropy),
        checkout: None,
        pinned_store: None,
        keep_events: None,
        proven_dead: Vec::new(),
        condition: Condition::None,
    }
}

fn claiming(task: &str) -> Op {
    Op::new(claim::Claim { task: Some(task.into()), ..claim::Claim::default() })
}

/// The contested resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prize {
    Tasks,
    Paths,
}

/// The request of a racer: a task by its id, else a path. Odd-numbered racers request the path by a glob that matches
/// it.
fn asking(prize: &str, racer: usize) -> Op {
    if prize.starts_with("t-") {
        return claiming(prize);
    }
    let path = if racer.is_multiple_of(2) { prize.to_owned() } else { format!("glob:{prize}*") };
    Op::new(reserve::Reserve { paths: vec![path], ..reserve::Reserve::default() })
}

fn racing(racer: usize) -> Call {
    let checkout = Checkout {
        host: "host".to_owned(),
        path: "/repo".to_owned(),
        common: None,
        trust: Trust::Any,
        tree: WorkingTree::default(),
    };
    Call { checkout: Some(checkout), ..call("p", &racer_name(racer)) }
}

fn racer_name(racer: usize) -> String {
    format!("racer-{racer}")
}

/// A racer: one line names the tasks of the next rounds, then one byte starts each round. Ends with its input.
fn race(input: &mut impl BufRead, store: &str, racer: usize) -> i32 {
    // A race tests exclusion, not durability; with full durability most of a round would be waiting for the disk.
    let options = Options { durability: Durability::Fast, ..Options::default() };
    let kernel = Kernel::new(location(store), options, tenure_client::phrasing::of).unwrap();
    let mut out = std::io::stdout().lock();
    loop {
        let tasks: Vec<String> = heard(input);
        if tasks.is_empty() {
            return 0;
        }
        for task in tasks {
            let mut start = [0];
            input.read_exact(&mut start).unwrap();
            let outcome = match kernel.run(&racing(racer), &asking(&task, racer)) {
                Ok(reply) => {
                    let won: Value = serde_json::from_str(&reply.body).unwrap();
                    let hold = won.get("hold").unwrap_or(&won["holds"][0]);
                    Outcome::Won { fence: hold["fence"].as_i64().unwrap() }
                }
                Err(error) if matches!(error.code().as_str(), "task_held" | "path_held") => {
                    let holder = error.get("blockers").and_then(|blockers| blockers[0]["holder"].as_str());
                    Outcome::Lost { holder: holder.unwrap_or_default().to_owned() }
                }
                Err(error) => Outcome::Odd { error: error.to_json(&Commands).to_string() },
            };
            say(&mut out, &outcome);
        }
    }
}

struct Racer {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Racer {
    /// Starts a racer in the process group of the first.
    fn start(store: &str, racer: usize, first: Option<&Racer>) -> Racer {
        let group = first.map_or(0, |first| i32::try_from(first.child.id()).unwrap());
        let mut command = crate::worker::command("race");
        let command = command.process_group(group).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut orders = child.stdin.take().unwrap();
        say(&mut orders, &Order::Race { store: store.to_owned(), racer });
        let answers = BufReader::new(child.stdout.take().unwrap());
        Racer { child, orders, answers }
    }
}

/// The results of a race.
#[derive(Debug, Default)]
struct Found {
    rounds: usize,
    time: Duration,
    /// The number of different winners.
    winners: usize,
    violations: Vec<String>,
}

/// Races until enough rounds have run and the time is over, then compares the answers with the log.
fn run(store: &str, prize: Prize, least: usize, time: Duration) -> Found {
    let kernel = Kernel::new(location(store), Options::default(), tenure_client::phrasing::of).unwrap();
    let mut racers: Vec<Racer> = Vec::new();
    for racer in 0..RACERS {
        racers.push(Racer::start(store, racer, racers.first()));
    }
    let mut found = Found::default();
    let mut won: Vec<(String, usize, i64)> = Vec::new();
    let begun = Instant::now();
    while found.rounds < least || begun.elapsed() < time {
        let tasks = match prize {
            Prize::Tasks => add(&kernel, BATCH.min(least)),
            Prize::Paths => (0..BATCH.min(least)).map(|n| format!("src/{}-{n}.rs", found.rounds)).collect(),
        };
        racers.iter_mut().for_each(|racer| say(&mut racer.orders, &tasks));
        for task in tasks {
            let started = Instant::now();
            // The racers are stopped while they receive their bytes and continued by one call; otherwise the first
            // would finish before the last is told.
            signal(&racers, Signal::STOP);
            for racer in &mut racers {
                racer.orders.write_all(b"!").unwrap();
            }
            signal(&racers, Signal::CONT);
            let outcomes: Vec<Outcome> = racers.iter_mut().map(|racer| heard(&mut racer.answers)).collect();
            found.time += started.elapsed();
            found.rounds += 1;
            match judge(&outcomes) {
                Ok((winner, fence)) => won.push((task, winner, fence)),
                Err(why) => found.violations.push(format!("{task}: {why}")),
            }
        }
    }
    for racer in &mut racers {
        say(&mut racer.orders, &Vec::<String>::new());
        assert!(racer.child.wait().unwrap().success());
    }
    match events(&kernel, "p") {
        Ok(events) => found.violations.extend(compare(&won, &events)),
        Err(error) => found.violations.push(format!("the log cannot be read: {error:?}")),
    }
    let mut winners: Vec<usize> = won.iter().map(|(_, winner, _)| *winner).collect();
    winners.sort_unstable();
    winners.dedup();
    found.winners = winners.len();
    found
}

/// Sends a signal to all racers by one call.
fn signal(racers: &[Racer], signal: Signal) {
    let group = rustix::process::Pid::from_child(&racers[0].child);
    rustix::process::kill_process_group(group, signal).unwrap();
}

fn add(kernel: &Kernel, count: usize) -> Vec<String> {
    let item = |_| serde_json::from_value(serde_json::json!({ "title": "a task" })).unwrap();
    let items: Vec<add_many::NewTask> = (0..count).map(item).collect();
    let reply = kernel.run(&call("p", "person:ann"), &Op::new(add_many::AddMany { items })).unwrap();
    let added: Value = serde_json::from_str(&reply.body).unwrap();
    serde_json::from_value(added["ids"].clone()).unwrap()
}

/// Exactly one racer has won, and all others were told its name.
fn judge(outcomes: &[Outcome]) -> Result<(usize, i64), String> {
    let won: Vec<(usize, i64)> = outcomes
        .iter()
        .enumerate()
        .filter_map(|(racer, outcome)| match outcome {
            Outcome::Won { fence } => Some((racer, *fence)),
            _ => None,
        })
        .collect();
    let [(winner, fence)] = won[..] else { return Err(format!("{} have won: {outcomes:?}", won.len())) };
    let lost = Outcome::Lost { holder: racer_name(winner) };
    match outcomes.iter().enumerate().find(|(racer, outcome)| *racer != winner && **outcome != lost) {
        Some((racer, other)) => Err(format!("{winner} has won, and {racer} was told {other:?}")),
        None => Ok((winner, fence)),
    }
}

fn events(kernel: &Kernel, project: &str) -> tenure_core::Result<Vec<LoggedEvent>> {
    let mut all: Vec<LoggedEvent> = Vec::new();
    loop {
        let since = Some(log::Since::Number(all.last().map_or(EventNumber::START, |event| event.number)));
        let filter = log::Log { since, limit: 1_000, ..log::Log::default() };
        let page = kernel.ask(&call(project, "person:ann"), &filter)?;
        if page.items.is_empty() {
            return Ok(all);
        }
        all.extend(page.items);
    }
}

/// The log has one grant per round, for the process that was told so, with the fence that it was told.
fn compare(won: &[(String, usize, i64)], events: &[LoggedEvent]) -> Vec<String> {
    let granted: Vec<(String, String, i64)> = events
        .iter()
        .filter(|event| [kind::TASK_CLAIMED, kind::PATH_RESERVED].contains(&event.kind.as_str()))
        .map(|event| {
            let holder = event.data["holder"].as_str().unwrap_or_default();
            let prize = event.subject.trim_start_matches("glob:").trim_end_matches('*');
            (prize.to_owned(), holder.to_owned(), event.number.get())
        })
        .collect();
    let told: Vec<(String, String, i64)> =
        won.iter().map(|(task, winner, fence)| (task.clone(), racer_name(*winner), *fence)).collect();
    let mut wrong = Vec::new();
    if granted != told {
        let first = granted.iter().zip(&told).find(|(granted, told)| granted != told);
        wrong.push(format!("the log has {} grants, {} were told; first: {first:?}", granted.len(), told.len()));
    }
    if let Err(panic) = std::panic::catch_unwind(|| replay(events)) {
        wrong.push(format!("the log cannot be replayed: {:?}", panic.downcast_ref::<String>()));
    }
    wrong
}

fn on_sqlite() {
    let dir = tempfile::Builder::new().prefix("tn-").tempdir().unwrap();
    assert_won(&run(&dir.path().join("tenure.db").display().to_string(), Prize::Tasks, ROUNDS, Duration::ZERO));
}

fn on_postgres() {
    let server = crate::pg::server();
    assert_won(&run(&server.url(&server.fresh_schema()), Prize::Tasks, ROUNDS, Duration::ZERO));
}

fn path_on_sqlite() {
    let dir = tempfile::Builder::new().prefix("tn-").tempdir().unwrap();
    assert_won(&run(&dir.path().join("tenure.db").display().to_string(), Prize::Paths, ROUNDS, Duration::ZERO));
}

fn path_on_postgres() {
    let server = crate::pg::server();
    assert_won(&run(&server.url(&server.fresh_schema()), Prize::Paths, ROUNDS, Duration::ZERO));
}

fn assert_won(found: &Found) {
    let Found { violations, .. } = found;
    assert!(violations.is_empty(), "{} violations, the first of them:\n{}", violations.len(), violations[0]);
    // One winner for all rounds would mean that there was no race.
    assert!(found.rounds == ROUNDS && found.winners > 1, "{found:?}");
}

fn soak(budget: Budget) -> Section {
    let mut section = Section::new("Races");
    section.figure("processes in each round", RACERS);
    let dir = tempfile::Builder::new().prefix("tn-").tempdir().unwrap();
    let server = crate::pg::server();
    let stores = [
        ("SQLite", dir.path().join("tenure.db").display().to_string()),
        ("PostgreSQL", server.url(&server.fresh_schema())),
    ];
    for (name, store) in stores {
        let found = run(&store, Prize::Tasks, LEAST, budget.time / 2);
        section.figure(&format!("{name}: rounds"), found.rounds);
        let rate = found.rounds as f64 / found.time.as_secs_f64();
        section.figure(&format!("{name}: rounds per second"), format!("{rate:.0}"));
        section.figure(&format!("{name}: processes that won"), found.winners);
        section.violations.extend(found.violations.iter().map(|what| format!("{name}: {what}")));
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(holder: usize) -> Outcome {
        Outcome::Lost { holder: racer_name(holder) }
    }

    #[test]
    fn inv_l1_a_round_with_two_winners_none_or_a_wrong_name_is_seen() {
        let won = Outcome::Won { fence: 7 };
        assert_eq!(judge(&[lost(1), won.clone(), lost(1)]), Ok((1, 7)));
        assert!(judge(&[won.clone(), won.clone(), lost(0)]).is_err());
        assert!(judge(&[lost(1), lost(1)]).is_err());
        assert!(judge(&[lost(1), won.clone(), lost(0)]).is_err());
        assert!(judge(&[won, Outcome::Odd { error: String::new() }]).is_err());
    }
}
