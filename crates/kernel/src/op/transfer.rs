//! Transfers what an agent holds to another agent: a task, paths, a lock, or everything. The remaining time stays, the
//! fences are new, and the focus and the paths of a task move with it.

mod everything;
mod one_hold;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::hold::{Ending, Right};
use tenure_core::id::{AnyId, TaskId};
use tenure_core::name::AgentName;
use tenure_core::number::Fence;
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result, lock, name};
use tenure_store::table::hold;

use super::operation::{Access, Door, Operation, Role};
use crate::answer;
use crate::locks;
use crate::paths;
use crate::unit_of_work::{Grant, LoadedTask, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// The task; by default the one in focus, unless the request names a hold, paths, a lock or `all`.
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
    /// The hold, in place of a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<AnyId>,
    /// Patterns, in place of a task: all own holds that they cover are transferred. One that belongs to a task leaves it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The name of a lock, in place of a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// Whether the checkout's file system does not tell `A` from `a`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fold_case: bool,
    /// Whether everything is transferred that the agent holds, all or none. The locks of running commands stay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// With `all`: the agent whose holds are transferred; without it the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<AgentName>,
}

impl Operation for Transfer {
    const NAME: &'static str = "transfer";
    const ABOUT: &'static str = "Transfer a task, paths, a lock or everything held to another agent";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Transferred;

    fn access(&self) -> Access {
        Access::forced(self.force)
    }

    fn check(&self) -> Result<()> {
        name::check(&self.to)?;
        let named = [self.task.is_some(), self.hold.is_some(), !self.paths.is_empty(), self.lock.is_some(), self.all];
        if named.into_iter().filter(|named| *named).count() > 1 {
            return Err(what(
                "a task, a hold, paths, a lock or everything is transferred, not several of them at once",
            )
            .hint("Make one call for each."));
        }
        if self.from.is_some() && !self.all {
            return Err(what("`from` is only for `all`").hint("Name what is transferred, or everything with `all`."));
        }
        if self.all && self.fence.is_some() {
            return Err(what("`all` has no fence: everything is transferred that is held now"));
        }
        self.from.as_ref().map(|from| name::check(from)).transpose()?;
        self.lock.as_deref().map(lock::name).transpose()?;
        if self.paths.is_empty() { Ok(()) } else { paths::read(&self.paths, self.fold_case).map(|_| ()) }
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Transferred> {
        if self.all {
            return everything::by_holder(work, self);
        }
        let mut task = self.task.clone();
        if let Some(found) = one_hold::find(work, self)? {
            match found {
                one_hold::TransferTarget::Task(its) => task = Some(its),
                one_hold::TransferTarget::Holds(rows) => return one_hold::transfer(work, self, rows),
            }
        }
        self.task(work, task.as_ref())
    }
}

fn what(message: &str) -> Error {
    Error::usage(Code::TransferWhat, message.to_owned())
}

impl Transfer {
    /// Transfers a task with its paths.
    fn task(&self, work: &mut UnitOfWork<'_>, named: Option<&TaskId>) -> Result<answer::Transferred> {
        let task = work.meant(named)?;
        let loaded = work.load(&task)?;
        let (right, overrode) = work.right_or_force(&loaded, self.fence, self.force)?;
        if right == Right::Late {
            return Err(Error::new(
                Code::Lapsed,
                format!("your hold on {task} has expired: there is nothing to transfer"),
            )
            .entity(&task)
            .attempt(Action::claim(task)));
        }
        let Some(held) = &loaded.full.held else {
            return Err(Error::new(
                Code::NothingToTransfer,
                format!("{task} has no holder: there is nothing to transfer"),
            )
            .entity(&task)
            .attempt(Action::claim(task)));
        };
        let to = work.known_agent(&self.to)?.name;
        if to == held.holder {
            return Err(same_holder(&to, &task).attempt(Action::show(task)));
        }
        paths::refuse_split(work, &task, &loaded.bound, &to)?;
        Ok(answer::Transferred { holds: task_with_paths(work, loaded, &to, overrode)?, ..Default::default() })
    }
}

/// Moves a held task and its paths: the holds as they are now.
fn task_with_paths(
    work: &mut UnitOfWork<'_>,
    mut loaded: LoadedTask,
    to: &AgentName,
    overrode: Option<AgentName>,
) -> Result<Vec<answer::Hold>> {
    let full = &mut loaded.full;
    let Some(held) = full.held.clone() else { return Err(Error::bug("a transfer of a task that is not held")) };
    let fresh = paths::fresh_ids(work, 1)?.remove(0);
    let before = full.task.class();
    let next_number = work.project.last_event.next();
    work.end_hold(full, Ending::Transferred, next_number, overrode.as_ref())?;
    let grant = Grant::Transfer { from: held.holder, ended_hold: held.id, overrode };
    // The new grant has a new row, so that the old one keeps its history.
    let hold = work.grant(full, fresh, to, (held.ttl, held.expires_at), grant)?;
    full.task.version += 1;
    full.task.updated_at = work.now;
    work.store_task(before, &full.task)?;
    let mut holds = vec![answer::Hold::granted(&hold, work.now)];
    holds.extend(paths::hand_over(work, loaded.bound, to)?);
    Ok(holds)
}

/// Moves paths and locks, each by its kind, in the order of their grants.
fn others(work: &mut UnitOfWork<'_>, mut rows: Vec<hold::Row>, to: &AgentName) -> Result<Vec<answer::Hold>> {
    rows.sort_by_key(|row| row.fence);
    let mut holds = Vec::with_capacity(rows.len());
    for mut row in rows {
        if row.is_name() {
            holds.push(locks::hand_over(work, &row, to)?);
        } else {
            // Its task stays with the holder.
            row.task = None;
            holds.extend(paths::hand_over(work, vec![row], to)?);
        }
    }
    Ok(holds)
}

/// Whether a hold cannot be transferred: the lock of a running command, which is as alive as its command, and an offer,
/// which belongs to a place in the waiting line.
fn is_bound(row: &hold::Row) -> bool {
    row.place.is_some() || locks::outlives_holder(row)
}

fn same_holder(to: &AgentName, entity: &str) -> Error {
    Error::new(Code::SameHolder, format!("{to} holds {} already", cut(entity, 120))).entity(cut(entity, 120))
}
