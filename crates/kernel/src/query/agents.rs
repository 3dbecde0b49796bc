//! Agents: the list that people read, and the processes that a door looks at before an op.

use serde::{Deserialize, Serialize};
use tenure_core::agent::{Process, Sign};
use tenure_core::name::AgentName;
use tenure_core::{Result, Span, name};
use tenure_store::Tx;
use tenure_store::table::{agent, hold, session};

use super::{Scene, bad_cursor, limit};
use crate::access;
use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::{Agent, Page};

/// An agent that holds something, and the process it can be judged by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Suspect {
    /// The agent.
    pub name: AgentName,
    /// Its tool's process.
    pub process: Process,
}

/// Agents as they are seen now. One that has a live hold is judged by the longest time to live of those.
pub(super) fn seen(tx: &mut dyn Tx, scene: &Scene<'_>, rows: &[agent::Row]) -> Result<Vec<Agent>> {
    let names: Vec<AgentName> = rows.iter().map(|row| row.name.clone()).collect();
    let longest = tx.fetch(hold::longest(scene.project_id(), &names, scene.now))?;
    let of = |row: &agent::Row| longest.iter().find(|(holder, _)| *holder == row.name).map(|(_, ttl)| *ttl);
    let sign = |row: &agent::Row| Sign {
        ttl: of(row).unwrap_or(row.sign().ttl),
        proven_dead: scene.dead.contains(&row.name),
        ..row.sign()
    };
    Ok(rows.iter().map(|row| Agent::of(row, &sign(row), scene.now)).collect())
}

impl Kernel {
    /// A page of agents by name, or of those seen within a span, latest first.
    pub fn agents(&self, call: &Call, within: Option<Span>, rows: usize, cursor: Option<&str>) -> Result<Page<Agent>> {
        limit(rows)?;
        if let Some(text) = cursor.filter(|text| name::check(text).is_err()) {
            return Err(bad_cursor(text));
        }
        self.ask(call, |tx, scene| {
            let project = scene.project_id();
            let mut found = match within {
                Some(span) => agent::recent(tx, project, scene.now - span, rows + 1)?,
                None => agent::list(tx, project, cursor.unwrap_or_default(), rows + 1)?,
            };
            let more = found.len() > rows;
            found.truncate(rows);
            let next = more.then(|| found.last().map(|row| row.name.to_string())).flatten();
            let total = (!more && cursor.is_none()).then_some(i64::try_from(found.len()).unwrap_or(i64::MAX));
            Ok(Page::of(seen(tx, scene, &found)?, total, next))
        })
    }

    /// Whether the session of whoever asks has said good-bye; `None` where nobody by that name was seen in the project.
    pub fn said_good_bye(&self, call: &Call) -> Result<Option<bool>> {
        self.ask(call, |tx, scene| {
            let row = tx.fetch(agent::get(scene.project_id(), &call.actor.name))?;
            Ok(row.map(|row| row.ended_at.is_some()))
        })
    }

    /// The agents of one machine that hold something and whose process is known.
    pub fn suspects(&self, call: &Call, host: &str) -> Result<Vec<Suspect>> {
        self.ask(call, |tx, scene| {
            let holders = agent::holders(tx, scene.project_id(), host)?.into_iter().map(|row| (row.name, row.process));
            let mut found: Vec<(AgentName, Process)> = holders.collect();
            if scene.project.is_some_and(|project| project.waiting > 0) {
                for waiter in agent::waiters(tx, scene.project_id(), host)? {
                    if !found.iter().any(|(name, _)| *name == waiter.name) {
                        found.push((waiter.name, waiter.process));
                    }
                }
            }
            // An agent may run in more processes than the one it was last seen in. One that a single event came out of
            // may be what started the hook rather than the tool, and is gone in a moment.
            for (name, process, again) in session::of_holders(tx, scene.project_id(), host)? {
                let session = (name, process);
                if !again {
                    found.retain(|known| *known != session);
                } else if !host.is_empty() && !found.contains(&session) {
                    found.push(session);
                }
            }
            if call.actor.principal.is_some() {
                // Of others it is not believed that they are dead, so it is not told where they run either.
                let names: Vec<AgentName> = found.iter().map(|(name, _)| name.clone()).collect();
                let mut own = agent::whereabouts(tx, scene.project_id(), &names)?;
                own.retain(|one| access::is_own(call, &one.name, one.owner.as_ref()));
                found.retain(|(name, _)| own.iter().any(|one| one.name == *name));
            }
            Ok(found.into_iter().map(|(name, process)| Suspect { name, process }).collect())
        })
    }
}
