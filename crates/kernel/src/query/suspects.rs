//! `suspects`: the processes that a door checks before an op.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_core::agent::Process;
use tenure_core::name::AgentName;
use tenure_store::table::{agent, session};

use super::query::{Access, Query, Role};
use crate::access;
use crate::call::Call;
use crate::kernel::Kernel;

/// List the holders on one machine whose process is known.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suspects {
    /// The id of the machine.
    pub host: String,
}

/// An agent that holds something, and the process it can be judged by.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Suspect {
    /// The agent.
    pub name: AgentName,
    /// Its tool's process.
    pub process: Process,
}

impl Query for Suspects {
    const NAME: &'static str = "suspects";
    const ABOUT: &'static str = "List the holders on one machine whose process is known";
    const PUBLIC: bool = false;
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = Vec<Suspect>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Vec<Suspect>> {
        let host = self.host.as_str();
        kernel.in_snapshot(call, |tx, snapshot| {
            let holders =
                agent::holders(tx, snapshot.project_id(), host)?.into_iter().map(|row| (row.name, row.process));
            let mut found: Vec<(AgentName, Process)> = holders.collect();
            if snapshot.project.is_some_and(|project| project.waiting > 0) {
                for waiter in agent::waiters(tx, snapshot.project_id(), host)? {
                    if !found.iter().any(|(name, _)| *name == waiter.name) {
                        found.push((waiter.name, waiter.process));
                    }
                }
            }
            // An agent may run in more processes than the one it was last seen in. A process that sent only one event
            // may be the one that started the hook rather than the tool, and is gone in a moment.
            for (name, process, again) in session::of_holders(tx, snapshot.project_id(), host)? {
                let session = (name, process);
                if !again {
                    found.retain(|known| *known != session);
                } else if !host.is_empty() && !found.contains(&session) {
                    found.push(session);
                }
            }
            if call.actor.principal.is_some() {
                // A remote caller is not believed about the death of others' agents, so it is not told where they run
                // either.
                let names: Vec<AgentName> = found.iter().map(|(name, _)| name.clone()).collect();
                let mut own = agent::whereabouts(tx, snapshot.project_id(), &names)?;
                own.retain(|one| access::is_own(call, &one.name, one.owner.as_ref()));
                found.retain(|(name, _)| own.iter().any(|one| one.name == *name));
            }
            Ok(found.into_iter().map(|(name, process)| Suspect { name, process }).collect())
        })
    }
}
