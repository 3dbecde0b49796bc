//! Measures the command line as somebody feels it: whole processes, from start to end, on stores that are thrown away.
//!
//! `floor` sets single calls against `tenure-floor`, `growth` the same calls among 100 and among 100,000 tasks, `many`
//! runs 64 loops of writes at once. What counts are the ratios; docs/performance.md says how they are meant. It needs
//! `cargo build --release --workspace` first, and a machine with nothing else to do.

// A measurement reads clocks, arguments and files, stops at the first surprise and prints what it saw.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;
use std::{env, thread};

use serde_json::json;
use tempfile::TempDir;

use crate::home::{Engine, Home, Programs};
use crate::table::{Table, ms, quantile};

mod home;
mod table;

const USAGE: &str = "usage: tenure-bench [floor] [growth] [many] [--runs N] [--postgres] [--markdown]";
/// Rounds before those that count: caches fill, the first write-ahead log is made.
const WARM_UP: usize = 10;
const FEW: usize = 100;
const MANY: usize = 100_000;
const LOOPS: usize = 64;
const WRITES: usize = 50;

fn main() -> ExitCode {
    let result = Options::parse(env::args().skip(1)).and_then(|options| Ok((options, Programs::find()?)));
    match result {
        Ok((options, programs)) => {
            run(&options, &programs);
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options, programs: &Programs) {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    let cores = thread::available_parallelism().unwrap();
    println!("{cores} cores, load {load} at the start, f = {:.2} ms, {} runs", sync_time() * 1e3, options.runs);
    let engines: &[Engine] = if options.postgres { &[Engine::Sqlite, Engine::Postgres] } else { &[Engine::Sqlite] };
    if options.wants("floor") {
        floor(programs, options.runs).print(options.markdown);
    }
    if options.wants("growth") {
        for engine in engines {
            growth(programs, *engine, options.runs).print(options.markdown);
        }
    }
    if options.wants("many") {
        many(programs, engines).print(options.markdown);
    }
}

// ---- one call against the floor ----

/// Every call of Tenure right after one of the floor, so that a slow moment of the machine meets both. Each has a store
/// of its own: on a shared one either would pay for the log that the other left.
fn floor(programs: &Programs, runs: usize) -> Table {
    let home = Home::new(programs, Engine::Sqlite);
    let bare = Home::new(programs, Engine::Sqlite);
    home.time(&["add", "first"]);
    bare.time(&["add", "first"]);
    let mut table = Table::new(
        "One call against the floor",
        &["call", "Tenure p50", "floor p50", "ratio", "Tenure p99", "floor p99", "p99 ratio"],
    );

    // Its task stays held by this agent: the focus of `note`, and what it claims again.
    let own = home.answer(&["claim", "--agent", "holder", "--json"])["data"]["task"]["id"].as_str().unwrap().to_owned();
    let writes =
        ["`add`", "`note`", "`note ID`", "`claim ID`, one's own task", "`claim ID`, a ready task", "`done ID`"];
    let mut pairs = vec![Vec::new(); writes.len()];
    let mut free = String::new();
    for _ in 0..WARM_UP + runs {
        free = home.answer(&["add", "free", "--json"])["data"]["id"].as_str().unwrap().to_owned();
        let calls: [&[&str]; 6] = [
            &["add", "hello world"],
            &["note", "half way", "--agent", "holder"],
            &["note", &own, "half way", "--agent", "holder"],
            &["claim", &own, "--agent", "holder"],
            &["claim", &free, "--agent", "finisher"],
            &["done", &free, "--agent", "finisher"],
        ];
        for (call, pairs) in calls.iter().zip(&mut pairs) {
            let least = bare.time_floor("write");
            pairs.push((home.time(call), least));
        }
    }
    writes.iter().zip(pairs).for_each(|(name, pairs)| table.compare(name, &pairs));

    // The last task that was finished: the one held by now has hundreds of notes to show.
    let reads: [(&str, &[&str]); 3] =
        [("`list --limit 1`", &["list", "--limit", "1"]), ("`show ID`", &["show", &free]), ("`next`", &["next"])];
    let mut pairs = vec![Vec::new(); reads.len()];
    for _ in 0..WARM_UP + runs {
        for ((_, call), pairs) in reads.iter().zip(&mut pairs) {
            let least = bare.time_floor("read");
            pairs.push((home.time(call), least));
        }
    }
    reads.iter().zip(pairs).for_each(|((name, _), pairs)| table.compare(name, &pairs));
    table
}

/// One `fdatasync` of 4 KiB on the disk the stores are on, in seconds.
fn sync_time() -> f64 {
    let dir = TempDir::new().unwrap();
    let mut file = File::create(dir.path().join("f")).unwrap();
    let times = (0..100).map(|_| {
        let start = Instant::now();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
        start.elapsed()
    });
    quantile(times.collect(), 0.5)
}

// ---- growth ----

fn growth(programs: &Programs, engine: Engine, runs: usize) -> Table {
    let mut table = Table::new(
        &format!("Growth on {}", engine.name()),
        &["call", "among 100,000 p50", "among 100 p50", "ratio", "100,000 p99", "100 p99", "p99 ratio"],
    );
    let [few, many] = [FEW, MANY].map(|tasks| Home::with_batch(programs, engine, &batch(tasks)));
    // Each round adds one task and finishes one, so both stores keep what is ready.
    let calls: [(&str, &[&str]); 7] = [
        ("`add`", &["add", "one more"]),
        ("`claim`", &["claim", "--agent", "worker"]),
        ("`done`", &["done", "--agent", "worker"]),
        ("`next`", &["next"]),
        ("`list --limit 20`", &["list", "--limit", "20"]),
        ("`log`", &["log"]),
        ("`status`", &["status"]),
    ];
    let mut pairs = vec![Vec::new(); calls.len()];
    for _ in 0..WARM_UP + runs {
        for ((_, call), pairs) in calls.iter().zip(&mut pairs) {
            let small = few.time(call);
            pairs.push((many.time(call), small));
        }
    }
    calls.iter().zip(pairs).for_each(|((name, _), pairs)| table.compare(name, &pairs));
    table
}

/// A batch for `add --stdin`: the first half ready, each of the others after four earlier ones; so twice as many
/// dependencies as tasks, and about four tasks that wait for each.
fn batch(tasks: usize) -> String {
    let mut seed = 1_u64;
    let mut draw = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut lines = String::new();
    for i in 0..tasks {
        let mut after = BTreeSet::new();
        while i >= tasks / 2 && after.len() < 4 {
            after.insert(format!("k{}", draw(i)));
        }
        let line = json!({"title": format!("task {i}"), "key": format!("k{i}"), "priority": i % 5, "after": after});
        lines.push_str(&format!("{line}\n"));
    }
    lines
}

// ---- many processes ----

fn many(programs: &Programs, engines: &[Engine]) -> Table {
    let title = format!("{LOOPS} loops of {WRITES} writes at once");
    let finishers = ["store", "failures", "first finisher", "last finisher", "last / first"];
    let calls = ["median call", "p99", "longest", "longest / median", "calls per second"];
    let mut table = Table::new(&title, &[finishers, calls].concat());
    for engine in engines {
        table.rows.push(herd(programs, *engine));
    }
    table
}

fn herd(programs: &Programs, engine: Engine) -> Vec<String> {
    let home = Home::new(programs, engine);
    home.time(&["add", "first"]);
    let barrier = Barrier::new(LOOPS + 1);
    let run = |n: usize| {
        let agent = format!("loop-{n}");
        barrier.wait();
        let calls: Vec<_> = (0..WRITES).map(|_| home.try_time(&["add", "a task", "--agent", &agent])).collect();
        (Instant::now(), calls)
    };
    let (ends, calls) = thread::scope(|scope| {
        let run = &run;
        let loops: Vec<_> = (0..LOOPS).map(|n| scope.spawn(move || run(n))).collect();
        barrier.wait();
        let start = Instant::now();
        let results = loops.into_iter().map(|one| one.join().unwrap());
        let (ends, calls): (Vec<_>, Vec<_>) = results.map(|(end, calls)| (end - start, calls)).unzip();
        (ends, calls.concat())
    });
    let failures = calls.iter().filter(|(_, ok)| !ok).count();
    let (first, last) = (quantile(ends.clone(), 0.0), quantile(ends, 1.0));
    let times: Vec<_> = calls.into_iter().map(|(time, _)| time).collect();
    let (median, p99) = (quantile(times.clone(), 0.5), quantile(times.clone(), 0.99));
    let longest = quantile(times, 1.0);
    vec![
        engine.name().to_owned(),
        failures.to_string(),
        format!("{first:.2} s"),
        format!("{last:.2} s"),
        format!("{:.2}", last / first),
        ms(median),
        ms(p99),
        ms(longest),
        format!("{:.1}", longest / median),
        format!("{:.0}", (LOOPS * WRITES) as f64 / last),
    ]
}

// ---- what is asked for ----

struct Options {
    sections: Vec<String>,
    runs: usize,
    postgres: bool,
    markdown: bool,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options { sections: Vec::new(), runs: 200, postgres: false, markdown: false };
        while let Some(word) = words.next() {
            match word.as_str() {
                "floor" | "growth" | "many" => options.sections.push(word),
                "--postgres" => options.postgres = true,
                "--markdown" => options.markdown = true,
                "--runs" => {
                    let runs = words.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                    options.runs = runs.ok_or("--runs takes a number above 0")?;
                }
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }

    fn wants(&self, section: &str) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|s| s == section)
    }
}
