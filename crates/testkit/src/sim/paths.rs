//! Workload of shared checkouts: agents reserve paths, with and without a task, send each other requests for them, and
//! leave.

use super::cast::NAMES;
use super::dice::Dice;
use super::model::files::PATTERNS;
use super::plan::{About, Acting, Call, Draft, Fault, Fence, Lock, Moved, Request, Reserve, Shown, Step, Which};
use super::sessions::resuming;
use super::workload::{AGENTS, Sight, Workload, claiming, fault, time};

/// The workload of paths, bound holds and mail.
pub struct Paths;

impl Workload for Paths {
    fn name(&self) -> &'static str {
        "paths"
    }

    fn step(&self, dice: &Dice, sight: &Sight<'_>) -> Step {
        let last = sight.past.last().filter(|call| !sight.dead.contains(&call.agent));
        match last {
            Some(call) if call.fault == Some(Fault::Acknowledgement) && !dice.once_in(4) => {
                return Step::Call(Call { fault: None, ..call.clone() });
            }
            // A door confirms the mail it has shown; one in three dies before.
            Some(call) if matches!(call.op, Request::Inbox { .. } | Request::Resume { .. }) && !dice.once_in(3) => {
                let op = Request::ConfirmMail { up_to: shown(dice) };
                return by(dice, sight, &call.agent.clone(), op);
            }
            _ => {}
        }
        let living: Vec<&str> = AGENTS.into_iter().filter(|agent| !sight.dead.contains(*agent)).collect();
        let agent = *dice.one(&living);
        let tasks = sight.cast.tasks().count();
        let task = some_task(dice, sight);
        match dice.below(100) {
            0..=11 => Step::Clock { by_us: time(dice, sight) },
            12 if sight.dead.len() < 3 => Step::Dies { agent: agent.to_owned() },
            13..=17 if !sight.past.is_empty() => again(dice, sight),
            18..=22 if tasks < 8 => by(dice, sight, agent, adding(dice, sight)),
            23..=33 => by(dice, sight, agent, claiming(dice, dice.maybe(2, || task))),
            34..=38 => by(dice, sight, agent, resuming(dice)),
            39..=45 => leaving(dice, sight, task),
            46..=49 => releasing(dice, sight, agent, task),
            50..=56 => sending(dice, sight, agent, task),
            57..=63 => by(dice, sight, agent, Request::Inbox { limit: limit(dice), ack: acks(dice) }),
            64 => by(dice, sight, agent, Request::SessionEnd),
            65..=67 => moving(dice, sight, agent, task),
            68 => {
                let name = u32::try_from(dice.below(NAMES.len())).unwrap();
                by(dice, sight, agent, Request::Lock(Lock { name, runner: dice.once_in(4), ..Lock::default() }))
            }
            69..=73 => by(dice, sight, agent, released(dice, sight, agent)),
            _ => by(dice, sight, agent, Request::Reserve(reserving(dice))),
        }
    }
}

pub(super) fn by(dice: &Dice, sight: &Sight<'_>, agent: &str, op: Request) -> Step {
    let others = AGENTS[..4].iter().filter(|other| **other != agent);
    let proven = dice.once_in(6);
    let proven_dead = others.filter(|other| proven && (sight.dead.contains(**other) || dice.once_in(6)));
    let proven_dead = proven_dead.map(|other| (*other).to_owned()).collect();
    let checkout = match dice.below(12) {
        0 => "",
        1..=3 => "other",
        _ => "main",
    };
    Step::Call(Call {
        agent: agent.to_owned(),
        request: sight.new_request(),
        given: dice.once_in(3),
        checkout: checkout.to_owned(),
        op,
        fault: fault(dice),
        proven_dead,
    })
}

/// Repeats a request, or sends a different one under the same id.
fn again(dice: &Dice, sight: &Sight<'_>) -> Step {
    let recent = &sight.past[sight.past.len().saturating_sub(8)..];
    let before = dice.one(recent).clone();
    let op = match &before.op {
        Request::Reserve(_) if dice.once_in(4) => Request::Reserve(reserving(dice)),
        op => op.clone(),
    };
    Step::Call(Call { op, fault: fault(dice), ..before })
}

fn some_task(dice: &Dice, sight: &Sight<'_>) -> u32 {
    let tasks: Vec<u32> = sight.cast.tasks().map(|(number, _)| number).collect();
    if tasks.is_empty() || dice.once_in(40) { 99_999 } else { *dice.one(&tasks) }
}

fn adding(dice: &Dice, sight: &Sight<'_>) -> Request {
    let after = sight.cast.tasks().map(|(number, _)| number).filter(|_| dice.once_in(6)).collect();
    let draft = Draft { task: sight.new_task(), priority: dice.within(0, 4), labels: Vec::new(), after };
    Request::Add { draft, assignee: None }
}

fn patterns(dice: &Dice) -> Vec<u32> {
    let count = if dice.once_in(3) { dice.within(2, 4) } else { 1 };
    (0..count).map(|_| u32::try_from(dice.below(PATTERNS.len())).unwrap()).collect()
}

pub(super) fn reserving(dice: &Dice) -> Reserve {
    Reserve {
        patterns: patterns(dice),
        shared: dice.once_in(3),
        ttl_s: dice.maybe(4, || if dice.once_in(16) { 0 } else { dice.within(30, 5_000) }),
        reason: if dice.once_in(3) { "because".to_owned() } else { String::new() },
        all_checkouts: dice.once_in(10),
        wait: false,
    }
}

fn a_fence(dice: &Dice) -> Option<Fence> {
    dice.maybe(6, || if dice.once_in(3) { Fence::Older } else { Fence::Newest })
}

/// Mostly the agent's current holds, sometimes former ones.
fn released(dice: &Dice, sight: &Sight<'_>, agent: &str) -> Request {
    let own: Vec<&str> = sight
        .model
        .paths
        .iter()
        .filter(|path| path.holder == agent && (path.ended.is_none() || dice.once_in(8)))
        .map(|path| path.pattern.as_str())
        .collect();
    let number = |spelling: &str| PATTERNS.iter().position(|(_, known)| *known == spelling).unwrap();
    let patterns = if own.is_empty() || dice.once_in(4) {
        patterns(dice)
    } else {
        vec![u32::try_from(number(own[dice.below(own.len())])).unwrap()]
    };
    let force = dice.once_in(if agent.starts_with("person:") { 2 } else { 30 });
    Request::ReleasePaths { patterns, fence: a_fence(dice), force }
}

/// Mostly an existing hold.
fn which(dice: &Dice, sight: &Sight<'_>, task: u32) -> Which {
    let held: Vec<Which> = sight
        .model
        .paths
        .iter()
        .filter(|path| path.ended.is_none() || dice.once_in(8))
        .map(|path| {
            let number = PATTERNS.iter().position(|(_, known)| *known == path.pattern).unwrap();
            Which::Path(path.holder.clone(), u32::try_from(number).unwrap())
        })
        .collect();
    if held.is_empty() || dice.once_in(4) { Which::Task(task) } else { dice.one(&held).clone() }
}

fn releasing(dice: &Dice, sight: &Sight<'_>, agent: &str, task: u32) -> Step {
    let hold = which(dice, sight, task);
    let holder = match &hold {
        Which::Path(holder, _) if !dice.once_in(3) && !sight.dead.contains(holder) => holder.clone(),
        _ => agent.to_owned(),
    };
    let force = dice.once_in(if holder.starts_with("person:") { 2 } else { 30 });
    by(dice, sight, &holder, Request::ReleaseHold { hold, fence: a_fence(dice), force })
}

/// Ends or transfers a task, mostly as its last holder.
fn leaving(dice: &Dice, sight: &Sight<'_>, task: u32) -> Step {
    let last = sight.task(task).map_or(String::new(), |task| task.last_holder.clone());
    let agent = if last.is_empty() || sight.dead.contains(&last) || dice.once_in(3) {
        (*dice.one(&["a", "b", "person:ann"])).to_owned()
    } else {
        last
    };
    let on = Acting {
        task: if dice.once_in(4) { None } else { Some(task) },
        fence: None,
        force: dice.once_in(if agent.starts_with("person:") { 2 } else { 30 }),
    };
    let op = match dice.below(12) {
        0..=2 => Request::Done { on },
        3..=4 => Request::Block { on, blocker: None },
        5..=6 => Request::Release { on },
        7 => Request::Cancel { on },
        8..=9 => Request::Transfer { on, to: (*dice.one(&["a", "b", "c", "person:ann", "nobody"])).to_owned() },
        10 => Request::Reopen { task },
        _ => Request::Unblock { task },
    };
    if sight.dead.contains(&agent) {
        return Step::Clock { by_us: 1 };
    }
    by(dice, sight, &agent, op)
}

/// Transfers something other than a task, mostly as its holder.
fn moving(dice: &Dice, sight: &Sight<'_>, agent: &str, task: u32) -> Step {
    let to = (*dice.one(&["a", "b", "c", "person:ann", "nobody"])).to_owned();
    let what = match dice.below(8) {
        0..=2 => Moved::Hold(which(dice, sight, task)),
        3..=4 => match released(dice, sight, agent) {
            Request::ReleasePaths { patterns, .. } => Moved::Paths(patterns),
            _ => Moved::All(None),
        },
        5 => Moved::Lock(u32::try_from(dice.below(NAMES.len())).unwrap()),
        6 => Moved::All(None),
        _ => Moved::All(Some((*dice.one(&["a", "b", "c", "nobody"])).to_owned())),
    };
    let holder = match &what {
        Moved::Hold(Which::Path(holder, _)) if !dice.once_in(3) => holder.clone(),
        Moved::Lock(name) => {
            let live = sight.model.live_locks(sight.now).find(|(_, lock)| lock.name == NAMES[*name as usize]);
            live.map_or_else(|| agent.to_owned(), |(_, lock)| lock.holder.clone())
        }
        _ => agent.to_owned(),
    };
    let who = if sight.dead.contains(&holder) { agent } else { holder.as_str() };
    let fence = if matches!(what, Moved::All(_)) { None } else { a_fence(dice) };
    let force = dice.once_in(if who.starts_with("person:") { 2 } else { 30 });
    by(dice, sight, who, Request::Move { what, to, fence, force })
}

fn sending(dice: &Dice, sight: &Sight<'_>, agent: &str, task: u32) -> Step {
    let about = match dice.below(6) {
        0 => None,
        1..=2 => Some(About::Task(task)),
        _ => Some(About::Hold(which(dice, sight, task))),
    };
    let reply = dice.maybe(4, || dice.below(3));
    let named = (about.is_none() && reply.is_none()) || dice.once_in(4);
    let mut to: Vec<String> =
        AGENTS.iter().filter(|_| named && dice.once_in(3)).map(|name| (*name).to_owned()).collect();
    if named && dice.once_in(4) {
        to.push("all".to_owned());
    }
    by(dice, sight, agent, Request::Send { to, about, request: dice.once_in(2), urgent: dice.once_in(4), reply })
}

fn limit(dice: &Dice) -> Option<usize> {
    dice.maybe(3, || usize::try_from(dice.within(i64::from(!dice.once_in(12)), 3)).unwrap())
}

fn acks(dice: &Dice) -> Vec<usize> {
    let mut acks: Vec<usize> = (0..dice.below(3)).map(|_| dice.below(4)).collect();
    acks.dedup();
    acks
}

fn shown(dice: &Dice) -> Shown {
    match dice.below(12) {
        0 => Shown::Beyond(dice.within(0, 9)),
        1..=2 => Shown::ButLast(dice.within(1, 5)),
        _ => Shown::All,
    }
}
