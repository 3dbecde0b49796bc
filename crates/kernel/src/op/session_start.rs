//! Registers a session of an agent tool and its process, and says which agent it is. It takes nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::{Action, Advice};
use tenure_core::hold::{Ended, Ending};
use tenure_core::session::{self as rule, Answer, Asking, Seen, Start};
use tenure_core::{Code, Error, Result, Time, event};
use tenure_store::table::{event as log, path, session as table, task};

use super::operation::{Access, Door, Operation, Role};
use super::tool_used::{check_word, fired};
use crate::unit::Unit;
use crate::{session, settle, shape};

/// The request. The actor is the agent that its door takes the session for; a door that is wrong about it, because
/// another process was quicker, is refused and looks again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionStart {
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

impl Operation for SessionStart {
    const NAME: &'static str = "session_start";
    const ABOUT: &'static str = "Registers a session of an agent tool and its process; takes nothing";
    const DOORS: &'static [Door] = &[Door::Hook];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = shape::SessionStarted;

    fn check(&self) -> Result<()> {
        check_word(&self.tool)?;
        check_word(&self.event)?;
        rule::id(&self.session).map(|_| ())
    }

    fn apply(&self, unit: &mut Unit<'_>) -> Result<shape::SessionStarted> {
        let project = unit.project.id.clone();
        let process = session::process(unit.call);
        let known = session::known(unit.tx, unit.call, &project, (&self.tool, &self.session))?;
        let asking = Asking { tool: &self.tool, session: &self.session, start: self.source, process: &process };
        let proofs = &unit.call.proven_dead;
        let dead = |seen: &Seen| proofs.iter().any(|proof| proof.agent == seen.agent && proof.process == seen.process);
        let seen: Vec<Seen> = known.iter().map(|row| row.seen.clone()).collect();
        let answer = if self.given {
            Answer { agent: unit.me().clone(), second_of: None }
        } else {
            session::decided(unit.tx, unit.call, &unit.project, &asking, (&seen, unit.now), dead)?
        };
        if answer.agent != unit.me() {
            return Err(other_session(&answer.agent));
        }
        // What this agent was in processes that are over, this one is now.
        let rows = table::of_agent(unit.tx, &project, &answer.agent)?;
        let ended = rows.iter().filter(|row| row.seen.ended).map(|row| row.seen.began_at).max();
        let left_behind = match ended {
            Some(began_at) => left_behind(unit, began_at)?,
            None => None,
        };
        for row in rows {
            if row.seen.process != process && (row.seen.ended || dead(&row.seen)) {
                table::forget(unit.tx, &project, &row)?;
            }
        }
        unit.be_present()?;
        let row = Seen {
            process,
            session: self.session.clone(),
            agent: answer.agent.clone(),
            began_at: unit.now,
            ended: false,
            last_seen: unit.now,
        };
        let again = known.iter().any(|known| known.seen.process == row.process);
        if !session::is_others(unit.tx, unit.call, &project, (&self.tool, &self.session))? {
            table::put(unit.tx, &project, &self.tool, &row, again)?;
        }
        let me = unit.me();
        for agent in unit.dead.clone().iter().filter(|agent| *agent != me).take(DEAD_AT_MOST) {
            settle::died(unit, agent)?;
        }
        fired(unit, &self.tool, &self.event)?;
        let focus = unit.focus().cloned();
        Ok(shape::SessionStarted { agent: answer.agent, second_of: answer.second_of, focus, left_behind })
    }
}

/// How many agents that were proven dead one start settles at the most.
const DEAD_AT_MOST: usize = 16;
/// How many paths are named, and how many ended holds are looked at for them.
const NAMED: usize = 5;
const LOOKED_AT: usize = 200;

/// What the actor held when its session ended that began at some time, as far as it was not given back before. A model that
/// goes on with its conversation believes that it still has it.
fn left_behind(unit: &mut Unit<'_>, began_at: Time) -> Result<Option<shape::LeftBehind>> {
    let (project, me, focus) = (unit.project.id.clone(), unit.me(), unit.focus().cloned());
    let mut ended_at = Time(0);
    let mut task = None;
    let full = focus.as_ref().map(|focus| task::get(&project, focus));
    if let (Some(full), Some(focus)) = (unit.tx.fetch(full)?.flatten(), focus) {
        let filter = log::Filter {
            subject: Some(focus.to_string()),
            kind: Some(event::kind::HOLD_EXPIRED.to_owned()),
            ..log::Filter::default()
        };
        let last = unit.tx.fetch(log::page(&project, &filter, (0, i64::MAX), true, 1))?.pop();
        let cut_short = last.filter(|last| last.actor == me && last.at >= began_at);
        if let Some(last) = cut_short.filter(|_| full.held.is_none() && !full.task.status.is_closed()) {
            (ended_at, task) = (last.at, Some(focus));
        }
    }
    let lost = |row: &Ended| row.at >= began_at && row.how == Ending::Expired;
    let mut paths: Vec<String> = Vec::new();
    for row in path::past_of(unit.tx, &project, me, LOOKED_AT)? {
        let Some(ended) = row.ended.filter(lost) else { continue };
        ended_at = ended_at.max(ended.at);
        if !paths.contains(&row.subject) {
            paths.push(row.subject);
        }
    }
    let more = paths.len().saturating_sub(NAMED);
    paths.truncate(NAMED);
    let any = task.is_some() || !paths.is_empty();
    Ok(any.then(|| shape::LeftBehind { ended_at: ended_at.to_string(), task, paths, more }))
}

/// The session is another agent than its door thought; the door asks again.
fn other_session(agent: &str) -> Error {
    Error::new(Code::OtherSession, format!("this session is {agent}"))
        .entity(agent)
        .hint("Ask again who it is; another process of the same session was quicker.")
}

/// A hook never creates a project.
pub(crate) fn not_switched_on() -> Error {
    Error::new(Code::NotSwitchedOn, "nothing has happened in this project yet").hint(
        Advice::from("A hook does nothing here until a first `tenure` command or ")
            .action(Action::Setup { tool: None })
            .text("."),
    )
}
