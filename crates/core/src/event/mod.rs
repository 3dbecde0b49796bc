//! Events: facts that ops append. Each kind has a variant of [`Event`] and a payload, and each payload has its sentence.
//!
//! What a payload is written as is a format on disk. A field that is written as `null` is an `Option`, one that is
//! sometimes left out is skipped while it has nothing to say, and one that may be either is an `Option<Option<_>>`.

pub mod access;
pub mod hold;
pub mod kind;
pub mod memory;
pub mod message;
pub mod place;
pub mod project;
pub mod task;
#[cfg(test)]
mod tests;
pub mod tool;

use std::iter::once;

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::text::{cut, quote};

/// A fact, with everything that is stored about it besides its actor and its subject.
#[expect(missing_docs, reason = "a variant says what its payload says")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    #[serde(rename = "project.created")]
    ProjectCreated(project::Created),
    #[serde(rename = "project.restored")]
    ProjectRestored(project::Restored),
    #[serde(rename = "agent.registered")]
    AgentRegistered(project::AgentRegistered),
    #[serde(rename = "agent.owned")]
    AgentOwned(project::AgentOwned),
    #[serde(rename = "checkout.joined")]
    CheckoutJoined(project::CheckoutJoined),
    #[serde(rename = "clock.stepped")]
    ClockStepped(project::ClockStepped),
    #[serde(rename = "guards.off")]
    GuardsOff(project::GuardsOff),
    #[serde(rename = "guards.on")]
    GuardsOn(project::GuardsOn),

    #[serde(rename = "hold.expired")]
    HoldExpired(hold::Expired),
    #[serde(rename = "hold.transferred")]
    HoldTransferred(hold::Transferred),
    #[serde(rename = "lock.taken")]
    LockTaken(hold::LockTaken),
    #[serde(rename = "lock.released")]
    LockReleased(hold::LockReleased),
    #[serde(rename = "path.reserved")]
    PathReserved(hold::PathReserved),
    #[serde(rename = "path.changed")]
    PathChanged(hold::PathChanged),
    #[serde(rename = "path.released")]
    PathReleased(hold::PathReleased),
    #[serde(rename = "path.committed")]
    PathCommitted(hold::PathCommitted),

    #[serde(rename = "path.offered")]
    PathOffered(place::PathOffered),
    #[serde(rename = "lock.offered")]
    LockOffered(place::LockOffered),
    #[serde(rename = "offer.taken")]
    OfferTaken(place::OfferTaken),
    #[serde(rename = "place.queued")]
    PlaceQueued(place::Queued),
    #[serde(rename = "place.left")]
    PlaceLeft(place::Left),
    #[serde(rename = "place.lapsed")]
    PlaceLapsed(place::Lapsed),

    #[serde(rename = "task.added")]
    TaskAdded(task::Added),
    #[serde(rename = "task.edited")]
    TaskEdited(task::Edited),
    #[serde(rename = "task.claimed")]
    TaskClaimed(task::Claimed),
    #[serde(rename = "task.noted")]
    TaskNoted(task::Noted),
    #[serde(rename = "task.done")]
    TaskDone(task::Done),
    #[serde(rename = "task.blocked")]
    TaskBlocked(task::Blocked),
    #[serde(rename = "task.unblocked")]
    TaskUnblocked(task::Unblocked),
    #[serde(rename = "task.released")]
    TaskReleased(task::Released),
    #[serde(rename = "task.reopened")]
    TaskReopened(task::Reopened),
    #[serde(rename = "task.cancelled")]
    TaskCancelled(task::Cancelled),
    #[serde(rename = "task.ready")]
    TaskReady(task::Ready),
    #[serde(rename = "task.waiting")]
    TaskWaiting(task::Waiting),
    #[serde(rename = "task.unassigned")]
    TaskUnassigned(task::Unassigned),

    #[serde(rename = "memory.added")]
    MemoryAdded(memory::Added),
    #[serde(rename = "memory.changed")]
    MemoryChanged(memory::Changed),
    #[serde(rename = "memory.forgotten")]
    MemoryForgotten(memory::Forgotten),
    #[serde(rename = "memory.pinned")]
    MemoryPinned(memory::Pinned),

    #[serde(rename = "message.sent")]
    MessageSent(message::Sent),
    #[serde(rename = "message.acked")]
    MessageAcked(message::Acked),
    #[serde(rename = "message.ended")]
    MessageEnded(message::Ended),

    #[serde(rename = "tool.failed")]
    ToolFailed(tool::Failed),
    #[serde(rename = "tool.worked")]
    ToolWorked(tool::Worked),

    #[serde(rename = "principal.added")]
    PrincipalAdded(access::PrincipalAdded),
    #[serde(rename = "principal.disabled")]
    PrincipalDisabled(access::PrincipalDisabled),
    #[serde(rename = "principal.enabled")]
    PrincipalEnabled(access::PrincipalEnabled),
    #[serde(rename = "member.set")]
    MemberSet(access::MemberSet),
    #[serde(rename = "token.added")]
    TokenAdded(access::TokenAdded),
    #[serde(rename = "token.revoked")]
    TokenRevoked(access::TokenRevoked),
    #[serde(rename = "login.offered")]
    LoginOffered(access::LoginOffered),
    #[serde(rename = "login.taken")]
    LoginTaken(access::LoginTaken),
    #[serde(rename = "login.closed")]
    LoginClosed(access::LoginClosed),
    #[serde(rename = "access.denied")]
    AccessDenied(access::Denied),

    /// A kind that this program does not know: a newer one wrote it.
    #[serde(skip)]
    Unknown(String),
}

/// What an event is about. A path and a lock may be spelled like the id of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// A path.
    Path,
    /// A named lock.
    Lock,
    /// A task, or anything else that has an id.
    Other,
}

impl Event {
    /// Reads what is stored. It never fails: a field that does not fit, such as a `null` where there is a text, is read
    /// as if it were absent, and a kind that is not known is [`Event::Unknown`].
    pub fn read(kind: &str, data: &Value) -> Event {
        let whole = |data: &Value| {
            let entry = MapDeserializer::new(once((kind, data)));
            // A struct would be read from a list too.
            data.as_object().and_then(|_| Event::deserialize(MapAccessDeserializer::new(entry)).ok())
        };
        if let Some(event) = whole(data) {
            return event;
        }
        let mut fields = data.as_object().cloned().unwrap_or_default();
        fields.retain(|name, value| {
            let alone = Map::from_iter([(name.clone(), value.clone())]);
            whole(&Value::Object(alone)).is_some()
        });
        whole(&Value::Object(fields)).unwrap_or_else(|| Event::Unknown(kind.to_owned()))
    }

    /// What is stored: the kind and the data.
    pub fn columns(&self) -> (String, Map<String, Value>) {
        if let Event::Unknown(kind) = self {
            return (kind.clone(), Map::new());
        }
        let entry = match serde_json::to_value(self) {
            Ok(Value::Object(one)) => one.into_iter().next(),
            _ => None,
        };
        match entry {
            Some((kind, Value::Object(fields))) => (kind, fields),
            // A variant is its name with an object in it, and nothing in a payload can fail to be written.
            _ => (String::new(), Map::new()),
        }
    }

    /// Tells the event in one sentence. Text written by agents is quoted and cut.
    pub fn sentence(&self, actor: &str, subject: &str) -> String {
        // A path may have any character in it.
        let subject = cut(subject, 200);
        match self.payload() {
            Ok(payload) => payload.sentence(actor, &subject),
            Err(kind) => format!("{actor}: {kind} {subject}"),
        }
    }

    /// What the event is about.
    pub fn topic(&self) -> Topic {
        match self {
            Event::PathReserved(_)
            | Event::PathChanged(_)
            | Event::PathReleased(_)
            | Event::PathCommitted(_)
            | Event::PathOffered(_) => Topic::Path,
            Event::LockTaken(_) | Event::LockReleased(_) | Event::LockOffered(_) => Topic::Lock,
            Event::HoldExpired(hold::Expired { kind, checkout, .. })
            | Event::OfferTaken(place::OfferTaken { kind, checkout, .. }) => {
                topic(kind.as_deref(), checkout.as_deref())
            }
            Event::HoldTransferred(hold::Transferred { checkout, .. }) => topic(None, checkout.as_deref()),
            _ => Topic::Other,
        }
    }

    /// The payload, or the kind of an event that has none.
    fn payload(&self) -> Result<&dyn Payload, &str> {
        Ok(match self {
            Event::ProjectCreated(payload) => payload,
            Event::ProjectRestored(payload) => payload,
            Event::AgentRegistered(payload) => payload,
            Event::AgentOwned(payload) => payload,
            Event::CheckoutJoined(payload) => payload,
            Event::ClockStepped(payload) => payload,
            Event::GuardsOff(payload) => payload,
            Event::GuardsOn(payload) => payload,
            Event::HoldExpired(payload) => payload,
            Event::HoldTransferred(payload) => payload,
            Event::LockTaken(payload) => payload,
            Event::LockReleased(payload) => payload,
            Event::PathReserved(payload) => payload,
            Event::PathChanged(payload) => payload,
            Event::PathReleased(payload) => payload,
            Event::PathCommitted(payload) => payload,
            Event::PathOffered(payload) => payload,
            Event::LockOffered(payload) => payload,
            Event::OfferTaken(payload) => payload,
            Event::PlaceQueued(payload) => payload,
            Event::PlaceLeft(payload) => payload,
            Event::PlaceLapsed(payload) => payload,
            Event::TaskAdded(payload) => payload,
            Event::TaskEdited(payload) => payload,
            Event::TaskClaimed(payload) => payload,
            Event::TaskNoted(payload) => payload,
            Event::TaskDone(payload) => payload,
            Event::TaskBlocked(payload) => payload,
            Event::TaskUnblocked(payload) => payload,
            Event::TaskReleased(payload) => payload,
            Event::TaskReopened(payload) => payload,
            Event::TaskCancelled(payload) => payload,
            Event::TaskReady(payload) => payload,
            Event::TaskWaiting(payload) => payload,
            Event::TaskUnassigned(payload) => payload,
            Event::MemoryAdded(payload) => payload,
            Event::MemoryChanged(payload) => payload,
            Event::MemoryForgotten(payload) => payload,
            Event::MemoryPinned(payload) => payload,
            Event::MessageSent(payload) => payload,
            Event::MessageAcked(payload) => payload,
            Event::MessageEnded(payload) => payload,
            Event::ToolFailed(payload) => payload,
            Event::ToolWorked(payload) => payload,
            Event::PrincipalAdded(payload) => payload,
            Event::PrincipalDisabled(payload) => payload,
            Event::PrincipalEnabled(payload) => payload,
            Event::MemberSet(payload) => payload,
            Event::TokenAdded(payload) => payload,
            Event::TokenRevoked(payload) => payload,
            Event::LoginOffered(payload) => payload,
            Event::LoginTaken(payload) => payload,
            Event::LoginClosed(payload) => payload,
            Event::AccessDenied(payload) => payload,
            Event::Unknown(kind) => return Err(kind),
        })
    }
}

/// What a hold is on.
fn topic(kind: Option<&str>, checkout: Option<&str>) -> Topic {
    match kind {
        Some("path") => Topic::Path,
        Some("name") => Topic::Lock,
        // Only a path is in a checkout.
        None if checkout.is_some() => Topic::Path,
        _ => Topic::Other,
    }
}

/// What is stored about an event of one kind.
trait Payload {
    /// The event in one sentence. `subject` is cut to a length that can be shown.
    fn sentence(&self, actor: &str, subject: &str) -> String;
}

/// What an agent wrote, after a colon; nothing for nothing.
fn quoted(text: &str) -> String {
    match text {
        "" => String::new(),
        words => format!(": {}", quote(words, 120)),
    }
}

/// A word with what comes before it; nothing for nothing.
fn after(before: &str, word: Option<&str>) -> String {
    match word {
        None | Some("") => String::new(),
        Some(word) => format!("{before}{word}"),
    }
}

/// Whose hold an op ended.
fn overriding(holder: Option<&str>) -> String {
    after(", overriding ", holder)
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Reads a field that may be absent or `null`, which are told apart.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}
