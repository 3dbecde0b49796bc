//! Events of the waiting line: places and offers.

use serde::{Deserialize, Serialize};

use super::{Payload, is_false, quoted};
use crate::hold::Mode;
use crate::number::EventNumber;
use crate::text::cut;
use crate::time::Time;

/// `path.offered`: a path is held for the agent that waited for it, until the agent takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathOffered {
    /// The agent that it is offered to.
    pub holder: String,
    /// Exclusive or shared.
    pub mode: Mode,
    /// The checkout; empty for all checkouts.
    pub checkout: String,
    /// The task it is held for; empty for none.
    pub task: String,
    /// The agent's reason.
    pub reason: String,
    /// The time to live of the offer.
    pub ttl_s: i64,
    /// When the offer expires.
    pub expires_at: Time,
    /// The place in the line that it is offered to.
    pub place: String,
}

impl Payload for PathOffered {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} is held for {}, who waited for it", self.holder)
    }
}

/// `lock.offered`: a named lock is held for the agent that waited for it, until the agent takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockOffered {
    /// The agent that it is offered to.
    pub holder: String,
    /// The agent's reason.
    pub reason: String,
    /// The time to live of the offer.
    pub ttl_s: i64,
    /// When the offer expires.
    pub expires_at: Time,
    /// The place in the line that it is offered to.
    pub place: String,
}

impl Payload for LockOffered {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("the lock {subject} is held for {}, who waited for it", self.holder)
    }
}

/// `offer.taken`: an agent took a path or lock that it was offered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OfferTaken {
    /// What was offered: a path or a named lock.
    pub kind: Option<String>,
    /// The new holder.
    pub holder: String,
    /// The fence, which is that of the offer.
    pub fence: i64,
    /// The place in the line that it was offered to.
    pub place: String,
    /// The time to live of the hold without a call of its holder.
    pub ttl_s: i64,
    /// When the hold expires without a renewal.
    pub expires_at: Time,
    /// The task that a path is held for; empty for none. Absent for a lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The checkout of a path; empty for all checkouts. Absent for a lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
}

impl Payload for OfferTaken {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} accepted {subject}, which was held for it")
    }
}

/// `place.queued`: an agent joined the waiting line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceQueued {
    /// The waiting agent.
    pub agent: String,
    /// What it waits for: paths or a named lock.
    pub kind: String,
    /// The paths, or the lock's name.
    pub wanted: Vec<String>,
    /// Exclusive or shared.
    pub mode: Mode,
    /// The checkout; empty for all checkouts.
    pub checkout: String,
    /// The number that orders the line. It is 0 in this event, because the event's own number becomes the ticket.
    pub ticket: EventNumber,
    /// The agent's reason.
    pub reason: String,
}

impl Payload for PlaceQueued {
    fn sentence(&self, actor: &str, _: &str) -> String {
        format!("{actor} waits for {}{}", wanted(&self.wanted), quoted(&self.reason))
    }
}

/// `place.left`: an agent left the waiting line, or its session ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceLeft {
    /// The agent that waited.
    pub agent: String,
    /// What it waited for: paths or a named lock.
    pub kind: String,
    /// The paths, or the lock's name.
    pub wanted: Vec<String>,
    /// Exclusive or shared.
    pub mode: Mode,
    /// The checkout; empty for all checkouts.
    pub checkout: String,
    /// The number that orders the line.
    pub ticket: EventNumber,
    /// The agent's reason.
    pub reason: String,
    /// Whether its session ended.
    #[serde(skip_serializing_if = "is_false")]
    pub session_ended: bool,
}

impl From<PlaceQueued> for PlaceLeft {
    fn from(place: PlaceQueued) -> PlaceLeft {
        let PlaceQueued { agent, kind, wanted, mode, checkout, ticket, reason } = place;
        PlaceLeft { agent, kind, wanted, mode, checkout, ticket, reason, session_ended: false }
    }
}

impl Payload for PlaceLeft {
    fn sentence(&self, _: &str, _: &str) -> String {
        let over = if self.session_ended { ": its session is over" } else { "" };
        format!("{} no longer waits for {}{over}", self.agent, wanted(&self.wanted))
    }
}

/// `place.lapsed`: a place expired, because its agent did not return in time or its process is dead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceLapsed {
    /// The agent that waited.
    pub agent: String,
    /// What it waited for: paths or a named lock.
    pub kind: String,
    /// The paths, or the lock's name.
    pub wanted: Vec<String>,
    /// Exclusive or shared.
    pub mode: Mode,
    /// The checkout; empty for all checkouts.
    pub checkout: String,
    /// The number that orders the line.
    pub ticket: EventNumber,
    /// The agent's reason.
    pub reason: String,
    /// Whether its process is proven dead.
    #[serde(skip_serializing_if = "is_false")]
    pub proven_dead: bool,
}

impl From<PlaceQueued> for PlaceLapsed {
    fn from(place: PlaceQueued) -> PlaceLapsed {
        let PlaceQueued { agent, kind, wanted, mode, checkout, ticket, reason } = place;
        PlaceLapsed { agent, kind, wanted, mode, checkout, ticket, reason, proven_dead: false }
    }
}

impl Payload for PlaceLapsed {
    fn sentence(&self, _: &str, _: &str) -> String {
        let (agent, wanted) = (&self.agent, wanted(&self.wanted));
        match self.proven_dead {
            true => format!("{agent} no longer waits for {wanted}: its process is gone"),
            false => format!("{agent} did not come back for {wanted}"),
        }
    }
}

/// Renders what an agent waits for: the first item and the number of others.
fn wanted(all: &[String]) -> String {
    match all {
        [] => "nothing".to_owned(),
        [only] => cut(only, 200),
        [first, rest @ ..] => format!("{} and {} more", cut(first, 200), rest.len()),
    }
}
