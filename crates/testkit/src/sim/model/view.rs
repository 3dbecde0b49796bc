//! The state as queries and answers show it, at any instant, settled or not.

use serde_json::{Value, json};
use tenure_core::choice::{ChoiceRule, SnoozedTasks, StateCounts};
use tenure_core::event::kind;
use tenure_core::task::{TaskState, TaskStatus};
use tenure_core::{Time, choice};

use super::{HOUR, Model, SECOND, Task};

/// The sentence of a choice rule.
pub(super) fn reason(rule: &str, priority: i64, lapsed_from: Option<&str>) -> String {
    let rule = match rule {
        "named" => ChoiceRule::Named,
        "own" => ChoiceRule::Own,
        "lapsed" => ChoiceRule::Lapsed,
        "focus" => ChoiceRule::Focus,
        "unblocked" => ChoiceRule::Unblocked,
        "assigned" => ChoiceRule::Assigned,
        _ => ChoiceRule::Ready,
    };
    choice::reason(rule, priority, lapsed_from)
}

fn some(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { json!(text) }
}

/// The liveness of an agent by its quiet time and its time to live.
fn liveness(quiet: i64, ttl: i64) -> &'static str {
    match quiet.max(0) {
        quiet if quiet <= 120 * SECOND => "alive",
        quiet if quiet <= ttl / 2 => "idle",
        quiet if quiet < ttl => "stale",
        _ => "gone",
    }
}

/// After the clock was set back, a hold is shown to end no later than its time to live from now.
fn until(hold: &super::Hold, now: i64) -> i64 {
    hold.expires_at.min(now + hold.ttl)
}

impl Model {
    /// The liveness of an agent, given a time to live.
    pub(super) fn there(&self, agent: &str, ttl: i64, now: i64) -> &'static str {
        let agent = &self.agents[agent];
        if agent.ended { "gone" } else { liveness(now - agent.last_seen, ttl) }
    }

    /// The time to live that decides an agent's liveness: the longest of its live holds, else an hour.
    pub(super) fn longest(&self, agent: &str, now: i64) -> i64 {
        let live = self.tasks.values().filter(|task| Model::is_live(task, now)).filter_map(|task| task.hold.as_ref());
        let paths = self.paths.iter().filter(|path| path.holder == agent && self.counts(path, now));
        let tasks = live.filter(|hold| hold.holder == agent).map(|hold| hold.ttl);
        let locks = self.live_locks(now).filter(|(_, lock)| lock.holder == agent).map(|(_, lock)| lock.ttl);
        tasks.chain(paths.map(|path| path.ttl)).chain(locks).max().unwrap_or(HOUR)
    }

    fn is_live(task: &Task, now: i64) -> bool {
        task.hold.as_ref().is_some_and(|hold| now < hold.expires_at)
    }

    /// Whether a task waits for nothing: no dependency and no time.
    pub(super) fn is_offered(&self, task: &Task, now: i64) -> bool {
        self.unmet(task).is_empty() && now >= task.not_before
    }

    /// What a task is seen as.
    pub fn state(&self, task: &Task, now: i64) -> TaskState {
        match task.status {
            TaskStatus::Done => TaskState::Done,
            TaskStatus::Cancelled => TaskState::Cancelled,
            TaskStatus::Blocked => TaskState::Blocked,
            _ if Model::is_live(task, now) => TaskState::Held,
            _ if self.is_offered(task, now) => TaskState::Ready,
            _ if task.after.iter().any(|after| self.tasks[after].status == TaskStatus::Cancelled) => TaskState::Stuck,
            _ => TaskState::Waiting,
        }
    }

    /// Dependencies are shown oldest first.
    fn by_age<'a>(&self, ids: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
        let mut ids: Vec<&String> = ids.collect();
        ids.sort_by_key(|id| self.tasks[*id].number);
        ids
    }

    /// A task as JSON.
    pub fn shape(&self, id: &str, now: i64) -> Value {
        let task = &self.tasks[id];
        let live = task.hold.as_ref().filter(|_| Model::is_live(task, now));
        let state = self.state(task, now);
        let status = match state {
            TaskState::Ready | TaskState::Waiting | TaskState::Stuck => TaskStatus::Open,
            _ => task.status,
        };
        let lapsed_from = match &task.hold {
            Some(hold) if live.is_none() => some(&hold.holder),
            None if task.lapsed && !task.status.is_closed() => some(&task.last_holder),
            _ => Value::Null,
        };
        json!({
            "id": task.id, "number": task.number, "title": task.title, "description": "", "priority": task.priority,
            "labels": task.labels, "acceptance": "", "status": status, "state": state, "after": self.by_age(task.after.iter()),
            "unmet": self.by_age(self.unmet(task).iter()), "attempt": task.attempt, "version": task.version,
            "assignee": some(&task.assignee), "reason": some(&task.reason), "blocked_on": some(&task.blocked_on),
            "holder": live.map(|hold| json!({
                "agent": hold.holder, "hold": hold.id, "fence": hold.fence, "expires_at": Time(until(hold, now)),
                "liveness": self.there(&hold.holder, hold.ttl, now),
            })),
            "lapsed_from": lapsed_from, "finished_by": some(&task.finished_by),
            "finished_at": if task.finished_at == 0 { Value::Null } else { json!(Time(task.finished_at)) },
            "created_at": Time(task.created_at), "updated_at": Time(task.updated_at),
            "not_before": if now < task.not_before { json!(Time(task.not_before)) } else { Value::Null },
        })
    }

    pub(super) fn hold_shape(&self, id: &str, liveness: &str, now: i64) -> Value {
        let task = &self.tasks[id];
        let hold = task.hold.as_ref().expect("a hold that is shown");
        json!({
            "id": hold.id, "kind": "task", "subject": id, "holder": hold.holder, "fence": hold.fence, "mode": "exclusive",
            "reason": task.title, "granted_at": Time(hold.granted_at), "expires_at": Time(until(hold, now)),
            "expires_in_s": (until(hold, now) - now) / SECOND, "ttl_s": hold.ttl / SECOND, "state": "live",
            "liveness": liveness,
        })
    }

    /// All tasks in order of choice.
    pub fn list(&self, now: i64) -> Vec<Value> {
        self.in_order(|_| true).iter().map(|id| self.shape(id, now)).collect()
    }

    /// The ids of the tasks with a state and a label.
    pub fn filtered(&self, state: TaskState, label: Option<&String>, now: i64) -> Vec<String> {
        let has = |task: &Task| label.is_none_or(|label| task.labels.contains(label));
        self.in_order(|task| self.state(task, now) == state && has(task))
    }

    /// The live holds, ordered by expiry.
    pub fn holds(&self, now: i64) -> Vec<Value> {
        let mut live: Vec<(i64, String, Value)> = Vec::new();
        for task in self.tasks.values().filter(|task| Model::is_live(task, now)) {
            let hold = task.hold.as_ref().expect("live");
            let shape = self.hold_shape(&task.id, self.there(&hold.holder, hold.ttl, now), now);
            live.push((hold.expires_at, hold.id.clone(), shape));
        }
        for (at, path) in self.paths.iter().enumerate().filter(|(_, path)| self.counts(path, now)) {
            let place = self.checkouts.iter().find(|(_, id)| **id == path.checkout);
            let place = place.map_or(String::new(), |(place, _)| format!("host:/repos/{place}"));
            let mut shape = self.path_shape(at, self.there(&path.holder, path.ttl, now), &place, now);
            let until = self.end_of(path).min(now + path.ttl);
            shape["expires_at"] = json!(Time(until));
            shape["expires_in_s"] = json!(((until - now) / SECOND).max(0));
            live.push((path.expires_at, path.id.clone(), shape));
        }
        for (at, lock) in self.live_locks(now) {
            let shape = self.lock_shape(at, self.there(&lock.holder, lock.ttl, now), now);
            live.push((lock.expires_at, lock.id.clone(), shape));
        }
        live.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        live.into_iter().map(|(_, _, shape)| shape).collect()
    }

    /// The number of expired holds that are not yet settled.
    pub fn unsettled(&self, now: i64) -> usize {
        let paths = self.paths.iter().filter(|path| path.ended.is_none() && now >= path.expires_at).count();
        let locks = self.locks.iter().filter(|lock| lock.ended.is_none() && now >= lock.expires_at).count();
        locks + paths + self.tasks.values().filter(|task| task.hold.is_some() && !Model::is_live(task, now)).count()
    }

    /// All agents by name.
    pub fn agent_list(&self, now: i64) -> Vec<Value> {
        let shape = |(name, agent): (&String, &super::Agent)| {
            json!({
                "name": name, "liveness": self.there(name, self.longest(name, now), now), "last_seen": Time(agent.last_seen),
                "focus": some(&agent.focus), "registered_at": Time(agent.registered_at),
            })
        };
        self.agents.iter().map(shape).collect()
    }

    /// The agents seen within the last hour, latest first.
    fn recent(&self, now: i64) -> Vec<String> {
        let mut seen: Vec<(i64, &String)> = self.agents.iter().map(|(name, agent)| (-agent.last_seen, name)).collect();
        seen.retain(|(last_seen, _)| -last_seen > now - HOUR);
        seen.sort();
        seen.into_iter().map(|(_, name)| name.clone()).take(10).collect()
    }

    /// How many tasks are in a state at an instant, as they are seen or as they are stored.
    fn count(&self, state: TaskState, (now, stored): (i64, bool)) -> i64 {
        // By the stored status a started task is held until it is settled.
        let counted = |task: &&Task| match (stored, task.status) {
            (true, TaskStatus::Started) => state == TaskState::Held,
            _ => self.state(task, now) == state,
        };
        i64::try_from(self.tasks.values().filter(counted).count()).unwrap()
    }

    /// The sentence for an empty hand.
    pub(super) fn nothing(&self, counted: (i64, bool), filtered: bool) -> String {
        let count = |state| self.count(state, counted);
        let counts = StateCounts {
            ready: count(TaskState::Ready),
            waiting: count(TaskState::Waiting),
            stuck: count(TaskState::Stuck),
            held: count(TaskState::Held),
            blocked: count(TaskState::Blocked),
            done: count(TaskState::Done),
            cancelled: count(TaskState::Cancelled),
        };
        let waits = |task: &&Task| {
            let (now, stored) = counted;
            let is_open = task.status == TaskStatus::Open || (!stored && self.state(task, now) == TaskState::Waiting);
            is_open && self.unmet(task).is_empty() && now < task.not_before
        };
        let times: Vec<i64> = self.tasks.values().filter(waits).map(|task| task.not_before).collect();
        let snoozed = times
            .iter()
            .min()
            .map(|until| SnoozedTasks { count: i64::try_from(times.len()).unwrap(), until: Time(*until) });
        choice::nothing(&counts, snoozed, filtered)
    }

    /// The answer of `status`.
    pub fn status(&self, now: i64) -> Value {
        let count = |state| self.count(state, (now, false));
        let holds = self.holds(now);
        let blocked = self.in_order(|task| task.status == TaskStatus::Blocked);
        let gone = |id: &String| {
            let on = &self.tasks[id].blocked_on;
            self.tasks.get(on).is_some_and(|task| task.status == TaskStatus::Done)
        };
        let next = holds.iter().filter_map(|hold| hold["expires_at"].as_str()).min();
        json!({
            "ready": count(TaskState::Ready), "waiting": count(TaskState::Waiting), "stuck": count(TaskState::Stuck),
            "started": count(TaskState::Held), "blocked": count(TaskState::Blocked), "done": count(TaskState::Done),
            "cancelled": count(TaskState::Cancelled), "held": holds.len(), "last_event": self.last_event,
            "next_expiry": next.map_or(Value::Null, Value::from),
            "agents": self.recent(now), "overdue": self.overdue(now),
            "holds": holds.iter().take(10).map(|hold| hold["id"].clone()).collect::<Vec<_>>(),
            "blocked_by": blocked.iter().take(10).map(|id| json!([id, gone(id)])).collect::<Vec<_>>(),
            "stuck_by": self.filtered(TaskState::Stuck, None, now).into_iter().take(10).collect::<Vec<_>>(),
        })
    }

    /// The task that an agent gets when it names none.
    pub(super) fn choose(&self, actor: &str, labels: &[String], dead: &[String], now: i64) -> Option<String> {
        let may = |task: &Task| self.is_free(task, dead, now) && self.suits(task, actor, labels, now);
        let in_order = self.in_order(may);
        in_order.iter().find(|id| !self.gave_up(&self.tasks[*id], actor)).or(in_order.first()).cloned()
    }

    /// Whether an agent gave a task up: it released the task, and nobody has taken or changed it since.
    pub(super) fn gave_up(&self, task: &Task, actor: &str) -> bool {
        let turns = [
            kind::TASK_CLAIMED,
            kind::HOLD_TRANSFERRED,
            kind::TASK_RELEASED,
            kind::TASK_UNBLOCKED,
            kind::TASK_REOPENED,
            kind::TASK_EDITED,
        ];
        let last = self.log.iter().rev().find(|told| told.subject == task.id && turns.contains(&told.kind));
        let released = last.is_some_and(|told| told.kind == kind::TASK_RELEASED && told.actor == actor);
        released && task.last_holder == actor && task.hold.is_none() && !task.lapsed
    }

    /// Whether a task is free: it is ready, or its hold is over.
    pub(super) fn is_free(&self, task: &Task, dead: &[String], now: i64) -> bool {
        let dead_holder = task.hold.as_ref().is_some_and(|hold| dead.contains(&hold.holder));
        self.state(task, now) == TaskState::Ready || dead_holder && self.is_offered(task, now)
    }

    /// Whether an agent may choose a task: assigned to it or to no present agent, and with all labels.
    pub(super) fn suits(&self, task: &Task, actor: &str, labels: &[String], now: i64) -> bool {
        let whose = task.assignee.is_empty() || task.assignee == actor || self.is_gone(&task.assignee, actor, now);
        whose && labels.iter().all(|label| task.labels.contains(label))
    }

    /// The answer of `next`: task, rule, sentence.
    pub fn next(&self, actor: &str, labels: &[String], now: i64) -> Value {
        let Some(id) = self.choose(actor, labels, &[], now) else {
            return json!({ "task": null, "rule": "none", "reason": self.nothing((now, false), !labels.is_empty()) });
        };
        let task = &self.tasks[&id];
        let lapsed_from = match &task.hold {
            Some(hold) => Some(hold.holder.clone()),
            None => task.lapsed.then(|| task.last_holder.clone()),
        };
        let rule = if lapsed_from.is_some() { "lapsed" } else { "ready" };
        json!({ "task": id, "rule": rule, "reason": reason(rule, task.priority, lapsed_from.as_deref()) })
    }

    /// The fields that `show` adds to a task.
    pub fn around(&self, id: &str) -> Value {
        let task = &self.tasks[id];
        let notes = self.notes.iter().filter(|note| note.task == id);
        let notes: Vec<Value> = notes
            .map(|note| {
                json!({ "id": note.id, "number": note.number, "agent": note.agent, "at": Time(note.at), "late": note.late })
            })
            .collect();
        let dependents = self.tasks.values().filter(|other| other.after.contains(id)).count();
        let events: Vec<i64> = self.log.iter().filter(|told| told.subject == id).map(|told| told.number).collect();
        json!({
            "blocker_gone": self.tasks.get(&task.blocked_on).is_some_and(|on| on.status == TaskStatus::Done),
            "notes": notes[notes.len().saturating_sub(100)..],
            "dependents": dependents.min(100),
            "events": events[events.len().saturating_sub(20)..],
        })
    }
}
