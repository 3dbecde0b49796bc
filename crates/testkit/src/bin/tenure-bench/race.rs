//! Races: in each round, 32 processes with an open store claim one task. Exactly one gets it.

use std::io::{BufRead, BufReader, Write, stdin};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tenure_store::Location;
use tenure_testkit::pg;

use crate::WARM_UP;
use crate::caller::{Caller, claiming, finishing};
use crate::home::Engine;
use crate::table::{Table, ms, quantile};

const RACERS: usize = 32;
/// The argument that starts this program as a racer. The other arguments are the store and the agent name.
pub(crate) const PART: &str = "--race-part";

/// Plays a racer: reads a task per line and writes an answer per line. An empty line means that all racers have
/// answered; the winner then finishes its task.
pub(crate) fn part(store: &str, agent: &str) {
    let caller = Caller::new(&location(store), "p", agent);
    caller.kernel.store().identity().unwrap();
    println!("ready");
    let mut won = None;
    for task in stdin().lines() {
        let task = task.unwrap();
        if task.is_empty() {
            won.take().iter().for_each(|task: &String| drop(caller.run(&finishing(task))));
            println!("ready");
            continue;
        }
        let (call, op) = (caller.call(), claiming(&task));
        let start = Instant::now();
        let answer = caller.kernel.run(&call, &op);
        let took = start.elapsed().as_nanos();
        match answer {
            Ok(_) => {
                println!("won {took}");
                won = Some(task);
            }
            Err(error) => println!("{} {took}", error.code().as_str()),
        }
    }
}

fn location(store: &str) -> Location {
    if store.starts_with("postgres://") { Location::Postgres(store.to_owned()) } else { Location::File(store.into()) }
}

struct Racer {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Racer {
    fn new(store: &str, n: usize) -> Racer {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([PART, store, &format!("racer-{n}")]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut racer = Racer { child, to, from };
        assert_eq!(racer.line(), "ready");
        racer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

pub(crate) fn race(engines: &[Engine], rounds: usize) -> Table {
    let head = ["store", "rounds", "not exactly one winner", "rounds per second", "winner p50", "winner p99"];
    let mut table = Table::new(&format!("{RACERS} processes race for one task"), &[&head[..], &["last p50"]].concat());
    for engine in engines {
        table.rows.push(on(*engine, rounds));
    }
    table
}

fn on(engine: Engine, rounds: usize) -> Vec<String> {
    let dir = TempDir::new().unwrap();
    let schema = pg_schema(engine);
    let store = match &schema {
        Some(schema) => pg::server().url(schema),
        None => dir.path().join("tenure.db").to_str().unwrap().to_owned(),
    };
    let caller = Caller::new(&location(&store), "p", "person:bench");
    caller.add();
    let mut racers: Vec<Racer> = (0..RACERS).map(|n| Racer::new(&store, n)).collect();
    let (mut winners, mut lasts, mut wrong) = (Vec::new(), Vec::new(), 0);
    let mut spent = Duration::ZERO;
    for round in 0..WARM_UP + rounds {
        let task = caller.add();
        let start = Instant::now();
        racers.iter_mut().for_each(|racer| writeln!(racer.to, "{task}").unwrap());
        let answers: Vec<String> = racers.iter_mut().map(Racer::line).collect();
        let took = start.elapsed();
        racers.iter_mut().for_each(|racer| writeln!(racer.to).unwrap());
        racers.iter_mut().for_each(|racer| assert_eq!(racer.line(), "ready"));
        if round < WARM_UP {
            continue;
        }
        spent += took;
        lasts.push(took);
        let won: Vec<_> = answers.iter().filter_map(|answer| answer.strip_prefix("won ")).collect();
        wrong +=
            usize::from(won.len() != 1 || answers.iter().filter(|a| a.starts_with("task_held ")).count() != RACERS - 1);
        winners.extend(won.iter().map(|nanos| Duration::from_nanos(nanos.parse().unwrap())));
    }
    for racer in racers {
        let Racer { mut child, to, .. } = racer;
        drop(to);
        assert!(child.wait().unwrap().success());
    }
    if let Some(schema) = schema {
        pg::server().batch(&format!("DROP SCHEMA {schema} CASCADE"));
    }
    vec![
        engine.name().to_owned(),
        rounds.to_string(),
        wrong.to_string(),
        format!("{:.0}", rounds as f64 / spent.as_secs_f64()),
        ms(quantile(winners.clone(), 0.5)),
        ms(quantile(winners, 0.99)),
        ms(quantile(lasts, 0.5)),
    ]
}

fn pg_schema(engine: Engine) -> Option<String> {
    matches!(engine, Engine::Postgres).then(|| pg::server().fresh_schema())
}
