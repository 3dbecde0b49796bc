//! Transferring paths to another agent, with the task they are held for or alone.

use tenure_core::action::Action;
use tenure_core::event::hold::{HoldTransferred, PathReleased};
use tenure_core::hold::{Ending, Mode, Renewal, lapsed};
use tenure_core::id::or_empty;
use tenure_core::name::AgentName;
use tenure_core::reserve::PatternRequest;
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result};
use tenure_store::table::{hold, path};

use super::{Granting, PathGrant, candidates, end, expire, fresh_ids, grant, held, pattern, scope};
use crate::answer;
use crate::unit_of_work::UnitOfWork;

/// Refuses to transfer paths if one of them would conflict with a hold that stays behind. `entity` is what the request
/// is about.
pub(crate) fn refuse_split(
    work: &mut UnitOfWork<'_>,
    entity: &str,
    moving: &[hold::Row],
    to: &AgentName,
) -> Result<()> {
    let project = work.project.id.clone();
    let moves = |other: &hold::Row| moving.iter().any(|row| row.id == other.id);
    for row in moving {
        let moved = [pattern(row)?];
        let checkouts = scope(work.tx, &project, row.checkout.as_ref())?;
        let wanted = PatternRequest { agent: to, checkout: row.checkout.as_ref(), mode: row.mode, patterns: &moved };
        let site = super::site(work, row.checkout.as_ref())?;
        let (tx, sight) = work.look();
        let around = super::look_around(tx, &sight, (site, &checkouts), &moved)?;
        let mut others = Vec::new();
        for other in around.live.into_iter().filter(|other| !moves(other)) {
            if tenure_core::reserve::blocks(&held(&other)?, &wanted, &moved[0]) {
                others.push(other);
            }
        }
        let nested = around.nested.into_iter().filter(|one| one.blocks((to, row.mode), &around.site, &moved));
        // A hold of another project may have the id of one that moves.
        others.extend(nested.filter(|one| one.owner.is_some() || !moves(&one.row)).map(|one| one.row));
        if let Some(other) = others.into_iter().find(|other| !lapsed(work.now, other.expires_at)) {
            let (gone, kept) = (cut(&row.subject, 120), cut(&other.subject, 120));
            let with = row.task.as_ref().filter(|task| *task == entity);
            let message = match with {
                Some(task) => format!("{gone} goes with {task}, and {} keeps {kept}", other.holder),
                None => format!("{gone} would go to {to}, and {} keeps {kept}", other.holder),
            };
            let advice = match with {
                Some(_) => "Nothing was handed over. Release the one that stays, or reserve it for the task.",
                None => "Nothing was handed over. Release the one that stays, or hand it over in the same request.",
            };
            return Err(Error::new(Code::TransferSplits, message)
                .entity(entity)
                .hint(advice)
                .attempt(Action::release(&other.id))
                .attempt(Action::own_holds()));
        }
    }
    Ok(())
}

/// Transfers paths to a new holder: the remaining time stays, the fences are new. A path that is to leave its task
/// behind comes without the task.
pub(crate) fn hand_over(work: &mut UnitOfWork<'_>, rows: Vec<hold::Row>, to: &AgentName) -> Result<Vec<answer::Hold>> {
    let project = work.project.id.clone();
    let mut moved = Vec::new();
    for row in rows {
        if lapsed(work.now, row.expires_at) {
            expire(work, &row)?;
            continue;
        }
        let overrode = (row.holder != work.me()).then(|| row.holder.to_string());
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
            let overrode = row.task.is_none().then_some(overrode);
            end(work, &row, Ending::Transferred, None, PathReleased { task, overrode, ..PathReleased::default() })?;
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
        let said = HoldTransferred { from, ended_hold, overrode, ..HoldTransferred::default() };
        let granted = grant(work, fresh, &granting, PathGrant::Transfer(said))?;
        if row.renewal == Renewal::Explicit {
            path::renewed_by_edits(work.tx, &project, &granted.id)?;
        }
        work.ended(&row.id, row.asked, how, granted.fence.event());
        moved.push(super::shown(work, &granted)?);
    }
    Ok(moved)
}
