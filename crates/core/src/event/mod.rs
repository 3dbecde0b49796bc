//! Events: the facts that ops append. Each kind has a variant of [`Event`] and a payload, and each payload renders one
//! sentence.
//!
//! The serialized payload is an on-disk format. A field that is written as `null` is an `Option`. A field that is
//! sometimes omitted is skipped while it is empty. A field that can be either is an `Option<Option<_>>`.

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

/// An event with everything that is stored about it except its actor and its subject.
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

    /// A kind that this version does not know, because a newer version wrote it.
    #[serde(skip)]
    Unknown(String),
}

/// The kind of an event's subject. A path or a lock may be spelled like a task id, so the text alone does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// A path.
    Path,
    /// A named lock.
    Lock,
    /// A task, or any other record with an id.
    Other,
}

impl Event {
    /// Reads a stored event. It never fails: a field of the wrong type, such as a `null` in place of a text, is read as
    /// absent, and an unknown kind becomes [`Event::Unknown`].
    pub fn read(kind: &str, data: &Value) -> Event {
        let whole = |data: &Value| {
            let entry = MapDeserializer::new(once((kind, data)));
            // Serde would also read a struct from a list.
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

    /// The stored form: the kind and the data.
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
            // Unreachable: a variant serializes as its name with an object, and no payload can fail to serialize.
            _ => (String::new(), Map::new()),
        }
    }

    /// What is stored, as text: the kind, and the data with the principal behind the actor. It makes no [`Value`]: a bulk op
    /// writes 100,000 events while all other writers wait.
    pub fn stored(&self, principal: Option<&str>) -> (String, String) {
        let text = match self {
            Event::Unknown(kind) => return (kind.clone(), "{}".to_owned()),
            // Nothing in a payload can fail to be written.
            _ => serde_json::to_string(self).unwrap_or_default(),
        };
        // A variant is its name with an object in it.
        let parts = text.strip_prefix("{\"").and_then(|rest| rest.strip_suffix('}'));
        let (kind, data) = parts.and_then(|rest| rest.split_once("\":")).unwrap_or_default();
        let data = match (principal, data.strip_suffix('}')) {
            (Some(principal), Some(fields)) => {
                let comma = if fields == "{" { "" } else { "," };
                format!("{fields}{comma}\"principal\":{}}}", Value::from(principal))
            }
            _ => data.to_owned(),
        };
        (kind.to_owned(), data)
    }

    /// Renders the event as one sentence. Text written by agents is quoted and truncated.
    pub fn sentence(&self, actor: &str, subject: &str) -> String {
        // A path can contain any character.
        let subject = cut(subject, 200);
        match self.payload() {
            Ok(payload) => payload.sentence(actor, &subject),
            Err(kind) => format!("{actor}: {kind} {subject}"),
        }
    }

    /// The kind of the event's subject.
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

    /// The payload, or the kind of an unknown event.
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

/// The kind of thing that a hold is on.
fn topic(kind: Option<&str>, checkout: Option<&str>) -> Topic {
    match kind {
        Some("path") => Topic::Path,
        Some("name") => Topic::Lock,
        // Only path holds belong to a checkout.
        None if checkout.is_some() => Topic::Path,
        _ => Topic::Other,
    }
}

/// The stored data of one event kind.
trait Payload {
    /// Renders the event as one sentence. `subject` is already truncated for display.
    fn sentence(&self, actor: &str, subject: &str) -> String;
}

/// An agent's text, quoted after a colon; empty for an empty text.
fn quoted(text: &str) -> String {
    match text {
        "" => String::new(),
        words => format!(": {}", quote(words, 120)),
    }
}

/// A word with a prefix; empty for no word.
fn after(before: &str, word: Option<&str>) -> String {
    match word {
        None | Some("") => String::new(),
        Some(word) => format!("{before}{word}"),
    }
}

/// The clause that names the agent whose hold an op ended.
fn overriding(holder: Option<&str>) -> String {
    after(", overriding ", holder)
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Reads a field that can be absent or `null`, and keeps the two apart.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}
