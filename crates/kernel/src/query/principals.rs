//! `principals`: all principals that have or had access.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, access};
use tenure_store::table::principal;

use super::query::{Access, Domain, Query, Role};
use super::tokens::people;
use super::{bad_cursor, limit, page};
use crate::answer::{Page, Principal};
use crate::call::Call;
use crate::kernel::Kernel;

/// A page of principals, by name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Principals {
    /// Page size.
    #[serde(default = "super::usual")]
    pub limit: usize,
    /// Where the page begins.
    #[serde(default)]
    pub cursor: Option<String>,
}

impl Query for Principals {
    const NAME: &'static str = "principals";
    const ABOUT: &'static str = "List all principals";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::store(Role::Admin);
    const DOMAIN: Domain = Domain::Store;
    type Answer = Page<Principal>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Page<Principal>> {
        let (rows, cursor) = (self.limit, self.cursor.as_deref());
        limit(rows)?;
        people(call)?;
        if let Some(text) = cursor.filter(|text| access::principal(text).is_err()) {
            return Err(bad_cursor(text));
        }
        kernel.in_snapshot(call, |tx, _| {
            let found = principal::list(tx, cursor.unwrap_or_default(), rows + 1)?;
            Ok(page(found, rows, cursor, |row| row.name.to_string(), Principal::of))
        })
    }
}
