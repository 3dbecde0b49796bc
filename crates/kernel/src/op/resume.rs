//! Resumes: chooses a task, claims it, and gives everything needed to continue it, in one transaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::choice::ChoiceRule;
use tenure_core::event::Event;
use tenure_core::event::memory::{MemoryAdded, MemoryChanged, MemoryForgotten, MemoryPinned};
use tenure_core::id::{HoldId, TaskId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::task::TaskStatus;
use tenure_core::{Result, Span, Time, brief as budget, event, hold as rule, text};
use tenure_store::Tx;
use tenure_store::table::{agent, delivery, event as log, task};

use super::claim::{choose, renew, take, why_nothing};
use super::operation::{Access, Door, Input, Offered, Operation, Role};
use super::unblock::go_on;
use crate::answer;
use crate::brief::{self, BriefRequest};
use crate::call::WorkingTree;
use crate::fact;
use crate::focus::{Seeker, own};
use crate::query::mail::look;
use crate::unit_of_work::{LoadedTask, UnitOfWork};

/// The default number of events offered.
pub const EVENTS: usize = 20;
/// The maximum number of messages offered.
pub(crate) const MAIL: usize = 10;
/// The maximum size of a page while reading the events to offer, and how many are read in total. The first page has the
/// requested number and a few more, which is mostly enough.
const PAGE: usize = 200;
const FEW: usize = 8;
const LOOKED_THROUGH: usize = 2_000;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// Only tasks that have all of these labels.
    #[serde(default)]
    pub labels: Vec<String>,
    /// How long a new hold lives after the holder's last op, 1 second to 24 hours.
    #[serde(default)]
    pub ttl_s: Option<i64>,
    /// The size of the brief in tokens of 4 bytes; by default 1,500.
    #[serde(default)]
    pub budget: Option<i64>,
    /// The maximum number of events to offer; by default 20.
    #[serde(default)]
    pub limit: Option<usize>,
}

impl Resume {
    /// The budget in bytes.
    pub(crate) fn bytes(&self) -> Result<usize> {
        budget::budget(self.budget.unwrap_or_else(|| i64::try_from(budget::DEFAULT).unwrap_or(i64::MAX)))
    }
}

impl Operation for Resume {
    const NAME: &'static str = "resume";
    const ABOUT: &'static str = "Continue your task or claim the best one, with all context";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    const INPUTS: &'static [Input] = &[Input::DeadAgents, Input::WorkingTree];
    const OFFERED: Option<fn(&answer::Resumed) -> Offered> =
        Some(|answer| Offered { events: answer.events.offered, mail: answer.mail.offered });
    type Answer = answer::Resumed;

    fn check(&self) -> Result<()> {
        self.ttl_s.map(|seconds| rule::ttl(Span::seconds(seconds))).transpose()?;
        self.bytes()?;
        crate::query::limit(self.limit.unwrap_or(EVENTS))?;
        text::labels(&self.labels).map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Resumed> {
        let labels = text::labels(&self.labels)?;
        let (project, me) = (work.project.id.clone(), work.me());
        let focus = work.focus().cloned();
        let (now, dead) = (work.now, work.dead.clone());
        let over = |held: &task::TaskHold| rule::lapsed(now, held.expires_at) || dead.contains(&held.holder);
        let lost = lost(work.tx, &project, me, focus.as_ref(), &over)?;
        let claimed = go_on_with(work, self, &labels)?;
        let task = claimed.task.as_ref().map(|task| task.id.clone());
        if let (None, Some(focus)) = (&task, &focus) {
            agent::clear_focus(work.tx, &project, me, focus)?;
        }

        // The first time there is nothing to catch up on: what happened before is in the tasks themselves.
        let start = work.first_event;
        let mail = look(work.tx, &project, me, MAIL)?;
        let mut place =
            mail.cursors.unwrap_or(delivery::Row { offered: start, confirmed: start, ..delivery::Row::default() });
        let first_kept = work.project.first_event;
        let (items, reached) = news(work.tx, &project, me, &place, self.limit.unwrap_or(EVENTS))?;
        // Events that this op appended are not news to its actor.
        let more = reached.is_some();
        let offered = reached.unwrap_or(work.project.last_event).max(place.confirmed);
        place.offered = offered.max(place.offered);
        let mail = mail.offered();
        place.mail_offered = mail.offered.unwrap_or_default().max(place.mail_offered);
        delivery::put(work.tx, &project, me, &place)?;

        let nowhere = WorkingTree::default();
        let ask = BriefRequest {
            project: &project,
            me,
            checkout: work.checkout.as_ref(),
            host: work.call.checkout.as_ref().map_or("", |here| here.host.as_str()),
            dead: &work.dead,
            now: work.now,
            tools: work.uses_tools(),
            phrasing: work.phrasing(),
            tree: work.call.checkout.as_ref().map_or(&nowhere, |here| &here.tree),
            budget: self.bytes()?,
            task: task.as_ref().map(|task| (task, true)),
            nothing: &claimed.reason,
            lost: lost.as_deref(),
            lost_paths: &claimed.lost_paths,
            news: &items,
            offered: Some(offered),
            mail: &mail,
            in_line: work.project.waiting,
        };
        let brief = brief::of(work.tx, &ask)?;
        Ok(answer::Resumed {
            focus: task,
            task: claimed.task,
            hold: claimed.hold,
            rule: claimed.rule,
            reason: claimed.reason,
            lost,
            paths: claimed.paths,
            lost_paths: claimed.lost_paths,
            brief,
            events: answer::OfferedEvents {
                items,
                more,
                offered: Some(offered),
                kept_from: kept_from(first_kept, &place),
            },
            mail,
        })
    }
}

/// Chooses and claims. The chosen task is loaded again with its hold settled, so it is claimed as it is.
fn go_on_with(work: &mut UnitOfWork<'_>, request: &Resume, labels: &[String]) -> Result<answer::Claimed> {
    let (project, focus, now) = (work.project.id.clone(), work.focus().cloned(), work.now);
    let (me, dead) = (work.me(), work.dead.clone());
    let over = |held: &task::TaskHold| rule::lapsed(now, held.expires_at) || dead.contains(&held.holder);
    let seeker = Seeker { project: &project, me, focus: focus.as_ref(), labels, gone: &[], over: &over, now };
    let (mut loaded, fresh, chosen_by): (LoadedTask, HoldId, ChoiceRule) = match own(work.tx, &seeker)? {
        Some((full, by)) => {
            let (loaded, fresh) = work.load_and_draw(&full.task.id)?;
            (loaded, fresh, by)
        }
        None => match choose(work, labels)? {
            Some(((loaded, fresh), by)) => (loaded, fresh, by),
            None => {
                let reason = why_nothing(work, !labels.is_empty())?;
                return Ok(answer::Claimed::nothing(reason));
            }
        },
    };
    if loaded.full.held.is_some() {
        return renew(work, loaded, request.ttl_s, chosen_by);
    }
    if loaded.full.task.status == TaskStatus::Blocked {
        go_on(work, &mut loaded.full, true)?;
    }
    take(work, loaded, fresh, request.ttl_s, chosen_by)
}

/// A sentence that says that the task in focus is no longer the agent's, and whose it is.
pub(crate) fn lost(
    tx: &mut dyn Tx,
    project: &str,
    me: &AgentName,
    focus: Option<&TaskId>,
    over: &dyn Fn(&task::TaskHold) -> bool,
) -> Result<Option<String>> {
    let Some(focus) = focus else { return Ok(None) };
    let Some(full) = tx.fetch(task::get(project, focus))? else { return Ok(None) };
    let named = format!("{focus} {}", text::quote(&full.task.title, 120));
    Ok(match &full.held {
        Some(held) if held.holder == me => None,
        Some(held) if !over(held) => Some(format!(
            "{named} is no longer yours: {} took it over at {} (fence {}). Leave it to that agent; your notes are \
             kept.",
            held.holder, held.granted_at, held.fence
        )),
        None if full.task.status.is_closed() && full.task.finished_by.as_ref() != Some(me) => Some(format!(
            "{named} is no longer yours: {} finished it at {} ({}).",
            or_empty(full.task.finished_by.as_ref()),
            full.task.finished_at.unwrap_or(Time(0)),
            full.task.status.as_str()
        )),
        _ => None,
    })
}

/// Events of others that the agent has not been shown, oldest first, and where the reading stopped if there are more.
pub(crate) fn news(
    tx: &mut dyn Tx,
    project: &str,
    me: &str,
    place: &delivery::Row,
    limit: usize,
) -> Result<(Vec<answer::News>, Option<EventNumber>)> {
    let mut items = Vec::new();
    let mut after = place.confirmed;
    let mut seen = 0;
    let mut step = (limit + FEW).min(PAGE);
    loop {
        let page =
            tx.fetch(log::page(project, &log::EventFilter::default(), (after, EventNumber::MAX), false, step))?;
        let full = page.len() == step;
        step = PAGE;
        for row in page {
            let told = row.actor != me && !is_noise(&row.kind) && !is_for_few(&row)?;
            // Only an event that would be shown counts as more.
            if seen == LOOKED_THROUGH || (told && items.len() == limit) {
                return Ok((items, Some(after)));
            }
            after = row.number;
            seen += 1;
            if told {
                items.push(answer::News::of(row, place.offered)?);
            }
        }
        if !full {
            return Ok((items, None));
        }
    }
}

/// The oldest kept event, if it is beyond the next one to show.
pub(crate) fn kept_from(first_kept: EventNumber, place: &delivery::Row) -> Option<EventNumber> {
    (first_kept > place.confirmed.next()).then_some(first_kept)
}

/// A memory of a task or an agent is private to it. Its readers find it in the brief.
fn is_for_few(row: &log::Row) -> Result<bool> {
    if !row.kind.starts_with("memory.") {
        return Ok(false);
    }
    let scope = match fact::read(row)? {
        Event::MemoryAdded(MemoryAdded { scope, .. })
        | Event::MemoryChanged(MemoryChanged { scope, .. })
        | Event::MemoryForgotten(MemoryForgotten { scope, .. })
        | Event::MemoryPinned(MemoryPinned { scope, .. }) => scope,
        _ => return Ok(false),
    };
    Ok(scope.is_none_or(|scope| scope == "task" || scope == "agent"))
}

/// Events that give an agent nothing to act on.
fn is_noise(kind: &str) -> bool {
    matches!(
        kind,
        event::kind::AGENT_REGISTERED
            | event::kind::PROJECT_CREATED
            // Mail is delivered separately, to its recipients.
            | event::kind::MESSAGE_SENT
            | event::kind::MESSAGE_ACKED
            | event::kind::MESSAGE_ENDED
    )
}
