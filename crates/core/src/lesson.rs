//! Lessons drawn from structured events. Pure and deterministic: no text that an agent wrote influences a decision.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::hold::HoldExpired;
use crate::event::task::TaskBlocked;
use crate::event::tool::{ToolFailed, ToolWorked};
use crate::event::{Event, kind};
use crate::number::EventNumber;
use crate::text::{cut, quote};
use crate::time::Time;

/// The most lessons of one call.
pub const MOST: usize = 10;
/// The number of failures after which a success is worth a lesson.
const FAILURES: usize = 3;
/// The number of agents that must change a file to make it worth a lesson.
const CHANGED_BY: usize = 3;
/// The most files that a lesson names.
const FILES: usize = 5;

/// The event kinds that start a lesson, each with the kinds that can follow it. Without an event of the first kind, the
/// others teach nothing.
pub const KINDS: [(&str, &[&str]); 3] = [
    (kind::TOOL_FAILED, &[kind::TOOL_WORKED]),
    (kind::TASK_BLOCKED, &[kind::TASK_UNBLOCKED]),
    (kind::HOLD_EXPIRED, &[kind::TASK_CLAIMED, kind::TASK_DONE, kind::TASK_REOPENED, kind::TASK_RELEASED]),
];

/// An event as input for lessons.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The event's number.
    pub number: EventNumber,
    /// The time of the event.
    pub at: Time,
    /// The agent or person who caused it.
    pub actor: String,
    /// The event's subject.
    pub subject: String,
    /// The event itself.
    pub event: Event,
}

/// The record that an agent's tools changed a file.
#[derive(Clone, Debug)]
pub struct Touch {
    /// The file's path.
    pub path: String,
    /// The agent that changed it.
    pub agent: String,
    /// The task it was changed for; empty for none.
    pub task: String,
    /// When it was last changed.
    pub at: Time,
}

/// A lesson to remember.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// Equal for equal causes, so that a lesson is stored once.
    pub key: String,
    /// The lesson's text.
    pub text: String,
    /// The events it was drawn from, oldest first.
    pub from: Vec<EventNumber>,
    /// The time of its newest cause.
    pub at: Time,
}

/// Draws lessons from events in ascending order, and returns the newest lesson first. The caller that stores them stops
/// after [`MOST`] new ones.
pub fn draw(facts: &[Fact], touches: &[Touch]) -> Vec<Lesson> {
    let mut found = tools(facts, touches);
    found.extend(blocks(facts));
    found.extend(take_overs(facts));
    // A repeated key is the same lesson, drawn again.
    found.sort_by(|a, b| (b.from.last(), &a.key).cmp(&(a.from.last(), &b.key)));
    let mut known = BTreeSet::new();
    found.retain(|lesson| known.insert(lesson.key.clone()));
    found.extend(crowded(touches));
    found
}

/// A tool that failed repeatedly, and the files changed before it succeeded.
fn tools(facts: &[Fact], touches: &[Touch]) -> Vec<Lesson> {
    let mut failing: BTreeMap<(&str, &str, &str), Vec<&Fact>> = BTreeMap::new();
    let mut lessons = Vec::new();
    for fact in facts {
        match &fact.event {
            Event::ToolFailed(ToolFailed { tool, program, .. }) => {
                let place = (fact.actor.as_str(), tool.as_str(), program.as_deref().unwrap_or_default());
                failing.entry(place).or_default().push(fact);
            }
            Event::ToolWorked(worked) => {
                let program = worked.program.as_deref().unwrap_or_default();
                let failures = failing.remove(&(fact.actor.as_str(), &worked.tool, program)).unwrap_or_default();
                if let (true, Some(first)) = (failures.len() >= FAILURES, failures.first()) {
                    lessons.push(works(&failures, first, (fact, worked), touches));
                }
            }
            _ => {}
        }
    }
    lessons
}

fn works(failures: &[&Fact], first: &Fact, (worked, used): (&Fact, &ToolWorked), touches: &[Touch]) -> Lesson {
    let name = used.program.as_deref().filter(|program| !program.is_empty()).unwrap_or(&used.tool);
    let status = |fact: &&Fact| match &fact.event {
        Event::ToolFailed(failed) => failed.exit_status,
        _ => None,
    };
    let statuses: BTreeSet<i64> = failures.iter().filter_map(status).collect();
    let with = match statuses.iter().map(i64::to_string).collect::<Vec<_>>().join(", ") {
        statuses if statuses.is_empty() => String::new(),
        statuses => format!(" with exit status {statuses}"),
    };
    let changed: BTreeSet<&str> = touches
        .iter()
        .filter(|touch| touch.agent == worked.actor && touch.at >= first.at && touch.at <= worked.at)
        .map(|touch| touch.path.as_str())
        .collect();
    let after = if changed.is_empty() { String::new() } else { format!(" after changes to {}", named(&changed)) };
    let mut from: Vec<EventNumber> = failures.iter().map(|fact| fact.number).collect();
    from.push(worked.number);
    Lesson {
        key: format!("tool/{name}"),
        text: format!("{} failed {} times{with} and then worked{after}.", cut(name, 80), failures.len()),
        from,
        at: worked.at,
    }
}

fn named(paths: &BTreeSet<&str>) -> String {
    let shown: Vec<String> = paths.iter().take(FILES).map(|path| cut(path, 120)).collect();
    match paths.len().saturating_sub(FILES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A task that was blocked, and what unblocked it.
fn blocks(facts: &[Fact]) -> Vec<Lesson> {
    let mut blocked: BTreeMap<&str, (&Fact, &TaskBlocked)> = BTreeMap::new();
    let mut lessons = Vec::new();
    for fact in facts {
        match &fact.event {
            Event::TaskBlocked(why) => drop(blocked.insert(&fact.subject, (fact, why))),
            Event::TaskUnblocked(unblocked) => {
                let Some((block, why)) = blocked.remove(fact.subject.as_str()) else { continue };
                let how = match why.on.as_deref() {
                    Some(on) if unblocked.met && !on.is_empty() => format!("{on} was done"),
                    _ => format!("{} unblocked it", fact.actor),
                };
                let reason = quote(&why.reason, 300);
                lessons.push(Lesson {
                    key: format!("blocked/{}", fact.subject),
                    text: format!("{} was blocked by {}: {reason}. It went on when {how}.", fact.subject, block.actor),
                    from: vec![block.number, fact.number],
                    at: fact.at,
                });
            }
            _ => {}
        }
    }
    lessons
}

/// A task that another agent took over after its hold had expired.
fn take_overs(facts: &[Fact]) -> Vec<Lesson> {
    let mut lapsed: BTreeMap<&str, (&Fact, &HoldExpired)> = BTreeMap::new();
    let mut lessons = Vec::new();
    for fact in facts {
        match &fact.event {
            // A hold that ended with its process or session teaches nothing about notes.
            Event::HoldExpired(expired) if expired.ran_out() => {
                lapsed.insert(&fact.subject, (fact, expired));
            }
            Event::HoldExpired(_) | Event::TaskDone(_) | Event::TaskReopened(_) | Event::TaskReleased(_) => {
                lapsed.remove(fact.subject.as_str());
            }
            Event::TaskClaimed(_) => {
                let Some((lapse, HoldExpired { holder, .. })) = lapsed.remove(fact.subject.as_str()) else { continue };
                if *holder == fact.actor || holder.is_empty() {
                    continue;
                }
                let task = &fact.subject;
                lessons.push(Lesson {
                    key: format!("lapse/{task}"),
                    text: format!(
                        "{holder} made no call until its hold on {task} lapsed, and {} took over. A note now and then keeps a hold.",
                        fact.actor
                    ),
                    from: vec![lapse.number, fact.number],
                    at: fact.at,
                });
            }
            _ => {}
        }
    }
    lessons
}

/// Files that many agents change, where conflicts are likely.
fn crowded(touches: &[Touch]) -> Vec<Lesson> {
    let mut by_path: BTreeMap<&str, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    let mut last: BTreeMap<&str, Time> = BTreeMap::new();
    for touch in touches {
        let (agents, tasks) = by_path.entry(&touch.path).or_default();
        agents.insert(&touch.agent);
        tasks.insert(&touch.task);
        let at = last.entry(&touch.path).or_insert(touch.at);
        *at = (*at).max(touch.at);
    }
    let crowd = |agents: &BTreeSet<&str>| agents.len() >= CHANGED_BY;
    let mut found: Vec<_> =
        by_path.into_iter().filter(|(_, (agents, tasks))| crowd(agents) && tasks.len() > 1).collect();
    found.sort_by_key(|(path, (agents, _))| (std::cmp::Reverse(agents.len()), *path));
    found
        .into_iter()
        .map(|(path, (agents, tasks))| Lesson {
            key: format!("path/{path}"),
            text: format!(
                "{} is changed by many: {} agents for {} tasks so far. Reserve it before a change, and keep the change short.",
                cut(path, 200),
                agents.len(),
                tasks.len()
            ),
            from: Vec::new(),
            at: last.get(path).copied().unwrap_or(Time(0)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "a case writes the data where it calls")]
    fn fact(number: i64, kind: &str, actor: &str, subject: &str, data: Value) -> Fact {
        let event = Event::read(kind, &data);
        Fact { number: EventNumber::new(number), at: Time(number), actor: actor.into(), subject: subject.into(), event }
    }

    fn touch(path: &str, agent: &str, task: &str, at: i64) -> Touch {
        Touch { path: path.into(), agent: agent.into(), task: task.into(), at: Time(at) }
    }

    fn test_run(number: i64, kind: &str, actor: &str) -> Fact {
        fact(number, kind, actor, "t-1", json!({ "tool": "Bash", "program": "cargo test", "exit_status": 101 }))
    }

    #[test]
    fn inv_m4_a_tool_that_fails_thrice_and_then_works_is_a_lesson() {
        let failed = |number| test_run(number, kind::TOOL_FAILED, "a");
        let worked = test_run(9, kind::TOOL_WORKED, "a");
        let touches =
            [touch("src/lexer.rs", "a", "t-1", 5), touch("old.rs", "a", "t-1", 0), touch("x.rs", "b", "t-2", 5)];
        let facts = [failed(1), failed(2), failed(4), worked.clone()];
        let lessons = draw(&facts, &touches);
        assert_eq!(
            lessons,
            [Lesson {
                key: "tool/cargo test".into(),
                text: "cargo test failed 3 times with exit status 101 and then worked after changes to src/lexer.rs."
                    .into(),
                from: [1, 2, 4, 9].map(EventNumber::new).into(),
                at: Time(9),
            }]
        );
        assert_eq!(draw(&facts[1..], &touches), [], "twice is not repeatedly");
        let other = test_run(3, kind::TOOL_FAILED, "b");
        assert_eq!(draw(&[failed(1), failed(2), other, worked], &touches), [], "agents are counted apart");
    }

    #[test]
    fn inv_m4_blocks_and_take_overs_say_what_happened() {
        let facts = [
            fact(1, kind::TASK_BLOCKED, "a", "t-1", json!({ "reason": "no schema", "on": "t-2" })),
            fact(2, kind::HOLD_EXPIRED, "c", "t-3", json!({ "holder": "a" })),
            fact(3, kind::TASK_UNBLOCKED, "a", "t-1", json!({ "met": true })),
            fact(4, kind::TASK_CLAIMED, "b", "t-3", json!({})),
            fact(5, kind::HOLD_EXPIRED, "c", "t-4", json!({ "holder": "a" })),
            fact(6, kind::TASK_CLAIMED, "a", "t-4", json!({})),
            // Neither an ended session nor a task that was finished late teaches anything.
            fact(7, kind::HOLD_EXPIRED, "a", "t-5", json!({ "holder": "a", "session_ended": true })),
            fact(8, kind::TASK_CLAIMED, "b", "t-5", json!({})),
            fact(9, kind::HOLD_EXPIRED, "c", "t-6", json!({ "holder": "a" })),
            fact(10, kind::TASK_DONE, "a", "t-6", json!({ "late": true })),
            fact(11, kind::TASK_CLAIMED, "b", "t-6", json!({})),
        ];
        let lessons = draw(&facts, &[]);
        let keys: Vec<&str> = lessons.iter().map(|lesson| lesson.key.as_str()).collect();
        assert_eq!(keys, ["lapse/t-3", "blocked/t-1"]);
        assert!(lessons[1].text.contains("“no schema”. It went on when t-2 was done"));
        assert_eq!(lessons[0].from, [2, 4]);
    }

    #[test]
    fn inv_m4_files_that_many_change_are_named() {
        let mut touches = Vec::new();
        for n in 0..20 {
            for agent in ["a", "b", "c"] {
                touches.push(touch(&format!("src/{n:02}.rs"), agent, &format!("t-{agent}"), 1));
            }
        }
        let lessons = draw(&[], &touches);
        assert_eq!((lessons.len(), lessons[0].key.as_str()), (20, "path/src/00.rs"));
        touches.retain(|touch| touch.agent != "c");
        assert_eq!(draw(&[], &touches), []);
        // The order of the input does not matter.
        touches.reverse();
        assert_eq!(draw(&[], &touches), []);
    }
}
