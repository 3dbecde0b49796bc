//! Disables a principal, or enables it again. While it is disabled, its tokens, links and sessions are invalid. Its
//! sessions are closed for good.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::access::{PrincipalDisabled, PrincipalEnabled};
use tenure_core::name::AgentName;
use tenure_core::{Result, access};
use tenure_store::table::{principal, web_session};

use super::operation::{Access, Domain, Door, Operation, Role};
use crate::access::{of_store, unknown_principal};
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalSet {
    /// Who.
    pub principal: AgentName,
    /// Whether to disable it.
    pub disabled: bool,
}

impl Operation for PrincipalSet {
    const NAME: &'static str = "principal_set";
    const ABOUT: &'static str = "Disable or enable a principal";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::store(Role::Admin);
    const DOMAIN: Domain = Domain::Store;
    type Answer = answer::Principal;

    fn check(&self) -> Result<()> {
        access::principal(&self.principal).map(drop)
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Principal> {
        of_store(work, "disabling access")?;
        let found = principal::get(work.tx, &self.principal)?;
        let mut row = found.ok_or_else(|| unknown_principal(&self.principal))?;
        if row.disabled_at.is_some() != self.disabled {
            row.disabled_at = self.disabled.then_some(work.now);
            principal::set_disabled(work.tx, &row.name, row.disabled_at)?;
            let closed = if self.disabled { web_session::close_all(work.tx, &row.name, work.now)? } else { 0 };
            let event = match self.disabled {
                true => Event::PrincipalDisabled(PrincipalDisabled { closed }),
                false => Event::PrincipalEnabled(PrincipalEnabled {}),
            };
            work.append(About::of(&row.name), event)?;
        }
        Ok(answer::Principal::of(&row))
    }
}
