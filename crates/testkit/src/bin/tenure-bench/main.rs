//! Benchmarks Tenure on temporary stores: whole processes, as a user experiences them, and library calls.
//!
//! `floor` compares single calls with `tenure-floor`. `hooks` measures the calls of agent tools. `library` compares
//! single ops with the database alone. `growth` measures the same calls among 100 to 100,000 tasks. `paths` measures
//! reservations among 10 to 10,000 holds. `many` runs 64 loops of writes at once. `race` lets 32 processes race for one
//! task. `server` compares 64 clients of a server with as many writers without one. `trips` counts the round trips to
//! PostgreSQL. `checkpoint` compares how long a log one-shot calls leave behind, on disks of different speed. The ratios are what counts; docs/performance.md explains them. Run `cargo build --release --workspace`
//! first, on an otherwise idle machine.

// A benchmark reads clocks, arguments and files, panics on any error, and prints its results.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)]

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;
use std::{env, thread};

use tempfile::TempDir;
use tenure_testkit::pg;

use crate::home::{Engine, Home, Programs};
use crate::plot::Plot;
use crate::table::{Table, ms, quantile};

mod caller;
mod checkpoint;
mod growth;
mod home;
mod hooks;
mod library;
mod paths;
mod plot;
mod postgres;
mod race;
mod server;
mod table;
mod tape;
mod trips;

const USAGE: &str = "usage: tenure-bench [floor] [hooks] [library] [growth] [paths] [many] [race] [server] [trips]
                    [checkpoint] [--runs N] [--postgres] [--fsync] [--markdown] [--plots DIR]

  --postgres   on PostgreSQL too: a throw-away server, or the one of TENURE_TEST_PG
  --fsync      the throw-away server syncs as one in use does (without it, it does not)
  --plots DIR  write the growth curves there, as SVG";
const SECTIONS: [&str; 10] =
    ["floor", "hooks", "library", "growth", "paths", "many", "race", "server", "trips", "checkpoint"];
/// Rounds that do not count: they fill the caches and create the first write-ahead log.
const WARM_UP: usize = 10;
const LOOPS: usize = 64;
const WRITES: usize = 50;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    if let [part, store, agent] = words.as_slice()
        && part == race::PART
    {
        race::part(store, agent);
        return ExitCode::SUCCESS;
    }
    if let [part, rest @ ..] = words.as_slice()
        && part == checkpoint::PART
    {
        checkpoint::part(rest);
        return ExitCode::SUCCESS;
    }
    if let [part, rest @ ..] = words.as_slice()
        && part == hooks::PART
    {
        hooks::part(&Programs::find().unwrap(), rest);
        return ExitCode::SUCCESS;
    }
    let result = Options::parse(words.into_iter()).and_then(|options| Ok((options, Programs::find()?)));
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
    if options.postgres {
        if options.fsync {
            pg::serve_durably();
        }
        let said = pg::server().query("SELECT version(); SHOW fsync; SHOW synchronous_commit");
        let said: Vec<_> = said.into_iter().flatten().flatten().collect();
        let version = said[0].split(" (").next().unwrap();
        println!("{version}, fsync {}, synchronous_commit {}", said[1], said[2]);
    }
    let print = |table: Table| table.print(options.markdown);
    if options.wants("floor") {
        floor(programs, options.runs).into_iter().for_each(print);
    }
    if options.wants("hooks") {
        print(hooks::few(programs, "claude", options.runs));
        print(hooks::few(programs, "codex", options.runs));
        print(hooks::many(programs, options.runs));
    }
    if options.wants("library") {
        print(library::against_sqlite(options.runs));
        if options.postgres {
            print(postgres::against_postgres(options.runs));
        }
    }
    if options.wants("growth") {
        for engine in engines {
            for (table, plot) in [
                growth::of_the_library(*engine, options.runs),
                growth::of_the_command_line(programs, *engine, options.runs),
            ] {
                print(table);
                options.keep(&plot);
            }
        }
    }
    if options.wants("paths") {
        engines.iter().for_each(|engine| print(paths::paths(*engine, options.runs)));
    }
    if options.wants("many") {
        print(many(programs, engines));
    }
    if options.wants("race") {
        print(race::race(engines, options.runs));
    }
    if options.wants("server") {
        print(server::measure());
    }
    if options.wants("checkpoint") {
        print(checkpoint::measure(options.runs));
    }
    if options.wants("trips") && options.postgres {
        print(trips::trips());
    }
}

// ---- one call against the floor ----

/// Each call of Tenure follows one of the floor, so that a slow moment of the machine affects both. Each side has its
/// own store: on a shared one, each would pay for the log of the other.
fn floor(programs: &Programs, runs: usize) -> [Table; 2] {
    let home = Home::new(programs, Engine::Sqlite);
    let bare = Home::new(programs, Engine::Sqlite);
    home.time(&["add", "first"]);
    bare.time(&["add", "first"]);
    let head = ["call", "Tenure p50", "floor p50", "ratio", "Tenure p99", "floor p99", "p99 ratio"];
    let mut table = Table::new("One call against the floor", &head);
    let mut against_bare =
        Table::new("One call against a bare program", &head.map(|cell| cell.replace("floor", "bare")));

    // This agent keeps its task held: it is the focus of `note` and the task claimed again.
    let own = home.answer(&["claim", "--agent", "holder", "--json"])["data"]["task"]["id"].as_str().unwrap().to_owned();
    let writes =
        ["`add`", "`note`", "`note ID`", "`claim ID`, one's own task", "`claim ID`, a ready task", "`done ID`"];
    let mut pairs = vec![Vec::new(); writes.len()];
    let mut bare_pairs = pairs.clone();
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
        for (call, (pairs, bare_pairs)) in calls.iter().zip(pairs.iter_mut().zip(&mut bare_pairs)) {
            let (least, bare) = (bare.time_floor("write"), bare.time_floor("bare"));
            let time = home.time(call);
            pairs.push((time, least));
            bare_pairs.push((time, bare));
        }
    }
    writes.iter().zip(pairs).for_each(|(name, pairs)| table.compare(name, &pairs));
    writes.iter().zip(bare_pairs).for_each(|(name, pairs)| against_bare.compare(name, &pairs));

    // Shows the last finished task, because the held one has hundreds of notes by now.
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
    [table, against_bare]
}

/// The time of one `fdatasync` of 4 KiB on the disk of the stores, in seconds.
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

// ---- options ----

struct Options {
    sections: Vec<String>,
    runs: usize,
    postgres: bool,
    fsync: bool,
    markdown: bool,
    plots: Option<PathBuf>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options =
            Options { sections: Vec::new(), runs: 200, postgres: false, fsync: false, markdown: false, plots: None };
        while let Some(word) = words.next() {
            match word.as_str() {
                section if SECTIONS.contains(&section) => options.sections.push(word),
                "--postgres" => options.postgres = true,
                "--fsync" => options.fsync = true,
                "--markdown" => options.markdown = true,
                "--plots" => options.plots = Some(words.next().ok_or("--plots takes a directory")?.into()),
                "--runs" => {
                    let runs = words.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                    options.runs = runs.ok_or("--runs takes a number above 0")?;
                }
                _ => return Err(USAGE.to_owned()),
            }
        }
        // The working directory changes before the plots are written, so the path is made absolute.
        if let Some(dir) = &mut options.plots {
            fs::create_dir_all(&*dir).map_err(|error| format!("{}: {error}", dir.display()))?;
            *dir = dir.canonicalize().map_err(|error| format!("{}: {error}", dir.display()))?;
        }
        Ok(options)
    }

    fn wants(&self, section: &str) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|s| s == section)
    }

    fn keep(&self, plot: &Plot) {
        if let Some(dir) = &self.plots {
            fs::write(dir.join(plot.file()), plot.svg()).unwrap();
        }
    }
}
