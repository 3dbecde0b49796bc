//! Places in the waiting line, in answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Time;
use tenure_core::agent::{Liveness, Sign, liveness};
use tenure_core::id::{CheckoutId, PlaceId};
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_store::table::{agent, place};

use super::{Blocker, Instant};

/// A place in the waiting line.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Its id.
    pub id: PlaceId,
    /// The waiting agent.
    pub agent: AgentName,
    /// `path` or `name`.
    pub kind: String,
    /// All requested paths, or the lock.
    pub wanted: Vec<String>,
    /// `exclusive` or `shared`.
    pub mode: String,
    /// The purpose.
    pub reason: String,
    /// `waiting`, `offered` or `ended`.
    pub state: String,
    /// The number in the line; none for an offer.
    pub place: Option<i64>,
    /// The start time.
    pub queued_at: Instant,
    /// How long that is.
    pub age_s: i64,
    /// How long the place is kept without renewal, or the offer without acceptance.
    pub expires_in_s: i64,
    /// The checkout of the paths; null for all checkouts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// The id of that checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout_id: Option<CheckoutId>,
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout_name: Option<String>,
}

impl Place {
    pub(crate) fn of(row: &place::Row, number: Option<i64>, now: Time) -> Place {
        Place {
            id: row.id.clone(),
            agent: row.agent.clone(),
            kind: row.kind.as_str().to_owned(),
            wanted: row.wanted.clone(),
            mode: row.mode.as_str().to_owned(),
            reason: row.reason.clone(),
            state: row.state.as_str().to_owned(),
            place: number,
            queued_at: row.queued_at.to_string(),
            age_s: row.queued_at.age(now).as_seconds(),
            expires_in_s: (row.expires_at - now).as_seconds().max(0),
            checkout: row.checkout.as_ref().map(CheckoutId::to_string),
            checkout_id: None,
            checkout_name: None,
        }
    }
}

impl Blocker {
    /// A place in the waiting line, as shown to an agent that it blocks.
    pub(crate) fn of_place(row: &place::Row, number: i64, agent: Option<&agent::Row>, now: Time) -> Blocker {
        let sign = agent.map(|agent| Sign { ttl: row.ttl, ..agent.sign() });
        Blocker {
            id: row.id.as_str().into(),
            state: row.state.as_str().to_owned(),
            holder: row.agent.clone(),
            pattern: row.wanted.first().cloned(),
            mode: row.mode.as_str().to_owned(),
            reason: row.reason.clone(),
            age_s: row.queued_at.age(now).as_seconds(),
            expires_in_s: (row.expires_at - now).as_seconds().max(0),
            last_seen_s: agent.map_or(row.queued_at, |agent| agent.last_seen).age(now).as_seconds(),
            liveness: sign.map_or(Liveness::Gone, |sign| liveness(now, &sign)),
            place: Some(number),
            checkout: None,
            project: None,
        }
    }
}

/// How a place stands, for those who look again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Turn")]
pub struct PlaceTurn {
    /// The place.
    pub id: PlaceId,
    /// `waiting`; `ready`, where the next request of the agent is granted; `offered`; or `gone`.
    pub state: String,
    /// The number in the line, while it waits.
    pub place: Option<i64>,
    /// The first in its way, while it waits.
    pub behind: Option<AgentName>,
    /// The newest event when this was found out.
    pub last_event: EventNumber,
    /// When something in its way runs out of time.
    pub look_at: Time,
}

impl PlaceTurn {
    pub(crate) fn gone(id: &PlaceId) -> PlaceTurn {
        PlaceTurn {
            id: id.to_owned(),
            state: "gone".to_owned(),
            place: None,
            behind: None,
            last_event: EventNumber::START,
            look_at: Time(0),
        }
    }
}
