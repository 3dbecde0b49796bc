//! `list`

use schemars::JsonSchema;
use serde::Deserialize;
use tenure_core::Result;
use tenure_core::task::State;
use tenure_kernel::query::list::Filter;
use tenure_kernel::query::show::Found;
use tenure_kernel::shape::{Hold, Page, Shown, Task};

use super::{Nature, Tool, Visit, read};
use crate::mcp::answer::Answer;
use crate::mcp::schema;

/// How many rows are given when none are asked for: a model reads all of them.
const FEW: usize = 20;

pub(super) const TOOL: Tool = Tool {
    name: "list",
    about: "List the tasks of the project in the order they are chosen in, or show one with its notes and events",
    input: || schema::input::<Request>(&[]),
    output: &[schema::output::<Page<Task>>, schema::output::<Shown>, schema::output::<Hold>],
    nature: Nature::Reads,
    ops: &[],
    call: |visit, arguments| {
        let request: Request = read(arguments)?;
        match request.id.as_deref() {
            Some(id) => show(visit, id),
            None => list(visit, request),
        }
    },
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Show this task or hold alone, in full; any unique beginning of its id.
    #[serde(default)]
    id: Option<String>,
    /// Only in these states; all but done and cancelled without it.
    #[serde(default)]
    states: Vec<State>,
    /// Only with all of these labels.
    #[serde(default)]
    labels: Vec<String>,
    /// Only what you hold.
    #[serde(default)]
    mine: bool,
    /// 1 to 1000, 20 without it.
    #[serde(default)]
    limit: Option<usize>,
    /// `next` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

fn list(visit: &Visit<'_>, request: Request) -> Result<Answer> {
    let labels = if request.labels.is_empty() { visit.defaults()?.labels } else { request.labels };
    let filter = Filter {
        states: request.states,
        labels,
        holder: request.mine.then(|| visit.who.name.as_str().into()),
        limit: request.limit.unwrap_or(FEW),
        cursor: request.cursor,
        ..Filter::default()
    };
    Ok(Answer::of(visit.ask(|reach, call| reach.list(call, &filter))?))
}

fn show(visit: &Visit<'_>, id: &str) -> Result<Answer> {
    let value = visit.ask(|reach, call| {
        let found = reach.look_up(call, id)?;
        let value = match found {
            Found::Task(task) => serde_json::to_value(task),
            Found::Place(place) => serde_json::to_value(place),
            Found::Note(note) => serde_json::to_value(note),
            Found::Message(message) => serde_json::to_value(message),
            Found::Checkout(checkout) => serde_json::to_value(checkout),
            Found::Hold(hold) => serde_json::to_value(hold),
        };
        value.map_err(|error| tenure_core::Error::bug(format!("an answer has no JSON: {error}")))
    })?;
    Ok(Answer::of(value))
}
