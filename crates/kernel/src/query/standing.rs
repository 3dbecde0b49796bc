//! `standing`: everything a hook must know before it acts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::id::{CheckoutId, TaskId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::session::{Start, StoredSession, UnknownSession, decide};
use tenure_core::task::TaskStatus;
use tenure_core::{Result, Span, Time, hold as rule};
use tenure_store::Tx;
use tenure_store::table::{agent, edited_file, hold, hook_run, project, session, task};

use super::Snapshot;
use super::query::{Access, Query, Role};
use crate::answer::{Elsewhere, GuardState};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::op::guard::ELSEWHERE_MAX;
use crate::op::tool_used::{self, FIRED_EVERY};
use crate::paths;
use crate::session as sessions;

/// An agent that was seen within this time need not record its presence again.
pub const SEEN_ENOUGH: Span = Span::seconds(30);
/// A file that was recorded as changed within this time need not be recorded again.
const TOUCHED_ENOUGH: Span = Span::minutes(1);

/// What a hook must know before it does anything; nothing in a project that is not switched on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// What it is about to say.
    pub says: tool_used::ToolUsed,
    /// The agent's name, where a person gave it.
    #[serde(default)]
    pub given: Option<String>,
    /// How much it must know.
    pub depth: Depth,
}

/// How much a hook must know. Each statement is one that a process of one call prepares anew, so none is run in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// Who the session is: it begins or ends, which is written anyway.
    Who,
    /// Also whether there is anything to be written.
    News,
    /// Also whether it lost its task.
    Loss,
}

/// What a hook finds in a project that is switched on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HookContext {
    /// The sessions of its process, of its id, and of the agent it is; those of its process alone where it is registered
    /// and neither begins nor ends.
    pub known: Vec<StoredSession>,
    /// The time of the snapshot.
    pub now: Time,
    /// What is known of the session, if it is registered.
    pub mine: Option<Mine>,
    /// Whether the guards are off.
    pub guards: GuardState,
    /// Who it is or would be, where it comes through a server and cannot find out from what it may know: its process is
    /// not known, or its name is another's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
}

/// A registered session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Mine {
    /// The agent it is.
    pub agent: AgentName,
    /// The task in its focus, empty for none.
    #[serde(with = "or_empty")]
    #[schemars(with = "String")]
    pub focus: Option<TaskId>,
    /// When it was last told something between two prompts.
    pub told_at: Time,
    /// Whether its context was made shorter, and what it lost was not shown again.
    pub is_shortened: bool,
    /// Whether nothing at all is left of it.
    #[serde(default)]
    pub is_cleared: bool,
    /// Whether there is nothing to be written: all is stored, and the agent was seen just now. Not known at
    /// [`Depth::Who`].
    pub settled: bool,
    /// Its hold on the task in focus, if another has it now; known at [`Depth::Loss`].
    pub lost: Option<LostTask>,
    /// Files that others hold in other checkouts too.
    pub elsewhere: Vec<Elsewhere>,
}

/// A task that an agent believes to hold and that another has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Lost")]
pub struct LostTask {
    /// The task.
    pub task: TaskId,
    /// Who has it, or finished it.
    pub by: AgentName,
    /// Since when.
    pub since: Time,
    /// Whether it is finished or given up.
    pub closed: bool,
}

impl Query for Standing {
    const NAME: &'static str = "standing";
    const ABOUT: &'static str = "What a hook must know before it does anything";
    const PUBLIC: bool = false;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Option<HookContext>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Option<HookContext>> {
        kernel.in_snapshot(call, |tx, snapshot| {
            match snapshot.project.filter(|project| project::Row::is_switched_on(project)) {
                Some(_) => standing(tx, snapshot, self).map(Some),
                None => Ok(None),
            }
        })
    }
}

pub(super) fn standing(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, look: &Standing) -> Result<HookContext> {
    let (project, says) = (snapshot.project_id(), &look.says);
    let process = sessions::process(snapshot.call);
    let guards = snapshot.project.map_or_else(GuardState::default, |project| GuardState::of(project, snapshot.now));
    let (mut known, (of_id, fired_at)) = tx.fetch((
        match process.host.as_str() {
            "" => session::of_id(project, &says.tool, &says.session),
            _ => session::of_process(project, &process, &says.tool),
        },
        match look.depth {
            Depth::Who => (Some(session::of_id(project, &says.tool, &says.session)), None),
            Depth::News | Depth::Loss => (None, Some(hook_run::get(project, &says.tool, &says.event))),
        },
    ))?;
    let fired_at = fired_at.flatten();
    sessions::add(&mut known, of_id.unwrap_or_default());
    let mut known = sessions::visible(tx, snapshot.call, project, known)?;
    let own = known
        .iter()
        .find(|row| row.seen.process == process && row.seen.session == says.session && !row.seen.ended)
        .filter(|row| look.given.as_ref().is_none_or(|given| *given == row.seen.agent))
        .cloned();
    let own = match own {
        Some(own) => tx.fetch(agent::get(project, &own.seen.agent))?.map(|agent| (own, agent)),
        None => None,
    };
    let Some((own, agent)) = own else {
        // The session is about to be registered, which takes everything that is known into account.
        if look.depth != Depth::Who {
            let more = sessions::known(tx, snapshot.call, project, (&says.tool, &says.session))?;
            sessions::add(&mut known, more);
        }
        let known: Vec<StoredSession> = known.into_iter().map(|row| row.seen).collect();
        let agent = would_be(tx, snapshot, look, &known)?;
        return Ok(HookContext { known, now: snapshot.now, mine: None, guards, agent });
    };
    let mut seen: Vec<StoredSession> = known.into_iter().map(|row| row.seen).collect();
    let mut settled = false;
    if look.depth == Depth::Who {
        for row in session::of_agent(tx, project, &agent.name)? {
            if !seen.iter().any(|seen| seen.process == row.seen.process && seen.session == row.seen.session) {
                seen.push(StoredSession { last_seen: agent.last_seen, ..row.seen });
            }
        }
    } else {
        let fired_due =
            !says.event.is_empty() && fired_at.is_none_or(|at| at <= snapshot.now - FIRED_EVERY || at > snapshot.now);
        let quiet =
            agent.last_seen.age(snapshot.now) >= SEEN_ENOUGH || agent.ended_at.is_some() || agent.process != process;
        let once = !own.again && !process.host.is_empty();
        settled = !fired_due && !quiet && !once && is_stored(tx, snapshot, &agent, says)?;
    }
    let (mut lost_now, mut elsewhere) = (None, Vec::new());
    if look.depth == Depth::Loss {
        lost_now = lost(tx, snapshot, &agent)?;
        let checkouts = snapshot.checkouts(tx)?;
        let sight = paths::other_checkouts::CheckoutView {
            project,
            now: snapshot.now,
            dead: &snapshot.dead,
            checkouts: &checkouts,
        };
        elsewhere = paths::other_checkouts::of_agent(tx, &sight, &agent.name)?;
        elsewhere.truncate(ELSEWHERE_MAX);
    }
    let lost = lost_now;
    let (told_at, is_shortened, is_cleared) = (own.told_at.unwrap_or(Time(0)), own.is_shortened, own.is_cleared);
    let (name, focus) = (agent.name, agent.focus);
    let mine = Mine { agent: name, focus, told_at, is_shortened, is_cleared, settled, lost, elsewhere };
    let agent = snapshot.call.actor.principal.as_ref().filter(|_| process.host.is_empty()).map(|_| mine.agent.clone());
    Ok(HookContext { known: seen, now: snapshot.now, mine: Some(mine), guards, agent })
}

/// The agent that a session through a server would be, unless the door can derive it from what is known.
fn would_be(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    look: &Standing,
    known: &[StoredSession],
) -> Result<Option<AgentName>> {
    let (Some(project), Some(_), None) = (snapshot.project, &snapshot.call.actor.principal, &look.given) else {
        return Ok(None);
    };
    let process = sessions::process(snapshot.call);
    // How the session began matters only for its process.
    let (tool, session, start) = (look.says.tool.as_str(), look.says.session.as_str(), Start::Resume);
    let asking = UnknownSession { tool, session, start, process: &process };
    let own = decide(&asking, known, snapshot.now, |_| false).agent;
    let answer = sessions::decided(tx, snapshot.call, project, &asking, (known, snapshot.now), |_| false)?;
    Ok((process.host.is_empty() || answer.agent != own).then_some(answer.agent))
}

/// Whether everything that a tool call reports is stored, and no hold is due for renewal.
fn is_stored(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, agent: &agent::Row, says: &tool_used::ToolUsed) -> Result<bool> {
    let project = snapshot.project_id();
    if hold::renewal_due(tx, project, &agent.name, snapshot.now)? {
        return Ok(false);
    }
    if !says.paths.is_empty() {
        let checkout = checkout_id(snapshot);
        let place = edited_file::EditedFile { task: agent.focus.as_ref(), checkout, agent: &agent.name };
        let found = edited_file::since(tx, project, &place, &says.paths, snapshot.now - TOUCHED_ENOUGH)?;
        if !says.paths.iter().all(|path| found.contains(path)) {
            return Ok(false);
        }
    }
    Ok(tool_used::said(tx, project, &agent.name, says)?.is_none())
}

/// The caller's checkout, if it is recorded at its present location. The write that follows records one that moved.
fn checkout_id<'a>(snapshot: &'a Snapshot<'_>) -> Option<&'a CheckoutId> {
    let here = snapshot.call.checkout.as_ref()?;
    snapshot.places.iter().find(|place| place.path == here.path).map(|place| &place.id)
}

fn lost(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, agent: &agent::Row) -> Result<Option<LostTask>> {
    let Some(focus) = &agent.focus else { return Ok(None) };
    let Some(full) = tx.fetch(task::get(snapshot.project_id(), focus))? else { return Ok(None) };
    let other = |name: &AgentName| *name != agent.name;
    let task = full.task.id.clone();
    if let Some(held) = &full.held {
        let live = !rule::lapsed(snapshot.now, held.expires_at) && other(&held.holder);
        let lost = || LostTask { task, by: held.holder.clone(), since: held.granted_at, closed: false };
        return Ok(live.then(lost));
    }
    let is_closed = matches!(full.task.status, TaskStatus::Done | TaskStatus::Cancelled);
    let by = full.task.finished_by.filter(|by| is_closed && other(by));
    let since = full.task.finished_at.unwrap_or(Time(0));
    Ok(by.map(|by| LostTask { task, by, since, closed: true }))
}
