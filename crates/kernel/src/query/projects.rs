//! `projects`: the projects of a store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_store::Tx;
use tenure_store::table::project;

use super::query::{Access, Domain, Query, Role};
use super::{limit, page};
use crate::access;
use crate::answer::{Page, ProjectOverview};
use crate::call::Call;
use crate::kernel::Kernel;

/// A page of the projects in this store, by key.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Projects {
    /// Page size.
    #[serde(default = "super::usual")]
    pub limit: usize,
    /// Where the page begins.
    #[serde(default)]
    pub cursor: Option<String>,
}

impl Query for Projects {
    const NAME: &'static str = "projects";
    const ABOUT: &'static str = "List the projects of the store";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    const DOMAIN: Domain = Domain::Anywhere;
    type Answer = Page<ProjectOverview>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Page<ProjectOverview>> {
        let (rows, cursor) = (self.limit, self.cursor.as_deref());
        limit(rows)?;
        kernel.in_snapshot_anywhere(call, |tx, _| {
            let found = visible(tx, call, cursor.unwrap_or_default(), rows + 1)?;
            Ok(page(found, rows, cursor, |row| row.key.to_string(), |row| ProjectOverview::of(row, &call.project.key)))
        })
    }
}

/// The projects that the caller may see, by key. For the caller, the others do not exist.
fn visible(tx: &mut dyn Tx, call: &Call, after: &str, limit: usize) -> Result<Vec<project::ProjectSummary>> {
    let mut seen = Vec::new();
    let mut after = after.to_owned();
    loop {
        let page = project::list(tx, &after, limit)?;
        let last = page.last().map(|row| row.key.to_string());
        let whole = page.len() == limit;
        seen.extend(page.into_iter().filter(|row| access::sees(call, &row.key)));
        match last {
            Some(last) if whole && seen.len() < limit => after = last,
            _ => break,
        }
    }
    seen.truncate(limit);
    Ok(seen)
}
