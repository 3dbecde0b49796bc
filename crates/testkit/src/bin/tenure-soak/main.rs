//! Runs the soak tests and prints one report: `tenure-soak [SECTION …] [--minutes N] [--seed N] [--seeds N]`, or
//! `tenure-soak --plan FILE`, which runs one plan of the simulator on every engine.

// A soak test reads clocks and arguments, and prints its results.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenure_testkit::evidence::soaks;
use tenure_testkit::report::{Budget, Section, markdown};
use tenure_testkit::{sim, worker};

fn main() -> ExitCode {
    worker::play_if_asked();
    match Options::parse(std::env::args().skip(1)) {
        Ok(Options { plan: Some(file), .. }) => replay(&file),
        Ok(options) => run(&options),
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn replay(file: &Path) -> ExitCode {
    match sim::replay(file) {
        Ok(()) => {
            println!("{} holds on every engine", file.display());
            ExitCode::SUCCESS
        }
        Err(report) => {
            println!("{report}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> ExitCode {
    let chosen: Vec<_> = soaks().into_iter().filter(|soak| options.wants(soak.name)).collect();
    let shares: u32 = chosen.iter().map(|soak| soak.share).sum();
    let mut sections = Vec::new();
    for soak in chosen {
        let time = options.time * soak.share / shares.max(1);
        eprintln!("{} for about {} s …", soak.name, time.as_secs());
        let start = Instant::now();
        let budget = Budget { time, seed: options.seed, seeds: options.seeds };
        // A panic is a finding too, and must not discard the findings of the other sections.
        let mut section = catch_unwind(AssertUnwindSafe(|| (soak.run)(budget))).unwrap_or_else(|panic| {
            let why = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            let mut section = Section::new(soak.name);
            section.violation(format!("the run broke down: {}", why.unwrap_or_default()));
            section
        });
        section.figure("time", format!("{} s", start.elapsed().as_secs()));
        eprintln!("{}: {} violations", soak.name, section.violations.len());
        sections.push(section);
    }
    let profile = if cfg!(debug_assertions) { "development" } else { "release" };
    println!("Seed {}, {profile} profile.\n\n{}", options.seed, markdown(&sections));
    let violations: usize = sections.iter().map(|section| section.violations.len()).sum();
    println!("{violations} violations");
    ExitCode::from(u8::from(violations > 0))
}

struct Options {
    sections: Vec<String>,
    time: Duration,
    seed: u64,
    seeds: Option<u64>,
    plan: Option<PathBuf>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options =
            Options { sections: Vec::new(), time: Duration::from_secs(600), seed: 1, seeds: None, plan: None };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--minutes" => {
                    let minutes = words.next().and_then(|n| n.parse::<u64>().ok()).filter(|n| (1..=10_000).contains(n));
                    options.time = Duration::from_secs(60 * minutes.ok_or("--minutes takes a number of 1 to 10000")?);
                }
                "--seed" => {
                    let seed = words.next().and_then(|n| n.parse().ok());
                    options.seed = seed.ok_or("--seed takes a number")?;
                }
                "--seeds" => {
                    let seeds = words.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                    options.seeds = Some(seeds.ok_or("--seeds takes a number of 1 or more")?);
                }
                "--plan" => options.plan = Some(words.next().ok_or("--plan takes a file")?.into()),
                section if soaks().iter().any(|soak| soak.name == section) => options.sections.push(word),
                other => {
                    let names: Vec<_> = soaks().iter().map(|soak| soak.name).collect();
                    return Err(format!(
                        "unknown: {other}\nusage: tenure-soak [{}] [--minutes N] [--seed N] [--seeds N]\n       tenure-soak --plan FILE",
                        names.join("] [")
                    ));
                }
            }
        }
        Ok(options)
    }

    fn wants(&self, section: &str) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|name| name == section)
    }
}
