//! Revokes a token. It is invalid from the commit on. Its row stays, so that the log remains readable.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::access::TokenRevoked;
use tenure_core::id::TokenId;
use tenure_core::{Result, id};
use tenure_store::table::token;

use super::operation::{Access, Domain, Door, Operation, Role};
use crate::access::of_store;
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRevoke {
    /// The token's id.
    pub token: TokenId,
}

impl Operation for TokenRevoke {
    const NAME: &'static str = "token_revoke";
    const ABOUT: &'static str = "Revoke a token";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::store(Role::Admin);
    const DOMAIN: Domain = Domain::Store;
    type Answer = answer::Token;

    fn check(&self) -> Result<()> {
        id::named(&self.token, id::Sort::Token)
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Token> {
        of_store(work, "revoking tokens")?;
        let found = token::get(work.tx, &self.token)?;
        let mut row = found.ok_or_else(|| id::unknown(&self.token, id::Sort::Token))?;
        // Revoking a token twice succeeds and keeps the first time.
        if row.revoked.is_none() {
            row.revoked = Some(token::Revoked { at: work.now, by: work.me().clone() });
            let me = work.me();
            token::revoke(work.tx, &row.id, work.now, me)?;
            let revoked = TokenRevoked { principal: row.principal.to_string(), label: row.label.clone() };
            work.append(About::of(&row.id), Event::TokenRevoked(revoked))?;
        }
        Ok(answer::Token::of(&row, work.now))
    }
}
