//! Registers a session of an agent tool and its process, and returns its agent. It claims nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::{Action, Advice};
use tenure_core::hold::{Ended, Ending};
use tenure_core::session::{self as rule, SessionIdentity, Start, StoredSession, UnknownSession};
use tenure_core::{Code, Error, Result, Time, event};
use tenure_store::table::{event as log, path, session as table, task};

use super::operation::{Access, Door, Operation, Role};
use super::tool_used::{check_word, fired};
use crate::unit_of_work::UnitOfWork;
use crate::{answer, session, settle};

/// The request. The actor is the agent that its door takes the session for; a door that is wrong about it, because
/// another process was quicker, is refused and looks again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionStart {
    /// The tool.
    pub tool: String,
    /// The id of the session.
    pub session: String,
    /// The way in which the session began.
    pub source: Start,
    /// Whether the agent was named by a person: then it is that one, whatever its process.
    #[serde(default)]
    pub given: bool,
    /// The hook that reported it.
    #[serde(default)]
    pub event: String,
}

impl Operation for SessionStart {
    const NAME: &'static str = "session_start";
    const ABOUT: &'static str = "Register a session of an agent tool and its process";
    const DOORS: &'static [Door] = &[Door::Hook];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::SessionStarted;

    fn check(&self) -> Result<()> {
        check_word(&self.tool)?;
        check_word(&self.event)?;
        rule::id(&self.session).map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::SessionStarted> {
        let project = work.project.id.clone();
        let process = session::process(work.call);
        let known = session::known(work.tx, work.call, &project, (&self.tool, &self.session))?;
        let asking = UnknownSession { tool: &self.tool, session: &self.session, start: self.source, process: &process };
        let proofs = &work.call.proven_dead;
        let dead = |seen: &StoredSession| {
            proofs.iter().any(|proof| proof.agent == seen.agent && proof.process == seen.process)
        };
        let seen: Vec<StoredSession> = known.iter().map(|row| row.seen.clone()).collect();
        let answer = if self.given {
            SessionIdentity { agent: work.me().clone(), second_of: None }
        } else {
            session::decided(work.tx, work.call, &work.project, &asking, (&seen, work.now), dead)?
        };
        if answer.agent != work.me() {
            return Err(other_session(&answer.agent));
        }
        // This process continues the agent of the processes that are over.
        let rows = table::of_agent(work.tx, &project, &answer.agent)?;
        let ended = rows.iter().filter(|row| row.seen.ended).map(|row| row.seen.began_at).max();
        let left_behind = match ended {
            Some(began_at) => left_behind(work, began_at)?,
            None => None,
        };
        for row in rows {
            if row.seen.process != process && (row.seen.ended || dead(&row.seen)) {
                table::forget(work.tx, &project, &row)?;
            }
        }
        work.be_present()?;
        let row = StoredSession {
            process,
            session: self.session.clone(),
            agent: answer.agent.clone(),
            began_at: work.now,
            ended: false,
            last_seen: work.now,
        };
        let again = known.iter().any(|known| known.seen.process == row.process);
        if !session::is_others(work.tx, work.call, &project, (&self.tool, &self.session))? {
            table::put(work.tx, &project, &self.tool, &row, again)?;
        }
        let me = work.me();
        for agent in work.dead.clone().iter().filter(|agent| *agent != me).take(DEAD_AT_MOST) {
            settle::died(work, agent)?;
        }
        fired(work, &self.tool, &self.event)?;
        let focus = work.focus().cloned();
        Ok(answer::SessionStarted { agent: answer.agent, second_of: answer.second_of, focus, left_behind })
    }
}

/// The maximum number of dead agents that one start settles.
const DEAD_AT_MOST: usize = 16;
/// How many paths are named, and how many ended holds are read for them.
const NAMED: usize = 5;
const LOOKED_AT: usize = 200;

/// What the actor held when its session that began at `began_at` ended, except what it released before. A model that
/// continues its conversation believes that it still holds it.
fn left_behind(work: &mut UnitOfWork<'_>, began_at: Time) -> Result<Option<answer::LeftBehind>> {
    let (project, me, focus) = (work.project.id.clone(), work.me(), work.focus().cloned());
    let mut ended_at = Time(0);
    let mut task = None;
    let full = focus.as_ref().map(|focus| task::get(&project, focus));
    if let (Some(full), Some(focus)) = (work.tx.fetch(full)?.flatten(), focus) {
        let filter = log::EventFilter {
            subject: Some(focus.to_string()),
            kind: Some(event::kind::HOLD_EXPIRED.to_owned()),
            ..log::EventFilter::default()
        };
        let last = work.tx.fetch(log::page(&project, &filter, log::ALL, true, 1))?.pop();
        let cut_short = last.filter(|last| last.actor == me && last.at >= began_at);
        if let Some(last) = cut_short.filter(|_| full.held.is_none() && !full.task.status.is_closed()) {
            (ended_at, task) = (last.at, Some(focus));
        }
    }
    let lost = |row: &Ended| row.at >= began_at && row.how == Ending::Expired;
    let mut paths: Vec<String> = Vec::new();
    for row in path::past_of(work.tx, &project, me, LOOKED_AT)? {
        let Some(ended) = row.ended.filter(lost) else { continue };
        ended_at = ended_at.max(ended.at);
        if !paths.contains(&row.subject) {
            paths.push(row.subject);
        }
    }
    let more = paths.len().saturating_sub(NAMED);
    paths.truncate(NAMED);
    let any = task.is_some() || !paths.is_empty();
    Ok(any.then(|| answer::LeftBehind { ended_at: ended_at.to_string(), task, paths, more }))
}

/// The refusal when the session is another agent than its door assumed. The door asks again.
fn other_session(agent: &str) -> Error {
    Error::new(Code::OtherSession, format!("this session is {agent}"))
        .entity(agent)
        .hint("Repeat the request: another process registered this session first.")
}

/// The refusal for a hook in an unused project: a hook never creates a project.
pub(crate) fn not_switched_on() -> Error {
    Error::new(Code::NotSwitchedOn, "this project has no event yet").hint(
        Advice::from("Hooks do nothing here until the first writing `tenure` command or ")
            .action(Action::Setup { tool: None })
            .text("."),
    )
}
