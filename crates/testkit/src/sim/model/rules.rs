//! The rules of tasks: the effects of each op.

use serde_json::{Value, json};
use tenure_core::event::kind;
use tenure_core::number::EventNumber;
use tenure_core::task::TaskStatus;
use tenure_kernel::Op;
use tenure_kernel::op::remember::MemoryReach;
use tenure_kernel::op::{add, add_many, block, claim, edit, remember, snooze};

use super::rights::{Acting, Granted, NOT_FOUND, PEOPLE_ONLY, Right};
use super::{HOUR, Hold, Model, PathHold, Refusal, SECOND, Task, Turn};
use crate::known::Known;

pub(super) const UNKNOWN_AGENT: Refusal = ("not_found", "unknown_agent");
pub(super) const LAPSED: Refusal = ("stale", "lapsed");
pub(super) const CYCLE: Refusal = ("conflict", "cycle");

impl Model {
    pub(super) fn decide(&mut self, turn: &mut Turn<'_>, op: &Op) -> Result<Value, Refusal> {
        match Known::of(op) {
            Known::Add(request) => self.add(turn, request),
            Known::AddMany(request) => self.add_many(turn, request),
            Known::Claim(request) => self.claim(turn, request),
            Known::Note(request) => self.note(turn, request),
            Known::Done(request) => {
                let on = Acting {
                    task: request.task.as_deref(),
                    fence: request.fence.map(|fence| fence.0),
                    force: request.force,
                };
                let granted = self.begin(turn, &on)?;
                self.done(turn, &granted)
            }
            Known::Block(request) => {
                let on = Acting {
                    task: request.task.as_deref(),
                    fence: request.fence.map(|fence| fence.0),
                    force: request.force,
                };
                let granted = self.begin(turn, &on)?;
                self.block(turn, &granted, request)
            }
            Known::Release(request) if !request.paths.is_empty() => self.release_paths(turn, request),
            Known::Release(request) if request.lock.is_some() => {
                self.release_lock(turn, request.lock.as_deref().unwrap_or_default(), request)
            }
            Known::Release(request) => {
                let mut request = request.clone();
                if let Some(hold) = request.hold.take() {
                    match self.release_by_id(turn, &hold, &request)? {
                        Ok(task) => request.task = Some(task.into()),
                        Err(ended) => return Ok(ended),
                    }
                }
                let on = Acting {
                    task: request.task.as_deref(),
                    fence: request.fence.map(|fence| fence.0),
                    force: request.force,
                };
                let granted = self.begin(turn, &on)?;
                self.release(turn, &granted)
            }
            Known::Cancel(request) => {
                let on = Acting {
                    task: request.task.as_deref(),
                    fence: request.fence.map(|fence| fence.0),
                    force: request.force,
                };
                let granted = self.begin(turn, &on)?;
                self.cancel(turn, &granted, &request.reason)
            }
            Known::Transfer(request) => self.transfer(turn, request),
            Known::Unblock(request) => {
                self.load(turn, &request.task)?;
                self.allow(&request.task, &[TaskStatus::Blocked])?;
                self.unblock(turn, &request.task);
                Ok(self.shape(&request.task, turn.now))
            }
            Known::Reopen(request) => self.reopen(turn, &request.task),
            Known::Edit(request) => self.edit(turn, request),
            Known::Snooze(request) => self.snooze(turn, request),
            Known::Resume(request) => self.resume(turn, request),
            Known::Confirm(request) => Ok(self.confirm(turn, request)),
            Known::Remember(request) => {
                let items = self.remember(turn, &request.items, None)?;
                Ok(json!({ "count": items.len(), "items": items }))
            }
            Known::MemoryPin(request) => self.pin(turn, &request.memory, request.pinned),
            Known::MemoryForget(request) => self.forget(turn, &request.memory),
            Known::Send(request) => self.send(turn, request),
            Known::Inbox(request) => self.inbox(turn, request),
            Known::Reserve(request) => self.reserve(turn, request),
            Known::SessionEnd(_) => Ok(self.session_end(turn)),
            Known::Lock(request) => self.lock(turn, request),
            other => unreachable!("a plan sends an op for which the model has no rule: {other:?}"),
        }
    }

    pub(super) fn unblock(&mut self, turn: &Turn<'_>, id: &str) {
        self.tell(turn, kind::TASK_UNBLOCKED, id, "", json!({}));
        let task = self.change(turn, id, TaskStatus::Open);
        task.reason.clear();
        task.blocked_on.clear();
    }

    fn add(&mut self, turn: &mut Turn<'_>, request: &add::Add) -> Result<Value, Refusal> {
        if request.after.iter().any(|after| !self.tasks.contains_key(after.as_str())) {
            return Err(NOT_FOUND);
        }
        if request.assignee.as_ref().is_some_and(|agent| !self.agents.contains_key(agent.as_str())) {
            return Err(UNKNOWN_AGENT);
        }
        let id = turn.fresh.tasks.pop_front().unwrap_or_else(|| turn.fresh.invent('t'));
        self.put(
            turn,
            &id,
            &request.title,
            request.priority,
            &request.labels,
            request.after.iter().map(String::from).collect(),
        );
        self.task(&id).assignee = request.assignee.clone().unwrap_or_default().into();
        Ok(self.shape(&id, turn.now))
    }

    fn add_many(&mut self, turn: &mut Turn<'_>, request: &add_many::AddMany) -> Result<Value, Refusal> {
        let is_key = |after: &String| request.items.iter().any(|item| item.key.as_ref() == Some(after));
        let mut all = request.items.iter().flat_map(|item| &item.after);
        if all.any(|after| !is_key(after) && !self.tasks.contains_key(after)) {
            return Err(NOT_FOUND);
        }
        let mut draw = || turn.fresh.tasks.pop_front().unwrap_or_else(|| turn.fresh.invent('t'));
        let ids: Vec<String> = request.items.iter().map(|_| draw()).collect();
        for (item, id) in request.items.iter().zip(&ids) {
            self.put(turn, id, &item.title, item.priority, &item.labels, Vec::new());
        }
        for (item, id) in request.items.iter().zip(&ids) {
            let place = |after: &String| request.items.iter().position(|item| item.key.as_ref() == Some(after));
            let after =
                item.after.iter().map(|after| place(after).map_or(after.clone(), |at| ids[at].clone())).collect();
            self.task(id).after = after;
        }
        Ok(json!({ "count": ids.len(), "ids": ids, "more": false }))
    }

    fn put(&mut self, turn: &Turn<'_>, id: &str, title: &str, priority: i64, labels: &[String], after: Vec<String>) {
        self.numbered += 1;
        let data = json!({ "title": title, "priority": priority, "number": self.numbered });
        self.tell(turn, kind::TASK_ADDED, id, "", data);
        let task = Task {
            id: id.to_owned(),
            number: self.numbered,
            title: title.to_owned(),
            priority,
            labels: labels.iter().cloned().collect(),
            after: after.into_iter().collect(),
            status: TaskStatus::Open,
            assignee: String::new(),
            reason: String::new(),
            blocked_on: String::new(),
            hold: None,
            fences: Vec::new(),
            last_holder: String::new(),
            last_began: 0,
            lapsed: false,
            attempt: 0,
            version: 1,
            created_at: turn.now,
            updated_at: turn.now,
            finished_by: String::new(),
            finished_at: 0,
            not_before: 0,
        };
        self.tasks.insert(id.to_owned(), task);
    }

    fn claim(&mut self, turn: &mut Turn<'_>, request: &claim::Claim) -> Result<Value, Refusal> {
        let mut rule = "named";
        let id = match &request.task {
            Some(named) => named.clone(),
            None => {
                rule = "ready";
                let labels: Vec<String> = request.labels.clone();
                match self.choose(turn.actor, &labels, turn.dead, turn.now) {
                    Some(id) => id,
                    None => {
                        let reason = self.nothing((turn.now, true), !labels.is_empty());
                        return Ok(json!({ "task": null, "hold": null, "rule": "none", "reason": reason }));
                    }
                }
                .into()
            }
        };
        self.load(turn, &id)?;
        match &self.tasks[id.as_str()].hold {
            Some(hold) if hold.holder == turn.actor => rule = "own",
            Some(_) => return Err(("conflict", "task_held")),
            None => {}
        }
        self.take(turn, &id, request.ttl_s, rule)
    }

    /// Claims a free task, or continues one that the actor holds.
    pub(super) fn take(
        &mut self,
        turn: &mut Turn<'_>,
        id: &str,
        ttl_s: Option<i64>,
        mut rule: &'static str,
    ) -> Result<Value, Refusal> {
        let ttl = ttl_s.map(|seconds| seconds * SECOND);
        let mut lapsed_from = None;
        let (mut paths, mut lost) = (Vec::new(), Vec::new());
        if let Some(hold) = self.tasks[id].hold.clone() {
            let before = hold.ttl;
            let hold = Hold { ttl: ttl.unwrap_or(hold.ttl), ..hold };
            // A hold with its own time to live keeps it.
            let with_it = |path: &&mut PathHold| path.task == id && path.ended.is_none() && path.ttl == before;
            for path in self.paths.iter_mut().filter(with_it).filter(|path| turn.now < path.expires_at) {
                (path.expires_at, path.ttl) = (turn.now + hold.ttl, hold.ttl);
            }
            self.task(id).hold = Some(Hold { expires_at: turn.now + hold.ttl, ..hold });
            self.agents.get_mut(turn.actor).expect("registered").focus = id.to_owned();
        } else {
            self.allow(id, &[TaskStatus::Open])?;
            if !self.unmet(&self.tasks[id]).is_empty() {
                return Err(("conflict", "not_ready"));
            }
            let task = &self.tasks[id];
            lapsed_from = task.lapsed.then(|| task.last_holder.clone());
            if rule == "ready" && lapsed_from.is_some() {
                rule = "lapsed";
            }
            let ttl = ttl.unwrap_or(HOUR);
            let told = (kind::TASK_CLAIMED, json!({ "rule": rule, "lapsed_from": lapsed_from }));
            let last = &self.tasks[id];
            let (before, began, from) =
                (last.fences.last().copied().unwrap_or(0), last.last_began, last.last_holder.clone());
            self.grant(turn, id, turn.actor, ttl, turn.now + ttl, told);
            self.change(turn, id, TaskStatus::Started).not_before = 0;
            if lapsed_from.is_some() {
                (paths, lost) = self.take_over_paths(turn, id, (before, began, &from));
            }
        }
        let task = &self.tasks[id];
        let hold = task.hold.clone().expect("just granted or renewed");
        let reason = super::view::reason(rule, task.priority, lapsed_from.as_deref());
        self.shown.insert((turn.actor.to_owned(), id.to_owned()), hold.fence);
        let mut answer = json!({
            "task": self.shape(id, turn.now), "hold": self.hold_shape(id, "alive", turn.now), "rule": rule, "reason": reason,
        });
        if !paths.is_empty() {
            answer["paths"] = json!(paths);
        }
        if !lost.is_empty() {
            answer["lost_paths"] = json!(lost);
        }
        Ok(answer)
    }

    fn done(&mut self, turn: &Turn<'_>, granted: &Granted) -> Result<Value, Refusal> {
        self.allow(&granted.id, &[TaskStatus::Open, TaskStatus::Started, TaskStatus::Blocked])?;
        let waited = self.in_order(|task| task.status == TaskStatus::Open && !self.unmet(task).is_empty());
        let number = self.leave(turn, granted, kind::TASK_DONE, TaskStatus::Done);
        self.finish(turn, &granted.id, "");
        let is_met = |id: &String| *id != granted.id && self.unmet(&self.tasks[id]).is_empty();
        let mut unlocked: Vec<String> = waited.into_iter().filter(is_met).collect();
        for id in &unlocked {
            self.tell(turn, kind::TASK_READY, id, "", json!({ "unlocked_by": granted.id }));
            self.log.last_mut().expect("just told").cause = Some(number);
        }
        unlocked.retain(|id| self.is_offered(&self.tasks[id], turn.now));
        let mut answer = self.shape(&granted.id, turn.now);
        answer["late"] = json!(granted.right == Right::Late);
        answer["unlocked"] = json!(unlocked);
        Ok(answer)
    }

    fn finish(&mut self, turn: &Turn<'_>, id: &str, reason: &str) {
        let task = self.task(id);
        task.reason = reason.to_owned();
        task.blocked_on.clear();
        task.finished_by = turn.actor.to_owned();
        task.finished_at = turn.now;
        task.not_before = 0;
    }

    fn cancel(&mut self, turn: &Turn<'_>, granted: &Granted, reason: &str) -> Result<Value, Refusal> {
        self.allow(&granted.id, &[TaskStatus::Open, TaskStatus::Started, TaskStatus::Blocked])?;
        self.leave(turn, granted, kind::TASK_CANCELLED, TaskStatus::Cancelled);
        self.finish(turn, &granted.id, reason);
        Ok(self.shape(&granted.id, turn.now))
    }

    fn release(&mut self, turn: &Turn<'_>, granted: &Granted) -> Result<Value, Refusal> {
        if granted.right == Right::Late {
            return Err(LAPSED);
        }
        if self.tasks[&granted.id].hold.is_none() && self.tasks[&granted.id].status == TaskStatus::Open {
            return Err(("conflict", "not_held"));
        }
        self.allow(&granted.id, &[TaskStatus::Started])?;
        self.leave(turn, granted, kind::TASK_RELEASED, TaskStatus::Open);
        Ok(self.shape(&granted.id, turn.now))
    }

    fn block(&mut self, turn: &Turn<'_>, granted: &Granted, request: &block::Block) -> Result<Value, Refusal> {
        self.allow(&granted.id, &[TaskStatus::Open, TaskStatus::Started])?;
        if let Some(on) = &request.on {
            if *on == granted.id {
                return Err(CYCLE);
            }
            if self.tasks.get(on.as_str()).ok_or(NOT_FOUND)?.status.is_closed() {
                return Err(("conflict", "blocker_gone"));
            }
            if self.waits_for(on, &granted.id, true) {
                return Err(CYCLE);
            }
        }
        self.leave(turn, granted, kind::TASK_BLOCKED, TaskStatus::Blocked);
        let task = self.task(&granted.id);
        task.reason = request.reason.clone();
        task.blocked_on = request.on.clone().unwrap_or_default().into();
        Ok(self.shape(&granted.id, turn.now))
    }

    /// Whether one task waits for another through its dependencies and, if asked, its blocker.
    fn waits_for(&self, from: &str, to: &str, blockers: bool) -> bool {
        let mut reached = vec![from.to_owned()];
        let mut at = 0;
        while at < reached.len() {
            let task = &self.tasks[&reached[at]];
            let blocker = Some(&task.blocked_on).filter(|on| blockers && !on.is_empty());
            let next: Vec<String> = task.after.iter().chain(blocker).cloned().collect();
            if next.iter().any(|id| id == to) {
                return true;
            }
            reached.extend(next.into_iter().filter(|id| !reached.contains(id)).collect::<Vec<_>>());
            at += 1;
        }
        false
    }

    fn reopen(&mut self, turn: &Turn<'_>, id: &str) -> Result<Value, Refusal> {
        self.load(turn, id)?;
        self.allow(id, &[TaskStatus::Done, TaskStatus::Cancelled])?;
        let ready = self.in_order(|task| task.status == TaskStatus::Open && self.unmet(task).is_empty());
        let number = self.tell(turn, kind::TASK_REOPENED, id, "", json!({}));
        let task = self.change(turn, id, TaskStatus::Open);
        task.reason.clear();
        task.finished_by.clear();
        task.finished_at = 0;
        task.lapsed = false;
        for waits in ready.into_iter().filter(|other| !self.unmet(&self.tasks[other]).is_empty()).collect::<Vec<_>>() {
            self.tell(turn, kind::TASK_WAITING, &waits, "", json!({ "waits_for": id }));
            self.log.last_mut().expect("just told").cause = Some(number);
        }
        Ok(self.shape(id, turn.now))
    }

    /// The log tells which lessons were drawn. That each is stored as a memory is the model's own rule.
    fn learn(&mut self, turn: &mut Turn<'_>) -> usize {
        let lessons = std::mem::take(&mut turn.fresh.lessons);
        for event in &lessons {
            let text = |key: &str| event.data[key].as_str().unwrap_or_default().to_owned();
            let (text, key) = (text("text"), Some(text("key")));
            let (kind, scope) = (tenure_core::memory::MemoryKind::Lesson, Some(MemoryReach::Project));
            let item = remember::NewMemory { text, key, kind, scope, task: None, ttl_s: None };
            let _ = self.remember(turn, &[item], None);
            self.log.last_mut().expect("something was told").cause = event.cause.map(EventNumber::get);
        }
        lessons.len()
    }

    /// Ends a session: all holds of its agent end now.
    fn session_end(&mut self, turn: &mut Turn<'_>) -> Value {
        let lessons = self.learn(turn);
        let mut tasks: Vec<(String, String)> = self
            .tasks
            .values()
            .filter_map(|task| task.hold.as_ref().map(|hold| (hold, task)))
            .filter(|(hold, _)| hold.holder == turn.actor)
            .map(|(hold, task)| (hold.id.clone(), task.id.clone()))
            .collect();
        tasks.sort();
        for (_, task) in &tasks {
            self.expire(turn, task, "session_ended");
        }
        let paths = self.paths.iter().enumerate();
        let paths = paths.filter(|(_, path)| path.holder == turn.actor && path.ended.is_none());
        let locks = self.locks.iter().enumerate().filter(|(_, lock)| lock.holder == turn.actor && lock.ended.is_none());
        let mut held: Vec<(String, usize, bool)> = paths.map(|(at, path)| (path.id.clone(), at, false)).collect();
        // A runner's command may outlive the session.
        held.extend(locks.filter(|(_, lock)| !lock.is_of_a_command()).map(|(at, lock)| (lock.id.clone(), at, true)));
        held.sort();
        for (_, at, is_lock) in held {
            if is_lock {
                self.expire_lock(turn, at, "session_ended");
            } else {
                self.expire_path(turn, at, "session_ended");
            }
        }
        self.leave_line(turn);
        self.agents.get_mut(turn.actor).expect("registered").ended = true;
        let freed: Vec<String> = tasks.into_iter().map(|(_, task)| task).collect();
        json!({ "agent": turn.actor, "over": true, "freed": freed, "lessons": lessons })
    }

    fn snooze(&mut self, turn: &Turn<'_>, request: &snooze::Snooze) -> Result<Value, Refusal> {
        let id = &request.task;
        self.load(turn, id)?;
        self.allow(id, &[TaskStatus::Open, TaskStatus::Started, TaskStatus::Blocked])?;
        let until = request.until.map_or(turn.now + request.for_s.unwrap_or(0) * SECOND, |until| until.0);
        let task = &self.tasks[id.as_str()];
        // A time that has passed is no time.
        let [from, until] = [task.not_before, until].map(|time| if time > turn.now { time } else { 0 });
        if from != until {
            let (status, version) = (task.status, task.version + 1);
            self.task(id).not_before = until;
            self.change(turn, id, status);
            self.tell(turn, kind::TASK_SNOOZED, id, "", json!({ "version": version }));
        }
        Ok(self.shape(id, turn.now))
    }

    fn edit(&mut self, turn: &Turn<'_>, request: &edit::Edit) -> Result<Value, Refusal> {
        if request.after.is_some() && !turn.actor.starts_with("person:") {
            return Err(PEOPLE_ONLY);
        }
        let id = &request.task;
        self.load(turn, id)?;
        let old = self.tasks[id.as_str()].clone();
        if request.expect_version.is_some_and(|version| version != old.version) {
            return Err(("stale", "stale_version"));
        }
        let mut new = old.clone();
        new.priority = request.priority.unwrap_or(old.priority);
        new.labels.retain(|label| !request.remove_labels.contains(label));
        new.labels.extend(request.add_labels.iter().cloned());
        if let Some(agent) = &request.assignee {
            if !agent.is_empty() && !self.agents.contains_key(agent.as_str()) {
                return Err(UNKNOWN_AGENT);
            }
            new.assignee = agent.to_string();
        }
        if let Some(after) = &request.after {
            if after.iter().any(|after| !self.tasks.contains_key(after.as_str())) {
                return Err(NOT_FOUND);
            }
            if after.iter().any(|after| after == id || self.waits_for(after, id, false)) {
                return Err(CYCLE);
            }
            new.after = after.iter().cloned().map(String::from).collect();
        }
        let same = new.priority == old.priority
            && new.labels == old.labels
            && new.assignee == old.assignee
            && new.after == old.after;
        if !same {
            let status = new.status;
            *self.task(id) = new;
            self.change(turn, id, status);
            self.tell(turn, kind::TASK_EDITED, id, "", json!({ "version": old.version + 1 }));
        }
        Ok(self.shape(id, turn.now))
    }
}
