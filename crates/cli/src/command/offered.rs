//! Confirming events and messages that an answer offered, once they were printed.

use tenure_core::number::EventNumber;
use tenure_kernel::op::confirm::Confirm;

use crate::session::{RunOptions, Session};

/// Confirms what was offered up to some events and messages. A failure here is not reported: they are offered again.
pub(super) fn confirm(session: &Session<'_>, events: Option<EventNumber>, mail: Option<EventNumber>) {
    if (events.is_some() || mail.is_some()) && session.out.has_shown_all() {
        let _ = session.run(Confirm { events, mail }, RunOptions::aside());
    }
}
