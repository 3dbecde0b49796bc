//! The model of `resume`: the task that an agent continues with, and the events it is told.

use serde_json::{Value, json};
use tenure_core::Time;
use tenure_core::event::kind;
use tenure_core::task::TaskStatus;
use tenure_kernel::op::{confirm, resume};

use super::{Model, Refusal, Task, Told, Turn};

/// The default number of events.
const EVENTS: usize = 20;
/// The maximum number of messages.
const MAIL: usize = 10;
/// The default budget of a brief, in tokens.
const BUDGET: i64 = 1_500;

impl Model {
    /// Chooses and takes a task, and reports what other agents did since the last report.
    pub(super) fn resume(&mut self, turn: &mut Turn<'_>, request: &resume::Resume) -> Result<Value, Refusal> {
        let lost = self.is_lost(turn.actor, turn.dead, turn.now);
        let mut answer = match self.goes_on_with(turn.actor, &request.labels, turn.dead, turn.now) {
            Some((id, rule)) => {
                self.load(turn, &id)?;
                if self.tasks[&id].status == TaskStatus::Blocked {
                    self.unblock(turn, &id);
                }
                self.take(turn, &id, request.ttl_s, rule)?
            }
            None => {
                self.agents.get_mut(turn.actor).expect("registered").focus.clear();
                let reason = self.nothing((turn.now, true), !request.labels.is_empty());
                json!({ "task": null, "hold": null, "rule": "none", "reason": reason })
            }
        };
        let limit = request.limit.unwrap_or(EVENTS);
        let (offered, confirmed) = self.delivered.get(turn.actor).copied().unwrap_or((turn.first, turn.first));
        let (events, up_to) = self.news(turn.actor, (offered, confirmed), limit);
        self.delivered.insert(turn.actor.to_owned(), (offered.max(up_to), confirmed));
        answer["focus"] = answer["task"].get("id").cloned().unwrap_or(Value::Null);
        answer["lost"] = json!(lost);
        answer["events"] = events;
        answer["events"]["offered"] = json!(up_to);
        answer["budget"] = json!(request.budget.unwrap_or(BUDGET));
        let mut mail = self.letters(turn.actor, MAIL);
        self.offer_mail(turn.actor, &mut mail);
        answer["mail"] = mail;
        let task = |key: &str| answer.get(key).cloned().unwrap_or(json!([]));
        (answer["paths"], answer["lost_paths"]) = (task("paths"), task("lost_paths"));
        Ok(answer)
    }

    /// The answer of `peek`, which takes nothing.
    pub fn peek(&self, actor: &str, labels: &[String], limit: usize, now: i64) -> Value {
        let mut answer = match self.goes_on_with(actor, labels, &[], now) {
            Some((id, rule)) if rule != "ready" => {
                let task = &self.tasks[&id];
                let lapsed = task.hold.as_ref().map_or(task.lapsed, |hold| now >= hold.expires_at);
                let reason = super::view::reason(rule, task.priority, lapsed.then_some(actor));
                json!({ "task": id, "rule": rule, "reason": reason })
            }
            _ => self.next(actor, labels, now),
        };
        let task = answer["task"].as_str().map_or(Value::Null, |id| self.shape(id, now));
        answer["focus"] = if answer["rule"] == "focus" { task["id"].clone() } else { Value::Null };
        answer["task"] = task;
        answer["hold"] = Value::Null;
        answer["lost"] = json!(self.is_lost(actor, &[], now));
        let place = self.delivered.get(actor).copied().unwrap_or((self.last_event, self.last_event));
        answer["events"] = self.news(actor, place, limit).0;
        answer["events"]["offered"] = Value::Null;
        answer["budget"] = json!(BUDGET);
        answer["mail"] = self.letters(actor, MAIL);
        (answer["paths"], answer["lost_paths"]) = (json!([]), json!([]));
        answer
    }

    /// The task of the first rule that matches; within a rule, the order of choice decides.
    fn goes_on_with(
        &self,
        actor: &str,
        labels: &[String],
        dead: &[String],
        now: i64,
    ) -> Option<(String, &'static str)> {
        let focus = self.agents.get(actor).map_or("", |agent| agent.focus.as_str());
        let labelled = |task: &Task| labels.iter().all(|label| task.labels.contains(label));
        let holds = |task: &Task| task.hold.as_ref().is_some_and(|hold| hold.holder == actor && now < hold.expires_at);
        let may = |task: &Task| self.is_offered(task, now) && self.suits(task, actor, labels, now);
        let had = |task: &Task| match &task.hold {
            Some(hold) => hold.holder == actor,
            None => task.last_holder == actor && task.lapsed,
        };
        let free = |task: &Task| may(task) && self.is_free(task, dead, now);
        let first = |wanted: &dyn Fn(&Task) -> bool| self.in_order(wanted).into_iter().next();
        let rules: [(&'static str, &dyn Fn(&Task) -> bool); 4] = [
            ("focus", &|task| task.id == focus && holds(task) && labelled(task)),
            ("unblocked", &|task| task.last_holder == actor && may(task) && self.can_go_on(task)),
            ("assigned", &|task| task.assignee == actor && free(task) && !self.gave_up(task, actor)),
            ("own", &|task| holds(task) && labelled(task) || had(task) && free(task)),
        ];
        let own = rules.into_iter().find_map(|(rule, wanted)| first(wanted).map(|id| (id, rule)));
        own.or_else(|| self.choose(actor, labels, dead, now).map(|id| (id, "ready")))
    }

    /// Whether a task that was left as blocked can continue: its blocker is done, or it was unblocked and has not
    /// changed since.
    fn can_go_on(&self, task: &Task) -> bool {
        let done = |id: &String| self.tasks.get(id).is_some_and(|on| on.status == TaskStatus::Done);
        let turns = [kind::TASK_UNBLOCKED, kind::TASK_CLAIMED, kind::TASK_RELEASED, kind::TASK_REOPENED];
        let mut story = self.log.iter().rev().filter(|told| told.subject == task.id && turns.contains(&told.kind));
        match task.status {
            TaskStatus::Blocked => done(&task.blocked_on),
            TaskStatus::Open if task.hold.is_none() && !task.lapsed => {
                story.next().is_some_and(|told| told.kind == kind::TASK_UNBLOCKED)
            }
            _ => false,
        }
    }

    /// Whether another agent holds or has finished the task in the actor's focus.
    fn is_lost(&self, actor: &str, dead: &[String], now: i64) -> bool {
        let Some(task) = self.agents.get(actor).and_then(|agent| self.tasks.get(&agent.focus)) else { return false };
        match &task.hold {
            Some(hold) => hold.holder != actor && now < hold.expires_at && !dead.contains(&hold.holder),
            None => task.status.is_closed() && task.finished_by != actor,
        }
    }

    /// Whether an event is reported to other agents. Registrations are not news, and memories of a task or an agent are
    /// private.
    pub fn is_news(told: &Told) -> bool {
        let private = told.kind.starts_with("memory.") && told.data["scope"] != "project";
        !private
            && !told.kind.starts_with("message.")
            && ![kind::AGENT_REGISTERED, kind::PROJECT_CREATED].contains(&told.kind)
    }

    /// The number of the event that registered an agent. Later events are reported to it.
    pub fn registered(&self, agent: &str) -> i64 {
        let appeared = |told: &&Told| told.kind == kind::AGENT_REGISTERED && told.subject == agent;
        self.log.iter().find(appeared).map_or(0, |told| told.number)
    }

    /// The events of other agents after one number and up to another.
    pub fn news_between(&self, reader: &str, after: i64, up_to: i64) -> impl Iterator<Item = &Told> {
        let reader = reader.to_owned();
        let within = self.log.iter().filter(move |told| told.number > after && told.number <= up_to);
        within.filter(move |told| told.actor != reader && Model::is_news(told))
    }

    /// The events to report, oldest first, and the last event they cover.
    fn news(&self, reader: &str, (offered, confirmed): (i64, i64), limit: usize) -> (Value, i64) {
        let mut news = self.news_between(reader, confirmed, i64::MAX);
        let shape = |told: &Told| {
            json!({
                "number": told.number, "at": Time(told.at), "kind": told.kind, "actor": told.actor,
                "subject": told.subject, "again": told.number <= offered,
            })
        };
        let items: Vec<Value> = news.by_ref().take(limit).map(shape).collect();
        let next = news.next().map(|told| told.number);
        let up_to = next.map_or(self.last_event, |next| next - 1);
        (json!({ "items": items, "more": next.is_some() }), up_to)
    }

    /// Confirms delivery. The cursor never moves back and never passes the offer.
    pub(super) fn confirm(&mut self, turn: &Turn<'_>, request: &confirm::Confirm) -> Value {
        let Some((offered, confirmed)) = self.delivered.get(turn.actor).copied() else {
            return json!({ "events": 0, "mail": 0 });
        };
        let confirmed = confirmed.max(offered.min(request.events.unwrap_or_default().get()));
        self.delivered.insert(turn.actor.to_owned(), (offered, confirmed));
        let mail = self.confirm_mail(turn.actor, request.mail.unwrap_or_default().get());
        json!({ "events": confirmed, "mail": mail })
    }
}
