//! Compares library ops with PostgreSQL alone: the same statements, in the same groups, with the same driver.
//!
//! Every connection repeats a script: add a task, claim it, note on it, finish it. The script is recorded once, alone.
//! Then the library runs it on a second schema and the recording is replayed on a third, in alternating stretches, so
//! that a slow moment of the machine affects both.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use tenure_kernel::Op;
use tenure_store::Location;
use tenure_testkit::pg;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls};

use crate::caller::{Caller, claiming, finishing, noting};
use crate::table::Table;
use crate::tape::{Group, Tape, moved, say};

#[derive(Clone, Copy)]
struct Load {
    connections: usize,
    projects: usize,
}

const LOADS: [Load; 6] = [
    Load { connections: 1, projects: 1 },
    Load { connections: 8, projects: 1 },
    Load { connections: 32, projects: 1 },
    Load { connections: 1, projects: 8 },
    Load { connections: 8, projects: 8 },
    Load { connections: 32, projects: 8 },
];

impl Load {
    /// The number of projects per connection: its own, or several if there are fewer connections than projects.
    fn registering(self) -> usize {
        self.projects.div_ceil(self.connections)
    }
}

/// The number of stretches of a run.
const STRETCHES: usize = 10;
const OPS: usize = 4;

pub(crate) fn against_postgres(runs: usize) -> Table {
    let title = "Ops of the library against the same statements alone, PostgreSQL";
    let head = ["connections", "projects", "ops", "ops per second", "raw", "op / raw"];
    let mut table = Table::new(title, &head);
    for load in LOADS {
        table.rows.push(measure(load, runs));
    }
    table
}

/// Measures rounds of four ops per connection.
fn measure(load: Load, runs: usize) -> Vec<String> {
    let Load { connections, projects } = load;
    let rounds = (runs * 2 / connections).max(STRETCHES).next_multiple_of(STRETCHES);
    let schemas = [(); 3].map(|()| pg::server().fresh_schema());
    let [taped, library, raw] = &schemas;
    let scripts = record(taped, load, rounds);
    let library: Vec<Seat> = (0..connections).map(|n| Seat::new(&pg::server().url(library), n, load)).collect();
    let players: Vec<Player> = scripts.iter().map(|script| Player::new(script, taped, raw)).collect();
    // All agents are registered before the clock starts, on both sides.
    let first = load.registering();
    library.iter().for_each(|seat| (0..first).for_each(|at| seat.round(at)));
    players.iter().for_each(|player| (0..first).for_each(|at| player.play(at)));
    let (mut ours, mut theirs) = (Duration::ZERO, Duration::ZERO);
    let per_stretch = rounds / STRETCHES;
    for stretch in 0..STRETCHES {
        let these = first + stretch * per_stretch..first + (stretch + 1) * per_stretch;
        ours += together(&library, |seat| these.clone().for_each(|at| seat.round(at)));
        theirs += together(&players, |player| these.clone().for_each(|at| player.play(at)));
    }
    check(&schemas, projects);
    schemas.iter().for_each(|schema| pg::server().batch(&format!("DROP SCHEMA {schema} CASCADE")));
    let ops = connections * rounds * OPS;
    let (ours, theirs) = (ops as f64 / ours.as_secs_f64(), ops as f64 / theirs.as_secs_f64());
    vec![
        connections.to_string(),
        projects.to_string(),
        ops.to_string(),
        format!("{ours:.0}"),
        format!("{theirs:.0}"),
        format!("{:.2}", ours / theirs),
    ]
}

struct Seat(Vec<Caller>);

impl Seat {
    fn new(url: &str, n: usize, load: Load) -> Seat {
        let project = |k: usize| format!("p{}", (n + k * load.connections) % load.projects);
        let first = Caller::new(&Location::Postgres(url.to_owned()), &project(0), &format!("agent-{n}"));
        Seat((0..load.registering()).map(|k| first.elsewhere(&project(k))).collect())
    }

    fn round(&self, at: usize) {
        let caller = &self.0[at % self.0.len()];
        let task = caller.add();
        [claiming(&task), noting(&task), finishing(&task)].iter().for_each(|op: &Op| drop(caller.run(op)));
    }
}

/// Records the statements of each connection in each round, after the rounds that register it.
fn record(schema: &str, load: Load, rounds: usize) -> Vec<Vec<Vec<Group>>> {
    let url = pg::server().url(schema);
    Caller::new(&Location::Postgres(url.clone()), "p", "agent").kernel.store().create().unwrap();
    let tapes: Vec<Tape> = (0..load.connections).map(|_| Tape::before(&url)).collect();
    let seats: Vec<Seat> = tapes.iter().enumerate().map(|(n, tape)| Seat::new(&tape.url(), n, load)).collect();
    let mut scripts = vec![Vec::new(); load.connections];
    for at in 0..load.registering() + rounds {
        for ((seat, tape), script) in seats.iter().zip(&tapes).zip(&mut scripts) {
            seat.round(at);
            script.push(tape.take());
        }
    }
    scripts
}

/// A connection that replays a recording.
struct Player {
    runtime: Runtime,
    client: Client,
    script: Vec<Vec<Group>>,
}

impl Player {
    fn new(script: &[Vec<Group>], from: &str, to: &str) -> Player {
        let url = pg::server().url(to);
        Caller::new(&Location::Postgres(url.clone()), "p", "agent").kernel.store().create().unwrap();
        let plain = url.split("schema=").next().unwrap().trim_end_matches(['?', '&']).to_owned();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let (client, driver) = tokio_postgres::connect(&plain, NoTls).await.unwrap();
            tokio::spawn(driver);
            client
        });
        Player { runtime, client, script: script.iter().map(|round| moved(round, from, to)).collect() }
    }

    fn play(&self, round: usize) {
        for group in &self.script[round] {
            self.runtime.block_on(say(&self.client, group));
        }
    }
}

/// Runs all of them at once, each in its own thread, and returns the time from the first start to the last end.
fn together<T: Sync>(all: &[T], work: impl Fn(&T) + Sync) -> Duration {
    let barrier = Barrier::new(all.len() + 1);
    thread::scope(|scope| {
        let (barrier, work) = (&barrier, &work);
        let threads: Vec<_> = all
            .iter()
            .map(|one| {
                scope.spawn(move || {
                    barrier.wait();
                    work(one);
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        start.elapsed()
    })
}

/// Both sides must have written the same rows; otherwise the comparison is void.
fn check(schemas: &[String; 3], projects: usize) {
    let count = |schema: &String| {
        let tables = ["event", "task", "hold", "note", "request", "shown", "agent", "project"];
        let one = |table: &&str| pg::server().query(&format!("SELECT COUNT(*) FROM {schema}.{table}"));
        tables.iter().map(one).collect::<Vec<_>>()
    };
    let [taped, library, raw] = schemas.each_ref().map(count);
    assert_eq!(taped, library);
    assert_eq!(taped, raw);
    assert_eq!(taped[7][0][0].as_deref(), Some(projects.to_string().as_str()));
}
