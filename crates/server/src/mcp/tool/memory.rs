//! `memory`

use schemars::JsonSchema;
use serde::Deserialize;
use tenure_core::memory::MemoryKind;
use tenure_core::{Code, Error, Result};
use tenure_kernel::answer::{Memory, Page, Remembered};
use tenure_kernel::op::remember::{MemoryReach, NewMemory};
use tenure_kernel::query::memories::Memories;
use tenure_kernel::query::memory_id::ResolveMemory;
use tenure_kernel::query::recall::Recall;
use tenure_kernel::{Op, op};

use super::{Nature, Tool, ToolCall, read};
use crate::mcp::answer::ToolAnswer;
use crate::mcp::schema;

/// The default number of memories.
const FEW: usize = 10;

pub(super) const TOOL: Tool = Tool {
    name: "memory",
    about: "Shared knowledge of agents: remember a text, recall by words (best match first), list, forget by id",
    input: || schema::input::<Request>(&[]),
    output: &[schema::output::<Page<Memory>>, schema::output::<Remembered>, schema::output::<Memory>],
    nature: Nature::Removes,
    ops: &["remember", "memory_forget"],
    call: |tool_call, arguments| {
        let request: Request = read(arguments)?;
        match request.action {
            MemoryAction::Remember => remember(tool_call, request),
            MemoryAction::Recall => {
                let question = request.text.clone().ok_or_else(|| missing("text", "recall"))?;
                tool_call.tell(&Recall { question, filter: request.filter(tool_call)? })
            }
            MemoryAction::List => tool_call.tell(&request.filter(tool_call)?),
            MemoryAction::Forget => forget(tool_call, request),
        }
    },
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Request {
    action: MemoryAction,
    /// The text to remember, or the words to recall.
    #[serde(default)]
    text: Option<String>,
    /// The subject, such as db/schema; the same key replaces the text.
    #[serde(default)]
    key: Option<String>,
    /// Directive: to be followed; lesson: learnt from what went wrong.
    #[serde(default)]
    kind: Option<MemoryKind>,
    /// The scope; by default your task, else the project.
    #[serde(default)]
    scope: Option<MemoryReach>,
    /// Of this task; by default yours.
    #[serde(default)]
    task: Option<String>,
    /// Seconds after which it is deleted.
    #[serde(default)]
    ttl_s: Option<i64>,
    /// The memory to forget.
    #[serde(default)]
    id: Option<String>,
    /// Default 10.
    #[serde(default)]
    limit: Option<usize>,
    /// `next` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MemoryAction {
    Remember,
    Recall,
    List,
    Forget,
}

impl Request {
    fn filter(self, tool_call: &ToolCall<'_>) -> Result<Memories> {
        Ok(Memories {
            task: tool_call.task_or_focus(self.task.as_deref())?,
            kind: self.kind,
            scope: self.scope.map(|scope| word(scope).to_owned()),
            limit: self.limit.unwrap_or(FEW),
            cursor: self.cursor,
            ..Memories::default()
        })
    }
}

fn remember(tool_call: &ToolCall<'_>, request: Request) -> Result<ToolAnswer> {
    let task = tool_call.task_or_focus(request.task.as_deref())?;
    let item = NewMemory {
        text: request.text.ok_or_else(|| missing("text", "remember"))?,
        key: request.key,
        kind: request.kind.unwrap_or_default(),
        scope: request.scope,
        task,
        ttl_s: request.ttl_s,
    };
    let op = Op::new(op::remember::Remember { items: vec![item] });
    if request.scope == Some(MemoryReach::Global) { tool_call.run_in_store(&op) } else { tool_call.run(&op) }
}

fn forget(tool_call: &ToolCall<'_>, request: Request) -> Result<ToolAnswer> {
    let typed = request.id.ok_or_else(|| missing("id", "forget"))?;
    let (of_store, memory) = tool_call.ask(&ResolveMemory { typed })?;
    let op = Op::new(op::memory_forget::MemoryForget { memory: memory.into() });
    if of_store { tool_call.run_in_store(&op) } else { tool_call.run(&op) }
}

fn word(scope: MemoryReach) -> &'static str {
    match scope {
        MemoryReach::Task => "task",
        MemoryReach::Agent => "agent",
        MemoryReach::Project => "project",
        MemoryReach::Global => "global",
    }
}

fn missing(field: &'static str, action: &str) -> Error {
    Error::usage(Code::BadArguments, format!("`{field}` is missing: `{action}` requires it")).entity(field)
}
