//! Answers of ops: as stored JSON, and as that JSON with its type.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use tenure_core::Result;

use crate::op;

/// The answer to an op of any type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer as JSON, byte for byte what a replay returns.
    pub body: String,
    /// Whether it is the stored answer of an earlier run.
    pub replayed: bool,
}

impl Reply {
    /// Deserialises the answer; the caller knows its type.
    pub fn read<A: DeserializeOwned>(&self) -> Result<A> {
        op::answer(&self.body)
    }
}

/// The answer to an op of a known type. It keeps the stored bytes: a door that prints JSON prints these, and only a
/// caller that inspects the answer parses it.
#[derive(Clone, Debug)]
pub struct Answered<A> {
    /// The answer as JSON, byte for byte what a replay returns.
    pub body: String,
    /// Whether it is the stored answer of an earlier run.
    pub replayed: bool,
    answer: PhantomData<fn() -> A>,
}

impl<A> From<Reply> for Answered<A> {
    fn from(reply: Reply) -> Answered<A> {
        Answered { body: reply.body, replayed: reply.replayed, answer: PhantomData }
    }
}

impl<A: DeserializeOwned> Answered<A> {
    /// Deserialises the answer. A replayed one may be older than this program.
    pub fn read(&self) -> Result<A> {
        op::answer(&self.body)
    }
}
