//! Workload of named locks: agents take locks by hand and for commands, show current and stale fences, and wait for
//! each other.

use super::cast::NAMES;
use super::dice::Dice;
use super::line::{LETS_GO, Line, certain, let_go, name_number};
use super::model::{InLine, Lock};
use super::paths::by;
use super::plan::{Call, Fault, Fence, Lock as Asked, Request, Step, Which};
use super::workload::{AGENTS, Sight, Workload};

/// The workload of named locks, mixed with paths and the waiting line.
pub struct Locks;

impl Workload for Locks {
    fn name(&self) -> &'static str {
        "locks"
    }

    fn step(&self, dice: &Dice, sight: &Sight<'_>) -> Step {
        let last = sight.past.last().filter(|call| !sight.dead.contains(&call.agent));
        if let Some(call) = last.filter(|call| call.fault == Some(Fault::Acknowledgement)) {
            return Step::Call(Call { fault: None, ..call.clone() });
        }
        if sight.steps >= LETS_GO {
            return let_go(sight);
        }
        let living: Vec<&str> = AGENTS.into_iter().filter(|agent| !sight.dead.contains(*agent)).collect();
        let agent = *dice.one(&living);
        let name = u32::try_from(dice.below(NAMES.len())).unwrap();
        let held = sight.model.locks.iter().rev().find(|lock| lock.name == NAMES[name as usize]);
        let had = held.map(|lock| lock.holder.as_str()).filter(|holder| living.contains(holder));
        // In two of three cases the last holder shows its fence or releases.
        let who = had.filter(|_| !dice.once_in(3)).unwrap_or(agent);
        let step = match dice.below(100) {
            // Moves the clock to the expiry of a lock, or one microsecond before or after it.
            0..=5 => match sight.model.locks.iter().rev().find(|lock| lock.ended.is_none()) {
                Some(lock) => Step::Clock { by_us: (lock.expires_at - sight.now + dice.within(-1, 1)).max(0) },
                None => Line.step(dice, sight),
            },
            6..=28 => by(dice, sight, agent, Request::Lock(locking(dice, name))),
            29..=40 if held.is_some() => {
                let fence = Some(if dice.once_in(4) { Fence::Older } else { Fence::Newest });
                by(dice, sight, who, Request::Lock(Asked { fence, wait: false, ..locking(dice, name) }))
            }
            41..=52 => {
                // Some waiting agents leave the line.
                let waits = |place: &&InLine| {
                    place.name
                        && !place.offered
                        && place.wanted == [NAMES[name as usize]]
                        && living.contains(&place.agent.as_str())
                };
                let waiter = sight.model.places.iter().find(waits).filter(|_| dice.once_in(3));
                let who = waiter.map_or(who, |place| place.agent.as_str());
                by(dice, sight, who, Request::ReleaseLock { name, fence: fence(dice), force: forces(dice, who) })
            }
            53..=57 => {
                let (hold, fence, force) = (Which::Lock(name), fence(dice), forces(dice, who));
                by(dice, sight, who, Request::ReleaseHold { hold, fence, force })
            }
            // An offer can also be accepted by its fence.
            58..=60 => {
                let offered = |lock: &&Lock| !lock.place.is_empty() && living.contains(&lock.holder.as_str());
                match sight.model.live_locks(sight.now).map(|(_, lock)| lock).find(offered) {
                    Some(lock) => {
                        let (fence, name) = (Some(Fence::Newest), name_number(&lock.name));
                        let op = Request::Lock(Asked { fence, wait: false, ..locking(dice, name) });
                        by(dice, sight, &lock.holder, op)
                    }
                    None => Line.step(dice, sight),
                }
            }
            _ => Line.step(dice, sight),
        };
        certain(step)
    }
}

fn locking(dice: &Dice, name: u32) -> Asked {
    let runner = dice.once_in(3);
    Asked {
        name,
        ttl_s: dice.maybe(4, || if dice.once_in(16) { 0 } else { dice.within(1, if runner { 60 } else { 2_000 }) }),
        reason: if dice.once_in(3) { "because".to_owned() } else { String::new() },
        fence: None,
        runner,
        wait: dice.once_in(2),
    }
}

fn fence(dice: &Dice) -> Option<Fence> {
    dice.maybe(5, || if dice.once_in(3) { Fence::Older } else { Fence::Newest })
}

fn forces(dice: &Dice, who: &str) -> bool {
    dice.once_in(if who.starts_with("person:") { 2 } else { 30 })
}
