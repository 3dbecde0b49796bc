//! A worker process of a history: a few agents that make random calls and record everything.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tenure_client::phrasing::Commands;
use tenure_core::number::EventNumber;
use tenure_core::{Error, Kind};
use tenure_kernel::op::{block, claim, done, edit, note, release, remember, reopen, transfer, unblock};
use tenure_kernel::query;
use tenure_kernel::query::log;
use tenure_kernel::{Actor, Call, Condition, Kernel, Op, RequestId};
use tenure_store::table::project;
use tenure_store::{Location, Options};

use super::record::{
    Answer, Ask, Got, Line, Nanos, Reading, Record, View, agent, answer, digest, monotonic, refused, view,
};

/// The time to live of short holds.
const SHORT_S: i64 = 1;
const LONG_S: i64 = 3_600;
/// Long enough for a short hold to expire.
const DOZE: Nanos = 1_200_000_000;

/// The configuration of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    /// A file path or a `postgres://` URL.
    pub(super) store: String,
    pub(super) process: usize,
    /// The agents that this process plays.
    pub(super) agents: Vec<usize>,
    /// The total number of agents.
    pub(super) all_agents: usize,
    /// The tasks of each project.
    pub(super) projects: Vec<Vec<String>>,
    pub(super) until: Nanos,
    pub(super) seed: u64,
}

/// Parses the location of the store.
pub(super) fn location(store: &str) -> Location {
    match store {
        url if url.starts_with("postgres://") => Location::Postgres(url.to_owned()),
        path => Location::File(PathBuf::from(path)),
    }
}

/// A call by an agent in one of the projects.
pub(super) fn call(project: usize, actor: &str, request: &str) -> Call {
    Call {
        project: project::NamedProject { key: format!("name:p{project}").into(), label: format!("p{project}") },
        actor: Actor::named(actor),
        request_id: RequestId::given(request).unwrap(),
        checkout: None,
        pinned_store: None,
        keep_events: None,
        proven_dead: Vec::new(),
        condition: Condition::None,
    }
}

/// Entry point: reads the configuration from one line and writes records, one per line.
pub(super) fn play() -> i32 {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).unwrap();
    let orders: Orders = serde_json::from_str(&line).unwrap();
    let kernel = Kernel::new(location(&orders.store), Options::default(), tenure_client::phrasing::of).unwrap();
    let mut process = Process {
        kernel,
        chance: Chance(orders.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (orders.process as u64 + 1)),
        calls: 0,
        known: HashMap::new(),
        fences: HashMap::new(),
        absent: None,
        read: vec![(EventNumber::START, 0); orders.projects.len()],
        orders,
    };
    // Ensures that even the shortest history contains expired holds.
    if process.orders.process < process.orders.projects.len() {
        let first = Ask::Claim { task: Some(0), ttl_s: SHORT_S };
        process.ask(process.orders.process, process.orders.agents[0], first);
    }
    while monotonic() < process.orders.until {
        process.turn();
    }
    for project in 0..process.orders.projects.len() {
        process.read_log(project);
    }
    0
}

struct Process {
    kernel: Kernel,
    orders: Orders,
    chance: Chance,
    calls: u64,
    /// The last seen state of a task.
    known: HashMap<(usize, usize), View>,
    /// The fences shown to an agent for a task, oldest first.
    fences: HashMap<(usize, usize, usize), Vec<i64>>,
    /// The agent that pauses until an instant, so that its short hold on a task of a project expires.
    absent: Option<(usize, Nanos, (usize, usize))>,
    /// The last event read of each log, and the digest of the events read.
    read: Vec<(EventNumber, u64)>,
}

impl Process {
    fn turn(&mut self) {
        let now = monotonic();
        let project = self.chance.below(self.orders.projects.len());
        let task = self.chance.below(self.orders.projects[project].len());
        if let Some((agent, _, (project, task))) = self.absent.take_if(|(_, until, _)| *until < now) {
            // After its pause the agent continues with its task, unaware of the expiry.
            let ask = self.finishing(project, task, agent);
            return self.ask(project, agent, ask);
        }
        let absent = self.absent.map(|(agent, ..)| agent);
        let here: Vec<usize> = self.orders.agents.iter().copied().filter(|agent| Some(*agent) != absent).collect();
        if self.chance.one_in(12) {
            return self.ask(project, self.orders.agents[0], Ask::Show { task });
        }
        if self.chance.one_in(40) {
            return self.read_log(project);
        }
        // A holder mostly acts on its task; otherwise all tasks would soon be held for good.
        let mut held: Vec<(usize, usize, usize)> = self
            .known
            .iter()
            .filter_map(|((project, task), view)| Some((*project, *task, view.holder?.0)))
            .filter(|(_, _, holder)| here.contains(holder))
            .collect();
        held.sort_unstable();
        let (project, task, agent) = match held.len() {
            1.. if self.chance.one_in(2) => held[self.chance.below(held.len())],
            _ => (project, task, here[self.chance.below(here.len())]),
        };
        let ask = self.anything(project, task, agent);
        self.ask(project, agent, ask);
    }

    fn finishing(&mut self, project: usize, task: usize, agent: usize) -> Ask {
        let fence = self.fence(project, task, agent);
        match self.chance.below(5) {
            0 => Ask::Note { task, fence },
            1 => Ask::Release { task, fence },
            2 => Ask::Block { task, fence },
            _ => Ask::Done { task, fence },
        }
    }

    fn anything(&mut self, project: usize, task: usize, agent: usize) -> Ask {
        let fence = self.fence(project, task, agent);
        let known = self.known.get(&(project, task));
        let (status, version) =
            known.map_or(("open".to_owned(), None), |view| (view.status.clone(), Some(view.version)));
        let ttl_s = if self.chance.one_in(2) { SHORT_S } else { LONG_S };
        match (self.chance.below(16), status.as_str()) {
            (0..=5, "done") => Ask::Reopen { task },
            (0..=5, "blocked") => Ask::Unblock { task },
            (0 | 1, "started") => Ask::Done { task, fence },
            (2 | 3, "started") => Ask::Release { task, fence },
            (0..=4, _) => Ask::Claim { task: Some(task), ttl_s },
            (5 | 6, _) => Ask::Claim { task: None, ttl_s },
            (7, _) => Ask::Release { task, fence },
            (8, _) => Ask::Block { task, fence },
            (9 | 10, _) => {
                let to = self.chance.below(self.orders.all_agents);
                Ask::Transfer { task, to, fence }
            }
            (11, _) => Ask::Note { task, fence },
            (12 | 13, _) => {
                self.calls += 1;
                let title = format!("by {} {}", self.orders.process, self.calls);
                Ask::Edit { task, title, expect: version.filter(|_| !self.chance.one_in(6)) }
            }
            (14, _) => Ask::Reopen { task },
            _ => Ask::Done { task, fence },
        }
    }

    /// The fence to act under: mostly the agent's newest, sometimes an older one, sometimes none.
    fn fence(&mut self, project: usize, task: usize, agent: usize) -> Option<i64> {
        let told = self.fences.get(&(project, task, agent))?;
        match self.chance.below(8) {
            0..=3 => told.last().copied(),
            4 | 5 => Some(told[self.chance.below(told.len())]),
            _ => None,
        }
    }

    fn ask(&mut self, project: usize, agent: usize, ask: Ask) {
        self.calls += 1;
        let request = format!("r{}-{}-{}", self.orders.seed, self.orders.process, self.calls);
        let invoked = monotonic();
        let mut lost = false;
        let got = loop {
            match self.once(project, agent, &ask, &request) {
                Ok(answer) => break Got::Answer(answer),
                Err(error) if error.is_refusal() => break Got::Answer(refused(&error)),
                // The server is unreachable or the answer was lost. Most calls are retried under the same id; some
                // outcomes stay unknown.
                Err(error) if error.kind() == Kind::Busy => {
                    let lost_now = error.code() == "connection_lost";
                    lost |= lost_now;
                    if self.chance.one_in(if lost_now { 3 } else { 60 }) {
                        break if lost { Got::Unknown } else { Got::Undone };
                    }
                }
                Err(error) => break Got::Odd(error.to_json(&Commands).to_string()),
            }
        };
        let record =
            Record { process: self.orders.process, project, agent, request, invoked, returned: monotonic(), ask, got };
        self.learn(&record);
        tell(&Line::Call(record));
    }

    fn once(&self, project: usize, who: usize, ask: &Ask, request: &str) -> Result<Answer, Error> {
        let tasks = &self.orders.projects[project];
        let call = call(project, &agent(who), request);
        if let Ask::Show { task } = ask {
            let shown = self.kernel.ask(&call, &query::show::Show { id: tasks[*task].clone() })?;
            let shown = serde_json::to_value(shown).unwrap();
            return Ok(Answer::Task { task: *task, view: view(&shown), late: false });
        }
        let reply = self.kernel.run(&call, &op(ask, tasks, request))?;
        Ok(answer(ask, &serde_json::from_str(&reply.body).unwrap(), tasks))
    }

    fn learn(&mut self, record: &Record) {
        let Got::Answer(Answer::Task { task, view, .. }) = &record.got else { return };
        self.known.insert((record.project, *task), view.clone());
        let Ask::Claim { ttl_s, .. } = &record.ask else { return };
        if let Some((holder, fence)) = view.holder.filter(|(holder, _)| *holder == record.agent) {
            let told = self.fences.entry((record.project, *task, holder)).or_default();
            if told.last() != Some(&fence) {
                told.push(fence);
            }
            // Only a few agents pause at a time; otherwise all tasks would be held by pausing agents.
            let may_doze = self.orders.process < 2 && self.absent.is_none();
            if *ttl_s == SHORT_S && may_doze && (self.calls == 1 || self.chance.one_in(2)) {
                self.absent = Some((holder, monotonic() + DOZE, (record.project, *task)));
            }
        }
    }

    /// Continues reading the log. A page has no gap, whatever is committed meanwhile. The digest shows later whether
    /// the events match the final log.
    fn read_log(&mut self, project: usize) {
        let (upto, before) = self.read[project];
        let filter = log::Log { since: Some(log::Since::Number(upto)), limit: 1_000, ..log::Log::default() };
        let Ok(page) = self.kernel.ask(&call(project, "a0", "read"), &filter) else { return };
        let fold = |hash, event: &tenure_kernel::answer::LoggedEvent| {
            digest(hash, event.number, &event.kind, &event.request_id)
        };
        let digest = page.items.iter().fold(before, fold);
        let upto = page.items.last().map_or(upto, |event| event.number);
        self.read[project] = (upto, digest);
        tell(&Line::Reading(Reading { process: self.orders.process, project, upto, digest }));
    }
}

fn tell(line: &Line) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(line).unwrap()).unwrap();
    out.flush().unwrap();
}

fn op(ask: &Ask, tasks: &[String], request: &str) -> Op {
    let named = |task: &usize| Some(tasks[*task].clone());
    match ask {
        Ask::Claim { task, ttl_s } => Op::new(claim::Claim {
            task: task.as_ref().and_then(named).map(Into::into),
            ttl_s: Some(*ttl_s),
            ..claim::Claim::default()
        }),
        Ask::Done { task, fence } => Op::new(done::Done {
            task: named(task).map(Into::into),
            fence: fence.map(Into::into),
            ..done::Done::default()
        }),
        Ask::Release { task, fence } => Op::new(release::Release {
            task: named(task).map(Into::into),
            fence: fence.map(Into::into),
            ..release::Release::default()
        }),
        Ask::Block { task, fence } => Op::new(block::Block {
            task: named(task).map(Into::into),
            reason: "it rains".into(),
            fence: fence.map(Into::into),
            ..block::Block::default()
        }),
        Ask::Unblock { task } => Op::new(unblock::Unblock { task: tasks[*task].clone().into() }),
        Ask::Reopen { task } => {
            Op::new(reopen::Reopen { task: tasks[*task].clone().into(), ..reopen::Reopen::default() })
        }
        Ask::Transfer { task, to, fence } => Op::new(transfer::Transfer {
            task: named(task).map(Into::into),
            to: agent(*to).into(),
            fence: fence.map(Into::into),
            ..transfer::Transfer::default()
        }),
        Ask::Note { task, fence } => Op::new(note::Note {
            task: named(task).map(Into::into),
            text: "seen".into(),
            fence: fence.map(Into::into),
            // The same key with a different text each time: each memory changes the previous one.
            memories: vec![remember::NewMemory {
                text: request.to_owned(),
                key: Some("seen".into()),
                scope: Some(remember::MemoryReach::Project),
                ..remember::NewMemory::default()
            }],
            ..note::Note::default()
        }),
        Ask::Edit { task, title, expect } => Op::new(edit::Edit {
            task: tasks[*task].clone().into(),
            title: Some(title.clone()),
            expect_version: *expect,
            ..edit::Edit::default()
        }),
        Ask::Show { .. } => panic!("a query is no op"),
    }
}

/// splitmix64: the same choices for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
