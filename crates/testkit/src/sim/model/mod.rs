//! The oracle: a second, small implementation of the kernel's contract, in memory and without regard for cost.
//!
//! It is written from the contract, not from the kernel: it has no counters, flags or indexes, and scans everything
//! each time. It shares words with the kernel (statuses, kinds of events, sentences), never rules. The kernel draws the
//! ids, so the model takes them from the log.

mod check;
pub mod files;
mod line;
mod locks;
mod mail;
mod memory;
mod paths;
mod resume;
mod rights;
mod rules;
mod transfer;
mod view;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};
use tenure_core::Time;
use tenure_core::event::kind;
use tenure_core::task::TaskStatus;
use tenure_kernel::Op;
use tenure_kernel::answer::LoggedEvent;

pub use self::line::Place as InLine;
pub use self::locks::Lock;
use self::mail::Over;
pub use self::mail::{Letter, Message};
pub use self::memory::{Memory, Place};
pub use self::paths::PathHold;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;
/// The longest time for which a task can be snoozed.
const LONGEST_SNOOZE: i64 = 366 * 24 * HOUR;
/// The number of expired holds that a write settles, besides those it touches.
const SETTLED_AT_ONCE: usize = 64;
/// The interval, in events, at which expired request records are pruned.
const PRUNED_EVERY: i64 = 64;

/// A hold on a task that has no recorded end.
#[derive(Clone, Debug)]
pub struct Hold {
    /// Its id.
    pub id: String,
    /// The agent that holds it.
    pub holder: String,
    /// The number of the event that granted it.
    pub fence: i64,
    /// When it was granted.
    pub granted_at: i64,
    /// When it expires.
    pub expires_at: i64,
    /// The time to live of each renewal.
    pub ttl: i64,
}

/// A hold on a task that has ended.
#[derive(Clone, Debug)]
struct Ended {
    id: String,
    task: String,
    holder: String,
    /// Whether the holder lost it: by expiry, by early expiry, or by a person's force.
    lost: bool,
}

/// A task.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Task {
    pub id: String,
    pub number: i64,
    pub title: String,
    pub priority: i64,
    pub labels: BTreeSet<String>,
    pub after: BTreeSet<String>,
    pub status: TaskStatus,
    pub assignee: String,
    pub reason: String,
    pub blocked_on: String,
    pub hold: Option<Hold>,
    /// All fences the task ever had. An override counts as one.
    pub fences: Vec<i64>,
    /// The holder of the newest fence; empty after an override.
    pub last_holder: String,
    /// When the newest hold was granted.
    pub last_began: i64,
    /// Whether the newest hold expired.
    pub lapsed: bool,
    pub attempt: i64,
    pub version: i64,
    pub created_at: i64,
    pub updated_at: i64,
    pub finished_by: String,
    pub finished_at: i64,
    /// The instant before which it is not offered.
    pub not_before: i64,
}

/// An agent.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Agent {
    pub registered_at: i64,
    pub last_seen: i64,
    /// The task that the agent means when it names none.
    pub focus: String,
    /// Whether its session ended and the agent has not called since.
    pub ended: bool,
}

/// A note.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Note {
    pub id: String,
    pub task: String,
    pub number: i64,
    pub agent: String,
    pub at: i64,
    pub late: bool,
}

/// An expected event, with the promised part of its data.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Told {
    pub number: i64,
    pub at: i64,
    pub kind: &'static str,
    pub actor: String,
    /// Empty where the model cannot know it.
    pub subject: String,
    pub hold: String,
    pub cause: Option<i64>,
    pub data: Value,
}

#[derive(Clone, Debug)]
struct Record {
    payload: String,
    answer: Value,
    until: i64,
}

/// The complete state of a project.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Model {
    pub agents: BTreeMap<String, Agent>,
    pub tasks: BTreeMap<String, Task>,
    pub last_event: i64,
    pub last_time: i64,
    /// All memories, expired or not.
    pub memories: Vec<Memory>,
    /// All path holds, ended or not, in the order of their grants.
    pub paths: Vec<PathHold>,
    /// All named locks, ended or not, in the order of their grants.
    pub locks: Vec<Lock>,
    /// The waiting line, in ticket order.
    pub places: Vec<InLine>,
    /// Whether the current op has ended a resource that an agent may wait for.
    freed: bool,
    /// The ids of the checkouts, by name.
    pub checkouts: BTreeMap<String, String>,
    pub messages: Vec<Message>,
    pub mail: Vec<Letter>,
    /// Per agent: the last letter offered and the last letter confirmed.
    read: BTreeMap<String, (i64, i64)>,
    ended: Vec<Ended>,
    /// The holds that the current op has ended, for the authors of messages about them.
    over: Vec<Over>,
    /// The blockers of the current op.
    blockers: Vec<Value>,
    notes: Vec<Note>,
    /// Per agent: the last event offered and the last event confirmed.
    delivered: BTreeMap<String, (i64, i64)>,
    numbered: i64,
    shown: BTreeMap<(String, String), i64>,
    log: Vec<Told>,
    records: BTreeMap<(String, &'static str, String), Record>,
}

/// The ids that the kernel drew, taken from the events.
#[derive(Debug, Default)]
pub struct Fresh {
    tasks: VecDeque<String>,
    holds: VecDeque<String>,
    notes: VecDeque<String>,
    memories: VecDeque<String>,
    messages: VecDeque<String>,
    places: VecDeque<String>,
    lessons: VecDeque<LoggedEvent>,
    checkouts: BTreeMap<String, String>,
    invented: usize,
}

impl Fresh {
    /// Collects the ids from new events, and takes the ids of the checkouts.
    pub fn of(events: &[LoggedEvent], checkouts: BTreeMap<String, String>) -> Fresh {
        let mut fresh = Fresh { checkouts, ..Fresh::default() };
        for event in events {
            match event.kind.as_str() {
                kind::TASK_ADDED => fresh.tasks.push_back(event.subject.clone()),
                kind::TASK_CLAIMED
                | kind::HOLD_TRANSFERRED
                | kind::PATH_RESERVED
                | kind::PATH_OFFERED
                | kind::LOCK_TAKEN
                | kind::LOCK_OFFERED => {
                    fresh.holds.extend(event.hold.clone().map(String::from));
                }
                kind::MESSAGE_SENT => fresh.messages.push_back(event.subject.clone()),
                kind::TASK_NOTED => fresh.notes.extend(event.data["note"].as_str().map(str::to_owned)),
                kind::PLACE_QUEUED => fresh.places.push_back(event.subject.clone()),
                kind::MEMORY_ADDED => fresh.memories.push_back(event.subject.clone()),
                _ => {}
            }
            if event.kind.starts_with("memory.") && event.op == "session_end" {
                fresh.lessons.push_back(event.clone());
            }
        }
        fresh
    }

    /// Generates ids for a plan that no kernel has run yet.
    pub fn invented(from: i64) -> Fresh {
        Fresh { invented: usize::try_from(from).unwrap(), ..Fresh::default() }
    }

    fn invent(&mut self, letter: char) -> String {
        self.invented += 1;
        format!("{letter}-invented{}", self.invented)
    }
}

/// A call as it reaches the kernel.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Asked<'a> {
    pub actor: &'a str,
    pub request: &'a str,
    pub given: bool,
    pub dead: &'a [String],
    /// The checkout of the caller; empty for none.
    pub place: &'a str,
    pub op: &'a Op,
    pub clock: i64,
}

/// The kind and the code of a refusal.
pub type Refusal = (&'static str, &'static str);

/// The model's prediction for a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer.
    pub answer: Result<Value, Refusal>,
    /// Whether the answer is a replay.
    pub replayed: bool,
    /// The events that were appended.
    pub events: Vec<Told>,
    /// The blockers, if they are the reason for the refusal.
    pub blockers: Vec<Value>,
}

/// The op in progress.
struct Turn<'a> {
    now: i64,
    /// The newest event before the op.
    first: i64,
    actor: &'a str,
    dead: &'a [String],
    place: &'a str,
    /// The id of the caller's checkout; empty for none.
    checkout: String,
    fresh: Fresh,
}

impl Model {
    /// The time of a transaction, and whether the clock was set back.
    pub fn reading(&self, clock: i64) -> (i64, bool) {
        let behind = self.last_time - clock;
        if behind <= 0 {
            (clock, false)
        } else if behind > 60 * SECOND && self.last_event > 0 {
            (clock, true)
        } else {
            (self.last_time, false)
        }
    }

    /// Runs a call.
    pub fn run(&mut self, asked: &Asked<'_>, fresh: Fresh) -> Outcome {
        if let Err(refusal) = check::check(asked.op) {
            return Outcome { answer: Err(refusal), replayed: false, events: Vec::new(), blockers: Vec::new() };
        }
        let (now, stepped) = self.reading(asked.clock);
        let payload = format!("{:?}", asked.op);
        let key = (asked.actor.to_owned(), asked.op.name(), asked.request.to_owned());
        if let Some(record) = self.records.get(&key).filter(|record| record.until > now) {
            let same = record.payload == payload;
            let answer = if same { Ok(record.answer.clone()) } else { Err(("mismatch", "request_mismatch")) };
            return Outcome { answer, replayed: same, events: Vec::new(), blockers: Vec::new() };
        }
        // A hook never creates a project.
        if asked.op.get::<tenure_kernel::op::session_end::SessionEnd>().is_some() && self.last_event == 0 {
            let answer = Err(("conflict", "not_switched_on"));
            return Outcome { answer, replayed: false, events: Vec::new(), blockers: Vec::new() };
        }
        let (first, from) = (self.last_event, self.log.len());
        let checkout = self.checkouts.get(asked.place).cloned().unwrap_or_default();
        let (actor, dead, place) = (asked.actor, asked.dead, asked.place);
        let mut turn = Turn { now, first, actor, dead, place, checkout, fresh };
        self.last_time = now;
        if stepped {
            self.step_back(&turn);
        }
        self.settle(&turn);
        self.settle_places(&turn);
        self.serve(&mut turn);
        self.end_messages(&turn);
        self.be_present(&turn);
        let before = self.clone();
        self.register(&mut turn);
        let answer = self.decide(&mut turn, asked.op);
        if answer.is_ok() {
            self.serve(&mut turn);
            self.end_messages(&turn);
        }
        let blockers = std::mem::take(&mut self.blockers);
        match &answer {
            Ok(body) => {
                let until = now + if asked.given { 7 * 24 * HOUR } else { HOUR };
                self.records.insert(key, Record { payload, answer: body.clone(), until });
            }
            Err(_) => *self = before,
        }
        if self.last_event / PRUNED_EVERY != first / PRUNED_EVERY {
            self.records.retain(|_, record| record.until > now);
        }
        Outcome { answer, replayed: false, events: self.log[from..].to_vec(), blockers }
    }

    fn tell(&mut self, turn: &Turn<'_>, kind: &'static str, subject: &str, hold: &str, data: Value) -> i64 {
        self.last_event += 1;
        self.log.push(Told {
            number: self.last_event,
            at: turn.now,
            kind,
            actor: turn.actor.to_owned(),
            subject: subject.to_owned(),
            hold: hold.to_owned(),
            cause: None,
            data,
        });
        self.last_event
    }

    /// Handles a clock that was set back: no live hold lasts longer than its time to live from now, and no agent was
    /// seen later than now.
    fn step_back(&mut self, turn: &Turn<'_>) {
        let now = turn.now;
        self.tell(turn, kind::CLOCK_STEPPED, "", "", json!({}));
        for hold in self.tasks.values_mut().filter_map(|task| task.hold.as_mut()) {
            hold.granted_at = hold.granted_at.min(now);
            hold.expires_at = hold.expires_at.min(now + hold.ttl);
        }
        for path in self.paths.iter_mut().filter(|path| path.ended.is_none()) {
            path.granted_at = path.granted_at.min(now);
            path.expires_at = path.expires_at.min(now + path.ttl);
        }
        for lock in self.locks.iter_mut().filter(|lock| lock.ended.is_none()) {
            lock.granted_at = lock.granted_at.min(now);
            lock.expires_at = lock.expires_at.min(now + lock.ttl);
        }
        for place in &mut self.places {
            place.queued_at = place.queued_at.min(now);
            place.expires_at = place.expires_at.min(now + place.ttl);
        }
        for agent in self.agents.values_mut() {
            agent.last_seen = agent.last_seen.min(now);
        }
        for task in self.tasks.values_mut() {
            task.not_before = task.not_before.min(now + LONGEST_SNOOZE);
        }
    }

    /// Ends expired holds and clears the assignments of agents that are gone.
    fn settle(&mut self, turn: &Turn<'_>) {
        // A time that has passed once does not come back with the clock.
        for task in self.tasks.values_mut().filter(|task| turn.now >= task.not_before) {
            task.not_before = 0;
        }
        let mut due: Vec<(i64, String, String)> = self
            .tasks
            .values()
            .filter_map(|task| task.hold.as_ref().map(|hold| (hold.expires_at, hold.id.clone(), task.id.clone())))
            .collect();
        let paths = self.paths.iter().filter(|path| path.ended.is_none());
        due.extend(paths.map(|path| (path.expires_at, path.id.clone(), String::new())));
        let locks = self.locks.iter().filter(|lock| lock.ended.is_none());
        due.extend(locks.map(|lock| (lock.expires_at, lock.id.clone(), String::new())));
        due.retain(|(expires_at, _, _)| turn.now >= *expires_at);
        due.sort();
        let mut gone: Vec<(i64, String)> = self
            .agents
            .iter()
            .filter(|(name, _)| self.is_gone(name, turn.actor, turn.now))
            .map(|(name, agent)| (agent.last_seen, name.clone()))
            .collect();
        gone.sort();
        for (_, hold, task) in due.into_iter().take(SETTLED_AT_ONCE) {
            if !task.is_empty() {
                self.expire(turn, &task, "");
            } else if let Some(at) = self.paths.iter().position(|path| path.id == hold && path.ended.is_none()) {
                self.expire_path(turn, at, "");
            } else if let Some(at) = self.locks.iter().position(|lock| lock.id == hold && lock.ended.is_none()) {
                self.expire_lock(turn, at, "");
            }
        }
        for (_, name) in gone {
            for id in self.in_order(|task| task.assignee == name && !task.status.is_closed()) {
                self.tell(turn, kind::TASK_UNASSIGNED, &id, "", json!({ "assignee": name }));
                self.task(&id).assignee.clear();
            }
        }
    }

    /// Ends the hold on a task and all holds bound to it: at its expiry, or now for a reason.
    fn expire(&mut self, turn: &Turn<'_>, id: &str, why: &str) {
        let task = self.task(id);
        let Some(hold) = task.hold.take() else { return };
        if task.status == TaskStatus::Started {
            task.status = TaskStatus::Open;
        }
        task.lapsed = true;
        let over = turn.now >= hold.expires_at;
        let ended_at = if over { hold.expires_at } else { turn.now };
        let mut data = json!({
            "holder": hold.holder, "fence": hold.fence, "ended_at": Time(ended_at), "expires_at": Time(hold.expires_at),
            "granted_at": Time(hold.granted_at), "proven_dead": !over && why == "proven_dead",
        });
        if !over && why == "session_ended" {
            data["session_ended"] = json!(true);
        }
        let number = self.tell(turn, kind::HOLD_EXPIRED, id, &hold.id, data);
        self.over.push(Over { hold: hold.id.clone(), how: "expired", by: hold.holder.clone(), cause: number });
        self.ended.push(Ended { id: hold.id, task: id.to_owned(), holder: hold.holder, lost: true });
        self.expire_bound(turn, id, if over { "" } else { why }, over.then_some(ended_at));
    }

    /// Records the actor's presence and renews its live holds that have less than three quarters of their time left.
    fn be_present(&mut self, turn: &Turn<'_>) {
        let Some(agent) = self.agents.get_mut(turn.actor) else { return };
        agent.last_seen = turn.now;
        agent.ended = false;
        for hold in self.tasks.values_mut().filter_map(|task| task.hold.as_mut()) {
            let left = hold.expires_at - turn.now;
            if hold.holder == turn.actor && left > 0 && left < hold.ttl - hold.ttl / 4 {
                hold.expires_at = turn.now + hold.ttl;
            }
        }
        let own = |path: &&mut PathHold| path.holder == turn.actor && path.ended.is_none() && path.place.is_empty();
        for path in self.paths.iter_mut().filter(own) {
            let left = path.expires_at - turn.now;
            if left > 0 && left < path.ttl - path.ttl / 4 {
                path.expires_at = turn.now + path.ttl;
            }
        }
        let own = |lock: &&mut Lock| lock.holder == turn.actor && lock.ended.is_none() && lock.is_of_a_session();
        for lock in self.locks.iter_mut().filter(own) {
            let left = lock.expires_at - turn.now;
            if left > 0 && left < lock.ttl - lock.ttl / 4 {
                lock.expires_at = turn.now + lock.ttl;
            }
        }
    }

    fn register(&mut self, turn: &mut Turn<'_>) {
        if self.last_event == 0 {
            self.tell(turn, kind::PROJECT_CREATED, "", "", json!({}));
        }
        if !self.agents.contains_key(turn.actor) {
            let number = self.tell(turn, kind::AGENT_REGISTERED, turn.actor, "", json!({}));
            self.delivered.insert(turn.actor.to_owned(), (number, number));
            let agent = Agent { registered_at: turn.now, last_seen: turn.now, focus: String::new(), ended: false };
            self.agents.insert(turn.actor.to_owned(), agent);
        }
        if !turn.place.is_empty() && turn.checkout.is_empty() {
            let drawn = turn.fresh.checkouts.get(turn.place).cloned();
            turn.checkout = drawn.unwrap_or_else(|| format!("c-{}", turn.place));
            self.checkouts.insert(turn.place.to_owned(), turn.checkout.clone());
        }
    }

    /// Whether assignments to an agent no longer count: quiet for an hour, no holds, and not the actor. People are
    /// never gone.
    fn is_gone(&self, name: &str, actor: &str, now: i64) -> bool {
        let holds = |task: &Task| task.hold.as_ref().is_some_and(|hold| hold.holder == name && now < hold.expires_at);
        let quiet = self.agents.get(name).is_some_and(|agent| agent.last_seen <= now - HOUR);
        let has = |path: &PathHold| path.holder == name && path.ended.is_none() && now < path.expires_at;
        let locks = self.live_locks(now).any(|(_, lock)| lock.holder == name);
        let holds = self.tasks.values().any(holds) || self.paths.iter().any(has) || locks;
        quiet && name != actor && !name.starts_with("person:") && !holds
    }

    /// The newest hold on a task, ended or not.
    pub fn hold_of(&self, task: &str) -> Option<String> {
        let live = self.tasks.get(task).and_then(|task| task.hold.as_ref()).map(|hold| hold.id.clone());
        live.or_else(|| self.ended.iter().rev().find(|ended| ended.task == task).map(|ended| ended.id.clone()))
    }

    fn task(&mut self, id: &str) -> &mut Task {
        self.tasks.get_mut(id).expect("a task that was looked up before")
    }

    /// The ids of the matching tasks in order of choice: priority, creation number, id.
    fn in_order(&self, wanted: impl Fn(&Task) -> bool) -> Vec<String> {
        let mut found: Vec<&Task> = self.tasks.values().filter(|task| wanted(task)).collect();
        found.sort_by_key(|task| (task.priority, task.number, task.id.clone()));
        found.into_iter().map(|task| task.id.clone()).collect()
    }

    /// The dependencies of a task that are not done.
    fn unmet(&self, task: &Task) -> Vec<String> {
        task.after.iter().filter(|after| self.tasks[*after].status != TaskStatus::Done).cloned().collect()
    }
}
