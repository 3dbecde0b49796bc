//! The sessions that a call may know of. A program on the store's machine knows all sessions. For a caller through a
//! server, the sessions of other principals do not exist. Their ids and processes are not secrets and grant nothing.

use tenure_core::Result;
use tenure_core::agent::Process;
use tenure_core::name::AgentName;
use tenure_core::session::{SessionIdentity, StoredSession, UnknownSession, decide, names};
use tenure_core::time::Time;
use tenure_store::Tx;
use tenure_store::table::{agent, project, session};

use crate::access;
use crate::call::Call;

/// The process that the sessions of a call are stored under. If it is unknown, a substitute separates the sessions of
/// one principal from those of another with the same id.
pub(crate) fn process(call: &Call) -> Process {
    let process = call.actor.process.clone().unwrap_or_default();
    match &call.actor.principal {
        Some(grants) if process.host.is_empty() => Process { pidns: grants.principal.to_string(), ..process },
        _ => process,
    }
}

/// The sessions of a process and of an id that a call may know of, without duplicates.
pub(crate) fn known(
    tx: &mut dyn Tx,
    call: &Call,
    project: &str,
    (tool, id): (&str, &str),
) -> Result<Vec<session::Row>> {
    let process = process(call);
    let of_process = (!process.host.is_empty()).then(|| session::of_process(project, &process, tool));
    let (of_process, of_id) = tx.fetch((of_process, session::of_id(project, tool, id)))?;
    let mut known = Vec::new();
    add(&mut known, of_process.unwrap_or_default());
    add(&mut known, of_id);
    visible(tx, call, project, known)
}

/// Whether the row of exactly this session belongs to another principal. A caller whose claims about itself collide
/// like that is not registered.
pub(crate) fn is_others(tx: &mut dyn Tx, call: &Call, project: &str, (tool, id): (&str, &str)) -> Result<bool> {
    if call.actor.principal.is_none() {
        return Ok(false);
    }
    let process = process(call);
    let mut rows = tx.fetch(session::of_id(project, tool, id))?;
    rows.retain(|row| row.seen.process == process);
    Ok(!rows.is_empty() && visible(tx, call, project, rows)?.is_empty())
}

/// Adds the missing rows.
pub(crate) fn add(known: &mut Vec<session::Row>, more: Vec<session::Row>) {
    for row in more {
        if !known.contains(&row) {
            known.push(row);
        }
    }
}

/// The sessions that a call may know of: all, or those whose agents belong to no other principal.
pub(crate) fn visible(
    tx: &mut dyn Tx,
    call: &Call,
    project: &str,
    mut rows: Vec<session::Row>,
) -> Result<Vec<session::Row>> {
    let Some(grants) = call.actor.principal.as_ref().filter(|_| !rows.is_empty()) else { return Ok(rows) };
    let mut agents: Vec<AgentName> = rows.iter().map(|row| row.seen.agent.clone()).collect();
    agents.sort_unstable();
    agents.dedup();
    let owners = agent::whereabouts(tx, project, &agents)?;
    let me = &grants.principal;
    let own = |name: &AgentName| {
        let is_mine = |agent: &agent::Whereabouts| agent.owner.as_ref().is_none_or(|owner| owner == me);
        name == me || owners.iter().any(|agent| agent.name == name && is_mine(agent))
    };
    rows.retain(|row| own(&row.seen.agent));
    Ok(rows)
}

/// The agent of a session, decided over the sessions that its call may know of.
pub(crate) fn decided(
    tx: &mut dyn Tx,
    call: &Call,
    project: &project::Row,
    asking: &UnknownSession<'_>,
    (known, now): (&[StoredSession], Time),
    dead: impl Fn(&StoredSession) -> bool,
) -> Result<SessionIdentity> {
    let answer = decide(asking, known, now, dead);
    if is_open(tx, call, project, &answer.agent)? {
        return Ok(answer);
    }
    let agent = free_name(tx, call, project, (asking.tool, asking.session), known)?;
    Ok(SessionIdentity { agent: agent.unwrap_or(answer.agent), second_of: answer.second_of })
}

/// The first name for a session that its call may use and that no session known to it has.
pub(crate) fn free_name(
    tx: &mut dyn Tx,
    call: &Call,
    project: &project::Row,
    (tool, id): (&str, &str),
    known: &[StoredSession],
) -> Result<Option<AgentName>> {
    for name in names(tool, id) {
        if known.iter().all(|seen| seen.agent != name) && is_open(tx, call, project, &name)? {
            return Ok(Some(name.into()));
        }
    }
    Ok(None)
}

/// Whether a call may act as an agent.
fn is_open(tx: &mut dyn Tx, call: &Call, project: &project::Row, name: &str) -> Result<bool> {
    let Some(grants) = &call.actor.principal else { return Ok(true) };
    let known = tx.fetch(agent::get(&project.id, name))?;
    access::may_be(tx, grants, &project.key, (name, known.as_ref()), access::AccessFor::Op)
}
