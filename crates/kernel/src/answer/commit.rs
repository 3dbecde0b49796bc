//! Answers about commits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::id::HoldId;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;

use super::Blocker;

/// The answer to `committed`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Committed")]
pub struct CommitRecorded {
    /// The commit.
    pub commit: String,
    /// The event that says so.
    pub number: EventNumber,
    /// The holds that ended with it: the first 200.
    pub released: Vec<HoldId>,
    /// The agents that were told: their holds have one of the files in them.
    pub told: Vec<AgentName>,
}

/// Whether files may be committed by whoever asks.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Committing {
    /// Files that others hold, each with the first of those holds, in the order of their names.
    pub taken: Vec<TakenFile>,
    /// Files whose own hold was lost and that another has had since.
    pub lost: Vec<LostFile>,
}

/// A file that another holds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Taken")]
pub struct TakenFile {
    /// The file.
    pub path: String,
    /// The hold.
    pub blocker: Blocker,
    /// Whether it is meant in all checkouts.
    pub all_checkouts: bool,
}

/// A file whose own hold was lost.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Lost")]
pub struct LostFile {
    /// The file.
    pub path: String,
    /// How it was lost: expired, forced, transferred.
    pub how: String,
    /// How long ago.
    pub ago_s: i64,
    /// Who has had it since.
    pub by: AgentName,
    /// Whether that one changed it; else it held it.
    pub changed: bool,
    /// How long ago that was.
    pub since_s: i64,
}

/// Whether commits may be pushed by whoever asks.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Pushing {
    /// Files of the commits that others hold, each once.
    pub late: Vec<Late>,
}

/// A file of a commit that another holds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Late {
    /// The commit.
    pub commit: String,
    /// The file and the hold.
    pub taken: TakenFile,
}
