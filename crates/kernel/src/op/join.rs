//! Make a copy of the repository a checkout of the project. A person decides that both are one project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::project::CheckoutJoined;
use tenure_core::{Code, Error, Result};

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork, people_only};

/// The request. The checkout is the one the call comes from.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Join {}

impl Operation for Join {
    const NAME: &'static str = "join";
    const ABOUT: &'static str = "Make a copy of the repository a checkout of the project";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Admin);
    type Answer = answer::Joined;

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Joined> {
        if !work.call.actor.is_person() {
            return Err(people_only("joining a copy to a project"));
        }
        let Some(here) = work.call.checkout.as_ref() else {
            return Err(Error::new(Code::NoCheckout, "the request names no repository to join"));
        };
        // The unit of work recorded the checkout when it first saw it.
        let joined = CheckoutJoined { host: here.host.clone() };
        work.append(About::of(&here.path), Event::CheckoutJoined(joined))?;
        Ok(answer::Joined { checkout: here.path.clone(), project: work.project.key.clone() })
    }
}
