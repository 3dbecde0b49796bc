//! Makes a copy of the repository a checkout of the project: a person says that both are one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::project::CheckoutJoined;
use tenure_core::{Code, Error, Result};

use super::operation::{Access, Door, Operation, Role};
use crate::shape;
use crate::unit::{About, Unit, people_only};

/// The request. The checkout is the one the call comes from.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Join {}

impl Operation for Join {
    const NAME: &'static str = "join";
    const ABOUT: &'static str = "Makes a copy of the repository a checkout of the project";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Admin);
    type Answer = shape::Joined;

    fn apply(&self, unit: &mut Unit<'_>) -> Result<shape::Joined> {
        if !unit.call.actor.is_person() {
            return Err(people_only("joining a copy to a project"));
        }
        let Some(here) = unit.call.checkout.as_ref() else {
            return Err(Error::new(Code::NoCheckout, "there is no repository here to join"));
        };
        // The checkout itself was written down when the unit registered what it sees for the first time.
        let joined = CheckoutJoined { host: here.host.clone() };
        unit.append(About::of(&here.path), Event::CheckoutJoined(joined))?;
        Ok(shape::Joined { checkout: here.path.clone(), project: unit.project.key.clone() })
    }
}
