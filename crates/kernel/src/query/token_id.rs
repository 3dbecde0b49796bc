//! `token_id`: the token with a typed id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, id};
use tenure_store::table::token;

use super::query::{Access, Domain, Query, Role};
use super::tokens::people;
use crate::call::Call;
use crate::kernel::Kernel;

/// The id of a token that begins with a text; its kind letter may be left out.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveToken {
    /// Any unique beginning of the id.
    pub typed: String,
}

impl Query for ResolveToken {
    const NAME: &'static str = "token_id";
    const ABOUT: &'static str = "Find the token whose id begins with a text";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::store(Role::Admin);
    const DOMAIN: Domain = Domain::Store;
    type Answer = String;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<String> {
        let typed = self.typed.as_str();
        people(call)?;
        if typed.is_empty() || !id::is_prefix(typed) {
            return Err(id::unknown(typed, id::Sort::Token));
        }
        let prefix = if typed.starts_with("k-") { typed.to_owned() } else { format!("k-{typed}") };
        kernel.in_snapshot(call, |tx, _| {
            id::resolve(&prefix, id::Sort::Token, token::beginning(tx, &prefix, 11)?).map(String::from)
        })
    }
}
