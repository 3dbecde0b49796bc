//! `mail`: the new mail of an agent, without offering it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::number::EventNumber;
use tenure_core::{Result, message as rule};
use tenure_store::Tx;
use tenure_store::table::{delivery, mail, message};

use super::Snapshot;
use super::query::{Access, Query, Role};
use crate::answer::{InboxPage, Message, Overdue};
use crate::call::Call;
use crate::kernel::Kernel;

/// The maximum number of new messages that are counted.
const COUNT_MAX: usize = 1_000;

/// The part of the new mail that is offered at once.
pub(crate) struct NewMail {
    pub(crate) items: Vec<Message>,
    /// The total number, unless it exceeds the maximum.
    pub(crate) total: Option<i64>,
    pub(crate) more: bool,
    /// The agent's delivery cursors: what it was offered and shown.
    pub(crate) cursors: Option<delivery::Row>,
}

/// Reads the unconfirmed mail of an agent, in one round trip.
pub(crate) fn look(tx: &mut dyn Tx, project: &str, agent: &str, limit: usize) -> Result<NewMail> {
    let (cursors, rows) =
        tx.fetch((delivery::get(project, agent), mail::unread(project, agent, limit.saturating_add(1))))?;
    // Usually everything has just been read.
    let count = if rows.len() <= limit {
        i64::try_from(rows.len()).unwrap_or(i64::MAX)
    } else {
        tx.fetch(mail::count_unread(project, agent, COUNT_MAX + 1))?
    };
    let fitting = rule::fitting(rows.iter().map(|row| row.message.text.len()), limit);
    let offered = cursors.map_or(EventNumber::START, |cursors| cursors.mail_offered);
    Ok(NewMail {
        more: rows.len() > fitting,
        items: rows.iter().take(fitting).map(|row| Message::of(row, offered)).collect(),
        total: usize::try_from(count).is_ok_and(|count| count <= COUNT_MAX).then_some(count),
        cursors,
    })
}

impl NewMail {
    /// The page for a query.
    pub(crate) fn seen(self) -> InboxPage {
        let NewMail { items, total, more, .. } = self;
        InboxPage { items, total, more, next: None, offered: None, acked: Vec::new() }
    }

    /// The page for an op that offers it and records the offer.
    pub(crate) fn offered(self) -> InboxPage {
        let offered = self.items.last().map(|last| last.number);
        InboxPage { offered, ..self.seen() }
    }
}

/// The first new messages of an agent, in order, and how many there are (at most 1,001), for callers that only mention
/// them.
pub(crate) fn unread(tx: &mut dyn Tx, project: &str, agent: &str, limit: usize) -> Result<(Vec<Message>, usize)> {
    let found = look(tx, project, agent, limit)?;
    let total = found.total.and_then(|total| usize::try_from(total).ok()).unwrap_or(COUNT_MAX + 1);
    Ok((found.items, total))
}

/// Requests that have been open for too long, oldest first.
pub(super) fn overdue(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, limit: usize) -> Result<Vec<Overdue>> {
    let until = snapshot.now - rule::Urgency::Urgent.patience();
    let rows = message::waiting(tx, snapshot.project_id(), until, 100)?;
    let late = rows.iter().filter(|row| rule::overdue(snapshot.now, row.at, row.urgency));
    Ok(late.take(limit).map(|row| Overdue::of(row, snapshot.now)).collect())
}

/// Read new mail without offering it: it stays as new as it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// Most messages.
    #[serde(default)]
    pub limit: Option<usize>,
}

impl Query for Mail {
    const NAME: &'static str = "mail";
    const ABOUT: &'static str = "Read new mail without offering it";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = InboxPage;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<InboxPage> {
        let limit = rule::limit(self.limit)?;
        kernel.in_snapshot(call, |tx, snapshot| Ok(look(tx, snapshot.project_id(), &call.actor.name, limit)?.seen()))
    }
}
