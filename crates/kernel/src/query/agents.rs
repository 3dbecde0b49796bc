//! `agents`: the agents of a project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::agent::Sign;
use tenure_core::name::AgentName;
use tenure_core::{Result, Span, name};
use tenure_store::Tx;
use tenure_store::table::{agent, hold};

use super::query::{Access, Query, Role};
use super::{Snapshot, bad_cursor, limit};
use crate::answer::{Agent, Page};
use crate::call::Call;
use crate::kernel::Kernel;

/// A page of agents by name, or of those seen lately.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agents {
    /// Only those seen within this many microseconds, latest first.
    #[serde(default)]
    #[schemars(with = "Option<i64>")]
    pub within_us: Option<Span>,
    /// Page size.
    #[serde(default = "super::usual")]
    pub limit: usize,
    /// Where the page begins.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// Agents as seen now. An agent with live holds is judged by the longest TTL among them.
pub(super) fn seen(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, rows: &[agent::Row]) -> Result<Vec<Agent>> {
    let names: Vec<AgentName> = rows.iter().map(|row| row.name.clone()).collect();
    let longest = tx.fetch(hold::longest(snapshot.project_id(), &names, snapshot.now))?;
    let of = |row: &agent::Row| longest.iter().find(|(holder, _)| *holder == row.name).map(|(_, ttl)| *ttl);
    let sign = |row: &agent::Row| Sign {
        ttl: of(row).unwrap_or(row.sign().ttl),
        proven_dead: snapshot.dead.contains(&row.name),
        ..row.sign()
    };
    Ok(rows.iter().map(|row| Agent::of(row, &sign(row), snapshot.now)).collect())
}

impl Query for Agents {
    const NAME: &'static str = "agents";
    const ABOUT: &'static str = "List agents by name, or those seen recently";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Page<Agent>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Page<Agent>> {
        let (rows, cursor) = (self.limit, self.cursor.as_deref());
        limit(rows)?;
        if let Some(text) = cursor.filter(|text| name::check(text).is_err()) {
            return Err(bad_cursor(text));
        }
        kernel.in_snapshot(call, |tx, snapshot| {
            let project = snapshot.project_id();
            let mut found = match self.within_us {
                Some(span) => agent::recent(tx, project, snapshot.now - span, rows + 1)?,
                None => agent::list(tx, project, cursor.unwrap_or_default(), rows + 1)?,
            };
            let more = found.len() > rows;
            found.truncate(rows);
            let next = more.then(|| found.last().map(|row| row.name.to_string())).flatten();
            let total = (!more && cursor.is_none()).then_some(i64::try_from(found.len()).unwrap_or(i64::MAX));
            Ok(Page::of(seen(tx, snapshot, &found)?, total, next))
        })
    }
}
