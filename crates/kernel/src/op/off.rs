//! Switches the guards of a project off for a while, or on again. Only a person may: a guard that those it guards could
//! switch off would be none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::project::{GuardsOff, GuardsOn};
use tenure_core::{Result, Span, guard};

use super::operation::{Access, Door, Operation, Role};
use crate::shape::Guards;
use crate::unit::{About, Unit, people_only};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Off {
    /// For how long, up to 24 hours; one hour without it; 0 switches them on again.
    #[serde(default)]
    pub for_s: Option<i64>,
}

impl Off {
    fn span(&self) -> Result<Span> {
        // Counted in microseconds, more would not fit.
        let seconds = self.for_s.map(|seconds| seconds.clamp(-1, guard::OFF_MAX.as_seconds() + 1));
        guard::off_for(seconds.map_or(guard::OFF, Span::seconds))
    }
}

impl Operation for Off {
    const NAME: &'static str = "off";
    const ABOUT: &'static str = "Switches the guards of a project off for a while, or on again";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Operator);
    type Answer = Guards;

    fn check(&self) -> Result<()> {
        self.span().map(|_| ())
    }

    fn apply(&self, unit: &mut Unit<'_>) -> Result<Guards> {
        let project = unit.project.id.clone();
        if !unit.call.actor.is_person() {
            return Err(people_only("switching the guards off"));
        }
        let span = self.span()?;
        let before = guard::off_until(unit.now, unit.project.off_until);
        let until = (span > Span(0)).then_some(unit.now + span);
        unit.project.off_until = until;
        unit.project.off_by = until.map(|_| unit.me().clone());
        if until.is_some() {
            let off = GuardsOff { until, for_s: span.as_seconds() };
            unit.append(About::of(&project), Event::GuardsOff(off))?;
        } else if before.is_some() {
            unit.append(About::of(&project), Event::GuardsOn(GuardsOn {}))?;
        }
        Ok(Guards::of(&unit.project, unit.now))
    }
}
