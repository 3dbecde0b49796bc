//! Switch the guards of a project off for a while, or on again. Only a person may: a guard that the guarded agents
//! could switch off would be useless.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::project::{GuardsOff, GuardsOn};
use tenure_core::{Result, Span, guard};

use super::operation::{Access, Door, Operation, Role};
use crate::answer::GuardState;
use crate::unit_of_work::{About, UnitOfWork, people_only};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Off {
    /// The duration, up to 24 hours; by default one hour; 0 switches the guards on again.
    #[serde(default)]
    pub for_s: Option<i64>,
}

impl Off {
    fn span(&self) -> Result<Span> {
        // Clamped, because a larger number would overflow in microseconds.
        let seconds = self.for_s.map(|seconds| seconds.clamp(-1, guard::OFF_MAX.as_seconds() + 1));
        guard::off_for(seconds.map_or(guard::OFF, Span::seconds))
    }
}

impl Operation for Off {
    const NAME: &'static str = "off";
    const ABOUT: &'static str = "Switch the guards of a project off for a while, or on again";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Operator);
    type Answer = GuardState;

    fn check(&self) -> Result<()> {
        self.span().map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<GuardState> {
        let project = work.project.id.clone();
        if !work.call.actor.is_person() {
            return Err(people_only("switching the guards off"));
        }
        let span = self.span()?;
        let before = guard::off_until(work.now, work.project.off_until);
        let until = (span > Span(0)).then_some(work.now + span);
        work.project.off_until = until;
        work.project.off_by = until.map(|_| work.me().clone());
        if until.is_some() {
            let off = GuardsOff { until, for_s: span.as_seconds() };
            work.append(About::of(&project), Event::GuardsOff(off))?;
        } else if before.is_some() {
            work.append(About::of(&project), Event::GuardsOn(GuardsOn {}))?;
        }
        Ok(GuardState::of(&work.project, work.now))
    }
}
