//! Claims a task: the named one, or the best available.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::choice::{ChoiceRule, Rank, StateCounts, nothing, reason};
use tenure_core::hold::HoldKind;
use tenure_core::id::{HoldId, TaskId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::task::{Conditions, TaskState, TaskStatus, Transition, transition};
use tenure_core::{Code, Error, Result, Span, Time, hold as rule, text};
use tenure_store::table::project::Class;
use tenure_store::table::{agent, dep, hold, path, project, shown_fence, task};

use super::operation::{Access, Door, Input, Operation, Role};
use crate::answer;
use crate::candidates::{self, FirstTasks};
use crate::paths::{self, Regained};
use crate::unit_of_work::{Grant, LoadedTask, UnitOfWork, held_by};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The task; by default the best one that is available.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// How long the hold lives after the holder's last op, 1 second to 24 hours.
    #[serde(default)]
    pub ttl_s: Option<i64>,
    /// Only tasks that have all of these labels.
    #[serde(default)]
    pub labels: Vec<String>,
}

impl Operation for Claim {
    const NAME: &'static str = "claim";
    const ABOUT: &'static str = "Claim a task: the named one, or the best ready one";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    const INPUTS: &'static [Input] = &[Input::DeadAgents];
    type Answer = answer::Claimed;

    fn check(&self) -> Result<()> {
        self.ttl_s.map(|seconds| rule::ttl(Span::seconds(seconds))).transpose()?;
        text::labels(&self.labels).map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Claimed> {
        let ((loaded, fresh), chosen_by) = match &self.task {
            Some(named) => (work.load_and_draw(named)?, ChoiceRule::Named),
            None => match choose(work, &text::labels(&self.labels)?)? {
                Some(found) => found,
                None => {
                    return Ok(answer::Claimed::nothing(why_nothing(work, !self.labels.is_empty())?));
                }
            },
        };
        match &loaded.full.held {
            Some(held) if held.holder == work.me() => renew(work, loaded, self.ttl_s, ChoiceRule::Own),
            Some(held) => Err(held_by(work.now, &loaded.full.task.id, held)),
            None => take(work, loaded, fresh, self.ttl_s, chosen_by),
        }
    }
}

/// The actor's own task: the same hold and fence, renewed, and in focus. There is no event.
pub(crate) fn renew(
    work: &mut UnitOfWork<'_>,
    mut loaded: LoadedTask,
    ttl_s: Option<i64>,
    chosen_by: ChoiceRule,
) -> Result<answer::Claimed> {
    let project = work.project.id.clone();
    let task = loaded.full.task.id.clone();
    let Some(held) = loaded.full.held.as_mut() else { return Err(Error::bug("an own hold that is none")) };
    let before = held.ttl;
    held.ttl = ttl_s.map_or(held.ttl, Span::seconds);
    held.expires_at = work.now + held.ttl;
    hold::renew(work.tx, &project, &held.id, held.expires_at, held.ttl)?;
    path::renew_with_task(work.tx, &project, &task, work.now, before, (held.expires_at, held.ttl))?;
    let row = hold::Row {
        granted_at: held.granted_at,
        expires_at: held.expires_at,
        ttl: held.ttl,
        reason: held.reason.clone(),
        ..hold::Row::new(held.id.clone(), (HoldKind::Task, &task), &held.holder, held.fence)
    };
    let me = work.me();
    agent::set_focus(work.tx, &project, me, &task)?;
    shown_fence::put(work.tx, &project, me, &task, row.fence)?;
    Ok(claimed(work, &loaded, &row, chosen_by, None, Regained::default()))
}

/// A free task: a new hold, whose fence is the number of its event.
pub(crate) fn take(
    work: &mut UnitOfWork<'_>,
    mut loaded: LoadedTask,
    fresh: HoldId,
    ttl_s: Option<i64>,
    chosen_by: ChoiceRule,
) -> Result<answer::Claimed> {
    let full = &mut loaded.full;
    // A caller that names a task does not wait for its time.
    let conditions = Conditions { not_before: None, ..full.task.conditions() };
    let (status, state) = conditions.view(false, work.now);
    let next = transition(&full.task.id, status, Transition::Claim).map_err(|error| finished(error, &full.task))?;
    if state != TaskState::Ready {
        return Err(not_ready(&full.task, state, &loaded.edges));
    }
    let lapsed_from = full.task.last_holder.clone().filter(|_| full.task.lapsed);
    let chosen_by =
        if chosen_by == ChoiceRule::Ready && lapsed_from.is_some() { ChoiceRule::Lapsed } else { chosen_by };
    let before = full.task.class();
    let last_fence = full.task.last_fence;
    let ttl = ttl_s.map_or(rule::TASK_TTL, Span::seconds);
    let grant = Grant::Claim { rule: chosen_by, lapsed_from: lapsed_from.clone() };
    let (me, expires_at) = (work.me(), work.now + ttl);
    let hold = work.grant(full, fresh, me, (ttl, expires_at), grant)?;
    full.task.set_status(next);
    // The claim ends the snooze: if its hold lapses, the task is offered at once.
    full.task.set_not_before(None);
    full.task.version += 1;
    full.task.updated_at = work.now;
    work.store_task(before, &full.task)?;
    let project = work.project.id.clone();
    shown_fence::put(work.tx, &project, me, &full.task.id, hold.fence)?;
    let regained = match &lapsed_from {
        Some(from) => paths::take_over(work, &hold, (last_fence, from))?,
        None => Regained::default(),
    };
    Ok(claimed(work, &loaded, &hold, chosen_by, lapsed_from.as_deref(), regained))
}

fn claimed(
    work: &UnitOfWork<'_>,
    loaded: &LoadedTask,
    hold: &hold::Row,
    by: ChoiceRule,
    lapsed_from: Option<&str>,
    regained: Regained,
) -> answer::Claimed {
    answer::Claimed {
        task: Some(work.view(&loaded.full, &loaded.edges)),
        hold: Some(answer::Hold::granted(hold, work.now)),
        rule: by,
        reason: reason(by, loaded.full.task.priority, lapsed_from),
        paths: regained.holds,
        lost_paths: regained.lost,
    }
}

/// The first task in the order of choice that the actor may take, settled if its hold has lapsed. A task that the actor
/// gave up comes after all others.
///
/// Almost always all lapsed holds have just been settled, so the ready tasks are the only candidates. Holds that are
/// still unsettled, or that belong to an agent proven dead, join them in the same order.
pub(crate) fn choose(
    work: &mut UnitOfWork<'_>,
    labels: &[String],
) -> Result<Option<((LoadedTask, HoldId), ChoiceRule)>> {
    let mut found = ready(work, labels)?;
    if work.more_due || !work.dead.is_empty() {
        found = found.with(over(work, labels)?);
    }
    match found.best() {
        None => Ok(None),
        Some(full) => {
            // Loaded by its id like a named task: with its dependencies, and settled first if its hold is over.
            let task = full.task.id;
            Ok(Some((work.load_and_draw(&task)?, ChoiceRule::Ready)))
        }
    }
}

fn ready(work: &mut UnitOfWork<'_>, labels: &[String]) -> Result<FirstTasks> {
    let project = work.project.id.clone();
    let me = work.me();
    if let Some(label) = labels.first() {
        let stream = task::TaskStream::Label(label.clone(), TaskStatus::Open, true);
        return candidates::of_stream(work.tx, (&project, me), &stream, &|full| suits(&full.task, labels, me));
    }
    let streams = [None, Some(me.clone())].map(task::TaskStream::ReadyFor);
    let heads =
        work.tx.fetch(streams.iter().map(|stream| stream.page(&project, &Rank::start(), 1)).collect::<Vec<_>>())?;
    let mut found = FirstTasks::default();
    for (stream, mut head) in streams.iter().zip(heads) {
        found = found.with(candidates::from_head(work.tx, (&project, me), stream, head.pop(), &|_| true)?);
    }
    Ok(found)
}

/// The started tasks whose hold is over for this op.
fn over(work: &mut UnitOfWork<'_>, labels: &[String]) -> Result<FirstTasks> {
    let project = work.project.id.clone();
    let me = work.me();
    let (now, dead) = (work.now, work.dead.clone());
    let stream = task::TaskStream::Status(TaskStatus::Started, false);
    candidates::of_stream(work.tx, (&project, me), &stream, &|full| {
        let over = |held: &task::TaskHold| rule::lapsed(now, held.expires_at) || dead.contains(&held.holder);
        full.held.as_ref().is_some_and(over) && full.task.is_ready_at(now) && suits(&full.task, labels, me)
    })
}

/// Whether an agent may get this task without naming it.
pub(crate) fn suits(task: &task::Row, labels: &[String], me: &AgentName) -> bool {
    task.assignee.as_ref().is_none_or(|assignee| assignee == me)
        && labels.iter().all(|label| task.labels.contains(label))
}

/// Says in words why a caller that named no task gets none.
pub(crate) fn why_nothing(work: &mut UnitOfWork<'_>, filtered: bool) -> Result<String> {
    let snoozed = work.tx.fetch(task::snoozed(&work.project.id, work.now))?;
    Ok(nothing(&counts(&work.project), snoozed, filtered))
}

/// The stored counters of a project.
pub(crate) fn counts(project: &project::Row) -> StateCounts {
    StateCounts {
        ready: project.count(Class::Ready),
        waiting: project.count(Class::Waiting),
        stuck: project.count(Class::Stuck),
        held: project.count(Class::Started),
        blocked: project.count(Class::Blocked),
        done: project.count(Class::Done),
        cancelled: project.count(Class::Cancelled),
    }
}

/// Adds to an error who finished or cancelled the task, and when.
pub(crate) fn finished(error: Error, task: &task::Row) -> Error {
    if !task.status.is_closed() {
        return error;
    }
    let how = match task.status {
        TaskStatus::Done => "finished",
        _ => "cancelled",
    };
    let at = task.finished_at.unwrap_or(Time(0)).to_string();
    error
        .who(format!("{how} by {} at {at}", or_empty(task.finished_by.as_ref())))
        .detail("finished_by", or_empty(task.finished_by.as_ref()))
        .detail("finished_at", at)
}

fn not_ready(task: &task::Row, state: TaskState, edges: &[dep::Edge]) -> Error {
    let unmet: Vec<&str> =
        edges.iter().filter(|edge| edge.status != TaskStatus::Done).map(|edge| edge.after.as_str()).collect();
    let shown = unmet.iter().take(10).copied().collect::<Vec<_>>().join(", ");
    let message = match state {
        TaskState::Stuck => format!("{} cannot start: a task it comes after was cancelled ({shown})", task.id),
        _ => format!("{} is not ready: it comes after {shown}", task.id),
    };
    Error::new(Code::NotReady, message)
        .entity(&task.id)
        .attempt(Action::ClaimTask { task: None })
        .attempt(Action::show_graph(&task.id))
        .person("A person can change the dependencies with `edit` and --after.")
        .detail("unmet", unmet)
}
