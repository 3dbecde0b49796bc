//! `note`

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tenure_core::Result;
use tenure_core::memory::MemoryKind;
use tenure_kernel::op::note;
use tenure_kernel::op::remember::NewMemory;
use tenure_kernel::{Op, answer};

use super::{Nature, Tool, read};
use crate::mcp::schema;

pub(super) const TOOL: Tool = Tool {
    name: "note",
    about: "Note progress, a finding or a decision on your task for the next agent",
    input: || schema::input::<Request>(&[]),
    output: &[schema::output::<answer::Noted>],
    nature: Nature::Adds,
    ops: &["note"],
    call: |tool_call, arguments| {
        let request: Request = read(arguments)?;
        let task = tool_call.task_or_focus(request.task.as_deref())?;
        let artifacts = request.files.iter().map(|path| tool_call.artifact(path)).collect::<Result<_>>()?;
        let memories = request.memories.into_iter().map(NoteMemory::item).collect();
        tool_call.run(&Op::new(note::Note {
            task,
            text: request.text,
            memories,
            artifacts,
            data: request.data,
            fence: None,
        }))
    },
};

// The op's request, with files as an agent knows them: by path. The door looks at them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Request {
    /// A task by id; by default yours.
    #[serde(default)]
    task: Option<String>,
    /// What you did, found or decided, and the next step.
    text: String,
    /// Information for other agents on this task.
    #[serde(default)]
    memories: Vec<NoteMemory>,
    /// Paths of files that the work produced.
    #[serde(default)]
    files: Vec<String>,
    /// Any JSON data of the note.
    #[serde(default)]
    data: Option<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoteMemory {
    text: String,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    kind: MemoryKind,
}

impl NoteMemory {
    fn item(self) -> NewMemory {
        NewMemory { text: self.text, key: self.key, kind: self.kind, ..NewMemory::default() }
    }
}
