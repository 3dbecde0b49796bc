//! Replays a log and panics at the first violation of an invariant.
//!
//! The log alone determines the holders at any time: the intervals of all holds are built from it, and no two
//! conflicting intervals may overlap. Readiness is checked too: the event that completes the last dependency of a task,
//! and no other, must report the task as ready.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::Time;
use tenure_core::event::kind;
use tenure_core::number::{EventNumber, GAP};
use tenure_core::pattern::{Case, Pattern};
use tenure_kernel::answer::LoggedEvent;

/// A hold, as recorded in the log.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The task.
    pub task: String,
    /// The hold.
    pub hold: String,
    /// The holder.
    pub holder: String,
    /// The number of the event that granted it.
    pub fence: i64,
    /// When it was granted.
    pub from: Time,
    /// When it ended, if it has ended.
    pub until: Option<Time>,
    /// The path, if the hold is not on a task.
    pub path: Option<Path>,
    /// Whether it is a named lock.
    pub lock: bool,
}

impl Interval {
    /// The interval that an event opens: a task, unless changed by the caller.
    fn of(event: &LoggedEvent, from: Time) -> Interval {
        Interval {
            task: event.subject.clone(),
            hold: event.hold.clone().expect("a grant names its hold").into(),
            holder: event.data["holder"].as_str().expect("a grant names its holder").to_owned(),
            fence: event.number.get(),
            from,
            until: None,
            path: None,
            lock: false,
        }
    }

    fn is_on_task(&self) -> bool {
        self.path.is_none() && !self.lock
    }
}

/// A path, as recorded in the log.
#[derive(Clone, Debug)]
pub struct Path {
    /// The pattern.
    pub pattern: Pattern,
    /// Whether the hold is shared.
    pub shared: bool,
    /// The checkout; empty for all checkouts.
    pub checkout: String,
}

impl Path {
    fn of(event: &LoggedEvent) -> Path {
        Path {
            pattern: Pattern::parse(&event.subject, Case::Kept).unwrap(),
            shared: event.data["mode"] == "shared",
            checkout: event.data["checkout"].as_str().unwrap().to_owned(),
        }
    }

    /// Whether two agents may not hold both at once. Deliberately not the kernel's own rule.
    fn conflicts(&self, other: &Path) -> bool {
        let together = self.checkout == other.checkout || self.checkout.is_empty() || other.checkout.is_empty();
        together && !(self.shared && other.shared) && self.pattern.overlap(&other.pattern).is_some()
    }
}

/// A task, as recorded in the log.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its stored status.
    pub status: &'static str,
    /// Its dependencies, sorted; unknown for tasks of a bulk add, whose events do not record them.
    pub after: Option<Vec<String>>,
}

/// The state derived from a log.
#[derive(Debug, Default)]
pub struct Replay {
    /// All holds in the order of their grants.
    pub intervals: Vec<Interval>,
    /// All tasks.
    pub tasks: BTreeMap<String, Known>,
    /// The events that must come next, as (kind, task) in any order, with the number of the event that causes them.
    owed: (EventNumber, BTreeSet<(&'static str, String)>),
    /// The restore event whose expired holds are not all recorded yet.
    restoring: Option<EventNumber>,
    /// The request of a transfer, and the holds that conflict with what it has moved so far: it must move them too.
    moving: (String, BTreeSet<String>),
}

/// Replays a whole log, oldest first. Panics at the first invalid event.
pub fn replay(events: &[LoggedEvent]) -> Replay {
    let mut replay = Replay::default();
    let mut last = EventNumber::START;
    for event in events {
        if event.kind == kind::PROJECT_RESTORED {
            assert!(
                event.number > last.max(EventNumber::new(GAP)),
                "event {}: a restore continues above {last}",
                event.number
            );
        } else if last == EventNumber::START && event.kind == kind::PROJECT_CREATED {
            // A forgotten project that is used again continues its numbers.
        } else {
            assert_eq!(event.number, last.next(), "numbers have no gaps");
        }
        last = event.number;
        replay.step(event);
    }
    assert!(replay.restoring.is_none() || replay.live() == 0, "holds outlive the restore {:?}", replay.restoring);
    replay.all_moved();
    assert!(replay.owed.1.is_empty(), "never told after event {}: {:?}", replay.owed.0, replay.owed.1);
    replay
}

impl Replay {
    /// The number of holds that have not ended.
    fn live(&self) -> usize {
        self.intervals.iter().filter(|interval| interval.until.is_none()).count()
    }

    /// A restore is followed by the ends of all holds, and nothing else comes before the last of them. No hold ends
    /// that way elsewhere.
    fn follow_restore(&mut self, event: &LoggedEvent) {
        let ends_by_restore = event.kind == kind::HOLD_EXPIRED && event.data["restored"] == true;
        match self.restoring {
            Some(number) if self.live() > 0 => {
                let stepped = event.kind == kind::CLOCK_STEPPED;
                assert!(ends_by_restore || stepped, "event {}: holds outlive the restore {number}", event.number);
                assert_eq!(event.cause, Some(number), "event {} names another cause", event.number);
            }
            _ => {
                assert!(!ends_by_restore, "event {}: nothing was restored", event.number);
                self.restoring = None;
            }
        }
    }

    fn step(&mut self, event: &LoggedEvent) {
        let told = matches!(event.kind.as_str(), kind::TASK_READY | kind::TASK_WAITING);
        assert!(
            told || self.owed.1.is_empty(),
            "event {} came before these were told: {:?}",
            event.number,
            self.owed.1
        );
        self.follow_restore(event);
        if event.request_id != self.moving.0 {
            self.all_moved();
        }
        let at = Time::parse(&event.at).unwrap();
        let task = event.subject.as_str();
        match event.kind.as_str() {
            kind::TASK_ADDED => {
                let after = event.data.get("after").map(sorted);
                let new = Known { status: first_status(event), after };
                let known = self.tasks.insert(task.to_owned(), new);
                assert!(known.is_none(), "event {}: {task} was added before", event.number);
            }
            kind::TASK_EDITED => {
                if let Some(change) = event.data["changes"].get("after") {
                    self.known(task).after = Some(sorted(&change[1]));
                }
            }
            kind::TASK_CLAIMED => {
                self.grant(event, at);
                self.known(task).status = "started";
            }
            kind::HOLD_TRANSFERRED => {
                let ended = event.data["ended_hold"].as_str().unwrap();
                let ended = self.end(task, ended, at, event);
                match ended.path {
                    Some(_) => self.grant_path(event, at),
                    None if ended.lock => self.grant_lock(event, at),
                    None => self.grant(event, at),
                }
            }
            // An offer is a hold from the moment it is made; accepting it does not change the holder.
            kind::PATH_RESERVED | kind::PATH_OFFERED => self.grant_path(event, at),
            kind::OFFER_TAKEN => self.take_offer(event),
            kind::LOCK_TAKEN | kind::LOCK_OFFERED => self.grant_lock(event, at),
            kind::LOCK_RELEASED => {
                let hold = event.hold.clone().expect("an end names its hold");
                let ended = self.end(task, &hold, at, event);
                assert!(ended.lock, "event {}: {hold} is no lock", event.number);
            }
            kind::PATH_CHANGED => self.change_path(event),
            kind::PATH_RELEASED => {
                let hold = event.hold.clone().expect("an end names its hold");
                let ended = self.end(task, &hold, at, event);
                assert!(ended.path.is_some(), "event {}: {hold} is not on a path", event.number);
            }
            kind::HOLD_EXPIRED => {
                let until = Time::parse(event.data["ended_at"].as_str().unwrap()).unwrap();
                assert!(until <= at, "event {}: a hold that ends later than now has not expired", event.number);
                let hold = event.hold.clone().expect("an expiry names its hold");
                let ended = self.end(task, &hold, until, event);
                assert_eq!(event.data["fence"], ended.fence);
                assert_eq!(event.data["holder"], ended.holder.as_str());
                if ended.is_on_task() && self.known(task).status == "started" {
                    self.known(task).status = "open";
                }
            }
            kind::TASK_RELEASED => self.close(event, at, "open"),
            kind::TASK_BLOCKED => self.close(event, at, "blocked"),
            kind::TASK_CANCELLED => self.close(event, at, "cancelled"),
            kind::TASK_DONE => {
                let waited = self.waiting();
                self.close(event, at, "done");
                self.owe(event, kind::TASK_READY, &waited, &self.waiting());
            }
            kind::TASK_UNBLOCKED => self.known(task).status = "open",
            kind::TASK_REOPENED => {
                let waited = self.waiting();
                self.known(task).status = "open";
                // The task itself was not open before, so it cannot be among those that stop being ready.
                let mut waits = self.waiting();
                waits.remove(task);
                self.owe(event, kind::TASK_WAITING, &waits, &waited);
            }
            kind::TASK_READY => self.pay(event, kind::TASK_READY),
            kind::TASK_WAITING => self.pay(event, kind::TASK_WAITING),
            kind::PROJECT_RESTORED => {
                assert_eq!(event.data["ended_holds"], self.live(), "event {} miscounts", event.number);
                self.restoring = Some(event.number);
            }
            // After the clock is set back, earlier ends may lie in the future: only the order counts.
            kind::CLOCK_STEPPED => self.intervals.iter_mut().for_each(|interval| {
                interval.from = interval.from.min(at);
                interval.until = interval.until.map(|until| until.min(at));
            }),
            _ => {}
        }
    }

    /// A transfer is one transaction: what conflicted with a hold that it moved must have moved too.
    fn all_moved(&mut self) {
        let (request, left) = std::mem::take(&mut self.moving);
        if left.is_empty() {
            return;
        }
        let stays = |interval: &&Interval| interval.until.is_none() && left.contains(&interval.hold);
        let stays = self.intervals.iter().find(stays);
        assert!(stays.is_none(), "the transfer {request} has left {stays:?} behind");
    }

    fn known(&mut self, task: &str) -> &mut Known {
        self.tasks.get_mut(task).unwrap_or_else(|| panic!("{task} was never added"))
    }

    fn grant(&mut self, event: &LoggedEvent, from: Time) {
        let on_task = |interval: &&Interval| interval.is_on_task() && interval.task == event.subject;
        for earlier in self.intervals.iter().filter(on_task) {
            let until = earlier.until.unwrap_or_else(|| {
                panic!(
                    "event {}: {} is still held by {} under {}",
                    event.number, event.subject, earlier.holder, earlier.hold
                )
            });
            assert!(until <= from, "event {}: the hold {} ends only at {until}", event.number, earlier.hold);
        }
        // The fence is the event's number, so fences rise with the numbers of the project.
        self.intervals.push(Interval::of(event, from));
    }

    /// Grants a lock: it must have no holder, not even the same agent.
    fn grant_lock(&mut self, event: &LoggedEvent, from: Time) {
        for earlier in self.intervals.iter().filter(|earlier| earlier.lock && earlier.task == event.subject) {
            let over = earlier.until.is_some_and(|until| until <= from);
            assert!(over, "event {}: the lock {} is held by {}", event.number, event.subject, earlier.holder);
        }
        self.intervals.push(Interval { lock: true, ..Interval::of(event, from) });
    }

    /// Grants a path: no conflicting hold may be live, and its holder must not hold it already. A transfer may move what
    /// conflicts with it a moment later.
    fn grant_path(&mut self, event: &LoggedEvent, from: Time) {
        let giver = event.data["from"].as_str().filter(|_| event.kind == kind::HOLD_TRANSFERRED);
        let (holder, path) = (event.data["holder"].as_str().unwrap().to_owned(), Path::of(event));
        // Most holds have ended; the patterns of the others are compared.
        for earlier in self.intervals.iter().filter(|earlier| earlier.until.is_none_or(|until| until > from)) {
            let Some(held) = &earlier.path else { continue };
            let same = held.pattern == path.pattern && held.checkout == path.checkout;
            let stands = if earlier.holder == holder { same } else { held.conflicts(&path) };
            if stands && giver == Some(earlier.holder.as_str()) {
                self.moving.0.clone_from(&event.request_id);
                self.moving.1.insert(earlier.hold.clone());
                continue;
            }
            assert!(!stands, "event {}: {} is held by {}", event.number, event.subject, earlier.holder);
        }
        self.intervals.push(Interval { path: Some(path), ..Interval::of(event, from) });
    }

    /// Accepts an offer: by the agent it was made to, while it is live.
    fn take_offer(&mut self, event: &LoggedEvent) {
        let hold = event.hold.clone().expect("a taking names its hold");
        let held = self.intervals.iter().find(|interval| interval.hold == hold && interval.until.is_none());
        let held = held.unwrap_or_else(|| panic!("event {} takes {hold}, which is not held", event.number));
        assert_eq!(held.holder, event.actor, "event {}: it was offered to another", event.number);
        assert_eq!(event.data["fence"], held.fence, "event {}: the fence stays", event.number);
    }

    fn change_path(&mut self, event: &LoggedEvent) {
        let hold = event.hold.clone().expect("a change names its hold");
        let own = self.intervals.iter().position(|interval| interval.hold == hold && interval.until.is_none());
        let own = own.unwrap_or_else(|| panic!("event {} changes {hold}, which is not held", event.number));
        let mut path = self.intervals[own].path.clone().expect("a path");
        path.shared = event.data["mode"] == "shared";
        for (at, other) in self.intervals.iter().enumerate().filter(|(_, other)| other.until.is_none()) {
            let foreign = at != own && other.holder != self.intervals[own].holder;
            let stands = foreign && other.path.as_ref().is_some_and(|held| held.conflicts(&path));
            assert!(!stands, "event {}: {} is in the way of {hold}", event.number, other.hold);
        }
        self.intervals[own].path = Some(path);
    }

    fn end(&mut self, task: &str, hold: &str, until: Time, event: &LoggedEvent) -> Interval {
        let found = self.intervals.iter_mut().find(|interval| interval.hold == hold && interval.until.is_none());
        let interval = found.unwrap_or_else(|| panic!("event {} ends {hold}, which is not held", event.number));
        assert_eq!(interval.task, task);
        assert!(interval.from <= until, "event {}: {hold} ends before it began", event.number);
        interval.until = Some(until);
        interval.clone()
    }

    /// An op that ends the hold of a task: it names the hold, or there was none.
    fn close(&mut self, event: &LoggedEvent, at: Time, status: &'static str) {
        let task = event.subject.as_str();
        if let Some(hold) = &event.hold {
            self.end(task, hold, at, event);
        }
        let on_task = |interval: &&Interval| interval.is_on_task() && interval.task == task;
        let held = self.intervals.iter().filter(on_task).find(|interval| interval.until.is_none());
        assert!(held.is_none(), "event {}: {task} is {status} and still held: {held:?}", event.number);
        self.known(task).status = status;
    }

    /// The open tasks with unmet dependencies.
    fn waiting(&self) -> BTreeSet<String> {
        let is_done = |id: &String| self.tasks.get(id).is_some_and(|task| task.status == "done");
        self.tasks
            .iter()
            .filter(|(_, task)| task.status == "open" && !task.after.iter().flatten().all(is_done))
            .map(|(id, _)| id.clone())
            .collect()
    }

    fn owe(&mut self, cause: &LoggedEvent, kind: &'static str, these: &BTreeSet<String>, but_not: &BTreeSet<String>) {
        self.owed = (cause.number, these.difference(but_not).map(|task| (kind, task.clone())).collect());
        // A task that was closed by this very event no longer waits, and is not told to be ready either. A
        // snoozed task is told all the same: the passing of its time is no event, so no log could decide it, least of
        // all after the clock was set back.
        self.owed.1.retain(|(_, task)| self.tasks[task].status == "open");
    }

    fn pay(&mut self, event: &LoggedEvent, kind: &'static str) {
        let knows_all = self.tasks.values().all(|task| task.after.is_some());
        let was_owed = self.owed.1.remove(&(kind, event.subject.clone()));
        assert!(was_owed || !knows_all, "event {}: {kind} of {} came out of nothing", event.number, event.subject);
        assert!(!was_owed || event.cause == Some(self.owed.0), "event {} names another cause", event.number);
    }
}

/// A new task is open, unless it is imported: then its event records its status. It has no holder.
fn first_status(event: &LoggedEvent) -> &'static str {
    let said = event.data.get("status");
    if event.data.get("imported") != Some(&serde_json::Value::Bool(true)) {
        assert!(said.is_none(), "event {}: a task that was added is open", event.number);
        return "open";
    }
    let said = said.and_then(serde_json::Value::as_str).expect("an imported task has a status");
    let found = ["open", "blocked", "done", "cancelled"].into_iter().find(|status| *status == said);
    found.unwrap_or_else(|| panic!("event {}: a task cannot be imported as {said}", event.number))
}

fn sorted(ids: &serde_json::Value) -> Vec<String> {
    let mut ids: Vec<String> = serde_json::from_value(ids.clone()).unwrap();
    ids.sort();
    ids
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(number: i64, second: i64, kind: &str, subject: &str, hold: &str, data: Value) -> LoggedEvent {
        LoggedEvent {
            number: EventNumber::new(number),
            at: Time(second * 1_000_000).to_string(),
            kind: kind.into(),
            actor: "a".into(),
            subject: subject.into(),
            hold: (!hold.is_empty()).then(|| hold.to_owned()).map(Into::into),
            op: "x".into(),
            request_id: "r".into(),
            cause: None,
            data,
            title: None,
        }
    }

    fn claimed(number: i64, second: i64, hold: &str, holder: &str) -> LoggedEvent {
        event(number, second, kind::TASK_CLAIMED, "t-1", hold, json!({ "holder": holder }))
    }

    fn expired(number: i64, second: i64, hold: &str, holder: &str, fence: i64, ended: i64) -> LoggedEvent {
        let ended_at = Time(ended * 1_000_000).to_string();
        let data = json!({ "holder": holder, "fence": fence, "ended_at": ended_at });
        event(number, second, kind::HOLD_EXPIRED, "t-1", hold, data)
    }

    fn added() -> LoggedEvent {
        event(1, 0, kind::TASK_ADDED, "t-1", "", json!({ "after": [] }))
    }

    fn refuses(log: Vec<LoggedEvent>) {
        let outcome = std::panic::catch_unwind(|| replay(&log));
        assert!(outcome.is_err(), "this log must be refused");
    }

    #[test]
    fn inv_l1_a_log_with_one_holder_at_a_time_is_accepted() {
        let log = [added(), claimed(2, 1, "h-1", "a"), expired(3, 9, "h-1", "a", 2, 5), claimed(4, 9, "h-2", "b")];
        let replay = replay(&log);
        assert_eq!(replay.intervals.iter().map(|interval| interval.fence).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(replay.intervals[0].until, Some(Time(5_000_000)));
    }

    #[test]
    fn inv_l1_overlaps_are_seen() {
        // A grant while another agent holds the task.
        refuses(vec![added(), claimed(2, 1, "h-1", "a"), claimed(3, 2, "h-2", "b")]);
        // An end in the future, and a grant now.
        refuses(vec![added(), claimed(2, 1, "h-1", "a"), expired(3, 4, "h-1", "a", 2, 5), claimed(4, 4, "h-2", "b")]);
        // Two ends of one hold.
        refuses(vec![
            added(),
            claimed(2, 1, "h-1", "a"),
            expired(3, 6, "h-1", "a", 2, 5),
            expired(4, 6, "h-1", "a", 2, 5),
        ]);
        // A finished task whose hold did not end.
        let done = event(3, 2, kind::TASK_DONE, "t-1", "", json!({}));
        refuses(vec![added(), claimed(2, 1, "h-1", "a"), done]);
        // A gap in the numbers.
        refuses(vec![added(), claimed(3, 1, "h-1", "a")]);
    }

    #[test]
    fn inv_r9_a_transfer_moves_what_conflicts_with_it_too() {
        let data = |from: Option<(&str, &str)>, holder: &str| {
            let (from, ended) = from.unzip();
            json!({ "holder": holder, "mode": "exclusive", "checkout": "", "from": from, "ended_hold": ended })
        };
        let reserved = |number, path: &str, hold| event(number, 0, kind::PATH_RESERVED, path, hold, data(None, "a"));
        let moved = |number, path: &str, hold, old| {
            event(number, 1, kind::HOLD_TRANSFERRED, path, hold, data(Some(("a", old)), "b"))
        };
        let held = || vec![reserved(1, "src/", "h-1"), reserved(2, "src/x", "h-2")];
        let log = |rest: Vec<LoggedEvent>| held().into_iter().chain(rest).collect::<Vec<_>>();
        replay(&log(vec![moved(3, "src/", "h-3", "h-1"), moved(4, "src/x", "h-4", "h-2")]));
        // One of them stays, for good or until another request.
        refuses(log(vec![moved(3, "src/", "h-3", "h-1")]));
        let later = LoggedEvent { request_id: "later".into(), ..moved(4, "src/x", "h-4", "h-2") };
        refuses(log(vec![moved(3, "src/", "h-3", "h-1"), later]));
    }

    #[test]
    fn imported_tasks_begin_as_they_were() {
        let imported = |number, task: &str, status: &str, after: Value| {
            let data = json!({ "after": after, "imported": true, "status": status });
            event(number, 0, kind::TASK_ADDED, task, "", data)
        };
        let log = [imported(1, "t-1", "done", json!([])), imported(2, "t-2", "open", json!(["t-1"]))];
        assert_eq!(replay(&log).tasks["t-1"].status, "done");
        refuses(vec![imported(1, "t-1", "started", json!([]))]);
        refuses(vec![imported(1, "t-1", "done", json!([])), imported(2, "t-1", "done", json!([]))]);
        refuses(vec![event(1, 0, kind::TASK_ADDED, "t-1", "", json!({ "after": [], "status": "done" }))]);
    }

    #[test]
    fn inv_l1_a_restore_is_the_one_gap_and_ends_every_hold() {
        let at = GAP + 3;
        let restored = |number: i64, ended: i64| {
            event(number, 9, kind::PROJECT_RESTORED, "p-1", "", json!({ "ended_holds": ended }))
        };
        let ends = |number: i64, cause: i64| {
            let mut ends = expired(number, 9, "h-1", "a", 2, 9);
            ends.data["restored"] = json!(true);
            LoggedEvent { cause: Some(EventNumber::new(cause)), ..ends }
        };
        let before = || vec![added(), claimed(2, 1, "h-1", "a")];
        let log = |rest: Vec<LoggedEvent>| before().into_iter().chain(rest).collect::<Vec<_>>();
        let sound = log(vec![restored(at, 1), ends(at + 1, at), claimed(at + 2, 9, "h-2", "b")]);
        assert_eq!(replay(&sound).intervals.len(), 2);
        // Without the ends, with a wrong count, with another cause, with too small a step, or without a restore.
        refuses(log(vec![restored(at, 1)]));
        refuses(log(vec![restored(at, 1), claimed(at + 1, 9, "h-2", "b")]));
        refuses(log(vec![restored(at, 0), ends(at + 1, at)]));
        refuses(log(vec![restored(at, 1), ends(at + 1, 2)]));
        refuses(log(vec![restored(GAP, 1), ends(GAP + 1, GAP)]));
        refuses(log(vec![ends(3, 2)]));
        refuses(log(vec![restored(at, 1), expired(at + 1, 9, "h-1", "a", 2, 9)]));
    }

    #[test]
    fn inv_l8_readiness_is_told_once_and_by_its_cause() {
        let second = event(2, 0, kind::TASK_ADDED, "t-2", "", json!({ "after": ["t-1"] }));
        let done = event(3, 1, kind::TASK_DONE, "t-1", "", json!({}));
        let ready = |number| LoggedEvent {
            cause: Some(EventNumber::new(3)),
            ..event(number, 1, kind::TASK_READY, "t-2", "", json!({}))
        };
        replay(&[added(), second.clone(), done.clone(), ready(4)]);
        refuses(vec![added(), second.clone(), done.clone()]);
        refuses(vec![added(), second.clone(), done.clone(), ready(4), ready(5)]);
        let other_cause = LoggedEvent { cause: Some(EventNumber::new(2)), ..ready(4) };
        refuses(vec![added(), second, done, other_cause]);
    }
}
