//! The part of `transfer` for paths, a lock, and a hold by id.

use tenure_core::action::Action;
use tenure_core::hold::lapsed;
use tenure_core::id::{AnyId, TaskId};
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result, id};
use tenure_store::table::hold;

use super::{Transfer, is_bound, others, same_holder};
use crate::answer;
use crate::locks;
use crate::op::release::held_paths::{held_by, nothing, over, stale_fence};
use crate::op::release::named_lock;
use crate::paths;
use crate::unit_of_work::{UnitOfWork, people_only};

/// What a request names besides a task.
pub(super) enum TransferTarget {
    /// A hold on a task.
    Task(TaskId),
    /// Holds on paths, or a lock.
    Holds(Vec<hold::Row>),
}

/// Finds the live holds that a request names. `None` if it names none.
pub(super) fn find(work: &mut UnitOfWork<'_>, request: &Transfer) -> Result<Option<TransferTarget>> {
    if let Some(named) = &request.hold {
        return by_id(work, named, request).map(Some);
    }
    if let Some(name) = &request.lock {
        return match locks::live(work, name)? {
            Some(row) if row.holder == work.me() || request.force => Ok(Some(TransferTarget::Holds(vec![row]))),
            live => Err(named_lock::nothing(work, name, request.fence, (live.as_ref(), not_held))?),
        };
    }
    if request.paths.is_empty() { Ok(None) } else { by_pattern(work, request).map(Some) }
}

fn by_id(work: &mut UnitOfWork<'_>, named: &AnyId, request: &Transfer) -> Result<TransferTarget> {
    id::named(named, id::Sort::Hold)?;
    let project = work.project.id.clone();
    let mut found: Vec<hold::Row> = hold::get(work.tx, &project, named)?.into_iter().collect();
    paths::as_found(work.tx, &project, &mut found)?;
    let Some(row) = found.pop() else { return Err(id::unknown(named, id::Sort::Hold)) };
    match row.held_task() {
        Some(task) if row.ended.is_none() => Ok(TransferTarget::Task(task)),
        None if row.ended.is_none() && !lapsed(work.now, row.expires_at) => {
            if row.holder == work.me() || request.force {
                Ok(TransferTarget::Holds(vec![row]))
            } else {
                Err(held_by(work, row)?)
            }
        }
        _ => Err(over(work, &row, not_held)?),
    }
}

/// All own holds that some patterns cover; with force, those of others too.
fn by_pattern(work: &mut UnitOfWork<'_>, request: &Transfer) -> Result<TransferTarget> {
    let patterns = paths::read(&request.paths, request.fold_case)?;
    let here = work.checkout.clone();
    let live = paths::live(work, here.as_ref(), &patterns)?;
    let me = work.me();
    let mut moving: Vec<hold::Row> = Vec::new();
    for pattern in &patterns {
        let mut is_held = false;
        for row in live.iter().filter(|row| row.holder == me || request.force) {
            if pattern.covers(&paths::pattern(row)?) {
                is_held = true;
                if !moving.iter().any(|other| other.id == row.id) {
                    moving.push(row.clone());
                }
            }
        }
        if !is_held {
            return Err(nothing(work, pattern, &live, not_held)?);
        }
    }
    Ok(TransferTarget::Holds(moving))
}

/// Transfers paths or a lock, all or none.
pub(super) fn transfer(
    work: &mut UnitOfWork<'_>,
    request: &Transfer,
    mut rows: Vec<hold::Row>,
) -> Result<answer::Transferred> {
    if request.force && !work.call.actor.is_person() {
        return Err(people_only("--force"));
    }
    if let Some(row) = rows.iter().find(|row| request.fence.is_some_and(|fence| fence != row.fence)) {
        return Err(stale_fence(row, request.fence));
    }
    if let Some(row) = rows.iter().find(|row| is_bound(row)) {
        return Err(bound(row));
    }
    let to = work.known_agent(&request.to)?.name;
    let first = rows.first().map(|row| row.subject.clone()).unwrap_or_default();
    rows.retain(|row| row.holder != to);
    if rows.is_empty() {
        return Err(same_holder(&to, &first));
    }
    let on_paths: Vec<hold::Row> = rows.iter().filter(|row| row.is_path()).cloned().collect();
    paths::refuse_split(work, &cut(&first, 120), &on_paths, &to)?;
    Ok(answer::Transferred { holds: others(work, rows, &to)?, ..Default::default() })
}

fn bound(row: &hold::Row) -> Error {
    let shown = cut(&row.subject, 120);
    let (message, advice) = match &row.place {
        Some(_) => (
            format!("{shown} is offered to {}, which has not taken it yet", row.holder),
            "Take it first, with the request that waits for it.",
        ),
        None => (
            format!("the lock {shown} belongs to a running command of {}", row.holder),
            "It ends with its command. Release it to end the command.",
        ),
    };
    Error::new(Code::HoldBound, message).entity(&row.id).hint(advice).attempt(Action::why(&row.id))
}

fn not_held(shown: &str) -> Error {
    Error::new(Code::NothingToTransfer, format!("{shown} is not held by you: nothing to hand over"))
        .entity(shown)
        .attempt(Action::own_holds())
}
