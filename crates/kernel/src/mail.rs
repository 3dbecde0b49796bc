//! Messages that end: with the hold they are about, or because their request was acknowledged.

use tenure_core::Result;
use tenure_core::event::Event;
use tenure_core::event::message::MessageEnd;
use tenure_core::id::{HoldId, or_empty};
use tenure_core::message::is_notice;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_store::table::{mail, message};

use crate::unit_of_work::{About, UnitOfWork};

/// A hold that ended while there were messages about it.
#[derive(Debug)]
pub(crate) struct EndedHold {
    pub(crate) hold: HoldId,
    /// How it ended, in words for the authors.
    pub(crate) how: &'static str,
    /// The agent that ended it; the holder if the hold lapsed.
    pub(crate) by: AgentName,
    /// The number of the event of its end.
    pub(crate) cause: EventNumber,
}

/// Ends the messages about holds that have ended, and notifies their authors. This comes after everything else that an
/// op appends, so that the consequences of a finished task follow it directly in the log.
pub(crate) fn end_with_holds(work: &mut UnitOfWork<'_>) -> Result<()> {
    for over in std::mem::take(&mut work.over) {
        for row in message::about_hold(work.tx, &work.project.id, &over.hold)? {
            end(work, &row, over.how, &over.by, Some(over.cause))?;
        }
    }
    Ok(())
}

/// Ends a message and notifies its author by mail.
pub(crate) fn end(
    work: &mut UnitOfWork<'_>,
    row: &message::Row,
    how: &str,
    by: &AgentName,
    cause: Option<EventNumber>,
) -> Result<()> {
    let ended = MessageEnd {
        author: row.author.to_string(),
        about: row.about.as_deref().unwrap_or_default().to_owned(),
        how: how.to_owned(),
        by: by.to_string(),
    };
    let about = About::of(&row.id).hold(or_empty(row.hold.as_ref())).cause(cause);
    let number = work.append(about, Event::MessageEnded(ended))?;
    let project = work.project.id.clone();
    message::end(work.tx, &project, &row.id, work.now, how, by)?;
    // The author of a notice does not wait for its end.
    if row.about.as_deref().is_some_and(is_notice) {
        return Ok(());
    }
    mail::insert(work.tx, &project, &row.author, number, &row.id, mail::What::Ending)
}
