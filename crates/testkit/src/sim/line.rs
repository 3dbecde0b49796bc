//! Workload of the waiting line: agents wait for paths that others hold, and return for them or not. At the end of a
//! plan all holds are released.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::cast::NAMES;
use super::dice::Dice;
use super::model::files::PATTERNS;
use super::model::{InLine, PathHold};
use super::paths::{Paths, by, reserving};
use super::plan::{Call, Fault, Lock, Request, Reserve, Step};
use super::property::{Broken, Property};
use super::run::Scene;
use super::workload::{AGENTS, Sight, Workload};

const SECOND: i64 = 1_000_000;
/// The number of steps of a plan, and the step after which agents only release.
pub const STEPS: usize = 170;
pub(super) const LETS_GO: usize = 110;

/// The workload of the waiting line.
pub struct Line;

impl Workload for Line {
    fn name(&self) -> &'static str {
        "line"
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
        let own: Vec<&InLine> =
            sight.model.places.iter().filter(|place| living.contains(&place.agent.as_str())).collect();
        let step = match dice.below(100) {
            // Moves the clock to the expiry of a place or an offer, one microsecond before or after it, or by a short
            // time.
            0..=4 if !sight.model.places.is_empty() => {
                let ends: Vec<i64> = sight.model.places.iter().map(|place| place.expires_at).collect();
                Step::Clock { by_us: (dice.one(&ends) - sight.now + dice.within(-1, 1)).max(0) }
            }
            5..=13 => Step::Clock { by_us: dice.within(1, 70) * SECOND },
            14..=34 if !own.is_empty() => again(sight, own[dice.below(own.len())]),
            35..=69 => {
                let op = Request::Reserve(Reserve { wait: !dice.once_in(4), ..reserving(dice) });
                by(dice, sight, agent, op)
            }
            70..=80 => released(dice, sight, &living).unwrap_or(Step::Clock { by_us: SECOND }),
            _ => Paths.step(dice, sight),
        };
        certain(step)
    }
}

/// Removes steps whose outcome the plan cannot predict (a statement fault), and transfers of tasks: a task handed to a
/// waiting agent can create a cycle that no request caused.
pub(super) fn certain(step: Step) -> Step {
    match step {
        Step::Call(call) if matches!(call.op, Request::Transfer { .. } | Request::Move { .. }) => {
            Step::Clock { by_us: SECOND }
        }
        Step::Call(call) if matches!(call.fault, Some(Fault::Statement(_))) => Step::Call(Call { fault: None, ..call }),
        step => step,
    }
}

fn numbered(spelling: &str) -> u32 {
    let at = PATTERNS.iter().position(|(_, known)| *known == spelling).expect("a pattern of this world");
    u32::try_from(at).unwrap()
}

fn name_of(sight: &Sight<'_>, checkout: &str) -> String {
    let found = sight.model.checkouts.iter().find(|(_, id)| *id == checkout);
    found.map_or("main".to_owned(), |(name, _)| name.clone())
}

pub(super) fn name_number(name: &str) -> u32 {
    u32::try_from(NAMES.iter().position(|known| *known == name).expect("a name of this world")).unwrap()
}

pub(super) fn plainly(sight: &Sight<'_>, agent: &str, checkout: &str, op: Request) -> Step {
    Step::Call(Call {
        agent: agent.to_owned(),
        request: sight.new_request(),
        given: false,
        checkout: name_of(sight, checkout),
        op,
        fault: None,
        proven_dead: Vec::new(),
    })
}

/// Repeats the request: it renews the place, or accepts the offer.
fn again(sight: &Sight<'_>, place: &InLine) -> Step {
    if place.name {
        let op = Request::Lock(Lock { name: name_number(&place.wanted[0]), wait: true, ..Lock::default() });
        return plainly(sight, &place.agent, "", op);
    }
    let reserve = Reserve {
        patterns: place.wanted.iter().map(|spelling| numbered(spelling)).collect(),
        shared: place.shared,
        all_checkouts: place.checkout.is_empty(),
        wait: true,
        ..Reserve::default()
    };
    plainly(sight, &place.agent, &place.checkout, Request::Reserve(reserve))
}

fn gives_back(sight: &Sight<'_>, path: &PathHold) -> Step {
    let op = Request::ReleasePaths { patterns: vec![numbered(&path.pattern)], fence: None, force: false };
    plainly(sight, &path.holder, &path.checkout, op)
}

fn released(dice: &Dice, sight: &Sight<'_>, living: &[&str]) -> Option<Step> {
    let is_live = |path: &&PathHold| path.ended.is_none() && living.contains(&path.holder.as_str());
    let live: Vec<&PathHold> = sight.model.paths.iter().filter(is_live).collect();
    if live.is_empty() { None } else { Some(gives_back(sight, live[dice.below(live.len())])) }
}

/// The final phase makes no new requests. An agent with an offer accepts it, a holder that does not wait releases, a
/// waiting agent renews its place in time, and dead agents are proven dead.
pub(super) fn let_go(sight: &Sight<'_>) -> Step {
    let alive = |agent: &str| !sight.dead.contains(agent);
    let (model, now) = (sight.model, sight.now);
    let waits = |agent: &str| model.places.iter().any(|place| place.agent == agent);
    if let Some(place) = model.places.iter().find(|place| place.offered && alive(&place.agent)) {
        return again(sight, place);
    }
    if let Some(place) = model.places.iter().find(|place| alive(&place.agent) && place.expires_at - now < 60 * SECOND) {
        return again(sight, place);
    }
    let idle = |path: &&PathHold| model.counts(path, now) && alive(&path.holder) && !waits(&path.holder);
    if let Some(path) = model.paths.iter().find(idle) {
        return gives_back(sight, path);
    }
    // A waiting agent releases its lock too: another process of the same agent may wait for it.
    if let Some((_, lock)) = model.live_locks(now).find(|(_, lock)| alive(&lock.holder) && lock.place.is_empty()) {
        let op = Request::ReleaseLock { name: name_number(&lock.name), fence: None, force: false };
        return plainly(sight, &lock.holder, "", op);
    }
    match model.places.iter().find(|place| alive(&place.agent)) {
        Some(place) if !sight.dead.is_empty() => match again(sight, place) {
            Step::Call(call) => Step::Call(Call { proven_dead: sight.dead.iter().cloned().collect(), ..call }),
            step => step,
        },
        _ => Step::Clock { by_us: 20 * SECOND },
    }
}

/// R7: the wait graph has no cycle. Among the waiting agents, at least one waits only for agents that do not wait.
pub(super) struct SomebodyGoesOn;

impl Property for SomebodyGoesOn {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        if scene.model.places.is_empty() || scene.model.was_handed_over() {
            return Ok(());
        }
        let mut left: BTreeMap<String, BTreeSet<String>> = scene.model.who_waits_for_whom(scene.now);
        loop {
            let waiting: BTreeSet<String> = left.keys().cloned().collect();
            let before = left.len();
            left.retain(|_, others| others.iter().any(|other| waiting.contains(other)));
            if left.is_empty() {
                return Ok(());
            }
            if left.len() == before {
                return Err(Broken::new("inv_r7_somebody_can_go_on", json!(left).to_string()));
            }
        }
    }
}
