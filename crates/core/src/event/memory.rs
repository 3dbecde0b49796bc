//! Events of memories.

use serde::{Deserialize, Serialize};

use super::{Payload, quoted};
use crate::memory::MemoryKind;

/// `memory.added`: something is remembered.
///
/// What an agent remembers for itself is shown to nobody else, so that `key` and `text` may be missing for a reader, here
/// and in the other events of memories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Added {
    /// What it is found under.
    pub key: String,
    /// For whom it is: the word of its scope.
    pub scope: Option<String>,
    /// The task or the agent that it is for, empty for others.
    pub of: String,
    /// What it is.
    pub kind: MemoryKind,
    /// What it says.
    pub text: String,
    /// The events that it was learnt from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<i64>,
}

impl Payload for Added {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} remembered {subject}{}", quoted(&self.text))
    }
}

impl Added {
    /// The event of a memory that takes the place of an older one.
    #[must_use]
    pub fn over(self, old: Old) -> Changed {
        let Added { key, scope, of, kind, text, from } = self;
        Changed { key, scope, of, kind, text, old: Some(old), from }
    }
}

/// `memory.changed`: something that was remembered says something else now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changed {
    /// What it is found under.
    pub key: String,
    /// For whom it is: the word of its scope.
    pub scope: Option<String>,
    /// The task or the agent that it is for, empty for others.
    pub of: String,
    /// What it is.
    pub kind: MemoryKind,
    /// What it says.
    pub text: String,
    /// What it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Old>,
    /// The events that it was learnt from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<i64>,
}

/// What a memory was before it was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Old {
    /// What it said.
    pub text: String,
    /// What it was.
    pub kind: MemoryKind,
    /// Who had written it.
    pub author: String,
}

impl Payload for Changed {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} changed the memory {subject}{}", quoted(&self.text))
    }
}

/// `memory.forgotten`: something is no longer remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Forgotten {
    /// What it was found under.
    pub key: String,
    /// For whom it was: the word of its scope.
    pub scope: Option<String>,
    /// The task or the agent that it was for, empty for others.
    pub of: String,
    /// What it was.
    pub kind: MemoryKind,
    /// What it said.
    pub text: String,
}

impl Payload for Forgotten {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} had {subject} forgotten{}", quoted(&self.text))
    }
}

/// `memory.pinned`: a memory is always shown, or no longer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pinned {
    /// Whether it is always shown.
    pub pinned: bool,
    /// What it is found under.
    pub key: String,
    /// For whom it is: the word of its scope.
    pub scope: Option<String>,
    /// The task or the agent that it is for, empty for others.
    pub of: String,
}

impl Payload for Pinned {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        match self.pinned {
            true => format!("{actor} pinned {subject}"),
            false => format!("{actor} took the pin out of {subject}"),
        }
    }
}
