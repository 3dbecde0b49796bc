//! `tokens`: the tokens of a store, without their hashes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, access, id};
use tenure_store::table::token;

use super::query::{Access, Domain, Query, Role};
use super::{bad_cursor, limit, page};
use crate::answer::{Page, Token};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::unit_of_work::people_only;

/// A page of tokens by id, of one principal where it is named. Never a hash.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// Only of this principal.
    #[serde(default)]
    pub principal: Option<String>,
    /// Page size.
    #[serde(default = "super::usual")]
    pub limit: usize,
    /// Where the page begins.
    #[serde(default)]
    pub cursor: Option<String>,
}

impl Query for Tokens {
    const NAME: &'static str = "tokens";
    const ABOUT: &'static str = "List the tokens of the store, without their hashes";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::store(Role::Admin);
    const DOMAIN: Domain = Domain::Store;
    type Answer = Page<Token>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Page<Token>> {
        let (of, rows, cursor) = (self.principal.as_deref(), self.limit, self.cursor.as_deref());
        limit(rows)?;
        if let Some(text) = cursor.filter(|text| id::check(text, id::Sort::Token).is_err()) {
            return Err(bad_cursor(text));
        }
        people(call)?;
        of.map(access::principal).transpose()?;
        kernel.in_snapshot(call, |tx, snapshot| {
            let found = token::list(tx, of, cursor.unwrap_or_default(), rows + 1)?;
            Ok(page(found, rows, cursor, |row| row.id.to_string(), |row| Token::of(row, snapshot.now)))
        })
    }
}

/// Refuses agents: only people see who has access. The role of a principal has been checked before.
pub(super) fn people(call: &Call) -> Result<()> {
    if call.actor.principal.is_none() && !call.actor.is_person() {
        return Err(people_only("who has access"));
    }
    Ok(())
}
