//! `memory`

use schemars::JsonSchema;
use serde::Deserialize;
use tenure_core::memory::Kind;
use tenure_core::{Code, Error, Result};
use tenure_kernel::op::remember::{Item, Reach};
use tenure_kernel::query::memories::Memories;
use tenure_kernel::query::memory_id::MemoryId;
use tenure_kernel::query::recall::Recall;
use tenure_kernel::shape::{Memory, Page, Remembered};
use tenure_kernel::{Op, op};

use super::{Nature, Tool, Visit, read};
use crate::mcp::answer::Answer;
use crate::mcp::schema;

/// How many are given when none are asked for.
const FEW: usize = 10;

pub(super) const TOOL: Tool = Tool {
    name: "memory",
    about: "What agents should know: remember a text, recall by words (best first), list, forget by id",
    input: || schema::input::<Request>(&[]),
    output: &[schema::output::<Page<Memory>>, schema::output::<Remembered>, schema::output::<Memory>],
    nature: Nature::Removes,
    ops: &["remember", "memory_forget"],
    call: |visit, arguments| {
        let request: Request = read(arguments)?;
        match request.action {
            Action::Remember => remember(visit, request),
            Action::Recall => {
                let question = request.text.clone().ok_or_else(|| missing("text", "recall"))?;
                visit.tell(&Recall { question, filter: request.filter(visit)? })
            }
            Action::List => visit.tell(&request.filter(visit)?),
            Action::Forget => forget(visit, request),
        }
    },
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Request {
    action: Action,
    /// What to remember, or the words to recall.
    #[serde(default)]
    text: Option<String>,
    /// What it is about, such as db/schema; the same key again changes it.
    #[serde(default)]
    key: Option<String>,
    /// Directive: to be followed; lesson: learnt from what went wrong.
    #[serde(default)]
    kind: Option<Kind>,
    /// For whom; your task if you have one, else the project.
    #[serde(default)]
    scope: Option<Reach>,
    /// Of this task in place of yours.
    #[serde(default)]
    task: Option<String>,
    /// Seconds after which it is forgotten.
    #[serde(default)]
    ttl_s: Option<i64>,
    /// The memory to forget.
    #[serde(default)]
    id: Option<String>,
    /// 10 without it.
    #[serde(default)]
    limit: Option<usize>,
    /// `next` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Remember,
    Recall,
    List,
    Forget,
}

impl Request {
    fn filter(self, visit: &Visit<'_>) -> Result<Memories> {
        Ok(Memories {
            task: visit.task_or_focus(self.task.as_deref())?,
            kind: self.kind,
            scope: self.scope.map(|scope| word(scope).to_owned()),
            limit: self.limit.unwrap_or(FEW),
            cursor: self.cursor,
            ..Memories::default()
        })
    }
}

fn remember(visit: &Visit<'_>, request: Request) -> Result<Answer> {
    let task = visit.task_or_focus(request.task.as_deref())?;
    let item = Item {
        text: request.text.ok_or_else(|| missing("text", "remember"))?,
        key: request.key,
        kind: request.kind.unwrap_or_default(),
        scope: request.scope,
        task,
        ttl_s: request.ttl_s,
    };
    let op = Op::new(op::remember::Remember { items: vec![item] });
    if request.scope == Some(Reach::Global) { visit.run_in_store(&op) } else { visit.run(&op) }
}

fn forget(visit: &Visit<'_>, request: Request) -> Result<Answer> {
    let typed = request.id.ok_or_else(|| missing("id", "forget"))?;
    let (of_store, memory) = visit.ask(&MemoryId { typed })?;
    let op = Op::new(op::memory_forget::MemoryForget { memory: memory.into() });
    if of_store { visit.run_in_store(&op) } else { visit.run(&op) }
}

fn word(scope: Reach) -> &'static str {
    match scope {
        Reach::Task => "task",
        Reach::Agent => "agent",
        Reach::Project => "project",
        Reach::Global => "global",
    }
}

fn missing(field: &'static str, action: &str) -> Error {
    Error::usage(Code::BadArguments, format!("`{field}` is missing: {action} needs it")).entity(field)
}
