//! The answer to `resume`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_core::choice::ChoiceRule;
use tenure_core::id::TaskId;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_store::table::event;

use super::{Blocker, Hold, InboxPage, Instant, LoggedEvent, Task};

/// The answer to `resume`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Resumed {
    /// The task in focus from now on.
    pub focus: Option<TaskId>,
    /// The task, or nothing to take.
    pub task: Option<Task>,
    /// The hold on it.
    pub hold: Option<Hold>,
    /// The rule that chose it.
    pub rule: ChoiceRule,
    /// The rule in words, or why there is nothing.
    pub reason: String,
    /// That the task that was in focus is somebody else's now, in a sentence.
    pub lost: Option<String>,
    /// Paths that were held for the task when its hold lapsed, and are now held anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Hold>,
    /// What stands in the way of those that are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_paths: Vec<Blocker>,
    /// What to know.
    pub brief: Brief,
    /// What happened since the agent was last told.
    pub events: OfferedEvents,
    /// New messages to the agent.
    pub mail: InboxPage,
}

/// A brief.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// Markdown.
    pub text: String,
    /// How many tokens of 4 bytes it has.
    pub tokens: usize,
    /// How many it may have.
    pub budget: usize,
    /// How many items did not fit.
    pub left_out: usize,
    /// Up to which event it tells what happened: whoever shows it, and nothing else, confirms that.
    #[serde(default)]
    pub events: Option<EventNumber>,
    /// The last message that stands in the text, by its number: what a door that shows the text confirms.
    pub mail: Option<EventNumber>,
}

/// Events that are offered.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Offered")]
pub struct OfferedEvents {
    /// Oldest first.
    pub items: Vec<News>,
    /// Whether there are more; the next call offers them once these are confirmed.
    pub more: bool,
    /// Up to which event this is an offer; nothing where only a look was taken.
    pub offered: Option<EventNumber>,
    /// The oldest event that is kept, where some of those to be told were dropped before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<EventNumber>,
}

/// Something that happened.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct News {
    /// The event's number.
    pub number: EventNumber,
    /// When.
    pub at: Instant,
    /// What.
    pub kind: String,
    /// Who.
    pub actor: AgentName,
    /// What it is about.
    pub subject: String,
    /// The event in one sentence.
    pub text: String,
    /// Whether it was offered before, and nobody confirmed that it was shown.
    pub again: bool,
}

impl News {
    pub(crate) fn of(row: event::Row, offered: EventNumber) -> Result<News> {
        let event = LoggedEvent::of(row)?;
        Ok(News {
            text: event.sentence(),
            again: event.number <= offered,
            number: event.number,
            at: event.at,
            kind: event.kind,
            actor: event.actor,
            subject: event.subject,
        })
    }
}

/// The answer to `confirm`: up to where what was offered counts as shown.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Confirmed {
    /// Events.
    pub events: EventNumber,
    /// Mail.
    pub mail: EventNumber,
}
