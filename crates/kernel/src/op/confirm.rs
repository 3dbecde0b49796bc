//! Says that what was offered was shown: only then is it not offered again. Doors call it, nobody types it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_store::table::delivery;

use super::operation::{Access, Door, Operation, Role};
use crate::shape;
use crate::unit::Unit;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirm {
    /// Events up to this number were shown.
    #[serde(default)]
    pub events: Option<i64>,
    /// Mail up to this number was shown.
    #[serde(default)]
    pub mail: Option<i64>,
}

impl Operation for Confirm {
    const NAME: &'static str = "confirm";
    const ABOUT: &'static str = "Says that what was offered was shown; doors call it, nobody types it";
    const DOORS: &'static [Door] = &[];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = shape::Confirmed;

    fn apply(&self, unit: &mut Unit<'_>) -> Result<shape::Confirmed> {
        let me = unit.me();
        let project = unit.project.id.clone();
        let Some(mut row) = unit.tx.fetch(delivery::get(&project, me))? else {
            return Ok(shape::Confirmed { events: 0, mail: 0 });
        };
        let before = row;
        // A cursor never goes back and never passes what was offered: the client cannot have seen more.
        row.confirmed = row.confirmed.max(self.events.unwrap_or(0).min(row.offered));
        row.mail_confirmed = row.mail_confirmed.max(self.mail.unwrap_or(0).min(row.mail_offered));
        if row != before {
            delivery::put(unit.tx, &project, me, &row)?;
        }
        Ok(shape::Confirmed { events: row.confirmed, mail: row.mail_confirmed })
    }
}
