//! The answers to the ops on a project itself: `join`, `forget`, `switch_on`.
//!
//! Their fields are in alphabetical order: earlier answers, which replays return, are stored so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::name::{AgentName, ProjectKey};

/// The answer to `join`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Joined {
    /// The path of the checkout.
    pub checkout: String,
    /// The project's key.
    pub project: ProjectKey,
}

/// The answer to `forget`: what was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forgotten {
    /// How many events the project had.
    pub events: i64,
    /// Its key.
    pub key: ProjectKey,
    /// Its name.
    pub label: String,
    /// The agents whose holds were ended by it.
    pub overrode: Vec<AgentName>,
    /// How many tasks it had.
    pub tasks: i64,
}

/// The answer to `switch_on`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchedOn {
    /// The project's key.
    pub project: ProjectKey,
    /// Always true.
    pub switched_on: bool,
}
