//! The part of `transfer` for everything that an agent holds.

use tenure_core::action::Action;
use tenure_core::hold::lapsed;
use tenure_core::id::TaskId;
use tenure_core::name::AgentName;
use tenure_core::{Code, Error, Result};
use tenure_store::table::hold;

use super::{Transfer, is_bound, others, same_holder, task_with_paths};
use crate::answer;
use crate::op::release::held_paths::held_by;
use crate::paths;
use crate::unit_of_work::{LoadedTask, UnitOfWork, held_by as task_held_by, people_only};

/// The most holds that an answer lists.
const SHOWN: usize = 100;

/// What an agent holds: its tasks with their paths, the other paths and locks, and what cannot be transferred.
struct Held {
    tasks: Vec<LoadedTask>,
    others: Vec<hold::Row>,
    stays: Vec<hold::Row>,
}

/// Transfers everything that an agent holds, all or none. What is held now counts: no fence is asked for.
pub(super) fn by_holder(work: &mut UnitOfWork<'_>, request: &Transfer) -> Result<answer::Transferred> {
    if request.force && !work.call.actor.is_person() {
        return Err(people_only("--force"));
    }
    let me = work.me().clone();
    let to = work.known_agent(&request.to)?.name;
    let from = work.known_agent(request.from.as_ref().unwrap_or(&me))?;
    if from.name == to {
        return Err(same_holder(&to, &to));
    }
    let held = find(work, &from.name, from.focus.as_ref())?;
    if held.tasks.is_empty() && held.others.is_empty() {
        return Err(nothing(&from.name));
    }
    if from.name != me && !request.force {
        return Err(refused(work, held)?);
    }
    let bound = held.tasks.iter().flat_map(|loaded| &loaded.bound);
    let on_paths: Vec<hold::Row> = bound.chain(held.others.iter().filter(|row| row.is_path())).cloned().collect();
    paths::refuse_split(work, &from.name, &on_paths, &to)?;
    let overrode = (from.name != me).then_some(from.name);
    let mut holds = Vec::new();
    for loaded in held.tasks {
        holds.extend(task_with_paths(work, loaded, &to, overrode.clone())?);
    }
    holds.extend(others(work, held.others, &to)?);
    let more = holds.len().checked_sub(SHOWN).filter(|more| *more > 0);
    holds.truncate(SHOWN);
    let stays = held.stays.iter().map(|row| paths::shown(work, row)).collect::<Result<_>>()?;
    Ok(answer::Transferred { holds, more, stays })
}

/// The live holds of an agent. Those that are over are ended first. The task in focus comes first, so that it is the
/// one in the focus of the receiver; the others in the order of their grants.
fn find(work: &mut UnitOfWork<'_>, from: &AgentName, focus: Option<&TaskId>) -> Result<Held> {
    let project = work.project.id.clone();
    let mut tasks = Vec::new();
    for task in hold::all_of_holder(work.tx, &project, from)?.iter().filter_map(hold::Row::held_task) {
        let loaded = work.load(&task)?;
        if loaded.full.held.is_some() {
            tasks.push(loaded);
        }
    }
    tasks.sort_by_key(|loaded| (focus != Some(&loaded.full.task.id), loaded.full.held.as_ref().map(|held| held.fence)));
    let with_task = |row: &hold::Row| tasks.iter().any(|loaded| loaded.bound.iter().any(|path| path.id == row.id));
    // Loading a task may have ended its paths.
    let rest = hold::all_of_holder(work.tx, &project, from)?;
    let rest: Vec<hold::Row> = rest.into_iter().filter(|row| !row.is_task() && !with_task(row)).collect();
    let (stays, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_bound);
    let mut others = Vec::new();
    for row in rest {
        if lapsed(work.now, row.expires_at) || work.dead.contains(&row.holder) {
            paths::expire(work, &row)?;
        } else {
            others.push(row);
        }
    }
    let stays = stays.into_iter().filter(|row| row.place.is_none() && !lapsed(work.now, row.expires_at)).collect();
    Ok(Held { tasks, others, stays })
}

fn nothing(from: &AgentName) -> Error {
    Error::new(Code::NothingToTransfer, format!("{from} holds nothing that can be handed over"))
        .entity(from)
        .attempt(Action::holds())
}

/// The refusal of what another agent holds, by its first hold.
fn refused(work: &mut UnitOfWork<'_>, held: Held) -> Result<Error> {
    if let Some((task, its)) = held.tasks.iter().find_map(|one| Some((&one.full.task.id, one.full.held.as_ref()?))) {
        return Ok(task_held_by(work.now, task, its));
    }
    match held.others.into_iter().next() {
        Some(row) => held_by(work, row),
        None => Err(Error::bug("nothing is held")),
    }
}
