//! Makes a copy of the repository a checkout of the project: a person says that both are one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_core::{Error, Kind, Result, event};

use crate::unit::{Unit, people_only};

/// The request. The checkout is the one the call comes from.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {}

pub(crate) fn apply(unit: &mut Unit<'_>, _: &Request) -> Result<Value> {
    if !unit.call.actor.is_person() {
        return Err(people_only("joining a copy to a project"));
    }
    let Some(here) = unit.call.checkout.as_ref() else {
        return Err(Error::refused(Kind::Usage, "no_checkout", "there is no repository here to join"));
    };
    // The checkout itself was written down when the unit registered what it sees for the first time.
    unit.append(event::kind::CHECKOUT_JOINED, &here.path, "", None, &json!({ "host": here.host }))?;
    Ok(json!({ "project": unit.project.key, "checkout": here.path }))
}
