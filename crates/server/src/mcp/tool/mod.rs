//! The tools: a plain list. One tool is one file, with what it takes, what it answers and what it does.

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

/// All tools, in the order of a working day.
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

/// A tool.
pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does and when to call it, for models.
    pub(crate) about: &'static str,
    /// The schema of what it takes.
    pub(crate) input: fn() -> Map<String, Value>,
    /// The schemas of what it answers.
    pub(crate) output: &'static [fn() -> Value],
    /// What it does to the world.
    pub(crate) nature: Nature,
    /// The ops it runs.
    pub(crate) ops: &'static [&'static str],
    /// Does it.
    pub(crate) call: fn(&ToolCall<'_>, Value) -> Result<ToolAnswer>,
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// It only looks.
    Reads,
    /// It adds; a second call adds again.
    Adds,
    /// It changes what is there; a second call finds it changed.
    Settles,
    /// It may take away what was there.
    Removes,
}

impl Tool {
    /// The tool as clients see it.
    pub(crate) fn shown(&self) -> rmcp::model::Tool {
        let mut hints = ToolAnnotations::new()
            .read_only(self.nature == Nature::Reads)
            .destructive(self.nature == Nature::Removes)
            .idempotent(matches!(self.nature, Nature::Reads | Nature::Settles));
        // Nothing outside the store is touched.
        hints = hints.open_world(false);
        rmcp::model::Tool::new(self.name, self.about, (self.input)())
            .with_raw_output_schema(Arc::new(schema::answers(self.output)))
            .with_annotations(hints)
    }

    /// Checks the arguments and does it.
    pub(crate) fn run(&self, tool_call: &ToolCall<'_>, arguments: Map<String, Value>) -> Result<ToolAnswer> {
        let arguments = Value::Object(schema::without_nulls(arguments));
        schema::check(&(self.input)(), &arguments)?;
        (self.call)(tool_call, arguments)
    }
}

/// The tool of a name.
pub(crate) fn named(name: &str) -> Option<&'static Tool> {
    ALL.iter().find(|tool| tool.name == name)
}

/// One call by one agent.
pub(crate) struct ToolCall<'a> {
    host: &'a dyn Host,
    who: &'a ToolCaller,
    /// The id under which the client would repeat this very call.
    request_id: Option<&'a str>,
    acted: Cell<bool>,
}

impl<'a> ToolCall<'a> {
    pub(crate) fn new(host: &'a dyn Host, who: &'a ToolCaller, request_id: Option<&'a str>) -> ToolCall<'a> {
        ToolCall { host, who, request_id, acted: Cell::new(false) }
    }

    /// Whether an op was carried out.
    pub(crate) fn has_acted(&self) -> bool {
        self.acted.get()
    }

    /// Runs an op.
    pub(crate) fn run(&self, op: &Op) -> Result<ToolAnswer> {
        let body = self.host.run(self.who, self.request_id, op)?;
        self.acted.set(true);
        ToolAnswer::read(&body)
    }

    /// Runs an op on paths, as they were typed.
    fn run_on_paths(&self, typed: &[String], op: &OnPaths<'_>) -> Result<ToolAnswer> {
        let body = self.host.run_on_paths(self.who, self.request_id, typed, op)?;
        self.acted.set(true);
        ToolAnswer::read(&body)
    }

    /// Runs an op on what belongs to the whole store.
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

    /// The full id of a task from a beginning of it.
    fn task_id(&self, typed: &str) -> Result<TaskId> {
        self.ask(&task_id::TaskId { typed: typed.to_owned() }).map(TaskId::from)
    }

    /// The same where the focus is meant when none is given.
    fn task_or_focus(&self, typed: Option<&str>) -> Result<Option<TaskId>> {
        typed.map(|typed| self.task_id(typed)).transpose()
    }

    /// The full id of a task or a hold from a beginning of it.
    fn any_id(&self, typed: &str) -> Result<AnyId> {
        self.ask(&any_id::AnyId { typed: typed.to_owned() }).map(AnyId::from)
    }

    /// A file as it is now.
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

/// Reads arguments that fit the schema.
fn read<T: DeserializeOwned>(arguments: Value) -> Result<T> {
    serde_json::from_value(arguments).map_err(|error| Error::usage(Code::BadArguments, error.to_string()))
}

#[cfg(test)]
mod tests;
