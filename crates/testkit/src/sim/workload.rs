//! Workloads: what the simulated agents do. A plan is generated from a seed before any kernel runs it. The model
//! supplies the state that a step needs, so that a plan is not a series of refusals.

use std::collections::BTreeSet;

use tenure_core::task::{TaskState, TaskStatus};

use super::cast::Cast;
use super::dice::Dice;
use super::model::{Asked, Fresh, Model, Task};
use super::plan::{Acting, Call, Draft, Edit, Fault, Fence, Plan, Request, Step, Version};
use super::sessions::{Sessions, resuming};
use crate::fixture::TestClock;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;

/// The state that a workload sees when it generates a step.
pub struct Sight<'a> {
    /// The expected state.
    pub model: &'a Model,
    /// The ids of the plan's tasks.
    pub cast: &'a Cast,
    /// The time of the next op.
    pub now: i64,
    /// All calls so far.
    pub past: &'a [Call],
    /// Agents that died.
    pub dead: &'a BTreeSet<String>,
    /// The number of steps so far.
    pub steps: usize,
}

impl Sight<'_> {
    /// An unused task number.
    pub fn new_task(&self) -> u32 {
        let numbers = self.past.iter().flat_map(|call| call.op.adds());
        numbers.max().map_or(1, |highest| highest + 1)
    }

    /// An unused request number.
    pub fn new_request(&self) -> u32 {
        self.past.iter().map(|call| call.request).max().map_or(1, |highest| highest + 1)
    }

    /// A task by its number in the plan.
    pub fn task(&self, number: u32) -> Option<&Task> {
        self.model.tasks.get(&self.cast.id(number))
    }
}

/// A generator of steps.
pub trait Workload {
    /// The name of the workload.
    fn name(&self) -> &'static str;
    /// The next step.
    fn step(&self, dice: &Dice, sight: &Sight<'_>) -> Step;
}

/// Generates a plan with a number of steps.
pub fn plan(seed: u64, steps: usize, workload: &dyn Workload) -> Plan {
    let dice = Dice::new(seed);
    let mut plan = Plan { about: format!("{} {seed}", workload.name()), steps: Vec::new() };
    let (mut model, mut cast) = (Model::default(), Cast::default());
    let (mut past, mut dead): (Vec<Call>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
    let mut clock = TestClock::START.0;
    for _ in 0..steps {
        let now = model.reading(clock).0;
        let sight = Sight { model: &model, cast: &cast, now, past: &past, dead: &dead, steps: plan.steps.len() };
        let step = workload.step(&dice, &sight);
        match &step {
            Step::Clock { by_us } => clock += by_us,
            Step::Dies { agent } => {
                dead.insert(agent.clone());
            }
            Step::Call(call) => {
                let op = cast.op(call, &model);
                // Which statement fails is known only when the plan runs; an estimate suffices here.
                let fails = matches!(call.fault, Some(Fault::Busy | Fault::Commit | Fault::Statement(..12)));
                if !fails {
                    let request = call.request.to_string();
                    let asked = Asked {
                        actor: &call.agent,
                        request: &request,
                        given: call.given,
                        dead: &call.proven_dead,
                        place: &call.checkout,
                        op: &op,
                        clock,
                    };
                    let outcome = model.run(&asked, Fresh::invented(model.last_event * 100));
                    if let (Ok(answer), false) = (&outcome.answer, call.fault == Some(Fault::Acknowledgement)) {
                        cast.heard(&call.agent, answer);
                    }
                    let added =
                        outcome.events.into_iter().filter(|told| told.kind == tenure_core::event::kind::TASK_ADDED);
                    cast.added(&call.op, added.map(|told| told.subject));
                }
                past.push(call.clone());
            }
        }
        plan.steps.push(step);
    }
    plan
}

/// The workload of tasks and holds: everything that agents and people do with them.
pub struct Tasks;

pub(super) const AGENTS: [&str; 6] = ["a", "b", "c", "d", "person:ann", "person:bob"];
const LABELS: [&str; 3] = ["x", "y", "z"];

impl Workload for Tasks {
    fn name(&self) -> &'static str {
        "tasks"
    }

    fn step(&self, dice: &Dice, sight: &Sight<'_>) -> Step {
        let lost = sight.past.last().filter(|call| call.fault == Some(Fault::Acknowledgement));
        if let Some(call) = lost.filter(|call| !sight.dead.contains(&call.agent) && !dice.once_in(4)) {
            return Step::Call(Call { fault: None, ..call.clone() });
        }
        match dice.below(100) {
            0..=17 => Step::Clock { by_us: time(dice, sight) },
            18 if sight.dead.len() < 3 => Step::Dies { agent: (*dice.one(&AGENTS)).to_owned() },
            19..=27 if !sight.past.is_empty() => again(dice, sight),
            _ => Step::Call(call(dice, sight)),
        }
    }
}

/// So many tasks and holds that no single write settles all of them.
pub struct Crowd;

impl Workload for Crowd {
    fn name(&self) -> &'static str {
        "crowd"
    }

    fn step(&self, dice: &Dice, sight: &Sight<'_>) -> Step {
        let count = 75;
        let simply = |agent: &str, op: Request| {
            let request = sight.new_request();
            let (agent, checkout) = (agent.to_owned(), String::new());
            Step::Call(Call { agent, request, given: false, checkout, op, fault: None, proven_dead: Vec::new() })
        };
        match sight.steps {
            // The holds that expire last, which the first write leaves unsettled, are on the tasks that are chosen
            // first.
            0 => {
                let priority = |task: u32| if task <= count - 64 { 0 } else { dice.within(1, 4) };
                let draft = |task| Draft { task, priority: priority(task), labels: labels(dice, 3), after: Vec::new() };
                simply("person:ann", Request::AddMany { items: (1..=count).map(draft).collect() })
            }
            step if step <= count as usize => {
                let ttl_s = 60 + i64::from(count) - i64::try_from(step).unwrap();
                let claim = Request::Claim { task: u32::try_from(step).ok(), ttl_s: Some(ttl_s), labels: Vec::new() };
                simply(AGENTS[step % 4], claim)
            }
            step if step == count as usize + 1 => Step::Clock { by_us: 2 * HOUR },
            step if step == count as usize + 2 && !dice.once_in(3) => {
                simply("d", if dice.once_in(2) { claiming(dice, None) } else { resuming(dice) })
            }
            _ if dice.once_in(2) => Sessions.step(dice, sight),
            _ => Tasks.step(dice, sight),
        }
    }
}

/// How far the clock moves.
pub(super) fn time(dice: &Dice, sight: &Sight<'_>) -> i64 {
    let holds = sight.model.tasks.values().filter_map(|task| task.hold.as_ref()).map(|hold| hold.expires_at);
    let memories = sight.model.memories.iter().filter_map(|memory| memory.until).filter(|until| *until > sight.now);
    let paths = sight.model.paths.iter().filter(|path| path.ended.is_none()).map(|path| path.expires_at);
    let places = sight.model.places.iter().map(|place| place.expires_at);
    let locks = sight.model.locks.iter().filter(|lock| lock.ended.is_none()).map(|lock| lock.expires_at);
    let snoozes = sight.model.tasks.values().map(|task| task.not_before).filter(|until| *until > sight.now);
    let ends: Vec<i64> = holds.chain(memories).chain(paths).chain(locks).chain(places).chain(snoozes).collect();
    match dice.below(100) {
        // To the end of a hold, a memory or a snooze, or one microsecond before or after it.
        0..=29 if !ends.is_empty() => (dice.one(&ends) - sight.now + dice.within(-1, 1)).max(0),
        0..=69 => dice.within(1, 900) * SECOND + dice.within(0, SECOND - 1),
        70..=79 => dice.within(900, 3_600) * SECOND,
        80..=86 => dice.within(1, 30) * HOUR,
        87 => dice.within(1, 10) * 365 * 24 * HOUR,
        88..=93 => -dice.within(1, 60) * SECOND,
        94..=98 => -dice.within(61, 10_000) * SECOND,
        _ => -dice.within(1, 1_000) * 24 * HOUR,
    }
}

/// Repeats a request, or sends another payload under the same id.
pub(super) fn again(dice: &Dice, sight: &Sight<'_>) -> Step {
    let recent = &sight.past[sight.past.len().saturating_sub(8)..];
    let before = dice.one(recent).clone();
    let changed = if dice.once_in(4) { call(dice, sight).op } else { before.op.clone() };
    let op = match (&before.op, changed) {
        (Request::Edit(edit), _) if dice.once_in(4) => {
            Request::Edit(Edit { priority: Some(dice.within(0, 4)), ..edit.clone() })
        }
        (Request::Claim { task, labels, .. }, _) if dice.once_in(4) => {
            Request::Claim { task: *task, labels: labels.clone(), ttl_s: Some(777) }
        }
        (_, changed) => changed,
    };
    Step::Call(Call { op, fault: fault(dice), ..before })
}

pub(super) fn fault(dice: &Dice) -> Option<Fault> {
    match dice.below(100) {
        0 => Some(Fault::Busy),
        1..=5 => Some(Fault::Statement(u32::try_from(dice.within(1, 24)).unwrap())),
        6..=7 => Some(Fault::Commit),
        8..=11 => Some(Fault::Acknowledgement),
        _ => None,
    }
}

pub(super) fn call(dice: &Dice, sight: &Sight<'_>) -> Call {
    let tasks: Vec<u32> = sight.cast.tasks().map(|(number, _)| number).collect();
    let number = if tasks.is_empty() || dice.once_in(40) { 99_999 } else { *dice.one(&tasks) };
    let task = sight.task(number);
    let living: Vec<&str> = AGENTS.into_iter().filter(|agent| !sight.dead.contains(*agent)).collect();
    let anyone = (*dice.one(&living)).to_owned();
    // Half of the calls come from the last holder of the task, so that a plan is not a series of refusals.
    let last = task.map_or(String::new(), |task| task.last_holder.clone());
    let agent = if last.is_empty() || sight.dead.contains(&last) || dice.once_in(2) { anyone } else { last };
    let op = match tasks.len() {
        0..=3 if !dice.once_in(5) => adding(dice, sight),
        count if count < 25 && dice.once_in(14) => adding(dice, sight),
        _ => acting(dice, sight, &agent, number, task),
    };
    let mut proven_dead = Vec::new();
    if dice.once_in(8) {
        let others = AGENTS[..4].iter().filter(|other| **other != agent);
        proven_dead = others
            .filter(|other| sight.dead.contains(**other) || dice.once_in(4))
            .map(|other| (*other).into())
            .collect();
    }
    let (request, checkout) = (sight.new_request(), String::new());
    Call { agent, request, given: dice.once_in(3), checkout, op, fault: fault(dice), proven_dead }
}

pub(super) fn labels(dice: &Dice, once_in: usize) -> Vec<String> {
    LABELS.iter().filter(|_| dice.once_in(once_in)).map(|label| (*label).to_owned()).collect()
}

fn some_tasks(dice: &Dice, sight: &Sight<'_>, once_in: usize) -> Vec<u32> {
    let mut tasks: Vec<u32> = sight.cast.tasks().map(|(number, _)| number).filter(|_| dice.once_in(once_in)).collect();
    if dice.once_in(60) {
        tasks.push(99_998);
    }
    tasks
}

fn draft(dice: &Dice, sight: &Sight<'_>) -> Draft {
    Draft {
        task: sight.new_task(),
        priority: if dice.once_in(60) { 9 } else { dice.within(0, 4) },
        labels: labels(dice, 3),
        after: some_tasks(dice, sight, 5),
    }
}

fn adding(dice: &Dice, sight: &Sight<'_>) -> Request {
    if !dice.once_in(5) {
        let assignee = dice.maybe(5, || (*dice.one(&["a", "b", "c", "person:ann", "nobody"])).to_owned());
        return Request::Add { draft: draft(dice, sight), assignee };
    }
    let first = sight.new_task();
    let count = u32::try_from(dice.within(1, 4)).unwrap();
    let items = (first..first + count)
        .map(|task| {
            let mut draft = Draft { task, ..draft(dice, sight) };
            // Mostly earlier items of the batch; sometimes any item, which may close a cycle.
            let reach = if dice.once_in(8) { first + count } else { task };
            draft.after.extend((first..reach).filter(|_| dice.once_in(3)));
            draft
        })
        .collect();
    Request::AddMany { items }
}

fn acting(dice: &Dice, sight: &Sight<'_>, agent: &str, number: u32, task: Option<&Task>) -> Request {
    let state = task.map(|task| sight.model.state(task, sight.now));
    let closed = task.is_some_and(|task| task.status.is_closed());
    if closed && dice.once_in(2) {
        return Request::Reopen { task: number };
    }
    if task.is_some_and(|task| task.status == TaskStatus::Blocked) && dice.once_in(2) {
        return Request::Unblock { task: number };
    }
    if state == Some(TaskState::Ready) && dice.once_in(2) {
        return claiming(dice, Some(number));
    }
    let on = Acting {
        task: if dice.once_in(4) { None } else { Some(number) },
        fence: dice.maybe(5, || match dice.below(5) {
            0..=1 => Fence::Newest,
            2..=3 => Fence::Older,
            _ => Fence::Number(dice.within(0, 300)),
        }),
        force: dice.once_in(if agent.starts_with("person:") { 2 } else { 20 }),
    };
    match dice.below(21) {
        0..=2 => claiming(dice, Some(number)),
        3..=5 => claiming(dice, None),
        6..=8 => Request::Done { on },
        9..=10 => {
            Request::Block { on, blocker: some_tasks(dice, sight, 8).first().copied().filter(|_| dice.once_in(2)) }
        }
        11..=12 => Request::Release { on },
        13 => Request::Cancel { on },
        14 => Request::Transfer { on, to: (*dice.one(&["a", "b", "c", "person:ann", "nobody"])).to_owned() },
        15 => Request::Unblock { task: number },
        16 => Request::Reopen { task: number },
        17 => {
            let on = Acting { force: false, ..on };
            Request::Note { on, memories: Vec::new(), artifacts: Vec::new() }
        }
        18 => Request::Snooze { task: number, for_s: if dice.once_in(3) { 0 } else { dice.within(1, 4_000) } },
        _ => editing(dice, sight, agent, number),
    }
}

pub(super) fn claiming(dice: &Dice, task: Option<u32>) -> Request {
    let ttl_s = dice.maybe(2, || match dice.below(20) {
        0 => 1,
        1 => 86_400,
        2 => 0,
        _ => dice.within(60, 5_000),
    });
    let labels = if task.is_none() && dice.once_in(3) { labels(dice, 3) } else { Vec::new() };
    Request::Claim { task, ttl_s, labels }
}

fn editing(dice: &Dice, sight: &Sight<'_>, agent: &str, task: u32) -> Request {
    let person = agent.starts_with("person:");
    Request::Edit(Edit {
        task,
        priority: dice.maybe(2, || dice.within(0, 4)),
        add_labels: labels(dice, 5),
        remove_labels: labels(dice, 5),
        assignee: dice.maybe(3, || (*dice.one(&["", "a", "b", "c", "person:ann", "nobody"])).to_owned()),
        after: if dice.once_in(if person { 2 } else { 12 }) { Some(some_tasks(dice, sight, 5)) } else { None },
        version: dice.maybe(3, || if dice.once_in(2) { Version::Current } else { Version::Behind }),
    })
}
