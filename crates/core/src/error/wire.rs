//! An error with all its parts, for a program that hands it on: what a server answered is shown by the client word for
//! word as if it had happened there.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use super::{Code, Error, Kind, Parts, Stage};

/// The parts as they travel.
#[derive(Serialize, Deserialize)]
struct Whole<'a> {
    code: Cow<'a, str>,
    kind: Kind,
    stage: Stage,
    message: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entity: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    who: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    tries: Cow<'a, [String]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<Cow<'a, str>>,
    #[serde(default)]
    details: Cow<'a, Map<String, Value>>,
    retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
}

impl Serialize for Error {
    /// All parts; [`Error::to_json`] is what people and agents are shown.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = &self.0;
        Whole {
            code: parts.code.as_str().into(),
            kind: parts.kind,
            stage: parts.stage,
            message: (&*parts.message).into(),
            entity: parts.entity.as_deref().map(Cow::from),
            who: parts.who.as_deref().map(Cow::from),
            tries: (&*parts.tries).into(),
            person: parts.person.as_deref().map(Cow::from),
            hint: parts.hint.as_deref().map(Cow::from),
            details: Cow::Borrowed(&parts.details),
            retryable: parts.retryable,
            cause: parts.source.as_ref().map(ToString::to_string),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Error, D::Error> {
        let whole = Whole::deserialize(deserializer)?;
        let code = Code::read(&whole.code).ok_or_else(|| de::Error::custom("not the code of an error"))?;
        let mut tries = whole.tries.into_owned();
        tries.truncate(3);
        Ok(Error(Box::new(Parts {
            code,
            kind: whole.kind,
            stage: whole.stage,
            entity: whole.entity.map(Cow::into_owned),
            message: whole.message.into_owned(),
            who: whole.who.map(Cow::into_owned),
            tries,
            person: whole.person.map(Cow::into_owned),
            hint: whole.hint.map(Cow::into_owned),
            details: whole.details.into_owned(),
            retryable: whole.retryable,
            source: whole.cause.map(Into::into),
        })))
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
        let words = (text(), text(), proptest::collection::vec(any::<String>(), 0..5), text(), text(), text());
        let details = proptest::collection::btree_map(any::<String>(), any::<i64>(), 0..4);
        (parts, words, details).prop_map(|((kind, code, message, at_reply), words, details)| {
            let (entity, who, tries, person, hint, cause) = words;
            let kind = Kind::ALL[kind];
            let mut error = Error::new(Code::read(&code).unwrap(), message).with_kind(kind);
            error.0.entity = entity;
            error.0.who = who;
            error.0.person = person;
            error.0.hint = hint;
            error.0.source = cause.map(Into::into);
            error = tries.into_iter().fold(error, Error::attempt);
            error = details.into_iter().fold(error, |error, (key, value)| error.detail(&key, value));
            if at_reply { error.at(Stage::Reply) } else { error }
        })
    }

    proptest! {
        #[test]
        fn an_error_that_was_sent_says_the_same(error in error()) {
            let sent = serde_json::to_string(&error).unwrap();
            let read: Error = serde_json::from_str(&sent).unwrap();
            prop_assert_eq!(read.to_json().to_string(), error.to_json().to_string());
            prop_assert_eq!(serde_json::to_string(&read).unwrap(), sent);
            prop_assert_eq!(
                (read.code().as_str(), read.kind(), read.stage(), read.blocker(), read.override_by_person(), read.advice()),
                (error.code().as_str(), error.kind(), error.stage(), error.blocker(), error.override_by_person(), error.advice())
            );
            prop_assert_eq!(read.attempts(), error.attempts());
            prop_assert_eq!(read.is_refusal(), error.is_refusal());
            let cause = |error: &Error| std::error::Error::source(error).map(ToString::to_string);
            prop_assert_eq!(cause(&read), cause(&error));
        }
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
