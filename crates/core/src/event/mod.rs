//! Events: the facts that ops append. Each kind has a variant of [`Event`] and a payload, and each payload renders one
//! sentence.
//!
//! The serialized payload is an on-disk format. A field that is written as `null` is an `Option`. A field that is
//! sometimes omitted is skipped while it is empty. A field that can be either is an `Option<Option<_>>`.

pub mod access;
pub mod hold;
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

/// Declares the kinds of events: for each the constant of its name in [`kind`], its variant of [`Event`] and its payload.
macro_rules! events {
    ($($constant:ident = $name:literal $variant:ident($payload:ty),)+) => {
        /// An event with everything that is stored about it except its actor and its subject.
        #[expect(missing_docs, reason = "a variant says what its payload says")]
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Event {
            $(#[serde(rename = $name)] $variant($payload),)+

            /// A kind that this version does not know, because a newer version wrote it.
            #[serde(skip)]
            Unknown(String),
        }

        impl Event {
            /// The payload, or the kind of an unknown event.
            fn payload(&self) -> Result<&dyn Payload, &str> {
                match self {
                    $(Event::$variant(payload) => Ok(payload),)+
                    Event::Unknown(kind) => Err(kind),
                }
            }
        }

        /// The names of all kinds of events, for filters: see [`Event`].
        #[expect(missing_docs, reason = "a name says what the payload of its event says")]
        pub mod kind {
            $(pub const $constant: &str = $name;)+

            /// All kinds, for filters and documentation.
            pub const ALL: &[&str] = &[$($constant),+];
        }
    };
}

// In the order in which filters and documents list them.
events! {
    PROJECT_CREATED = "project.created" ProjectCreated(project::ProjectCreated),
    PROJECT_RESTORED = "project.restored" ProjectRestored(project::ProjectRestored),
    AGENT_REGISTERED = "agent.registered" AgentRegistered(project::AgentRegistered),
    CHECKOUT_JOINED = "checkout.joined" CheckoutJoined(project::CheckoutJoined),
    CLOCK_STEPPED = "clock.stepped" ClockStepped(project::ClockStepped),
    HOLD_EXPIRED = "hold.expired" HoldExpired(hold::HoldExpired),
    HOLD_TRANSFERRED = "hold.transferred" HoldTransferred(hold::HoldTransferred),
    LOCK_TAKEN = "lock.taken" LockTaken(hold::LockTaken),
    LOCK_RELEASED = "lock.released" LockReleased(hold::LockReleased),
    PATH_RESERVED = "path.reserved" PathReserved(hold::PathReserved),
    PATH_CHANGED = "path.changed" PathChanged(hold::PathChanged),
    PATH_RELEASED = "path.released" PathReleased(hold::PathReleased),
    PATH_COMMITTED = "path.committed" PathCommitted(hold::PathCommitted),
    PATH_OFFERED = "path.offered" PathOffered(place::PathOffered),
    OFFER_TAKEN = "offer.taken" OfferTaken(place::OfferTaken),
    LOCK_OFFERED = "lock.offered" LockOffered(place::LockOffered),
    PLACE_QUEUED = "place.queued" PlaceQueued(place::PlaceQueued),
    PLACE_LEFT = "place.left" PlaceLeft(place::PlaceLeft),
    PLACE_LAPSED = "place.lapsed" PlaceLapsed(place::PlaceLapsed),
    TASK_ADDED = "task.added" TaskAdded(task::TaskAdded),
    TASK_EDITED = "task.edited" TaskEdited(task::TaskEdited),
    TASK_SNOOZED = "task.snoozed" TaskSnoozed(task::TaskSnoozed),
    TASK_CLAIMED = "task.claimed" TaskClaimed(task::TaskClaimed),
    TASK_NOTED = "task.noted" TaskNoted(task::TaskNoted),
    TASK_DONE = "task.done" TaskDone(task::TaskDone),
    TASK_BLOCKED = "task.blocked" TaskBlocked(task::TaskBlocked),
    TASK_UNBLOCKED = "task.unblocked" TaskUnblocked(task::TaskUnblocked),
    TASK_RELEASED = "task.released" TaskReleased(task::TaskReleased),
    TASK_REOPENED = "task.reopened" TaskReopened(task::TaskReopened),
    TASK_CANCELLED = "task.cancelled" TaskCancelled(task::TaskCancelled),
    TASK_READY = "task.ready" TaskReady(task::TaskReady),
    TASK_WAITING = "task.waiting" TaskWaiting(task::TaskWaiting),
    TASK_UNASSIGNED = "task.unassigned" TaskUnassigned(task::TaskUnassigned),
    MEMORY_ADDED = "memory.added" MemoryAdded(memory::MemoryAdded),
    MEMORY_CHANGED = "memory.changed" MemoryChanged(memory::MemoryChanged),
    MEMORY_FORGOTTEN = "memory.forgotten" MemoryForgotten(memory::MemoryForgotten),
    MEMORY_PINNED = "memory.pinned" MemoryPinned(memory::MemoryPinned),
    MESSAGE_SENT = "message.sent" MessageSent(message::MessageSent),
    MESSAGE_ACKED = "message.acked" MessageAcked(message::MessageAcked),
    MESSAGE_ENDED = "message.ended" MessageEnded(message::MessageEnd),
    TOOL_FAILED = "tool.failed" ToolFailed(tool::ToolFailed),
    TOOL_WORKED = "tool.worked" ToolWorked(tool::ToolWorked),
    GUARDS_OFF = "guards.off" GuardsOff(project::GuardsOff),
    GUARDS_ON = "guards.on" GuardsOn(project::GuardsOn),
    PRINCIPAL_ADDED = "principal.added" PrincipalAdded(access::PrincipalAdded),
    PRINCIPAL_DISABLED = "principal.disabled" PrincipalDisabled(access::PrincipalDisabled),
    PRINCIPAL_ENABLED = "principal.enabled" PrincipalEnabled(access::PrincipalEnabled),
    MEMBER_SET = "member.set" MemberSet(access::MemberRoleSet),
    TOKEN_ADDED = "token.added" TokenAdded(access::TokenAdded),
    TOKEN_REVOKED = "token.revoked" TokenRevoked(access::TokenRevoked),
    LOGIN_OFFERED = "login.offered" LoginOffered(access::LoginLinkOffered),
    LOGIN_TAKEN = "login.taken" LoginTaken(access::LoginLinkTaken),
    LOGIN_CLOSED = "login.closed" LoginClosed(access::LoginClosed),
    ACCESS_DENIED = "access.denied" AccessDenied(access::DenialRecorded),
    AGENT_OWNED = "agent.owned" AgentOwned(project::AgentOwned),
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

    /// Returns what is stored: the kind, and the data as text with the principal of the call. The keys of the data are
    /// sorted; stores of earlier versions have them in that order.
    pub fn stored(&self, principal: Option<&str>) -> (String, String) {
        let (kind, mut data) = self.columns();
        if let Some(principal) = principal {
            data.insert("principal".to_owned(), principal.into());
        }
        (kind, Value::Object(data).to_string())
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
            Event::HoldExpired(hold::HoldExpired { kind, checkout, .. })
            | Event::HoldTransferred(hold::HoldTransferred { kind, checkout, .. })
            | Event::OfferTaken(place::OfferTaken { kind, checkout, .. }) => {
                topic(kind.as_deref(), checkout.as_deref())
            }
            _ => Topic::Other,
        }
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
