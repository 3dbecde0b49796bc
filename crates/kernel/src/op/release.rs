//! Releases a task, paths or a lock.

pub(super) mod held_paths;
pub(super) mod named_lock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::task::TaskReleased;
use tenure_core::hold::{Ending, Right};
use tenure_core::id::{AnyId, TaskId};
use tenure_core::number::Fence;
use tenure_core::task::{TaskStatus, Transition};
use tenure_core::{Code, Error, Result, lock, text};
use tenure_store::table::task;

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::end_task::{EndingTask, TaskRef};
use crate::paths;
use crate::unit_of_work::UnitOfWork;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The task; without any of task, hold, paths and lock, the one in focus.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// A hold instead of a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<AnyId>,
    /// Patterns instead of a task: all own holds that they cover are released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The name of a lock instead of a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// Whether the checkout's file system ignores case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fold_case: bool,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// The fence to use instead of the one last shown.
    #[serde(default)]
    pub fence: Option<Fence>,
    /// Whether a person overrides the holder.
    #[serde(default)]
    pub force: bool,
}

impl Operation for Release {
    const NAME: &'static str = "release";
    const ABOUT: &'static str = "Release a task, paths or a lock";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Released;

    fn access(&self) -> Access {
        Access::forced(self.force)
    }

    fn check(&self) -> Result<()> {
        text::body(&self.reason, "reason")?;
        let named = [self.task.is_some(), self.hold.is_some(), !self.paths.is_empty(), self.lock.is_some()];
        if named.into_iter().filter(|named| *named).count() > 1 {
            return Err(Error::usage(
                Code::ReleaseWhat,
                "one request releases a task, a hold, paths or a lock, and not several of these",
            )
            .hint("Make one call for each."));
        }
        self.lock.as_deref().map(lock::name).transpose()?;
        if self.paths.is_empty() { Ok(()) } else { paths::read(&self.paths, self.fold_case).map(|_| ()) }
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Released> {
        if !self.paths.is_empty() {
            return held_paths::by_pattern(work, self).map(Box::new).map(answer::Released::Paths);
        }
        if let Some(name) = &self.lock {
            return named_lock::by_name(work, name, self).map(Box::new).map(answer::Released::Paths);
        }
        let mut task = self.task.clone();
        if let Some(named) = &self.hold {
            match held_paths::by_id(work, named, self)? {
                Ok(its) => task = Some(its),
                Err(ended) => return Ok(answer::Released::Paths(Box::new(ended))),
            }
        }
        let acting = TaskRef { task: task.as_ref(), fence: self.fence, force: self.force };
        let mut ending = EndingTask::begin_if(work, &acting, Transition::Release, is_held)?;
        let reason = text::body(&self.reason, "reason")?;
        let event = |overrode| Event::TaskReleased(TaskReleased { reason, overrode });
        ending.end(work, Ending::Released, event, |_| {})?;
        Ok(answer::Released::Task(Box::new(ending.view(work))))
    }
}

/// A lapsed hold cannot be released. Finishing late is allowed, releasing late is not.
fn is_held(task: &TaskId, right: Right, full: &task::Full) -> Result<()> {
    if right == Right::Late {
        return Err(Error::new(Code::Lapsed, format!("your hold on {task} has expired: there is nothing to release"))
            .entity(task)
            .attempt(Action::claim(task))
            .attempt(Action::NextTask));
    }
    if full.held.is_none() && full.task.status == TaskStatus::Open {
        return Err(Error::new(Code::NotHeld, format!("{task} has no holder"))
            .entity(task)
            .attempt(Action::show(task)));
    }
    Ok(())
}
