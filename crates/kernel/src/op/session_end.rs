//! A session is over: what its agent holds lapses now, so that others can go on at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, session};
use tenure_store::table::{agent, session as table};

use super::operation::{Access, Door, Operation, Role};
use super::tool_used::{check_word, fired};
use crate::unit::Unit;
use crate::{session as sessions, settle, shape};

/// The request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionEnd {
    /// The tool.
    pub tool: String,
    /// The id of the session.
    pub session: String,
    /// Why, in the tool's word: with `clear` and `resume` the session goes on in its process.
    #[serde(default)]
    pub reason: String,
    /// The hook that said so.
    #[serde(default)]
    pub event: String,
}

impl SessionEnd {
    /// Whether the process goes on under another id.
    fn goes_on(&self) -> bool {
        matches!(self.reason.as_str(), "clear" | "resume" | "compact")
    }
}

impl Operation for SessionEnd {
    const NAME: &'static str = "session_end";
    const ABOUT: &'static str = "Says that a session is over: what it holds is free now";
    const DOORS: &'static [Door] = &[Door::Hook];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = shape::SessionEnded;

    fn check(&self) -> Result<()> {
        check_word(&self.tool)?;
        check_word(&self.reason)?;
        check_word(&self.event)?;
        session::id(&self.session).map(|_| ())
    }

    fn apply(&self, unit: &mut Unit<'_>) -> Result<shape::SessionEnded> {
        let project = unit.project.id.clone();
        let me = unit.me();
        fired(unit, &self.tool, &self.event)?;
        if self.goes_on() {
            return Ok(shape::SessionEnded { agent: me.clone(), over: false, freed: Vec::new(), lessons: 0 });
        }
        let process = sessions::process(unit.call);
        if process.host.is_empty() {
            let one = table::One { agent: me, process: &process, tool: &self.tool, session: &self.session };
            one.end(unit.tx, &project, unit.now)?;
        } else {
            // Earlier ids of the same session, from before a `/clear`, end with it.
            table::end(unit.tx, &project, &process, me, unit.now)?;
        }
        let proofs = &unit.call.proven_dead;
        let others = table::of_agent(unit.tx, &project, me)?.into_iter().filter(|row| {
            let dead = proofs.iter().any(|proof| proof.agent == me && proof.process == row.seen.process);
            !row.seen.ended && !dead
        });
        if others.count() > 0 {
            return Ok(shape::SessionEnded { agent: me.clone(), over: false, freed: Vec::new(), lessons: 0 });
        }
        // Before anything of it ends; a lesson that cannot be written fails the call.
        let lessons = super::lessons::learn(unit)?.len();
        let freed = settle::session_ended(unit, me)?;
        agent::ended(unit.tx, &project, me, unit.now)?;
        settle::gone(unit, me)?;
        Ok(shape::SessionEnded { agent: me.clone(), over: true, freed, lessons })
    }
}
