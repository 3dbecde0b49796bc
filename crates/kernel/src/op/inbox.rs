//! Offers new mail, in order and within a limit, and acknowledges what was read.
//!
//! Offered mail stays new until the door confirms that it was shown: see `confirm`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::action::Action;
use tenure_core::event::Event;
use tenure_core::event::message::MessageAcked;
use tenure_core::id::MessageId;
use tenure_core::message::{self, ACKS_MAX};
use tenure_core::{Code, Error, Result, id};
use tenure_store::table::{delivery, mail};

use super::operation::{Access, Door, Offered, Operation, Role};
use crate::answer;
use crate::query::mail::look;
use crate::unit_of_work::{About, UnitOfWork};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inbox {
    /// The maximum number of messages, 1 to 100; by default 20.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Messages to acknowledge, by their ids. All or none.
    #[serde(default)]
    pub ack: Vec<MessageId>,
}

impl Operation for Inbox {
    const NAME: &'static str = "inbox";
    const ABOUT: &'static str = "Offer new mail and acknowledge messages";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    const OFFERED: Option<fn(&answer::InboxPage) -> Offered> =
        Some(|answer| Offered { events: None, mail: answer.offered });
    type Answer = answer::InboxPage;

    fn check(&self) -> Result<()> {
        message::limit(self.limit)?;
        if self.ack.len() > ACKS_MAX {
            let text = format!("the request acknowledges {} messages; the limit is {ACKS_MAX}", self.ack.len());
            return Err(Error::usage(Code::TooManyAcks, text));
        }
        self.ack.iter().try_for_each(|ack| id::named(ack, id::Sort::Message))
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::InboxPage> {
        let limit = message::limit(self.limit)?;
        for id in &self.ack {
            acknowledge(work, id)?;
        }
        let me = work.me().clone();
        let found = look(work.tx, &work.project.id, &me, limit)?;
        // An agent that reads its mail before its first `resume` has missed no events until now.
        let last = work.project.last_event;
        let first = delivery::Row { offered: last, confirmed: last, ..delivery::Row::default() };
        let mut place = found.cursors.unwrap_or(first);
        let found = found.offered();
        if let Some(number) = found.offered.filter(|number| *number > place.mail_offered) {
            place.mail_offered = number;
            delivery::put(work.tx, &work.project.id, &me, &place)?;
        }
        Ok(answer::InboxPage { acked: self.ack.clone(), ..found })
    }
}

/// Acknowledges a message. A request that is not about a hold is thereby fulfilled.
fn acknowledge(work: &mut UnitOfWork<'_>, id: &MessageId) -> Result<()> {
    let (project, me, now) = (work.project.id.clone(), work.me().clone(), work.now);
    // For the actor, the mail of others does not exist.
    let rows = mail::of_message(work.tx, &project, &me, id)?;
    if rows.is_empty() {
        return Err(unknown(id));
    }
    for row in rows.iter().filter(|row| row.acked_at.is_none()) {
        mail::ack(work.tx, &project, &me, row.number, now)?;
        if row.what == mail::What::Ending {
            continue;
        }
        let acked = MessageAcked { author: row.message.author.to_string() };
        let number = work.append(About::of(id), Event::MessageAcked(acked))?;
        let is_open = row.message.request && row.message.hold.is_none() && row.message.ended.is_none();
        if is_open {
            crate::mail::end(work, &row.message, "acknowledged", &me, Some(number))?;
        }
    }
    Ok(())
}

pub(super) fn unknown(typed: &str) -> Error {
    let shown = tenure_core::text::excerpt(typed);
    Error::new(Code::NotFound, format!("your mail has no message `{shown}`"))
        .entity(shown)
        .attempt(Action::ReadMail { peek: true })
}
