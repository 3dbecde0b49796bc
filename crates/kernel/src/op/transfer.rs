//! Transfers a held task to another agent: the remaining time stays, the fence is new, and the focus and the paths move
//! along.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::hold::{Ending, Right};
use tenure_core::id::TaskId;
use tenure_core::name::AgentName;
use tenure_core::number::Fence;
use tenure_core::{Code, Error, Result, name};

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::paths;
use crate::unit_of_work::{Grant, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// The task; by default the one in focus.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// The new holder.
    pub to: AgentName,
    /// The fence to use instead of the one last shown.
    #[serde(default)]
    pub fence: Option<Fence>,
    /// Whether a person overrides the holder.
    #[serde(default)]
    pub force: bool,
}

impl Operation for Transfer {
    const NAME: &'static str = "transfer";
    const ABOUT: &'static str = "Transfer a held task to another agent";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Transferred;

    fn access(&self) -> Access {
        Access::forced(self.force)
    }

    fn check(&self) -> Result<()> {
        name::check(&self.to).map(|_| ())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Transferred> {
        let task = work.meant(self.task.as_ref())?;
        let (mut loaded, fresh) = work.load_and_draw(&task)?;
        let (right, overrode) = work.right_or_force(&loaded, self.fence, self.force)?;
        if right == Right::Late {
            return Err(Error::new(
                Code::Lapsed,
                format!("your hold on {task} has expired: there is nothing to transfer"),
            )
            .entity(&task)
            .attempt(Action::claim(task)));
        }
        let Some(held) = loaded.full.held.clone() else {
            return Err(Error::new(
                Code::NothingToTransfer,
                format!("{task} has no holder: there is nothing to transfer"),
            )
            .entity(&task)
            .attempt(Action::claim(task)));
        };
        let to = work.known_agent(&self.to)?.name;
        if to == held.holder {
            return Err(Error::new(Code::SameHolder, format!("{to} already holds {task}"))
                .entity(&task)
                .attempt(Action::show(task)));
        }
        paths::refuse_split(work, &task, &loaded.bound, &to)?;
        let full = &mut loaded.full;
        let before = full.task.class();
        let next_number = work.project.last_event.next();
        work.end_hold(full, Ending::Transferred, next_number, overrode.as_ref())?;
        let grant = Grant::Transfer { from: held.holder, ended_hold: held.id, overrode: overrode.clone() };
        // The new grant has a new row, so that the old one keeps its history.
        let hold = work.grant(full, fresh, &to, (held.ttl, held.expires_at), grant)?;
        full.task.version += 1;
        full.task.updated_at = work.now;
        work.store_task(before, &full.task)?;
        let mut holds = vec![answer::Hold::granted(&hold, work.now)];
        holds.extend(paths::hand_over(work, loaded.bound, &to, overrode.as_ref())?);
        Ok(answer::Transferred { holds })
    }
}
