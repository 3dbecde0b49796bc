//! The trait of an op, and its description.
//!
//! An op is described once, by its `impl Operation`. The pipeline, the doors, OpenAPI, the access check and the
//! reference pages read that description; none keeps a list of its own.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
pub(super) use tenure_core::access::Role;
use tenure_core::access::WHOLE_STORE;
use tenure_core::number::EventNumber;
use tenure_core::{Error, Result, Stage};

use super::Op;
pub(super) use crate::call::Door;
use crate::json_request;
use crate::unit_of_work::UnitOfWork;

/// A request that changes state.
///
/// The JSON of the struct is the request that doors parse and the fingerprint hashes, so the order of its fields is
/// part of the contract.
pub trait Operation: Serialize + DeserializeOwned + JsonSchema + Clone + Debug + Send + Sync + 'static {
    /// The name, which is also the name of its file.
    const NAME: &'static str;
    /// A one-line description.
    const ABOUT: &'static str;
    /// The doors that accept it.
    const DOORS: &'static [Door];
    /// The role that a principal needs. There is no default: an op without an access rule does not compile.
    const ACCESS: Access;
    /// Whether it concerns a project or the whole store.
    const DOMAIN: Domain = Domain::Project;
    /// What the door observes on the caller's machine and sends along.
    const INPUTS: &'static [Input] = &[];
    /// Which events and mail its answer offers; the door confirms them once they were shown. `None` if an answer offers
    /// nothing. A door then does not parse it.
    const OFFERED: Option<fn(&Self::Answer) -> Offered> = None;

    /// The answer. Stored answers are replayed: a new field needs `serde(default)`.
    type Answer: Serialize + DeserializeOwned + JsonSchema;

    /// The role that this request needs.
    fn access(&self) -> Access {
        Self::ACCESS
    }

    /// Checks what can be checked without the store.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Checks the request and does the work that needs no store, so that other writers do not wait for it under the
    /// lock. A returned decision runs in place of [`Operation::apply`].
    fn prepare(&self) -> Result<Option<Decision<Self::Answer>>> {
        self.check().map(|()| None)
    }

    /// The line of each item in the sender's input, in order; empty if the request is not a batch. Lines are not part
    /// of the request, which is the same wherever it was read from. They travel beside it, for refusals that name them.
    fn lines(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Restores the lines. Surplus or missing ones are ignored: lines only appear in messages.
    fn set_lines(&mut self, _lines: &[usize]) {}

    /// Loads rows, decides and writes, inside the transaction of the op. An error rolls back all of its rows.
    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<Self::Answer>;
}

/// The part of a prepared op that runs under the lock. It may run more than once, because a transaction that lost a
/// race is retried.
pub type Decision<A> = Box<dyn Fn(&mut UnitOfWork<'_>) -> Result<A> + Send + Sync>;

/// The role that a principal needs for an op. `None` if no principal may request it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// In a project.
    pub project: Option<Role>,
    /// In the whole store.
    pub store: Option<Role>,
}

impl Access {
    /// No principal may request it: a door runs it in its own name.
    pub const NONE: Access = Access { project: None, store: None };

    /// Allowed in projects only.
    pub const fn project(role: Role) -> Access {
        Access { project: Some(role), store: None }
    }

    /// Allowed in the whole store only.
    pub const fn store(role: Role) -> Access {
        Access { project: None, store: Some(role) }
    }

    /// For workers; for operators if the request overrides others.
    pub const fn forced(force: bool) -> Access {
        Access::project(if force { Role::Operator } else { Role::Worker })
    }

    /// The role needed in a project.
    pub fn needed(self, project: &str) -> Option<Role> {
        if project == WHOLE_STORE { self.store } else { self.project }
    }
}

/// What an op or a query concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// One project.
    Project,
    /// The whole store; the op is refused in a project.
    Store,
    /// No project in particular: a query that shows only what its principal may see.
    Anywhere,
}

/// An observation that only the caller's machine can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Which agents with holds are dead.
    DeadAgents,
    /// The current commit of the working tree.
    Head,
    /// The commit and the uncommitted files of the working tree.
    WorkingTree,
}

/// The last event and the last message that an answer offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// The number of the last event.
    pub events: Option<EventNumber>,
    /// The number of the last message.
    pub mail: Option<EventNumber>,
}

/// The description of an op, for doors and documents.
pub struct Entry {
    /// See [`Operation::NAME`].
    pub name: &'static str,
    /// See [`Operation::ABOUT`].
    pub about: &'static str,
    /// See [`Operation::DOORS`].
    pub doors: &'static [Door],
    /// See [`Operation::ACCESS`].
    pub access: Access,
    /// See [`Operation::DOMAIN`].
    pub domain: Domain,
    /// See [`Operation::INPUTS`].
    pub inputs: &'static [Input],
    /// Reads the offer from an answer's JSON; see [`Operation::OFFERED`].
    pub offered: Option<fn(&str) -> Result<Offered>>,
    /// The schema of the request.
    pub request: fn() -> Schema,
    /// The schema of the answer.
    pub answer: fn() -> Schema,
    /// Parses a request from JSON. Unknown fields are refused by name.
    pub read: fn(&str) -> Result<Op>,
}

impl Entry {
    pub const fn of<O: Operation>() -> Entry {
        Entry {
            name: O::NAME,
            about: O::ABOUT,
            doors: O::DOORS,
            access: O::ACCESS,
            domain: O::DOMAIN,
            inputs: O::INPUTS,
            offered: match O::OFFERED {
                Some(_) => Some(offered::<O>),
                None => None,
            },
            request: request_schema::<O>,
            answer: answer_schema::<O>,
            read: |json| json_request::request::<O>(json).map(Op::new),
        }
    }

    /// Whether only hooks send it. It then runs in the background and never switches a project on.
    pub fn is_of_hooks(&self) -> bool {
        self.doors == [Door::Hook]
    }
}

/// In documents a request is titled by its role, not by its Rust type.
fn request_schema<O: Operation>() -> Schema {
    let mut schema = schema_for!(O);
    schema.insert("title".to_owned(), "Request".into());
    schema
}

fn answer_schema<O: Operation>() -> Schema {
    schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<O::Answer>()
}

fn offered<O: Operation>(body: &str) -> Result<Offered> {
    let answer = answer::<O::Answer>(body)?;
    Ok(O::OFFERED.map_or_else(Offered::default, |offered| offered(&answer)))
}

/// Deserialises the answer of an op.
pub(crate) fn answer<A: DeserializeOwned>(body: &str) -> Result<A> {
    serde_json::from_str(body)
        .map_err(|error| Error::bug(format!("an answer cannot be read: {error}")).at(Stage::Reply))
}

/// The object-safe part of [`Operation`], for the queue and the pipeline.
pub(crate) trait ErasedOp: Debug + Send + Sync {
    fn entry(&self) -> &'static Entry;
    fn access(&self) -> Access;
    fn check(&self) -> Result<()>;
    fn prepare(&self) -> Result<Option<Decision<String>>>;
    fn lines(&self) -> Vec<usize>;
    fn set_lines(&mut self, lines: &[usize]);
    fn with_lines(&self, lines: &[usize]) -> Arc<dyn ErasedOp>;
    fn canonical(&self) -> Result<String>;
    /// Like [`Operation::apply`], with the answer as JSON.
    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<String>;
    fn as_any(&self) -> &dyn Any;
}

impl<O: Operation> ErasedOp for O {
    fn entry(&self) -> &'static Entry {
        const { &Entry::of::<O>() }
    }

    fn access(&self) -> Access {
        Operation::access(self)
    }

    fn check(&self) -> Result<()> {
        Operation::check(self)
    }

    fn prepare(&self) -> Result<Option<Decision<String>>> {
        let decision = Operation::prepare(self)?;
        Ok(decision.map(|decide| -> Decision<String> { Box::new(move |work| json(&decide(work)?)) }))
    }

    fn lines(&self) -> Vec<usize> {
        Operation::lines(self)
    }

    fn set_lines(&mut self, lines: &[usize]) {
        Operation::set_lines(self, lines);
    }

    fn with_lines(&self, lines: &[usize]) -> Arc<dyn ErasedOp> {
        let mut copy = self.clone();
        Operation::set_lines(&mut copy, lines);
        Arc::new(copy)
    }

    fn canonical(&self) -> Result<String> {
        json(self)
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<String> {
        json(&Operation::apply(self, work)?)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::bug(format!("a value has no JSON: {error}")))
}
