//! `resume --peek`: what `resume` would take, and the brief of it. It takes, offers and confirms nothing.

use serde::{Deserialize, Serialize};
use tenure_core::choice::Rule;
use tenure_core::task::State;
use tenure_core::{Result, text};
use tenure_store::Tx;
use tenure_store::table::{agent, delivery, task};

use super::list::{self, views};
use super::mail::look;
use super::next::{gone_agents, next};
use super::{LIMIT_MAX, Scene};
use crate::brief::{self, Ask};
use crate::call::{Call, Door, Tree};
use crate::focus::{Seeker, in_focus, own};
use crate::kernel::Kernel;
use crate::op::Operation;
use crate::op::resume::{EVENTS, MAIL, Resume, kept_from, lost, news};
use crate::shape;

/// What a session is shown when it begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beginning {
    /// It holds a task: the brief of it.
    Brief(String),
    /// It holds none.
    Free {
        /// What it lost, in a sentence.
        lost: Option<String>,
        /// What is ready and not reserved for another, in the order of choice.
        ready: Vec<shape::Task>,
    },
}

impl Kernel {
    /// What `resume` would answer now.
    pub fn peek(&self, call: &Call, request: &Resume) -> Result<shape::Resumed> {
        request.check()?;
        let labels = text::labels(&request.labels)?;
        self.ask(call, |tx, scene| peek(tx, scene, request, &labels))
    }

    /// What a session is shown when it begins: the brief of the task in its focus, or up to some ready tasks. One snapshot,
    /// and nothing is gathered that is not shown.
    pub fn beginning(&self, call: &Call, request: &Resume, ready: usize) -> Result<Beginning> {
        request.check()?;
        let labels = text::labels(&request.labels)?;
        self.ask(call, |tx, scene| beginning(tx, scene, request, &labels, ready))
    }
}

fn peek(tx: &mut dyn Tx, scene: &Scene<'_>, request: &Resume, labels: &[String]) -> Result<shape::Resumed> {
    let project = scene.project_id();
    let me = scene.call.actor.name.as_str();
    let row = tx.fetch(agent::get(project, me))?;
    let focus = row.as_ref().map_or("", |row| row.focus.as_str());
    let over = |held: &task::Held| scene.is_over(held);
    let gone = gone_agents(tx, scene)?;
    let seeker = Seeker { project, me, focus, labels, gone: &gone, over: &over };
    let (task, chosen_by, reason) = match own(tx, &seeker)? {
        Some((full, by)) => {
            let lapsed = full.task.lapsed || full.held.as_ref().is_some_and(over);
            let reason = tenure_core::choice::reason(by, full.task.priority, lapsed.then_some(me));
            (views(tx, scene, std::slice::from_ref(&full))?.pop(), by, reason)
        }
        None => {
            let found = next(tx, scene, labels)?;
            (found.task, found.rule, found.reason)
        }
    };
    let held = task.as_ref().is_some_and(|task| task.holder.as_ref().is_some_and(|holder| holder.agent == me));
    let lost = lost(tx, project, me, focus, &over)?;
    let about =
        About { task: task.as_ref().map(|task| (task.id.as_str(), held)), nothing: &reason, lost: lost.as_deref() };
    let told = told(tx, scene, request, row.as_ref(), &about)?;
    Ok(shape::Resumed {
        focus: task.as_ref().filter(|_| held && chosen_by == Rule::Focus).map(|task| task.id.clone()),
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

/// What a brief is about: the task and whether it is held, why there is none, what was lost.
struct About<'a> {
    task: Option<(&'a str, bool)>,
    nothing: &'a str,
    lost: Option<&'a str>,
}

struct Told {
    brief: shape::Brief,
    events: shape::Offered,
    mail: shape::Inbox,
}

fn told(
    tx: &mut dyn Tx,
    scene: &Scene<'_>,
    request: &Resume,
    row: Option<&agent::Row>,
    about: &About<'_>,
) -> Result<Told> {
    let (project, me) = (scene.project_id(), scene.call.actor.name.as_str());
    let start = scene.project.map_or(0, |project| project.last_event);
    let mail = look(tx, project, me, MAIL)?;
    let place = mail.cursors.unwrap_or(delivery::Row { offered: start, confirmed: start, ..delivery::Row::default() });
    let kept_from = scene.project.and_then(|project| kept_from(project.first_event, &place));
    let (items, reached) = news(tx, project, me, &place, request.limit.unwrap_or(EVENTS))?;
    let mail = mail.seen();
    let here = super::check::here(tx, scene)?;
    let nowhere = Tree::default();
    let tools = scene.call.actor.door == Door::Mcp || row.is_some_and(|row| row.mcp);
    let ask = Ask {
        project,
        me,
        checkout: &here,
        host: scene.call.checkout.as_ref().map_or("", |here| here.host.as_str()),
        dead: &scene.dead,
        now: scene.now,
        tools,
        phrasing: (scene.words)(if tools { Door::Mcp } else { Door::Cli }),
        tree: scene.call.checkout.as_ref().map_or(&nowhere, |here| &here.tree),
        budget: request.bytes()?,
        task: about.task,
        nothing: about.nothing,
        lost: about.lost,
        lost_paths: &[],
        news: &items,
        offered: None,
        mail: &mail,
        in_line: scene.project.map_or(0, |project| project.waiting),
    };
    let brief = brief::of(tx, &ask)?;
    let events = shape::Offered { items, more: reached.is_some(), offered: None, kept_from };
    Ok(Told { brief, events, mail })
}

fn beginning(
    tx: &mut dyn Tx,
    scene: &Scene<'_>,
    request: &Resume,
    labels: &[String],
    most: usize,
) -> Result<Beginning> {
    let project = scene.project_id();
    let me = scene.call.actor.name.as_str();
    let row = tx.fetch(agent::get(project, me))?;
    let focus = row.as_ref().map_or("", |row| row.focus.as_str());
    let over = |held: &task::Held| scene.is_over(held);
    // Who is gone matters to what else it might take, and nothing is taken.
    let seeker = Seeker { project, me, focus, labels, gone: &[], over: &over };
    if let Some(full) = in_focus(tx, &seeker)? {
        let about = About { task: Some((full.task.id.as_str(), true)), nothing: "", lost: None };
        let told = told(tx, scene, request, row.as_ref(), &about)?;
        return Ok(Beginning::Brief(told.brief.text));
    }
    let lost = lost(tx, project, me, focus, &over)?;
    // Some may be reserved for others.
    let (states, limit) = (vec![State::Ready], most.saturating_mul(4).min(LIMIT_MAX));
    let filter = list::Filter { states, labels: labels.to_vec(), limit, ..list::Filter::default() };
    let may = |task: &shape::Task| task.assignee.as_ref().is_none_or(|assignee| assignee == me);
    let ready = list::page(tx, scene, &filter, None)?.items.into_iter().filter(may).take(most).collect();
    Ok(Beginning::Free { lost, ready })
}
