//! Confirms that an offer was shown. Only then is it not offered again. Doors call it, not people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_core::number::EventNumber;
use tenure_store::table::delivery;

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::unit_of_work::UnitOfWork;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirm {
    /// The number of the last event that was shown.
    #[serde(default)]
    pub events: Option<EventNumber>,
    /// The number of the last message that was shown.
    #[serde(default)]
    pub mail: Option<EventNumber>,
}

impl Operation for Confirm {
    const NAME: &'static str = "confirm";
    const ABOUT: &'static str = "Confirm what a client has shown; called by clients";
    const DOORS: &'static [Door] = &[];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Confirmed;

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Confirmed> {
        let me = work.me();
        let project = work.project.id.clone();
        let Some(mut row) = work.tx.fetch(delivery::get(&project, me))? else {
            return Ok(answer::Confirmed { events: EventNumber::START, mail: EventNumber::START });
        };
        let before = row;
        // A cursor never goes back and never passes what was offered: the client cannot have seen more.
        row.confirmed = row.confirmed.max(self.events.unwrap_or_default().min(row.offered));
        row.mail_confirmed = row.mail_confirmed.max(self.mail.unwrap_or_default().min(row.mail_offered));
        if row != before {
            delivery::put(work.tx, &project, me, &row)?;
        }
        Ok(answer::Confirmed { events: row.confirmed, mail: row.mail_confirmed })
    }
}
