//! `resume --peek`: what `resume` would claim, with its brief. It claims, offers and confirms nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::choice::ChoiceRule;
use tenure_core::id::TaskId;
use tenure_core::number::EventNumber;
use tenure_core::{Result, text};
use tenure_store::Tx;
use tenure_store::table::{agent, delivery, task};

use super::Snapshot;
use super::list::views;
use super::mail::look;
use super::next::{gone_agents, next};
use super::query::{Access, Query, Role};
use crate::answer;
use crate::brief::{self, BriefRequest};
use crate::call::{Call, Door, WorkingTree};
use crate::focus::{Seeker, own};
use crate::kernel::Kernel;
use crate::op::Operation;
use crate::op::resume::{EVENTS, MAIL, Resume, kept_from, lost, news};

/// What `resume` would answer now.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Peek(pub Resume);

impl Query for Peek {
    const NAME: &'static str = "peek";
    const ABOUT: &'static str = "What `resume` would answer now";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = answer::Resumed;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<answer::Resumed> {
        let Peek(request) = self;
        request.check()?;
        let labels = text::labels(&request.labels)?;
        kernel.in_snapshot(call, |tx, snapshot| peek(tx, snapshot, request, &labels))
    }
}

fn peek(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, request: &Resume, labels: &[String]) -> Result<answer::Resumed> {
    let project = snapshot.project_id();
    let me = &snapshot.call.actor.name;
    let row = tx.fetch(agent::get(project, me))?;
    let focus = row.as_ref().and_then(|row| row.focus.as_ref());
    let over = |held: &task::TaskHold| snapshot.is_over(held);
    let gone = gone_agents(tx, snapshot)?;
    let seeker = Seeker { project, me, focus, labels, gone: &gone, over: &over, now: snapshot.now };
    let (task, chosen_by, reason) = match own(tx, &seeker)? {
        Some((full, by)) => {
            let lapsed = full.task.lapsed || full.held.as_ref().is_some_and(over);
            let reason = tenure_core::choice::reason(by, full.task.priority, lapsed.then_some(me.as_str()));
            (views(tx, snapshot, std::slice::from_ref(&full))?.pop(), by, reason)
        }
        None => {
            let found = next(tx, snapshot, labels)?;
            (found.task, found.rule, found.reason)
        }
    };
    let held = task.as_ref().is_some_and(|task| task.holder.as_ref().is_some_and(|holder| holder.agent == me));
    let lost = lost(tx, project, me, focus, &over)?;
    let about =
        BriefSubject { task: task.as_ref().map(|task| (&task.id, held)), nothing: &reason, lost: lost.as_deref() };
    let told = told(tx, snapshot, request, row.as_ref(), &about)?;
    Ok(answer::Resumed {
        focus: task.as_ref().filter(|_| held && chosen_by == ChoiceRule::Focus).map(|task| task.id.clone()),
        task,
        hold: None,
        rule: chosen_by,
        reason,
        lost,
        paths: Vec::new(),
        lost_paths: Vec::new(),
        brief: told.brief,
        events: told.events,
        mail: told.mail,
    })
}

/// The subject of a brief: the task and whether it is held, why there is none, what was lost.
pub(super) struct BriefSubject<'a> {
    pub(super) task: Option<(&'a TaskId, bool)>,
    pub(super) nothing: &'a str,
    pub(super) lost: Option<&'a str>,
}

pub(super) struct PeekedBrief {
    pub(super) brief: answer::Brief,
    events: answer::OfferedEvents,
    mail: answer::InboxPage,
}

pub(super) fn told(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    request: &Resume,
    row: Option<&agent::Row>,
    about: &BriefSubject<'_>,
) -> Result<PeekedBrief> {
    let (project, me) = (snapshot.project_id(), &snapshot.call.actor.name);
    let start = snapshot.project.map_or(EventNumber::START, |project| project.last_event);
    let mail = look(tx, project, me, MAIL)?;
    let place = mail.cursors.unwrap_or(delivery::Row { offered: start, confirmed: start, ..delivery::Row::default() });
    let kept_from = snapshot.project.and_then(|project| kept_from(project.first_event, &place));
    let (items, reached) = news(tx, project, me, &place, request.limit.unwrap_or(EVENTS))?;
    let mail = mail.seen();
    let here = snapshot.here();
    let nowhere = WorkingTree::default();
    let tools = snapshot.call.actor.door == Door::Mcp || row.is_some_and(|row| row.mcp);
    let ask = BriefRequest {
        project,
        me,
        checkout: Some(&here),
        host: snapshot.call.checkout.as_ref().map_or("", |here| here.host.as_str()),
        dead: &snapshot.dead,
        now: snapshot.now,
        tools,
        phrasing: (snapshot.words)(if tools { Door::Mcp } else { Door::Cli }),
        tree: snapshot.call.checkout.as_ref().map_or(&nowhere, |here| &here.tree),
        budget: request.bytes()?,
        task: about.task,
        nothing: about.nothing,
        lost: about.lost,
        lost_paths: &[],
        news: &items,
        offered: None,
        mail: &mail,
        in_line: snapshot.project.map_or(0, |project| project.waiting),
    };
    let brief = brief::of(tx, &ask)?;
    let events = answer::OfferedEvents { items, more: reached.is_some(), offered: None, kept_from };
    Ok(PeekedBrief { brief, events, mail })
}
