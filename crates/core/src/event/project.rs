//! Project events: agents, checkouts, clock and guards.

use serde::{Deserialize, Serialize};

use super::{Payload, is_false};
use crate::number::EventNumber;
use crate::time::Time;

/// `project.created`: the first op of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectCreated {
    /// The project's key.
    pub key: String,
    /// The project's display name.
    pub label: String,
}

impl Payload for ProjectCreated {
    fn sentence(&self, actor: &str, _: &str) -> String {
        format!("{actor} used this project for the first time")
    }
}

/// `project.restored`: the project continues from a backup. This is the only event that a gap in the numbers precedes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectRestored {
    /// The newest event of the backup.
    pub last_event: EventNumber,
    /// The time of that event.
    pub last_time: Time,
    /// The number of holds that the restore ended.
    pub ended_holds: i64,
    /// Whether the database file was copied or put back, without an explicit restore.
    #[serde(skip_serializing_if = "is_false")]
    pub copied: bool,
}

impl Payload for ProjectRestored {
    fn sentence(&self, actor: &str, _: &str) -> String {
        let last = self.last_event;
        match self.copied {
            true => format!(
                "the store file was copied or replaced by an older one: this project continues after event {last}"
            ),
            false => format!("{actor} restored this project from a backup that ends with event {last}"),
        }
    }
}

/// `agent.registered`: the first op of an agent, or an import that names an unknown agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRegistered {
    /// The agent's tool. Absent if an import named the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether an import named the agent.
    #[serde(skip_serializing_if = "is_false")]
    pub imported: bool,
}

impl Payload for AgentRegistered {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        match self.imported {
            true => format!("{actor} imported a task that is assigned to {subject}"),
            false => format!("{actor} joined"),
        }
    }
}

/// `agent.owned`: the owner of an agent changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentOwned {
    /// The new owner; empty if the agent is a principal itself.
    pub owner: String,
    /// The previous owner.
    pub was: String,
}

impl Payload for AgentOwned {
    fn sentence(&self, actor: &str, _: &str) -> String {
        match self.owner.as_str() {
            "" => format!("{actor} no longer acts as an agent of {}", self.was),
            owner => format!("{actor} now acts as an agent of {owner}"),
        }
    }
}

/// `checkout.joined`: a copy of the repository became a checkout of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckoutJoined {
    /// The host it is on.
    pub host: String,
}

impl Payload for CheckoutJoined {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} added {subject} as a checkout of this project")
    }
}

/// `clock.stepped`: the clock was set back by more than a minute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockStepped {
    /// The size of the step.
    pub seconds: i64,
}

impl Payload for ClockStepped {
    fn sentence(&self, _: &str, _: &str) -> String {
        format!("the clock was set back by {} s", self.seconds)
    }
}

/// `guards.off`: a person disabled the guards for a limited time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardsOff {
    /// When they are enabled again.
    pub until: Option<Time>,
    /// The duration.
    pub for_s: i64,
}

impl Payload for GuardsOff {
    fn sentence(&self, actor: &str, _: &str) -> String {
        let until = self.until.map(|until| until.to_string()).unwrap_or_default();
        format!("{actor} switched the guards off until {until}")
    }
}

/// `guards.on`: a person enabled the guards again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardsOn {}

impl Payload for GuardsOn {
    fn sentence(&self, actor: &str, _: &str) -> String {
        format!("{actor} switched the guards on again")
    }
}
