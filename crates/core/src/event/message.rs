//! Message events. No event contains a message's text, which is private to its author and its recipients.

use serde::{Deserialize, Serialize};

use super::{Payload, after, is_false};
use crate::message::Urgency;

/// The most recipients that a sentence names.
const NAMED: usize = 20;

/// `message.sent`: a message was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageSent {
    /// The recipients.
    pub to: Vec<String>,
    /// The subject: an id or a path; empty for none.
    pub about: String,
    /// How urgent it is.
    pub urgency: Urgency,
    /// Whether it asks for an action.
    pub request: bool,
    /// Whether Tenure itself wrote it.
    #[serde(skip_serializing_if = "is_false")]
    pub notice: bool,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
}

impl Payload for MessageSent {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        let (first, more) = self.to.split_at(self.to.len().min(NAMED));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        let (about, reply) = (after(" about ", Some(&self.about)), after(" in reply to ", self.reply_to.as_deref()));
        format!("{actor} wrote {subject} to {}{more}{about}{reply}", first.join(", "))
    }
}

/// `message.acked`: a recipient acknowledged a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageAcked {
    /// The message's author.
    pub author: String,
}

impl Payload for MessageAcked {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} acknowledged {subject} of {}", self.author)
    }
}

/// `message.ended`: a message ended, because the hold it was about ended or its request was acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageEnd {
    /// The message's author.
    pub author: String,
    /// The subject; empty for none.
    pub about: String,
    /// How it ended.
    pub how: String,
    /// The agent or person who ended it.
    pub by: String,
}

impl Payload for MessageEnd {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} of {} is over: {}", self.author, self.how)
    }
}
