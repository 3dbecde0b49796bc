//! `list`

use schemars::JsonSchema;
use serde::Deserialize;
use tenure_core::Result;
use tenure_core::choice::ListOrder;
use tenure_core::task::TaskState;
use tenure_kernel::answer::{Hold, Overview, Page, Shown, Task};
use tenure_kernel::query::list::List;
use tenure_kernel::query::look_up::{Found, LookUp};
use tenure_kernel::query::status::Status;

use super::{Nature, Tool, ToolCall, read, value};
use crate::mcp::answer::ToolAnswer;
use crate::mcp::schema;

/// The default number of rows. It is small because a model reads all of them.
const FEW: usize = 20;

pub(super) const TOOL: Tool = Tool {
    name: "list",
    about: "List tasks in the order in which they are chosen, search them by words, show one with its notes and events, or give an overview of the project",
    input: || schema::input::<Request>(&[]),
    output: &[
        schema::output::<Page<Task>>,
        schema::output::<Shown>,
        schema::output::<Hold>,
        schema::output::<Overview>,
    ],
    nature: Nature::Reads,
    ops: &[],
    call: |tool_call, arguments| {
        let request: Request = read(arguments)?;
        match request.id.as_deref() {
            Some(id) => show(tool_call, id),
            None if request.overview => tool_call.tell(&Status {}),
            None => list(tool_call, request),
        }
    },
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Show only this task or hold, in full; a unique beginning of its id is enough.
    #[serde(default)]
    id: Option<String>,
    /// Only in these states; by default all but done and cancelled.
    #[serde(default)]
    states: Vec<TaskState>,
    /// In place of tasks: counts, who works on what, what is stuck.
    #[serde(default)]
    overview: bool,
    /// Only with all of these labels.
    #[serde(default)]
    labels: Vec<String>,
    /// Only with words that begin like each of these, in the title, the description, the acceptance or a note.
    #[serde(default)]
    text: Option<String>,
    /// The order: `priority` (and then creation), `created` or `updated`, both newest first.
    #[serde(default)]
    sort: ListOrder,
    /// Only what you hold.
    #[serde(default)]
    mine: bool,
    /// 1 to 1000, default 20.
    #[serde(default)]
    limit: Option<usize>,
    /// `next` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

fn list(tool_call: &ToolCall<'_>, request: Request) -> Result<ToolAnswer> {
    let labels = if request.labels.is_empty() { tool_call.defaults()?.labels } else { request.labels };
    tool_call.tell(&List {
        states: request.states,
        labels,
        holder: request.mine.then(|| tool_call.who.name.as_str().into()),
        limit: request.limit.unwrap_or(FEW),
        cursor: request.cursor,
        text: request.text,
        sort: request.sort,
        ..List::default()
    })
}

fn show(tool_call: &ToolCall<'_>, id: &str) -> Result<ToolAnswer> {
    let found = match tool_call.ask(&LookUp { typed: id.to_owned() })? {
        Found::Task(task) => value(&task),
        Found::Place(place) => value(&place),
        Found::Note(note) => value(&note),
        Found::Message(message) => value(&message),
        Found::Checkout(checkout) => value(&checkout),
        Found::Hold(hold) => value(&hold),
    };
    found.map(ToolAnswer::of)
}
