//! Taking over a hold: people may, agents only from a holder that is gone.

use tenure_core::action::Action;
use tenure_core::agent::Liveness;
use tenure_core::event::hold::PathReleased;
use tenure_core::hold::Ending;
use tenure_core::text::cut;
use tenure_core::{Code, Error, Result};
use tenure_store::table::{agent, hold};

use crate::access::{operator, overrides};
use crate::answer::Hold;
use crate::unit_of_work::UnitOfWork;
use crate::{locks, paths};

/// Ends the holds that block a request with force, and records whom it overrode. If any of them may not be taken over,
/// none ends.
pub(crate) fn end(work: &mut UnitOfWork<'_>, rows: &[hold::Row], reason: &str) -> Result<()> {
    if !overrides(work) {
        for row in rows {
            if !is_gone(work, row)? {
                // A person is told which role it needs; an agent is told that it needs a person.
                return Err(operator(work, "force")
                    .err()
                    .filter(|_| work.call.actor.is_person())
                    .unwrap_or_else(|| not_gone(row)));
            }
        }
    }
    for row in rows {
        let overrode = Some(Some(row.holder.to_string()));
        let stolen =
            PathReleased { reason: Some(reason.to_owned()), overrode, stolen: true, ..PathReleased::default() };
        paths::end(work, row, Ending::Forced, None, stolen)?;
    }
    Ok(())
}

/// Whether the holder of a live hold is gone. A lock that a runner renews shows by itself whether it is alive.
fn is_gone(work: &mut UnitOfWork<'_>, row: &hold::Row) -> Result<bool> {
    if locks::outlives_holder(row) {
        return Ok(false);
    }
    let holder = work.tx.fetch(agent::get(&work.project.id, &row.holder))?;
    let gone = holder.is_some() && Hold::of(row, holder.as_ref(), work.now).liveness == Liveness::Gone;
    Ok(gone || work.dead.contains(&row.holder))
}

fn not_gone(row: &hold::Row) -> Error {
    let shown = cut(&row.subject, 120);
    Error::new(Code::NotGone, format!("{} holds {shown} and may be alive: only a person may take it over", row.holder))
        .entity(&row.id)
        .hint("Ask the holder, or a person. A hold that is not renewed expires.")
        .attempt(Action::SendAbout { about: row.id.to_string() })
        .attempt(Action::why(&row.id))
}
