//! Guards as answers show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Time, guard};
use tenure_store::table::{path, project};

use super::Instant;

/// Whether the guards of a project are off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Guards {
    /// Whether they are.
    pub off: bool,
    /// Until when.
    pub until: Option<Instant>,
    /// How long until then.
    pub until_s: Option<i64>,
    /// Who switched them off.
    pub by: Option<String>,
}

impl Guards {
    pub(crate) fn of(row: &project::Row, now: Time) -> Guards {
        let Some(until) = guard::off_until(now, row.off_until) else { return Guards::default() };
        Guards {
            off: true,
            until: Some(until.to_string()),
            until_s: Some((until - now).as_seconds()),
            by: Some(row.off_by.clone()),
        }
    }
}

/// What the edit guard took.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Guarded {
    /// The agent.
    pub agent: String,
    /// Holds that were granted now: what a door gives back if the edit is refused for another reason.
    pub granted: Vec<String>,
    /// Files that others hold in other checkouts of the project.
    pub elsewhere: Vec<Elsewhere>,
}

/// A file that two agents hold in different checkouts: neither stands in the other's way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Elsewhere {
    /// The file.
    pub path: String,
    /// The other agent.
    pub holder: String,
    /// The top of its checkout.
    pub checkout: String,
    /// Since when both hold it.
    pub since: Instant,
}

impl Elsewhere {
    pub(crate) fn of(row: path::Elsewhere) -> Elsewhere {
        Elsewhere { path: row.subject, holder: row.holder, checkout: row.path, since: row.since.to_string() }
    }
}
