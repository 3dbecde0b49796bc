//! Events of messages. None of them has a message's text: it is between its author and its recipients.

use serde::{Deserialize, Serialize};

use super::{Payload, after, is_false};
use crate::message::Urgency;

/// `message.sent`: a message was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sent {
    /// The recipients.
    pub to: Vec<String>,
    /// What it is about, empty for nothing.
    pub about: String,
    /// How soon it should be looked at.
    pub urgency: Urgency,
    /// Whether it asks for something.
    pub request: bool,
    /// Whether the program wrote it.
    #[serde(skip_serializing_if = "is_false")]
    pub notice: bool,
}

impl Payload for Sent {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} wrote {subject} to {}{}", self.to.join(", "), after(" about ", Some(&self.about)))
    }
}

/// `message.acked`: a recipient has taken note of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Acked {
    /// Who wrote it.
    pub author: String,
}

impl Payload for Acked {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} acknowledged {subject} of {}", self.author)
    }
}

/// `message.ended`: a message is over. The hold it was about has ended, or what it asked for was acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ended {
    /// Who wrote it.
    pub author: String,
    /// What it was about, empty for nothing.
    pub about: String,
    /// How it ended.
    pub how: String,
    /// By whom.
    pub by: String,
}

impl Payload for Ended {
    fn sentence(&self, _: &str, subject: &str) -> String {
        format!("{subject} of {} is over: {}", self.author, self.how)
    }
}
