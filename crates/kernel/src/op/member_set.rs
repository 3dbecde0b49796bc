//! Gives a principal a role in a project or in all projects, or removes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_core::access::{self, Role};
use tenure_core::event::{self, Event};
use tenure_core::name::{AgentName, ProjectKey};
use tenure_store::table::member;

use super::operation::{Access, Domain, Door, Operation};
use crate::access::{known, of_store, unknown_principal};
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberSet {
    /// The principal: `person:NAME`, `service:NAME` or the name of an agent.
    pub principal: AgentName,
    /// The key of the project, or `*` for every project without a row of its own.
    pub project: ProjectKey,
    /// The new role; null removes the role.
    #[serde(default)]
    pub role: Option<Role>,
}

impl Operation for MemberSet {
    const NAME: &'static str = "member_set";
    const ABOUT: &'static str = "Set or remove the role of a principal in a project";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::store(Role::Admin);
    const DOMAIN: Domain = Domain::Store;
    type Answer = answer::Membership;

    fn check(&self) -> Result<()> {
        // A role can be removed from any principal that has one.
        match self.role {
            Some(_) => access::outsider(&self.principal)?,
            None => access::principal(&self.principal)?,
        };
        access::project(&self.project).map(drop)
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Membership> {
        of_store(work, "managing access")?;
        let before = member::of(work.tx, &self.principal)?.into_iter().find(|row| row.key == self.project);
        match self.role {
            Some(_) => drop(known(work, &self.principal)?),
            None if tenure_store::table::principal::get(work.tx, &self.principal)?.is_none() => {
                return Err(unknown_principal(&self.principal));
            }
            None => {}
        }
        if before.as_ref().map(|row| row.role) != self.role {
            match self.role {
                Some(role) => {
                    let (principal, key) = (self.principal.clone(), self.project.clone());
                    let row = member::Row { principal, key, role, set_at: work.now, set_by: work.me().clone() };
                    member::put(work.tx, &row)?;
                }
                None => member::delete(work.tx, &self.principal, &self.project)?,
            }
            let set = event::access::MemberRoleSet {
                project: self.project.to_string(),
                role: self.role,
                before: before.as_ref().map(|row| row.role),
            };
            work.append(About::of(&self.principal), Event::MemberSet(set))?;
        }
        Ok(answer::Membership {
            principal: self.principal.clone(),
            project: self.project.clone(),
            role: self.role,
            before: before.map(|row| row.role),
        })
    }
}
