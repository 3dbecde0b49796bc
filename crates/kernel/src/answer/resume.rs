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
    /// The new task in focus.
    pub focus: Option<TaskId>,
    /// The task; null if none is available.
    pub task: Option<Task>,
    /// The hold on it.
    pub hold: Option<Hold>,
    /// The rule that chose it.
    pub rule: ChoiceRule,
    /// The rule in words, or the reason why no task is available.
    pub reason: String,
    /// A sentence that says that another agent has the former task in focus.
    pub lost: Option<String>,
    /// Paths that were held for the task when its hold expired, and are now held again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Hold>,
    /// The blockers of the paths that are not free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_paths: Vec<Blocker>,
    /// The text.
    pub brief: Brief,
    /// The events since the agent last saw some.
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
    /// The number of items that did not fit.
    pub left_out: usize,
    /// The last event that it shows; a client that shows the answer confirms this number.
    #[serde(default)]
    pub events: Option<EventNumber>,
    /// The number of the last message in the text; a client that shows the text confirms it.
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
    /// The last offered event; null if the call was a query.
    pub offered: Option<EventNumber>,
    /// The oldest event, if some unshown events were removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<EventNumber>,
}

/// An event.
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
    /// Whether it was offered before without a confirmation that it was shown.
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
