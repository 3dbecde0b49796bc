//! Checks a store after its processes were killed: every acknowledged op is present exactly once and completely, and
//! nothing else is.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use tenure_core::event::kind;
use tenure_core::number::EventNumber;
use tenure_core::task::TaskState;
use tenure_core::{Span, Time};
use tenure_kernel::answer::LoggedEvent;
use tenure_kernel::op::{add, claim, note};
use tenure_kernel::query;
use tenure_kernel::query::{list, log};
use tenure_kernel::{Kernel, Op};
use tenure_store::{Clock, Options, Sql, SystemClock};

use super::killing::Heard;
use super::process::{Line, Sent, call, location};
use crate::fixture::TestClock;
use crate::known::Known;
use crate::replay::replay;

/// The results of a check.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) answered: usize,
    pub(super) refused: usize,
    /// Interrupted ops, and how many of them were committed.
    pub(super) cut_off: usize,
    pub(super) cut_off_and_done: usize,
    pub(super) events: usize,
    /// Holds of killed processes that were taken over.
    pub(super) taken_over: usize,
    pub(super) violations: Vec<String>,
}

/// The outcome of an op, as far as its process reported it.
enum Fate {
    Answered(String),
    Refused,
    CutOff,
}

struct Checker {
    kernel: Kernel,
    sent: BTreeMap<String, (Sent, Fate)>,
    /// Stored responses by request id.
    kept: BTreeMap<String, String>,
    events: Vec<LoggedEvent>,
    by_request: BTreeMap<String, Vec<usize>>,
    findings: Findings,
}

/// Checks a store after all its processes were killed.
pub(super) fn check(store: &str, heard: &Heard) -> Findings {
    if !heard.violations.is_empty() {
        // A process hung on the store, so a check of it would hang too.
        return Findings { violations: heard.violations.clone(), ..Findings::default() };
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut checker = Checker::new(store, heard);
        checker.promises();
        checker.ask_again();
        checker.take_over(store);
        checker.findings
    }));
    outcome.unwrap_or_else(|panic| {
        let why = panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic".into());
        Findings { violations: vec![why], ..Findings::default() }
    })
}

impl Checker {
    fn new(store: &str, heard: &Heard) -> Checker {
        let kernel = Kernel::new(location(store), Options::default(), tenure_client::phrasing::of).unwrap();
        let mut findings = Findings::default();
        let sent = fates(&heard.lines, &mut findings.violations);
        let damage = kernel.store().integrity().unwrap();
        if !damage.is_empty() {
            findings.violations.push(format!("damaged: {damage:?}"));
        }
        let kept = Sql::same("SELECT request_id, response FROM request ORDER BY request_id, actor, op");
        let rows = kernel.store().read("", |tx, _| tx.query(kept, &[])).unwrap();
        let kept = rows.into_iter().map(|mut row| (row.text(0).unwrap(), row.text(1).unwrap())).collect();
        let events = all_events(&kernel);
        findings.events = events.len();
        let mut by_request: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (n, event) in events.iter().enumerate() {
            by_request.entry(event.request_id.clone()).or_default().push(n);
        }
        Checker { kernel, sent, kept, events, by_request, findings }
    }

    fn promises(&mut self) {
        // Checks that numbers have no gaps, that a task has one holder at a time, and that readiness is reported once.
        replay(&self.events);
        let wrong =
            self.kernel.ask(&call("person:ann", "health", false), &query::health::Health {}).unwrap().wrong_counters;
        if !wrong.is_empty() {
            self.findings.violations.push(format!("counters are wrong: {wrong:?}"));
        }
        let sums = self.kernel.store().read("", |tx, _| tx.query(crate::raw::WRONG_SUMS, &[])).unwrap();
        if !sums.is_empty() {
            self.findings.violations.push(format!("sums of memories are wrong: {sums:?}"));
        }
        let files = Sql::same("SELECT note, COUNT(*) FROM artifact GROUP BY note ORDER BY note");
        let files = self.kernel.store().read("", |tx, _| tx.query(files, &[])).unwrap();
        let files: BTreeMap<String, i64> =
            files.into_iter().map(|mut row| (row.text(0).unwrap(), row.int(1).unwrap())).collect();
        let known: BTreeSet<&String> = self.sent.keys().collect();
        let ghosts: Vec<_> = self.by_request.keys().chain(self.kept.keys()).filter(|id| !known.contains(id)).collect();
        if !ghosts.is_empty() {
            self.findings.violations.push(format!("nobody sent {ghosts:?}"));
        }
        let mut found = Vec::new();
        for (id, (sent, fate)) in &self.sent {
            let op = sent.op();
            let kept = self.kept.get(id);
            let own = self.own_events(id);
            let whole = kept.map_or_else(|| own.is_empty(), |body| implied(&op, body, &own));
            let files_are_there = kept.filter(|_| op.get::<note::Note>().is_some()).is_none_or(|body| {
                let body: Value = serde_json::from_str(body).unwrap();
                body["artifacts"] == files.get(body["id"].as_str().unwrap()).copied().unwrap_or(0)
            });
            if !whole || !files_are_there {
                found.push(format!("{} {id} is half there: kept {kept:?}, events {own:?}", op.name()));
            }
            match fate {
                Fate::Answered(body) if kept != Some(body) => {
                    found.push(format!("{} {id} was answered with {body}, and {kept:?} is there", op.name()));
                }
                Fate::Refused if kept.is_some() => found.push(format!("{} {id} was refused and is there", op.name())),
                Fate::Answered(_) => self.findings.answered += 1,
                Fate::Refused => self.findings.refused += 1,
                Fate::CutOff => {
                    self.findings.cut_off += 1;
                    self.findings.cut_off_and_done += usize::from(kept.is_some());
                }
            }
        }
        self.findings.violations.extend(found);
    }

    /// The events of a request, without those that any op may append while it settles, and without first registrations.
    fn own_events(&self, id: &str) -> Vec<(&str, &str)> {
        let aside = [
            kind::HOLD_EXPIRED,
            kind::TASK_UNASSIGNED,
            kind::CLOCK_STEPPED,
            kind::PROJECT_CREATED,
            kind::AGENT_REGISTERED,
            kind::TASK_READY,
            kind::TASK_WAITING,
        ];
        let events = self.by_request.get(id).into_iter().flatten().map(|n| &self.events[*n]);
        let own = events.filter(|event| !aside.contains(&event.kind.as_str()));
        own.map(|event| (event.kind.as_str(), event.subject.as_str())).collect()
    }

    /// Retries the interrupted ops and some of the answered ones. A committed op is replayed byte for byte and adds
    /// nothing; an op that was not committed runs now.
    fn ask_again(&mut self) {
        let mut found = Vec::new();
        for (n, (id, (sent, fate))) in self.sent.iter().enumerate() {
            if matches!(fate, Fate::Refused) || (matches!(fate, Fate::Answered(_)) && n % 16 != 0) {
                continue;
            }
            match (self.kernel.run(&sent.call(), &sent.op()), self.kept.get(id)) {
                (Ok(reply), Some(body)) if reply.replayed && reply.body == *body => {}
                (Ok(reply), None) if !reply.replayed => {}
                (Err(error), None) if error.is_refusal() => {}
                (again, kept) => found.push(format!("{id} sent again: {again:?}, kept {kept:?}")),
            }
        }
        self.findings.violations.extend(found);
    }

    /// A day later all holds of the killed processes have expired, and another agent claims each of their tasks.
    fn take_over(&mut self, store: &str) {
        let tomorrow: Time = SystemClock.now() + Span::hours(25);
        let clock = Arc::new(TestClock::at(tomorrow));
        let options = Options { clock, own_clock: true, ..Options::default() };
        let held = list::List { states: vec![TaskState::Held], ..list::List::default() };
        let held = self.kernel.ask(&call("person:ann", "held", false), &held).unwrap();
        let later = Kernel::new(location(store), options, tenure_client::phrasing::of).unwrap();
        // A task whose dependency was reopened waits again and cannot be claimed.
        for task in held.items.into_iter().filter(|task| task.unmet.is_empty()) {
            let old = task.holder.as_ref().map_or(0, |holder| holder.fence.0);
            let op = Op::new(claim::Claim { task: Some(task.id.clone()), ..claim::Claim::default() });
            let taken = later.run(&call("stranger", &format!("take-{}", task.id), false), &op);
            match taken.map(|reply| serde_json::from_str::<Value>(&reply.body).unwrap()["hold"]["fence"].as_i64()) {
                Ok(Some(fence)) if fence > old => self.findings.taken_over += 1,
                other => self.findings.violations.push(format!("{} is not taken over: {other:?}", task.id)),
            }
        }
        let op = Op::new(add::Add::titled("after all of them"));
        if let Err(error) = later.run(&call("stranger", "after-all", false), &op) {
            self.findings.violations.push(format!("the next op fails: {error:?}"));
        }
        replay(&all_events(&later));
    }
}

/// The outcome of each op. An op that was sent and not answered was interrupted.
fn fates(lines: &[Line], violations: &mut Vec<String>) -> BTreeMap<String, (Sent, Fate)> {
    let mut fates = BTreeMap::new();
    for line in lines {
        if let Line::Sent(sent) = line {
            fates.insert(sent.id.clone(), (sent.clone(), Fate::CutOff));
        }
    }
    for line in lines {
        let (id, fate) = match line {
            Line::Sent(_) => continue,
            Line::Answered { id, body } => (id, Fate::Answered(body.clone())),
            Line::Refused { id, .. } => (id, Fate::Refused),
            Line::Failed { id, error } => {
                violations.push(format!("{id} failed: {error}"));
                continue;
            }
        };
        fates.get_mut(id).unwrap().1 = fate;
    }
    fates
}

/// Whether the events are exactly those that the response implies.
fn implied(op: &Op, body: &str, own: &[(&str, &str)]) -> bool {
    let body: Value = serde_json::from_str(body).unwrap();
    let one = |wanted: &str| matches!(own, [(found, _)] if *found == wanted);
    match Known::of(op) {
        Known::Add(_) => *own == [(kind::TASK_ADDED, body["id"].as_str().unwrap_or(""))],
        Known::AddMany(_) => {
            let ids: Vec<&str> = body["ids"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            own.iter().map(|(_, task)| *task).eq(ids) && own.iter().all(|(found, _)| *found == kind::TASK_ADDED)
        }
        Known::Claim(_) if matches!(body["rule"].as_str(), Some("none" | "own")) => own.is_empty(),
        Known::Resume(_) => {
            let task = body["task"]["id"].as_str().unwrap_or("");
            let claimed = (kind::TASK_CLAIMED, task);
            match body["rule"].as_str() {
                Some("none" | "focus") => own.is_empty(),
                Some("own") => own.is_empty() || *own == [claimed],
                Some("unblocked") => *own == [claimed] || *own == [(kind::TASK_UNBLOCKED, task), claimed],
                _ => *own == [claimed],
            }
        }
        Known::Confirm(_) => own.is_empty(),
        Known::Claim(_) => *own == [(kind::TASK_CLAIMED, body["task"]["id"].as_str().unwrap_or(""))],
        Known::Edit(_) => own.is_empty() || one(kind::TASK_EDITED),
        Known::Snooze(_) => own.is_empty() || one(kind::TASK_SNOOZED),
        Known::Note(_) => {
            let mut all = vec![(kind::TASK_NOTED, body["task"].as_str().unwrap_or(""))];
            all.extend(remembered(&body["memories"]));
            all == own
        }
        Known::Done(_) => one(kind::TASK_DONE),
        Known::Block(_) => one(kind::TASK_BLOCKED),
        Known::Unblock(_) => one(kind::TASK_UNBLOCKED),
        Known::Release(request) if request.task.is_none() && !own.is_empty() => {
            own.iter().all(|(found, _)| *found == kind::PATH_RELEASED)
                || one(kind::TASK_RELEASED)
                || one(kind::LOCK_RELEASED)
        }
        Known::Release(_) => one(kind::TASK_RELEASED),
        Known::Reserve(_) | Known::Guard(_) => {
            let granted = [kind::PATH_RESERVED, kind::PATH_CHANGED, kind::OFFER_TAKEN];
            let queued = body["waiting"] == true && own.iter().all(|(found, _)| *found == kind::PLACE_QUEUED);
            queued || own.iter().all(|(found, _)| granted.contains(found))
        }
        Known::Lock(request) if request.fence.is_some() => own.is_empty(),
        Known::Lock(_) if body["waiting"] == true => own.iter().all(|(found, _)| *found == kind::PLACE_QUEUED),
        Known::Lock(request) => {
            [kind::LOCK_TAKEN, kind::OFFER_TAKEN].iter().any(|kind| *own == [(*kind, request.name.as_str())])
        }
        Known::Cancel(_) => one(kind::TASK_CANCELLED),
        Known::Reopen(_) => one(kind::TASK_REOPENED),
        Known::Transfer(_) => one(kind::HOLD_TRANSFERRED),
        Known::Join(_) => one(kind::CHECKOUT_JOINED),
        Known::Remember(_) => remembered(&body["items"]) == own,
        Known::Lessons(_) => own.iter().all(|(found, _)| [kind::MEMORY_ADDED, kind::MEMORY_CHANGED].contains(found)),
        Known::SessionStart(_) | Known::SessionEnd(_) => {
            own.iter().all(|(found, _)| [kind::HOLD_EXPIRED, kind::TASK_UNASSIGNED].contains(found))
        }
        Known::ToolUsed(_) => own.is_empty() || one(kind::TOOL_FAILED) || one(kind::TOOL_WORKED),
        Known::Committed(_) => {
            own.first().is_some_and(|(found, _)| *found == kind::PATH_COMMITTED)
                && own[1..].iter().all(|(found, _)| [kind::PATH_RELEASED, kind::MESSAGE_SENT].contains(found))
        }
        Known::MemoryPin(_) => own.is_empty() || one(kind::MEMORY_PINNED),
        Known::MemoryForget(_) => one(kind::MEMORY_FORGOTTEN),
        Known::Send(_) => *own == [(kind::MESSAGE_SENT, body["id"].as_str().unwrap_or(""))],
        Known::Inbox(_) => own.iter().all(|(found, _)| [kind::MESSAGE_ACKED, kind::MESSAGE_ENDED].contains(found)),
        Known::Import(_) => own.iter().all(|(found, _)| [kind::TASK_ADDED, kind::TASK_NOTED].contains(found)),
        // Its own events are deleted with the project.
        Known::Forget(_) => own.is_empty(),
        Known::SwitchOn(_) => own.is_empty(),
        Known::Off(_) => own.is_empty() || one(kind::GUARDS_OFF) || one(kind::GUARDS_ON),
        // No process sends the others. The first that does and appends an event fails here, and needs its rule.
        _ => own.is_empty(),
    }
}

/// The events implied by the memories of an answer, in order.
fn remembered(items: &Value) -> Vec<(&str, &str)> {
    let told = |item: &'_ Value| match item["outcome"].as_str() {
        Some("added") => Some(kind::MEMORY_ADDED),
        Some("changed") => Some(kind::MEMORY_CHANGED),
        _ => None,
    };
    let items = items.as_array().into_iter().flatten();
    items.filter_map(|item| Some((told(item)?, item["id"].as_str()?))).collect()
}

fn all_events(kernel: &Kernel) -> Vec<LoggedEvent> {
    let mut since = log::Since::Number(EventNumber::START);
    let mut all = Vec::new();
    loop {
        let filter = log::Log { since: Some(since), limit: 1_000, ..log::Log::default() };
        let page = kernel.ask(&call("person:ann", "log", false), &filter).unwrap();
        all.extend(page.items);
        match page.next {
            Some(next) => since = log::Since::Cursor(next),
            None => return all,
        }
    }
}
