//! Measures path calls among 10, 1,000 and 10,000 live holds, and among 5,000 live globs.

use std::time::{Duration, Instant};

use tempfile::TempDir;
use tenure_kernel::op::{release, reserve};
use tenure_kernel::query::check::Check;
use tenure_kernel::{Call, Checkout, Op, Trust, WorkingTree};
use tenure_store::Location;
use tenure_testkit::pg;

use crate::WARM_UP;
use crate::caller::Caller;
use crate::home::Engine;
use crate::table::{Table, ms, quantile};

/// The contents of each store before the measurement.
const STORES: [(&str, usize, bool); 4] = [
    ("10 files", 10, false),
    ("1,000 files", 1_000, false),
    ("10,000 files", 10_000, false),
    ("5,000 globs", 5_000, true),
];

/// The requested pattern in each form; none overlaps an existing hold.
const ASKED: [(&str, &str); 4] = [
    ("a file", "src/part-3/mine.rs"),
    ("a directory", "src/mine/"),
    ("an anchored glob", "glob:src/mine*/**/?.rs"),
    ("an unanchored glob", "glob:**/mine-?.rs"),
];

fn from_checkout(caller: &Caller) -> Call {
    let (host, path) = ("host".to_owned(), "/repo".to_owned());
    let checkout = Checkout { host, path, common: None, trust: Trust::Any, tree: WorkingTree::default() };
    Call { checkout: Some(checkout), ..caller.call() }
}

fn fill(caller: &Caller, count: usize, globs: bool) {
    let name = |n: usize| match globs {
        true => format!("glob:src/part-{}/file-{n}-*.rs", n % 97),
        false => format!("src/part-{}/file-{n}.rs", n % 97),
    };
    let all: Vec<String> = (0..count).map(name).collect();
    for some in all.chunks(250) {
        let request = reserve::Reserve { paths: some.to_vec(), ttl_s: Some(86_400), ..reserve::Reserve::default() };
        caller.kernel.run(&from_checkout(caller), &Op::new(request)).unwrap();
    }
}

/// The times of `reserve`, `release` and `check` for each form in each store.
pub(crate) fn paths(engine: Engine, runs: usize) -> Table {
    let mut table = Table::new(
        &format!("Paths on {}: p50 of reserve, and its ratio to that among 10 files", engine.name()),
        &["asked for", "10 files", "1,000 / 10", "10,000 / 10", "5,000 globs / 10", "check among 10,000"],
    );
    let dir = TempDir::new().unwrap();
    let schemas = STORES.map(|_| matches!(engine, Engine::Postgres).then(|| pg::server().fresh_schema()));
    let stores: Vec<(Caller, Caller)> = STORES
        .iter()
        .zip(&schemas)
        .map(|((name, count, globs), schema)| {
            let location = match schema {
                Some(schema) => Location::Postgres(pg::server().url(schema)),
                None => Location::File(dir.path().join(format!("{name}.db"))),
            };
            let holder = Caller::new(&location, "p", "holder");
            fill(&holder, *count, *globs);
            (holder, Caller::new(&location, "p", "asker"))
        })
        .collect();
    for (name, path) in ASKED {
        let paths = vec![path.to_owned()];
        let taking = Op::new(reserve::Reserve { paths: paths.clone(), ..reserve::Reserve::default() });
        let giving = Op::new(release::Release { paths: paths.clone(), ..release::Release::default() });
        let question = Check { paths, ..Check::default() };
        let mut times: [Vec<Duration>; 4] = Default::default();
        let mut checks: Vec<Duration> = Vec::new();
        for round in 0..WARM_UP + runs {
            for n in (0..STORES.len()).map(|n| (n + round) % STORES.len()) {
                let asker = &stores[n].1;
                let start = Instant::now();
                asker.kernel.run(&from_checkout(asker), &taking).unwrap();
                times[n].push(start.elapsed());
                asker.kernel.run(&from_checkout(asker), &giving).unwrap();
            }
            let asker = &stores[2].1;
            let start = Instant::now();
            asker.kernel.ask(&from_checkout(asker), &question).unwrap();
            checks.push(start.elapsed());
        }
        let p50 = times.map(|times| quantile(times[WARM_UP..].to_vec(), 0.5));
        let mut row = vec![name.to_owned(), ms(p50[0])];
        row.extend(p50[1..].iter().map(|time| format!("{:.2}", time / p50[0])));
        row.push(ms(quantile(checks[WARM_UP..].to_vec(), 0.5)));
        table.rows.push(row);
    }
    drop(stores);
    schemas.iter().flatten().for_each(|schema| pg::server().batch(&format!("DROP SCHEMA {schema} CASCADE")));
    table
}
