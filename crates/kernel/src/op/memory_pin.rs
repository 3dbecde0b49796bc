//! Pins a memory, so that every brief shows it, or takes the pin out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::memory::Pinned;
use tenure_core::id::MemoryId;
use tenure_core::memory::PINS_MAX;
use tenure_core::{Code, Error, Result};
use tenure_store::table::memory as table;

use super::memory_forget::own;
use super::operation::{Access, Door, Operation, Role};
use crate::access::operator;
use crate::shape;
use crate::unit::{About, Unit, people_only};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryPin {
    /// The memory.
    pub memory: MemoryId,
    /// Whether it is pinned from now on.
    pub pinned: bool,
}

impl Operation for MemoryPin {
    const NAME: &'static str = "memory_pin";
    const ABOUT: &'static str = "Pins a memory or takes the pin out";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    // A memory that every agent is shown needs an operator, which `apply` checks.
    const ACCESS: Access = Access { project: Some(Role::Worker), store: Some(Role::Admin) };
    type Answer = shape::Memory;

    fn apply(&self, unit: &mut Unit<'_>) -> Result<shape::Memory> {
        let mut row = own(unit, &self.memory)?;
        if row.scope.is_shared() && !unit.call.actor.is_person() {
            return Err(people_only("pinning for everybody"));
        }
        if row.scope.is_shared() {
            operator(unit, "memory_pin")?;
        }
        if row.pinned != self.pinned {
            let most = usize::try_from(PINS_MAX).unwrap_or(usize::MAX);
            let pins = table::pinned(unit.tx, &unit.project.id, &row.scope, unit.now, most)?;
            if self.pinned && pins.len() >= most {
                return Err(Error::new(
                    Code::TooManyPins,
                    format!("{most} memories are pinned there, and no more fit"),
                )
                .entity(&row.id)
                .attempt(Action::ListMemories { pinned: true })
                .hint("Take another pin out first."));
            }
            row.pinned = self.pinned;
            table::set_pinned(unit.tx, &unit.project.id, &row.id, row.pinned)?;
            let pinned = Pinned {
                pinned: row.pinned,
                key: row.key.clone(),
                scope: Some(row.scope.word().to_owned()),
                of: row.scope.subject().to_owned(),
            };
            unit.append(About::of(&row.id), Event::MemoryPinned(pinned))?;
        }
        Ok(shape::Memory::of(&row))
    }
}
