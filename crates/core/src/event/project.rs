//! Events of a project as a whole: its agents, checkouts, clock and guards.

use serde::{Deserialize, Serialize};

use super::{Payload, is_false};
use crate::time::Time;

/// `project.created`: the first op of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Created {
    /// Its key.
    pub key: String,
    /// What people call it.
    pub label: String,
}

impl Payload for Created {
    fn sentence(&self, actor: &str, _: &str) -> String {
        format!("{actor} used this project for the first time")
    }
}

/// `project.restored`: the project goes on from a backup. Numbers have a gap before this event and before no other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Restored {
    /// The newest event of the backup.
    pub last_event: i64,
    /// When that was.
    pub last_time: Time,
    /// How many holds the restore ended.
    pub ended_holds: i64,
    /// Whether the file of the store was copied or put back, and nothing was restored on purpose.
    #[serde(skip_serializing_if = "is_false")]
    pub copied: bool,
}

impl Payload for Restored {
    fn sentence(&self, actor: &str, _: &str) -> String {
        let last = self.last_event;
        match self.copied {
            true => format!("the file of the store was copied or put back: this project continues after event {last}"),
            false => format!("{actor} restored this project from a backup that ends with event {last}"),
        }
    }
}

/// `agent.registered`: the first op of an agent, or an import that names one nobody has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRegistered {
    /// The agent's tool. Absent where an import named the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether an import named the agent.
    #[serde(skip_serializing_if = "is_false")]
    pub imported: bool,
}

impl Payload for AgentRegistered {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        match self.imported {
            true => format!("{actor} imported a task that is for {subject}"),
            false => format!("{actor} appeared"),
        }
    }
}

/// `agent.owned`: an agent belongs to another principal than before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentOwned {
    /// The principal, empty where the agent is a principal itself.
    pub owner: String,
    /// The principal before.
    pub was: String,
}

impl Payload for AgentOwned {
    fn sentence(&self, actor: &str, _: &str) -> String {
        match self.owner.as_str() {
            "" => format!("{actor} is itself from now on, and no longer an agent of {}", self.was),
            owner => format!("{actor} is an agent of {owner} from now on"),
        }
    }
}

/// `checkout.joined`: a copy of the repository was made a checkout of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckoutJoined {
    /// The machine it is on.
    pub host: String,
}

impl Payload for CheckoutJoined {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} made {subject} a checkout of this project")
    }
}

/// `clock.stepped`: the clock was set back by more than a minute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockStepped {
    /// How far.
    pub seconds: i64,
}

impl Payload for ClockStepped {
    fn sentence(&self, _: &str, _: &str) -> String {
        format!("the clock was set back by {} s", self.seconds)
    }
}

/// `guards.off`: a person switched the guards off for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardsOff {
    /// When they are on again.
    pub until: Option<Time>,
    /// For how long.
    pub for_s: i64,
}

impl Payload for GuardsOff {
    fn sentence(&self, actor: &str, _: &str) -> String {
        let until = self.until.map(|until| until.to_string()).unwrap_or_default();
        format!("{actor} switched the guards off until {until}")
    }
}

/// `guards.on`: a person switched them on again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardsOn {}

impl Payload for GuardsOn {
    fn sentence(&self, actor: &str, _: &str) -> String {
        format!("{actor} switched the guards on again")
    }
}
