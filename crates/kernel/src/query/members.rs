//! `members`: the roles of principals in projects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, access};
use tenure_store::table::member;

use super::query::{Access, Domain, Query, Role};
use super::tokens::people;
use super::{bad_cursor, limit, page};
use crate::answer::{Member, Page};
use crate::call::Call;
use crate::kernel::Kernel;

/// A page of memberships by principal and project: of a principal, in a project, or all there are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Members {
    /// Only of this principal.
    #[serde(default)]
    pub principal: Option<String>,
    /// Only in the project with this key, unless a principal is named.
    #[serde(default)]
    pub project: Option<String>,
    /// Page size.
    #[serde(default = "super::usual")]
    pub limit: usize,
    /// Where the page begins.
    #[serde(default)]
    pub cursor: Option<String>,
}

impl Query for Members {
    const NAME: &'static str = "members";
    const ABOUT: &'static str = "List principals with their roles and projects";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::store(Role::Admin);
    const DOMAIN: Domain = Domain::Store;
    type Answer = Page<Member>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Page<Member>> {
        let (rows, cursor) = (self.limit, self.cursor.as_deref());
        let (principal, project) = (self.principal.as_deref(), self.project.as_deref());
        limit(rows)?;
        people(call)?;
        match (principal, project) {
            (Some(name), _) => drop(access::principal(name)?),
            (None, Some(key)) => drop(access::project(key)?),
            (None, None) => {}
        }
        let after = match cursor {
            None => ("", ""),
            // A name contains no space.
            Some(text) => text
                .split_once(' ')
                .filter(|(name, _)| access::principal(name).is_ok())
                .ok_or_else(|| bad_cursor(text))?,
        };
        if let Some(text) = cursor.filter(|_| access::project(after.1).is_err()) {
            return Err(bad_cursor(text));
        }
        kernel.in_snapshot(call, |tx, _| {
            let found = match principal {
                None => member::list(tx, project, after, rows + 1)?,
                // At most as many rows as projects, which are few.
                Some(name) => {
                    let mut own = member::of(tx, name)?;
                    own.retain(|row| (row.principal.as_str(), row.key.as_str()) > after);
                    own
                }
            };
            Ok(page(found, rows, cursor, |row| format!("{} {}", row.principal, row.key), Member::of))
        })
    }
}
