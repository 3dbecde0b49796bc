//! Paths held for a task: they end and lapse with it, are granted again to the agent that takes it over, and move with
//! it when it is transferred.

use std::collections::BTreeMap;

use tenure_core::action::Action;
use tenure_core::event::hold::{HoldTransferred, PathReleased, PathReserved};
use tenure_core::hold::{Ending, Mode, lapsed};
use tenure_core::id::{CheckoutId, TaskId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::number::{EventNumber, Fence};
use tenure_core::reserve::{PatternDecision, PatternRequest};
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result};
use tenure_store::table::{hold, path};

use super::{Granting, PathGrant, around, blockers, candidates, end, expire, fresh_ids, grant, held, pattern, scope};
use crate::answer;
use crate::unit_of_work::UnitOfWork;
use crate::waiting;

/// What happened to the paths of a task in a take-over.
#[derive(Default)]
pub(crate) struct Regained {
    /// The paths granted again.
    pub(crate) holds: Vec<answer::Hold>,
    /// The blockers of the others.
    pub(crate) lost: Vec<answer::Blocker>,
}

/// Ends the holds of a task. `number` is the event of the op that does it.
pub(crate) fn end_with_task(
    work: &mut UnitOfWork<'_>,
    bound: Vec<hold::Row>,
    (how, number): (Ending, EventNumber),
    overrode: Option<&AgentName>,
) -> Result<()> {
    for row in bound {
        if lapsed(work.now, row.expires_at) {
            expire(work, &row)?;
            continue;
        }
        let how = if overrode.is_some() { Ending::Forced } else { how };
        let task = Some(or_empty(row.task.as_ref()).to_owned());
        let overrode = Some(overrode.map(String::from));
        let said = PathReleased { task, overrode, ..PathReleased::default() };
        end(work, &row, how, Some(number), said)?;
    }
    Ok(())
}

/// Grants the paths of a lapsed task to the agent that has taken it over, if they are free. `last` is the fence of the
/// lapsed hold and its holder. A path that was reserved before the task was claimed, and again for it, has an older
/// fence but ended after it.
pub(crate) fn take_over(
    work: &mut UnitOfWork<'_>,
    task: &hold::Row,
    last: (Option<Fence>, &AgentName),
) -> Result<Regained> {
    let project = work.project.id.clone();
    let held_task = task.held_task();
    let mut by_checkout: BTreeMap<Option<CheckoutId>, Vec<hold::Row>> = BTreeMap::new();
    // The newest hold on a pattern decides: a path that was released since is not wanted.
    let mut newest: BTreeMap<(Option<CheckoutId>, String), hold::Row> = BTreeMap::new();
    for row in path::last_of_task(work.tx, &project, &task.subject, last)? {
        if row.fence < task.fence {
            newest.insert((row.checkout.clone(), row.subject.clone()), row);
        }
    }
    let has_expired = |row: &hold::Row| row.ended.is_some_and(|ended| ended.how == Ending::Expired);
    let mut lapsed: Vec<hold::Row> = newest.into_values().filter(has_expired).collect();
    lapsed.sort_by_key(|row| row.fence);
    for row in lapsed {
        by_checkout.entry(row.checkout.clone()).or_default().push(row);
    }
    let mut regained = Regained::default();
    for (checkout, lost) in by_checkout {
        let patterns = lost.iter().map(pattern).collect::<Result<Vec<_>>>()?;
        let mut around = around(work, checkout.as_ref(), &patterns)?;
        for (at, row) in lost.iter().enumerate() {
            let asked = &patterns[at..=at];
            let wanted =
                PatternRequest { agent: &task.holder, checkout: checkout.as_ref(), mode: row.mode, patterns: asked };
            let (tx, sight) = work.look();
            match waiting::decide(tx, &sight, &wanted, &around)? {
                Ok(steps) if steps == [PatternDecision::Grant] => {
                    let fresh = fresh_ids(work, 1)?.remove(0);
                    let granting = Granting {
                        pattern: &patterns[at],
                        mode: row.mode,
                        checkout: checkout.as_ref(),
                        holder: &task.holder,
                        task: held_task.as_ref(),
                        reason: &row.reason,
                        until: (task.expires_at, task.ttl),
                        place: None,
                    };
                    let said = PathReserved { lapsed_from: Some(row.holder.to_string()), ..PathReserved::default() };
                    let granted = grant(work, fresh, &granting, PathGrant::Reserve(said))?;
                    regained.holds.push(super::shown(work, &granted)?);
                    around.live.push(granted);
                }
                // The agent already holds it.
                Ok(_) => {}
                Err(in_the_way) => regained.lost.extend(blockers(work.tx, &project, &in_the_way, work.now)?),
            }
        }
    }
    regained.lost.truncate(super::BLOCKERS_MAX);
    Ok(regained)
}

/// Refuses to transfer a task if its paths would conflict with something that stays behind.
pub(crate) fn refuse_split(
    work: &mut UnitOfWork<'_>,
    task: &TaskId,
    bound: &[hold::Row],
    to: &AgentName,
) -> Result<()> {
    let project = work.project.id.clone();
    for row in bound {
        let moved = [pattern(row)?];
        let checkouts = scope(work.tx, &project, row.checkout.as_ref())?;
        let wanted = PatternRequest { agent: to, checkout: row.checkout.as_ref(), mode: row.mode, patterns: &moved };
        let site = super::site(work, row.checkout.as_ref())?;
        let (tx, sight) = work.look();
        let around = super::look_around(tx, &sight, (site, &checkouts), &moved)?;
        let mut others = Vec::new();
        for other in around.live {
            if tenure_core::reserve::blocks(&held(&other)?, &wanted, &moved[0]) {
                others.push(other);
            }
        }
        let nested = around.nested.into_iter().filter(|one| one.blocks((to, row.mode), &around.site, &moved));
        others.extend(nested.map(|one| one.row));
        for other in others {
            let stays = other.task.as_ref() != Some(task) && !lapsed(work.now, other.expires_at);
            if stays {
                let shown = cut(&other.subject, 120);
                return Err(Error::new(
                    Code::TransferSplits,
                    format!(
                        "{} goes with {task}, but {} keeps the overlapping {shown}",
                        cut(&row.subject, 120),
                        other.holder
                    ),
                )
                .entity(task)
                .hint("Nothing was transferred. Release the path that stays, or reserve it for the task.")
                .attempt(Action::release(&other.id))
                .attempt(Action::own_holds()));
            }
        }
    }
    Ok(())
}

/// Transfers the paths of a task to its new holder: the remaining time stays, the fences are new.
pub(crate) fn hand_over(
    work: &mut UnitOfWork<'_>,
    bound: Vec<hold::Row>,
    to: &AgentName,
    overrode: Option<&AgentName>,
) -> Result<Vec<answer::Hold>> {
    let project = work.project.id.clone();
    let mut moved = Vec::new();
    for row in bound {
        if lapsed(work.now, row.expires_at) {
            expire(work, &row)?;
            continue;
        }
        let its = pattern(&row)?;
        let checkouts = scope(work.tx, &project, row.checkout.as_ref())?;
        let same = |other: &hold::Row| {
            other.holder == to
                && other.subject == row.subject
                && other.checkout == row.checkout
                && !lapsed(work.now, other.expires_at)
        };
        let has = candidates(work.tx, &project, &checkouts, std::slice::from_ref(&its))?
            .into_iter()
            .any(|other| same(&other));
        if has {
            // The new holder shares the pattern already, and one row per holder and pattern is enough.
            debug_assert_eq!(row.mode, Mode::Shared);
            let task = Some(or_empty(row.task.as_ref()).to_owned());
            end(work, &row, Ending::Transferred, None, PathReleased { task, ..PathReleased::default() })?;
            continue;
        }
        let how = if overrode.is_some() { Ending::Forced } else { Ending::Transferred };
        hold::end(work.tx, &project, &row.id, work.now, how)?;
        work.freed = true;
        let fresh = fresh_ids(work, 1)?.remove(0);
        let granting = Granting {
            pattern: &its,
            mode: row.mode,
            checkout: row.checkout.as_ref(),
            holder: to,
            task: row.task.as_ref(),
            reason: &row.reason,
            until: (row.expires_at, row.ttl),
            place: None,
        };
        let (from, ended_hold) = (row.holder.to_string(), row.id.to_string());
        let said =
            HoldTransferred { from, ended_hold, overrode: overrode.map(String::from), ..HoldTransferred::default() };
        let granted = grant(work, fresh, &granting, PathGrant::Transfer(said))?;
        work.ended(&row.id, row.asked, how, granted.fence.event());
        moved.push(super::shown(work, &granted)?);
    }
    Ok(moved)
}
