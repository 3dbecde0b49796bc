//! Runs a plan on the real kernel and on the model, and checks the properties after every step.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use tenure_client::phrasing::Commands;
use tenure_core::agent::Process;
use tenure_core::event::kind;
use tenure_core::number::EventNumber;
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

/// Evidence that an agent of a plan is dead. Agents of a plan have no process.
fn proof(agent: String) -> Evidence {
    Evidence { agent: agent.into(), process: Process::default() }
}

/// The checkout with a name.
pub(super) fn place(name: &str) -> Option<Checkout> {
    let (host, path) = ("host".to_owned(), format!("/repos/{name}"));
    let here = Checkout { host, path, common: None, trust: Trust::Any, tree: WorkingTree::default() };
    Some(here).filter(|_| !name.is_empty())
}

/// The ids of the checkouts, by name.
fn checkouts(world: &World) -> BTreeMap<String, String> {
    let project = |row: &mut tenure_store::Row| row.text(0);
    let rows = world.kernel.store().read("", |tx, _| tx.query(Sql::same("SELECT id FROM project"), &[])).unwrap();
    let Some(project) = rows.into_iter().next().map(|mut row| project(&mut row).unwrap()) else {
        return BTreeMap::new();
    };
    let all = world.kernel.store().read("", |tx, _| tx.fetch(checkout::all(&project))).unwrap();
    all.into_iter().map(|known| (known.path.trim_start_matches("/repos/").to_owned(), known.id.into())).collect()
}

/// The effects of a call.
pub struct Happened<'a> {
    /// The call as planned.
    pub call: &'a Call,
    /// The op that was sent.
    pub op: &'a Op,
    /// Its request id.
    pub request: &'a str,
    /// The moment at which the planned fault fired.
    pub struck: Option<Moment>,
    /// The kernel's answer.
    pub answer: &'a Result<Reply>,
    /// The model's prediction; `None` if a fault rolled the op back.
    pub expected: Option<&'a Outcome>,
    /// The appended events.
    pub events: &'a [LoggedEvent],
    /// All rows before the call.
    pub before: &'a Dump,
    /// All rows after the call.
    pub after: &'a Dump,
}

/// The input of a property after a step.
pub struct Scene<'a> {
    /// The index of the step in the plan.
    pub step: usize,
    /// Whether it is the last step.
    pub last: bool,
    /// The kernel and its clock.
    pub world: &'a World,
    /// The expected state.
    pub model: &'a Model,
    /// The time that a query or an op would use.
    pub now: i64,
    /// Whether the clock was set back and no write has recorded it yet.
    pub stepped: bool,
    /// The effects of the step, if it was a call.
    pub happened: Option<Happened<'a>>,
}

/// A violated property.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The property.
    pub property: &'static str,
    /// The index of the step in the plan.
    pub step: usize,
    /// The evidence.
    pub what: String,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Ran {
    /// All answers, the complete log, and all rows at the end.
    pub transcript: Vec<String>,
    /// The violated property, if any.
    pub failure: Option<Failure>,
    /// The number of calls.
    pub calls: usize,
    /// The number of faults that fired.
    pub struck: usize,
    /// The number of replayed answers.
    pub replayed: usize,
    /// The number of refusals.
    pub refused: usize,
    /// The number of places still waiting at the end.
    pub waiting: usize,
}

/// Whether properties are checked during the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// All properties, after every step.
    Closely,
    /// None: only the transcript is of interest.
    Not,
}

thread_local! {
    static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs a closure that may panic, without output on standard error.
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
            // The rows of all engines are compared, and only one engine has a file to identify.
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

    fn events(&self, after: i64) -> Vec<LoggedEvent> {
        events(&self.world, after)
    }
}

/// The events of a world after a number, oldest first.
pub(super) fn events(world: &World, after: i64) -> Vec<LoggedEvent> {
    let mut since = log::Since::Number(EventNumber::new(after));
    let mut all = Vec::new();
    loop {
        let filter = log::Log { since: Some(since), limit: 1_000, ..log::Log::default() };
        let page = match world.kernel.ask(&world.call("person:ann"), &filter) {
            Ok(page) => page,
            // There are no events after those the caller knows.
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

/// The request id of a call: equal numbers give equal ids.
fn request_id(call: &Call) -> RequestId {
    if call.given {
        return RequestId::given(&format!("request-{}", call.request)).unwrap();
    }
    RequestId::draw(&Seeded::new(u64::from(call.request) << 20))
}

/// The kind and code of an answer, `ok` for a success.
pub(super) fn code(answer: &Result<Reply>) -> (&'static str, &'static str) {
    answer.as_ref().map_or_else(|error: &Error| (error.kind().as_str(), error.code().as_str()), |_| ("ok", "ok"))
}
