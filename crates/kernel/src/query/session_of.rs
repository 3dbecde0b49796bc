//! `session_of`: the session that a command runs in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_core::agent::Process;
use tenure_core::session::{Above, CommandOwner, StoredSession, by_id, nearest};
use tenure_store::Tx;
use tenure_store::table::session;

use super::Snapshot;
use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::session as sessions;

/// The agent of a command that runs inside one of some tools, by the processes above it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionOf {
    /// Tools, each with the id of its session where it is known.
    pub tools: Vec<(String, Option<String>)>,
    /// The machine, boot and namespace of the command.
    pub here: Process,
    /// Pids and start times of the processes above it, the nearest first.
    pub above: Vec<(i64, i64)>,
}

impl Query for SessionOf {
    const NAME: &'static str = "session_of";
    const ABOUT: &'static str = "Find the agent of a command that runs inside an agent tool";
    const PUBLIC: bool = false;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = CommandOwner;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<CommandOwner> {
        kernel.in_snapshot(call, |tx, snapshot| session_of(tx, snapshot, self))
    }
}

fn session_of(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, asked: &SessionOf) -> Result<CommandOwner> {
    let project = snapshot.project_id();
    let SessionOf { tools, here, above } = asked;
    if !here.host.is_empty() && !above.is_empty() {
        let pids: Vec<i64> = above.iter().map(|(pid, _)| *pid).collect();
        let rows = session::among(tx, project, here, &pids)?;
        let rows = sessions::visible(tx, snapshot.call, project, rows)?;
        let registered: Vec<Above<'_>> = rows
            .iter()
            .filter(|row| tools.iter().any(|(tool, _)| *tool == row.tool))
            .filter_map(|row| {
                let process = (row.seen.process.pid, row.seen.process.started);
                let distance = above.iter().position(|above| *above == process)?;
                Some(Above { distance, tool: &row.tool, seen: &row.seen })
            })
            .collect();
        // The id of the tool with the nearest process counts.
        let inner = registered.iter().filter(|row| !row.seen.ended).min_by_key(|row| row.distance).map(|row| row.tool);
        let id = tools.iter().find(|(tool, _)| Some(tool.as_str()) == inner).and_then(|(_, id)| id.as_deref());
        if let Some(agent) = nearest(&registered, id) {
            return Ok(CommandOwner::Agent(agent.into()));
        }
    }
    // With two tools, and no process that tells which is the inner one, the session is unknown.
    let [(tool, Some(id))] = tools.as_slice() else { return Ok(CommandOwner::Unknown) };
    let of_id = tx.fetch(session::of_id(project, tool, id))?;
    let of_id = sessions::visible(tx, snapshot.call, project, of_id)?;
    let of_id: Vec<StoredSession> = of_id.into_iter().map(|row| row.seen).collect();
    // If nothing is known of the id, it is only a name, which may belong to another principal.
    if let (Some(project), [], Some(_)) = (snapshot.project, of_id.as_slice(), &snapshot.call.actor.principal)
        && let Some(name) = sessions::free_name(tx, snapshot.call, project, (tool, id), &[])?
    {
        return Ok(CommandOwner::Agent(name));
    }
    Ok(by_id(tool, id, &of_id, here, above))
}
