//! Registers a session of an agent tool and its process, and says which agent it is. It takes nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::session::{self as rule, Answer, Asking, Seen, Start};
use tenure_core::{Error, Kind, Result};
use tenure_store::table::session as table;

use super::tool_used::{check_word, fired};
use crate::unit::Unit;
use crate::{session, shape};

/// The request. The actor is the agent that its door takes the session for; a door that is wrong about it, because
/// another process was quicker, is refused and looks again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The tool.
    pub tool: String,
    /// The id of the session.
    pub session: String,
    /// How it began.
    pub source: Start,
    /// Whether the agent was named by a person: then it is that one, whatever its process.
    #[serde(default)]
    pub given: bool,
    /// The hook that said so.
    #[serde(default)]
    pub event: String,
}

impl Request {
    pub(crate) fn check(&self) -> Result<()> {
        check_word(&self.tool)?;
        check_word(&self.event)?;
        rule::id(&self.session).map(|_| ())
    }
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::SessionStarted> {
    let project = unit.project.id.clone();
    let process = session::process(unit.call);
    let known = session::known(unit.tx, unit.call, &project, (&request.tool, &request.session))?;
    let asking = Asking { tool: &request.tool, session: &request.session, start: request.source, process: &process };
    let proofs = &unit.call.proven_dead;
    let dead = |seen: &Seen| proofs.iter().any(|proof| proof.agent == seen.agent && proof.process == seen.process);
    let seen: Vec<Seen> = known.iter().map(|row| row.seen.clone()).collect();
    let answer = if request.given {
        Answer { agent: unit.me().to_owned(), second_of: None }
    } else {
        session::decided(unit.tx, unit.call, &unit.project, &asking, (&seen, unit.now), dead)?
    };
    if answer.agent != unit.me() {
        return Err(other_session(&answer.agent));
    }
    // What this agent was in processes that are over, this one is now.
    for row in table::of_agent(unit.tx, &project, &answer.agent)? {
        if row.seen.process != process && (row.seen.ended || dead(&row.seen)) {
            table::forget(unit.tx, &project, &row)?;
        }
    }
    unit.be_present()?;
    let row = Seen {
        process,
        session: request.session.clone(),
        agent: answer.agent.clone(),
        began_at: unit.now,
        ended: false,
        last_seen: unit.now,
    };
    let again = known.iter().any(|known| known.seen.process == row.process);
    if !session::is_others(unit.tx, unit.call, &project, (&request.tool, &request.session))? {
        table::put(unit.tx, &project, &request.tool, &row, again)?;
    }
    fired(unit, &request.tool, &request.event)?;
    Ok(shape::SessionStarted { agent: answer.agent, second_of: answer.second_of, focus: unit.focus().to_owned() })
}

/// The session is another agent than its door thought; the door asks again.
fn other_session(agent: &str) -> Error {
    Error::refused(Kind::Conflict, "other_session", format!("this session is {agent}"))
        .entity(agent)
        .hint("Ask again who it is; another process of the same session was quicker.")
}

/// A hook never creates a project.
pub(crate) fn not_switched_on() -> Error {
    Error::refused(Kind::Conflict, "not_switched_on", "nothing has happened in this project yet")
        .hint("A hook does nothing here until a first `tenure` command or `tenure setup`.")
}
