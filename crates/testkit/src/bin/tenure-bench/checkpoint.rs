//! Compares policies for the log of a closed store: one-shot processes on disks of different speed, which leave a log up to
//! different lengths. Each call is a process of its own that adds a task, or asks for the status.

use std::env;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tenure_kernel::Kernel;
use tenure_kernel::query::status::Status;
use tenure_store::{Location, Options};
use tenure_testkit::power;

use crate::caller::{Caller, adding};
use crate::table::{Table, ms, quantile};

/// The first word of a call.
pub(crate) const PART: &str = "checkpoint-part";
/// The added duration of a sync, in microseconds.
const SYNCS: [u64; 6] = [0, 100, 500, 1_000, 5_000, 10_000];
/// The longest log that is left, in pages. With 0 the last connection always copies and removes the log.
const LIMITS: [u64; 7] = [0, 16, 32, 64, 128, 256, 1_000];
/// A page in the log, with its header.
const PAGE: u64 = 4_120;

pub(crate) fn measure(runs: usize) -> Table {
    let head = ["added to a sync", "pages left", "a write, mean", "p50", "p99", "a query, mean"];
    let mut table = Table::new("One-shot calls by the longest log that is left", &head);
    for sync in SYNCS {
        let stores = LIMITS.map(|limit| (limit, TempDir::new().unwrap()));
        let mut times = LIMITS.map(|_| (Vec::new(), Vec::new()));
        for round in 0..runs + 1 {
            for ((limit, dir), (writes, reads)) in stores.iter().zip(&mut times) {
                let call = |what| time(&[&sync.to_string(), &limit.to_string(), dir.path().to_str().unwrap(), what]);
                let (write, read) = (call("write"), call("read"));
                // The first write creates the store.
                if round > 0 {
                    writes.push(write);
                    reads.push(read);
                }
            }
        }
        let mean = |times: &[Duration]| times.iter().sum::<Duration>().as_secs_f64() / times.len() as f64;
        for (limit, (writes, reads)) in LIMITS.iter().zip(times) {
            table.rows.push(vec![
                format!("{} ms", sync as f64 / 1e3),
                limit.to_string(),
                ms(mean(&writes)),
                ms(quantile(writes.clone(), 0.5)),
                ms(quantile(writes, 0.99)),
                ms(mean(&reads)),
            ]);
        }
    }
    table
}

fn time(words: &[&str; 4]) -> Duration {
    let mut command = Command::new(env::current_exe().unwrap());
    command.arg(PART).args(words);
    let start = Instant::now();
    assert!(command.status().unwrap().success());
    start.elapsed()
}

/// One call, as the command line makes it.
pub(crate) fn part(words: &[String]) {
    let [sync, limit, dir, what] = words else { panic!("{PART} takes a delay, a limit, a directory and a call") };
    let delay = Duration::from_micros(sync.parse().unwrap());
    let options = Options {
        vfs: (!delay.is_zero()).then(|| power::slow(delay)),
        leave_log: limit.parse::<u64>().unwrap() * PAGE,
        one_connection: what == "write",
        one_shot: what == "read",
        ..Options::default()
    };
    let location = Location::File(format!("{dir}/tenure.db").into());
    let caller = Caller::new(&location, "p", "a");
    let kernel = Kernel::new(location, options, tenure_client::phrasing::of).unwrap();
    match what.as_str() {
        "write" => drop(kernel.run(&caller.call(), &adding()).unwrap()),
        _ => drop(kernel.ask(&caller.call(), &Status {}).unwrap()),
    }
}
