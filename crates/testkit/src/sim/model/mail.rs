//! The model of messages: recipients, delivery, and the end of messages about a hold.

use serde_json::{Value, json};
use tenure_core::Time;
use tenure_core::event::kind;
use tenure_core::message::Urgency;
use tenure_core::name::AgentName;
use tenure_kernel::op::{inbox, send};

use super::rights::NOT_FOUND;
use super::rules::UNKNOWN_AGENT;
use super::{HOUR, Model, Refusal, SECOND, Turn};

/// A hold that has just ended, as reported to the authors of messages about it.
#[derive(Clone, Debug)]
pub(super) struct Over {
    pub(super) hold: String,
    pub(super) how: &'static str,
    pub(super) by: String,
    /// The event that ended the hold.
    pub(super) cause: i64,
}

/// A message.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Message {
    pub id: String,
    pub author: String,
    pub to: Vec<String>,
    pub about: String,
    /// The hold with which the message ends.
    pub hold: String,
    pub urgency: Urgency,
    pub request: bool,
    pub text: String,
    pub at: i64,
    /// When, how and by whom the message ended.
    pub ended: Option<(i64, String, String)>,
    /// The message that it answers and the first of its thread; empty for none.
    pub reply_to: String,
    pub thread: String,
}

/// A message, or the notice of its end, in an agent's mail.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Letter {
    pub to: String,
    pub number: i64,
    pub message: String,
    pub ending: bool,
    pub acked: bool,
}

/// Adds the place of a message in its thread.
fn in_thread(shape: &mut Value, reply_to: &str, thread: &str) {
    if !reply_to.is_empty() {
        shape["reply_to"] = json!(reply_to);
        shape["thread"] = json!(thread);
    }
}

fn some(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { json!(text) }
}

impl Model {
    fn message(&mut self, id: &str) -> &mut Message {
        self.messages.iter_mut().find(|message| message.id == id).expect("a letter has a message")
    }

    /// Ends the messages about holds that have just ended.
    pub(super) fn end_messages(&mut self, turn: &Turn<'_>) {
        for over in std::mem::take(&mut self.over) {
            let about = |message: &&Message| message.hold == over.hold && message.ended.is_none();
            for id in self.messages.iter().filter(about).map(|message| message.id.clone()).collect::<Vec<_>>() {
                self.end_message(turn, &id, (over.how, &over.by, over.cause));
            }
        }
    }

    fn end_message(&mut self, turn: &Turn<'_>, id: &str, (how, by, cause): (&str, &str, i64)) {
        let message = self.message(id);
        message.ended = Some((turn.now, how.to_owned(), by.to_owned()));
        let message = message.clone();
        let data = json!({ "author": message.author, "about": message.about, "how": how, "by": by });
        let number = self.tell(turn, kind::MESSAGE_ENDED, id, &message.hold, data);
        self.log.last_mut().expect("just told").cause = Some(cause);
        self.mail.push(Letter { to: message.author, number, message: id.to_owned(), ending: true, acked: false });
    }

    /// The hold that a message is about, and its holder; `None` if the task is free.
    fn asked_about(&mut self, turn: &Turn<'_>, about: &str) -> Result<Option<(String, String)>, Refusal> {
        let held = |model: &Model, task: &str| {
            model.tasks[task].hold.as_ref().map(|hold| (hold.id.clone(), hold.holder.clone()))
        };
        if about.starts_with("t-") {
            self.load(turn, about)?;
            return Ok(held(self, about));
        }
        let gone = ("conflict", "hold_over");
        if self.ended.iter().any(|ended| ended.id == about) {
            return Err(gone);
        }
        let on = |task: &&super::Task| task.hold.as_ref().is_some_and(|hold| hold.id == about);
        if let Some(task) = self.tasks.values().find(on).map(|task| task.id.clone()) {
            self.load(turn, &task)?;
            return held(self, &task).map(Some).ok_or(gone);
        }
        let path = self.paths.iter().find(|path| path.id == about).ok_or(NOT_FOUND)?;
        if !self.counts(path, turn.now) {
            return Err(gone);
        }
        Ok(Some((path.id.clone(), path.holder.clone())))
    }

    pub(super) fn send(&mut self, turn: &mut Turn<'_>, request: &send::Send) -> Result<Value, Refusal> {
        let mut about = request.about.clone().unwrap_or_default();
        let mut answered = None;
        if let Some(id) = &request.reply {
            // Only its author and its recipients know of a message.
            let mine =
                |message: &&Message| message.author == turn.actor || message.to.iter().any(|to| to == turn.actor);
            let found = self.messages.iter().filter(|message| message.id == **id).find(mine);
            answered = Some(found.ok_or(NOT_FOUND)?.clone());
        }
        let held = if about.is_empty() { None } else { self.asked_about(turn, &about)? };
        let mut to = request.to.clone();
        let (mut urgency, mut thread) = (request.urgency, String::new());
        if let Some(answered) = &answered {
            if to.is_empty() && answered.author == turn.actor {
                to = answered.to.iter().map(|to| to.as_str().into()).collect();
            } else if to.is_empty() {
                to = vec![answered.author.as_str().into()];
            }
            if about.is_empty() {
                about.clone_from(&answered.about);
            }
            if answered.urgency == Urgency::Urgent {
                urgency = Urgency::Urgent;
            }
            thread = if answered.thread.is_empty() { answered.id.clone() } else { answered.thread.clone() };
        }
        if to.iter().any(|to| to == "all") {
            to.retain(|to| to != "all");
            let here = self.agents.keys().filter(|name| {
                let gone =
                    turn.dead.contains(*name) || self.there(name, self.longest(name, turn.now), turn.now) == "gone";
                !gone && *name != turn.actor && !name.starts_with("person:")
            });
            to.extend(here.map(|name| AgentName::from(name.as_str())));
            if to.is_empty() {
                return Err(("not_found", "no_recipient"));
            }
        }
        to.sort();
        to.dedup();
        let mut hold = String::new();
        match held {
            Some((id, holder)) if to.is_empty() => {
                hold = id;
                to.push(holder.into());
            }
            Some((id, _)) if about.starts_with("h-") => hold = id,
            None if to.is_empty() => return Err(("conflict", "not_held")),
            _ => {}
        }
        if to.iter().any(|to| to == turn.actor) {
            return Err(("conflict", "to_yourself"));
        }
        if to.iter().any(|to| !self.agents.contains_key(to.as_str())) {
            return Err(UNKNOWN_AGENT);
        }
        let id = turn.fresh.messages.pop_front().unwrap_or_else(|| turn.fresh.invent('g'));
        let mut data = json!({ "to": to, "about": about, "urgency": urgency, "request": request.request });
        if let Some(answered) = &answered {
            data["reply_to"] = json!(answered.id);
        }
        let number = self.tell(turn, kind::MESSAGE_SENT, &id, &hold, data);
        for name in &to {
            let message = id.clone();
            self.mail.push(Letter { to: name.to_string(), number, message, ending: false, acked: false });
        }
        let recipient = |name: &AgentName| {
            json!({
                "agent": name, "liveness": self.there(name, self.longest(name, turn.now), turn.now),
                "last_seen_s": ((turn.now - self.agents[name.as_str()].last_seen) / SECOND).max(0),
            })
        };
        let mut answer = json!({
            "id": id, "to": to.iter().map(recipient).collect::<Vec<_>>(), "about": some(&about), "hold": some(&hold),
            "urgency": urgency, "request": request.request,
        });
        let reply_to = answered.map_or(String::new(), |answered| answered.id);
        in_thread(&mut answer, &reply_to, &thread);
        self.messages.push(Message {
            id,
            author: turn.actor.to_owned(),
            to: to.into_iter().map(String::from).collect(),
            about,
            hold,
            urgency,
            request: request.request,
            text: request.text.clone(),
            at: turn.now,
            ended: None,
            reply_to,
            thread,
        });
        Ok(answer)
    }

    pub(super) fn inbox(&mut self, turn: &Turn<'_>, request: &inbox::Inbox) -> Result<Value, Refusal> {
        for id in &request.ack {
            let own = |letter: &&Letter| letter.to == turn.actor && letter.message == *id;
            if !self.mail.iter().any(|letter| own(&letter)) {
                return Err(NOT_FOUND);
            }
            let new = self.mail.iter().any(|letter| own(&letter) && !letter.ending && !letter.acked);
            for letter in self.mail.iter_mut().filter(|letter| letter.to == turn.actor && letter.message == *id) {
                letter.acked = true;
            }
            if new {
                let message = self.message(id).clone();
                let number = self.tell(turn, kind::MESSAGE_ACKED, id, "", json!({ "author": message.author }));
                if message.request && message.hold.is_empty() && message.ended.is_none() {
                    self.end_message(turn, id, ("acknowledged", turn.actor, number));
                }
            }
        }
        let mut answer = self.letters(turn.actor, request.limit.unwrap_or(20));
        self.offer_mail(turn.actor, &mut answer);
        answer["acked"] = json!(request.ack);
        Ok(answer)
    }

    /// Records the mail in an op's answer as offered.
    pub(super) fn offer_mail(&mut self, agent: &str, answer: &mut Value) {
        let last = answer["items"].as_array().and_then(|items| items.last()).map(|item| item["number"].clone());
        answer["offered"] = last.unwrap_or(Value::Null);
        if let Some(number) = answer["offered"].as_i64() {
            let place = self.read.entry(agent.to_owned()).or_default();
            place.0 = place.0.max(number);
        }
    }

    /// The unconfirmed mail of an agent, in order.
    pub fn letters(&self, agent: &str, limit: usize) -> Value {
        let (offered, confirmed) = self.read.get(agent).copied().unwrap_or_default();
        let mut new: Vec<&Letter> =
            self.mail.iter().filter(|letter| letter.to == agent && letter.number > confirmed).collect();
        new.sort_by_key(|letter| letter.number);
        let total = new.len();
        let shape = |letter: &&Letter| {
            let message = self.messages.iter().find(|message| message.id == letter.message).expect("its message");
            let ended = message.ended.as_ref();
            let mut shape = json!({
                "id": message.id, "number": letter.number, "what": if letter.ending { "ending" } else { "message" },
                "from": message.author, "to": message.to, "about": some(&message.about), "hold": some(&message.hold),
                "urgency": message.urgency, "notice": false, "request": message.request, "text": message.text,
                "sent_at": Time(message.at), "again": letter.number <= offered, "acked": letter.acked,
                "ended": ended.map(|(at, how, by)| json!({ "how": how, "by": by, "at": Time(*at) })),
            });
            in_thread(&mut shape, &message.reply_to, &message.thread);
            shape
        };
        let items: Vec<Value> = new.iter().take(limit).map(shape).collect();
        json!({
            "more": total > items.len(), "items": items, "total": total, "next": null, "offered": null, "acked": [],
        })
    }

    /// Confirms mail up to a number. The cursor never moves back and never passes the offer.
    pub(super) fn confirm_mail(&mut self, agent: &str, up_to: i64) -> i64 {
        let Some(place) = self.read.get_mut(agent) else { return 0 };
        place.1 = place.1.max(up_to.min(place.0));
        place.1
    }

    /// The ids of overdue requests, oldest first.
    pub fn overdue(&self, now: i64) -> Vec<String> {
        let patience = |message: &Message| if message.urgency == Urgency::Urgent { HOUR / 12 } else { HOUR / 2 };
        let late =
            |message: &&Message| message.request && message.ended.is_none() && now >= message.at + patience(message);
        let mut found: Vec<&Message> = self.messages.iter().filter(late).collect();
        found.sort_by_key(|message| message.at);
        found.into_iter().map(|message| message.id.clone()).take(10).collect()
    }

    /// The message ids of an agent's letters, newest first.
    pub fn newest_letters(&self, agent: &str) -> Vec<String> {
        self.mail.iter().rev().filter(|letter| letter.to == agent).map(|letter| letter.message.clone()).collect()
    }
}
