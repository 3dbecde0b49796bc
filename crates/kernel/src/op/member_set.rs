//! Gives a principal a role in a project or in all of them, or takes it away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::access::{self, Role};
use tenure_core::{Result, event};
use tenure_store::table::member;

use crate::access::{known, of_store, unknown_principal};
use crate::shape;
use crate::unit::Unit;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Who: `person:NAME`, `service:NAME` or the name of an agent.
    pub principal: String,
    /// The key of the project, or `*` for every project that has no row of its own.
    pub project: String,
    /// The role from now on; none takes it away.
    #[serde(default)]
    pub role: Option<Role>,
}

impl Request {
    pub(crate) fn check(&self) -> Result<()> {
        // A role can be taken away from whoever has one.
        match self.role {
            Some(_) => access::outsider(&self.principal)?,
            None => access::principal(&self.principal)?,
        };
        access::project(&self.project).map(drop)
    }
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::Membership> {
    of_store(unit, "saying who may do what")?;
    let before = member::of(unit.tx, &request.principal)?.into_iter().find(|row| row.key == request.project);
    match request.role {
        Some(_) => drop(known(unit, &request.principal)?),
        None if tenure_store::table::principal::get(unit.tx, &request.principal)?.is_none() => {
            return Err(unknown_principal(&request.principal));
        }
        None => {}
    }
    if before.as_ref().map(|row| row.role) != request.role {
        match request.role {
            Some(role) => {
                let (principal, key) = (request.principal.clone(), request.project.clone());
                let row = member::Row { principal, key, role, set_at: unit.now, set_by: unit.me().to_owned() };
                member::put(unit.tx, &row)?;
            }
            None => member::delete(unit.tx, &request.principal, &request.project)?,
        }
        let data = json!({
            "project": request.project, "role": request.role, "before": before.as_ref().map(|row| row.role),
        });
        unit.append(event::kind::MEMBER_SET, &request.principal, "", None, &data)?;
    }
    Ok(shape::Membership {
        principal: request.principal.clone(),
        project: request.project.clone(),
        role: request.role,
        before: before.map(|row| row.role),
    })
}
