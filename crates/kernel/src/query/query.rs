//! The trait of a query, and its description.
//!
//! A query is described once, by its `impl Query`. The kernel, the doors, the wire format, OpenAPI and the access check
//! read that description; none keeps a list of its own.

use std::any::Any;
use std::fmt::Debug;

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
pub(super) use tenure_core::access::Role;
use tenure_core::{Code, Error, Result, Stage};

use super::AnyQuery;
use crate::access;
use crate::call::Call;
use crate::json_request;
use crate::kernel::Kernel;
pub(super) use crate::op::{Access, Domain};

/// A request that changes nothing.
///
/// The JSON of the struct is the request that doors parse.
pub trait Query: Serialize + DeserializeOwned + JsonSchema + Clone + Debug + Send + Sync + 'static {
    /// The name, which is also the name of its file.
    const NAME: &'static str;
    /// A one-line description.
    const ABOUT: &'static str;
    /// Whether it is part of the documented interface. The others are for our own doors.
    const PUBLIC: bool;
    /// The role that a principal needs. There is no default: a query without an access rule does not compile.
    const ACCESS: Access;
    /// Whether it concerns a project, the whole store, or no project in particular.
    const DOMAIN: Domain = Domain::Project;

    type Answer: Serialize + DeserializeOwned + JsonSchema;

    /// See [`crate::Operation::lines`].
    fn lines(&self) -> Vec<usize> {
        Vec::new()
    }

    /// See [`crate::Operation::set_lines`].
    fn set_lines(&mut self, _lines: &[usize]) {}

    /// Checks the request and reads one snapshot. Callers use [`Kernel::ask`], which checks [`Query::ACCESS`] first.
    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Self::Answer>;
}

impl Kernel {
    /// Asks a query of a known type and returns its typed answer.
    pub fn ask<Q: Query>(&self, call: &Call, query: &Q) -> Result<Q::Answer> {
        access::admit_query::<Q>(call)?;
        match Q::DOMAIN {
            Domain::Project | Domain::Anywhere => query.answer(self, call),
            // The whole store has no checkout, and readers of it hold nothing.
            Domain::Store => query.answer(self, &Call { proven_dead: Vec::new(), ..call.about_store() }),
        }
    }
}

/// The description of a query, for doors and documents.
pub struct QueryEntry {
    /// See [`Query::NAME`].
    pub name: &'static str,
    /// See [`Query::ABOUT`].
    pub about: &'static str,
    /// See [`Query::PUBLIC`].
    pub public: bool,
    /// See [`Query::ACCESS`].
    pub access: Access,
    /// See [`Query::DOMAIN`].
    pub domain: Domain,
    /// The schema of the request.
    pub request: fn() -> Schema,
    /// The schema of the answer.
    pub answer: fn() -> Schema,
    /// Parses a request from JSON. Unknown fields are refused by name.
    pub read: fn(&str) -> Result<AnyQuery>,
}

impl QueryEntry {
    pub const fn of<Q: Query>() -> QueryEntry {
        QueryEntry {
            name: Q::NAME,
            about: Q::ABOUT,
            public: Q::PUBLIC,
            access: Q::ACCESS,
            domain: Q::DOMAIN,
            request: request_schema::<Q>,
            answer: || schema_for!(Q::Answer),
            read: |json| {
                refuse_nul(json)?;
                json_request::request::<Q>(json).map(AnyQuery::new)
            },
        }
    }

    /// Parses a request from JSON and asks it like [`Kernel::ask`]. The answer is JSON too.
    pub fn run(&self, kernel: &Kernel, call: &Call, json: &str) -> Result<String> {
        (self.read)(json)?.ask(kernel, call)
    }
}

/// In documents a request is titled by its role, not by its Rust type.
fn request_schema<Q: Query>() -> Schema {
    let mut schema = schema_for!(Q);
    schema.insert("title".to_owned(), "Request".into());
    schema
}

/// No stored text contains NUL, and not every engine can search for it.
fn refuse_nul(json: &str) -> Result<()> {
    // A raw NUL is not valid JSON, so only this escape can produce one.
    if !json.contains("\\u0000") {
        return Ok(());
    }
    let has_nul = serde_json::from_str::<Value>(json).is_ok_and(|value| text_with_nul(&value));
    match has_nul {
        true => Err(Error::usage(Code::ControlCharacter, "the request contains a NUL")),
        false => Ok(()),
    }
}

fn text_with_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(text_with_nul),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || text_with_nul(value)),
        _ => false,
    }
}

/// The object-safe part of [`Query`], for servers.
pub(super) trait ErasedQuery: Debug + Send + Sync {
    fn entry(&self) -> &'static QueryEntry;
    fn lines(&self) -> Vec<usize>;
    fn set_lines(&mut self, lines: &[usize]);
    fn to_json(&self) -> Result<String>;
    /// Like [`Kernel::ask`], with the answer as JSON.
    fn ask(&self, kernel: &Kernel, call: &Call) -> Result<String>;
    fn as_any(&self) -> &dyn Any;
    fn boxed(&self) -> Box<dyn ErasedQuery>;
}

impl<Q: Query> ErasedQuery for Q {
    fn entry(&self) -> &'static QueryEntry {
        const { &QueryEntry::of::<Q>() }
    }

    fn lines(&self) -> Vec<usize> {
        Query::lines(self)
    }

    fn set_lines(&mut self, lines: &[usize]) {
        Query::set_lines(self, lines);
    }

    fn to_json(&self) -> Result<String> {
        json(self)
    }

    fn ask(&self, kernel: &Kernel, call: &Call) -> Result<String> {
        json(&kernel.ask(call, self)?).map_err(|error| error.at(Stage::Reply))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed(&self) -> Box<dyn ErasedQuery> {
        Box::new(self.clone())
    }
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::bug(format!("a value has no JSON: {error}")))
}
