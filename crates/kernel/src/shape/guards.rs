//! Guards as answers show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Time, guard};
use tenure_store::table::project;

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
