//! The fixture for kernel tests: an engine, a manual clock and seeded randomness.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use serde_json::Value;
use tenure_core::number::EventNumber;
use tenure_core::{Error, Result, Span, Time};
use tenure_kernel::answer::LoggedEvent;
use tenure_kernel::op::{add, block, cancel, claim, done, note, release};
use tenure_kernel::query;
use tenure_kernel::query::log;
use tenure_kernel::{Actor, Call, Condition, Kernel, Op, RequestId};
use tenure_store::table::project;
use tenure_store::{Clock, Entropy, Location, Options};

use crate::golden;

/// The engine that a case runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// SQLite in memory.
    Memory,
    /// A SQLite file.
    File,
    /// PostgreSQL.
    Postgres,
}

impl Engine {
    /// All engines.
    pub const ALL: [Engine; 3] = [Engine::Memory, Engine::File, Engine::Postgres];
    /// The engines on which several kernels can share a store.
    pub const SHARED: [Engine; 2] = [Engine::File, Engine::Postgres];

    /// The engine's name in test names.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Memory => "memory",
            Engine::File => "sqlite",
            Engine::Postgres => "postgres",
        }
    }
}

/// A clock that moves only when the test moves it.
#[derive(Debug)]
pub struct TestClock(AtomicI64);

impl TestClock {
    /// The start time of every test: 2033-05-18T03:33:20Z.
    pub const START: Time = Time(2_000_000_000_000_000);

    /// A clock set to an instant.
    pub fn at(time: Time) -> TestClock {
        TestClock(AtomicI64::new(time.0))
    }

    /// Moves the clock forward or back.
    pub fn advance(&self, by: Span) {
        self.0.fetch_add(by.0, Ordering::SeqCst);
    }

    /// Sets the clock.
    pub fn set(&self, to: Time) {
        self.0.store(to.0, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::SeqCst))
    }
}

/// Deterministic random bytes (splitmix64).
#[derive(Debug)]
pub struct Seeded(AtomicU64);

impl Seeded {
    /// A source with a seed.
    pub fn new(seed: u64) -> Seeded {
        Seeded(AtomicU64::new(seed))
    }
}

impl Entropy for Seeded {
    fn fill(&self, buffer: &mut [u8]) {
        for byte in buffer {
            let mut z = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::SeqCst);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            *byte = (z >> 56) as u8;
        }
    }
}

/// Random bytes scripted by a test, then seeded ones. Used to make ids collide.
#[derive(Debug)]
pub struct Dictated {
    script: Mutex<std::collections::VecDeque<Vec<u8>>>,
    rest: Seeded,
}

impl Dictated {
    /// A source that returns these buffers first, one per call (truncated or repeated to fit), then seeded bytes.
    pub fn new(script: Vec<Vec<u8>>) -> Dictated {
        Dictated { script: Mutex::new(script.into()), rest: Seeded::new(7) }
    }

    /// Scripts the results of the next calls.
    pub fn dictate(&self, script: Vec<Vec<u8>>) {
        *self.script.lock().unwrap() = script.into();
    }
}

impl Entropy for Dictated {
    fn fill(&self, buffer: &mut [u8]) {
        match self.script.lock().unwrap().pop_front() {
            Some(bytes) => buffer.iter_mut().zip(bytes.iter().cycle()).for_each(|(to, from)| *to = *from),
            None => self.rest.fill(buffer),
        }
    }
}

/// A store on one engine with a project in it.
pub struct World {
    /// The engine.
    pub engine: Engine,
    /// The location of the store.
    pub location: Location,
    /// The options that kernels are opened with.
    pub options: Options,
    /// The clock of all kernels of this world, also on PostgreSQL.
    pub clock: Arc<TestClock>,
    /// The kernel.
    pub kernel: Kernel,
    /// The temporary directory, removed with the world.
    pub dir: tempfile::TempDir,
    requests: Seeded,
    /// The thread of the test case.
    thread: ThreadId,
    /// Whether other threads made calls too, so that the order of events may vary between runs.
    raced: AtomicBool,
}

impl World {
    /// The prefix of the directories of all test stores.
    pub(crate) const PREFIX: &str = "tn-";

    /// A new, empty world.
    pub fn new(engine: Engine) -> World {
        World::with(engine, |_| {})
    }

    /// A new, empty world whose kernels are opened with changed options.
    pub fn with(engine: Engine, change: impl FnOnce(&mut Options)) -> World {
        let dir = tempfile::Builder::new().prefix(World::PREFIX).tempdir().unwrap();
        let clock = Arc::new(TestClock(AtomicI64::new(TestClock::START.0)));
        let mut options =
            Options { clock: clock.clone(), own_clock: true, entropy: Arc::new(Seeded::new(42)), ..Options::default() };
        change(&mut options);
        let location = match engine {
            Engine::Memory => Location::Memory,
            Engine::File => Location::File(dir.path().join("tenure.db")),
            Engine::Postgres => {
                let server = crate::pg::server();
                Location::Postgres(server.url(&server.fresh_schema()))
            }
        };
        let kernel = Kernel::new(location.clone(), options.clone(), tenure_client::phrasing::of).unwrap();
        let thread = std::thread::current().id();
        let (requests, raced) = (Seeded::new(1), AtomicBool::new(false));
        World { engine, location, options, clock, kernel, dir, requests, thread, raced }
    }

    /// Whether several threads made calls.
    pub(crate) fn has_raced(&self) -> bool {
        self.raced.load(Ordering::SeqCst)
    }

    /// Another kernel on the same store (not for stores in memory).
    pub fn another(&self) -> Kernel {
        assert_ne!(self.engine, Engine::Memory, "a store in memory has one kernel");
        Kernel::new(self.location.clone(), self.options.clone(), tenure_client::phrasing::of).unwrap()
    }

    /// A call by an agent in the project `name:p`, with a new request id.
    pub fn call(&self, agent: &str) -> Call {
        if std::thread::current().id() != self.thread {
            self.raced.store(true, Ordering::SeqCst);
        }
        Call {
            project: project::NamedProject { key: "name:p".into(), label: "p".into() },
            actor: Actor::named(agent),
            request_id: RequestId::draw(&self.requests),
            checkout: None,
            pinned_store: None,
            keep_events: None,
            proven_dead: Vec::new(),
            condition: Condition::None,
        }
    }

    /// Runs an op and returns its response.
    pub fn run(&self, agent: &str, op: Op) -> Result<Value> {
        let reply = self.kernel.run(&self.call(agent), &op).inspect_err(golden::saw)?;
        Ok(serde_json::from_str(&reply.body).unwrap())
    }

    /// Moves the clock.
    pub fn advance(&self, by: Span) {
        self.clock.advance(by);
    }

    /// Adds a task by `person:ann` and returns its id.
    pub fn add(&self, title: &str) -> String {
        self.add_after(title, &[])
    }

    /// Adds a task with dependencies.
    pub fn add_after(&self, title: &str, after: &[&str]) -> String {
        let after = after.iter().map(|id| (*id).to_owned()).map(Into::into).collect();
        let request = add::Add { after, ..add::Add::titled(title) };
        let task = self.run("person:ann", Op::new(request)).unwrap();
        task["id"].as_str().unwrap().to_owned()
    }

    /// Claims a task by its id.
    pub fn claim(&self, agent: &str, task: &str) -> Result<Value> {
        self.run(agent, Op::new(claim::Claim { task: Some(task.into()), ..claim::Claim::default() }))
    }

    /// Claims a task with a time to live in seconds.
    pub fn claim_for(&self, agent: &str, task: &str, ttl_s: i64) -> Result<Value> {
        let request = claim::Claim { task: Some(task.into()), ttl_s: Some(ttl_s), ..claim::Claim::default() };
        self.run(agent, Op::new(request))
    }

    /// Claims the next ready task.
    pub fn claim_any(&self, agent: &str) -> Result<Value> {
        self.run(agent, Op::new(claim::Claim::default()))
    }

    /// Finishes a task.
    pub fn done(&self, agent: &str, task: &str) -> Result<Value> {
        self.run(agent, Op::new(done::Done { task: Some(task.into()), ..done::Done::default() }))
    }

    /// Blocks a task.
    pub fn block(&self, agent: &str, task: &str, reason: &str) -> Result<Value> {
        let request = block::Block { task: Some(task.into()), reason: reason.into(), ..block::Block::default() };
        self.run(agent, Op::new(request))
    }

    /// Releases a task.
    pub fn release(&self, agent: &str, task: &str) -> Result<Value> {
        self.run(agent, Op::new(release::Release { task: Some(task.into()), ..release::Release::default() }))
    }

    /// Cancels a task.
    pub fn cancel(&self, agent: &str, task: &str) -> Result<Value> {
        self.run(agent, Op::new(cancel::Cancel { task: Some(task.into()), ..cancel::Cancel::default() }))
    }

    /// Adds a note to a task by its id.
    pub fn note(&self, agent: &str, task: &str, text: &str) -> Result<Value> {
        let request = note::Note { task: Some(task.into()), text: text.into(), ..note::Note::default() };
        self.run(agent, Op::new(request))
    }

    /// The answer of `show` for a task, as JSON.
    pub fn show(&self, task: &str) -> Value {
        serde_json::to_value(self.kernel.ask(&self.call("person:ann"), &query::show::Show { id: task.into() }).unwrap())
            .unwrap()
    }

    /// All events, oldest first, read page by page.
    pub fn events(&self) -> Vec<LoggedEvent> {
        let mut since = log::Since::Number(EventNumber::START);
        let mut all = Vec::new();
        loop {
            let filter = log::Log { since: Some(since), limit: 1_000, ..log::Log::default() };
            let page = match self.kernel.ask(&self.call("person:ann"), &filter) {
                // If the oldest events were pruned, the log starts after them.
                Err(error) if error.code() == "stale_cursor" && all.is_empty() => {
                    since = log::Since::Cursor(error.get("oldest_cursor").unwrap().as_str().unwrap().to_owned());
                    continue;
                }
                page => page.unwrap(),
            };
            all.extend(page.items);
            match page.next {
                Some(next) => since = log::Since::Cursor(next),
                None => return all,
            }
        }
    }

    /// The kinds of the events after a number.
    pub fn kinds_after(&self, number: EventNumber) -> Vec<String> {
        self.events().into_iter().filter(|event| event.number > number).map(|event| event.kind).collect()
    }

    /// The number of the newest event.
    pub fn last_event(&self) -> EventNumber {
        self.kernel.ask(&self.call("person:ann"), &query::status::Status {}).unwrap().last_event
    }
}

/// The kind of a refusal, for short assertions.
pub fn kind_of<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    match result {
        Ok(value) => panic!("expected a refusal, got {value:?}"),
        Err(error) => {
            golden::saw(&error);
            error.kind().as_str()
        }
    }
}

/// The code of a refusal.
pub fn code_of<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    match result {
        Ok(value) => panic!("expected a refusal, got {value:?}"),
        Err(error) => {
            golden::saw(&error);
            error.code().as_str()
        }
    }
}

/// Unwraps a refusal.
pub fn refusal<T: std::fmt::Debug>(result: Result<T>) -> Error {
    match result {
        Ok(value) => panic!("expected a refusal, got {value:?}"),
        Err(error) => {
            golden::saw(&error);
            error
        }
    }
}
