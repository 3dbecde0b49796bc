//! Limits on how much an agent and a project hold at a time. A grant beyond a limit is refused. Transfers and offers
//! are not counted again.

use tenure_core::action::Action;
use tenure_core::pattern::Pattern;
use tenure_core::reserve::{self, LIVE_AGENT, PatternDecision, UNANCHORED_AGENT, UNANCHORED_PROJECT};
use tenure_core::{Code, Error, Result, lock as rule};
use tenure_store::table::{lock, path};

use crate::unit_of_work::UnitOfWork;

/// Refuses too many patterns: too many unanchored ones, which every request must be compared with, or too many in
/// total.
pub(crate) fn patterns(work: &mut UnitOfWork<'_>, patterns: &[Pattern], steps: &[PatternDecision]) -> Result<()> {
    let granted = || patterns.iter().zip(steps).filter(|(_, step)| **step == PatternDecision::Grant);
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let new = number(granted().filter(|(pattern, _)| !pattern.is_anchored()).count());
    let me = work.me();
    if new > 0 {
        let (all, own) = path::unanchored(work.tx, &work.project.id, me, work.now)?;
        if all + new > UNANCHORED_PROJECT || own + new > UNANCHORED_AGENT {
            return Err(Error::new(
                Code::TooManyUnanchored,
                format!(
                    "too many patterns begin with a wildcard: {own} of yours (at most {UNANCHORED_AGENT}), {all} in \
                     the project (at most {UNANCHORED_PROJECT})"
                ),
            )
            .hint("Begin the pattern with a directory, or release other patterns first.")
            .attempt(Action::own_holds()));
        }
    }
    let new = number(granted().count());
    let issued = work.project.holds_issued;
    if reserve::is_counted(issued, new) || (new > 0 && issued + new > LIVE_AGENT && is_at_limit(work, new)?) {
        let counted = path::count(work.tx, &work.project.id, me, work.now)?;
        within("paths", counted, new, (LIVE_AGENT, reserve::LIVE_PROJECT))?;
    }
    Ok(())
}

/// Whether `new` more holds are too many for the actor. The full count runs only at certain hold numbers of the
/// project, and those may all be holds of other agents.
fn is_at_limit(work: &mut UnitOfWork<'_>, new: i64) -> Result<bool> {
    let most = LIVE_AGENT - new + 1;
    let me = work.me();
    Ok(path::count_own(work.tx, &work.project.id, me, work.now, most)? >= most)
}

/// Refuses one lock too many.
pub(crate) fn locks(work: &mut UnitOfWork<'_>) -> Result<()> {
    let me = work.me();
    let counted = lock::count(work.tx, &work.project.id, me, work.now)?;
    within("locks", counted, 1, (rule::LIVE_AGENT, rule::LIVE_PROJECT))
}

fn within(what: &str, (all, own): (i64, i64), new: i64, (agent, project): (i64, i64)) -> Result<()> {
    if own + new <= agent && all + new <= project {
        return Ok(());
    }
    Err(Error::new(
        Code::TooManyHolds,
        format!(
            "too many {what} would be held: {own} of yours (at most {agent}), {all} in the project (at most {project})"
        ),
    )
    .hint("Nothing was taken. Release what you no longer need, or hold a directory instead of its files.")
    .attempt(Action::own_holds())
    .attempt(Action::ReleasePath))
}
