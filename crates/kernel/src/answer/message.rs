//! Mail in answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::agent::{Liveness, liveness};
use tenure_core::id::{HoldId, MessageId};
use tenure_core::message::{Urgency, is_notice};
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::{Span, Time, agent::Sign};
use tenure_store::table::{agent, mail, message};

use super::Instant;

/// A message in the mail of an agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// The event that put it into the mail; mail is in this order.
    pub number: EventNumber,
    /// `message`, or `ending`: a message of your own is over.
    pub what: String,
    /// The author.
    pub from: AgentName,
    /// The recipient.
    pub to: Vec<AgentName>,
    /// What it is about: a task or a hold.
    pub about: Option<String>,
    /// The hold it ends with.
    pub hold: Option<HoldId>,
    /// The urgency.
    pub urgency: Urgency,
    /// Whether its author asks for an action.
    pub request: bool,
    /// Whether it was generated: a notice of a commit on files that you hold.
    #[serde(default)]
    pub notice: bool,
    /// The text.
    pub text: String,
    /// When it was sent.
    pub sent_at: Instant,
    /// Whether it was offered before without a confirmation that it was shown.
    pub again: bool,
    /// Whether you acknowledged it.
    pub acked: bool,
    /// The way in which it ended, if it has.
    pub ended: Option<MessageEnded>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The first message of the thread, where it answers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<MessageId>,
}

/// The way in which a message ended.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ended")]
pub struct MessageEnded {
    /// The end of the hold (done, blocked, cancelled, released, transferred, expired, restored), or `acknowledged`.
    pub how: String,
    /// The agent that did it.
    pub by: AgentName,
    /// When.
    pub at: Instant,
}

impl Message {
    pub(crate) fn of(row: &mail::Row, offered: EventNumber) -> Message {
        let message = &row.message;
        let ended = message.ended.as_ref().map(|ended| MessageEnded {
            how: ended.how.clone(),
            by: ended.by.clone(),
            at: ended.at.to_string(),
        });
        Message {
            id: message.id.clone(),
            number: row.number,
            what: row.what.as_str().to_owned(),
            from: message.author.clone(),
            to: message.recipients.clone(),
            about: message.about.clone(),
            hold: message.hold.clone(),
            urgency: message.urgency,
            request: message.request,
            notice: message.about.as_deref().is_some_and(is_notice),
            text: message.text.clone(),
            sent_at: message.at.to_string(),
            again: row.number <= offered,
            acked: row.acked_at.is_some(),
            ended,
            reply_to: message.reply_to.clone(),
            thread: message.thread.clone(),
        }
    }
}

/// The answer to `inbox`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Inbox")]
pub struct InboxPage {
    /// New mail, in order.
    pub items: Vec<Message>,
    /// The total number of new messages; null if there are too many to count.
    pub total: Option<i64>,
    /// Whether there is more: the next call shows it.
    pub more: bool,
    /// Always nothing: the next page is the next call.
    pub next: Option<String>,
    /// The number that the client confirms when it has shown the answer.
    pub offered: Option<EventNumber>,
    /// The acknowledged messages.
    pub acked: Vec<MessageId>,
}

/// The answer to `send`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sent {
    /// The id of the message.
    pub id: MessageId,
    /// The recipients, and whether they are alive.
    pub to: Vec<Recipient>,
    /// What it is about.
    pub about: Option<String>,
    /// The hold it ends with.
    pub hold: Option<HoldId>,
    /// The urgency.
    pub urgency: Urgency,
    /// Whether you ask for an action.
    pub request: bool,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The first message of the thread, where it answers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<MessageId>,
}

/// A recipient of a message.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Recipient {
    /// The agent.
    pub agent: AgentName,
    /// Whether it is alive.
    pub liveness: Liveness,
    /// How long ago its last op was.
    pub last_seen_s: i64,
}

impl Sent {
    /// `longest` has the longest TTL of each recipient's holds. A recipient with a hold is judged by it, as in the list
    /// of agents.
    pub(crate) fn of(row: &message::Row, agents: &[agent::Row], longest: &[(AgentName, Span)], now: Time) -> Sent {
        let recipient = |agent: &agent::Row| {
            let its = longest.iter().find(|(holder, _)| *holder == agent.name).map(|(_, ttl)| *ttl);
            let sign = Sign { ttl: its.unwrap_or(agent.sign().ttl), ..agent.sign() };
            Recipient {
                agent: agent.name.clone(),
                liveness: liveness(now, &sign),
                last_seen_s: agent.last_seen.age(now).as_seconds(),
            }
        };
        Sent {
            id: row.id.clone(),
            to: agents.iter().map(recipient).collect(),
            about: row.about.clone(),
            hold: row.hold.clone(),
            urgency: row.urgency,
            request: row.request,
            reply_to: row.reply_to.clone(),
            thread: row.thread.clone(),
        }
    }
}

/// An overdue request. Only its author and recipients can read the text.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Overdue {
    /// The message.
    pub id: MessageId,
    /// The waiting agent.
    pub from: AgentName,
    /// For whom.
    pub to: Vec<AgentName>,
    /// What it is about.
    pub about: Option<String>,
    /// The urgency.
    pub urgency: Urgency,
    /// The time since which it waits.
    pub age_s: i64,
}

impl Overdue {
    pub(crate) fn of(row: &message::Row, now: Time) -> Overdue {
        Overdue {
            id: row.id.clone(),
            from: row.author.clone(),
            to: row.recipients.clone(),
            about: row.about.clone(),
            urgency: row.urgency,
            age_s: row.at.age(now).as_seconds(),
        }
    }
}
