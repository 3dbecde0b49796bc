//! The answers of the ops on a project itself (`join`, `forget`, `switch_on`), and the name of a project.
//!
//! The fields are in alphabetical order, because earlier answers are stored in that order and replays return them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::name::{AgentName, ProjectKey};
use tenure_store::table::project;

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
#[schemars(rename = "SwitchedOn")]
pub struct ProjectSwitchedOn {
    /// The project's key.
    pub project: ProjectKey,
    /// Always true.
    pub switched_on: bool,
}

/// The key of a project and what people call it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectName {
    /// The key: `name:…`, `id:…`, `url:…` or `dir:…`.
    pub key: ProjectKey,
    /// The name for people.
    pub label: String,
}

impl From<ProjectName> for project::NamedProject {
    fn from(ProjectName { key, label }: ProjectName) -> project::NamedProject {
        project::NamedProject { key, label }
    }
}
