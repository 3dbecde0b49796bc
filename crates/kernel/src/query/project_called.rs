//! `project_called`: the project with a key or a name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::access::unknown_project;
use tenure_core::error::detail::Candidates;
use tenure_core::text::excerpt;
use tenure_core::{Code, Error, Result};
use tenure_store::table::project;

use super::query::{Access, Domain, Query, Role};
use crate::access;
use crate::answer::ProjectName;
use crate::call::Call;
use crate::kernel::Kernel;

/// How many candidates are listed for an ambiguous name.
const CANDIDATES: usize = 10;
/// How many projects with one name are read.
const CALLED_MAX: usize = 1_000;

/// The one project that has this key or this name. A forgotten project is found only where it is asked for, by a caller
/// that repeats the call which forgot it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectCalled {
    /// The key or the name.
    pub name: String,
    /// Whether one that was forgotten counts.
    #[serde(default)]
    pub also_forgotten: bool,
}

impl Query for ProjectCalled {
    const NAME: &'static str = "project_called";
    const ABOUT: &'static str = "Find the project with a given key or name";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    const DOMAIN: Domain = Domain::Anywhere;
    type Answer = ProjectName;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<ProjectName> {
        let mut found = kernel.in_snapshot_anywhere(call, |tx, _| project::called(tx, &self.name, CALLED_MAX))?;
        found.retain(|row| access::sees(call, &row.key));
        if !self.also_forgotten || found.iter().any(|row| row.events > 0) {
            found.retain(|row| row.events > 0);
        }
        let exact = found.iter().position(|row| row.key == self.name);
        let named = |row: project::ProjectSummary| ProjectName { key: row.key, label: row.label };
        match (exact, found.len()) {
            (Some(at), _) => Ok(named(found.swap_remove(at))),
            (None, 1) => Ok(named(found.swap_remove(0))),
            (None, 0) => Err(unknown_project(&self.name)),
            (None, _) => {
                let keys: Vec<String> = found.into_iter().take(CANDIDATES).map(|row| row.key.into()).collect();
                Err(Error::usage(
                    Code::AmbiguousProject,
                    format!("several projects have the name `{}`", excerpt(&self.name)),
                )
                .entity(excerpt(&self.name))
                .hint("Give the key instead.")
                .with(&Candidates(keys)))
            }
        }
    }
}
