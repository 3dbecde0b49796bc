//! `tenure demo`: the main job on a store that is thrown away. Eight workers share 200 tasks, three are killed midway.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::Args as _;
use serde_json::json;
use tenure_core::event::Event as Fact;
use tenure_core::number::EventNumber;
use tenure_core::{Code, Error, Kind, Result, Stage};
use tenure_kernel::answer::LoggedEvent;
use tenure_kernel::op::{add_many, claim, done};
use tenure_kernel::query;
use tenure_kernel::query::log;
use tenure_kernel::{Actor, Call, Condition, Kernel, RequestId};
use tenure_store::table::project;
use tenure_store::{Entropy, Location, Options, OsEntropy};

use super::{Group, Run, Spec, read};
use crate::output::Printer;
use crate::output::progress::Progress;
use crate::output::table::table;

/// How long a worker's hold lives: short, so that a killed worker's task is taken over while one watches.
const TTL_S: i64 = 2;

pub(super) const SPEC: Spec = Spec {
    name: "demo",
    aliases: &[],
    group: Group::People,
    about: "Watch workers share tasks in a temporary store",
    examples: &["tenure demo", "tenure demo --workers 4 --tasks 50 --kills 1"],
    args: Args::augment_args,
    run: Run::Plain(|_, out, matches| {
        let args: Args = read(matches)?;
        if args.workers < 2 || args.kills >= args.workers || args.tasks < 4 {
            return Err(Error::usage(
                Code::BadDemo,
                "the demo needs at least two workers, fewer kills than workers, and at least four tasks",
            ));
        }
        run(out, &args)
    }),
};

pub(super) const WORKER: Spec = Spec {
    name: "demo-worker",
    aliases: &[],
    group: Group::Hidden,
    about: "A worker of the demo",
    examples: &[],
    args: WorkerArgs::augment_args,
    run: Run::Plain(|_, _, matches| {
        let args: WorkerArgs = read(matches)?;
        work(&args.file, &args.name)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The number of worker processes
    #[arg(long, value_name = "N", default_value_t = 8)]
    workers: usize,
    /// Tasks
    #[arg(long, value_name = "N", default_value_t = 200)]
    tasks: usize,
    /// The number of workers to kill with kill -9 while they hold a task
    #[arg(long, value_name = "N", default_value_t = 3)]
    kills: usize,
}

#[derive(clap::Args)]
struct WorkerArgs {
    file: PathBuf,
    name: String,
}

/// A directory that is gone when the demo ends, whatever its end.
struct DemoDirectory(PathBuf);

impl DemoDirectory {
    fn new() -> Result<DemoDirectory> {
        let mut bytes = [0; 12];
        OsEntropy.fill(&mut bytes);
        let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let dir = std::env::temp_dir().join(format!("tenure-demo-{name}"));
        std::fs::create_dir(&dir).map_err(|error| {
            Error::new(Code::NotWritable, format!("{} cannot be created", dir.display())).at(Stage::Open).cause(error)
        })?;
        Ok(DemoDirectory(dir))
    }
}

impl Drop for DemoDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Workers, killed when the demo ends early.
struct Fleet(BTreeMap<String, Child>);

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in self.0.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn kernel(file: &Path) -> Result<Kernel> {
    Kernel::new(Location::File(file.to_owned()), Options::default(), tenure_client::phrasing::of)
}

fn call(name: &str) -> Call {
    Call {
        project: project::NamedProject { key: "name:demo".into(), label: "demo".into() },
        actor: Actor::named(name),
        request_id: RequestId::draw(&OsEntropy),
        checkout: None,
        pinned_store: None,
        keep_events: None,
        proven_dead: Vec::new(),
        condition: Condition::None,
    }
}

/// A worker: take, work for a moment, finish, until nothing is left.
#[expect(clippy::disallowed_methods, reason = "the moment that stands for work")]
fn work(file: &Path, name: &str) -> Result<u8> {
    let kernel = kernel(file)?;
    loop {
        let request = claim::Claim { ttl_s: Some(TTL_S), ..claim::Claim::default() };
        let claimed = kernel.execute(&call(name), &request)?.read()?;
        let Some(task) = claimed.task else {
            let overview = kernel.ask(&call(name), &query::status::Status {})?;
            if overview.ready + overview.waiting + overview.started == 0 {
                return Ok(0);
            }
            std::thread::sleep(Duration::from_millis(40));
            continue;
        };
        std::thread::sleep(Duration::from_millis(25 + (task.number % 7).unsigned_abs() * 5));
        match kernel.execute(&call(name), &done::Done { task: Some(task.id), ..done::Done::default() }) {
            Ok(_) => {}
            // Another worker took the task over and finishes it.
            Err(error) if error.kind() == Kind::Stale => {}
            Err(error) => return Err(error),
        }
    }
}

/// Tasks in layers of ten; each comes after two of the layer before.
fn tasks(count: usize) -> Vec<add_many::NewTask> {
    (0..count)
        .map(|n| {
            let (layer, place) = (n / 10, n % 10);
            let before = |place: usize| format!("k{}", (layer - 1) * 10 + place % 10);
            let after = if layer == 0 { Vec::new() } else { vec![before(place), before(place + 3)] };
            add_many::NewTask {
                title: format!("Task {} of layer {}", place + 1, layer + 1),
                description: String::new(),
                priority: 2,
                labels: Vec::new(),
                acceptance: String::new(),
                after,
                key: Some(format!("k{n}")),
                line: n + 1,
            }
        })
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "the pause between two looks at the workers")]
fn run(out: &Printer, args: &Args) -> Result<u8> {
    let scratch = DemoDirectory::new()?;
    let file = scratch.0.join("tenure.db");
    let kernel = kernel(&file)?;
    let added = kernel.execute(&call("person:demo"), &add_many::AddMany { items: tasks(args.tasks) })?.read()?;
    let progress = Progress::begin(
        out,
        &format!("{} tasks, {} workers, {} of them will be killed", added.count, args.workers, args.kills),
    );
    let mut fleet = Fleet(BTreeMap::new());
    for n in 1..=args.workers {
        let name = format!("worker-{n}");
        fleet.0.insert(name.clone(), spawn(&file, &name)?);
    }
    let mut killed: Vec<Victim> = Vec::new();
    loop {
        std::thread::sleep(Duration::from_millis(20));
        let overview = kernel.ask(&call("person:demo"), &query::status::Status {})?;
        let done = usize::try_from(overview.done).unwrap_or(0);
        let (held, dead) = (overview.started, killed.len());
        progress.tell(&format!("{done} of {} tasks done, {held} held, {dead} workers killed", added.count));
        // The kills are spread over the middle of the work, each on a worker that holds a task at that moment.
        let due = args.tasks / 5 + killed.len() * args.tasks / 5;
        if killed.len() < args.kills && done >= due {
            killed.extend(kill_one(&kernel, &mut fleet)?);
        }
        if done == args.tasks {
            break;
        }
        if fleet.0.values_mut().all(|child| child.try_wait().is_ok_and(|status| status.is_some())) {
            break;
        }
    }
    let mut failed = 0;
    for child in fleet.0.values_mut() {
        if !child.wait().is_ok_and(|status| status.success()) {
            failed += 1;
        }
    }
    fleet.0.clear();
    let stale = late_finishes(&kernel, &killed)?;
    drop(progress);
    let exit = report(out, args, &events(&kernel)?, &killed, &stale, failed);
    // The store is closed before its directory goes.
    drop(kernel);
    drop(scratch);
    Ok(exit)
}

fn spawn(file: &Path, name: &str) -> Result<Child> {
    let failed = |error: std::io::Error| Error::bug(format!("a worker cannot be started: {error}"));
    Command::new(crate::env::program().map_err(failed)?)
        .args(["demo-worker", "--"])
        .arg(file)
        .arg(name)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(failed)
}

/// A killed worker and what it held.
struct Victim {
    name: String,
    task: String,
    fence: i64,
}

/// Kills a worker that holds a task, if one does right now. It is stopped first, so that it cannot finish between the
/// look and the blow.
fn kill_one(kernel: &Kernel, fleet: &mut Fleet) -> Result<Option<Victim>> {
    let holds = kernel.ask(&call("person:demo"), &query::holds::Holds::of(None, 50))?;
    for hold in holds.items {
        let Some(child) = fleet.0.get_mut(hold.holder.as_str()) else { continue };
        let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let Some(pid) = pid else { continue };
        if rustix::process::kill_process(pid, rustix::process::Signal::STOP).is_err() {
            continue;
        }
        let still = kernel.ask(&call("person:demo"), &query::show_hold::ShowHold { id: hold.id.to_string() })?;
        if still.state == "live" {
            let _ = child.kill();
            let _ = child.wait();
            fleet.0.remove(hold.holder.as_str());
            return Ok(Some(Victim { name: hold.holder.into(), task: hold.subject, fence: hold.fence.0 }));
        }
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::CONT);
    }
    Ok(None)
}

/// What the killed workers would have sent had they only been slow: a finish under their old fence. Each must be stale.
fn late_finishes(kernel: &Kernel, killed: &[Victim]) -> Result<Vec<String>> {
    let mut refused = Vec::new();
    for victim in killed {
        let request = done::Done {
            task: Some(victim.task.clone().into()),
            fence: Some(victim.fence.into()),
            ..done::Done::default()
        };
        match kernel.execute(&call(&victim.name), &request) {
            Err(error) if error.kind() == Kind::Stale => refused.push(victim.name.clone()),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    Ok(refused)
}

fn events(kernel: &Kernel) -> Result<Vec<LoggedEvent>> {
    let mut all = Vec::new();
    let mut since = log::Since::Number(EventNumber::START);
    loop {
        let filter = log::Log { since: Some(since), limit: 1_000, ..log::Log::default() };
        let page = kernel.ask(&call("person:demo"), &filter)?;
        all.extend(page.items);
        match page.next {
            Some(next) => since = log::Since::Cursor(next),
            None => return Ok(all),
        }
    }
}

/// The table at the end, counted from the log, and whether it is what was promised.
fn report(
    out: &Printer,
    args: &Args,
    events: &[LoggedEvent],
    killed: &[Victim],
    stale: &[String],
    failed: usize,
) -> u8 {
    let count = |kind: &str, who: &str| events.iter().filter(|event| event.kind == kind && event.actor == who).count();
    let took_over =
        |event: &&LoggedEvent| matches!(event.fact(), Fact::TaskClaimed(claimed) if claimed.lapsed_from.is_some());
    let mut finished: BTreeMap<&str, usize> = BTreeMap::new();
    for event in events.iter().filter(|event| event.kind == "task.done") {
        *finished.entry(&event.subject).or_default() += 1;
    }
    let once = finished.values().filter(|times| **times == 1).count();
    let take_overs = events.iter().filter(took_over).count();
    let gapless = events.iter().zip(1_i64..).all(|(event, number)| event.number == number);
    let good = once == args.tasks
        && finished.len() == args.tasks
        && killed.len() == args.kills
        && stale.len() == killed.len()
        && take_overs >= killed.len()
        && gapless
        && failed == 0;
    if out.is_json() {
        out.data(&json!({
            "tasks": args.tasks,
            "finished_once": once,
            "killed": killed.iter().map(|victim| &victim.name).collect::<Vec<_>>(),
            "take_overs": take_overs,
            "stale_refused": stale.len(),
            "events": events.len(),
            "good": good,
        }));
        return u8::from(!good);
    }
    let rows: Vec<Vec<String>> = (1..=args.workers)
        .map(|n| {
            let name = format!("worker-{n}");
            let victim = killed.iter().find(|victim| victim.name == name);
            vec![
                name.clone(),
                count("task.claimed", &name).to_string(),
                count("task.done", &name).to_string(),
                events.iter().filter(took_over).filter(|event| event.actor == name).count().to_string(),
                victim.map_or(String::new(), |victim| format!("killed while holding {}", victim.task)),
                if stale.contains(&name) { "late finish refused as stale".to_owned() } else { String::new() },
            ]
        })
        .collect();
    out.text(&table(out, &["WORKER", "TAKEN", "FINISHED", "TAKE-OVERS", "END", "AFTERWARDS"], &rows));
    out.text(&format!(
        "\n{once} of {} tasks finished exactly once\n{take_overs} take-overs from {} killed workers\n{} stale finishes refused\n{} events, numbered {}\n{}",
        args.tasks,
        killed.len(),
        stale.len(),
        events.len(),
        if gapless { "without a gap" } else { "with gaps" },
        if good { "All promises hold. The temporary store was removed." } else { "Some promises do not hold." }
    ));
    u8::from(!good)
}
