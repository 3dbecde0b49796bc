//! Memory events.

use serde::{Deserialize, Serialize};

use super::{Payload, quoted};
use crate::memory::MemoryKind;
use crate::number::EventNumber;

/// `memory.added`: a memory was added.
///
/// A memory in an agent's own scope is private to that agent, so a reader may not see `key` and `text`. The same holds
/// for the other memory events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryAdded {
    /// The memory's key.
    pub key: String,
    /// The word of its scope.
    pub scope: Option<String>,
    /// The task or agent of its scope; empty for other scopes.
    pub of: String,
    /// The kind of memory.
    pub kind: MemoryKind,
    /// The memory's text.
    pub text: String,
    /// The events that the lesson was drawn from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<EventNumber>,
}

impl Payload for MemoryAdded {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} remembered {subject}{}", quoted(&self.text))
    }
}

impl MemoryAdded {
    /// Turns this into the event of a memory that replaces an older one.
    #[must_use]
    pub fn over(self, old: Old) -> MemoryChanged {
        let MemoryAdded { key, scope, of, kind, text, from } = self;
        MemoryChanged { key, scope, of, kind, text, old: Some(old), from }
    }
}

/// `memory.changed`: a memory's text was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryChanged {
    /// The memory's key.
    pub key: String,
    /// The word of its scope.
    pub scope: Option<String>,
    /// The task or agent of its scope; empty for other scopes.
    pub of: String,
    /// The kind of memory.
    pub kind: MemoryKind,
    /// The new text.
    pub text: String,
    /// The previous content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Old>,
    /// The events that the lesson was drawn from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<EventNumber>,
}

/// The content of a memory before a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Old {
    /// The previous text.
    pub text: String,
    /// The previous kind.
    pub kind: MemoryKind,
    /// The previous author.
    pub author: String,
}

impl Payload for MemoryChanged {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} changed the memory {subject}{}", quoted(&self.text))
    }
}

/// `memory.forgotten`: a memory was forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryForgotten {
    /// The memory's key.
    pub key: String,
    /// The word of its scope.
    pub scope: Option<String>,
    /// The task or agent of its scope; empty for other scopes.
    pub of: String,
    /// The kind of memory.
    pub kind: MemoryKind,
    /// The memory's text.
    pub text: String,
}

impl Payload for MemoryForgotten {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        format!("{actor} deleted the memory {subject}{}", quoted(&self.text))
    }
}

/// `memory.pinned`: a memory was pinned or unpinned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryPinned {
    /// Whether it is pinned now.
    pub pinned: bool,
    /// The memory's key.
    pub key: String,
    /// The word of its scope.
    pub scope: Option<String>,
    /// The task or agent of its scope; empty for other scopes.
    pub of: String,
}

impl Payload for MemoryPinned {
    fn sentence(&self, actor: &str, subject: &str) -> String {
        match self.pinned {
            true => format!("{actor} pinned {subject}"),
            false => format!("{actor} unpinned {subject}"),
        }
    }
}
