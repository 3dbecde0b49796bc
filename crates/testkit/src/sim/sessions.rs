//! Workload of sessions: agents start, resume, work, note, remember, and die without notice.

use tenure_core::memory::MemoryKind;
use tenure_kernel::op::remember::MemoryReach;

use super::dice::Dice;
use super::plan::{Acting, Call, Fault, Kept, Memory, Request, Shown, Step, Whose};
use super::workload::{AGENTS, Sight, Workload, again, call, fault, labels, time};

/// Keys in several spellings. Some are equal in normal form, and one is invalid.
const KEYS: [&str; 6] = ["DB Schema", "db_schema", "ports", "Ports", "how-to/build", "`bad`"];
/// Keys in normal form, and one that does not exist.
const KEPT: [&str; 4] = ["db-schema", "ports", "how-to/build", "nothing"];

/// The workload of sessions: mostly resume, note and remember with what follows, else any step.
pub struct Sessions;

impl Workload for Sessions {
    fn name(&self) -> &'static str {
        "sessions"
    }

    fn step(&self, dice: &Dice, sight: &Sight<'_>) -> Step {
        let last = sight.past.last().filter(|call| !sight.dead.contains(&call.agent));
        match last {
            Some(call) if call.fault == Some(Fault::Acknowledgement) && !dice.once_in(4) => {
                return Step::Call(Call { fault: None, ..call.clone() });
            }
            // A door confirms the answer it has shown; one in three dies before.
            Some(call) if matches!(call.op, Request::Resume { .. }) && !dice.once_in(3) => {
                return by(dice, sight, &call.agent, Request::Confirm { up_to: shown(dice) });
            }
            _ => {}
        }
        let living: Vec<&str> = AGENTS.into_iter().filter(|agent| !sight.dead.contains(*agent)).collect();
        let agent = *dice.one(&living);
        match dice.below(100) {
            0..=13 => Step::Clock { by_us: time(dice, sight) },
            14 if sight.dead.len() < 3 => Step::Dies { agent: agent.to_owned() },
            15..=21 if !sight.past.is_empty() => again(dice, sight),
            22..=43 => by(dice, sight, agent, resuming(dice)),
            44..=45 => by(dice, sight, agent, Request::Confirm { up_to: shown(dice) }),
            46..=53 => by(dice, sight, agent, noting(dice, sight)),
            54..=64 => by(dice, sight, agent, Request::Remember { items: items(dice, sight) }),
            65..=67 => by(dice, sight, agent, Request::MemoryPin { of: kept(dice, sight), pinned: !dice.once_in(3) }),
            68..=69 => by(dice, sight, agent, Request::MemoryForget { of: kept(dice, sight) }),
            70..=74 => blocking(dice, sight, &living).unwrap_or_else(|| Step::Call(call(dice, sight))),
            _ => Step::Call(call(dice, sight)),
        }
    }
}

/// A working agent finds that another task must come first.
fn blocking(dice: &Dice, sight: &Sight<'_>, living: &[&str]) -> Option<Step> {
    let works = |agent: &&&str| sight.model.agents.get(**agent).is_some_and(|agent| !agent.focus.is_empty());
    let busy: Vec<&str> = living.iter().filter(works).copied().collect();
    if busy.is_empty() {
        return None;
    }
    let op = Request::Block { on: Acting::default(), blocker: Some(some_task(dice, sight)) };
    Some(by(dice, sight, busy[dice.below(busy.len())], op))
}

fn by(dice: &Dice, sight: &Sight<'_>, agent: &str, op: Request) -> Step {
    // A starting session checks whether other agents are alive.
    let others = AGENTS[..4].iter().filter(|other| **other != agent && matches!(op, Request::Resume { .. }));
    let proven_dead = others.filter(|other| sight.dead.contains(**other) || dice.once_in(16));
    Step::Call(Call {
        agent: agent.to_owned(),
        request: sight.new_request(),
        given: dice.once_in(3),
        checkout: String::new(),
        proven_dead: proven_dead.map(|other| (*other).to_owned()).collect(),
        op,
        fault: fault(dice),
    })
}

/// A resume, with or without labels and limits.
pub(super) fn resuming(dice: &Dice) -> Request {
    Request::Resume {
        labels: if dice.once_in(3) { labels(dice, 3) } else { Vec::new() },
        ttl_s: dice.maybe(3, || if dice.once_in(12) { 0 } else { dice.within(60, 5_000) }),
        budget: dice.maybe(3, || if dice.once_in(12) { 149 } else { dice.within(150, 600) }),
        limit: dice.maybe(2, || usize::try_from(dice.within(if dice.once_in(12) { 0 } else { 1 }, 6)).unwrap()),
    }
}

fn shown(dice: &Dice) -> Shown {
    match dice.below(12) {
        0 => Shown::Beyond(dice.within(0, 9)),
        1..=2 => Shown::ButLast(dice.within(1, 5)),
        _ => Shown::All,
    }
}

fn some_task(dice: &Dice, sight: &Sight<'_>) -> u32 {
    let tasks: Vec<u32> = sight.cast.tasks().map(|(number, _)| number).collect();
    if tasks.is_empty() || dice.once_in(20) { 99_999 } else { *dice.one(&tasks) }
}

fn noting(dice: &Dice, sight: &Sight<'_>) -> Request {
    let on = Acting { task: dice.maybe(2, || some_task(dice, sight)), ..Acting::default() };
    let memories = if dice.once_in(2) { items(dice, sight) } else { Vec::new() };
    let lowest = i64::from(!dice.once_in(16));
    let artifacts = (0..dice.below(3)).map(|_| u32::try_from(dice.within(lowest, 9)).unwrap()).collect();
    Request::Note { on, memories, artifacts }
}

fn items(dice: &Dice, sight: &Sight<'_>) -> Vec<Memory> {
    let count = if dice.once_in(40) { 0 } else { dice.within(1, 3) };
    (0..count).map(|_| item(dice, sight)).collect()
}

fn item(dice: &Dice, sight: &Sight<'_>) -> Memory {
    let scope = match dice.below(12) {
        0..=3 => None,
        4..=6 => Some(MemoryReach::Agent),
        7..=9 => Some(MemoryReach::Project),
        10 => Some(MemoryReach::Task),
        _ => dice.maybe(4, || MemoryReach::Global),
    };
    let keys = if dice.once_in(20) { &KEYS[..] } else { &KEYS[..5] };
    Memory {
        text: u32::try_from(dice.below(6)).unwrap(),
        key: (!dice.once_in(6)).then(|| (*dice.one(keys)).to_owned()),
        kind: *dice.one(&MemoryKind::ALL),
        scope,
        task: dice.maybe(if scope == Some(MemoryReach::Task) { 2 } else { 12 }, || some_task(dice, sight)),
        ttl_s: dice.maybe(4, || if dice.once_in(12) { 59 } else { dice.within(60, 7_200) }),
    }
}

/// Mostly an existing memory, sometimes one of another agent.
fn kept(dice: &Dice, sight: &Sight<'_>) -> Kept {
    let whose = match dice.below(3) {
        0 => Whose::Project,
        1 => Whose::Agent((*dice.one(&AGENTS)).to_owned()),
        _ => Whose::Task(some_task(dice, sight)),
    };
    Kept { whose, key: (*dice.one(&KEPT)).to_owned() }
}
