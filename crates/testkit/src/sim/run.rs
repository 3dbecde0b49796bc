//! Runs a plan: the real kernel on an engine, the model beside it, and the properties after every step.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use tenure_client::phrasing::Commands;
use tenure_core::agent::Process;
use tenure_core::event::kind;
use tenure_core::{Error, Result, Span};
use tenure_kernel::answer::LoggedEvent;
use tenure_kernel::query::log;
use tenure_kernel::{Actor, Checkout, Evidence, Op, Reply, RequestId, Trust, WorkingTree};
use tenure_store::table::checkout;
use tenure_store::{Clock, Moment, Sql};

use super::cast::Cast;
use super::fault::Strikes;
use super::model::{Asked, Fresh, Model, Outcome};
use super::plan::{Call, Plan, Step};
use super::property::{self, Broken, Property};
use crate::fixture::{Engine, Seeded, World};
use crate::raw::{Dump, dump};

/// The proof that an agent of a plan is dead: none of them has a process.
fn proof(agent: String) -> Evidence {
    Evidence { agent: agent.into(), process: Process::default() }
}

/// The working tree with a name.
pub(super) fn place(name: &str) -> Option<Checkout> {
    let (host, path) = ("host".to_owned(), format!("/repos/{name}"));
    let here = Checkout { host, path, common: None, trust: Trust::Any, tree: WorkingTree::default() };
    Some(here).filter(|_| !name.is_empty())
}

/// The ids that working trees got, by their names.
fn checkouts(world: &World) -> BTreeMap<String, String> {
    let project = |row: &mut tenure_store::Row| row.text(0);
    let rows = world.kernel.store().read("", |tx, _| tx.query(Sql::same("SELECT id FROM project"), &[])).unwrap();
    let Some(project) = rows.into_iter().next().map(|mut row| project(&mut row).unwrap()) else {
        return BTreeMap::new();
    };
    let all = world.kernel.store().read("", |tx, _| tx.fetch(checkout::all(&project))).unwrap();
    all.into_iter().map(|known| (known.path.trim_start_matches("/repos/").to_owned(), known.id.into())).collect()
}

/// What a call led to.
pub struct Happened<'a> {
    /// The call as planned.
    pub call: &'a Call,
    /// The op that was sent.
    pub op: &'a Op,
    /// Its request id.
    pub request: &'a str,
    /// The moment at which the planned fault struck.
    pub struck: Option<Moment>,
    /// What the kernel answered.
    pub answer: &'a Result<Reply>,
    /// What the model says; nothing where a fault took everything back.
    pub expected: Option<&'a Outcome>,
    /// The events that were appended.
    pub events: &'a [LoggedEvent],
    /// Every row before.
    pub before: &'a Dump,
    /// Every row after.
    pub after: &'a Dump,
}

/// What a property looks at after a step.
pub struct Scene<'a> {
    /// The place of the step in the plan.
    pub step: usize,
    /// Whether it is the last.
    pub last: bool,
    /// The kernel and its clock.
    pub world: &'a World,
    /// What is true.
    pub model: &'a Model,
    /// The time that a query or an op would use.
    pub now: i64,
    /// Whether the clock was set back and no write has told of it yet.
    pub stepped: bool,
    /// What the step did, if it was a call.
    pub happened: Option<Happened<'a>>,
}

/// A property that did not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The property.
    pub property: &'static str,
    /// The place of the step in the plan.
    pub step: usize,
    /// What was seen.
    pub what: String,
}

/// What a run did.
#[derive(Debug, Default)]
pub struct Ran {
    /// All answers, the whole log and every row at the end.
    pub transcript: Vec<String>,
    /// What went wrong, if anything.
    pub failure: Option<Failure>,
    /// Calls made.
    pub calls: usize,
    /// Faults that struck.
    pub struck: usize,
    /// Answers from a record.
    pub replayed: usize,
    /// Refusals.
    pub refused: usize,
    /// How many still waited in the line at the end.
    pub waiting: usize,
}

/// Whether properties are checked on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// All, after every step.
    Closely,
    /// None: the transcript is wanted.
    Not,
}

thread_local! {
    static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs something that may panic, without a word on standard error.
pub(super) fn quietly<T>(what: impl FnOnce() -> T) -> std::result::Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let ended = catch_unwind(AssertUnwindSafe(what));
    QUIET.set(before);
    ended.map_err(|panic| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast::<&str>().map_or("a panic".to_owned(), |text| (*text).to_owned()),
    })
}

/// Runs a plan on an engine.
pub fn run(plan: &Plan, engine: Engine, watch: Watch) -> Ran {
    let mut run = Run::new(engine, watch);
    for (at, step) in plan.steps.iter().enumerate() {
        if let Err(broken) = run.step(at, at + 1 == plan.steps.len(), step) {
            run.ran.failure = Some(Failure { property: broken.property, step: at, what: broken.what });
            return run.ran;
        }
    }
    let (now, _) = run.model.reading(run.world.clock.now().0);
    run.ran.waiting = run.model.still_waiting(now);
    let events = run.events(0);
    run.ran.transcript.extend(events.iter().map(|event| serde_json::to_string(event).unwrap()));
    let rows = dump(&run.world.kernel);
    run.ran
        .transcript
        .extend(rows.into_iter().flat_map(|(table, rows)| rows.into_iter().map(move |row| format!("{table}: {row}"))));
    run.ran
}

struct Run {
    world: World,
    strikes: Arc<Strikes>,
    model: Model,
    cast: Cast,
    dead: BTreeSet<String>,
    properties: Vec<Box<dyn Property>>,
    rows: Dump,
    ran: Ran,
}

impl Run {
    fn new(engine: Engine, watch: Watch) -> Run {
        let strikes = Arc::new(Strikes::default());
        let world = World::with(engine, |options| {
            options.faults = Some(strikes.clone());
            // The rows of all engines are compared, and only one of the engines has a file to know.
            options.any_file = true;
        });
        world.kernel.store().create().unwrap();
        Run {
            rows: dump(&world.kernel),
            world,
            strikes,
            model: Model::default(),
            cast: Cast::default(),
            dead: BTreeSet::new(),
            properties: if watch == Watch::Closely { property::all() } else { Vec::new() },
            ran: Ran::default(),
        }
    }

    fn step(&mut self, at: usize, last: bool, step: &Step) -> std::result::Result<(), Broken> {
        match step {
            Step::Clock { by_us } => self.world.clock.advance(Span(*by_us)),
            Step::Dies { agent } => {
                self.dead.insert(agent.clone());
            }
            Step::Call(call) if self.dead.contains(&call.agent) => {}
            Step::Call(call) => return self.call(at, last, call),
        }
        self.check(at, last, None)
    }

    fn call(&mut self, at: usize, last: bool, call: &Call) -> std::result::Result<(), Broken> {
        let op = self.cast.op(call, &self.model);
        let request = request_id(call);
        let asked = Asked {
            actor: &call.agent,
            request: request.as_str(),
            given: call.given,
            dead: &call.proven_dead,
            place: &call.checkout,
            op: &op,
            clock: self.world.clock.now().0,
        };
        let kernel_call = tenure_kernel::Call {
            actor: Actor::named(&call.agent),
            request_id: request.clone(),
            proven_dead: call.proven_dead.iter().cloned().map(proof).collect(),
            checkout: place(&call.checkout),
            ..self.world.call(&call.agent)
        };
        self.strikes.plan(call.fault);
        let answer = quietly(|| self.world.kernel.run(&kernel_call, &op));
        let struck = self.strikes.struck();
        self.strikes.plan(None);
        let answer = answer.map_err(|what| Broken { property: "no_op_panics", what })?;
        self.count(at, call, &op, struck, &answer);

        let events = self.events(self.model.last_event);
        let expected = match struck {
            Some(Moment::Lock | Moment::Statement | Moment::Commit) => None,
            Some(Moment::Committed) | None => Some(self.model.run(&asked, Fresh::of(&events, checkouts(&self.world)))),
        };
        if let Some(outcome) = &expected {
            let added = outcome.events.iter().filter(|told| told.kind == kind::TASK_ADDED);
            self.cast.added(&call.op, added.map(|told| told.subject.clone()));
            if let (Ok(answer), None) = (&outcome.answer, struck) {
                self.cast.heard(&call.agent, answer);
            }
        }
        if self.properties.is_empty() {
            return Ok(());
        }
        let after = dump(&self.world.kernel);
        let before = std::mem::replace(&mut self.rows, after.clone());
        let happened = Happened {
            call,
            op: &op,
            request: request.as_str(),
            struck,
            answer: &answer,
            expected: expected.as_ref(),
            events: &events,
            before: &before,
            after: &after,
        };
        self.check(at, last, Some(happened))
    }

    fn count(&mut self, at: usize, call: &Call, op: &Op, struck: Option<Moment>, answer: &Result<Reply>) {
        self.ran.calls += 1;
        self.ran.struck += usize::from(struck.is_some());
        let shown = match answer {
            Ok(reply) => {
                self.ran.replayed += usize::from(reply.replayed);
                reply.body.clone()
            }
            Err(error) => {
                self.ran.refused += usize::from(error.is_refusal());
                error.to_json(&Commands).to_string()
            }
        };
        self.ran.transcript.push(format!("{at} {} {} {:?}: {shown}", call.agent, op.name(), struck));
    }

    fn check(&mut self, step: usize, last: bool, happened: Option<Happened<'_>>) -> std::result::Result<(), Broken> {
        let (now, stepped) = self.model.reading(self.world.clock.now().0);
        let scene = Scene { step, last, world: &self.world, model: &self.model, now, stepped, happened };
        self.properties.iter_mut().try_for_each(|property| property.check(&scene))
    }

    /// The events after a number.
    fn events(&self, after: i64) -> Vec<LoggedEvent> {
        events(&self.world, after)
    }
}

/// The events of a world after a number, oldest first.
pub(super) fn events(world: &World, after: i64) -> Vec<LoggedEvent> {
    let mut since = log::Since::Number(after);
    let mut all = Vec::new();
    loop {
        let filter = log::Log { since: Some(since), limit: 1_000, ..log::Log::default() };
        let page = match world.kernel.ask(&world.call("person:ann"), &filter) {
            Ok(page) => page,
            // Nothing has happened beyond what the caller knows of.
            Err(error) if after > 0 => panic!("the log ends before {after}: {error:?}"),
            Err(_) => return all,
        };
        all.extend(page.items);
        match page.next {
            Some(next) => since = log::Since::Cursor(next),
            None => return all,
        }
    }
}

/// The id that a request's number stands for: the same whenever the number is the same.
fn request_id(call: &Call) -> RequestId {
    if call.given {
        return RequestId::given(&format!("request-{}", call.request)).unwrap();
    }
    RequestId::draw(&Seeded::new(u64::from(call.request) << 20))
}

/// The code of an answer, `ok` for none.
pub(super) fn code(answer: &Result<Reply>) -> (&'static str, &'static str) {
    answer.as_ref().map_or_else(|error: &Error| (error.kind().as_str(), error.code().as_str()), |_| ("ok", "ok"))
}
