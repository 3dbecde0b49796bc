//! Guards in answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::id::{CheckoutId, HoldId};
use tenure_core::name::AgentName;
use tenure_core::{Time, guard};
use tenure_store::table::{hold, project};

use super::Instant;
use crate::checkouts::Checkouts;

/// Whether the guards of a project are off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Guards")]
pub struct GuardState {
    /// Whether they are.
    pub off: bool,
    /// The end time.
    pub until: Option<Instant>,
    /// How long until then.
    pub until_s: Option<i64>,
    /// The agent or person that switched them off.
    pub by: Option<AgentName>,
}

impl GuardState {
    pub(crate) fn of(row: &project::Row, now: Time) -> GuardState {
        let Some(until) = guard::off_until(now, row.off_until) else { return GuardState::default() };
        GuardState {
            off: true,
            until: Some(until.to_string()),
            until_s: Some((until - now).as_seconds()),
            by: row.off_by.clone(),
        }
    }
}

/// What the edit guard took.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Guarded {
    /// The agent.
    pub agent: AgentName,
    /// Holds that were granted now: what a door gives back if the edit is refused for another reason.
    pub granted: Vec<HoldId>,
    /// What others hold of the agent's files in other checkouts, the newest meeting first.
    pub elsewhere: Vec<Elsewhere>,
    /// As of when.
    #[serde(default)]
    pub at: Instant,
}

/// A hold on a file that another agent holds in another checkout: neither stands in the other's way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Elsewhere {
    /// What the other holds.
    pub pattern: String,
    /// The other agent.
    pub holder: AgentName,
    /// Its hold.
    pub hold: HoldId,
    /// The top of its checkout, with the machine if it is another one.
    pub checkout: String,
    /// The id of that checkout.
    pub checkout_id: CheckoutId,
    /// The name.
    pub checkout_name: String,
    /// The time since which both hold it.
    pub since: Instant,
}

impl Elsewhere {
    pub(crate) fn of(row: &hold::Row, since: Time, checkouts: &Checkouts) -> Elsewhere {
        // Holds on all checkouts are never listed here, because they are not in another checkout.
        let checkout = row.checkout.clone().unwrap_or_default();
        Elsewhere {
            pattern: row.subject.clone(),
            holder: row.holder.clone(),
            hold: row.id.clone(),
            checkout: checkouts.place(&checkout),
            checkout_name: checkouts.name(&checkout),
            checkout_id: checkout,
            since: since.to_string(),
        }
    }
}
