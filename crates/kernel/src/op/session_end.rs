//! Ends a session: the holds of its agent lapse now, so that others can continue at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, session};
use tenure_store::table::{agent, session as table};

use super::operation::{Access, Door, Operation, Role};
use super::tool_used::{check_word, fired};
use crate::unit_of_work::UnitOfWork;
use crate::{answer, session as sessions, settle};

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
    /// The hook that reported it.
    #[serde(default)]
    pub event: String,
}

impl SessionEnd {
    /// Whether the process continues under another session id.
    fn goes_on(&self) -> bool {
        matches!(self.reason.as_str(), "clear" | "resume" | "compact")
    }
}

impl Operation for SessionEnd {
    const NAME: &'static str = "session_end";
    const ABOUT: &'static str = "End a session and release its holds";
    const DOORS: &'static [Door] = &[Door::Hook];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::SessionEnded;

    fn check(&self) -> Result<()> {
        check_word(&self.tool)?;
        check_word(&self.reason)?;
        check_word(&self.event)?;
        session::id(&self.session).map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::SessionEnded> {
        let project = work.project.id.clone();
        let me = work.me();
        fired(work, &self.tool, &self.event)?;
        if self.goes_on() {
            return Ok(answer::SessionEnded { agent: me.clone(), over: false, freed: Vec::new(), lessons: 0 });
        }
        let process = sessions::process(work.call);
        if process.host.is_empty() {
            let one = table::ProcessSession { agent: me, process: &process, tool: &self.tool, session: &self.session };
            one.end(work.tx, &project, work.now)?;
        } else {
            // Earlier ids of the same session, from before a `/clear`, end with it.
            table::end(work.tx, &project, &process, me, work.now)?;
        }
        let proofs = &work.call.proven_dead;
        let others = table::of_agent(work.tx, &project, me)?.into_iter().filter(|row| {
            let dead = proofs.iter().any(|proof| proof.agent == me && proof.process == row.seen.process);
            !row.seen.ended && !dead
        });
        if others.count() > 0 {
            return Ok(answer::SessionEnded { agent: me.clone(), over: false, freed: Vec::new(), lessons: 0 });
        }
        // Lessons are derived before anything ends. A lesson that cannot be written fails the call.
        let lessons = super::lessons::learn(work)?.len();
        let freed = settle::session_ended(work, me)?;
        agent::ended(work.tx, &project, me, work.now)?;
        settle::gone(work, me)?;
        Ok(answer::SessionEnded { agent: me.clone(), over: true, freed, lessons })
    }
}
