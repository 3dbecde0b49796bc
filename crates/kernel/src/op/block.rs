//! Blocks a task, with a reason.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::task::TaskBlocked;
use tenure_core::hold::{Ending, Right};
use tenure_core::id::TaskId;
use tenure_core::number::Fence;
use tenure_core::task::{TaskStatus, Transition};
use tenure_core::{Code, Error, Result, graph, id, text};
use tenure_store::table::{dep, task};

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::end_task::{EndingTask, TaskRef};
use crate::unit_of_work::UnitOfWork;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The task; by default the one in focus.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// Why.
    pub reason: String,
    /// The task that blocks it, until that task is done.
    #[serde(default)]
    pub on: Option<TaskId>,
    /// The fence to use instead of the one last shown.
    #[serde(default)]
    pub fence: Option<Fence>,
    /// Whether a person overrides the holder.
    #[serde(default)]
    pub force: bool,
}

impl Operation for Block {
    const NAME: &'static str = "block";
    const ABOUT: &'static str = "Block a task that cannot continue, with a reason";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Task;

    fn access(&self) -> Access {
        Access::forced(self.force)
    }

    fn check(&self) -> Result<()> {
        text::required(&self.reason, "reason").map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Task> {
        let acting = TaskRef { task: self.task.as_ref(), fence: self.fence, force: self.force };
        let mut ending = EndingTask::begin(work, &acting, Transition::Block)?;
        if let Some(on) = &self.on {
            check_blocker(work, &ending.task, on)?;
        }
        let reason = text::required(&self.reason, "reason")?;
        let late = ending.right == Right::Late;
        let blocked =
            TaskBlocked { reason: reason.clone(), on: self.on.as_ref().map(ToString::to_string), late, overrode: None };
        let event = |overrode| Event::TaskBlocked(TaskBlocked { overrode, ..blocked });
        ending.end(work, Ending::Finished, event, |row| {
            row.reason = reason;
            row.blocked_on = self.on.clone();
        })?;
        Ok(ending.view(work))
    }
}

fn check_blocker(work: &mut UnitOfWork<'_>, task: &TaskId, on: &TaskId) -> Result<()> {
    if on == task {
        return Err(Error::new(Code::Cycle, format!("{task} cannot be blocked on itself")).entity(task));
    }
    match work.existing(std::slice::from_ref(on))?.first() {
        None => Err(id::unknown(on, id::Sort::Task)),
        Some((_, status @ (TaskStatus::Done | TaskStatus::Cancelled))) => {
            Err(Error::new(Code::BlockerGone, format!("{on} is {status}: it cannot block anything")).entity(on))
        }
        Some(_) => refuse_circle(work, task, on),
    }
}

/// Refuses a blocker that itself waits for the task, through its dependencies or its own blocker.
fn refuse_circle(work: &mut UnitOfWork<'_>, task: &TaskId, on: &TaskId) -> Result<()> {
    let project = work.project.id.clone();
    let mut edges: Vec<(TaskId, TaskId)> = Vec::new();
    let mut seen: HashSet<TaskId> = HashSet::new();
    let mut fresh = vec![on.clone()];
    while !fresh.is_empty() {
        let beyond = dep::reachable(work.tx, &project, &fresh)?;
        let mut reached: Vec<TaskId> = beyond.iter().flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
        reached.append(&mut fresh);
        reached.retain(|id| seen.insert(id.clone()));
        edges.extend(beyond);
        for (id, blocker) in task::blockers(work.tx, &project, &reached)? {
            if !seen.contains(&blocker) {
                fresh.push(blocker.clone());
            }
            edges.push((id, blocker));
        }
    }
    match graph::path(&edges, std::slice::from_ref(on), task) {
        None => Ok(()),
        Some(way) => Err(Error::new(
            Code::Cycle,
            format!("{task} cannot be blocked on {on}: these wait for each other: {}", way.join(" waits for ")),
        )
        .entity(task)
        .attempt(Action::show_graph(on))
        .detail("cycle", way)),
    }
}
