//! The wire format of an error, with all its parts. A client reports a server's error word for word.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use super::{Code, Error, Kind, MOST_ACTIONS, Parts, Stage};
use crate::action::{Action, Phrasing, Plain};

/// The serialized parts; see [`Error::to_wire`].
#[derive(Serialize, Deserialize)]
pub struct Wire<'a> {
    code: Cow<'a, str>,
    kind: Kind,
    stage: Stage,
    message: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entity: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    who: Option<Cow<'a, str>>,
    /// The actions in the sender's words, for a client that does not know one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tries: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    actions: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(default)]
    details: Cow<'a, Map<String, Value>>,
    retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
}

impl Error {
    /// Serializes all parts, with the actions also in the sender's words. People and agents are shown
    /// [`Error::to_json`] instead.
    pub fn to_wire(&self, phrasing: &dyn Phrasing) -> Wire<'_> {
        let (actions, tries): (Vec<&Action>, Vec<String>) = self.attempted(phrasing).into_iter().unzip();
        self.parts(phrasing, actions, tries)
    }

    fn parts(&self, phrasing: &dyn Phrasing, actions: Vec<&Action>, tries: Vec<String>) -> Wire<'_> {
        let parts = &self.0;
        Wire {
            code: parts.code.as_str().into(),
            kind: parts.kind,
            stage: parts.stage,
            message: (&*parts.message).into(),
            entity: parts.entity.as_deref().map(Cow::from),
            who: parts.who.as_deref().map(Cow::from),
            tries,
            actions: actions.into_iter().filter_map(|action| serde_json::to_value(action).ok()).collect(),
            person: parts.person.as_ref().map(|how| how.say(phrasing)),
            hint: parts.hint.as_ref().map(|hint| hint.say(phrasing)),
            details: Cow::Borrowed(&parts.details),
            retryable: parts.retryable,
            cause: parts.source.as_ref().map(ToString::to_string),
        }
    }
}

impl Serialize for Error {
    /// Serializes an error that is part of an answer. Its actions are data only, because no door renders them there.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parts(&Plain, self.actions().iter().collect(), Vec::new()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Error, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let code = Code::read(&wire.code).ok_or_else(|| de::Error::custom("not the code of an error"))?;
        Ok(Error(Box::new(Parts {
            code,
            kind: wire.kind,
            stage: wire.stage,
            entity: wire.entity.map(Cow::into_owned),
            message: wire.message.into_owned(),
            who: wire.who.map(Cow::into_owned),
            actions: actions(&wire.actions, &wire.tries),
            person: wire.person.map(Into::into),
            hint: wire.hint.map(Into::into),
            details: wire.details.into_owned(),
            retryable: wire.retryable,
            source: wire.cause.map(Into::into),
        })))
    }
}

/// Reads the actions that were sent. An action that this version does not know is kept in the sender's words.
fn actions(sent: &[Value], tries: &[String]) -> Vec<Action> {
    let one = |index: usize| {
        let known = sent.get(index).and_then(|action| Action::deserialize(action).ok());
        known.or_else(|| tries.get(index).map(|text| Action::Said { text: text.clone() }))
    };
    (0..sent.len().max(tries.len()).min(MOST_ACTIONS)).filter_map(one).collect()
}

impl JsonSchema for Error {
    fn schema_name() -> Cow<'static, str> {
        "Error".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "object",
            "required": ["code", "kind", "stage", "message", "retryable"],
            "properties": {
                "code": { "type": "string" },
                "kind": { "type": "string" },
                "stage": { "type": "string" },
                "message": { "type": "string" },
                "entity": { "type": ["string", "null"] },
                "who": { "type": ["string", "null"] },
                "tries": { "type": "array", "items": { "type": "string" } },
                "actions": { "type": "array", "items": { "type": "object" } },
                "person": { "type": ["string", "null"] },
                "hint": { "type": ["string", "null"] },
                "details": { "type": "object" },
                "retryable": { "type": "boolean" },
                "cause": { "type": ["string", "null"] },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = Option<String>> {
        proptest::option::of(any::<String>())
    }

    fn error() -> impl Strategy<Value = Error> {
        let parts = (0..Kind::ALL.len(), "[a-f_]{1,2}", any::<String>(), any::<bool>());
        let words = (text(), text(), proptest::collection::vec(any::<(String, bool)>(), 0..5), text(), text(), text());
        let details = proptest::collection::btree_map(any::<String>(), any::<i64>(), 0..4);
        (parts, words, details).prop_map(|((kind, code, message, at_reply), words, details)| {
            let (entity, who, tries, person, hint, cause) = words;
            let kind = Kind::ALL[kind];
            let mut error = Error::new(Code::read(&code).unwrap(), message).with_kind(kind);
            error.0.entity = entity;
            error.0.who = who;
            error.0.person = person.map(Into::into);
            error.0.hint = hint.map(Into::into);
            error.0.source = cause.map(Into::into);
            error = tries.into_iter().fold(error, |error, (text, is_known)| {
                error.attempt(if is_known { Action::show(text) } else { Action::Said { text } })
            });
            error = details.into_iter().fold(error, |error, (key, value)| error.detail(&key, value));
            if at_reply { error.at(Stage::Reply) } else { error }
        })
    }

    proptest! {
        #[test]
        fn an_error_that_was_sent_says_the_same(error in error()) {
            let sent = serde_json::to_string(&error.to_wire(&Plain)).unwrap();
            let read: Error = serde_json::from_str(&sent).unwrap();
            prop_assert_eq!(read.to_json(&Plain).to_string(), error.to_json(&Plain).to_string());
            prop_assert_eq!(serde_json::to_string(&read.to_wire(&Plain)).unwrap(), sent);
            let nested: Error = serde_json::from_str(&serde_json::to_string(&error).unwrap()).unwrap();
            prop_assert_eq!(nested.to_json(&Plain).to_string(), error.to_json(&Plain).to_string());
            prop_assert_eq!(
                (read.code().as_str(), read.kind(), read.stage(), read.blocker(), read.override_by_person(), read.advice()),
                (error.code().as_str(), error.kind(), error.stage(), error.blocker(), error.override_by_person(), error.advice())
            );
            prop_assert_eq!(read.attempts(&Plain), error.attempts(&Plain));
            prop_assert_eq!(read.is_refusal(), error.is_refusal());
            let cause = |error: &Error| std::error::Error::source(error).map(ToString::to_string);
            prop_assert_eq!(cause(&read), cause(&error));
        }
    }

    #[test]
    fn an_action_of_another_version_is_said_in_the_words_of_its_sender() {
        let read = |sent: Value| serde_json::from_value::<Error>(sent).unwrap().actions().to_vec();
        let sent = |parts: Value| {
            let mut error =
                serde_json::json!({ "code": "x", "kind": "busy", "stage": "lock", "message": "m", "retryable": true });
            parts.as_object().unwrap().iter().for_each(|(name, part)| error[name] = part.clone());
            error
        };
        let said = |text: &str| Action::Said { text: text.to_owned() };
        assert_eq!(read(sent(serde_json::json!({ "tries": ["a", "b"] }))), [said("a"), said("b")]);
        let both = serde_json::json!({ "tries": ["a", "b"], "actions": [{ "action": "of_tomorrow" }, { "action": "doctor" }] });
        assert_eq!(read(sent(both)), [said("a"), Action::Doctor]);
        assert_eq!(
            read(sent(serde_json::json!({ "actions": [{ "action": "of_tomorrow" }, { "action": "doctor" }] }))),
            [Action::Doctor]
        );
    }

    #[test]
    fn what_is_no_code_is_not_read() {
        let sent = |code: &str| serde_json::json!({ "code": code, "kind": "busy", "stage": "lock", "message": "m", "retryable": true });
        let read = |code: &str| serde_json::from_value::<Error>(sent(code));
        assert_eq!(read("task_held").unwrap().code(), Code::TaskHeld);
        for bad in ["", "Task", "a b", "a\n", &"a".repeat(65)] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
