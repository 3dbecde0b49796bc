//! Pins a memory, so that every brief shows it, or unpins it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::memory::MemoryPinned;
use tenure_core::id::MemoryId;
use tenure_core::memory::PINS_MAX;
use tenure_core::{Code, Error, Result};
use tenure_store::table::memory as table;

use super::memory_forget::own;
use super::operation::{Access, Door, Operation, Role};
use crate::access::operator;
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork, people_only};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryPin {
    /// The memory.
    pub memory: MemoryId,
    /// Whether to pin it.
    pub pinned: bool,
}

impl Operation for MemoryPin {
    const NAME: &'static str = "memory_pin";
    const ABOUT: &'static str = "Pin or unpin a memory";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    // A memory that is shown to every agent needs an operator, which `apply` checks.
    const ACCESS: Access = Access { project: Some(Role::Worker), store: Some(Role::Admin) };
    type Answer = answer::Memory;

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Memory> {
        let mut row = own(work, &self.memory)?;
        if row.scope.is_shared() && !work.call.actor.is_person() {
            return Err(people_only("pinning for all"));
        }
        if row.scope.is_shared() {
            operator(work, "memory_pin")?;
        }
        if row.pinned != self.pinned {
            let most = usize::try_from(PINS_MAX).unwrap_or(usize::MAX);
            let pins = table::pinned(work.tx, &work.project.id, &row.scope, work.now, most)?;
            if self.pinned && pins.len() >= most {
                return Err(Error::new(
                    Code::TooManyPins,
                    format!("{most} memories are pinned there already, which is the limit"),
                )
                .entity(&row.id)
                .attempt(Action::ListMemories { pinned: true })
                .hint("Unpin another memory first."));
            }
            row.pinned = self.pinned;
            table::set_pinned(work.tx, &work.project.id, &row.id, row.pinned)?;
            let pinned = MemoryPinned {
                pinned: row.pinned,
                key: row.key.clone(),
                scope: Some(row.scope.word().to_owned()),
                of: row.scope.subject().to_owned(),
            };
            work.append(About::of(&row.id), Event::MemoryPinned(pinned))?;
        }
        Ok(answer::Memory::of(&row))
    }
}
