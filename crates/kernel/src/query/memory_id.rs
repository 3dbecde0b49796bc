//! `memory_id`: the memory with a typed id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::memory::MemoryScope;
use tenure_core::{Kind, Result, id};
use tenure_store::table::{memory, project};

use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;

/// The memory whose id begins with a text, and whether it belongs to the whole store.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveMemory {
    /// Any unique beginning of the id.
    pub typed: String,
}

impl Query for ResolveMemory {
    const NAME: &'static str = "memory_id";
    const ABOUT: &'static str = "Find the memory whose id begins with a text, and its scope";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access { project: Some(Role::Viewer), store: Some(Role::Admin) };
    type Answer = (bool, String);

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<(bool, String)> {
        let typed = self.typed.as_str();
        let letter = format!("{}-", id::Sort::Memory.letter());
        let unknown = || id::unknown(typed, id::Sort::Memory);
        if typed.is_empty() || !id::is_prefix(typed) {
            return Err(unknown());
        }
        let prefix = if typed.starts_with(&letter) { typed.to_owned() } else { format!("{letter}{typed}") };
        kernel.in_snapshot(call, |tx, snapshot| {
            let me = MemoryScope::Agent(snapshot.call.actor.name.clone());
            let mut found = Vec::new();
            let whole = project::enter(tx, project::WHOLE_STORE, project::LockMode::Read)?.1;
            for (of_store, project) in
                [(false, Some(snapshot.project_id())), (true, whole.as_ref().map(|row| row.id.as_str()))]
            {
                let Some(project) = project else { continue };
                let ids = memory::beginning(tx, project, &prefix, 11)?;
                let rows = memory::get_many(tx, project, &ids)?;
                // The memories of other agents do not exist for the caller.
                let seen =
                    rows.into_iter().filter(|row| !matches!(row.scope, MemoryScope::Agent(_)) || row.scope == me);
                found.extend(seen.map(|row| (of_store, row.id)));
            }
            let ids = found.iter().map(|(_, id)| id.clone()).collect();
            let id = id::resolve(&prefix, id::Sort::Memory, ids).map_err(|error| match error.kind() {
                Kind::NotFound => unknown(),
                _ => error,
            })?;
            let of_store = found.iter().any(|(of_store, known)| *of_store && *known == id);
            Ok((of_store, id.into()))
        })
    }
}
