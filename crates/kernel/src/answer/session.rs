//! Answers of the ops that hooks run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::id::{TaskId, or_empty};
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;

/// The answer to `session_start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionStarted {
    /// The agent that the session is.
    pub agent: AgentName,
    /// The agent that the same session id is in another live process.
    #[serde(default)]
    pub second_of: Option<AgentName>,
    /// The task it means when it names none, empty for none.
    #[serde(with = "or_empty")]
    #[schemars(with = "String")]
    pub focus: Option<TaskId>,
    /// What it held when it ended before, and does not hold any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_behind: Option<LeftBehind>,
}

/// What an agent held when its session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftBehind {
    /// When that was.
    pub ended_at: String,
    /// The task, if no agent holds it now.
    pub task: Option<TaskId>,
    /// Paths, the last ones first.
    pub paths: Vec<String>,
    /// How many more paths.
    pub more: usize,
}

/// The answer to `session_end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionEnded {
    /// The agent that the session was.
    pub agent: AgentName,
    /// Whether the agent is gone with it.
    pub over: bool,
    /// The tasks that it held.
    pub freed: Vec<TaskId>,
    /// How many lessons were learnt.
    #[serde(default)]
    pub lessons: usize,
}

/// The answer to `tool_used`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ToolUsed")]
pub struct ToolUseRecorded {
    /// The agent.
    pub agent: AgentName,
    /// The number of the event, where there was something to say.
    #[serde(default)]
    pub number: Option<EventNumber>,
}
