//! The tools. One tool is one file: its input, its output and its action.

mod add;
mod block;
mod done;
mod list;
mod mail;
mod memory;
mod note;
mod release;
mod reserve;
mod resume;

use std::cell::Cell;
use std::sync::Arc;

use rmcp::model::ToolAnnotations;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tenure_core::id::{AnyId, TaskId};
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::op::note::Artifact;
use tenure_kernel::query::{any_id, task_id};
use tenure_kernel::{Op, Query};

use super::answer::ToolAnswer;
use super::host::{Host, HostDefaults, OnPaths, ToolCaller};
use super::schema;

/// All tools, in the order of a typical session.
pub(crate) const ALL: &[Tool] = &[
    resume::TOOL,
    note::TOOL,
    done::TOOL,
    block::TOOL,
    add::TOOL,
    list::TOOL,
    reserve::TOOL,
    release::TOOL,
    mail::TOOL,
    memory::TOOL,
];

pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// What it does and when to call it, for models.
    pub(crate) about: &'static str,
    /// The schema of its input.
    pub(crate) input: fn() -> Map<String, Value>,
    /// The schemas of its answers.
    pub(crate) output: &'static [fn() -> Value],
    pub(crate) nature: Nature,
    /// The ops it runs.
    pub(crate) ops: &'static [&'static str],
    /// Runs the tool.
    pub(crate) call: fn(&ToolCall<'_>, Value) -> Result<ToolAnswer>,
}

/// The effect of a tool on the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// Reads only.
    Reads,
    /// Adds something; a second call adds again.
    Adds,
    /// Changes state; a second call finds it changed.
    Settles,
    /// May remove existing state.
    Removes,
}

impl Tool {
    /// The tool's definition for clients.
    pub(crate) fn shown(&self) -> rmcp::model::Tool {
        let mut hints = ToolAnnotations::new()
            .read_only(self.nature == Nature::Reads)
            .destructive(self.nature == Nature::Removes)
            .idempotent(matches!(self.nature, Nature::Reads | Nature::Settles));
        // Tools touch nothing outside the store.
        hints = hints.open_world(false);
        rmcp::model::Tool::new(self.name, self.about, (self.input)())
            .with_raw_output_schema(Arc::new(schema::answers(self.output)))
            .with_annotations(hints)
    }

    /// Checks the arguments and runs the tool.
    pub(crate) fn run(&self, tool_call: &ToolCall<'_>, arguments: Map<String, Value>) -> Result<ToolAnswer> {
        let arguments = Value::Object(schema::without_nulls(arguments));
        schema::check(&(self.input)(), &arguments)?;
        (self.call)(tool_call, arguments)
    }
}

/// The tool with a name.
pub(crate) fn named(name: &str) -> Option<&'static Tool> {
    ALL.iter().find(|tool| tool.name == name)
}

/// The names of the tools.
pub(crate) fn names() -> Vec<&'static str> {
    ALL.iter().map(|tool| tool.name).collect()
}

/// One call by one agent.
pub(crate) struct ToolCall<'a> {
    host: &'a dyn Host,
    who: &'a ToolCaller,
    /// The request id that a retry of this call repeats.
    request_id: Option<&'a str>,
    acted: Cell<bool>,
}

impl<'a> ToolCall<'a> {
    pub(crate) fn new(host: &'a dyn Host, who: &'a ToolCaller, request_id: Option<&'a str>) -> ToolCall<'a> {
        ToolCall { host, who, request_id, acted: Cell::new(false) }
    }

    /// Whether an op has run.
    pub(crate) fn has_acted(&self) -> bool {
        self.acted.get()
    }

    /// Runs an op.
    pub(crate) fn run(&self, op: &Op) -> Result<ToolAnswer> {
        let body = self.host.run(self.who, self.request_id, op)?;
        self.acted.set(true);
        ToolAnswer::read(&body)
    }

    /// Runs an op on paths as they were typed.
    fn run_on_paths(&self, typed: &[String], op: &OnPaths<'_>) -> Result<ToolAnswer> {
        let body = self.host.run_on_paths(self.who, self.request_id, typed, op)?;
        self.acted.set(true);
        ToolAnswer::read(&body)
    }

    /// Runs an op on the whole store.
    fn run_in_store(&self, op: &Op) -> Result<ToolAnswer> {
        let body = self.host.run_in_store(self.who, self.request_id, op)?;
        ToolAnswer::read(&body)
    }

    /// Asks a query.
    fn ask<Q: Query>(&self, query: &Q) -> Result<Q::Answer> {
        let answer = Cell::new(None);
        self.host.ask(self.who, &|client, call| client.ask(call, query).map(|found| answer.set(Some(found))))?;
        answer.into_inner().ok_or_else(|| Error::bug("a query was not asked"))
    }

    /// Asks a query whose answer is the answer of the tool.
    fn tell<Q: Query>(&self, query: &Q) -> Result<ToolAnswer> {
        value(&self.ask(query)?).map(ToolAnswer::of)
    }

    /// The full id of a task from a prefix.
    fn task_id(&self, typed: &str) -> Result<TaskId> {
        self.ask(&task_id::ResolveTask { typed: typed.to_owned() }).map(TaskId::from)
    }

    /// The same, but `None` stands for the focus.
    fn task_or_focus(&self, typed: Option<&str>) -> Result<Option<TaskId>> {
        typed.map(|typed| self.task_id(typed)).transpose()
    }

    /// The full id of a task or a hold from a prefix.
    fn any_id(&self, typed: &str) -> Result<AnyId> {
        self.ask(&any_id::ResolveAny { typed: typed.to_owned() }).map(AnyId::from)
    }

    /// A file in its current state.
    fn artifact(&self, path: &str) -> Result<Artifact> {
        self.host.artifact(path)
    }

    fn defaults(&self) -> Result<HostDefaults> {
        self.host.defaults()
    }
}

/// An answer as JSON.
fn value<T: Serialize>(answer: &T) -> Result<Value> {
    serde_json::to_value(answer).map_err(|error| Error::bug(format!("an answer has no JSON: {error}")).at(Stage::Reply))
}

/// Deserialises arguments that fit the schema.
fn read<T: DeserializeOwned>(arguments: Value) -> Result<T> {
    serde_json::from_value(arguments).map_err(|error| Error::usage(Code::BadArguments, error.to_string()))
}

#[cfg(test)]
mod tests;
