//! Compares a server with direct access: 64 clients over its socket, 64 writers directly on the store, and the same ops
//! in one process, 64 per transaction. Every sync takes one millisecond longer, to simulate a slower disk.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tenure_client::socket_path::{file_identity, socket_path};
use tenure_client::wire::WireRequest;
use tenure_client::{Expected, Socket};
use tenure_kernel::{Kernel, PendingOp, ReadyOp};
use tenure_server::http::{Limits, Proxies};
use tenure_server::log::ServerLog;
use tenure_server::serve::{RunningServer, ServerConfig, ServerSettings};
use tenure_store::{Location, Options};
use tenure_testkit::power;

use crate::LOOPS;
use crate::caller::{Caller, noting};
use crate::library::place;
use crate::table::{Table, ms, quantile};

/// The duration of each measurement.
const WINDOW: Duration = Duration::from_secs(4);
/// The added duration of a sync.
const SLOWER: Duration = Duration::from_millis(1);

pub(crate) fn measure() -> Table {
    let vfs = power::slow(SLOWER);
    let mut table = Table::quiet(
        "64 persistent writers, every sync 1 ms longer",
        &["way", "ops/s", "p50 ms", "p99 ms", "longest ms", "p99/p50"],
    );
    let direct = through(&vfs, "straight on the store", &mut table, |location, options| {
        let kernel = Kernel::new(location.clone(), options.clone(), tenure_client::phrasing::of).unwrap();
        move |caller: &Caller, op: &tenure_kernel::Op| drop(kernel.run(&caller.call(), op).unwrap())
    });
    let (_dir, location) = place();
    let Location::File(path) = &location else { unreachable!() };
    let options = Options { vfs: Some(vfs.clone()), ..Options::default() };
    let running = serve(&location, &options, path);
    let socket = socket_path(path, None).unwrap();
    let expected = Expected { store: None, file: file_identity(path) };
    let served = window(&location, &options, &mut table, "over the socket", |_, _| {
        let socket = Socket::connect(&socket, &expected, Duration::from_secs(10)).unwrap();
        move |caller: &Caller, op: &tenure_kernel::Op| {
            let request = WireRequest::op(&caller.call(), op, Some(10_000)).unwrap();
            drop(socket.send_within(&request, Duration::from_secs(10)).unwrap().unwrap());
        }
    });
    running.stop();
    let together = together(&vfs, &mut table);
    for (name, ratio) in [("socket / straight", served / direct), ("socket / in one process", served / together)] {
        let mut row = vec![name.to_owned(), format!("{ratio:.2}")];
        row.resize(6, String::new());
        table.rows.push(row);
    }
    table
}

fn serve(location: &Location, options: &Options, path: &Path) -> RunningServer {
    let kernel = Kernel::new(location.clone(), options.clone(), tenure_client::phrasing::of).unwrap();
    kernel.store().create().unwrap();
    let log = ServerLog::new(std::sync::Arc::new(|_: &str| {}), std::sync::Arc::new(String::new));
    let snapshot = ServerConfig { limits: Limits::default(), proxies: Proxies::default(), revision: String::new() };
    let settings = ServerSettings { socket: socket_path(path, None), listen: None, snapshot, log };
    RunningServer::start(kernel, settings).unwrap()
}

fn through<W>(vfs: &str, name: &str, table: &mut Table, way: impl Fn(&Location, &Options) -> W + Sync) -> f64
where
    W: Fn(&Caller, &tenure_kernel::Op),
{
    let (_dir, location) = place();
    let options = Options { vfs: Some(vfs.to_owned()), ..Options::default() };
    window(&location, &options, table, name, way)
}

/// The ops per second of 64 concurrent writers, each with its own access to the store.
fn window<W>(
    location: &Location,
    options: &Options,
    table: &mut Table,
    name: &str,
    way: impl Fn(&Location, &Options) -> W + Sync,
) -> f64
where
    W: Fn(&Caller, &tenure_kernel::Op),
{
    let tasks: Vec<(Caller, String)> = (0..LOOPS)
        .map(|n| {
            let caller = Caller::new(location, "p", &format!("agent-{n}"));
            let task = caller.add();
            (caller, task)
        })
        .collect();
    let (start, over) = (Barrier::new(LOOPS + 1), AtomicBool::new(false));
    let times: Vec<Duration> = thread::scope(|scope| {
        let workers: Vec<_> = tasks
            .into_iter()
            .map(|(caller, task)| {
                let (start, over, way) = (&start, &over, &way);
                scope.spawn(move || {
                    let write = way(location, options);
                    write(&caller, &noting(&task));
                    start.wait();
                    let mut times = Vec::new();
                    while !over.load(Ordering::Relaxed) {
                        let began = Instant::now();
                        write(&caller, &noting(&task));
                        times.push(began.elapsed());
                    }
                    times
                })
            })
            .collect();
        start.wait();
        thread::sleep(WINDOW);
        over.store(true, Ordering::Relaxed);
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    row(table, name, times, WINDOW)
}

/// The same ops in one process, 64 per transaction.
fn together(vfs: &str, table: &mut Table) -> f64 {
    let (_dir, location) = place();
    let options = Options { vfs: Some(vfs.to_owned()), ..Options::default() };
    let kernel = Kernel::new(location.clone(), options, tenure_client::phrasing::of).unwrap();
    let callers: Vec<Caller> = (0..LOOPS).map(|n| Caller::new(&location, "p", &format!("agent-{n}"))).collect();
    let tasks: Vec<String> = callers.iter().map(Caller::add).collect();
    let (began, mut times) = (Instant::now(), Vec::new());
    while began.elapsed() < WINDOW {
        let round = Instant::now();
        let noting = |(caller, task): (&Caller, &String)| {
            let call = caller.call();
            let ready = ReadyOp::new(&call, noting(task)).unwrap();
            (call, ready)
        };
        let work: Vec<_> = callers.iter().zip(&tasks).map(noting).collect();
        let stays = || true;
        let orders: Vec<_> = work.iter().map(|(call, ready)| PendingOp { call, ready, is_wanted: &stays }).collect();
        for answer in kernel.run_many(&orders, Duration::from_secs(1)) {
            answer.unwrap();
            times.push(round.elapsed());
        }
    }
    row(table, "in one process, 64 to a transaction", times, began.elapsed())
}

fn row(table: &mut Table, name: &str, times: Vec<Duration>, window: Duration) -> f64 {
    let rate = times.len() as f64 / window.as_secs_f64();
    let at = |q: f64| quantile(times.clone(), q);
    let (p50, p99, longest) = (at(0.5), at(0.99), at(1.0));
    let cells = [format!("{rate:.0}"), ms(p50), ms(p99), ms(longest), format!("{:.1}", p99 / p50)];
    table.rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    rate
}
