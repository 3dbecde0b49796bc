//! Forgets a memory. Its text stays in the log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::memory::MemoryForgotten;
use tenure_core::id::MemoryId;
use tenure_core::memory::MemoryScope;
use tenure_core::{Result, id};
use tenure_store::table::memory as table;

use super::operation::{Access, Door, Operation, Role};
use crate::access::operator;
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork, people_only};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryForget {
    /// The memory.
    pub memory: MemoryId,
}

impl Operation for MemoryForget {
    const NAME: &'static str = "memory_forget";
    const ABOUT: &'static str = "Delete a memory";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    // A memory that is shown to every agent needs an operator, which `apply` checks.
    const ACCESS: Access = Access { project: Some(Role::Worker), store: Some(Role::Admin) };
    type Answer = answer::Memory;

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Memory> {
        let row = own(work, &self.memory)?;
        // Only people pin a memory for everyone, and only they remove it.
        if row.pinned && row.scope.is_shared() && !work.call.actor.is_person() {
            return Err(people_only("deleting a memory that is pinned for all"));
        }
        if row.pinned && row.scope.is_shared() {
            operator(work, "memory_forget")?;
        }
        table::delete(work.tx, &work.project.id, &row)?;
        let forgotten = MemoryForgotten {
            key: row.key.clone(),
            scope: Some(row.scope.word().to_owned()),
            of: row.scope.subject().to_owned(),
            kind: row.kind,
            text: row.text.clone(),
        };
        work.append(About::of(&row.id), Event::MemoryForgotten(forgotten))?;
        Ok(answer::Memory::of(&row))
    }
}

/// A memory that the actor may see. The memories of other agents do not exist for it.
pub(super) fn own(work: &mut UnitOfWork<'_>, memory: &str) -> Result<table::Row> {
    let found = table::get(work.tx, &work.project.id, memory)?.filter(|row| !row.is_over(work.now));
    let mine = |row: &table::Row| !matches!(&row.scope, MemoryScope::Agent(agent) if agent != work.me());
    found.filter(mine).ok_or_else(|| id::unknown(memory, id::Sort::Memory))
}
