//! `beginning`: what a session is shown when it begins.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::id::TaskId;
use tenure_core::name::AgentName;
use tenure_core::opening::Coworker;
use tenure_core::task::TaskState;
use tenure_core::{Result, text};
use tenure_store::Tx;
use tenure_store::table::{agent, task};

use super::list::{List, page};
use super::peek::{BriefSubject, told};
use super::query::{Access, Query, Role};
use super::{LIMIT_MAX, Snapshot};
use crate::answer;
use crate::call::Call;
use crate::focus::{Seeker, in_focus};
use crate::kernel::Kernel;
use crate::op::Operation;
use crate::op::resume::{Resume, lost};

/// How many holds are read for the agents that have them.
const HOLDS: usize = 100;

/// Get the text for the start of a session: the brief of the task in its focus, or up to some ready tasks. One snapshot,
/// and nothing is gathered that is not shown.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    /// As for `resume`.
    pub request: Resume,
    /// Most ready tasks.
    pub ready: usize,
}

/// Get the text for the start of a session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionOpening {
    /// It holds a task: the brief of it.
    Brief(String),
    /// It holds none.
    Free {
        /// What it lost, in a sentence.
        lost: Option<String>,
        /// What is ready and not reserved for another, in the order of choice.
        ready: Vec<answer::Task>,
        /// How many are ready in all.
        #[serde(default)]
        ready_total: i64,
        /// How many messages are unread.
        #[serde(default)]
        unread: usize,
        /// The other agents that hold something, by name.
        #[serde(default)]
        others: Vec<Coworker>,
    },
}

impl Query for Beginning {
    const NAME: &'static str = "beginning";
    const ABOUT: &'static str = "Get the text for the start of a session";
    const PUBLIC: bool = false;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = SessionOpening;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<SessionOpening> {
        let request = &self.request;
        request.check()?;
        let labels = text::labels(&request.labels)?;
        kernel.in_snapshot(call, |tx, snapshot| beginning(tx, snapshot, request, &labels, self.ready))
    }
}

fn beginning(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    request: &Resume,
    labels: &[String],
    most: usize,
) -> Result<SessionOpening> {
    let project = snapshot.project_id();
    let me = &snapshot.call.actor.name;
    let row = tx.fetch(agent::get(project, me))?;
    let focus = row.as_ref().and_then(|row| row.focus.as_ref());
    let over = |held: &task::TaskHold| snapshot.is_over(held);
    // `gone` matters only for the choice of other tasks, and nothing is claimed here.
    let seeker = Seeker { project, me, focus, labels, gone: &[], over: &over, now: snapshot.now };
    if let Some(full) = in_focus(tx, &seeker)? {
        let about = BriefSubject { task: Some((&full.task.id, true)), nothing: "", lost: None };
        let told = told(tx, snapshot, request, row.as_ref(), &about)?;
        return Ok(SessionOpening::Brief(told.brief.text));
    }
    let lost = lost(tx, project, me, focus, &over)?;
    // More than needed are read, because some may be assigned to others.
    let (states, limit) = (vec![TaskState::Ready], most.saturating_mul(4).min(LIMIT_MAX));
    let filter = List { states, labels: labels.to_vec(), limit, ..List::default() };
    let may = |task: &answer::Task| task.assignee.as_ref().is_none_or(|assignee| assignee == me);
    let ready = page(tx, snapshot, &filter, None)?.items.into_iter().filter(may).take(most).collect();
    let (counts, _) = super::status::counts(tx, snapshot)?;
    let (_, unread) = super::mail::unread(tx, project, me, 0)?;
    Ok(SessionOpening::Free { lost, ready, ready_total: counts.ready, unread, others: others(tx, snapshot)? })
}

/// The other agents that hold something live, by name.
fn others(tx: &mut dyn Tx, snapshot: &Snapshot<'_>) -> Result<Vec<Coworker>> {
    let me = &snapshot.call.actor.name;
    let mut found: BTreeMap<AgentName, Option<TaskId>> = BTreeMap::new();
    for hold in super::holds::soonest(tx, snapshot, None, &(snapshot.now, "\u{7f}".to_owned()), HOLDS)? {
        if hold.holder != *me {
            let task = hold.held_task();
            let known = found.entry(hold.holder).or_default();
            *known = known.take().or(task);
        }
    }
    Ok(found.into_iter().map(|(name, task)| Coworker { name, task }).collect())
}
