//! Typed ids: the id of a hold cannot be passed where a task id is expected.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Sort, check, draw};
use crate::error::{Error, Result};

/// The kind of record that an [`Id`] names.
pub trait IdKind {
    /// Checks a complete id from outside.
    fn check(text: &str) -> Result<&str>;
}

/// A kind of record whose ids Tenure draws.
pub trait Drawn {
    /// The sort of its ids, which decides letter and noun.
    const SORT: Sort;
}

impl<K: Drawn> IdKind for K {
    fn check(text: &str) -> Result<&str> {
        check(text, K::SORT)
    }
}

/// The id of a record of one kind. It is a plain string in JSON, JSON Schema and SQL.
///
/// Conversion does not check the text: a request may name anything, and an id that does not exist is `not_found`. Use
/// [`str::parse`] where a malformed text must be refused. An id derefs to `str`, so it can be printed, compared with a
/// string and bound to a statement. A string becomes an id only by an explicit conversion.
pub struct Id<K: IdKind>(Box<str>, PhantomData<fn() -> K>);

impl<K: IdKind> Id<K> {
    /// Wraps a text without checking it.
    pub fn new(text: impl Into<Box<str>>) -> Id<K> {
        Id(text.into(), PhantomData)
    }

    /// Wraps a text; an empty text becomes `None`, because columns store absence as an empty text.
    pub fn non_empty(text: String) -> Option<Id<K>> {
        (!text.is_empty()).then(|| Id::new(text))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<K: Drawn> Id<K> {
    /// Draws an id of `length` characters from random bytes.
    pub fn draw(length: usize, fill: &mut dyn FnMut(&mut [u8])) -> Id<K> {
        Id::new(draw(K::SORT, length, fill))
    }
}

// Written by hand: the derives would require the same traits of the kind, which has no values.
impl<K: IdKind> Clone for Id<K> {
    fn clone(&self) -> Id<K> {
        Id(self.0.clone(), PhantomData)
    }
}

/// The empty text, which names nothing: the value of an optional field that a request leaves out.
impl<K: IdKind> Default for Id<K> {
    fn default() -> Id<K> {
        Id::new("")
    }
}

impl<K: IdKind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<K: IdKind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<K: IdKind> PartialEq for Id<K> {
    fn eq(&self, other: &Id<K>) -> bool {
        self.0 == other.0
    }
}

impl<K: IdKind> Eq for Id<K> {}

impl<K: IdKind> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Id<K>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: IdKind> Ord for Id<K> {
    fn cmp(&self, other: &Id<K>) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl<K: IdKind> Hash for Id<K> {
    // Must equal the hash of the text, because maps are looked up by `&str`.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<K: IdKind> Deref for Id<K> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<K: IdKind> AsRef<str> for Id<K> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<K: IdKind> Borrow<str> for Id<K> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl<K: IdKind> From<String> for Id<K> {
    fn from(text: String) -> Id<K> {
        Id::new(text)
    }
}

impl<K: IdKind> From<&str> for Id<K> {
    fn from(text: &str) -> Id<K> {
        Id::new(text)
    }
}

impl<K: IdKind> From<Id<K>> for String {
    fn from(id: Id<K>) -> String {
        id.0.into()
    }
}

impl<K: IdKind> From<&Id<K>> for String {
    fn from(id: &Id<K>) -> String {
        id.as_str().to_owned()
    }
}

impl<K: IdKind> From<Id<K>> for serde_json::Value {
    fn from(id: Id<K>) -> serde_json::Value {
        serde_json::Value::String(id.into())
    }
}

impl<K: IdKind> From<&Id<K>> for serde_json::Value {
    fn from(id: &Id<K>) -> serde_json::Value {
        serde_json::Value::String(id.into())
    }
}

impl<K: IdKind> FromStr for Id<K> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Id<K>> {
        K::check(text).map(Id::new)
    }
}

impl<K: IdKind> PartialEq<str> for Id<K> {
    fn eq(&self, text: &str) -> bool {
        self.as_str() == text
    }
}

impl<K: IdKind> PartialEq<&str> for Id<K> {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == *text
    }
}

impl<K: IdKind> PartialEq<&Id<K>> for Id<K> {
    fn eq(&self, other: &&Id<K>) -> bool {
        self == *other
    }
}

impl<K: IdKind> PartialEq<String> for Id<K> {
    fn eq(&self, text: &String) -> bool {
        self.as_str() == text
    }
}

impl<K: IdKind> PartialEq<Id<K>> for str {
    fn eq(&self, id: &Id<K>) -> bool {
        self == id.as_str()
    }
}

impl<K: IdKind> PartialEq<Id<K>> for &str {
    fn eq(&self, id: &Id<K>) -> bool {
        *self == id.as_str()
    }
}

impl<K: IdKind> PartialEq<Id<K>> for String {
    fn eq(&self, id: &Id<K>) -> bool {
        self == id.as_str()
    }
}

impl<K: IdKind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de, K: IdKind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Id<K>, D::Error> {
        String::deserialize(deserializer).map(Id::new)
    }
}

impl<K: IdKind> JsonSchema for Id<K> {
    fn inline_schema() -> bool {
        String::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        String::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// The text of an id; empty for `None`, in JSON that spells absence that way.
pub fn or_empty<K: IdKind>(id: Option<&Id<K>>) -> &str {
    id.map_or("", Id::as_str)
}

/// The same as a field attribute: `#[serde(with = "or_empty")]`.
pub mod or_empty {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Id, IdKind};

    /// Serializes `None` as an empty text.
    pub fn serialize<K: IdKind, S: Serializer>(id: &Option<Id<K>>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(super::or_empty(id.as_ref()))
    }

    /// Deserializes an empty text as `None`.
    pub fn deserialize<'de, K: IdKind, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Id<K>>, D::Error> {
        String::deserialize(deserializer).map(Id::non_empty)
    }
}

/// The kinds of records with drawn ids. These types have no values.
pub mod kind {
    use super::{Drawn, Sort};

    /// The kind of task ids.
    #[derive(Debug)]
    pub enum TaskIdKind {}

    impl Drawn for TaskIdKind {
        const SORT: Sort = Sort::Task;
    }

    /// The kind of hold ids.
    #[derive(Debug)]
    pub enum HoldIdKind {}

    impl Drawn for HoldIdKind {
        const SORT: Sort = Sort::Hold;
    }

    /// The kind of note ids.
    #[derive(Debug)]
    pub enum NoteIdKind {}

    impl Drawn for NoteIdKind {
        const SORT: Sort = Sort::Note;
    }

    /// The kind of memory ids.
    #[derive(Debug)]
    pub enum MemoryIdKind {}

    impl Drawn for MemoryIdKind {
        const SORT: Sort = Sort::Memory;
    }

    /// The kind of message ids.
    #[derive(Debug)]
    pub enum MessageIdKind {}

    impl Drawn for MessageIdKind {
        const SORT: Sort = Sort::Message;
    }

    /// The kind of place ids.
    #[derive(Debug)]
    pub enum PlaceIdKind {}

    impl Drawn for PlaceIdKind {
        const SORT: Sort = Sort::Place;
    }

    /// The kind of token ids.
    #[derive(Debug)]
    pub enum TokenIdKind {}

    impl Drawn for TokenIdKind {
        const SORT: Sort = Sort::Token;
    }

    /// The kind of project ids.
    #[derive(Debug)]
    pub enum ProjectIdKind {}

    impl Drawn for ProjectIdKind {
        const SORT: Sort = Sort::Project;
    }

    /// The kind of checkout ids.
    #[derive(Debug)]
    pub enum CheckoutIdKind {}

    impl Drawn for CheckoutIdKind {
        const SORT: Sort = Sort::Checkout;
    }

    /// The kind of ids of stores and their incarnations.
    #[derive(Debug)]
    pub enum StoreIdKind {}

    impl Drawn for StoreIdKind {
        const SORT: Sort = Sort::Store;
    }
}

/// The id of a task.
pub type TaskId = Id<kind::TaskIdKind>;
/// The id of a hold.
pub type HoldId = Id<kind::HoldIdKind>;
/// The id of a note.
pub type NoteId = Id<kind::NoteIdKind>;
/// The id of a memory.
pub type MemoryId = Id<kind::MemoryIdKind>;
/// The id of a message.
pub type MessageId = Id<kind::MessageIdKind>;
/// The id of a place in the waiting line.
pub type PlaceId = Id<kind::PlaceIdKind>;
/// The id of a token.
pub type TokenId = Id<kind::TokenIdKind>;
/// The id of a project.
pub type ProjectId = Id<kind::ProjectIdKind>;
/// The id of a checkout.
pub type CheckoutId = Id<kind::CheckoutIdKind>;
/// The id of a store, or of one incarnation of it.
pub type StoreId = Id<kind::StoreIdKind>;

/// The kind of an id whose record type another field names.
#[derive(Debug)]
pub enum Any {}

impl IdKind for Any {
    fn check(text: &str) -> Result<&str> {
        Ok(text)
    }
}

/// An id of a hold, a place or another record; another field names the type.
pub type AnyId = Id<Any>;

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::*;
    use crate::name::AgentName;

    #[test]
    fn json_and_its_schema_are_those_of_a_text() {
        let id = TaskId::new("t-7k3fq");
        assert_eq!(serde_json::to_string(&id).unwrap(), r#""t-7k3fq""#);
        assert_eq!(serde_json::from_str::<TaskId>(r#""t-7k3fq""#).unwrap(), id);
        assert_eq!(
            serde_json::to_value(schemars::schema_for!(Vec<Option<TaskId>>)).unwrap(),
            serde_json::to_value(schemars::schema_for!(Vec<Option<String>>)).unwrap()
        );
        assert_eq!(
            serde_json::to_value(schemars::schema_for!(BTreeMap<TaskId, AgentName>)).unwrap(),
            serde_json::to_value(schemars::schema_for!(BTreeMap<String, String>)).unwrap()
        );
    }

    #[test]
    fn reading_json_checks_nothing_and_parsing_does() {
        for text in ["", "n-7k3fq", "no id at all", "é\u{0}"] {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(serde_json::from_str::<TaskId>(&json).unwrap(), text);
            assert_eq!(text.parse::<TaskId>().unwrap_err().code(), "bad_id");
        }
        assert_eq!("t-7k3fq".parse::<TaskId>().unwrap(), "t-7k3fq");
        assert_eq!("A".parse::<AgentName>().unwrap_err().code(), "bad_name");
    }

    #[test]
    fn maps_are_looked_up_by_text() {
        let (task, agent) = (TaskId::new("t-1"), AgentName::new("a"));
        let sorted = BTreeMap::from([(task.clone(), 1)]);
        let hashed = HashMap::from([(agent, 2)]);
        assert_eq!((sorted.get("t-1"), hashed.get("a"), sorted.get("t-2")), (Some(&1), Some(&2), None));
        assert_eq!(TaskId::non_empty(String::new()), None);
        assert_eq!(TaskId::non_empty("t-1".to_owned()), Some(task));
    }
}
