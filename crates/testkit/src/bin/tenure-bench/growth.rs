//! Measures the same calls among 100, 1,000, 10,000 and 100,000 tasks, as processes and as library calls.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use tenure_kernel::Op;
use tenure_kernel::op::{add_many, claim, done};
use tenure_kernel::query;
use tenure_kernel::query::{list, log};
use tenure_store::Location;
use tenure_testkit::pg;

use crate::WARM_UP;
use crate::caller::{Caller, adding};
use crate::home::{Engine, Home, Programs};
use crate::plot::{Curve, Plot};
use crate::table::{Table, ms, quantile};

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// The measured times of each call at each size.
struct Measured {
    title: String,
    calls: Vec<(&'static str, [Vec<Duration>; 4])>,
}

impl Measured {
    fn new(title: String, names: impl IntoIterator<Item = &'static str>) -> Measured {
        eprintln!("measuring: {title}");
        Measured { title, calls: names.into_iter().map(|name| (name, Default::default())).collect() }
    }

    fn table(&self) -> Table {
        let head = ["call", "among 100", "among 100,000", "1,000 / 100", "10,000 / 100", "100,000 / 100"];
        let mut table = Table::quiet(&self.title, &head);
        for (name, times) in &self.calls {
            let p50 = times.each_ref().map(|times| quantile(times[WARM_UP..].to_vec(), 0.5));
            let mut row = vec![format!("`{name}`"), ms(p50[0]), ms(p50[3])];
            row.extend(p50[1..].iter().map(|time| format!("{:.2}", time / p50[0])));
            table.rows.push(row);
        }
        table
    }

    fn plot(&self) -> Plot {
        let curve = |(name, times): &(&'static str, [Vec<Duration>; 4])| {
            let p50 = times.each_ref().map(|times| quantile(times[WARM_UP..].to_vec(), 0.5));
            Curve { name, points: SIZES.into_iter().zip(p50.map(|time| time / p50[0])).collect() }
        };
        Plot { title: self.title.clone(), curves: self.calls.iter().map(curve).collect() }
    }
}

/// The sizes, starting with a different one in each round, because the first one finds caches filled by another call.
fn in_turn(round: usize) -> impl Iterator<Item = usize> {
    (0..SIZES.len()).map(move |n| (n + round) % SIZES.len())
}

/// Measures whole processes. Each round adds one task and finishes one, so that the number of ready tasks stays
/// constant.
pub(crate) fn of_the_command_line(programs: &Programs, engine: Engine, runs: usize) -> (Table, Plot) {
    let calls: [(&'static str, &[&str]); 7] = [
        ("add", &["add", "one more"]),
        ("claim", &["claim", "--agent", "worker"]),
        ("done", &["done", "--agent", "worker"]),
        ("next", &["next"]),
        ("list --limit 20", &["list", "--limit", "20"]),
        ("log", &["log"]),
        ("status", &["status"]),
    ];
    let title = format!("Growth of the command line on {}", engine.name());
    let mut measured = Measured::new(title, calls.map(|(name, _)| name));
    let lines = |batch: Vec<add_many::NewTask>| batch.iter().map(line).collect::<String>();
    let homes = SIZES.map(|tasks| Home::with_batches(programs, engine, batches(tasks).map(lines)));
    for round in 0..WARM_UP + runs {
        for ((_, call), (_, times)) in calls.iter().zip(&mut measured.calls) {
            in_turn(round).for_each(|n| times[n].push(homes[n].time(call)));
        }
    }
    (measured.table(), measured.plot())
}

type Work<'a> = &'a dyn Fn(&Caller);

/// Measures library calls in this process.
pub(crate) fn of_the_library(engine: Engine, runs: usize) -> (Table, Plot) {
    let page = list::List { limit: 20, ..list::List::default() };
    let newest = log::Log { limit: 20, ..log::Log::default() };
    let calls: [(&'static str, Work<'_>); 7] = [
        ("add", &|at| drop(at.run(&adding()))),
        ("claim", &|at| drop(at.run(&Op::new(claim::Claim::default())))),
        ("done", &|at| drop(at.run(&Op::new(done::Done::default())))),
        ("next", &|at| drop(at.kernel.ask(&at.call(), &query::next::Next { labels: Vec::new() }).unwrap())),
        ("list, 20", &|at| drop(at.kernel.ask(&at.call(), &page).unwrap())),
        ("log, 20", &|at| drop(at.kernel.ask(&at.call(), &newest).unwrap())),
        ("status", &|at| drop(at.kernel.ask(&at.call(), &query::status::Status {}).unwrap())),
    ];
    let mut measured =
        Measured::new(format!("Growth of the library on {}", engine.name()), calls.iter().map(|(name, _)| *name));
    let dir = TempDir::new().unwrap();
    let schemas = SIZES.map(|_| pg_schema(engine));
    let stores = [0, 1, 2, 3].map(|n| {
        let location = match &schemas[n] {
            Some(schema) => Location::Postgres(pg::server().url(schema)),
            None => Location::File(dir.path().join(format!("{n}.db"))),
        };
        let caller = Caller::new(&location, "p", "worker");
        batches(SIZES[n]).for_each(|batch| caller.add_many(batch));
        caller
    });
    for round in 0..WARM_UP + runs {
        for ((_, call), (_, times)) in calls.iter().zip(&mut measured.calls) {
            for n in in_turn(round) {
                let start = Instant::now();
                call(&stores[n]);
                times[n].push(start.elapsed());
            }
        }
    }
    schemas.iter().flatten().for_each(|schema| pg::server().batch(&format!("DROP SCHEMA {schema} CASCADE")));
    (measured.table(), measured.plot())
}

fn pg_schema(engine: Engine) -> Option<String> {
    matches!(engine, Engine::Postgres).then(|| pg::server().fresh_schema())
}

fn line(item: &add_many::NewTask) -> String {
    let line = json!({ "title": item.title, "key": item.key, "priority": item.priority, "after": item.after });
    format!("{line}\n")
}

/// Splits the tasks into batches of the size that one call accepts.
fn batches(tasks: usize) -> impl Iterator<Item = Vec<add_many::NewTask>> {
    (0..tasks).step_by(add_many::AT_MOST).map(move |from| items(add_many::AT_MOST.min(tasks - from)))
}

/// A batch: the first half is ready, and each task of the second half depends on four earlier ones. So there are twice
/// as many dependencies as tasks, and about four dependents per task.
fn items(tasks: usize) -> Vec<add_many::NewTask> {
    let mut seed = 1_u64;
    let mut draw = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut item = |n: usize| {
        let mut after = BTreeSet::new();
        while n >= tasks / 2 && after.len() < 4 {
            after.insert(format!("k{}", draw(n)));
        }
        add_many::NewTask {
            title: format!("task {n}"),
            description: String::new(),
            priority: (n % 5) as i64,
            labels: Vec::new(),
            acceptance: String::new(),
            after: after.into_iter().collect(),
            key: Some(format!("k{n}")),
            line: n + 1,
        }
    };
    (0..tasks).map(&mut item).collect()
}
