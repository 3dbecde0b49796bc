//! Linearizability test: records the calls of many processes and checks that one order explains them.
//!
//! Processes with a few agents each make calls on the same few tasks and record the invocation, the return and the
//! answer. [`search`] looks for one order of these calls that [`model`] would answer alike and that real time allows.
//! [`facts`] compares the calls with the log.

mod facts;
mod model;
mod record;
mod search;
#[cfg(test)]
mod tests;
mod worker;

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tenure_core::number::EventNumber;
use tenure_kernel::answer::LoggedEvent;
use tenure_kernel::op::{add, note};
use tenure_kernel::query;
use tenure_kernel::query::log;
use tenure_kernel::{Kernel, Op};
use tenure_store::Options;

use self::model::Project;
use self::record::{Answer, Ask, Got, Line, Nanos, Reading, Record, agent, monotonic, view};
use self::search::History;
use self::worker::{Orders, call, location};
use crate::evidence::{Check, Soak};
use crate::pg;
use crate::replay::replay;
use crate::report::{Budget, Section};

pub(crate) const TIMED: &[Check] = &[
    Check { name: "inv_l1_histories_on_sqlite_have_one_order", run: on_sqlite },
    Check { name: "inv_l1_histories_on_a_postgres_that_restarts_have_one_order", run: on_postgres },
];

pub(crate) const SOAKS: &[Soak] = &[Soak { name: "history", share: 3, run: soak }];

const PROCESSES: usize = 6;
const AGENTS: usize = 3;
const PROJECTS: usize = 2;
const TASKS: usize = 3;

/// Entry point of a worker process; returns its exit code.
pub(crate) fn part() -> i32 {
    worker::play()
}

fn on_sqlite() {
    let dir = tempfile::Builder::new().prefix("tn-").tempdir().unwrap();
    let store = dir.path().join("tenure.db").display().to_string();
    assert_explained(&run(&store, Duration::from_secs(4), 1, None));
}

fn on_postgres() {
    let server = pg::Own::start();
    let store = server.url("history");
    let found = run(&store, Duration::from_secs(4), 1, Some((&server, Duration::from_millis(1_800))));
    assert!(found.restarts > 0, "the server was restarted while it was asked");
    assert_explained(&found);
}

fn assert_explained(found: &Found) {
    let Found { violations, .. } = found;
    assert!(violations.is_empty(), "{} violations, the first of them:\n{}", violations.len(), violations[0]);
    // A history without expired holds proves little.
    assert!(found.answered > 50 && found.lapsed > 0 && found.grants > 1, "{found:?}");
}

/// The results of a run.
#[derive(Debug, Default)]
struct Found {
    answered: usize,
    unknown: usize,
    refused: usize,
    stale: usize,
    lapsed: usize,
    grants: usize,
    restarts: usize,
    tried: usize,
    violations: Vec<String>,
}

/// Creates projects, runs processes on them, and checks their records.
fn run(store: &str, time: Duration, seed: u64, restarts: Option<(&pg::Own, Duration)>) -> Found {
    let kernel = Kernel::new(location(store), Options::default(), tenure_client::phrasing::of).unwrap();
    let projects: Vec<Vec<String>> = (0..PROJECTS).map(|project| prepare(&kernel, project)).collect();
    let until = monotonic() + Nanos::try_from(time.as_nanos()).unwrap();
    let mut found = Found::default();
    let mut lines = gather(store, &projects, until, seed, restarts, &mut found.restarts);
    for (project, tasks) in projects.iter().enumerate() {
        // All processes have ended, so this query comes after every call.
        lines
            .extend(tasks.iter().enumerate().map(|(place, task)| Line::Call(last_look(&kernel, project, place, task))));
    }
    for (project, tasks) in projects.iter().enumerate() {
        match events(&kernel, project) {
            Ok(events) => judge(project, tasks, &lines, &events, &mut found),
            Err(error) => found.violations.push(format!("project {project}: the log cannot be read: {error:?}")),
        }
    }
    found
}

/// Creates a project with its tasks, in which every agent is registered.
fn prepare(kernel: &Kernel, project: usize) -> Vec<String> {
    let run = |actor: &str, request: &str, op: Op| -> serde_json::Value {
        serde_json::from_str(&kernel.run(&call(project, actor, request), &op).unwrap().body).unwrap()
    };
    let tasks: Vec<String> = (0..TASKS)
        .map(|place| {
            let added = run("person:ann", &format!("add-{place}"), Op::new(add::Add::titled(&title(place))));
            added["id"].as_str().unwrap().to_owned()
        })
        .collect();
    for who in 0..PROCESSES * AGENTS {
        let seen = note::Note { task: Some(tasks[0].clone().into()), text: "here".into(), ..note::Note::default() };
        run(&agent(who), "here", Op::new(seen));
    }
    tasks
}

fn title(place: usize) -> String {
    format!("task {place}")
}

/// Starts the processes and collects their records, restarting the server at intervals.
fn gather(
    store: &str,
    projects: &[Vec<String>],
    until: Nanos,
    seed: u64,
    restarts: Option<(&pg::Own, Duration)>,
    restarted: &mut usize,
) -> Vec<Line> {
    let (said, heard) = mpsc::channel();
    let mut children: Vec<_> = (0..PROCESSES)
        .map(|process| {
            let orders = Orders {
                store: store.to_owned(),
                process,
                agents: (process * AGENTS..(process + 1) * AGENTS).collect(),
                all_agents: PROCESSES * AGENTS,
                projects: projects.to_vec(),
                until,
                seed,
            };
            let mut child =
                crate::worker::command("history").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            writeln!(child.stdin.take().unwrap(), "{}", serde_json::to_string(&orders).unwrap()).unwrap();
            let (out, said) = (BufReader::new(child.stdout.take().unwrap()), said.clone());
            std::thread::spawn(move || {
                for line in out.lines() {
                    said.send(serde_json::from_str::<Line>(&line.unwrap()).unwrap()).unwrap();
                }
            });
            child
        })
        .collect();
    drop(said);
    let mut lines = Vec::new();
    let every = restarts.map_or(Nanos::MAX / 2, |(_, every)| Nanos::try_from(every.as_nanos()).unwrap());
    let mut next = monotonic() + every;
    for line in heard {
        if let (Line::Call(record), Some((server, _))) = (&line, restarts)
            && record.returned > next
            && record.returned < until
        {
            server.restart();
            *restarted += 1;
            next = monotonic() + every;
        }
        lines.push(line);
    }
    for child in &mut children {
        assert!(child.wait().unwrap().success(), "a process of the history failed");
    }
    lines
}

fn last_look(kernel: &Kernel, project: usize, place: usize, task: &str) -> Record {
    let invoked = monotonic();
    let shown = kernel.ask(&call(project, "person:ann", "look"), &query::show::Show { id: task.into() }).unwrap();
    let view = view(&serde_json::to_value(shown).unwrap());
    let got = Got::Answer(Answer::Task { task: place, view, late: false });
    let ask = Ask::Show { task: place };
    Record { process: PROCESSES, project, agent: 0, request: "look".into(), invoked, returned: monotonic(), ask, got }
}

fn events(kernel: &Kernel, project: usize) -> tenure_core::Result<Vec<LoggedEvent>> {
    let mut all: Vec<LoggedEvent> = Vec::new();
    loop {
        let since = Some(log::Since::Number(all.last().map_or(EventNumber::START, |event| event.number)));
        let filter = log::Log { since, limit: 1_000, ..log::Log::default() };
        let page = kernel.ask(&call(project, "person:ann", "read"), &filter)?;
        if page.items.is_empty() {
            return Ok(all);
        }
        all.extend(page.items);
    }
}

fn judge(project: usize, tasks: &[String], lines: &[Line], events: &[LoggedEvent], found: &mut Found) {
    let records: Vec<&Record> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Call(record) if record.project == project => Some(record),
            _ => None,
        })
        .collect();
    let readings: Vec<&Reading> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Reading(reading) if reading.project == project => Some(reading),
            _ => None,
        })
        .collect();
    count(&records, events, found);
    // A log with two holders at once, or with gaps, makes the replay panic with the reason.
    if let Err(panic) = std::panic::catch_unwind(|| replay(events)) {
        let why = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        found.violations.push(format!("project {project}: the log cannot be replayed: {why}"));
    }
    let wrong = facts::violations(&records, &readings, events, tasks);
    found.violations.extend(wrong.into_iter().map(|what| format!("project {project}: {what}")));
    let evidence = facts::evidence(events, tasks);
    let titles: Vec<String> = (0..tasks.len()).map(title).collect();
    match History::new(&records, &evidence).explain(Project::new(&titles, PROCESSES * AGENTS)) {
        Ok(tried) => found.tried += tried,
        Err(why) => found.violations.push(format!("project {project}: {why}")),
    }
}

fn count(records: &[&Record], events: &[LoggedEvent], found: &mut Found) {
    for record in records {
        match &record.got {
            Got::Answer(Answer::Refused { code, .. }) => {
                found.answered += 1;
                found.refused += 1;
                found.stale += usize::from(code.starts_with("stale"));
            }
            Got::Answer(_) => found.answered += 1,
            Got::Unknown => found.unknown += 1,
            Got::Undone | Got::Odd(_) => {}
        }
    }
    let of = |kinds: &[&str]| events.iter().filter(|event| kinds.contains(&event.kind.as_str())).count();
    found.grants += of(&["task.claimed", "hold.transferred"]);
    found.lapsed += of(&["hold.expired"]);
}

/// Runs of ten seconds on alternating engines, each on its own store, until the time is over.
fn soak(budget: Budget) -> Section {
    let mut section = Section::new("Histories");
    let begun = Instant::now();
    let server = pg::Own::start();
    let mut engines = [("SQLite", Found::default(), 0), ("PostgreSQL", Found::default(), 0)];
    let mut round = 0;
    while round < 2 || begun.elapsed() < budget.time {
        let seed = budget.seed + round;
        let time = Duration::from_secs(10);
        let (engine, found) = if round % 2 == 0 {
            let dir = tempfile::Builder::new().prefix("tn-").tempdir().unwrap();
            (0, run(&dir.path().join("tenure.db").display().to_string(), time, seed, None))
        } else {
            (1, run(&server.url(&format!("history_{round}")), time, seed, Some((&server, Duration::from_secs(3)))))
        };
        let (name, sum, runs) = &mut engines[engine];
        section.violations.extend(found.violations.iter().map(|what| format!("{name}, seed {seed}: {what}")));
        sum.add(&found);
        *runs += 1;
        round += 1;
    }
    for (name, sum, runs) in &engines {
        let mut figure = |what: &str, value: usize| section.figure(&format!("{name}: {what}"), value);
        figure("runs", *runs);
        figure("calls answered", sum.answered);
        figure("calls never answered", sum.unknown);
        figure("refusals", sum.refused);
        figure("of these stale", sum.stale);
        figure("holds granted", sum.grants);
        figure("holds that lapsed", sum.lapsed);
        figure("restarts of the server", sum.restarts);
        figure("positions searched", sum.tried);
    }
    section
}

impl Found {
    fn add(&mut self, other: &Found) {
        self.answered += other.answered;
        self.unknown += other.unknown;
        self.refused += other.refused;
        self.stale += other.stale;
        self.lapsed += other.lapsed;
        self.grants += other.grants;
        self.restarts += other.restarts;
        self.tried += other.tried;
    }
}
